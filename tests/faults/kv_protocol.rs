//! Faults of the key-value store's protocols and of what it keeps.
