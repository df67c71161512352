//! A channel of the network that engines of votes use one after the other, each for its epoch.
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::utils::mux::{self, Builder, MuxHandle, Muxer, SubReceiver, SubSender};
use commonware_p2p::{Message, Receiver, Sender};
use commonware_runtime::Spawner;
use commonware_utils::channel::mpsc;
use std::collections::VecDeque;
use std::num::NonZeroUsize;

/// Messages of one replica for the next epoch that are kept until it begins here: its votes in the first view, with some room.
const EARLY_OF_A_REPLICA: usize = 16;
/// Messages for the next epoch that are kept, of all replicas.
const EARLY: usize = 1024;

/// One channel, with a part for each epoch.
pub(crate) struct Lane<S: Sender<PublicKey = PublicKey>> {
    parts: MuxHandle<S>,
    /// What came for epochs that no engine runs for.
    others: mpsc::Receiver<(u64, Message<PublicKey>)>,
    /// What came for the next epoch before it began here.
    early: VecDeque<(u64, Message<PublicKey>)>,
}

impl<S: Sender<PublicKey = PublicKey>> Lane<S> {
    /// Makes a lane of a channel. It ends with the context.
    pub(crate) fn new<E: Spawner>(context: E, (sender, receiver): (S, impl Receiver<PublicKey = PublicKey>)) -> Self {
        let (muxer, parts, others) = Muxer::builder(context, sender, receiver).with_backup().build();
        muxer.start();
        Self { parts, others, early: VecDeque::new() }
    }

    /// The part of an epoch, with what came for it before. Nothing where the network has ended.
    pub(crate) async fn open(&mut self, epoch: u64) -> Option<(SubSender<S>, Part)> {
        let (sender, receiver) = self.parts.register(epoch).await.ok()?;
        while let Ok(message) = self.others.try_recv() {
            self.keep(message);
        }
        let early = std::mem::take(&mut self.early).into_iter().filter(|(of, _)| *of == epoch);
        Some((sender, Part { early: early.map(|(_, message)| message).collect(), receiver }))
    }

    /// Waits for a message for an epoch after this one, and tells who sent it: a replica that is further. Those for the next
    /// epoch are kept until it [opens](Self::open). It may be dropped without losing any.
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

/// Gives the messages of an epoch: first those that came before it began.
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
