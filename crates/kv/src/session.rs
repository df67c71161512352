//! Turns a connection's bytes into replies: detects the protocol, and handles requests that arrive in pieces.

mod administration;
mod binary;
pub(crate) mod datagram;
mod meta;

use std::sync::Arc;

use crate::{
    clock::Seconds,
    execute::{
        ascii,
        login::{self, Attempt},
        stats,
        walk::Walk,
    },
    protocol::{
        ERROR, Refusal, Words,
        ascii::{Command, parse},
        binary::REQUEST,
    },
    replies::Replies,
    service::{Allowed, Service},
    store::Stored,
    turn::Turn,
    watch::{CloseReason, Interests},
};

/// Maximum length of a line without an end, except a `get` of many keys (memcached's limit).
const LONGEST_LINE: usize = 2048;

/// Maximum length of the line of a `get` of many keys.
const LONGEST_GET: usize = 1 << 20;

/// Cost of a command that visits every shard, in requests of a turn.
const ALL_SHARDS: usize = 64;

/// The reply to datagrams with commands that take long: their source may be forged.
const NOT_BY_UDP: &[u8] = b"SERVER_ERROR not available over UDP\r\n";

/// Progress of a session by some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are done with.
    pub consumed: usize,
    /// The next step.
    pub next: NextStep,
}

/// The event that a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// More bytes are needed: at least this number, including those left.
    More(usize),
    /// Replies must be sent; then the rest of the bytes is handled, if any.
    Send,
    /// The next turn; then the rest of the bytes, if any.
    Turn,
    /// Nothing: the connection is to be closed when replies are sent.
    Close,
    /// Log lines of these events: the connection makes no more requests.
    Watch(Interests),
}

/// The state of a connection between its requests.
#[derive(Debug)]
pub struct Session {
    service: Arc<Service>,
    /// Whether requests arrive in datagrams.
    datagrams: bool,
    /// Whether it speaks the binary protocol, once that is known.
    binary: Option<bool>,
    /// Bytes of a refused value, still to be passed over.
    swallow: u64,
    /// Bytes already searched for the end of a line that arrives in pieces.
    scanned: usize,
    /// A `get` of which some keys are done. Its line is still there.
    get: Option<Unfinished>,
    /// A walk over all items whose reply is not complete.
    walk: Option<Walk>,
    /// Whether requests that are not complete are refused.
    refuses: bool,
    /// Whether a login is required and has not succeeded yet.
    locked: bool,
    /// Why the session closes its connection, if it does.
    close_reason: CloseReason,
}

/// Where a `get` continues, in the bytes from its line on.
#[derive(Clone, Copy, Debug)]
struct Unfinished {
    /// The next key.
    at: usize,
    /// Where the keys end.
    end: usize,
    /// Where the next request begins.
    after: usize,
    cas: bool,
    touch: Option<i32>,
}

impl Session {
    /// Creates the session of a new connection.
    pub fn new(service: &Arc<Service>) -> Self {
        Self {
            service: Arc::clone(service),
            datagrams: false,
            binary: None,
            swallow: 0,
            scanned: 0,
            get: None,
            walk: None,
            refuses: false,
            locked: service.users().is_some(),
            close_reason: CloseReason::default(),
        }
    }

    /// A session for requests in datagrams, which may not be ones that take long.
    pub fn for_datagrams(service: &Arc<Service>) -> Self {
        Self { datagrams: true, ..Self::new(service) }
    }

    /// Forgets half requests, as if the connection were new.
    pub fn start_over(&mut self) {
        (self.binary, self.swallow, self.scanned) = (None, 0, 0);
        (self.get, self.walk) = (None, None);
    }

    /// Bytes of memory that it keeps besides those that it was fed.
    pub fn bytes(&self) -> usize {
        self.walk.as_ref().map_or(0, Walk::bytes)
    }

    /// Whether the session skips a value that was refused.
    pub fn is_passing_over(&self) -> bool {
        self.swallow > 0
    }

    /// Why it closes its connection, if it does.
    pub fn close_reason(&self) -> CloseReason {
        self.close_reason
    }

    /// The service that it is for.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Refuses a request that starts with `input`, for lack of room.
    pub fn refuse(&mut self, input: &[u8], out: &mut Replies, now: Seconds) -> Progress {
        self.refuses = true;
        let progress = self.feed(input, out, &mut Turn::new(), now);
        self.refuses = false;
        progress
    }

