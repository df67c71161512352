//! Faults of connections to the key-value store: turns, memory, fairness.
