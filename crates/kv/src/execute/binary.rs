//! The binary protocol's commands.

use super::{
    binary_reply::{append_header, refuse, reply},
    stats,
    walk::Walk,
};
use crate::{
    clock::Seconds,
    host::{Access, Position},
    number,
    protocol::binary::{Command, Request, Status},
    replies::{LONG, Replies},
    service::{Service, VERSION},
    store::{Arithmetic, Mode, NotChanged, Stored, Write},
};

/// The next step on the connection.
#[derive(Debug)]
pub enum Then {
    /// Further requests.
    GoOn,
    /// The rest of the reply.
    Walk(Walk),
    /// Nothing.
    Close,
}

/// An expiry time with which a number that is not there is not made.
const NOT_MADE: u32 = u32::MAX;

/// Executes a request.
pub fn execute(service: &Service, request: &Request<'_>, out: &mut Replies, now: Seconds) -> Then {
    match request.command {
        Command::Get { with_key, touch } => {
            let _position = service.order(&if touch { Access::Change(request.key) } else { Access::Read });
            get(service, request, with_key, touch, true, out, now);
        }
        Command::Touch => {
            let _position = service.order(&Access::Change(request.key));
            get(service, request, false, true, false, out, now);
        }
        Command::Set => write(service, request, Mode::Set, out, now),
        Command::Add => write(service, request, Mode::Add, out, now),
        Command::Replace => write(service, request, Mode::Replace, out, now),
        Command::Append => write(service, request, Mode::Append, out, now),
        Command::Prepend => write(service, request, Mode::Prepend, out, now),
        Command::Delete => delete(service, request, out, now),
        Command::Increment | Command::Decrement => arithmetic(service, request, out, now),
        Command::Flush => {
            let delay = extra(request, 0);
            let status = if service.flush(delay.into(), now) { Status::Ok } else { Status::AuthError };
            finish(request, status, 0, out);
        }
        Command::Noop | Command::Verbosity => finish(request, Status::Ok, 0, out),
        Command::Version => reply(request.header, Status::Ok, &[], &[], VERSION.as_bytes(), 0, out),
        Command::Stat => return stats::binary(service, request, out, now).map_or(Then::GoOn, Then::Walk),
        Command::Quit => {
            finish(request, Status::Ok, 0, out);
            return Then::Close;
        }
        Command::SaslList | Command::Sasl => refuse(request.header, Status::Unknown, out),
    }
    Then::GoOn
}

/// Executes a request whose position in the NIC's stream has come: a `get` without touch, `set` or `replace`.
pub fn execute_in_order(service: &Service, request: &Request<'_>, out: &mut Replies, now: Seconds) {
    let mode = match request.command {
        Command::Get { with_key, touch: false } => return get(service, request, with_key, false, true, out, now),
        Command::Set => Mode::Set,
        Command::Replace => Mode::Replace,
        _ => {
            debug_assert!(false, "others have no position yet");
            return;
        }
    };
    write_at(service, &client_write(service, request, mode, now), Position::default(), request, out, now);
}

/// Executes a write that the NIC has executed and answered. Returns false if the NIC must remove the item, as the store
/// has no room for it.
pub fn follow(service: &Service, request: &Request<'_>, now: Seconds) -> bool {
    let store = &service.store;
    let key = store.key(request.key);
    match request.command {
        // The NIC had the item, which the store may have evicted.
        Command::Set | Command::Replace => {
            let new_cas = Some(request.header.cas.get());
            let write = Write { mode: Mode::Set, cas: 0, new_cas, ..client_write(service, request, Mode::Set, now) };
            matches!(store.shard(key.hash).write(&write, now), Stored::Stored(_))
        }
        Command::Delete => {
            store.shard(key.hash).delete_key(key.bytes, key.hash, now);
            true
        }
        Command::Touch | Command::Get { touch: true, .. } => {
            let expires = expiry(service, extra(request, 0), now);
            store.shard(key.hash).touch(key.bytes, key.hash, expires, now);
            true
        }
        _ => {
            debug_assert!(false, "the NIC executes no others");
            false
        }
    }
}

/// Replies that a value is too long to be copied.
pub fn refuse_long(request: &Request<'_>, out: &mut Vec<u8>) {
    refuse(request.header, Status::NoMemory, out);
}

/// Replies with a status; a quiet request that succeeded gets no reply.
fn finish(request: &Request<'_>, status: Status, cas: u64, out: &mut Vec<u8>) {
    if status != Status::Ok {
        refuse(request.header, status, out);
    } else if !request.quiet {
        reply(request.header, status, &[], &[], &[], cas, out);
    }
}

/// The 32-bit number at an offset of the extras, 0 if missing.
fn extra(request: &Request<'_>, at: usize) -> u32 {
    let bytes = request.extras.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}

fn extra_64(request: &Request<'_>, at: usize) -> u64 {
    u64::from(extra(request, at)) << 32 | u64::from(extra(request, at + 4))
}

/// Expiry times have no sign here: those with the top bit are far away.
fn expiry(service: &Service, time: u32, now: Seconds) -> Seconds {
    service.store.clock().expiry(time.into(), now)
}