    /// Executes the requests in `input`, and appends replies to `out`, until one is incomplete, replies must be sent,
    /// or the turn is over.
    #[inline]
    pub fn feed(&mut self, input: &[u8], out: &mut Replies, turn: &mut Turn, now: Seconds) -> Progress {
        let mut consumed = 0;
        loop {
            if let Some(walk) = &mut self.walk {
                if !walk.go_on(&self.service, out, turn, now) {
                    return Progress { consumed, next: if out.is_full() { NextStep::Send } else { NextStep::Turn } };
                }
                self.walk = None;
            }
            if self.swallow > 0 {
                let count = self.swallow.min((input.len() - consumed) as u64);
                self.swallow -= count;
                consumed += count as usize;
            }
            let rest = &input[consumed..];
            let step = match rest.first() {
                None => Step::More(1),
                Some(_) if out.is_full() => return Progress { consumed, next: NextStep::Send },
                Some(_) if turn.is_over() => return Progress { consumed, next: NextStep::Turn },
                Some(first) if self.is_binary(*first) => self.binary(rest, out, turn, now),
                Some(_) => self.text(rest, out, turn, now),
            };
            match step {
                Step::Done(count) => {
                    consumed += count;
                    turn.spend(1);
                }
                Step::More(wanted) => return Progress { consumed, next: NextStep::More(wanted) },
                Step::Send => return Progress { consumed, next: NextStep::Send },
                Step::Turn => return Progress { consumed, next: NextStep::Turn },
                Step::Close => return Progress { consumed: input.len(), next: NextStep::Close },
                Step::Watch(interests) => {
                    return Progress { consumed: input.len(), next: NextStep::Watch(interests) };
                }
            }
        }
    }

    /// Whether the connection speaks the binary protocol, which its first byte decides.
    fn is_binary(&mut self, first: u8) -> bool {
        let allowed = self.service.settings.protocol;
        *self.binary.get_or_insert(match allowed {
            Allowed::Any => first == REQUEST,
            Allowed::Ascii => false,
            Allowed::Binary => true,
        })
    }

    #[inline]
    fn text(&mut self, input: &[u8], out: &mut Replies, turn: &mut Turn, now: Seconds) -> Step {
        if let Some(Unfinished { at, end, after, cas, touch }) = self.get.take()
            && let Some(keys) = input.get(at..end)
        {
            return self.get(ascii::Get { keys: Words::new(keys), cas, touch }, end, after, out, turn, now);
        }
        let from = self.scanned.min(input.len());
        let Some(end) = memchr::memchr(b'\n', &input[from..]).map(|end| from + end) else {
            self.scanned = input.len();
            let closes = self.refuses || self.locked && input.len() > LONGEST_LINE;
            return if closes { Step::Close } else { unfinished(input) };
        };
        self.scanned = 0;
        let line = match input[..end] {
            // A carriage return alone is a word, not an end, as in memcached.
            [ref line @ .., b'\r'] if end > 1 => line,
            ref line => line,
        };
        let after = end + 1;
        let service = &self.service;
        if self.locked {
            let (attempt, is_in) = login::text(service, line, input, after, out);
            self.locked = !is_in;
            return match attempt {
                Attempt::Done(count) => Step::Done(count),
                Attempt::More(_) if self.refuses => Step::Close,
                Attempt::More(wanted) => Step::More(wanted),
                Attempt::Close => Step::Close,
            };
        }
        match parse(line) {
            Ok(Command::Get { keys, cas, touch }) => {
                let (end, get) = (line.len(), ascii::Get { keys, cas, touch });
                self.get(get, end, after, out, turn, now)
            }
            Ok(Command::Write(write)) => {
                let value = match value(service, self.refuses, input, after, write.len) {
                    Ok(value) => value,
                    Err(Wait::More(wanted)) => return Step::More(wanted),
                    Err(wait) => {
                        if wait == Wait::TooLarge {
                            ascii::forget(service, &write, now);
                        }
                        service.store.log_refusal(write.key, write.mode, wait.stored());
                        let swallow = write.len as u64 + 2;
                        return self.refuse_request(
                            Refusal { reason: wait.reason(), quiet: write.quiet, swallow },
                            after,
                            out,
                        );
                    }
                };
                turn.spend_bytes(write.len);
                ascii::write(service, &write, value, out, now);
                Step::Done(after + write.len + 2)
            }
            Ok(Command::Meta(verb)) => self.meta(verb, line, input, after, out, now),
            Ok(Command::Stats(words)) => {
                turn.end();
                let walk = stats::ascii(service, words, out, now);
                self.walk(walk, after, out)
            }
            Ok(Command::Administration { command, quiet }) => self.administer(command, quiet, after, out, turn, now),
            Ok(Command::RefreshCertificates) if self.datagrams => self.not_by_udp(after, out),
            Ok(Command::Quit) => {
                self.close_reason = CloseReason::Normal;
                Step::Close
            }
            Ok(Command::Http) => Step::Close,
            Ok(Command::Shutdown { known: true }) if service.settings.shutdown => {
                service.stop();
                self.close_reason = CloseReason::Shutdown;
                Step::Close
            }
            Ok(command) => {
                match command {
                    Command::RefreshCertificates => turn.end(),
                    Command::Flush { .. } => turn.spend(ALL_SHARDS),
                    _ => {}
                }
                ascii::execute(service, &command, out, now);
                Step::Done(after)
            }
            Err(refusal) => self.refuse_request(refusal, after, out),
        }
    }

