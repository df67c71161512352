//! A replica's reports about the order: the leader, the last final block, and its certificate.

use std::{sync::Arc, time::Duration};

use chain::own::Tip;
use nic::Answer;
use order::{Identity, Status};
use wire::FinalityFrame;

use super::{clocks::Clocks, neighbours::number, roster::Roster, state_sync::Server};

/// Views end within the timeouts for a leader and a vote unless no quorum can be reached. Health reports that after
/// [`WAITS`] of these timeouts and this slack: a replica that catches up, or syncs slowly, takes time as well.
const SLACK: Duration = Duration::from_secs(2);
const WAITS: u32 = 8;

/// Whether a view that lasts so long can end no more, where so long is waited for a leader now.
fn is_stuck(in_view: Duration, wait: Duration) -> bool {
    in_view > SLACK + WAITS * wait
}

/// Status of a replica in the order.
#[derive(Debug)]
pub struct OrderStatus {
    /// Status of the ordering engine.
    pub engine: Status,
    roster: Arc<Roster>,
    me: Identity,
    patience: Duration,
    /// Serves the ledger to joining replicas.
    pub sync: Server,
    /// The comparison of its clock with the times of blocks.
    pub clocks: Arc<Clocks>,
}

impl OrderStatus {
    /// The status of the replica with this connection key, this timeout for a leader, and this server for joining
    /// replicas.
    pub fn new(
        engine: Status,
        roster: Arc<Roster>,
        me: Identity,
        patience: Duration,
        sync: Server,
        clocks: Arc<Clocks>,
    ) -> Self {
        Self { engine, roster, me, patience, sync, clocks }
    }

    /// A note for the operator of a replica that is ready.
    pub fn note(&self) -> Option<String> {
        let (block, clock) = (self.clocks.block_ahead(), self.clocks.clock_ahead());
        let lag = self.clocks.clock_behind();
        if block > 0 {
            return Some(format!(
                "the time of blocks is {block} s ahead of this node's clock, so operations that are signed now may be \
                 STALE_TIMESTAMP; set the clocks of all replicas by NTP"
            ));
        }
        if lag > 0 {
            return Some(format!(
                "the last proposal was {lag} s ahead of this node's clock, so it gets no vote yet; set the clocks of all \
                 replicas by NTP"
            ));
        }
        (clock > 0).then(|| {
            format!("this node's clock is {clock} s ahead of the other replicas', which do not vote for its blocks; set it by NTP")
        })
    }

    /// Returns this replica's number in the set that votes after the last executed block, and the set's size.
    pub fn number_and_size(&self) -> (Option<u8>, usize) {
        let membership = self.roster.membership();
        let members = membership.members(self.engine.snapshot().height + 1);
        (number(members, &self.me), members.len())
    }

    /// The generation of the set that votes after the last executed block: the number of changes.
    pub fn generation(&self) -> u32 {
        self.roster.membership().generation_at(self.engine.snapshot().height + 1)
    }

    /// Why nothing becomes final, if that is so.
    pub fn unready(&self) -> Option<&'static str> {
        let status = self.engine.snapshot();
        if status.ended {
            return Some(
                "the replica's engine has ended, as it does when it cannot write, or when its files are damaged: see the \
                 log. Free space or fix the disk and restart the node, or run `turnpike cluster sync --replace`",
            );
        }
        if self.number_and_size().0.is_none() {
            return Some("the replica is not of the set of replicas: send operations to one that is, or have it join");
        }
        let is_stuck = is_stuck(status.in_view, self.patience * status.timeout_factor);
        is_stuck.then_some(
            "the replica cannot reach a quorum: nothing becomes final; see that the others run and can be reached",
        )
    }

    /// Answers a finality frame, as of this tip.
    pub fn answer(&self, request: &mut FinalityFrame, room: &mut [u8], tip: &Tip) -> Answer {
        let status = self.engine.snapshot();
        let newest_certificate = self.engine.certificate();
        let membership = self.roster.membership();
        // A new set is reported once it has certified a block: a certificate is always of the set in the same reply.
        let certified = newest_certificate.as_ref().map_or(1, |certificate| certificate.header.height.get());
        let (asked, newest) = (request.generation.get(), membership.generation_at(certified));
        let Some(committee) = membership.committee_of(asked).filter(|_| asked <= newest) else {
            return Answer::Refuse(wire::Status::NotFound, 0);
        };
        let certificate = match membership.reconfiguration(asked).filter(|_| asked < newest) {
            Some(reconfiguration) => reconfiguration.encode(),
            None => newest_certificate.map(|certificate| certificate.encode()).unwrap_or_default(),
        };
        let keys = committee.replicas().keys();
        *request = FinalityFrame {
            header: request.header,
            // The longest has 4,232 bytes.
            certificate_size: (certificate.len() as u16).into(),
            replicas: keys.len() as u8,
            replica: number(membership.members(tip.height() + 1), &self.me).unwrap_or(FinalityFrame::NO_REPLICA),
            leader: status.leader as u8,
            view: status.view.into(),
            height: tip.height().into(),
            hash: tip.hash,
            generation: asked.into(),
            generations: newest.into(),
            ..FinalityFrame::default()
        };
        request.header.set_reply();
        let keys: Vec<_> = keys.iter().flat_map(|key| key.to_bytes()).collect();
        let length = request.frame_length();
        match room.get_mut(..keys.len() + certificate.len()) {
            Some(room) => {
                room[..keys.len()].copy_from_slice(&keys);
                room[keys.len()..].copy_from_slice(&certificate);
                Answer::Reply(length)
            }
            None => Answer::Refuse(wire::Status::ReplyTooLarge, length as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_waits_longer_is_stuck_later() {
        let (patience, in_view) = (Duration::from_millis(250), Duration::from_secs(10));
        assert!(is_stuck(in_view, patience));
        assert!(!is_stuck(in_view, 8 * patience));
        assert!(is_stuck(2 * in_view, 8 * patience));
    }
}
