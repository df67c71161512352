//! The paper's software side, written plainly: a loop of `recvfrom` and `sendto` over hash maps. The same commands and
//! statuses as the in-NIC ledger, a smaller memory of retries; it journals nothing.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, Hasher},
    net::UdpSocket,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use wire::{Command, CompactFrame, Status};
use zerocopy::{FromBytes, IntoBytes};

/// Retries that are recognised.
const REMEMBERED: usize = 1 << 18;

/// As cheap as the hash of `std::unordered_map`: that of an integer is the integer, spread here by one multiplication.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are integers")
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

#[derive(Default)]
struct Ledger {
    balances: Map<u32, u64>,
    /// By source and transaction id: the request, and the result.
    results: Map<u64, (CompactFrame, Status, u64)>,
    order: VecDeque<u64>,
}

impl Ledger {
    fn execute(&mut self, request: &CompactFrame) -> (Status, u64) {
        let source = request.source.get();
        let balance = self.balances.get(&source).copied();
        let value = balance.unwrap_or(0);
        if request.check() != Status::Ok {
            return (request.check(), value);
        }
        if request.command() == Ok(Command::Refer) {
            return (if balance.is_some() { Status::Ok } else { Status::SourceUnknown }, value);
        }
        let identity = u64::from(source) << 32 | u64::from(request.transaction.get());
        if let Some((first, status, value_then)) = self.results.get(&identity) {
            return if first == request { (*status, *value_then) } else { (Status::TransactionIdReused, value) };
        }
        let result = match self.apply(request, balance) {
            Ok(value) => (Status::Ok, value),
            Err(status) => (status, value),
        };
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.results.remove(&oldest);
        }
        self.order.push_back(identity);
        self.results.insert(identity, (*request, result.0, result.1));
        result
    }

    fn apply(&mut self, request: &CompactFrame, balance: Option<u64>) -> Result<u64, Status> {
        let (source, destination, amount) =
            (request.source.get(), request.destination.get(), u64::from(request.amount.get()));
        let known = || balance.ok_or(Status::SourceUnknown);
        match request.command()? {
            Command::Create => {
                if balance.is_some() {
                    return Err(Status::AccountExists);
                }
                self.balances.insert(source, 0);
                Ok(0)
            }
            Command::Issue => {
                let value = known()?.checked_add(amount).ok_or(Status::Overflow)?;
                self.balances.insert(source, value);
                Ok(value)
            }
            Command::Transfer => {
                let balance = known()?;
                let received = self.balances.get(&destination).ok_or(Status::DestinationUnknown)?;
                let left = balance.checked_sub(amount).ok_or(Status::InsufficientBalance)?;
                let received = received.checked_add(amount).ok_or(Status::Overflow)?;
                self.balances.insert(destination, received);
                self.balances.insert(source, left);
                Ok(left)
            }
            Command::Refer => known(),
            Command::Hold | Command::Capture | Command::Release | Command::Reclaim => Err(Status::UnknownCommand),
            Command::Freeze | Command::Unfreeze | Command::Close | Command::Open => Err(Status::UnknownCommand),
        }
    }
}

/// Serves until told to stop; the socket has a time-out, so that it looks.
pub fn serve(socket: &UdpSocket, stop: &AtomicBool) {
    let (mut ledger, mut datagram) = (Ledger::default(), [0; 2048]);
    while !stop.load(Relaxed) {
        let Ok((length, sender)) = socket.recv_from(&mut datagram) else { continue };
        let Ok(frame) = CompactFrame::mut_from_bytes(&mut datagram[..length]) else { continue };
        let (status, value) = ledger.execute(frame);
        frame.set_reply(status, value);
        // A reply that cannot be sent is lost like any datagram.
        let _ = socket.send_to(frame.as_bytes(), sender);
    }
}
