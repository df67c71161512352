//! The ledger's expected state, and the promises made to clients.

use std::ops::{Deref, DerefMut};

use model::Executed;
use wire::{AccountId, Status, TransactionId};

/// The name of an operation: see [`wire::Operation::name`].
pub type Name = (AccountId, TransactionId, bool);

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
    pub fn promise(&mut self, (name, status): (Name, Status), durable: u64) {
        // The same name may be that of a signed operation, and of one that is not.
        let is_it = |executed: &Executed| executed.operation.name() == name && executed.status == status;
        let found = self.named(name.0, name.1).find(|(_, executed)| is_it(executed));
        if let Some((sequence, _)) = found {
            assert!(sequence <= durable, "{name:?} is promised to be durable, but is not");
            self.promised = self.promised.max(sequence);
        }
    }

    /// Reverts to a sequence: the node died, and later operations were lost.
    pub fn go_back(&mut self, sequence: u64) {
        assert!(sequence >= self.promised, "durable up to {}, but after the crash up to {sequence}", self.promised);
        self.plain.go_back(sequence);
    }
}
