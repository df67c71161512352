//! Faults of the Electrum server, over TCP, TLS and WebSocket.
