//! The meta protocol's commands.

use crate::{
    clock::{NEVER, Seconds},
    host::Access,
    number,
    protocol::meta::{Command, Verb, encode},
    replies::{LONG, Replies},
    service::Service,
    store::{Arithmetic, Header, Item, Mode, NotChanged, Shard, Stored, Write, mark},
};

/// Executes a command that has no value. Returns an error line if it is not valid.
pub fn execute(
    service: &Service,
    verb: Verb,
    command: &Command<'_>,
    out: &mut Replies,
    now: Seconds,
) -> Result<(), &'static str> {
    match verb {
        Verb::Get => get(service, command, out, now),
        Verb::Delete => delete(service, command, out, now),
        Verb::Arithmetic => return arithmetic(service, command, out, now),
        Verb::Debug => debug(service, command, out, now),
        Verb::Set | Verb::Noop => debug_assert!(false, "the session does these"),
    }
    Ok(())
}

/// A write of nothing to a command's key.
fn empty<'a>(service: &Service, command: &Command<'a>, expiry: i32, now: Seconds) -> Write<'a> {
    Write {
        expires: service.store.clock().expiry(expiry.into(), now),
        new_cas: command.flags.new_cas,
        binary_key: command.flags.binary_key,
        ..Write::new(Mode::Set, service.store.key(command.key), &[])
    }
}

fn get(service: &Service, command: &Command<'_>, out: &mut Replies, now: Seconds) {
    let store = &service.store;
    let key = store.key(command.key);
    let flags = &command.flags;
    // Also a mark that this client recomputes the value, which later reads report.
    let changes = flags.vivify.is_some() || flags.expiry.is_some() || flags.recache.is_some();
    let _position = service.order(&if changes { Access::Change(command.key) } else { Access::Read });
    let mut shard = store.shard(key.hash);
    let mut found = shard.read(key.bytes, key.hash, now);
    let mut created = false;
    if found.is_none() && flags.vivify.is_some() {
        let write = empty(service, command, 0, now);
        created = matches!(shard.write(&write, now), Stored::Stored(_));
        found = shard.locate(key.bytes, key.hash, now);
    }
    if flags.expiry.is_some() {
        shard.counters.cmd_touch += 1;
        *if found.is_some() { &mut shard.counters.touch_hits } else { &mut shard.counters.touch_misses } += 1;
    }
    let Some(item) = found else {
        if !flags.quiet {
            out.extend_from_slice(b"EN");
            echo(command, command.flag_words(), out);
            out.extend_from_slice(b"\r\n");
        }
        return;
    };
    let header = *shard.header(item);
    out.reserve(512 + LONG.min(header.value_len as usize));
    if flags.value {
        out.extend_from_slice(b"VA ");
        number::append(out, header.value_len.into());
    } else {
        out.extend_from_slice(b"HD");
    }
    let mut won = created;
    for word in command.flag_words() {
        match word[0] {
            b'T' => shard.set_expiry(item, store.clock().expiry(flags.expiry.unwrap_or(0).into(), now)),
            b'N' if created => shard.set_expiry(item, store.clock().expiry(flags.vivify.unwrap_or(0).into(), now)),
            b'R' => {
                let soon = store.clock().expiry(flags.recache.unwrap_or(0).into(), now);
                let header = shard.header(item);
                let expires = header.expires;
                won |= header.marks & mark::WON == 0 && !created && expires != NEVER && expires < soon;
            }
            // As stored: a key from base64 may contain the end of a line.
            b'k' => tell_key(key.bytes, header.marks & mark::BINARY_KEY != 0, out),
            b'f' => tell(out, b'f', header.flags.into()),
            b's' => tell(out, b's', header.value_len.into()),
            b'l' => tell(out, b'l', now.saturating_sub(header.accessed).into()),
            b'h' => tell(out, b'h', u64::from(header.marks & mark::FETCHED != 0)),
            _ => answer(&shard, item, command, word, out, now),
        }
    }
    if header.marks & mark::WON != 0 {
        out.extend_from_slice(b" Z");
    }
    if header.marks & mark::STALE != 0 {
        out.extend_from_slice(b" X");
        won |= header.marks & mark::WON == 0;
    }
    if won {
        out.extend_from_slice(b" W");
        shard.set_marks(item, mark::WON, 0);
    }
    out.extend_from_slice(b"\r\n");
    if flags.value {
        out.append_value(&mut shard, item, key.hash, b"\r\n");
    }
    if !flags.no_update {
        shard.bump(item, now);
    }
}

