//! Seeded simulator: client and node against a plain model under faults.
