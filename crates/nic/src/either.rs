//! One of two backends, for a program that chooses when it starts.

use net::Waker;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use crate::backend::{Backend, Batch, Memory, Peer, Reply, Transmit};

/// One of two, be they backends or transmitters.
pub enum Either<A, B> {
    /// The first kind.
    First(A),
    /// The second kind.
    Second(B),
}

impl<A: Transmit, B: Transmit> Transmit for Either<A, B> {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        match self {
            Self::First(first) => first.transmit(replies),
            Self::Second(second) => second.transmit(replies),
        }
    }
}

impl<A: Backend, B: Backend> Backend for Either<A, B> {
    type Transmitter = Either<A::Transmitter, B::Transmitter>;

    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        match self {
            Self::First(first) => first.receive(batch, timeout),
            Self::Second(second) => second.receive(batch, timeout),
        }
    }

    fn reply(&mut self, memory: &mut Memory, replies: &mut Vec<(Peer, Range<usize>)>) {
        match self {
            Self::First(first) => first.reply(memory, replies),
            Self::Second(second) => second.reply(memory, replies),
        }
    }

    fn transmitter(&self) -> io::Result<Self::Transmitter> {
        Ok(match self {
            Self::First(first) => Either::First(first.transmitter()?),
            Self::Second(second) => Either::Second(second.transmitter()?),
        })
    }

    fn waker(&self) -> Waker {
        match self {
            Self::First(first) => first.waker(),
            Self::Second(second) => second.waker(),
        }
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::First(first) => first.local_address(),
            Self::Second(second) => second.local_address(),
        }
    }

    fn finish(&mut self) -> io::Result<bool> {
        match self {
            Self::First(first) => first.finish(),
            Self::Second(second) => second.finish(),
        }
    }
}
