//! The pages over HTTP: the page for people with its data, metrics, health, lists.

mod access;
mod assets;
mod figures;
mod frames;
mod report;

use std::{net::TcpStream, sync::Arc, time::Instant};

use chain::own::{self, DamagedBlock};
use esplora::Api;
use kv::service::Service;
use net::Prefix;
use nic::{FeedCarrier, Subscriber, Subscription};
use wire::{FeedFrame, Frame, Status};
use zerocopy::IntoBytes;

use crate::{
    Config,
    http::{Get, Reply, Site},
    listings::{Listings, Refusal},
    metrics,
    node_state::NodeState,
    replica::state_sync,
};
use access::Access;
use assets::Asset;
use figures::Figures;
pub use frames::Frames;
use report::Reporter;

/// What the root says of a node.
const NODE: &str = concat!(
    "Turnpike ",
    env!("CARGO_PKG_VERSION"),
    "\n
/metrics              figures, as Prometheus reads them
/health               whether the process serves, and which blocks on disk are damaged
/ready                whether it takes writes, or why not
/accounts             the accounts, 100 at a time: ?count=N, ?after=ACCOUNT to go on
/assets               the issued amount of each asset: ?count=N, ?after=CODE to go on
/accounts/ID/history  the transactions of one, the latest first: ?count=N, ?cursor=HEIGHT:POSITION to go on;
                      filters: ?kind=COMMAND,... ?counterpart=ID ?role=source|destination
                      ?after= and ?before= HEIGHT, HEIGHT:POSITION or @SECONDS
/accounts/ID/holds    its open holds, the latest first, with the same parameters but `kind`
/accounts/ID/transactions/TRANSACTION  one of them by its id, with its block
/blocks               the blocks, the latest first: ?count=N, ?before=HEIGHT to go on
/blocks/HEIGHT        the transactions of one: ?count=N, ?after=POSITION to go on
/figures              an hour of figures; /figures/events sends them each second
/status               the node's state and its configuration
/replica              what a replica that joins is given, where this node is one: `turnpike cluster join --sync`
/api                  Esplora's API over Bitcoin blocks, where the configuration has `electrum.esplora`

The protocol is spoken on the other port, over UDP and TCP: `turnpike info`. The book is docs/ of the
source: quick-start.md to begin with, operations.md for what the figures mean, protocol.md for the bytes.
A browser gets a page for people here.
"
);

/// The path of the protocol's queries.
const FRAMES: &str = "/frames";

/// The root page of Esplora's API.
const ESPLORA: &str = "Esplora's API over Bitcoin blocks

/api/blocks/tip/height   height of the last block
/api/blocks[/HEIGHT]     ten blocks, downwards
/api/block/HASH          a block
/api/tx/TXID             a transaction
/api/address/ADDRESS     sums that an address received and spent
/api/mempool             unconfirmed transactions
/api/fee-estimates       fees by number of blocks
POST /api/tx             broadcasts a transaction

All of them are in docs/electrum.md of the source.
";

/// The root page of a key-value store.
const STORE: &str = concat!(
    "Turnpike ",
    env!("CARGO_PKG_VERSION"),
    ", the key-value store alone\n
/metrics  figures, as Prometheus reads them, by the names of memcached_exporter
/health   whether the process serves

memcached's protocols are spoken on the other port. The book is docs/ of the source: kv.md.
"
);

/// What the page for people consists of.
enum Page {
    Asset(&'static Asset),
    Status,
    Figures,
    Events,
    Frames,
}

impl Page {
    /// The part that a request is for; `None` for all other paths.
    fn find(get: &Get<'_>) -> Option<Self> {
        match get.path {
            "/" if get.accepts_html() => Some(Self::Asset(assets::index())),
            "/status" => Some(Self::Status),
            "/figures" => Some(Self::Figures),
            "/figures/events" => Some(Self::Events),
            FRAMES => Some(Self::Frames),
            path => path.strip_prefix("/page/").and_then(assets::find).map(Self::Asset),
        }
    }
}

/// The site of a node.
pub struct NodeSite {
    node_state: Arc<NodeState>,
    listings: Listings,
    access: Access,
    figures: Figures,
    reporter: Reporter,
    frames: Frames,
    feeds: Option<Subscriber>,
    /// Prefixes whose clients may have feeds.
    trusted: Vec<Prefix>,
    esplora: Option<Api>,
    /// Origins whose pages may use Esplora's API; `*` is all of them.
    origins: Vec<String>,
}

impl NodeSite {
    /// A site of a node with this configuration, these lists and answers to queries.
    pub fn new(node_state: Arc<NodeState>, listings: Listings, frames: Frames, config: &Config) -> Self {
        Self {
            access: Access::new(&config.page),
            figures: Figures::new(node_state.clone()),
            reporter: Reporter::new(node_state.clone(), listings.network(), config),
            frames,
            node_state,
            listings,
            feeds: None,
            trusted: config.trusted.clone(),
            esplora: None,
            origins: Vec::new(),
        }
    }

