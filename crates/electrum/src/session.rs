//! The session of a client: bytes in, bytes out.
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

/// Base cost of a request: parsing it, finding its method and replying.
const REQUEST_COST: u64 = 5;
/// Cost of a message that is not a request: parsing and refusing it.
const REFUSAL_COST: u64 = 5;
/// Bytes of replies gathered before they are sent.
const GATHERED: usize = 256 << 10;

/// Progress of a session by some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of bytes consumed.
    pub consumed: usize,
    /// The next step.
    pub next: NextStep,
}

/// What a session needs in order to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// More bytes.
    More,
    /// Its replies must be sent; complete requests may remain.
    Send,
    /// Time: its prefix has used up its budget.
    Wait(Duration),
    /// Pass this number of bytes to [`Session::message`] on a thread that may block: the node must be asked. The end of
    /// the line follows them.
    Ask(usize),
    /// Send the output, then close the connection.
    Close,
}

/// A client's session.
pub struct Session {
    pub(crate) client: Client,
    /// Bytes already searched for the end of a request.
    scanned: usize,
    /// End of the turn; `None` if this is the only client.
    turn_end: Option<Instant>,
    batch: Option<Batch>,
}

/// A batch whose requests are answered over several turns.
struct Batch {
    requests: std::vec::IntoIter<Request<'static>>,
    /// Length of the message in bytes.
    length: usize,
    /// The replies so far.
    replies: Vec<u8>,
}

impl Session {
    /// A session of a client that has sent nothing yet.
    pub fn new(service: &Arc<Service>, share: Share) -> Self {
        Self { client: Client::new(service, share), scanned: 0, turn_end: None, batch: None }
    }

    /// Sets the end of the turn: unanswered requests then wait for the next call of [`Session::feed`].
    pub fn set_turn_end(&mut self, end: Instant) {
        self.turn_end = Some(end);
    }

    /// How long the prefix must wait until it has budget again. Counts the wait.
    pub(crate) fn debt(&self, now: Instant) -> Option<Duration> {
        let debt = self.client.share.debt(now)?;
        Counts::add(&self.client.service.counts.waits, 1);
        Some(debt)
    }

