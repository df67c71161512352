//! The NIC as a backend of the data path, connected to a network and to its host.

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
use net::Waker;

use crate::backend::{Backend, Batch, Peer, Reply, Transmit};
use crate::wait::wait_for;

/// Packets taken from a TAP device at once.
const TAP_PACKETS: usize = 64;

/// How long the data path pauses while the node is behind the NIC.
pub(crate) const NAP: Duration = Duration::from_micros(100);

/// The network that the ports are connected to.
pub enum Network<B> {
    /// Sockets of this machine: incoming datagrams become packets, and outgoing packets datagrams. Frames of
    /// connections bypass the NIC.
    Sockets(B),
    /// A TAP device, on port 0.
    Tap(Tap),
}

/// The backend of the simulated NIC.
pub struct RtlBackend<B> {
    nic: Nic,
    network: Network<B>,
    queue: Arc<Queue>,
    waker: Waker,
    counters: Arc<RtlCounters>,
}

/// Sends replies through the NIC from any thread.
pub struct RtlTransmitter<T> {
    pub(crate) queue: Arc<Queue>,
    pub(crate) waker: Waker,
    pub(crate) counters: Arc<RtlCounters>,
    /// Used for connections.
    pub(crate) direct: Option<T>,
}

impl<B: Backend> RtlBackend<B> {
    /// Loads the NIC, sets its registers and starts it.
    pub fn new(config: &RtlConfig, network: Network<B>) -> Result<Self, RtlError> {
        let waker = match &network {
            Network::Sockets(sockets) => sockets.waker(),
            Network::Tap(_) => Waker::new().map_err(RtlError::System)?,
        };
        let counters = Arc::new(RtlCounters::default());
        let nic = Nic::new(config, counters.clone())?;
        Ok(Self { nic, network, queue: Arc::default(), waker, counters })
    }

    /// Returns a handle that informs its proof cache about blocks.
    pub fn announcer(&self) -> Announcer {
        Announcer::new(self.queue.clone(), self.waker.clone())
    }

    /// Whether the NIC's transfer engine executes operations.
    pub fn is_executing(&self) -> bool {
        self.nic.is_executing()
    }

    /// Returns the backend's counters.
    pub fn counters(&self) -> Arc<RtlCounters> {
        self.counters.clone()
    }

    /// Advances the clock until nothing is inside, and sends the output.
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

    /// Waits for packets and passes them to the ports.
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

/// Passes replies for connections to their transmitter, and queues the others for the NIC. Returns how many were
/// accepted, and whether any was queued.
pub(crate) fn transmit(
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
