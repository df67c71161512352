//! Follows the transfer engine: the node's ledger executes what the engine has executed, and their replies are
//! compared.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use wire::{BatchEntries, Command, CompactFrame, Frame, Operation, Promise, Status};
use zerocopy::{FromBytes, IntoBytes};

use super::batches::{self, Batches};
use super::config::{HandOver, RtlConfig};
use super::counters::RtlCounters;
use super::device::Host;
use super::lockstep::{Carrier, Held, Lockstep, Verdict};
use super::packet;
use super::ticks::Ticks;
use crate::backend::Peer;
use crate::csr::{self, Record};
use net::Prefix;

/// Control bits of the frames that the transfer engine takes.
const ENGINE: u32 = csr::CONTROL_COMPACT | csr::CONTROL_BATCH;

/// The connection that stands for the NIC: for replies to operations whose own reply was already sent.
pub const NOBODY: u32 = u32::MAX;

/// The host's state of the engine.
pub struct Engine {
    /// The prefix from which it takes operations, if it ever does.
    trusted: Option<Prefix>,
    /// The clock of its memory of retries, and the last value of its register.
    ticks: Ticks,
    retry_tick: u32,
    /// The engine's output: records, and held replies; those of compact frames and those of batches are each in the
    /// same order.
    records: VecDeque<Record>,
    replies: VecDeque<(u8, Vec<u8>)>,
    batches: Batches,
    lockstep: Lockstep,
    /// It was stopped, and its operations in flight come before those of the node.
    is_stopping: bool,
    told: fn(HandOver),
    counters: Arc<RtlCounters>,
    /// Records taken and completed so far.
    taken: u64,
    completed: u64,
}

impl Engine {
    /// Sets the engine's registers, if it is to execute. Also returns the control bits that turn it on.
    pub fn set_up(config: &RtlConfig, device: &mut impl Host, counters: Arc<RtlCounters>) -> (Self, u32) {
        let mut control = 0;
        let remembers_more = u64::from(device.read(csr::RETRIES)) > config.retries;
        let engine = config.engine.filter(|_| config.promise >= Promise::Durable || !remembers_more);
        if let Some(prefix) = engine
            && device.trust(prefix)
        {
            // The NIC refuses accounts beyond its limit; the node's reply then differs, and the NIC hands over.
            device.write(csr::ACCOUNT_LIMIT, u32::try_from(config.accounts).unwrap_or(u32::MAX));
            control = ENGINE | csr::CONTROL_RECORD;
            if config.promise >= Promise::Durable {
                control |= csr::CONTROL_HOLD;
            }
        }
        let engine = Self {
            trusted: engine,
            ticks: Ticks::new(config.retention, Instant::now()),
            retry_tick: 0,
            records: VecDeque::new(),
            replies: VecDeque::new(),
            batches: Batches::default(),
            lockstep: Lockstep::default(),
            is_stopping: false,
            told: config.told,
            counters,
            taken: 0,
            completed: 0,
        };
        (engine, control)
    }

    /// Whether the transfer engine executes operations.
    pub fn is_executing(device: &impl Host) -> bool {
        device.has(ENGINE)
    }

    /// Whether the node is so far behind that nothing more should enter.
    pub fn is_full(&self) -> bool {
        self.lockstep.is_full()
    }

    /// Whether there are replies without their records.
    pub fn is_waiting(&self) -> bool {
        !self.replies.is_empty() || self.batches.is_waiting()
    }

    /// Updates the engine's time.
    pub fn tick(&mut self, device: &mut impl Host) {
        if !Self::is_executing(device) {
            return;
        }
        for _ in 0..self.ticks.due(Instant::now()) {
            self.retry_tick ^= 1;
            device.write(csr::RETRY_TICK, self.retry_tick);
        }
    }

    /// Notes that it may have executed something just now.
    pub fn has_run(&mut self) {
        self.ticks.executed(Instant::now());
    }

    /// Takes records of executed operations.
    pub fn take_record(&mut self, record: &[u8]) {
        let record = Record::read_from_bytes(record);
        self.taken += u64::from(record.is_ok());
        self.records.extend(record);
    }

    /// Whether there are records without their held replies.
    pub fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    /// Records that were taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Records that need nothing more: the node has answered their operations, or they were refused.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Takes a held reply.
    pub fn take_reply(&mut self, port: u8, packet: Vec<u8>) {
        match packet::destination(&packet, port) {
            Some((_, place)) if place.len() != CompactFrame::LENGTH => {
                self.batches.hold(batches::Held { port, packet, payload: place.start, differs: false });
            }
            _ => self.replies.push_back((port, packet)),
        }
    }

