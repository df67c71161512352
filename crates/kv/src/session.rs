//! A connection's bytes, to replies: which protocol it speaks, and requests that come in pieces.

use std::sync::Arc;

use crate::{
    clock::Seconds,
    execute::{ascii, binary, binary_reply},
    protocol::{
        ERROR, Refusal,
        ascii::{Command, parse},
        binary::{Parsed, REQUEST, Status},
    },
    service::{Allowed, Service},
};

/// A line without an end is refused when it has so many bytes, but for a `get` of many keys (memcached's limit).
const LONGEST_LINE: usize = 2048;

/// A `get` of many keys is refused when its line has so many bytes.
const LONGEST_GET: usize = 1 << 20;

/// Half requests up to this many bytes need no reservation.
const FREE_PIECE: usize = 16 << 10;

/// What became of a connection's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that are done with.
    pub consumed: usize,
    /// What is next.
    pub next: Next,
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More bytes: with those that are left, at least so many.
    More(usize),
    /// That replies are sent; then the rest of the bytes.
    Send,
    /// Nothing: the connection is to be closed when replies are sent.
    Close,
}

/// The state of a connection between its requests.
#[derive(Debug)]
pub struct Session {
    service: Arc<Service>,
    /// Bytes of replies that are gathered before they are sent.
    gathered: usize,
    /// Whether it speaks the binary protocol, once that is known.
    binary: Option<bool>,
    /// Bytes of a refused value, still to be passed over.
    swallow: u64,
    /// Bytes that hold no end of a line, of one that comes in pieces.
    scanned: usize,
    /// Bytes of the line of a `get` whose keys are done.
    resume: usize,
    reserved: usize,
}

impl Session {
    /// A new connection's, whose replies are sent when `gathered` bytes of them are there.
    pub fn new(service: &Arc<Service>, gathered: usize) -> Self {
        Self { service: Arc::clone(service), gathered, binary: None, swallow: 0, scanned: 0, resume: 0, reserved: 0 }
    }

    /// Forgets half requests, as if the connection were new.
    pub fn start_over(&mut self) {
        self.unreserve();
        (self.binary, self.swallow, self.scanned, self.resume) = (None, 0, 0, 0);
    }

