//! The ledger's expected state, and the promises made to clients.

use std::ops::{Deref, DerefMut};

use wire::{AccountId, TransactionId};

/// The id of a hold in the index.
pub fn hold_id((payer, receiver, transaction, expiry): &model::HoldName) -> AccountId {
    AccountId(spv::hash::hold_id(&payer.0, &receiver.0, &transaction.0, *expiry))
}

/// The plain model, and the part of it that must not be lost.
pub struct Model {
    plain: model::Model,
    /// The last operation promised to a client as durable.
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
    /// Creates a model with room for `limit` accounts.
    pub fn new(limit: usize) -> Self {
        Self { plain: model::Model::new(limit).allow_freezing(), promised: 0 }
    }

    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// Records a reply in flight that promises an operation to be durable, and checks that it is.
    pub fn promise(&mut self, namer: AccountId, transaction: TransactionId, durable: u64) {
        let sequence = self.named(namer, transaction).next().map(|(sequence, _)| sequence);
        if let Some(sequence) = sequence {
            assert!(sequence <= durable, "{transaction} of {namer} is promised to be durable, but is not");
            self.promised = self.promised.max(sequence);
        }
    }

    /// Reverts to a sequence: the node died, and later operations were lost.
    pub fn go_back(&mut self, sequence: u64) {
        assert!(sequence >= self.promised, "durable up to {}, but after the crash up to {sequence}", self.promised);
        self.plain.go_back(sequence);
    }
}
