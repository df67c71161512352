//! Faults of the key-value store.