    /// Adds Esplora's API, if any.
    pub fn with_esplora(self, esplora: Option<Api>, config: &Config) -> Self {
        Self { esplora, origins: config.electrum.esplora_origins.clone(), ..self }
    }

    /// Adds feeds over WebSockets, if the node serves feeds.
    pub(crate) fn with_feeds(self, feeds: Option<Subscriber>) -> Self {
        Self { feeds, ..self }
    }

    /// Answers a request of the page, if the client may use it.
    fn answer_page(&self, page: Page, get: &Get<'_>) -> Reply {
        if let Err(refusal) = self.access.check_client(get).and_then(|()| self.access.check_host(get)) {
            return refusal;
        }
        match page {
            Page::Asset(asset) => asset.serve(get),
            Page::Status => Reply::json(self.reporter.json()),
            Page::Figures => Reply::json(self.figures.history()),
            Page::Events => Reply::events(),
            Page::Frames => match (get.posted, &get.fields.web_socket_key) {
                (Some(frame), None) => self.frames.answer(frame),
                (Some(message), Some(_)) => self.answer_message(message, get),
                (None, Some(key)) => match self.access.check_origin(get) {
                    Ok(()) => Reply::web_socket(key),
                    Err(refusal) => refusal,
                },
                (None, None) => {
                    let text = "POST a frame of the protocol, or open a WebSocket (version 13) for many\n";
                    Reply::text(text).with_status("405 Method Not Allowed")
                }
            },
        }
    }

    /// Answers a message of a WebSocket: a frame as in a POST, or the request of a feed.
    fn answer_message(&self, message: &[u8], get: &Get<'_>) -> Reply {
        let Ok(Frame::Feed(request)) = Frame::parse(message) else { return self.frames.answer(message) };
        let from = get.from.to_canonical();
        let refusal = if self.feeds.is_none() {
            Status::UnknownCommand
        } else if !self.trusted.iter().any(|prefix| prefix.contains(from)) {
            Status::NotTrusted
        } else {
            return Reply::feed(*request);
        };
        let mut refused = *request;
        refused.set_refusal(refusal);
        Reply::bytes("", refused.as_bytes().to_vec())
    }

    /// Esplora's answer at `path`, relative to its root.
    fn answer_esplora(&self, api: &Api, path: &str, get: &Get<'_>) -> Reply {
        let reply = if path.is_empty() || path == "/" {
            Reply::text(ESPLORA)
        } else {
            let esplora::Reply { status, kind, max_age, body } = api.answer(path, get.posted, get.from, Instant::now());
            Reply::bytes(kind, body).with_status(status).with_max_age(max_age)
        };
        self.allow_origin(get, reply)
    }