    /// Bytes held for a batch in progress.
    pub(crate) fn buffered(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.length + batch.replies.len())
    }

    fn is_turn_over(&self) -> bool {
        self.turn_end.is_some_and(|end| Instant::now() >= end)
    }

    /// Answers the requests in `input`, one per line, and appends the replies to `output`. Pass unconsumed bytes again,
    /// with those that follow.
    pub fn feed(&mut self, input: &[u8], output: &mut Vec<u8>, now: Instant) -> Progress {
        let mut consumed = 0;
        let mut is_first = true;
        loop {
            let rest = &input[consumed..];
            let more = |consumed| Progress { consumed, next: NextStep::More };
            if self.client.closing && self.batch.is_none() {
                return Progress { consumed, next: NextStep::Close };
            }
            if rest.is_empty() && self.batch.is_none() {
                return more(consumed);
            }
            if let Some(debt) = self.debt(now) {
                return Progress { consumed, next: NextStep::Wait(debt) };
            }
            // At least one request is answered per turn, however short it is.
            if output.len() >= GATHERED || !is_first && self.is_turn_over() {
                return Progress { consumed, next: NextStep::Send };
            }
            is_first = false;
            if let Some(batch) = self.batch.take() {
                self.answer_batch(batch, output, now);
                continue;
            }
            let limit = self.client.share.longest_request();
            let end = rest[self.scanned.min(rest.len())..].iter().position(|byte| *byte == b'\n');
            let end = end.map(|end| end + self.scanned);
            if end.unwrap_or(rest.len()) > limit {
                self.refuse_long(output);
                return Progress { consumed: input.len(), next: NextStep::Close };
            }
            let Some(end) = end else {
                self.scanned = rest.len();
                return more(consumed);
            };
            self.scanned = 0;
            let message = Message::parse(&rest[..end]);
            if self.asks_node(&message) {
                return Progress { consumed, next: NextStep::Ask(end) };
            }
            match message {
                Ok(Message::Batch(requests)) => {
                    let requests: Vec<_> = requests.into_iter().map(Request::into_owned).collect();
                    let batch = Batch { requests: requests.into_iter(), length: end, replies: vec![b'['] };
                    self.answer_batch(batch, output, now);
                }
                message => self.answer(message, end, output, now),
            }
            consumed += end + 1;
        }
    }

    /// Replies that a request is too long. Nothing after it is answered.
    pub fn refuse_long(&mut self, output: &mut Vec<u8>) {
        Counts::add(&self.client.service.counts.refused_requests, 1);
        let text = format!("request too large: at most {} bytes", self.client.share.longest_request());
        rpc::push_error(output, &RpcError::excessive(text), &Id::Null);
        output.push(b'\n');
    }

    /// Answers one message, a request or a batch, without the end of the line.
    pub fn message(&mut self, message: &[u8], output: &mut Vec<u8>, now: Instant) {
        self.answer(Message::parse(message), message.len(), output, now);
    }

    /// Whether answering the message takes a call to the node, if there is one.
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

    /// Answers a message of `length` bytes.
    fn answer(&mut self, message: Result<Message<'_>, RpcError>, length: usize, output: &mut Vec<u8>, now: Instant) {
        let begin = output.len();
        match message {
            Ok(Message::One(request)) => self.request(request, output, now),
            Ok(Message::Batch(requests)) => {
                let mut replies = vec![b'['];
                let is_whole = requests.into_iter().all(|request| self.batched(request, &mut replies, now));
                self.end_batch(replies, is_whole, output);
            }
            Err(error) => {
                self.client.share.charge(REFUSAL_COST, now);
                Counts::add(&self.client.service.counts.errors, 1);
                rpc::push_error(output, &error, &Id::Null);
            }
        }
        if output.len() > begin {
            output.push(b'\n');
        }
        self.client.charge_bytes(length + output.len() - begin, now);
    }

    /// Answers requests of a batch until the turn is over, and finishes the batch after its last request.
    fn answer_batch(&mut self, mut batch: Batch, output: &mut Vec<u8>, now: Instant) {
        let mut is_whole = true;
        while is_whole && let Some(request) = batch.requests.next() {
            is_whole = self.batched(request, &mut batch.replies, now);
            let owes = self.client.share.debt(now).is_some();
            if is_whole && (owes || self.is_turn_over()) && batch.requests.len() > 0 {
                self.batch = Some(batch);
                return;
            }
        }
        let begin = output.len();
        self.end_batch(batch.replies, is_whole, output);
        if output.len() > begin {
            output.push(b'\n');
        }
        self.client.charge_bytes(batch.length + output.len() - begin, now);
    }

    /// Answers a request of a batch, after the replies to the earlier ones. Returns false if they exceed the reply
    /// limit.
    fn batched(&mut self, request: Request<'_>, replies: &mut Vec<u8>, now: Instant) -> bool {
        let before = replies.len();
        self.request(request, replies, now);
        if replies.len() > before {
            replies.push(b',');
        }
        replies.len() <= self.client.reply_limit()
    }

    fn end_batch(&mut self, mut replies: Vec<u8>, is_whole: bool, output: &mut Vec<u8>) {
        if !is_whole {
            let limit = self.client.reply_limit();
            Counts::add(&self.client.service.counts.refused_replies, 1);
            let text = format!("the replies of the batch have more than {limit} bytes: ask for less at once");
            return rpc::push_error(output, &RpcError::excessive(text), &Id::Null);
        }
        // A batch of notifications gets no reply.
        if let Some(comma) = replies.last_mut().filter(|last| **last == b',') {
            *comma = b']';
            output.append(&mut replies);
        }
    }

    /// Answers a request; a notification gets no reply.
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

    /// Finds a method by name, in the negotiated version.
    fn find(&mut self, name: &str) -> Result<&'static methods::Method, RpcError> {
        if !self.client.has_version && name != methods::VERSION {
            self.client.closing = true;
            return Err(RpcError::bad_request("use server.version to identify client"));
        }
        methods::find(name, self.client.version()).ok_or_else(|| RpcError::unknown(name))
    }
}
