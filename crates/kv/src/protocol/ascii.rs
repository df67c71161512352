//! The ASCII protocol (memcached's protocol.txt): a line, followed by a block of data for writes.

use super::{
    BAD_LINE, ERROR, Line, Refusal, Words,
    administration::{self, Administration},
    meta, value_len,
};
use crate::{
    number::{signed_32, unsigned, unsigned_32},
    store::{MAX_KEY, Mode},
};

/// A command, with its words where they stand in the line.
#[derive(Clone, Debug)]
pub enum Command<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get {
        /// The keys; all are short enough.
        keys: Words<'a>,
        /// Whether the items' CAS numbers are requested.
        cas: bool,
        /// The new expiry time.
        touch: Option<i32>,
    },
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`.
    Write(Write<'a>),
    /// `incr`, `decr`.
    Arithmetic {
        /// The key.
        key: &'a [u8],
        /// Whether it is `incr`.
        increment: bool,
        /// By how much.
        delta: u64,
        /// Whether the client wants no reply.
        quiet: bool,
    },
    /// `delete`.
    Delete {
        /// The key.
        key: &'a [u8],
        /// Whether the client wants no reply.
        quiet: bool,
    },
    /// `touch`.
    Touch {
        /// The key.
        key: &'a [u8],
        /// The new expiry time.
        expiry: i32,
        /// Whether the client wants no reply.
        quiet: bool,
    },
    /// `flush_all`.
    Flush {
        /// When, as an expiry time.
        delay: i32,
        /// Whether the client wants no reply.
        quiet: bool,
    },
    /// A command of the meta protocol.
    Meta(meta::Verb),
    /// `stats`, with its arguments.
    Stats(Words<'a>),
    /// A command that administers the store.
    Administration {
        /// The command.
        command: Administration,
        /// Whether the client wants no reply.
        quiet: bool,
    },
    /// `refresh_certs`.
    RefreshCertificates,
    /// `version`.
    Version,
    /// `verbosity`.
    Verbosity {
        /// Whether the client wants no reply.
        quiet: bool,
    },
    /// `quit`.
    Quit,
    /// `shutdown`.
    Shutdown {
        /// Whether the mode of shutdown is valid; all modes are the same.
        known: bool,
    },
    /// A request of HTTP, to which nothing is replied: a web page may have been made to send it.
    Http,
}

/// A write, without the value.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// How.
    pub mode: Mode,
    /// The key.
    pub key: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// The expiry time.
    pub expiry: i32,
    /// Bytes of the value.
    pub len: usize,
    /// The number that the item must have, or 0.
    pub cas: u64,
    /// Whether the client wants no reply.
    pub quiet: bool,
}

/// Parses a line, without its end.
#[inline]
pub fn parse(line: &[u8]) -> Result<Command<'_>, Refusal> {
    let mut words = Words::new(line);
    let name = words.next().filter(|name| name.len() >= 2).ok_or(ERROR)?;
    match name {
        b"get" | b"bget" => get(words, false, false),
        b"gets" => get(words, true, false),
        b"gat" => get(words, false, true),
        b"gats" => get(words, true, true),
        b"set" => write(line, Mode::Set),
        b"add" => write(line, Mode::Add),
        b"replace" => write(line, Mode::Replace),
        b"append" => write(line, Mode::Append),
        b"prepend" => write(line, Mode::Prepend),
        b"cas" => write(line, Mode::Cas),
        b"incr" => arithmetic(line, true),
        b"decr" => arithmetic(line, false),
        b"delete" => delete(line),
        b"touch" => touch(line),
        b"flush_all" => flush(line),
        b"stats" => Ok(Command::Stats(words)),
        b"watch" | b"slabs" | b"lru" | b"lru_crawler" | b"cache_memlimit" => {
            administration::parse(line).map(|(command, quiet)| Command::Administration { command, quiet })
        }
        b"refresh_certs" => Ok(Command::RefreshCertificates),
        b"version" => Ok(Command::Version),
        b"quit" => Ok(Command::Quit),
        b"shutdown" => Ok(Command::Shutdown { known: matches!(words.next(), None | Some(b"graceful")) }),
        b"verbosity" => verbosity(line),
        [b'm', verb] => meta::Verb::parse(*verb).map(Command::Meta).ok_or(ERROR),
        _ => match Line::new(line).words().last() {
            Some(last)
                if last.starts_with(b"HTTP/") && !matches!(name[0], b'g' | b's' | b'a' | b'c' | b'i' | b'd' | b't') =>
            {
                Ok(Command::Http)
            }
            _ => Err(ERROR),
        },
    }
}

fn get(mut words: Words<'_>, cas: bool, touches: bool) -> Result<Command<'_>, Refusal> {
    let first = words.clone().next().ok_or(ERROR)?;
    let touch = if touches {
        words.next();
        Some(signed_32(first).ok_or(Refusal::new("CLIENT_ERROR invalid exptime argument"))?)
    } else {
        None
    };
    let keys = words;
    if keys.clone().any(|key| key.len() > MAX_KEY) {
        return Err(BAD_LINE);
    }
    Ok(Command::Get { keys, cas, touch })
}

/// Whether the last word is `noreply`.
fn is_quiet(words: &[&[u8]]) -> bool {
    words.last() == Some(&&b"noreply"[..])
}

fn write(line: &[u8], mode: Mode) -> Result<Command<'_>, Refusal> {
    let line = Line::new(line);
    let words = line.words();
    let least = if mode == Mode::Cas { 6 } else { 5 };
    if !(least..=least + 1).contains(&words.len()) {
        return Err(ERROR);
    }
    let quiet = is_quiet(words);
    let refusal = Refusal { quiet, ..BAD_LINE };
    let key = words[1];
    if key.len() > MAX_KEY {
        return Err(refusal);
    }
    let flags = unsigned_32(words[2]).ok_or(refusal)?;
    let expiry = signed_32(words[3]).ok_or(refusal)?;
    let len = value_len(words[4]).ok_or(refusal)?;
    let cas = if mode == Mode::Cas { unsigned(words[5]).ok_or(refusal)? } else { 0 };
    Ok(Command::Write(Write { mode, key, flags, expiry, len, cas, quiet }))
}

/// A key that is not too long.
fn key(word: &[u8], quiet: bool) -> Result<&[u8], Refusal> {
    if word.len() > MAX_KEY { Err(Refusal { quiet, ..BAD_LINE }) } else { Ok(word) }
}

fn arithmetic(line: &[u8], increment: bool) -> Result<Command<'_>, Refusal> {
    let line = Line::new(line);
    let words = line.words();
    if !(3..=4).contains(&words.len()) {
        return Err(ERROR);
    }
    let quiet = is_quiet(words);
    let key = key(words[1], quiet)?;
    let refusal = Refusal { quiet, ..Refusal::new("CLIENT_ERROR invalid numeric delta argument") };
    Ok(Command::Arithmetic { key, increment, delta: unsigned(words[2]).ok_or(refusal)?, quiet })
}

fn delete(line: &[u8]) -> Result<Command<'_>, Refusal> {
    let line = Line::new(line);
    let words = line.words();
    if !(2..=4).contains(&words.len()) {
        return Err(ERROR);
    }
    let mut quiet = false;
    // A time of 0 may stand there, which older clients send.
    if words.len() > 2 {
        quiet = is_quiet(words);
        let has_zero = words[2] == b"0";
        if !(words.len() == 3 && (has_zero || quiet) || words.len() == 4 && has_zero && quiet) {
            let usage = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";
            return Err(Refusal { quiet, ..Refusal::new(usage) });
        }
    }
    let key = key(words[1], quiet)?;
    Ok(Command::Delete { key, quiet })
}

fn touch(line: &[u8]) -> Result<Command<'_>, Refusal> {
    let line = Line::new(line);
    let words = line.words();
    if !(3..=4).contains(&words.len()) {
        return Err(ERROR);
    }
    let quiet = is_quiet(words);
    let key = key(words[1], quiet)?;
    let refusal = Refusal { quiet, ..Refusal::new("CLIENT_ERROR invalid exptime argument") };
    Ok(Command::Touch { key, expiry: signed_32(words[2]).ok_or(refusal)?, quiet })
}

fn flush(line: &[u8]) -> Result<Command<'_>, Refusal> {
    let line = Line::new(line);
    let words = line.words();
    if !(1..=3).contains(&words.len()) {
        return Err(ERROR);
    }
    let quiet = is_quiet(words);
    let delay = if words.len() == 1 + usize::from(quiet) {
        0
    } else {
        let refusal = Refusal { quiet, ..Refusal::new("CLIENT_ERROR invalid exptime argument") };
        signed_32(words[1]).ok_or(refusal)?
    };
    Ok(Command::Flush { delay, quiet })
}

fn verbosity(line: &[u8]) -> Result<Command<'_>, Refusal> {
    let line = Line::new(line);
    let words = line.words();
    if !(2..=3).contains(&words.len()) {
        return Err(ERROR);
    }
    let quiet = is_quiet(words);
    unsigned_32(words[1]).ok_or(Refusal { quiet, ..BAD_LINE })?;
    Ok(Command::Verbosity { quiet })
}
