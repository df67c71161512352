//! The ASCII protocol's commands.

use std::array;

use crate::{
    clock::Seconds,
    host::{Access, Position},
    number,
    protocol::{
        Words,
        ascii::{Command, Write},
    },
    replies::{LONG, Replies},
    service::{Service, VERSION},
    store::{self, Arithmetic, Key, Mode, NotChanged, PREFETCHED, Stored},
    turn::Turn,
};

/// A `get`, or the rest of one.
#[derive(Clone, Debug)]
pub struct Get<'a> {
    /// The keys.
    pub keys: Words<'a>,
    /// Whether the items' CAS numbers are requested.
    pub cas: bool,
    /// The new expiry time.
    pub touch: Option<i32>,
}

/// Sends the items of some keys. Returns false if keys are left: the turn is over, or replies must be sent first.
#[inline]
pub fn get(service: &Service, request: &mut Get<'_>, out: &mut Replies, turn: &mut Turn, now: Seconds) -> bool {
    let store = &service.store;
    let Get { keys, cas, touch } = request;
    let _position = if touch.is_none() { service.order(&Access::Read) } else { Position::default() };
    loop {
        let mut ahead = keys.clone();
        let group: [Option<Key<'_>>; PREFETCHED] = array::from_fn(|_| ahead.next().map(|word| store.key(word)));
        store.prefetch(group.iter().flatten().map(|key| key.hash));
        for key in group {
            if out.is_full() {
                return false;
            }
            let Some(key) = key else {
                out.extend_from_slice(b"END\r\n");
                return true;
            };
            keys.next();
            turn.spend(1);
            let _position =
                if touch.is_some() { service.order(&Access::Change(key.bytes)) } else { Position::default() };
            let mut shard = store.shard(key.hash);
            let item = match touch {
                None => shard.get(key.bytes, key.hash, now),
                Some(expiry) => shard.touch(key.bytes, key.hash, store.clock().expiry((*expiry).into(), now), now),
            };
            let Some(item) = item else { continue };
            let header = *shard.header(item);
            out.reserve(64 + key.bytes.len() + LONG.min(header.value_len as usize));
            out.extend_from_slice(b"VALUE ");
            out.extend_from_slice(key.bytes);
            out.push(b' ');
            number::append(out, header.flags.into());
            out.push(b' ');
            number::append(out, header.value_len.into());
            if *cas {
                out.push(b' ');
                number::append(out, header.cas);
            }
            out.extend_from_slice(b"\r\n");
            out.append_value(&mut shard, item, key.hash, b"\r\n");
        }
        // After some keys at least, so that a line ends however short the turns are.
        if turn.is_over() {
            return false;
        }
    }
}

/// Writes a value, which is followed by two bytes.
pub fn write(service: &Service, write: &Write<'_>, value: &[u8], out: &mut Vec<u8>, now: Seconds) {
    let store = &service.store;
    let reply = match value {
        [value @ .., b'\r', b'\n'] => {
            let key = store.key(write.key);
            let write = store::Write {
                flags: write.flags,
                expires: store.clock().expiry(write.expiry.into(), now),
                cas: write.cas,
                ..store::Write::new(write.mode, key, value)
            };
            let mut position = service.order(&Access::Write(&write));
            let stored = position.write(&mut store.shard(key.hash), &write, now);
            match stored {
                Stored::Stored(_) => "STORED\r\n",
                Stored::NotStored => "NOT_STORED\r\n",
                Stored::Exists => "EXISTS\r\n",
                Stored::NotFound => "NOT_FOUND\r\n",
                Stored::TooLarge => "SERVER_ERROR object too large for cache\r\n",
                Stored::NoMemory => "SERVER_ERROR out of memory storing object\r\n",
            }
        }
        _ => "CLIENT_ERROR bad data chunk\r\n",
    };
    reply_to(write.quiet, reply, out);
}

/// Removes an item whose new value is refused, so that the old value does not pass for it.
pub fn forget(service: &Service, write: &Write<'_>, now: Seconds) {
    if write.mode == Mode::Set {
        forget_key(service, write.key, now);
    }
}

/// Removes an item.
pub fn forget_key(service: &Service, key: &[u8], now: Seconds) {
    let _position = service.order(&Access::Change(key));
    let key = service.store.key(key);
    let mut shard = service.store.shard(key.hash);
    if let Some(item) = shard.peek(key.bytes, key.hash, now) {
        shard.delete(item);
    }
}

/// Executes a command that has no value and no part in the connection's state.
pub fn execute(service: &Service, command: &Command<'_>, out: &mut Vec<u8>, now: Seconds) {
    let store = &service.store;
    match *command {
        Command::Arithmetic { key, increment, delta, quiet } => {
            arithmetic(service, key, increment, delta, quiet, out, now);
        }
        Command::Delete { key, quiet } => {
            let _position = service.order(&Access::Change(key));
            let key = store.key(key);
            let deleted = store.shard(key.hash).delete_key(key.bytes, key.hash, now);
            reply_to(quiet, if deleted { "DELETED\r\n" } else { "NOT_FOUND\r\n" }, out);
        }
        Command::Touch { key, expiry, quiet } => {
            let _position = service.order(&Access::Change(key));
            let key = store.key(key);
            let expires = store.clock().expiry(expiry.into(), now);
            let touched = store.shard(key.hash).touch(key.bytes, key.hash, expires, now).is_some();
            reply_to(quiet, if touched { "TOUCHED\r\n" } else { "NOT_FOUND\r\n" }, out);
        }
        Command::Flush { delay, quiet } => {
            let flushed = service.flush(delay.into(), now);
            reply_to(quiet, if flushed { "OK\r\n" } else { "CLIENT_ERROR flush_all not allowed\r\n" }, out);
        }
        Command::RefreshCertificates => refresh_certificates(service, out, now),
        Command::Version => {
            out.extend_from_slice(b"VERSION ");
            out.extend_from_slice(VERSION.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        // The log level is set when the program starts.
        Command::Verbosity { quiet } => reply_to(quiet, "OK\r\n", out),
        Command::Shutdown { .. } if service.settings.shutdown => {
            out.extend_from_slice(b"CLIENT_ERROR invalid shutdown mode\r\n");
        }
        Command::Shutdown { .. } => out.extend_from_slice(b"ERROR: shutdown not enabled\r\n"),
        Command::Get { .. }
        | Command::Write(_)
        | Command::Meta(_)
        | Command::Stats(_)
        | Command::Administration { .. }
        | Command::Quit
        | Command::Http => {
            debug_assert!(false, "the session does these");
        }
    }
}

/// Reloads certificates for new connections.
fn refresh_certificates(service: &Service, out: &mut Vec<u8>, now: Seconds) {
    match service.tls().map(|tls| tls.reload(now)) {
        Some(Ok(())) => out.extend_from_slice(b"OK\r\n"),
        // The error names files, which clients must not see.
        Some(Err(error)) => {
            tracing::error!("cannot read the certificates, so the present ones stay: {error}");
            out.extend_from_slice(b"ERROR the certificates cannot be read; the log tells why\r\n");
        }
        None => out.extend_from_slice(b"ERROR TLS is not enabled\r\n"),
    }
}

fn arithmetic(
    service: &Service,
    key: &[u8],
    increment: bool,
    delta: u64,
    quiet: bool,
    out: &mut Vec<u8>,
    now: Seconds,
) {
    let _position = service.order(&Access::Change(key));
    let key = service.store.key(key);
    let change = Arithmetic { increment, delta, cas: 0, new_cas: None };
    let changed = service.store.shard(key.hash).add(key, &change, now);
    let error = match changed {
        Ok((_, number)) => {
            if !quiet {
                number::append(out, number);
                out.extend_from_slice(b"\r\n");
            }
            return;
        }
        Err(NotChanged::NotFound | NotChanged::Exists) => "NOT_FOUND\r\n",
        Err(NotChanged::NotNumeric) => "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
        Err(NotChanged::NoMemory) => "SERVER_ERROR out of memory\r\n",
    };
    reply_to(quiet, error, out);
}

fn reply_to(quiet: bool, reply: &str, out: &mut Vec<u8>) {
    if !quiet {
        out.extend_from_slice(reply.as_bytes());
    }
}
