//! Bitcoin: import, the most-work chain, address history.
