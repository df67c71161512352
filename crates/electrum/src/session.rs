//! One client: bytes in, bytes out.
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use spv::Hash;

use crate::{
    arguments::Arguments,
    hex,
    limits::Share,
    mempool::Outpoint,
    methods::{self, Call},
    rpc::{self, Id, Message, Request, RpcError},
    service::{Announcement, Counts, Service, State},
    version::{V1_7, Version},
};

/// What a request costs before it does anything: to be parsed, found and answered.
const REQUEST_COST: u64 = 5;
/// Bytes of requests and replies that cost as much as a microsecond of work.
const COST_BYTES: u64 = 200;
/// Replies that are gathered before they are sent.
const GATHERED: usize = 256 << 10;

/// What a session did with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that were used up.
    pub consumed: usize,
    /// What comes next.
    pub next: Next,
}

/// What a session needs to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More bytes than it was given.
    More,
    /// That replies are sent; there may be whole requests left.
    Send,
    /// Time: the prefix has spent what it had.
    Wait(Duration),
    /// That so many bytes are given to [`Session::message`] where it may take its time: the node behind this server has to be
    /// asked. The line's end behind them comes next.
    Ask(usize),
    /// The client is told what is written, and the connection is closed.
    Close,
}

/// A client's session.
pub struct Session {
    pub(crate) service: Arc<Service>,
    pub(crate) share: Share,
    /// The version that is spoken, once it is agreed on.
    pub(crate) version: Option<Version>,
    /// Whether `server.version` was called.
    pub(crate) has_version: bool,
    /// Whether headers are subscribed to.
    pub(crate) headers: bool,
    pub(crate) scripts: HashSet<Hash>,
    /// With their scripts, once somebody pays them.
    pub(crate) outpoints: HashMap<Outpoint, Option<Hash>>,
    pub(crate) closing: bool,
    /// Bytes that were looked through for the end of a request before.
    scanned: usize,
}

impl Session {
    /// A session of a client who has said nothing yet.
    pub fn new(service: &Arc<Service>, share: Share) -> Self {
        Self {
            service: Arc::clone(service),
            share,
            version: None,
            has_version: false,
            headers: false,
            scripts: HashSet::new(),
            outpoints: HashMap::new(),
            closing: false,
            scanned: 0,
        }
    }

