//! Verification engines: hashing, signatures.
