//! Faults of the HTTP server: metrics, Esplora's API.
