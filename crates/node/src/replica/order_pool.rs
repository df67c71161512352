//! The queue of operations waiting to be ordered, and of frames waiting for their execution.
//!
//! State, in memory:
//!
//! - `pool`: groups in order of arrival, of this replica and of others. Each replica's groups may take an equal share
//!   of 16 MiB, so no replica can fill the pool.
//! - `waiting`: this replica's frames without a reply, by frame number, and `asked`: the same by content. Each frame
//!   gets exactly one reply, whatever happens: connections count frames until they are answered.
//! - `executed`, `operations`, `stated`: the last executed block, the highest one with operations, and the highest one
//!   whose result an executed block states. `past` has the states after the newest 64 blocks.
//! - `changing`: a change of the set is decided, so blocks are due until the epoch ends.
//!
//! Rules:
//!
//! - On a frame whose operations wait already: remember its sender if the frame is the same byte for byte, else answer
//!   it `NOT_FINAL`. So anybody who repeats another client's signed operations gets a reply, and takes none away.
//! - To propose on a parent: choose groups from the oldest on, without those in pending blocks, until the body
//!   or the number of approvals reaches its limit. Drop a group with an operation whose timestamp the
//!   block's time does not allow; answer `STALE_TIMESTAMP` if it is this replica's. The block's time is the clock's, or
//!   the parent's if that is later. State the last executed block.
//! - If there are no groups, propose an empty block only if: a change is decided; or blocks with operations exist that
//!   no block states yet, 20 ms after the request if one of them is pending; or the parent is executed and no block
//!   came for 30 s. Otherwise wait. If this replica has executed more than the parent, wait: the proposal is too late.
//! - On an executed block: publish it, remove its groups from the pool, and wake all waiters.
//! - On a new set: empty the pool, rename the waiting frames' groups by the new number, and announce them again. Answer
//!   `NOT_FINAL` to those that no longer fit, and to all if this replica is no member.
//! - Every 10 ms (250 ms while idle): drop groups older than 5 s, answer frames older than that, and wake all waiters.
//!
//! The replica is idle if no group and no frame waits, no change is decided, the last operations are stated, and a
//! block was executed within the last 31 s.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    future::poll_fn,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use nic::{Held, Peer};
use order::Payload;
use spv::Hash;
use wire::{SignedOperation, Status};

use super::block_body::{Body, Group, Key, LONGEST, MOST_APPROVALS};
use crate::admission;

/// Maximum size of operations waiting to be ordered in bytes, divided equally among the replicas that received them.
const POOL: usize = 16 << 20;

/// Overhead of a group in bytes.
const OVERHEAD: usize = 256;

/// Timeout of a group to be ordered, and of a frame's operations to be final. It is shorter than the retry time, so
/// that nothing is ordered twice that far apart. After it the client gets [`Status::NotFinal`], and retries.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The status of operations that a node cannot have ordered, as it is not a member of the set. Not [`Status::Busy`],
/// which claims that nothing was done: a member may have ordered the operation for an earlier request.
pub const NOT_A_MEMBER: Status = Status::NotFinal;

/// Maximum number of further senders of a waiting frame: a client may retry over several connections.
const MOST_OTHERS: usize = 8;

/// Minimum time between announcements of a group, if its client retries: links may have been down.
const ANNOUNCEMENT: Duration = Duration::from_secs(1);

/// How long an empty block waits for the previous block to be final, so that one is enough.
const SETTLING: Duration = Duration::from_millis(20);

/// Longest time without a block, after which an empty one is ordered: it shows that a quorum is present, and lets
/// replicas drop earlier votes. A day of them takes some megabytes.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// How much later than its leader a replica expects that block, so that the leader has time to propose it.
const GRACE: Duration = Duration::from_secs(1);

/// The result of submitting a frame.
pub enum Submitted {
    /// It waits, and the group is to be announced to the other replicas.
    Announce(Group),
    /// It waits, and the group was announced within [`ANNOUNCEMENT`].
    Waits,
    /// It is to be answered with a status: there is no room, this node is not a member, or another frame waits for the
    /// same operations.
    Refused(Held, Status),
}

/// The last block that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// Its height.
    pub height: u64,
    /// The hash of its header.
    pub hash: Hash,
    /// What that does not cover.
    pub state: Hash,
}

/// Number of executed blocks whose results are kept: leaders may lag by some.
const PAST: usize = 64;