    /// Passes executed operations to the data path.
    pub fn follow(&mut self, device: &mut impl Host, arrived: &mut VecDeque<(Peer, Vec<u8>)>) {
        let holds = device.has(csr::CONTROL_HOLD);
        while let Some(record) = self.records.front() {
            // If replies are held, the record waits for its reply.
            let (carrier, peer) = if !holds {
                (Carrier::Sent, Some(nobody(self.trusted)))
            } else if record.in_batch != 0 {
                let Some((entry, held)) = self.batches.next_entry() else { return };
                (Carrier::Batch(entry), packet::destination(&held.packet, held.port).map(|(peer, _)| peer))
            } else {
                let Some((port, packet)) = self.replies.pop_front() else { return };
                let peer = packet::destination(&packet, port).map(|(peer, _)| peer);
                (Carrier::Packet(port, packet), peer)
            };
            let (request, reply) = (record.request(), record.reply());
            self.records.pop_front();
            self.counters.executed.add(1);
            if reply.status() == Ok(Status::Busy) {
                self.hand_over(device, HandOver::Busy);
            }
            match (request, peer) {
                (Some(request), Some(peer)) => {
                    self.lockstep.expect(peer.address, Held { reply, carrier });
                    arrived.push_back((peer, request.as_bytes().to_vec()));
                }
                // It was refused without the ledger.
                _ => self.release(device, carrier, None),
            }
        }
    }

    /// Compares a reply of the node with the engine's, if the engine has given one: they must be the same.
    pub fn compare(&mut self, device: &mut impl Host, peer: Peer, reply: &[u8]) {
        match self.lockstep.compare(peer.address, reply) {
            Verdict::Same(held) => {
                self.counters.same.add(1);
                self.release(device, held.carrier, None);
            }
            Verdict::Different(held) => {
                self.counters.different.add(1);
                self.hand_over(device, HandOver::Differs);
                self.release(device, held.carrier, Some((peer, reply)));
            }
            Verdict::Unknown if peer.connection == Some(NOBODY) => {}
            Verdict::Unknown => device.reply(peer, reply),
        }
    }

    /// Releases a held reply, replaced by the node's if that differs.
    fn release(&mut self, device: &mut impl Host, carrier: Carrier, other: Option<(Peer, &[u8])>) {
        self.completed += 1;
        match (carrier, other) {
            (Carrier::Sent, _) => {}
            (Carrier::Packet(port, packet), None) => device.send(port, &packet),
            (Carrier::Packet(..), Some((peer, reply))) => device.reply(peer, reply),
            (Carrier::Batch(entry), other) => {
                let Some(held) = self.batches.answer(entry, other.map(|(_, reply)| reply)) else { return };
                if !held.differs {
                    device.send(held.port, &held.packet);
                } else if let Some((peer, place)) = packet::destination(&held.packet, held.port) {
                    device.reply(peer, &held.packet[place]);
                }
            }
        }
    }

    /// Whether a datagram for the data path writes accounts that the engine writes. If so, the engine stops.
    pub fn yields_to(&mut self, device: &mut impl Host, peer: Peer, datagram: &[u8]) -> bool {
        let is_trusted = self.trusted.is_some_and(|prefix| prefix.contains(peer.address.ip()));
        let yields = Self::is_executing(device) && writes_compact(datagram, is_trusted);
        if yields {
            self.hand_over(device, HandOver::OtherWriter);
        }
        yields
    }

    /// From now on the node executes everything.
    fn hand_over(&mut self, device: &mut impl Host, why: HandOver) {
        if self.stop(device) {
            (self.told)(why);
        }
    }

    /// Stops it. Returns whether it executed operations.
    pub fn stop(&mut self, device: &mut impl Host) -> bool {
        let executed = Self::is_executing(device);
        if executed {
            device.stop(ENGINE);
            self.is_stopping = true;
        }
        executed
    }

    /// Whether it has stopped, and operations may be in flight.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Notes that no operation is in flight.
    pub fn has_stopped(&mut self) {
        self.is_stopping = false;
    }
}

/// The sender of operations whose replies were already sent.
fn nobody(trusted: Option<Prefix>) -> Peer {
    let address = trusted.map_or(Ipv4Addr::LOCALHOST.into(), |prefix| prefix.address());
    Peer { connection: Some(NOBODY), ..Peer::new(SocketAddr::new(address, 0)) }
}

/// Whether a datagram has an operation that changes, or may change, an account of compact frames.
fn writes_compact(datagram: &[u8], is_trusted: bool) -> bool {
    let writes = |operation: &Operation| {
        let accounts = [Some(operation.source), operation.other_account()];
        operation.is_executed() && accounts.into_iter().flatten().any(|account| account.to_compact().is_some())
    };
    match Frame::parse(datagram) {
        Ok(Frame::Compact(frame)) => is_trusted && frame.command().is_ok_and(Command::is_executed),
        Ok(Frame::Full(frame)) => writes(&frame.signed.operation),
        Ok(Frame::Batch(batch)) => match batch.entries {
            BatchEntries::Compact(entries) => {
                is_trusted && entries.iter().any(|entry| entry.frame.command().is_ok_and(Command::is_executed))
            }
            BatchEntries::Operation(operations) => is_trusted && operations.iter().any(writes),
            BatchEntries::Signed(signed) => signed.iter().any(|signed| writes(&signed.operation)),
        },
        _ => false,
    }
}
