//! What a node makes of an operation without a signature.

use model::Outcome;
use wire::{Operation, Status};

/// The plain model, behind the node's own check.
#[derive(Debug, Default)]
pub struct Model(model::Model);

impl Model {
    /// Sets when the next operations are executed, in microseconds since the Unix epoch.
    pub fn set_time(&mut self, time: u64) {
        self.0.set_time(time);
    }

    /// What an operation comes to: an account that a key binds is refused, if nothing else is wrong.
    pub fn execute(&mut self, operation: &Operation) -> (Status, u64) {
        let refused = operation.check().is_ok() && operation.source.is_keyed();
        let Outcome { status, value, .. } = match refused {
            true => self.0.execute(&Operation { status: Status::NotAuthorised.code().into(), ..*operation }),
            // Whatever status a request came with, it is no status of the node's.
            false if operation.status.get() != 0 => {
                self.0.execute(&Operation { status: Status::Malformed.code().into(), ..*operation })
            }
            false => self.0.execute(operation),
        };
        (status, value)
    }
}
