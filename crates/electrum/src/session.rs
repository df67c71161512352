//! One client: bytes in, bytes out.
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    arguments::Arguments,
    client::Client,
    limits::Share,
    methods::{self, Call},
    rpc::{self, Id, Message, Request, RpcError},
    service::{Counts, Service},
};

/// What a request costs before it does anything: to be parsed, found and answered.
const REQUEST_COST: u64 = 5;
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
    pub(crate) client: Client,
    /// Bytes that were looked through for the end of a request before.
    scanned: usize,
}

impl Session {
    /// A session of a client who has said nothing yet.
    pub fn new(service: &Arc<Service>, share: Share) -> Self {
        Self { client: Client::new(service, share), scanned: 0 }
    }

    /// Answers the requests in `input`, a line each, to the end of `output`. What is not consumed is to be given again, with what
    /// comes behind it.
    pub fn feed(&mut self, input: &[u8], output: &mut Vec<u8>, now: Instant) -> Fed {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            let more = |consumed| Fed { consumed, next: Next::More };
            if self.client.closing {
                return Fed { consumed, next: Next::Close };
            }
            if rest.is_empty() {
                return more(consumed);
            }
            if let Some(debt) = self.client.share.debt(now) {
                Counts::add(&self.client.service.counts.waits, 1);
                return Fed { consumed, next: Next::Wait(debt) };
            }
            if output.len() >= GATHERED {
                return Fed { consumed, next: Next::Send };
            }
            let limit = self.client.share.longest_request();
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
        Counts::add(&self.client.service.counts.refused_requests, 1);
        let text = format!("request too large: at most {} bytes", self.client.share.longest_request());
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
                methods::find(method, self.client.version()).is_some_and(|method| (method.asks_node)(parameters))
            }
            Request::Invalid { .. } => false,
        };
        self.client.service.node().is_some()
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
                Counts::add(&self.client.service.counts.errors, 1);
                rpc::push_error(output, &error, &Id::Null);
            }
        }
        if output.len() > begin {
            output.push(b'\n');
        }
        self.client.charge_bytes(length + output.len() - begin, now);
    }

    fn batch(&mut self, requests: Vec<Request<'_>>, output: &mut Vec<u8>, now: Instant) {
        let begin = output.len();
        let limit = self.client.reply_limit();
        output.push(b'[');
        for request in requests {
            let before = output.len();
            self.request(request, output, now);
            if output.len() == before {
                continue;
            }
            output.push(b',');
            if output.len() - begin > limit {
                Counts::add(&self.client.service.counts.refused_replies, 1);
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
        Counts::add(&self.client.service.counts.requests, 1);
        let (id, method, parameters) = match request {
            Request::Invalid { id, why } => {
                Counts::add(&self.client.service.counts.errors, 1);
                self.client.share.charge(REQUEST_COST, now);
                return rpc::push_error(output, &RpcError::invalid(why), &id);
            }
            Request::Call { id, method, parameters } => (id, method, parameters),
        };
        rpc::begin_result(output);
        let mut cost = REQUEST_COST;
        let done = self.find(&method).and_then(|found| {
            let arguments = Arguments::new(found.name, found.signature, parameters)?;
            let snapshot = self.client.service.snapshot();
            (found.run)(
                &mut self.client,
                &mut Call { arguments, snapshot: &snapshot, output: &mut *output, cost: &mut cost },
            )
        });
        self.client.share.charge(cost, now);
        let limit = self.client.reply_limit();
        let done = match done {
            Ok(()) if output.len() - begin > limit => {
                Counts::add(&self.client.service.counts.refused_replies, 1);
                Err(RpcError::excessive(format!("response too large: over {limit} bytes")))
            }
            done => done,
        };
        match (done, id) {
            (_, None) => output.truncate(begin),
            (Ok(()), Some(id)) => rpc::end_result(output, &id),
            (Err(error), Some(id)) => {
                Counts::add(&self.client.service.counts.errors, 1);
                output.truncate(begin);
                rpc::push_error(output, &error, &id);
            }
        }
    }

    /// The method of a name, in the version that is spoken.
    fn find(&mut self, name: &str) -> Result<&'static methods::Method, RpcError> {
        if !self.client.has_version && name != methods::VERSION {
            self.client.closing = true;
            return Err(RpcError::bad_request("use server.version to identify client"));
        }
        methods::find(name, self.client.version()).ok_or_else(|| RpcError::unknown(name))
    }
}