/// The parent of a proposal.
#[derive(Debug, Default)]
pub struct Parent {
    /// Its height.
    pub height: u64,
    /// Its time.
    pub time: u64,
    /// Its proposer's executed height.
    pub executed: u64,
    /// The highest block with operations that is not final.
    pub operations: u64,
    /// Groups in blocks that are not final.
    pub pending: HashSet<Key>,
}

/// A frame that is answered when its operations are executed.
#[derive(Debug)]
pub struct Waiting {
    /// The frame.
    pub held: Held,
    /// The other senders of the same frame.
    pub others: Vec<Peer>,
    /// Its operations, as they are to be ordered.
    pub group: Group,
    since: Instant,
    /// When the group was last sent to the other replicas.
    announced: Instant,
}

impl Waiting {
    /// Adds the sender of a frame with the same operations. Returns whether the reply to this frame answers it, too.
    fn add(&mut self, held: &Held) -> bool {
        if held[..] != self.held[..] {
            return false;
        }
        // A datagram that is sent again needs no second reply.
        let is_known = |peer: &Peer| peer.connection.is_none() && peer.address == held.peer.address;
        if held.peer.connection.is_none() && (is_known(&self.held.peer) || self.others.iter().any(is_known)) {
            return true;
        }
        if self.others.len() == MOST_OTHERS {
            return false;
        }
        self.others.push(held.peer);
        true
    }
}

#[derive(Debug)]
struct Pooled {
    group: Group,
    since: Instant,
}

/// Contents of the pool.
#[derive(Debug)]
pub struct Contents {
    /// In order of arrival.
    pool: BTreeMap<u64, Pooled>,
    positions: HashMap<Key, u64>,
    next_position: u64,
    /// Bytes of each replica's groups.
    taken: Vec<usize>,
    waiting: HashMap<u64, Waiting>,
    /// Abandoned frames, with the status of their operations.
    given_up: Vec<(Waiting, Status)>,
    /// This replica's number; `None` if this node is not a member, which orders nothing.
    origin: Option<u8>,
    /// A change of the set is decided: blocks are due until the epoch ends.
    changing: bool,
    /// Waiting frames, by content: a client that retries gets one reply.
    asked: HashMap<Bytes, u64>,
    next_number: u64,
    /// The last block that was executed.
    pub executed: Executed,
    /// The states that no header covers after the newest blocks, by height.
    past: VecDeque<(u64, Hash)>,
    /// The highest block with operations that was executed, as far as is known.
    operations: u64,
    /// The highest block whose result a block states that was executed.
    stated: u64,
    /// When the last block was executed, or the replica started.
    last_block: Instant,
    wakers: Vec<Waker>,
}

/// Operations that wait to be ordered, and frames that wait for theirs to be executed.
#[derive(Debug)]
pub struct OrderPool {
    replay_window: u64,
    state: Mutex<Contents>,
}