    /// Executes the requests in `input`, and appends replies to `out`, until one is incomplete or replies are to be sent.
    #[inline]
    pub fn feed(&mut self, input: &[u8], out: &mut Vec<u8>, now: Seconds) -> Fed {
        let mut consumed = 0;
        loop {
            if self.swallow > 0 {
                let count = self.swallow.min((input.len() - consumed) as u64);
                self.swallow -= count;
                consumed += count as usize;
            }
            let rest = &input[consumed..];
            let step = match rest.first() {
                None => Step::More(1),
                Some(_) if out.len() >= self.gathered => return Fed { consumed, next: Next::Send },
                Some(first) if self.is_binary(*first) => self.binary(rest, out, now),
                Some(_) => self.text(rest, out, now),
            };
            match step {
                Step::Done(count) => {
                    consumed += count;
                    self.unreserve();
                }
                Step::More(wanted) => return Fed { consumed, next: Next::More(wanted) },
                Step::Send => return Fed { consumed, next: Next::Send },
                Step::Close => return Fed { consumed: input.len(), next: Next::Close },
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
    fn text(&mut self, input: &[u8], out: &mut Vec<u8>, now: Seconds) -> Step {
        let from = self.scanned.min(input.len());
        let Some(end) = memchr::memchr(b'\n', &input[from..]).map(|end| from + end) else {
            self.scanned = input.len();
            return unfinished(input);
        };
        self.scanned = 0;
        let line = match input[..end] {
            // A carriage return alone is no end but a word, as it is to memcached.
            [ref line @ .., b'\r'] if end > 1 => line,
            ref line => line,
        };
        let after = end + 1;
        let service = &self.service;
        match parse(line) {
            Ok(Command::Get { mut keys, cas, touch }) => {
                if self.resume > 0 {
                    keys = crate::protocol::Words::new(&line[self.resume..]);
                }
                if ascii::get(service, &mut keys, cas, touch, self.gathered, out, now) {
                    self.resume = 0;
                    Step::Done(after)
                } else {
                    self.resume = line.len() - keys.rest().len();
                    Step::Send
                }
            }
            Ok(Command::Write(write)) => {
                let value = match value(service, &mut self.reserved, input, after, write.len) {
                    Ok(value) => value,
                    Err(Wait::More(wanted)) => return Step::More(wanted),
                    Err(Wait::Refuse(reason)) => {
                        ascii::forget(service, &write, now);
                        let refusal = Refusal { reason, quiet: write.quiet, swallow: write.len as u64 + 2 };
                        return self.refuse(refusal, after, out);
                    }
                };
                ascii::write(service, &write, value, out, now);
                Step::Done(after + write.len + 2)
            }
            Ok(Command::Meta(verb)) => self.meta(verb, line, input, after, out, now),
            Ok(Command::Quit | Command::Http) => Step::Close,
            Ok(Command::Shutdown { known: true }) if service.settings.shutdown => {
                service.stop();
                Step::Close
            }
            Ok(command) => {
                ascii::execute(service, &command, out, now);
                Step::Done(after)
            }
            Err(refusal) => self.refuse(refusal, after, out),
        }
    }

    fn meta(
        &mut self,
        verb: crate::protocol::meta::Verb,
        line: &[u8],
        input: &[u8],
        after: usize,
        out: &mut Vec<u8>,
        now: Seconds,
    ) -> Step {
        use crate::{execute::meta, protocol::meta as parser};
        if verb == parser::Verb::Noop {
            out.extend_from_slice(b"MN\r\n");
            return Step::Done(after);
        }
        let mut scratch = [0; crate::store::MAX_KEY];
        let command = match parser::parse(verb, line, &mut scratch) {
            Ok(command) => command,
            Err(refusal) => return self.refuse(refusal, after, out),
        };
        if verb != parser::Verb::Set {
            if let Err(reason) = meta::execute(&self.service, verb, &command, out, now) {
                return self.refuse(Refusal::new(reason), after, out);
            }
            return Step::Done(after);
        }
        let swallow = command.len as u64 + 2;
        let Some(mode) = command.flags.write_mode() else {
            let refusal = Refusal { swallow, ..Refusal::new("CLIENT_ERROR invalid mode for ms M token") };
            return self.refuse(refusal, after, out);
        };
        match value(&self.service, &mut self.reserved, input, after, command.len) {
            Ok(value) => {
                meta::set(&self.service, &command, mode, value, out, now);
                Step::Done(after + command.len + 2)
            }
            Err(Wait::More(wanted)) => Step::More(wanted),
            Err(Wait::Refuse(reason)) => {
                ascii::forget_key(&self.service, command.key, now);
                self.refuse(Refusal { reason, quiet: false, swallow }, after, out)
            }
        }
    }

    fn binary(&mut self, input: &[u8], out: &mut Vec<u8>, now: Seconds) -> Step {
        match crate::protocol::binary::parse(input, self.service.store.config().largest_item) {
            Parsed::BadMagic => Step::Close,
            Parsed::Partial(wanted) => {
                if reserve(&self.service, &mut self.reserved, wanted) {
                    return Step::More(wanted);
                }
                match crate::protocol::binary::parse(input, FREE_PIECE / 2) {
                    Parsed::Refused { header, whole: Some(whole), stale, .. } => {
                        stale.iter().for_each(|key| ascii::forget_key(&self.service, key, now));
                        binary_reply::refuse(header, Status::NoMemory, out);
                        self.pass_over(whole, input)
                    }
                    _ => Step::Close,
                }
            }
            Parsed::Refused { header, status, whole, stale } => {
                stale.iter().for_each(|key| ascii::forget_key(&self.service, key, now));
                binary_reply::refuse(header, status, out);
                whole.map_or(Step::Close, |whole| self.pass_over(whole, input))
            }
            Parsed::Request(request) => {
                let len = crate::protocol::binary::HEADER + request.header.body_len.get() as usize;
                match binary::execute(&self.service, &request, out, now) {
                    binary::Then::GoOn => Step::Done(len),
                    binary::Then::Close => Step::Close,
                }
            }
        }
    }

    /// Passes over a request, of which not all bytes may be there.
    fn pass_over(&mut self, whole: u64, input: &[u8]) -> Step {
        let here = whole.min(input.len() as u64);
        self.swallow = whole - here;
        Step::Done(here as usize)
    }

    fn refuse(&mut self, refusal: Refusal, after: usize, out: &mut Vec<u8>) -> Step {
        if !refusal.quiet || refusal == ERROR {
            out.extend_from_slice(refusal.reason.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        self.swallow = refusal.swallow;
        Step::Done(after)
    }

    #[inline]
    fn unreserve(&mut self) {
        if self.reserved > 0 {
            self.service.release(std::mem::take(&mut self.reserved));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.unreserve();
    }
}

/// What a request's bytes came to.
enum Step {
    Done(usize),
    More(usize),
    Send,
    Close,
}

/// The value behind a line, with the two bytes at its end.
#[inline]
fn value<'a>(
    service: &Service,
    reserved: &mut usize,
    input: &'a [u8],
    after: usize,
    len: usize,
) -> Result<&'a [u8], Wait> {
    let needed = after + len + 2;
    if let Some(value) = input.get(after..needed) {
        return Ok(value);
    }
    if len > service.store.config().largest_item {
        return Err(Wait::Refuse("SERVER_ERROR object too large for cache"));
    }
    if !reserve(service, reserved, needed) {
        return Err(Wait::Refuse("SERVER_ERROR out of memory storing object"));
    }
    Err(Wait::More(needed))
}

/// Reserves memory for half a request of so many bytes, `reserved` of which are so already.
fn reserve(service: &Service, reserved: &mut usize, bytes: usize) -> bool {
    if bytes <= FREE_PIECE || *reserved >= bytes {
        return true;
    }
    let granted = service.reserve(bytes - *reserved);
    if granted {
        *reserved = bytes;
    }
    granted
}

/// Why there is no value yet.
enum Wait {
    More(usize),
    Refuse(&'static str),
}

/// A line whose end has not come.
fn unfinished(input: &[u8]) -> Step {
    if input.len() <= LONGEST_LINE {
        return Step::More(input.len() + 1);
    }
    let start = input.iter().take_while(|byte| **byte == b' ').count();
    let line = &input[start..];
    let is_get = line.starts_with(b"get ") || line.starts_with(b"gets ");
    if start > 100 || !is_get || input.len() > LONGEST_GET { Step::Close } else { Step::More(input.len() + 1) }
}