    /// Executes a `get`, or records where it continues.
    #[inline]
    fn get(
        &mut self,
        mut get: ascii::Get<'_>,
        end: usize,
        after: usize,
        out: &mut Replies,
        turn: &mut Turn,
        now: Seconds,
    ) -> Step {
        if ascii::get(&self.service, &mut get, out, turn, now) {
            return Step::Done(after);
        }
        let ascii::Get { keys, cas, touch } = get;
        self.get = Some(Unfinished { at: end - keys.rest().len(), end, after, cas, touch });
        if out.is_full() { Step::Send } else { Step::Turn }
    }

    /// Begins a walk over all items, if a request is for one.
    fn walk(&mut self, walk: Option<Walk>, after: usize, out: &mut Replies) -> Step {
        if walk.is_some() && self.datagrams {
            return self.not_by_udp(after, out);
        }
        self.walk = walk;
        Step::Done(after)
    }

    fn not_by_udp(&self, after: usize, out: &mut Replies) -> Step {
        out.extend_from_slice(NOT_BY_UDP);
        Step::Done(after)
    }

    fn refuse_request(&mut self, refusal: Refusal, after: usize, out: &mut Vec<u8>) -> Step {
        if !refusal.quiet || refusal == ERROR {
            out.extend_from_slice(refusal.reason.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        self.swallow = refusal.swallow;
        Step::Done(after)
    }
}

/// The result of a request's bytes.
enum Step {
    Done(usize),
    More(usize),
    Send,
    Turn,
    Close,
    Watch(Interests),
}

/// The value after a line, with the two bytes at its end.
#[inline]
fn value<'a>(service: &Service, refuses: bool, input: &'a [u8], after: usize, len: usize) -> Result<&'a [u8], Wait> {
    let needed = after + len + 2;
    if let Some(value) = input.get(after..needed) {
        return Ok(value);
    }
    if len > service.store.config().largest_item {
        return Err(Wait::TooLarge);
    }
    Err(if refuses { Wait::NoRoom } else { Wait::More(needed) })
}

/// Why there is no value yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    More(usize),
    TooLarge,
    NoRoom,
}

impl Wait {
    fn stored(self) -> Stored {
        match self {
            Self::TooLarge => Stored::TooLarge,
            Self::NoRoom | Self::More(_) => Stored::NoMemory,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "SERVER_ERROR object too large for cache",
            Self::NoRoom | Self::More(_) => "SERVER_ERROR out of memory storing object",
        }
    }
}

/// A line whose end has not arrived.
fn unfinished(input: &[u8]) -> Step {
    if input.len() <= LONGEST_LINE {
        return Step::More(input.len() + 1);
    }
    let start = input.iter().take_while(|byte| **byte == b' ').count();
    let line = &input[start..];
    let is_get = line.starts_with(b"get ") || line.starts_with(b"gets ");
    if start > 100 || !is_get || input.len() > LONGEST_GET { Step::Close } else { Step::More(input.len() + 1) }
}
