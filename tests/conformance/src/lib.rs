//! Black-box conformance suite, run against any backend.
