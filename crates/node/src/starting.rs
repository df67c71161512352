//! A node while it starts: its progress in the log, and over HTTP.

use std::{
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Release},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use chain::progress::Progress;
use wire::FeedFrame;

use crate::{
    Config, Error,
    http::{Get, Http, Reply, Site},
    site::NodeSite,
    threads::{join, spawn},
};

/// Interval of the log lines of a start: a start that takes less has none.
const REPORT: Duration = Duration::from_secs(2);

/// Logs the progress of a start until it is dropped.
pub struct ProgressLog {
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLog {
    /// Starts to log.
    pub fn start(progress: Arc<Progress>) -> Result<Self, Error> {
        let (end, ended) = mpsc::channel();
        let log = move || {
            while ended.recv_timeout(REPORT) == Err(RecvTimeoutError::Timeout) {
                tracing::info!("starting: {}", progress.report());
            }
        };
        Ok(Self { end: Some(end), thread: Some(spawn("progress", None, log)?) })
    }
}

impl Drop for ProgressLog {
    fn drop(&mut self) {
        self.end = None;
        self.thread.take().into_iter().for_each(join);
    }
}

/// The HTTP server of a node, which serves before the node does. Dropping it ends its threads.
#[derive(Debug)]
pub struct HttpServer {
    local: SocketAddr,
    site: Arc<StartingSite>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Serves the progress of a start on the configured address, if there is one.
    pub fn start(config: &Config, progress: &Arc<Progress>) -> Result<Option<Self>, Error> {
        let Some(address) = config.http else { return Ok(None) };
        let site = Arc::new(StartingSite { progress: progress.clone(), node: OnceLock::new() });
        let http = Http::bind(address, config.http_trusted(), site.clone())?;
        let local = http.local_address();
        let stop = Arc::new(AtomicBool::new(false));
        let thread = spawn("http", None, {
            let stop = stop.clone();
            move || http.run(&stop)
        })?;
        Ok(Some(Self { local, site, stop, thread: Some(thread) }))
    }

    /// The address that it listens on.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Serves the site of a node that has started.
    pub fn serve(&self, site: NodeSite) {
        // A node has one.
        let _ = self.site.node.set(site);
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.store(true, Release);
        self.thread.take().into_iter().for_each(join);
    }
}

/// The site of a node: its progress while it starts, then its pages.
struct StartingSite {
    progress: Arc<Progress>,
    node: OnceLock<NodeSite>,
}

impl std::fmt::Debug for StartingSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartingSite").field("has_started", &self.node.get().is_some()).finish_non_exhaustive()
    }
}

impl Site for Arc<StartingSite> {
    fn answer(&self, get: &Get<'_>) -> Reply {
        if let Some(site) = self.node.get() {
            return site.answer(get);
        }
        if get.path == "/health" {
            // Whoever restarts a process that is not healthy must let it start.
            return Reply::text("ok\n");
        }
        let report = self.progress.report();
        let reply = Reply::text(format!("starting: {report}\n")).with_status("503 Service Unavailable");
        match report.left {
            Some(left) => reply.with_header("Retry-After", &(left.as_secs() + 1).to_string()),
            None => reply,
        }
    }

    fn is_slow(&self, path: &str) -> bool {
        self.node.get().is_some_and(|site| site.is_slow(path))
    }

    fn preflight(&self, get: &Get<'_>) -> Option<Reply> {
        self.node.get()?.preflight(get)
    }

    fn tick(&self, now: Instant) -> Option<Vec<u8>> {
        self.node.get()?.tick(now)
    }

    fn serve_feed(&self, stream: TcpStream, request: FeedFrame) {
        if let Some(site) = self.node.get() {
            site.serve_feed(stream, request);
        }
    }

    fn takes_posts(&self, path: &str) -> bool {
        self.node.get().is_some_and(|site| site.takes_posts(path))
    }
}
