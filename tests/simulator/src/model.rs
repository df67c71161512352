//! What the ledger has to hold, and what clients were promised of it.

use std::ops::{Deref, DerefMut};

use wire::{AccountId, TransactionId};

/// The plain model, and what must not be lost of it.
pub struct Model {
    plain: model::Model,
    /// The last operation that a client was promised to be durable.
    promised: u64,
}

impl Deref for Model {
    type Target = model::Model;

    fn deref(&self) -> &model::Model {
        &self.plain
    }
}

impl DerefMut for Model {
    fn deref_mut(&mut self) -> &mut model::Model {
        &mut self.plain
    }
}

impl Model {
    /// A model with room for so many accounts.
    pub fn new(limit: usize) -> Self {
        Self { plain: model::Model::new(limit), promised: 0 }
    }

    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// A reply is on its way that promises an operation to be durable; so it has to be.
    pub fn promise(&mut self, namer: AccountId, transaction: TransactionId, durable: u64) {
        let sequence = self.named(namer, transaction).next().map(|(sequence, _)| sequence);
        if let Some(sequence) = sequence {
            assert!(sequence <= durable, "{transaction} of {namer} is promised to be durable, but is not");
            self.promised = self.promised.max(sequence);
        }
    }

    /// Goes back to what was as of a sequence: the node died, and what came later was lost.
    pub fn go_back(&mut self, sequence: u64) {
        assert!(sequence >= self.promised, "durable up to {}, but after the crash up to {sequence}", self.promised);
        self.plain.go_back(sequence);
    }
}
