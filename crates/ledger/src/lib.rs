//! Accounts, the four commands, idempotency, journal, block builder.
