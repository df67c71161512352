//! The node: ledger, chain, proof service and data path put together.