impl OrderPool {
    /// An empty pool for the replica of this number, if it is a member. `past` has the states that no header covers
    /// after the newest blocks, by height, as far as known. Whether a change of the set is decided is as in
    /// [`Self::executed`].
    pub fn new(
        origin: Option<u8>,
        replicas: usize,
        replay_window: Duration,
        executed: Executed,
        past: VecDeque<(u64, Hash)>,
        changing: bool,
    ) -> Self {
        let state = Contents {
            pool: BTreeMap::new(),
            positions: HashMap::new(),
            next_position: 0,
            taken: vec![0; replicas],
            waiting: HashMap::new(),
            given_up: Vec::new(),
            asked: HashMap::new(),
            origin,
            changing,
            // Beyond those before a restart.
            next_number: admission::now(),
            executed,
            past,
            // It may have had some: at worst a block is ordered that states a result again.
            operations: executed.height,
            stated: 0,
            last_block: Instant::now(),
            wakers: Vec::new(),
        };
        Self { replay_window: replay_window.as_micros() as u64, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, Contents> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something.
    pub async fn when<T>(&self, mut look: impl FnMut(&mut Contents) -> Option<T>) -> T {
        poll_fn(|context| {
            let mut state = self.state();
            match look(&mut state) {
                Some(found) => Poll::Ready(found),
                None => {
                    state.wakers.push(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Submits a frame whose operations are to be ordered.
    pub fn submit(&self, held: Held, make: impl FnOnce(Key, &Held) -> Group) -> Submitted {
        let mut state = self.state();
        let Some(origin) = state.origin else { return Submitted::Refused(held, NOT_A_MEMBER) };
        let key = Key { origin, number: state.next_number };
        let group = make(key, &held);
        let since = Instant::now();
        if let Some(number) = state.asked.get(&group.content()).copied()
            && let Some(waiting) = state.waiting.get_mut(&number)
        {
            if !waiting.add(&held) {
                return Submitted::Refused(held, Status::NotFinal);
            }
            let is_due = waiting.announced.elapsed() >= ANNOUNCEMENT;
            if !is_due {
                return Submitted::Waits;
            }
            waiting.announced = since;
            return Submitted::Announce(waiting.group.clone());
        }
        if !state.pool(&group, since) {
            return Submitted::Refused(held, Status::Busy);
        }
        state.next_number += 1;
        state.asked.insert(group.content(), key.number);
        let waiting = Waiting { held, others: Vec::new(), group: group.clone(), since, announced: since };
        state.waiting.insert(key.number, waiting);
        wake(state);
        Submitted::Announce(group)
    }

    /// Adds a group that another replica received; drops it if there is no room.
    pub fn receive(&self, group: Group) {
        let mut state = self.state();
        if state.pool(&group, Instant::now()) {
            wake(state);
        }
    }

    /// Whether this node is a member of the set, which orders what clients send to it.
    pub fn is_member(&self) -> bool {
        self.state().origin.is_some()
    }

    /// Whether the same group waits here, so that its signatures were verified.
    pub fn has(&self, group: &Group) -> bool {
        let state = self.state();
        let position = state.positions.get(&group.key());
        position.and_then(|position| state.pool.get(position)).is_some_and(|pooled| pooled.group == *group)
    }

    /// A payload to append to a parent, if there is anything to order or to state.
    pub fn propose(&self, state: &mut Contents, parent: &Parent, since: Instant) -> Option<Payload> {
        let executed = state.executed;
        if executed.height > parent.height {
            // It is too late for this proposal.
            return None;
        }
        let time = admission::now().max(parent.time);
        let groups = state.choose(parent, |signed| self.is_timely(signed, time));
        let last = parent.operations.max(state.operations);
        let is_due = match parent.operations {
            0 => executed.height >= last,
            _ => since.elapsed() >= SETTLING,
        };
        let has_to_state = parent.executed < last && is_due;
        let is_heartbeat = executed.height == parent.height && state.last_block.elapsed() >= HEARTBEAT;
        if groups.is_empty() && !state.changing && !has_to_state && !is_heartbeat {
            return None;
        }
        let body = Body { time, executed: executed.height, state: executed.state, groups };
        Some(Payload { statement: executed.hash, body: body.encode() })
    }

    /// The state that no header covers after the block of a height, if it is one of the newest executed ones.
    pub fn state_at(&self, height: u64) -> Option<Hash> {
        let state = self.state();
        state.past.iter().rev().find(|(known, _)| *known == height).map(|(_, hash)| *hash)
    }

    /// Whether a signed operation may be in a block of this time.
    pub fn is_timely(&self, signed: &SignedOperation, time: u64) -> bool {
        let newest = time + ledger::CLOCK_TOLERANCE.as_micros() as u64;
        (time.saturating_sub(self.replay_window).max(1)..=newest).contains(&signed.timestamp.get())
    }

    /// Whether no block is due, as far as is known here.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        let has_work = !state.pool.is_empty() || !state.waiting.is_empty() || state.changing;
        !has_work && state.stated >= state.operations && state.last_block.elapsed() < HEARTBEAT + GRACE
    }

    /// Records an executed block with this body, and whether a change of the set is decided.
    pub fn executed(&self, executed: Executed, body: &Body, changing: bool) {
        let mut state = self.state();
        state.executed = executed;
        state.stated = state.stated.max(body.executed);
        state.last_block = Instant::now();
        state.past.push_back((executed.height, executed.state));
        if state.past.len() > PAST {
            state.past.pop_front();
        }
        state.changing = changing;
        if !body.groups.is_empty() {
            state.operations = executed.height;
        }
        for group in &body.groups {
            state.remove(&group.key());
        }
        wake(state);
    }

    /// Switches to another number in another set, once all blocks of the previous set are executed. Waiting groups get
    /// new names; returns the groups to announce.
    pub fn renumber(&self, origin: Option<u8>, replicas: usize) -> Vec<Group> {
        let mut state = self.state();
        state.pool.clear();
        state.positions.clear();
        state.taken = vec![0; replicas];
        state.origin = origin;
        let waiting = std::mem::take(&mut state.waiting);
        state.asked.clear();
        let Some(origin) = origin else {
            // Their clients turn to another replica.
            state.given_up.extend(waiting.into_values().map(|waiting| (waiting, NOT_A_MEMBER)));
            return Vec::new();
        };
        let mut waiting: Vec<_> = waiting.into_iter().collect();
        waiting.sort_unstable_by_key(|(number, _)| *number);
        let mut groups = Vec::new();
        for (number, waiting) in waiting {
            let group = waiting.group.renamed(Key { origin, number });
            let waiting = Waiting { group: group.clone(), announced: Instant::now(), ..waiting };
            if state.pool(&group, waiting.since) {
                state.asked.insert(group.content(), number);
                state.waiting.insert(number, waiting);
                groups.push(group);
            } else {
                // A block of the previous set may have it. A replica's share is smaller in a larger set.
                state.given_up.push((waiting, Status::NotFinal));
            }
        }
        wake(state);
        groups
    }

    /// The frame that waits for a group, if it is the frame's.
    pub fn take(&self, group: &Group) -> Option<Waiting> {
        let Key { origin, number } = group.key();
        let mut state = self.state();
        // Another replica may have put other operations under the frame's name.
        if Some(origin) != state.origin || state.waiting.get(&number)?.group != *group {
            return None;
        }
        let waiting = state.waiting.remove(&number)?;
        state.asked.remove(&waiting.group.content());
        Some(waiting)
    }

    /// Drops groups and frames that waited too long, and wakes all waiters. Returns the frames to answer although their
    /// operations were not executed.
    pub fn tick(&self) -> Vec<(Waiting, Status)> {
        let mut state = self.state();
        while let Some((_, pooled)) = state.pool.first_key_value()
            && pooled.since.elapsed() > PATIENCE
        {
            let key = pooled.group.key();
            state.remove(&key);
        }
        let late = state.waiting.iter().filter(|(_, waiting)| waiting.since.elapsed() > PATIENCE);
        // A proposed group may still be executed: then the client learns of it when it retries.
        for number in Vec::from_iter(late.map(|(&number, _)| number)) {
            state.give_up(number, Status::NotFinal);
        }
        let given_up = std::mem::take(&mut state.given_up);
        wake(state);
        given_up
    }
}

/// Wakes all who wait, without the lock.
fn wake(mut state: MutexGuard<'_, Contents>) {
    let wakers = std::mem::take(&mut state.wakers);
    drop(state);
    wakers.into_iter().for_each(Waker::wake);
}

impl Contents {
    /// Adds a group to the pool, unless it is there already or has no room.
    fn pool(&mut self, group: &Group, since: Instant) -> bool {
        let key = group.key();
        let share = POOL / self.taken.len().max(1);
        let size = group.bytes().len() + OVERHEAD;
        let fits = Body::EMPTY + group.bytes().len() <= LONGEST && group.approvals().len() <= MOST_APPROVALS;
        let Some(taken) = self.taken.get_mut(usize::from(key.origin)) else { return false };
        if !fits || *taken + size > share || self.positions.contains_key(&key) {
            return false;
        }
        *taken += size;
        self.positions.insert(key, self.next_position);
        self.pool.insert(self.next_position, Pooled { group: group.clone(), since });
        self.next_position += 1;
        true
    }

    /// Lets a frame wait no more.
    fn give_up(&mut self, number: u64, status: Status) {
        if let Some(waiting) = self.waiting.remove(&number) {
            self.asked.remove(&waiting.group.content());
            self.given_up.push((waiting, status));
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(pooled) = self.positions.remove(key).and_then(|position| self.pool.remove(&position)) {
            self.taken[usize::from(key.origin)] -= pooled.group.bytes().len() + OVERHEAD;
        }
    }

    /// The oldest groups that fit in a body. Drops those with operations that are too old or too new by now.
    fn choose(&mut self, parent: &Parent, is_timely: impl Fn(&SignedOperation) -> bool) -> Vec<Group> {
        let (mut chosen, mut late) = (Vec::new(), Vec::new());
        let (mut bytes, mut approvals) = (Body::EMPTY, 0);
        for Pooled { group, .. } in self.pool.values().filter(|pooled| !parent.pending.contains(&pooled.group.key())) {
            if !group.signed().iter().all(&is_timely) {
                late.push(group.key());
                continue;
            }
            bytes += group.bytes().len();
            approvals += group.approvals().len();
            if bytes > LONGEST || approvals > MOST_APPROVALS {
                break;
            }
            chosen.push(group.clone());
        }
        for key in &late {
            self.remove(key);
            if Some(key.origin) == self.origin {
                self.give_up(key.number, Status::StaleTimestamp);
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nic::{Class, Pools, held::PoolSize};
    use wire::{AccountId, CompactFrame, Operation};
    use zerocopy::IntoBytes;

    fn pool(replicas: usize) -> OrderPool {
        let executed = Executed { height: 0, hash: [0; 32], state: [0; 32] };
        OrderPool::new(Some(0), replicas, Duration::from_secs(60), executed, VecDeque::new(), false)
    }

    fn peer(port: u16, connection: Option<u32>) -> Peer {
        Peer { connection, ..Peer::new(([192, 0, 2, 1], port).into()) }
    }

    fn operation(number: u32) -> Operation {
        Operation::create(number.into(), AccountId::from(number))
    }

    /// Submits a frame of operations from a sender.
    fn submit(pool: &OrderPool, pools: &Pools, peer: Peer, bytes: &[u8], operations: &[Operation]) -> Submitted {
        let held = pools.hold(Class::Ordered, peer, true, bytes).unwrap();
        pool.submit(held, |key, _| Group::new(key, true, Entries::Plain(operations)))
    }

    #[test]
    fn each_sender_of_the_same_operations_gets_a_reply() {
        let (pool, pools) = (pool(4), Pools::new(PoolSize::for_class));
        let operations = [operation(1)];
        let frame = CompactFrame::from_operation(&operations[0]).unwrap();
        let submit = |peer, bytes: &[u8]| submit(&pool, &pools, peer, bytes, &operations);
        let Submitted::Announce(group) = submit(peer(1, None), frame.as_bytes()) else { panic!("it is the first") };
        // Another sender of the same datagram takes nothing away from the first one.
        assert!(matches!(submit(peer(2, None), frame.as_bytes()), Submitted::Waits));
        for _ in 0..20 {
            assert!(matches!(submit(peer(1, None), frame.as_bytes()), Submitted::Waits));
            assert!(matches!(submit(peer(2, None), frame.as_bytes()), Submitted::Waits));
        }
        // Each frame of a connection counts until its reply.
        for _ in 2..=MOST_OTHERS {
            assert!(matches!(submit(peer(3, Some(7)), frame.as_bytes()), Submitted::Waits));
        }
        let Submitted::Refused(held, Status::NotFinal) = submit(peer(3, Some(7)), frame.as_bytes()) else {
            panic!("it has too many senders")
        };
        assert_eq!(held.peer, peer(3, Some(7)));
        // The reply to the first frame would not be one to this frame.
        let mut other = frame.as_bytes().to_vec();
        *other.last_mut().unwrap() ^= 1;
        assert!(matches!(submit(peer(4, None), &other), Submitted::Refused(_, Status::NotFinal)));
        let Waiting { held, others, .. } = pool.take(&group).unwrap();
        assert_eq!(held.peer, peer(1, None));
        let connection = std::iter::repeat_n(peer(3, Some(7)), MOST_OTHERS - 1);
        assert_eq!(others, Vec::from_iter(std::iter::once(peer(2, None)).chain(connection)));
        assert!(pool.take(&group).is_none());
    }

    #[test]
    fn frames_that_no_longer_fit_are_answered() {
        // One replica of one has the whole pool, one of 64 a small share.
        let (pool, pools) = (pool(1), Pools::new(PoolSize::for_class));
        let mut submitted = 0;
        for first in 0..100 {
            let operations = Vec::from_iter((0..1000).map(|number| operation(first * 1000 + number)));
            let result = submit(&pool, &pools, peer(first as u16, None), operations.as_bytes(), &operations);
            assert!(matches!(result, Submitted::Announce(_)));
            submitted += 1;
        }
        let announced = pool.renumber(Some(5), 64);
        assert!(!announced.is_empty() && announced.iter().all(|group| group.key().origin == 5));
        let given_up = pool.tick();
        assert_eq!(announced.len() + given_up.len(), submitted);
        assert!(given_up.len() > 90 && given_up.iter().all(|(_, status)| *status == Status::NotFinal));
        assert!(announced.iter().all(|group| pool.take(group).is_some()));
    }
}
