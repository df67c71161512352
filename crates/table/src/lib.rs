//! The hash table of the data path, and its value store.
