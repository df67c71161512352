//! Requests in flight: matches replies to requests, and decides what to send again and when.
//!
//! It uses neither sockets nor clocks: datagrams are bytes, and time is the duration since a fixed moment. All memory
//! is allocated at start.

mod draft;

use std::collections::VecDeque;
use std::time::Duration;

pub(crate) use draft::is_recognised_for_ever;
pub use draft::{BatchDraft, Draft};
use wire::{BatchEntries, FrameType, MAGIC, Reply, Status};

/// Limits of a window.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum length of a datagram in bytes.
    pub datagram: usize,
    /// Maximum number of datagrams in flight.
    pub window: usize,
    /// The first wait for a reply; each further one is twice as long.
    pub retry_after: Duration,
    /// Maximum wait for a reply.
    pub retry_at_most: Duration,
    /// Time after which a request is given up.
    pub give_up_after: Duration,
}

/// Why a request has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An attempt had no reply, and no later one a result. The request may have been executed.
    NoReply,
    /// The node refused every attempt for want of room. Nothing was executed; of a batch, some operations may be.
    /// With [`Status::NotFinal`] the request may still be executed.
    Refused(Status),
}

/// The end of a request.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// The tag of the request.
    pub tag: u64,
    /// The datagram that was sent.
    pub request: &'a [u8],
    /// Its reply.
    pub reply: Result<Reply<'a>, Failure>,
    /// The bytes of the reply; empty without a reply.
    pub bytes: &'a [u8],
    /// When the request was due.
    pub due: Duration,
    /// Time since then.
    pub latency: Duration,
    /// Number of repetitions.
    pub retries: u32,
}

/// A datagram to send, as a range of [`Window::memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its offset.
    pub offset: usize,
    /// Its length.
    pub length: usize,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Slot {
    id: u32,
    buffer: u32,
    length: usize,
    tag: u64,
    due: Duration,
    submitted: Duration,
    deadline: Duration,
    /// Time after which it is given up.
    give_up_after: Duration,
    retries: u32,
    /// Number of refusals for lack of room.
    refusals: u32,
    /// The last refusal, unless an attempt has gone without a reply since.
    refused: Option<Status>,
    /// Whether an attempt has gone without a reply: it may have been executed, whatever later ones are refused with.
    unanswered: bool,
}

impl Slot {
    /// The failure, if it is given up now. A refusal only says that nothing was executed if every attempt was refused.
    fn failure(&self) -> Failure {
        let refused = self.refused.filter(|status| *status == Status::NotFinal || !self.unanswered);
        refused.map_or(Failure::NoReply, Failure::Refused)
    }
}

/// The requests in flight.
#[derive(Debug)]
pub struct Window {
    limits: Limits,
    memory: Vec<u8>,
    free: Vec<u32>,
    /// Indexed by the low bits of the id. There are twice as many as buffers, so that a slow request blocks few ids.
    slots: Vec<Option<Slot>>,
    next_id: u32,
    in_flight: usize,
    /// Ids of requests to send.
    outgoing: VecDeque<u32>,
    /// No slot's deadline is earlier.
    next_deadline: Duration,
    /// Number of requests that may be in flight, in units of 1/[`FRACTION`]: halved when replies are missing, and
    /// raised again with each reply.
    allowed: usize,
    /// How long operations are retried whose ids carry no time.
    retry_limit: Duration,
    /// When `allowed` was last halved: losses of one moment count once.
    halved: Option<Duration>,
    retries: u64,
    strays: u64,
}

/// How long the last datagram of a request may be on its way.
const TRAVEL: Duration = Duration::from_secs(1);

/// Units per allowed request.
const FRACTION: usize = 256;

impl Window {
    /// An empty window. Ids count up from `first_id`, which should be random.
    pub fn new(limits: Limits, first_id: u32) -> Self {
        let slots = (limits.window * 2).next_power_of_two();
        Self {
            memory: vec![0; limits.window * limits.datagram],
            free: (0..limits.window as u32).rev().collect(),
            slots: vec![None; slots],
            next_id: first_id,
            in_flight: 0,
            outgoing: VecDeque::with_capacity(limits.window),
            next_deadline: Duration::MAX,
            allowed: limits.window * FRACTION,
            retry_limit: Duration::MAX,
            halved: None,
            retries: 0,
            strays: 0,
            limits,
        }
    }