    /// Allows the requesting page to read a reply, if its origin is allowed.
    fn allow_origin(&self, get: &Get<'_>, reply: Reply) -> Reply {
        if self.origins.iter().any(|origin| origin == "*") {
            return reply.with_header("Access-Control-Allow-Origin", "*");
        }
        // A cached reply is for one origin.
        let reply = if self.origins.is_empty() { reply } else { reply.with_header("Vary", "Origin") };
        match self.origins.iter().find(|origin| get.fields.origin.as_ref() == Some(origin)) {
            Some(origin) => reply.with_header("Access-Control-Allow-Origin", origin),
            None => reply,
        }
    }
}

/// The path relative to `/api`.
fn below_api(path: &str) -> Option<&str> {
    path.strip_prefix("/api").filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Site for NodeSite {
    fn answer(&self, get: &Get<'_>) -> Reply {
        match (&self.esplora, below_api(get.path)) {
            (Some(api), Some(path)) => return self.answer_esplora(api, path, get),
            (None, Some(_)) => {
                let off = "Esplora's API is off here: set electrum.esplora = true\n";
                return Reply::text(off).with_status("404 Not Found");
            }
            (_, None) => {}
        }
        if let Some(page) = Page::find(get) {
            return self.answer_page(page, get);
        }
        if let (Some(order), Some(path)) = (self.node_state.order(), get.path.strip_prefix("/replica/")) {
            return match order.sync.answer(path, get.query) {
                Ok(page) => Reply::bytes("application/octet-stream", page),
                Err(refusal) => Reply::text(format!("{refusal}\n")).with_status(status_of_sync(&refusal)),
            };
        }
        match get.path {
            "/" => Reply::text(NODE),
            "/metrics" => Reply::metrics(metrics::render(&self.node_state)),
            "/health" if self.node_state.has_diverged() => {
                Reply::text(format!("{}\n", wire::Status::Diverged)).with_status("503 Service Unavailable")
            }
            "/health" => health(&self.node_state.damage()),
            "/ready" => match self.node_state.unready() {
                None => match self.node_state.order().and_then(|order| order.note()) {
                    None => Reply::text("ready\n"),
                    Some(note) => Reply::text(format!("ready: {note}\n")),
                },
                Some(reason) => Reply::text(format!("{reason}\n")).with_status("503 Service Unavailable"),
            },
            _ if self.node_state.has_diverged() => {
                Reply::text(format!("{}\n", wire::Status::Diverged)).with_status("503 Service Unavailable")
            }
            _ => match self.access.check_host(get).map(|()| self.listings.answer(get.path, get.query)) {
                Ok(Ok(list)) => Reply::json(list),
                Ok(Err(refusal)) => Reply::text(format!("{refusal}\n")).with_status(status(&refusal)),
                Err(refusal) => refusal,
            },
        }
    }

    fn is_slow(&self, path: &str) -> bool {
        !matches!(path, "/" | "/metrics" | "/health" | "/ready" | "/figures/events") && !path.starts_with("/page/")
    }

    fn tick(&self, now: Instant) -> Option<Vec<u8>> {
        self.figures.tick(now).map(String::into_bytes)
    }

    fn serve_feed(&self, stream: TcpStream, request: FeedFrame) {
        if let Some(feeds) = &self.feeds {
            feeds.subscribe(Subscription { stream, carrier: FeedCarrier::WebSocket, request });
        }
    }

    fn takes_posts(&self, path: &str) -> bool {
        path == FRAMES || self.esplora.is_some() && below_api(path).is_some()
    }

    fn preflight(&self, get: &Get<'_>) -> Option<Reply> {
        let is_open = self.esplora.is_some() && below_api(get.path).is_some() && !self.origins.is_empty();
        is_open.then(|| {
            let reply = Reply::empty()
                .with_header("Access-Control-Allow-Methods", "GET, HEAD, POST")
                .with_header("Access-Control-Allow-Headers", "Content-Type")
                .with_header("Access-Control-Max-Age", "600");
            self.allow_origin(get, reply)
        })
    }
}

/// Damaged blocks do not stop the ledger, whose state is in memory; but they cannot be served, and a backup should be
/// near.
fn health(damage: &[DamagedBlock]) -> Reply {
    if damage.is_empty() {
        return Reply::text("ok\n");
    }
    let lines: String = damage.iter().map(|found| format!("{found}\n")).collect();
    let remedy = "restore the whole data directory from a backup, or replace that of a replica with \
                  `turnpike cluster sync --replace`";
    Reply::text(format!("blocks on disk are damaged:\n{lines}{remedy}\n")).with_status("503 Service Unavailable")
}

fn status(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoSuchList
        | Refusal::NoSuchAccount(_)
        | Refusal::NoSuchTransaction(..)
        | Refusal::NoSuchBlock { .. } => "404 Not Found",
        Refusal::BadRequest(_) => "400 Bad Request",
        Refusal::Failed(own::Error::Pruned { .. }) => "410 Gone",
        Refusal::Failed(_) => "500 Internal Server Error",
    }
}

fn status_of_sync(refusal: &state_sync::Refusal) -> &'static str {
    match refusal {
        state_sync::Refusal::NoSuchThing => "400 Bad Request",
        state_sync::Refusal::NoSuchBlock(_) | state_sync::Refusal::Ledger(ledger::Error::NotRecent { .. }) => {
            "404 Not Found"
        }
        state_sync::Refusal::NoCheckpoint => "503 Service Unavailable",
        state_sync::Refusal::Ledger(_) => "500 Internal Server Error",
    }
}

/// The site of a key-value store alone.
pub struct StoreSite(pub Arc<Service>);

impl Site for StoreSite {
    fn answer(&self, get: &Get<'_>) -> Reply {
        match get.path {
            "/" => Reply::text(STORE),
            "/metrics" => Reply::metrics(metrics::render_store(&self.0)),
            "/health" => Reply::text("ok\n"),
            _ => Reply::text("there is /, /metrics and /health\n").with_status("404 Not Found"),
        }
    }

    fn is_slow(&self, _path: &str) -> bool {
        false
    }
}