/// Writes a value, which is followed by two bytes.
pub fn set(service: &Service, command: &Command<'_>, mode: Mode, value: &[u8], out: &mut Vec<u8>, now: Seconds) {
    let [value @ .., b'\r', b'\n'] = value else {
        out.extend_from_slice(b"CLIENT_ERROR bad data chunk\r\n");
        return;
    };
    let flags = &command.flags;
    let joins = matches!(mode, Mode::Append | Mode::Prepend);
    let vivify = flags.vivify.filter(|_| joins);
    let write = Write {
        mode,
        flags: flags.client_flags,
        value,
        cas: flags.cas.unwrap_or(0),
        vivify: vivify.map(|expiry| service.store.clock().expiry(expiry.into(), now)),
        stale: flags.invalidate,
        ..empty(service, command, flags.expiry.unwrap_or(0), now)
    };
    let mut position = service.order(&Access::Write(&write));
    let mut shard = service.store.shard(write.hash);
    let stored = position.write(&mut shard, &write, now);
    // A joined value is longer than the one that was sent.
    let joined = shard.locate(write.key, write.hash, now).filter(|_| joins && matches!(stored, Stored::Stored(_)));
    let len = joined.map_or(value.len() as u64, |item| shard.header(item).value_len.into());
    drop(shard);
    let (code, cas) = match stored {
        Stored::Stored(_) if flags.quiet => return,
        Stored::Stored(cas) => ("HD", cas),
        Stored::NotStored => ("NS", 0),
        Stored::Exists => ("EX", 0),
        Stored::NotFound => ("NF", 0),
        Stored::TooLarge => return out.extend_from_slice(b"SERVER_ERROR object too large for cache\r\n"),
        Stored::NoMemory => return out.extend_from_slice(b"SERVER_ERROR out of memory storing object\r\n"),
    };
    out.extend_from_slice(code.as_bytes());
    for word in command.flag_words() {
        match word[0] {
            b'c' => tell(out, b'c', cas),
            b's' => tell(out, b's', len),
            _ => echo(command, [word].into_iter(), out),
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn delete(service: &Service, command: &Command<'_>, out: &mut Vec<u8>, now: Seconds) {
    let store = &service.store;
    let key = store.key(command.key);
    let flags = &command.flags;
    let _position = service.order(&Access::Change(command.key));
    let mut shard = store.shard(key.hash);
    let found = shard.peek(key.bytes, key.hash, now);
    let code = match found {
        None => {
            shard.counters.delete_misses += 1;
            "NF"
        }
        Some(item) if flags.cas.is_some_and(|cas| cas != shard.header(item).cas) => {
            shard.counters.delete_misses += 1;
            "EX"
        }
        Some(item) => {
            if flags.remove_value {
                let emptied = tombstone(service, command, shard.header(item).cas, now);
                if !matches!(shard.rewrite(&emptied, now), Stored::Stored(_)) {
                    return out.extend_from_slice(b"SERVER_ERROR out of memory\r\n");
                }
            }
            match shard.locate(key.bytes, key.hash, now) {
                Some(item) if flags.invalidate => {
                    if let Some(expiry) = flags.expiry {
                        shard.set_expiry(item, store.clock().expiry(expiry.into(), now));
                    }
                    // The next one to read it is to compute the value again.
                    shard.set_marks(item, mark::STALE, mark::WON);
                    shard.renumber(item, flags.new_cas);
                }
                Some(item) => {
                    shard.counters.delete_hits += 1;
                    shard.log_deletion(item, "md");
                    if !flags.remove_value {
                        shard.delete(item);
                    }
                }
                None => {}
            }
            if flags.quiet {
                return;
            }
            "HD"
        }
    };
    out.extend_from_slice(code.as_bytes());
    echo(command, command.flag_words(), out);
    out.extend_from_slice(b"\r\n");
}

/// The item that `md` with `x` leaves: no value, and its CAS number, or the one that the client chose.
fn tombstone<'a>(service: &Service, command: &Command<'a>, cas: u64, now: Seconds) -> Write<'a> {
    let flags = &command.flags;
    Write {
        flags: flags.client_flags,
        new_cas: flags.new_cas.or(Some(cas)),
        ..empty(service, command, flags.expiry.unwrap_or(0), now)
    }
}

fn arithmetic(service: &Service, command: &Command<'_>, out: &mut Vec<u8>, now: Seconds) -> Result<(), &'static str> {
    let store = &service.store;
    let key = store.key(command.key);
    let flags = &command.flags;
    let increment = flags.increments().ok_or("CLIENT_ERROR invalid mode for ma M token")?;
    let _position = service.order(&Access::Change(command.key));
    let mut shard = store.shard(key.hash);
    let (delta, cas) = (flags.delta.unwrap_or(1), flags.cas.unwrap_or(0));
    let changed = shard.add(key, &Arithmetic { increment, delta, cas, new_cas: flags.new_cas }, now);
    let mut created = false;
    let (item, number) = match changed {
        Ok(changed) => changed,
        Err(NotChanged::NotNumeric) => return Err("CLIENT_ERROR cannot increment or decrement non-numeric value"),
        Err(NotChanged::NoMemory) => return Err("SERVER_ERROR out of memory"),
        Err(NotChanged::NotFound) if flags.vivify.is_some() => {
            let mut digits = [0; number::DIGITS];
            let value = number::format(flags.initial, &mut digits);
            let write = Write { value, ..empty(service, command, 0, now) };
            let stored = shard.write(&write, now);
            let found = shard.locate(key.bytes, key.hash, now).filter(|_| matches!(stored, Stored::Stored(_)));
            created = true;
            (found.ok_or("SERVER_ERROR Out of memory allocating new item")?, flags.initial)
        }
        Err(error) => {
            out.extend_from_slice(if error == NotChanged::Exists { b"EX" } else { b"NF" });
            echo(command, command.flag_words(), out);
            out.extend_from_slice(b"\r\n");
            return Ok(());
        }
    };
    let start = out.len();
    let mut digits = [0; number::DIGITS];
    let digits = number::format(number, &mut digits);
    if flags.value {
        out.extend_from_slice(b"VA ");
        number::append(out, digits.len() as u64);
    } else {
        out.extend_from_slice(b"HD");
    }
    for word in command.flag_words() {
        let expiry = match word[0] {
            b'T' => flags.expiry,
            b'N' => flags.vivify.filter(|_| created),
            _ => None,
        };
        match expiry {
            Some(expiry) => shard.set_expiry(item, store.clock().expiry(expiry.into(), now)),
            None => answer(&shard, item, command, word, out, now),
        }
    }
    out.extend_from_slice(b"\r\n");
    if flags.value {
        out.extend_from_slice(digits);
        out.extend_from_slice(b"\r\n");
    }
    if flags.quiet {
        out.truncate(start);
    }
    Ok(())
}

fn debug(service: &Service, command: &Command<'_>, out: &mut Vec<u8>, now: Seconds) {
    let store = &service.store;
    let key = store.key(command.key);
    let _position = service.order(&Access::Read);
    let mut shard = store.shard(key.hash);
    shard.counters.cmd_meta += 1;
    let Some(item) = shard.peek(key.bytes, key.hash, now) else {
        out.extend_from_slice(b"EN\r\n");
        return;
    };
    let header = *shard.header(item);
    out.extend_from_slice(b"ME ");
    append_key(command.key, header.marks & mark::BINARY_KEY != 0, out);
    let fetched = if header.marks & mark::FETCHED != 0 { "yes" } else { "no" };
    let expiry = if header.expires == NEVER { -1 } else { i64::from(header.expires) - i64::from(now) };
    let text = format!(
        " exp={expiry} la={} cas={} fetch={fetched} cls={} size={}\r\n",
        now.saturating_sub(header.accessed),
        header.cas,
        shard.class(item) + 1,
        shard.size(item),
    );
    out.extend_from_slice(text.as_bytes());
}

/// Appends the return value of a flag that several commands share.
fn answer(shard: &Shard, item: Item, command: &Command<'_>, word: &[u8], out: &mut Vec<u8>, now: Seconds) {
    let Header { cas, expires, .. } = *shard.header(item);
    match word[0] {
        b'c' => tell(out, b'c', cas),
        b't' if expires == NEVER => out.extend_from_slice(b" t-1"),
        b't' => tell(out, b't', expires.wrapping_sub(now).into()),
        _ => echo(command, [word].into_iter(), out),
    }
}

/// Appends what a reply repeats: the opaque token and the key.
fn echo<'a>(command: &Command<'_>, words: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    for word in words {
        match word[0] {
            b'O' => {
                out.push(b' ');
                out.extend_from_slice(word);
            }
            b'k' => tell_key(command.key, command.flags.binary_key, out),
            _ => {}
        }
    }
}

fn tell_key(key: &[u8], binary: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b" k");
    append_key(key, binary, out);
    if binary {
        out.extend_from_slice(b" b");
    }
}

pub(super) fn append_key(key: &[u8], binary: bool, out: &mut Vec<u8>) {
    if binary { encode(key, out) } else { out.extend_from_slice(key) }
}

fn tell(out: &mut Vec<u8>, letter: u8, number: u64) {
    out.extend_from_slice(&[b' ', letter]);
    number::append(out, number);
}
