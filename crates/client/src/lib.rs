//! The client library: batching, retries, header synchronisation, proof checks.
