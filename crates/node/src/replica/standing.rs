//! What a replica tells of the order: who leads, what is final, and who vouches for it.

use std::time::Duration;

use chain::own::Tip;
use nic::Answer;
use order::Status;
use spv::finality::ReplicaSet;
use wire::FinalityFrame;

/// Views end within `cluster.patience` and a vote, or else no quorum can be reached. As long as this passes without one before
/// health tells so, beside [`WAITS`] of that patience: a replica that catches up, or syncs slowly, takes its time as well.
const SLACK: Duration = Duration::from_secs(2);
const WAITS: u32 = 8;

/// How a replica stands.
#[derive(Debug)]
pub struct Standing {
    /// How the order fares.
    pub status: Status,
    keys: Vec<[u8; FinalityFrame::KEY]>,
    number: u8,
    patience: Duration,
}

impl Standing {
    /// Of the replica of this number, which waits so long for a leader.
    pub fn new(status: Status, replicas: &ReplicaSet, number: u32, patience: Duration) -> Self {
        let keys = replicas.keys().iter().map(|key| key.to_bytes()).collect();
        // A set has at most 64.
        Self { status, keys, number: number as u8, patience }
    }

    /// Why nothing becomes final, if that is so.
    pub fn unready(&self) -> Option<&'static str> {
        let status = self.status.snapshot();
        if status.ended {
            return Some("the replica orders nothing any more: see the log, and restart the node");
        }
        let is_stuck = status.in_view > SLACK + WAITS * self.patience;
        is_stuck.then_some(
            "the replica cannot reach a quorum: nothing becomes final; see that the others run and can be reached",
        )
    }

    /// Answers a finality frame, as of this tip.
    pub fn answer(&self, request: &mut FinalityFrame, room: &mut [u8], tip: &Tip) -> Answer {
        // There is no other generation than the founders'.
        if request.generation.get() != 0 {
            return Answer::Refuse(wire::Status::NotFound, 0);
        }
        let status = self.status.snapshot();
        let certificate = self.status.certificate().map(|certificate| certificate.encode()).unwrap_or_default();
        *request = FinalityFrame {
            header: request.header,
            // The longest has 4,232 bytes.
            certificate_size: (certificate.len() as u16).into(),
            replicas: self.keys.len() as u8,
            replica: self.number,
            leader: status.leader as u8,
            view: status.view.into(),
            height: tip.height().into(),
            hash: tip.hash,
            ..FinalityFrame::default()
        };
        request.header.set_reply();
        let keys = self.keys.as_flattened();
        let length = request.frame_length();
        match room.get_mut(..keys.len() + certificate.len()) {
            Some(room) => {
                room[..keys.len()].copy_from_slice(keys);
                room[keys.len()..].copy_from_slice(&certificate);
                Answer::Reply(length)
            }
            None => Answer::Refuse(wire::Status::ReplyTooLarge, length as u32),
        }
    }
}
