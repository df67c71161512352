//! Bitcoin: headers with proof of work, and proofs that a transaction is in a block.
