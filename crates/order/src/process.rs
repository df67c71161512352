//! A replica inside a process: the engine and its connections on their own threads.
//!
//! Nothing here is generic, so the engine is compiled once, with this crate, for all users.
use crate::application::Application;
use crate::committee::identity_bytes;
use crate::engine::{Config, Replica, StartError};
use crate::member::Member;
use crate::monotonic::Monotonic;
use crate::network::{Messages, connect, room, set_members};
use crate::status::Status;
use crate::transport::{Linked, Transport};
use bytes::Bytes;
use commonware_p2p::{Receiver as _, Recipients, Sender as _};
use commonware_runtime::{Runner, Spawner, Supervisor, tokio};
use futures::channel::{mpsc, oneshot};
use futures::future::{Either, select};
use futures::{FutureExt, StreamExt};
use link::future::EventLoop;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc as blocking};
use std::thread::JoinHandle;
use thiserror::Error;

/// Queue length of messages to others. Messages that do not fit are dropped.
const OUTBOX: usize = 4096;

/// Addresses, storage and threads of a replica.
#[derive(Clone, Debug)]
pub struct Site {
    /// Address to listen on for the others.
    pub listen: SocketAddr,
    /// Addresses of the others at the start. [`Process::peers`] accepts changes.
    pub members: Vec<Member>,
    /// Directory of its storage, created if missing.
    pub directory: PathBuf,
    /// Transport between replicas.
    pub transport: Transport,
    /// Threads of the engine. Its parts wait for each other more than they compute.
    pub threads: usize,
}

/// Why a replica does not run.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The engine cannot start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The directory or a thread cannot be created.
    #[error("cannot set up the replica's directory or threads: {0}")]
    System(#[from] io::Error),
    /// It cannot listen on its address.
    #[error(
        "cannot listen on {at} for the other replicas: {source}; free the port, or give the replica another address"
    )]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The operating system's error.
        source: link::Error,
    },
    /// The runtime ended.
    #[error("the replica's engine ended during start: see its log")]
    Ended,
}

/// Sends messages to the other replicas' applications.
#[derive(Clone, Debug)]
pub struct Outbox(mpsc::Sender<Bytes>);

impl Outbox {
    /// Sends a message to all others, on a best-effort basis. Returns whether the queue had room. The message must not
    /// exceed the body limit.
    pub fn send(&self, message: Bytes) -> bool {
        self.0.clone().try_send(message).is_ok()
    }
}

/// Updates the engine's addresses of the other replicas.
#[derive(Clone, Debug)]
pub struct Peers(mpsc::UnboundedSender<Vec<Member>>);

impl Peers {
    /// Connects the engine to these replicas from now on, and to no others.
    pub fn set_members(&self, members: Vec<Member>) {
        // Fails only if the engine has ended.
        let _ = self.0.unbounded_send(members);
    }
}

/// A running replica. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    status: Status,
    outbox: Outbox,
    peers: Peers,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts a replica, which continues where it stopped.
    pub fn start(config: Config, site: Site, application: Arc<dyn Application>) -> Result<Self, ProcessError> {
        std::fs::create_dir_all(&site.directory)?;
        let network = site.transport.channels(site.listen);
        let network = network.map_err(|source| ProcessError::Listen { at: site.listen, source })?;
        let (started, result) = blocking::sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let (sender, outbox) = mpsc::channel(OUTBOX);
        let (updates, moves) = mpsc::unbounded();
        let run = Run { config, site, network, application, started, stopped, outbox, moves };
        let thread = std::thread::Builder::new().name("order".into()).spawn(move || run.run())?;
        let status = match result.recv() {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(ProcessError::Ended),
        };
        Ok(Self { status, outbox: Outbox(sender), peers: Peers(updates), stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the replica's live status.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Handle to update the addresses of the replicas.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Handle to send messages to the other replicas.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails if it has already ended.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Run {
    config: Config,
    site: Site,
    network: (link::commonware::Network, EventLoop),
    application: Arc<dyn Application>,
    started: blocking::SyncSender<Result<Status, StartError>>,
    stopped: oneshot::Receiver<()>,
    outbox: mpsc::Receiver<Bytes>,
    moves: mpsc::UnboundedReceiver<Vec<Member>>,
}

/// Marks the replica as ended when dropped, whatever ended it.
struct End(Status);

impl Drop for End {
    fn drop(&mut self) {
        self.0.ended();
    }
}

impl Run {
    fn run(self) {
        let Self { config, site, network: (channels, events), application, started, stopped, outbox, mut moves } = self;
        let Site { listen, members, directory, threads, .. } = site;
        let runtime = tokio::Config::new().with_worker_threads(threads).with_storage_directory(directory);
        let ended = tokio::Runner::new(runtime).start(|context| async move {
            let context = Monotonic::new(context);
            let Config { network, key, longest_body, .. } = &config;
            context.child("channels").spawn(move |_| async move {
                if let Err(error) = events.run_on_tokio().await {
                    tracing::error!(%error, "cannot watch the channels to other replicas");
                }
            });
            let (connections, room) = (Linked::new(context.child("network"), channels), room(members.len()));
            let (channels, messages, mut peers, _connections) =
                connect(connections, *network, key, listen, room, *longest_body);
            set_members(&mut peers, 0, room, &members);
            let recipient = application.clone();
            let order = context.child("order");
            let replica = Replica::start(order, config, application, channels, peers.clone(), peers.clone()).await;
            let (replica, ended) = match replica {
                Ok(replica) => replica,
                Err(error) => {
                    let _ = started.send(Err(error));
                    return None;
                }
            };
            let Messages { mut sender, mut receiver } = messages;
            let receive = move |_| async move {
                while let Ok((from, message)) = receiver.recv().await {
                    recipient.received(&identity_bytes(&from), message.into());
                }
            };
            context.child("hear").spawn(receive);
            let tell = move |_| async move {
                let mut outbox = outbox;
                while let Some(message) = outbox.next().await {
                    // Offline replicas miss it.
                    let _ = sender.send(Recipients::All, message, false);
                }
            };
            context.child("tell").spawn(tell);
            let follow = move |_| async move {
                let mut time = 0;
                while let Some(members) = moves.next().await {
                    time += 1;
                    set_members(&mut peers, time, room, &members);
                }
            };
            context.child("places").spawn(follow);
            let _end = End(replica.status().clone());
            let _ = started.send(Ok(replica.status().clone()));
            match select(stopped, ended.boxed()).await {
                Either::Left(_) => None,
                Either::Right((ended, _)) => Some(format!("{ended:?}")),
            }
        });
        if let Some(ended) = ended {
            tracing::error!(%ended, "the replica's engine ended");
        }
    }
}
