//! The NIC as a backend of the data path: what its ports and its host's side are plugged into.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::config::{RtlConfig, RtlError};
use super::counters::RtlCounters;
use super::engine::NOBODY;
use super::nic::Nic;
use super::packet;
use super::queue::{Announcer, Given, Queue};
use super::tap::Tap;
use crate::backend::{Backend, Batch, Peer, Reply, Transmit, Waker};
use crate::wait::wait_for;

/// Packets that are taken from a TAP device at once.
const TAP_PACKETS: usize = 64;

/// How long the data path rests while the node is behind the NIC.
const NAP: Duration = Duration::from_micros(100);

/// What the ports are plugged into.
pub enum Network<B> {
    /// Sockets of this machine: datagrams become packets on the way in, and datagrams again on the way out. Frames of connections
    /// go past the NIC.
    Sockets(B),
    /// A TAP device, at port 0.
    Tap(Tap),
}

/// The simulated NIC.
pub struct RtlBackend<B> {
    nic: Nic,
    network: Network<B>,
    queue: Arc<Queue>,
    waker: Waker,
    counters: Arc<RtlCounters>,
}

/// Sends replies through the NIC from any thread.
pub struct RtlTransmitter<T> {
    queue: Arc<Queue>,
    waker: Waker,
    counters: Arc<RtlCounters>,
    /// For connections.
    direct: Option<T>,
}

impl<B: Backend> RtlBackend<B> {
    /// Loads the NIC, sets its registers and lets it run.
    pub fn new(config: &RtlConfig, network: Network<B>) -> Result<Self, RtlError> {
        let waker = match &network {
            Network::Sockets(sockets) => sockets.waker(),
            Network::Tap(_) => Waker::new().map_err(RtlError::System)?,
        };
        let counters = Arc::new(RtlCounters::default());
        let nic = Nic::new(config, counters.clone())?;
        Ok(Self { nic, network, queue: Arc::default(), waker, counters })
    }

    /// Who tells its proof cache of blocks.
    pub fn announcer(&self) -> Announcer {
        Announcer::new(self.queue.clone(), self.waker.clone())
    }

    /// Whether its transfer engine takes operations.
    pub fn is_executing(&self) -> bool {
        self.nic.is_executing()
    }

    /// What it counts.
    pub fn counters(&self) -> Arc<RtlCounters> {
        self.counters.clone()
    }

    /// Lets the clock run until nothing is inside, and sends what comes out.
    fn turn(&mut self) -> io::Result<()> {
        self.nic.turn()?;
        let departed = self.nic.departed();
        match &mut self.network {
            Network::Sockets(sockets) => {
                let mut datagrams = departed.iter().filter_map(|(port, packet)| {
                    let (peer, place) = packet::destination(packet, *port)?;
                    Some(Reply { peer: Peer::new(peer.address), bytes: &packet[place] })
                });
                sockets.transmit(&mut datagrams);
            }
            Network::Tap(tap) => {
                let lost = departed.iter().filter(|(_, packet)| !tap.send(packet)).count();
                self.counters.lost.add(lost as u64);
            }
        }
        departed.clear();
        Ok(())
    }

    /// Waits for packets and gives them to the ports.
    fn take_packets(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        match &mut self.network {
            Network::Sockets(sockets) => {
                sockets.receive(batch, timeout)?;
                for message in &batch.messages {
                    for place in message.datagrams() {
                        self.nic.take_datagram(message.peer, &batch.memory[place]);
                    }
                }
                batch.messages.clear();
            }
            Network::Tap(tap) => {
                wait_for(std::slice::from_ref(tap), &self.waker, timeout)?;
                for _ in 0..TAP_PACKETS {
                    let Some(packet) = tap.receive()? else { break };
                    self.nic.take_packet(0, packet);
                }
            }
        }
        Ok(())
    }
}

impl<B: Backend> Backend for RtlBackend<B> {
    type Transmitter = RtlTransmitter<B::Transmitter>;

    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        batch.messages.clear();
        for given in self.queue.take() {
            match given {
                Given::Reply(peer, reply) => self.nic.take_reply(peer, &reply),
                Given::Announcement(announcement) => self.nic.announce(&announcement),
            }
        }
        self.nic.give_up();
        self.turn()?;
        if !self.nic.has_arrived() {
            if self.nic.is_full() {
                std::thread::sleep(NAP);
                return Ok(());
            }
            self.take_packets(batch, timeout)?;
            self.turn()?;
        }
        self.nic.deliver(batch);
        Ok(())
    }

    fn transmitter(&self) -> io::Result<Self::Transmitter> {
        let direct = match &self.network {
            Network::Sockets(sockets) => Some(sockets.transmitter()?),
            Network::Tap(_) => None,
        };
        let (queue, waker) = (self.queue.clone(), self.waker.clone());
        Ok(RtlTransmitter { queue, waker, counters: self.counters.clone(), direct })
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(self.nic.own())
    }
}

impl<B: Backend> Transmit for RtlBackend<B> {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let direct = match &mut self.network {
            Network::Sockets(sockets) => Some(sockets),
            Network::Tap(_) => None,
        };
        transmit(&self.queue, &self.counters, direct, replies).0
    }
}

impl<T: Transmit> Transmit for RtlTransmitter<T> {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let (sent, queued) = transmit(&self.queue, &self.counters, self.direct.as_mut(), replies);
        if queued {
            self.waker.wake();
        }
        sent
    }
}

/// Gives replies for connections to whoever has these, and queues the others for the NIC. How many were taken, and whether any
/// was queued.
fn transmit(
    queue: &Queue,
    counters: &RtlCounters,
    direct: Option<&mut impl Transmit>,
    replies: &mut dyn Iterator<Item = Reply<'_>>,
) -> (usize, bool) {
    let (mut queued, mut lost) = (0, 0);
    let mut connections = replies.filter(|reply| {
        if !matches!(reply.peer.connection, None | Some(NOBODY)) {
            return true;
        }
        if queue.push(reply) {
            queued += 1
        } else {
            lost += 1
        }
        false
    });
    let sent = match direct {
        Some(direct) => direct.transmit(&mut connections),
        None => connections.count(),
    };
    counters.lost.add(lost);
    (sent + queued, queued > 0)
}