    /// Number of requests without a reply.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Number of repeated requests.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Datagrams received that were not a reply to a request in flight: late ones, or from a faulty node.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// Maximum length of a datagram in bytes.
    pub fn datagram(&self) -> usize {
        self.limits.datagram
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends everything in flight again, for example to another node, which has refused none of it.
    pub fn send_again(&mut self, now: Duration) {
        self.outgoing.clear();
        self.next_deadline = Duration::MAX;
        for slot in self.slots.iter_mut().flatten() {
            slot.retries += 1;
            slot.unanswered |= slot.refused.take().is_none();
            slot.deadline = now + self.limits.retry_after;
            self.next_deadline = slot.deadline;
            self.outgoing.push_back(slot.id);
            self.retries += 1;
        }
    }

    /// Sets how long the node recognises retries: operations whose ids carry no time are given up a little earlier,
    /// because a datagram takes time. 0 means unknown.
    pub fn limit_retries(&mut self, recognised: Duration) {
        let travel = (recognised / 4).min(TRAVEL);
        self.retry_limit = if recognised.is_zero() { Duration::MAX } else { recognised - travel };
    }

    /// When to call [`Self::expire`] next; `Duration::MAX` if nothing is in flight.
    pub fn next_deadline(&self) -> Duration {
        self.next_deadline
    }

    /// Reserves an id and a buffer for a request; `None` if no more may be in flight.
    #[inline]
    fn reserve(&mut self) -> Option<(u32, u32)> {
        if self.in_flight >= (self.allowed / FRACTION).max(1) {
            return None;
        }
        let buffer = self.free.pop()?;
        let mask = self.slots.len() as u32 - 1;
        // Terminates, because there are more slots than buffers.
        while self.slots[(self.next_id & mask) as usize].is_some() {
            self.next_id = self.next_id.wrapping_add(1);
        }
        Some((self.next_id, buffer))
    }

    /// The memory of datagrams to send.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// Takes a datagram to send.
    pub fn next_outgoing(&mut self) -> Option<Outgoing> {
        while let Some(id) = self.outgoing.pop_front() {
            // The request may have been answered while it waited to be sent again.
            if let Some(slot) = self.slots[self.index_of(id)].filter(|slot| slot.id == id) {
                return Some(place(&self.limits, &slot));
            }
        }
        None
    }

    /// Drops everything in flight: nothing of it is sent again, and replies to it are strays.
    pub fn abandon(&mut self) {
        self.outgoing.clear();
        for index in 0..self.slots.len() {
            self.release(index);
        }
    }

    /// Processes a received datagram, and reports the request that it completes.
    pub fn receive(&mut self, bytes: &[u8], now: Duration, mut report: impl FnMut(Completion<'_>)) {
        let Ok(reply) = Reply::parse(bytes) else {
            self.strays += 1;
            return;
        };
        let index = self.index_of(reply.id());
        let Some(slot) = self.slots[index].filter(|slot| slot.id == reply.id()) else {
            self.strays += 1;
            return;
        };
        let request = buffer(&self.memory, &self.limits, &slot);
        if !answers(request, bytes, &reply) {
            self.strays += 1;
            return;
        }
        let want = want_of_room(&reply);
        if now.saturating_sub(slot.submitted) < slot.give_up_after
            && let Some(status) = want
        {
            return self.postpone(index, status, now);
        }
        let latency = now.saturating_sub(slot.due);
        let is_ambiguous = want.is_some() && slot.unanswered;
        let (reply, bytes) = if is_ambiguous { (Err(Failure::NoReply), &[][..]) } else { (Ok(reply), bytes) };
        let Slot { tag, due, retries, .. } = slot;
        report(Completion { tag, request, reply, bytes, due, latency, retries });
        self.release(index);
        if slot.retries == 0 {
            let more = FRACTION * FRACTION / self.allowed.max(1);
            self.allowed = (self.allowed + more.max(1)).min(self.limits.window * FRACTION);
        }
    }

    /// Sends overdue requests again, and reports those that are given up.
    pub fn expire(&mut self, now: Duration, mut report: impl FnMut(Completion<'_>)) {
        if now < self.next_deadline {
            return;
        }
        self.next_deadline = Duration::MAX;
        for index in 0..self.slots.len() {
            let Some(slot) = &mut self.slots[index] else { continue };
            if now < slot.deadline {
                self.next_deadline = self.next_deadline.min(slot.deadline);
                continue;
            }
            let waited = now.saturating_sub(slot.submitted);
            if waited >= slot.give_up_after {
                let ended = *slot;
                let failure = ended.failure();
                let request = buffer(&self.memory, &self.limits, &ended);
                let latency = now.saturating_sub(ended.due);
                let reply = Err(failure);
                let Slot { tag, due, retries, .. } = ended;
                report(Completion { tag, request, reply, bytes: &[], due, latency, retries });
                self.release(index);
                continue;
            }
            let missing = slot.refused.is_none();
            slot.unanswered |= missing;
            slot.retries += 1;
            slot.deadline = now + backoff(&self.limits, self.limits.retry_after, slot.retries);
            // An operation that may still be executed keeps that status, whatever happens to this attempt.
            slot.refused = slot.refused.filter(|status| *status == Status::NotFinal);
            self.next_deadline = self.next_deadline.min(slot.deadline);
            self.outgoing.push_back(slot.id);
            self.retries += 1;
            if missing {
                self.halve(now, self.limits.retry_after);
            }
        }
    }

    /// Waits before repeating a request for which the node had no room.
    fn postpone(&mut self, index: usize, status: Status, now: Duration) {
        // A node without room soon has some, sooner than a lost datagram is noticed.
        let first = self.limits.retry_after / 64;
        if let Some(slot) = &mut self.slots[index] {
            // One that may still be executed keeps that status.
            slot.refused = slot.refused.filter(|before| *before == Status::NotFinal).or(Some(status));
            slot.deadline = now + backoff(&self.limits, first, slot.refusals);
            slot.refusals += 1;
            self.next_deadline = self.next_deadline.min(slot.deadline);
        }
        self.halve(now, first);
    }

    /// Halves the number allowed in flight, at most once per `once_in`.
    fn halve(&mut self, now: Duration, once_in: Duration) {
        if self.halved.is_none_or(|halved| now.saturating_sub(halved) >= once_in) {
            self.halved = Some(now);
            self.allowed = (self.allowed / 2).max(FRACTION);
        }
    }

    fn release(&mut self, index: usize) {
        if let Some(slot) = self.slots[index].take() {
            self.free.push(slot.buffer);
            self.in_flight -= 1;
        }
        if self.in_flight == 0 {
            self.next_deadline = Duration::MAX;
        }
    }

    fn index_of(&self, id: u32) -> usize {
        id as usize & (self.slots.len() - 1)
    }
}

fn place(limits: &Limits, slot: &Slot) -> Outgoing {
    Outgoing { offset: slot.buffer as usize * limits.datagram, length: slot.length }
}

fn buffer<'a>(memory: &'a [u8], limits: &Limits, slot: &Slot) -> &'a [u8] {
    let Outgoing { offset, length } = place(limits, slot);
    &memory[offset..offset + length]
}

/// The wait after `retries` repetitions, starting with `first`.
fn backoff(limits: &Limits, first: Duration, retries: u32) -> Duration {
    // 2^16 times the first wait exceeds every limit.
    first.saturating_mul(1 << retries.min(16)).min(limits.retry_at_most)
}

/// Whether a reply matches the request, beyond its id.
fn answers(request: &[u8], bytes: &[u8], reply: &Reply<'_>) -> bool {
    const PROOF_KEY: std::ops::Range<usize> = 16..48;
    let same = |range: std::ops::Range<usize>| request.get(range.clone()) == bytes.get(range);
    let kind = |kind: FrameType| request.starts_with(&MAGIC.to_be_bytes()) && request.get(3) == Some(&(kind as u8));
    match reply {
        Reply::Compact(_) => !request.starts_with(&MAGIC.to_be_bytes()) && same(0..16),
        Reply::Full(_) => kind(FrameType::Full) && same(12..64),
        // Count and format.
        Reply::Batch(_) => kind(FrameType::Batch) && same(8..11),
        Reply::Proof(_) | Reply::Index(_) | Reply::ProofRefused(..) => {
            kind(FrameType::Proof) && same(8..10) && same(PROOF_KEY)
        }
        // Chain and first height.
        Reply::Headers(_) => kind(FrameType::Headers) && same(8..9) && same(16..24),
        Reply::Info(_) => kind(FrameType::Info),
        // The generation.
        Reply::Finality(_) => kind(FrameType::Finality) && same(64..68),
        // All but count, flags and cursor.
        Reply::History(_) => kind(FrameType::History) && same(12..13) && same(16..28) && same(32..48) && same(64..96),
        // The first asset.
        Reply::Assets(_) => kind(FrameType::Assets) && same(12..16),
        // Never in a window.
        Reply::Feed(_) => false,
        // The approval.
        Reply::Change(_) => kind(FrameType::Change) && same(16..200),
        // Count; the client compares commands and indices itself.
        Reply::Verify(_) => kind(FrameType::Verify) && same(8..10),
        Reply::Error(..) => true,
    }
}

/// The status of a request, or of an entry, that may succeed soon: the other entries of the batch were executed or
/// refused, and get the same result again.
fn want_of_room(reply: &Reply<'_>) -> Option<Status> {
    let transient = |status: Status| status.is_transient().then_some(status);
    let of_entry = |code: u16| Status::try_from(code).ok().and_then(transient);
    match reply {
        Reply::Batch(batch) if batch.status.is_ok() => match batch.entries {
            BatchEntries::Compact(entries) => entries.iter().find_map(|entry| of_entry(entry.frame.status.get())),
            BatchEntries::Operation(entries) => entries.iter().find_map(|entry| of_entry(entry.status.get())),
            BatchEntries::Signed(entries) => entries.iter().find_map(|entry| of_entry(entry.operation.status.get())),
        },
        _ => refusal(reply).and_then(transient),
    }
}

/// The status of a request that was refused as a whole.
pub(crate) fn refusal(reply: &Reply<'_>) -> Option<Status> {
    let status = match reply {
        Reply::Compact(frame) => frame.status().ok()?,
        Reply::Full(frame) => frame.operation.status().ok()?,
        Reply::Batch(batch) => batch.status,
        Reply::Headers(headers) => headers.status,
        Reply::Verify(verify) => verify.status,
        Reply::Finality(finality) => finality.status,
        Reply::Change(change) => change.status().ok()?,
        Reply::Feed(feed) => feed.status,
        Reply::History(history) => history.status,
        Reply::Assets(assets) => assets.status,
        Reply::Info(info) => info.status().ok()?,
        Reply::ProofRefused(_, status) | Reply::Error(_, status) => *status,
        Reply::Proof(_) | Reply::Index(_) => Status::Ok,
    };
    (!status.is_ok()).then_some(status)
}
