//! The data path: packet selector, command extractor, store controller, packet generator, over a backend.
