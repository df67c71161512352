//! The application of the engine: proposals and verdicts of this replica.
//!
//! A proposed block gets this replica's vote if all of these hold, checked in this order:
//!
//! 1. The body has the right form. Every operation is one that a node accepts from a client, and unsigned ones come
//!    from a trusted sender and debit no keyed account.
//! 2. It states the result of an earlier block than itself.
//! 3. Its time is not before its parent's.
//! 4. It has at most 64 approvals.
//! 5. Each signed operation is at most 2 s ahead of the block's time, and not older than the replay window.
//! 6. All signatures are valid, by authorised keys. Groups that wait in this replica's pool were verified before.
//! 7. Its time is at most 2 s ahead of this clock, or its parent's.
//! 8. This replica has executed the stated block, with the same header and the same state.
//!
//! A violation of 1 to 6, or a differing header or state, is refused permanently: honest replicas agree on it.
//! Otherwise the verdict waits, and with it the vote: for the clock (7), for the execution (8), forever if the stated
//! block is older than the newest 64 known here, or if headers cannot be read.
//!
//! Signatures of approvals are not checked: an invalid approval is executed, and changes nothing.

use std::{
    sync::{Arc, mpsc::Sender},
    time::Instant,
};

use bytes::Bytes;
use chain::own::OwnReader;
use order::{Answer, Application, Block, Committee, Final, Identity, Payload, Refusal};
use wire::SignedOperation;

use super::{
    block_body::{Body, Group, MOST_APPROVALS},
    clocks::Clocks,
    executor::ExecutorMessage,
    order_pool::{OrderPool, Parent},
    roster::Roster,
};
use crate::admission::{self, Admission, Rules};

/// Proposes groups that wait in the order pool, judges others' proposals, and passes final blocks to the executor.
pub struct Judge {
    pub order_pool: Arc<OrderPool>,
    pub rules: Arc<Rules>,
    pub chain: OwnReader,
    pub roster: Arc<Roster>,
    pub messages: Sender<ExecutorMessage>,
    pub clocks: Arc<Clocks>,
}

fn refuse<T>(reason: &str) -> Result<T, Refusal> {
    Err(Refusal(reason.to_owned()))
}

impl Judge {
    fn parent(&self, parent: &Block, pending: &[Block]) -> Option<Parent> {
        let mut found = Parent { height: parent.height(), ..Parent::default() };
        (found.time, found.executed) = match parent.height() {
            0 => (self.timestamp(0)?, 0),
            _ => Body::decode(parent.body()).map(|body| (body.time, body.executed))?,
        };
        for block in pending {
            let body = Body::decode(block.body())?;
            if !body.groups.is_empty() {
                found.operations = found.operations.max(block.height());
            }
            found.pending.extend(body.groups.iter().map(Group::key));
        }
        Some(found)
    }

    /// The time of a block that is executed.
    fn timestamp(&self, height: u64) -> Option<u64> {
        let headers = self.chain.headers(height, 1).ok()?;
        Some(headers.first()?.header.timestamp.get())
    }

    /// Judges the part of a block that does not depend on this replica's ledger.
    fn judge(&self, block: &Block, before: u64) -> Result<Body, Refusal> {
        let Some(body) = Body::decode(block.body()) else { return refuse("malformed body") };
        if body.executed >= block.height() {
            return refuse("the block states the result of a block that cannot be executed yet");
        }
        if body.time < before {
            return refuse("the block's time is before its parent's");
        }
        let groups = body.groups.iter();
        if groups.clone().map(|group| group.approvals().len()).sum::<usize>() > MOST_APPROVALS {
            return refuse("too many approvals of changes of the set");
        }
        if !groups.clone().flat_map(Group::signed).all(|signed| self.order_pool.is_timely(signed, body.time)) {
            return refuse("a signed operation is too old or too new");
        }
        let unknown: Vec<&Group> = groups.filter(|group| !self.order_pool.has(group)).collect();
        if !self.admits(&unknown, body.time) {
            return refuse("a signed operation is not admissible from a client");
        }
        Ok(body)
    }

    /// Whether all signatures are valid, by authorised keys, at a time.
    fn admits(&self, groups: &[&Group], time: u64) -> bool {
        let mut signed: Vec<(bool, Vec<SignedOperation>)> =
            groups.iter().map(|group| (group.is_trusted(), group.signed().to_vec())).collect();
        let mut admission = Admission::new(self.rules.clone());
        admission.check(signed.iter_mut().map(|(trusted, signed)| (*trusted, &mut signed[..])), time);
        signed.iter().flat_map(|(_, signed)| signed).all(|signed| signed.operation.status.get() == 0)
    }
}

impl Application for Judge {
    fn propose(&self, parent: Block, pending: Vec<Block>) -> Answer<'_, Option<Payload>> {
        let since = Instant::now();
        Box::pin(async move {
            let parent = self.parent(&parent, &pending)?;
            Some(self.order_pool.when(|state| self.order_pool.propose(state, &parent, since)).await)
        })
    }

    fn verify(&self, block: Block, pending: Vec<Block>) -> Answer<'_, Result<(), Refusal>> {
        Box::pin(async move {
            let before = match pending.first() {
                Some(parent) => Body::decode(parent.body()).map(|parent| parent.time),
                None => self.timestamp(block.height() - 1),
            };
            // A parent that cannot be read is no fault of the block's.
            let Some(before) = before else { return std::future::pending().await };
            let body = self.judge(&block, before)?;
            self.clocks.proposed(body.time, before);
            let is_ready = || Clocks::accepts(body.time, before, admission::now());
            self.order_pool.when(|state| (state.executed.height >= body.executed && is_ready()).then_some(())).await;
            match self.chain.headers(body.executed, 1) {
                Ok(headers) if headers.first().is_some_and(|sealed| sealed.header.hash() == *block.statement()) => {}
                Ok(_) => return refuse("the stated header differs from the one executed here"),
                Err(error) => {
                    // Its own disk is no reason to accuse another.
                    tracing::error!(%error, "cannot read headers: not voting");
                    return std::future::pending().await;
                }
            }
            match self.order_pool.state_at(body.executed) {
                Some(state) if state == body.state => Ok(()),
                Some(_) => refuse("the stated result differs from this replica's"),
                // Its leader lags far, or this replica has just started: other replicas may know.
                None => std::future::pending().await,
            }
        })
    }

    fn is_idle(&self) -> bool {
        self.order_pool.is_idle()
    }

    fn finalized(&self, block: Final) -> Answer<'_, ()> {
        Box::pin(async move {
            let height = block.block.height();
            // The executor is dropped only when the node stops, or has failed: then this never completes, and the block
            // is delivered again.
            let _ = self.messages.send(ExecutorMessage::Block(Box::new(block)));
            self.order_pool.when(|state| (state.executed.height >= height).then_some(())).await;
        })
    }

    fn committee(&self, epoch: u64) -> Committee {
        self.roster.membership().committee(epoch).clone()
    }

    fn received(&self, replica: &Identity, message: Bytes) {
        let Some(group) = Group::decode(message) else { return };
        let height = self.chain.tip().height() + 1;
        let is_its_own = self
            .roster
            .membership()
            .members(height)
            .get(usize::from(group.key().origin))
            .is_some_and(|member| member.name.connections() == *replica);
        if !is_its_own {
            return;
        }
        if self.admits(&[&group], admission::now()) {
            self.order_pool.receive(group);
        }
    }
}