fn get(
    service: &Service,
    request: &Request<'_>,
    with_key: bool,
    touch: bool,
    with_value: bool,
    out: &mut Replies,
    now: Seconds,
) {
    let store = &service.store;
    let key = store.key(request.key);
    let mut shard = store.shard(key.hash);
    let found = if touch {
        shard.touch(key.bytes, key.hash, expiry(service, extra(request, 0), now), now)
    } else {
        shard.get(key.bytes, key.hash, now)
    };
    let sent = if with_key { key.bytes } else { &[] };
    let Some(item) = found else {
        if !request.quiet {
            let text = if with_key { &[][..] } else { Status::NotFound.text().as_bytes() };
            reply(request.header, Status::NotFound, &[], sent, text, 0, out);
        }
        return;
    };
    let header = *shard.header(item);
    let len = if with_value { header.value_len as usize } else { 0 };
    out.reserve(64 + sent.len() + LONG.min(len));
    append_header(request.header, Status::Ok, 4, sent.len(), len, header.cas, out);
    out.extend_from_slice(&header.flags.to_be_bytes());
    out.extend_from_slice(sent);
    if with_value {
        out.append_value(&mut shard, item, key.hash, b"");
    }
}

fn write(service: &Service, request: &Request<'_>, mode: Mode, out: &mut Vec<u8>, now: Seconds) {
    let write = client_write(service, request, mode, now);
    write_at(service, &write, service.order(&Access::Write(&write)), request, out, now);
}

/// The write that a client requests.
fn client_write<'a>(service: &Service, request: &Request<'a>, mode: Mode, now: Seconds) -> Write<'a> {
    let cas = request.header.cas.get();
    // A number to compare with makes the others comparisons.
    let compares = cas != 0 && matches!(mode, Mode::Set | Mode::Add | Mode::Replace);
    Write {
        flags: extra(request, 0),
        expires: expiry(service, extra(request, 4), now),
        cas,
        ..Write::new(if compares { Mode::Cas } else { mode }, service.store.key(request.key), request.value)
    }
}

fn write_at(
    service: &Service,
    write: &Write<'_>,
    mut position: Position<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
    now: Seconds,
) {
    let stored = position.write(&mut service.store.shard(write.hash), write, now);
    let status = match (stored, write.mode) {
        (Stored::Stored(cas), _) => return finish(request, Status::Ok, cas, out),
        (Stored::Exists, _) | (Stored::NotStored, Mode::Add) => Status::Exists,
        (Stored::NotFound, _) | (Stored::NotStored, Mode::Replace) => Status::NotFound,
        (Stored::NotStored, _) => Status::NotStored,
        (Stored::TooLarge, _) => Status::TooLarge,
        (Stored::NoMemory, _) => Status::NoMemory,
    };
    finish(request, status, 0, out);
}

fn delete(service: &Service, request: &Request<'_>, out: &mut Vec<u8>, now: Seconds) {
    let _position = service.order(&Access::Change(request.key));
    let key = service.store.key(request.key);
    let mut shard = service.store.shard(key.hash);
    let cas = request.header.cas.get();
    let found = if cas == 0 { None } else { shard.peek(key.bytes, key.hash, now) };
    let status = match found {
        Some(item) if cas != shard.header(item).cas => Status::Exists,
        _ if shard.delete_key(key.bytes, key.hash, now) => Status::Ok,
        _ => Status::NotFound,
    };
    finish(request, status, 0, out);
}

fn arithmetic(service: &Service, request: &Request<'_>, out: &mut Vec<u8>, now: Seconds) {
    let store = &service.store;
    let key = store.key(request.key);
    let increment = request.command == Command::Increment;
    let (delta, initial, time) = (extra_64(request, 0), extra_64(request, 8), extra(request, 16));
    let _position = service.order(&Access::Change(request.key));
    let mut shard = store.shard(key.hash);
    let change = Arithmetic { increment, delta, cas: request.header.cas.get(), new_cas: None };
    let changed = shard.add(key, &change, now);
    let (number, cas) = match changed {
        Ok((item, number)) => (number, shard.header(item).cas),
        Err(NotChanged::NotNumeric) => return finish(request, Status::NotNumeric, 0, out),
        Err(NotChanged::Exists) => return finish(request, Status::Exists, 0, out),
        Err(NotChanged::NoMemory) => return finish(request, Status::NoMemory, 0, out),
        Err(NotChanged::NotFound) if time == NOT_MADE => return finish(request, Status::NotFound, 0, out),
        Err(NotChanged::NotFound) => {
            let mut digits = [0; number::DIGITS];
            let value = number::format(initial, &mut digits);
            let write = Write { expires: expiry(service, time, now), ..Write::new(Mode::Add, key, value) };
            match shard.write(&write, now) {
                Stored::Stored(cas) => (initial, cas),
                Stored::NoMemory | Stored::TooLarge => return finish(request, Status::NoMemory, 0, out),
                _ => return finish(request, Status::NotStored, 0, out),
            }
        }
    };
    if !request.quiet {
        reply(request.header, Status::Ok, &[], &[], &number.to_be_bytes(), cas, out);
    }
}
