//! A network channel that the voting engines use one after the other, each for its own epoch.
//!
//! Each message carries its epoch. That of the running engine's epoch goes to the engine. A message of the next epoch
//! is held until that epoch opens, up to 16 of each replica and 1,024 in all; all others are dropped. When an epoch
//! opens, its held messages come first, and those of other epochs are dropped.
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::utils::mux::{self, Builder, MuxHandle, Muxer, SubReceiver, SubSender};
use commonware_p2p::{Message, Receiver, Sender};
use commonware_runtime::Spawner;
use commonware_utils::channel::mpsc;
use std::collections::VecDeque;
use std::num::NonZeroUsize;

/// Messages per replica to hold for the next epoch until it begins here: its votes in the first view, with some slack.
const EARLY_OF_A_REPLICA: usize = 16;
/// Messages to hold for the next epoch, from all replicas.
const EARLY: usize = 1024;

/// One channel, with a subchannel for each epoch.
pub(crate) struct Lane<S: Sender<PublicKey = PublicKey>> {
    parts: MuxHandle<S>,
    /// Messages for epochs without a running engine.
    others: mpsc::Receiver<(u64, Message<PublicKey>)>,
    /// Messages for the next epoch that arrived before it began here.
    early: VecDeque<(u64, Message<PublicKey>)>,
}

impl<S: Sender<PublicKey = PublicKey>> Lane<S> {
    /// Splits a channel into subchannels. The lane ends with the context.
    pub(crate) fn new<E: Spawner>(context: E, (sender, receiver): (S, impl Receiver<PublicKey = PublicKey>)) -> Self {
        let (muxer, parts, others) = Muxer::builder(context, sender, receiver).with_backup().build();
        muxer.start();
        Self { parts, others, early: VecDeque::new() }
    }

    /// Opens the subchannel of an epoch, with the messages held for it. `None` if the network has ended.
    pub(crate) async fn open(&mut self, epoch: u64) -> Option<(SubSender<S>, Part)> {
        let (sender, receiver) = self.parts.register(epoch).await.ok()?;
        while let Ok(message) = self.others.try_recv() {
            self.keep(message);
        }
        let early = std::mem::take(&mut self.early).into_iter().filter(|(of, _)| *of == epoch);
        Some((sender, Part { early: early.map(|(_, message)| message).collect(), receiver }))
    }

    /// Waits for a message of a later epoch and returns its sender, which is further ahead. Messages for the next epoch
    /// are held until it [opens](Self::open). Cancel safe.
    pub(crate) async fn ahead(&mut self, epoch: u64) -> Option<PublicKey> {
        loop {
            let (of, message) = self.others.recv().await?;
            if of > epoch {
                let from = message.0.clone();
                if of == epoch + 1 {
                    self.keep((of, message));
                }
                return Some(from);
            }
        }
    }

    fn keep(&mut self, (epoch, message): (u64, Message<PublicKey>)) {
        let of_replica = self.early.iter().filter(|(_, (from, _))| *from == message.0).count();
        if of_replica < EARLY_OF_A_REPLICA && self.early.len() < EARLY {
            self.early.push_back((epoch, message));
        }
    }
}

/// Receives the messages of an epoch: first those that arrived before it began.
#[derive(Debug)]
pub(crate) struct Part {
    early: VecDeque<Message<PublicKey>>,
    receiver: SubReceiver<PublicKey>,
}

impl Receiver for Part {
    type Error = mux::Error;
    type PublicKey = PublicKey;

    async fn recv(&mut self) -> Result<Message<PublicKey>, mux::Error> {
        match self.early.pop_front() {
            Some(message) => Ok(message),
            None => self.receiver.recv().await,
        }
    }

    fn capacity(&self) -> NonZeroUsize {
        self.receiver.capacity()
    }
}
