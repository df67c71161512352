//! The proof service and the cache in front of it.