    /// Answers the requests in `input`, a line each, to the end of `output`. What is not consumed is to be given again, with what
    /// comes behind it.
    pub fn feed(&mut self, input: &[u8], output: &mut Vec<u8>, now: Instant) -> Fed {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            let more = |consumed| Fed { consumed, next: Next::More };
            if self.closing {
                return Fed { consumed, next: Next::Close };
            }
            if rest.is_empty() {
                return more(consumed);
            }
            if let Some(debt) = self.share.debt(now) {
                Counts::add(&self.service.counts.waits, 1);
                return Fed { consumed, next: Next::Wait(debt) };
            }
            if output.len() >= GATHERED {
                return Fed { consumed, next: Next::Send };
            }
            let limit = self.share.longest_request();
            let end = rest[self.scanned.min(rest.len())..].iter().position(|byte| *byte == b'\n');
            let end = end.map(|end| end + self.scanned);
            if end.unwrap_or(rest.len()) > limit {
                self.refuse_long(output);
                return Fed { consumed: input.len(), next: Next::Close };
            }
            let Some(end) = end else {
                self.scanned = rest.len();
                return more(consumed);
            };
            self.scanned = 0;
            let message = Message::parse(&rest[..end]);
            if self.asks_node(&message) {
                return Fed { consumed, next: Next::Ask(end) };
            }
            self.answer(message, end, output, now);
            consumed += end + 1;
        }
    }

    /// Tells the client that a request is longer than it may be. Nothing behind it is answered.
    pub fn refuse_long(&mut self, output: &mut Vec<u8>) {
        Counts::add(&self.service.counts.refused_requests, 1);
        let text = format!("request too large: at most {} bytes", self.share.longest_request());
        rpc::push_error(output, &RpcError::excessive(text), &Id::Null);
        output.push(b'\n');
    }

    /// Answers one message, a request or a batch, without the line's end.
    pub fn message(&mut self, message: &[u8], output: &mut Vec<u8>, now: Instant) {
        self.answer(Message::parse(message), message.len(), output, now);
    }

    /// Whether the node behind this server, if there is one, has to be asked for an answer.
    fn asks_node(&self, message: &Result<Message<'_>, RpcError>) -> bool {
        let asks = |request: &Request<'_>| match request {
            Request::Call { method, parameters, .. } => {
                methods::find(method, self.version()).is_some_and(|method| (method.asks_node)(parameters))
            }
            Request::Invalid { .. } => false,
        };
        self.service.node().is_some()
            && match message {
                Ok(Message::One(request)) => asks(request),
                Ok(Message::Batch(requests)) => requests.iter().any(asks),
                Err(_) => false,
            }
    }

    /// Answers a message of so many bytes.
    fn answer(&mut self, message: Result<Message<'_>, RpcError>, length: usize, output: &mut Vec<u8>, now: Instant) {
        let begin = output.len();
        match message {
            Ok(Message::One(request)) => self.request(request, output, now),
            Ok(Message::Batch(requests)) => self.batch(requests, output, now),
            Err(error) => {
                Counts::add(&self.service.counts.errors, 1);
                rpc::push_error(output, &error, &Id::Null);
            }
        }
        if output.len() > begin {
            output.push(b'\n');
        }
        let bytes = (length + output.len() - begin) as u64;
        self.share.charge(bytes / COST_BYTES, now);
    }

    fn batch(&mut self, requests: Vec<Request<'_>>, output: &mut Vec<u8>, now: Instant) {
        let begin = output.len();
        let limit = self.reply_limit();
        output.push(b'[');
        for request in requests {
            let before = output.len();
            self.request(request, output, now);
            if output.len() == before {
                continue;
            }
            output.push(b',');
            if output.len() - begin > limit {
                Counts::add(&self.service.counts.refused_replies, 1);
                output.truncate(begin);
                let text = format!("the replies of the batch have more than {limit} bytes: ask for less at once");
                return rpc::push_error(output, &RpcError::excessive(text), &Id::Null);
            }
        }
        match output.last_mut() {
            Some(comma) if *comma == b',' => *comma = b']',
            // There were notifications alone.
            _ => output.truncate(begin),
        }
    }

    /// Answers a request; a notification is not answered.
    fn request(&mut self, request: Request<'_>, output: &mut Vec<u8>, now: Instant) {
        let begin = output.len();
        Counts::add(&self.service.counts.requests, 1);
        let (id, method, parameters) = match request {
            Request::Invalid { id, why } => {
                Counts::add(&self.service.counts.errors, 1);
                self.share.charge(REQUEST_COST, now);
                return rpc::push_error(output, &RpcError::invalid(why), &id);
            }
            Request::Call { id, method, parameters } => (id, method, parameters),
        };
        rpc::begin_result(output);
        let mut cost = REQUEST_COST;
        let done = self.find(&method).and_then(|found| {
            let arguments = Arguments::new(found.name, found.signature, parameters)?;
            let state = self.service.state();
            (found.run)(self, &mut Call { arguments, state: &state, output: &mut *output, cost: &mut cost })
        });
        self.share.charge(cost, now);
        let limit = self.reply_limit();
        let done = match done {
            Ok(()) if output.len() - begin > limit => {
                Counts::add(&self.service.counts.refused_replies, 1);
                Err(RpcError::excessive(format!("response too large: over {limit} bytes")))
            }
            done => done,
        };
        match (done, id) {
            (_, None) => output.truncate(begin),
            (Ok(()), Some(id)) => rpc::end_result(output, &id),
            (Err(error), Some(id)) => {
                Counts::add(&self.service.counts.errors, 1);
                output.truncate(begin);
                rpc::push_error(output, &error, &id);
            }
        }
    }

    /// The method of a name, in the version that is spoken.
    fn find(&mut self, name: &str) -> Result<&'static methods::Method, RpcError> {
        if !self.has_version && name != methods::VERSION {
            self.closing = true;
            return Err(RpcError::bad_request("use server.version to identify client"));
        }
        methods::find(name, self.version.unwrap_or(Version::OLDEST)).ok_or_else(|| RpcError::unknown(name))
    }

    pub(crate) fn version(&self) -> Version {
        self.version.unwrap_or(Version::OLDEST)
    }

    /// Bytes of the longest reply.
    pub(crate) fn reply_limit(&self) -> usize {
        if self.share.is_trusted() { usize::MAX } else { self.share.limits().reply }
    }

    /// Takes one more subscription.
    pub(crate) fn subscribe(&mut self) -> Result<(), RpcError> {
        if self.share.subscribe() {
            return Ok(());
        }
        Counts::add(&self.service.counts.refused_subscriptions, 1);
        Err(RpcError::excessive("excessive resource usage: too many subscriptions of your network prefix, or of all"))
    }

    /// Tells the client of a change, to the end of `output`. After an error it was not told of all.
    pub fn notify(&mut self, announcement: &Announcement, output: &mut Vec<u8>, now: Instant) -> Result<(), RpcError> {
        let state = self.service.state();
        let begin = output.len();
        if self.headers && announcement.is_of_branch {
            begin_notification(output, "blockchain.headers.subscribe");
            methods::push_tip(&state, output)?;
            end_notification(output);
        }
        // Whichever are fewer are looked up in the others.
        let touched: Vec<Hash> = if self.scripts.len() < announcement.scripts.len() {
            self.scripts.iter().filter(|script| announcement.scripts.binary_search(script).is_ok()).copied().collect()
        } else {
            announcement.scripts.iter().filter(|script| self.scripts.contains(*script)).copied().collect()
        };
        for script in touched {
            self.notify_script(&state, &script, output)?;
        }
        for outpoint in self.touched_outpoints(&state, &announcement.scripts)? {
            self.notify_outpoint(&state, outpoint, output)?;
        }
        self.share.charge((output.len() - begin) as u64 / COST_BYTES, now);
        Ok(())
    }

    fn notify_script(&self, state: &State, script: &Hash, output: &mut Vec<u8>) -> Result<(), RpcError> {
        let method = match self.version() >= V1_7 {
            true => "blockchain.scriptpubkey.subscribe",
            false => "blockchain.scripthash.subscribe",
        };
        let (status, _) = self.service.status(state, script).map_err(methods::failed)?;
        begin_notification(output, method);
        output.push(b'"');
        hex::push_reversed(output, script);
        output.extend_from_slice(b"\",");
        methods::push_status(output, status);
        end_notification(output);
        Counts::add(&self.service.counts.notifications, 1);
        Ok(())
    }

    /// The outpoints that a change of scripts may be about.
    fn touched_outpoints(&mut self, state: &State, scripts: &[Hash]) -> Result<Vec<Outpoint>, RpcError> {
        let mempool = self.service.mempool();
        let mut touched = Vec::new();
        for (outpoint, script) in &mut self.outpoints {
            if script.is_none() {
                *script = methods::outpoint_script(state, &mempool, *outpoint).map_err(methods::failed)?;
            }
            if script.is_some_and(|script| scripts.binary_search(&script).is_ok()) {
                touched.push(*outpoint);
            }
        }
        Ok(touched)
    }

    fn notify_outpoint(&self, state: &State, outpoint: Outpoint, output: &mut Vec<u8>) -> Result<(), RpcError> {
        begin_notification(output, "blockchain.outpoint.subscribe");
        output.push(b'"');
        hex::push_reversed(output, &outpoint.0);
        rpc::push_format(output, format_args!("\",{},", outpoint.1));
        methods::push_outpoint(state, &self.service.mempool(), outpoint, output).map_err(methods::failed)?;
        end_notification(output);
        Counts::add(&self.service.counts.notifications, 1);
        Ok(())
    }
}

fn begin_notification(output: &mut Vec<u8>, method: &str) {
    rpc::push_format(output, format_args!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":["));
}

fn end_notification(output: &mut Vec<u8>) {
    output.extend_from_slice(b"]}\n");
}
