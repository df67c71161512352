//! The meta protocol (memcached's protocol.txt): commands of two letters, a key, and flags of one letter each.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{BAD_LINE, Line, MOST_WORDS, Refusal, value_len};
use crate::{
    number::{signed_32, unsigned, unsigned_32},
    store::{MAX_KEY, Mode},
};

/// Maximum number of words of a command.
const MOST: usize = 18;

/// Longest opaque token, with its letter.
const MOST_OPAQUE: usize = 32;

/// The verb of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `mg`.
    Get,
    /// `ms`.
    Set,
    /// `md`.
    Delete,
    /// `ma`.
    Arithmetic,
    /// `mn`.
    Noop,
    /// `me`.
    Debug,
}

impl Verb {
    pub(super) fn parse(letter: u8) -> Option<Self> {
        match letter {
            b'g' => Some(Self::Get),
            b's' => Some(Self::Set),
            b'd' => Some(Self::Delete),
            b'a' => Some(Self::Arithmetic),
            b'n' => Some(Self::Noop),
            b'e' => Some(Self::Debug),
            _ => None,
        }
    }
}

/// Room for a key that is sent in base64.
pub type Scratch = [u8; MAX_KEY];

/// A command.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// The key, decoded.
    pub key: &'a [u8],
    /// Bytes of the value that follows.
    pub len: usize,
    /// The requests of the flags.
    pub flags: Flags,
    words: [&'a [u8]; MOST_WORDS],
    count: usize,
}

impl<'a> Command<'a> {
    /// The flags with their tokens, in the order of the reply.
    pub fn flag_words(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.words[..self.count].iter().copied()
    }
}

/// The requests of the flags.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    /// `b`: the key is in base64.
    pub binary_key: bool,
    /// `v`: the value.
    pub value: bool,
    /// `q`: suppress the usual reply.
    pub quiet: bool,
    /// `u`: no trace of the read.
    pub no_update: bool,
    /// `I`: the item is to be stale.
    pub invalidate: bool,
    /// `T`: a new expiry time.
    pub expiry: Option<i32>,
    /// `N`: create a missing item, with this expiry time.
    pub vivify: Option<i32>,
    /// `R`: let the client recompute the value if it expires within this time.
    pub recache: Option<i32>,
    /// `F`: the client's flags.
    pub client_flags: u32,
    /// `C`: the number that the item must have.
    pub cas: Option<u64>,
    /// `E`: the number that the item gets.
    pub new_cas: Option<u64>,
    /// `x`: the value is to go, and the item to stay.
    pub remove_value: bool,
    /// `M`: the mode's letter, or 0.
    pub mode: u8,
    /// `J`: the number to begin with.
    pub initial: u64,
    /// `D`: the number to add or take away.
    pub delta: Option<u64>,
}

/// Parses the line of a command; `scratch` is for its key.
pub fn parse<'a>(verb: Verb, line: &'a [u8], scratch: &'a mut Scratch) -> Result<Command<'a>, Refusal> {
    let line = Line::new(line);
    let words = line.words();
    let key = *words.get(1).ok_or(if matches!(verb, Verb::Debug) { BAD_LINE } else { super::ERROR })?;
    if key.len() > MAX_KEY {
        return Err(BAD_LINE);
    }
    if verb == Verb::Debug {
        let binary = words.get(2) == Some(&&b"b"[..]);
        let key = if binary { decode(key, scratch).ok_or(BAD_LINE)? } else { key };
        let flags = Flags { binary_key: binary, ..Flags::default() };
        return Ok(Command { key, len: 0, flags, words: [&[]; MOST_WORDS], count: 0 });
    }
    if verb == Verb::Set && words.len() == 2 {
        return Err(BAD_LINE);
    }
    if words.len() > MOST {
        let get = "CLIENT_ERROR options flags are too long";
        let reason = if verb == Verb::Get { get } else { "CLIENT_ERROR options flags too long" };
        return Err(Refusal::new(reason));
    }
    let (len, first) = match verb {
        Verb::Set => (value_len(words[2]).ok_or(BAD_LINE)?, 3),
        _ => (0, 2),
    };
    let mut command = Command { key, len, flags: Flags::default(), words: [&[]; MOST_WORDS], count: 0 };
    for (place, word) in command.words.iter_mut().zip(&words[first..]) {
        *place = word;
        command.count += 1;
    }
    // The value of a refused write is passed over, with the two bytes at its end.
    let swallow = if verb == Verb::Set { len as u64 + 2 } else { 0 };
    let refuse = |reason| match verb {
        Verb::Delete | Verb::Arithmetic => Refusal::new("CLIENT_ERROR invalid or duplicate flag"),
        _ => Refusal { reason, quiet: false, swallow },
    };
    command.flags = flags(command.flag_words()).map_err(refuse)?;
    if command.flags.binary_key {
        command.key = decode(key, scratch).ok_or("CLIENT_ERROR error decoding key").map_err(refuse)?;
    }
    let refusal = |reason| Refusal { reason, quiet: false, swallow };
    match verb {
        Verb::Set if command.flags.write_mode().is_none() => {
            return Err(refusal("CLIENT_ERROR invalid mode for ms M token"));
        }
        Verb::Arithmetic if command.flags.increments().is_none() => {
            return Err(refusal("CLIENT_ERROR invalid mode for ma M token"));
        }
        _ => {}
    }
    if command.flag_words().any(|word| word[0] == b'O' && word.len() > MOST_OPAQUE) {
        return Err(refusal("CLIENT_ERROR opaque token too long"));
    }
    Ok(command)
}

impl Flags {
    /// The mode of a write; none for a letter that there is not, which the parser refuses.
    pub fn write_mode(&self) -> Option<Mode> {
        let mode = match self.mode {
            0 | b'S' => Mode::Set,
            b'E' => Mode::Add,
            b'A' => Mode::Append,
            b'P' => Mode::Prepend,
            b'R' => Mode::Replace,
            _ => return None,
        };
        // A number to compare with makes a plain write one that compares.
        let compares = self.cas.is_some() && matches!(mode, Mode::Set | Mode::Replace);
        Some(if compares { Mode::Cas } else { mode })
    }

    /// Whether to increment; `None` for an unknown letter.
    pub fn increments(&self) -> Option<bool> {
        match self.mode {
            0 | b'I' | b'+' => Some(true),
            b'D' | b'-' => Some(false),
            _ => None,
        }
    }
}

fn decode<'a>(key: &[u8], scratch: &'a mut Scratch) -> Option<&'a [u8]> {
    // The decoded key is shorter than its encoding, but the decoder needs room for whole groups.
    let mut room = [0; MAX_KEY.next_multiple_of(4)];
    let len = STANDARD.decode_slice(key, &mut room).ok().filter(|len| (1..=MAX_KEY).contains(len))?;
    scratch[..len].copy_from_slice(&room[..len]);
    Some(&scratch[..len])
}

fn flags<'a>(words: impl Iterator<Item = &'a [u8]>) -> Result<Flags, &'static str> {
    const BAD_TOKEN: &str = "CLIENT_ERROR bad token in command line format";
    let mut flags = Flags::default();
    let mut seen = 0_u128;
    let mut wrong = None;
    for word in words {
        let (letter, token) = (word[0], &word[1..]);
        // Every letter once: the reply has each once.
        let bit = 1_u128.checked_shl(letter.into()).filter(|_| letter < 127);
        let bit = bit.filter(|bit| seen & bit == 0).ok_or("CLIENT_ERROR duplicate flag")?;
        seen |= bit;
        let mut number = |target: &mut Option<i32>| match signed_32(token) {
            Some(number) => *target = Some(number),
            None => wrong = Some(BAD_TOKEN),
        };
        match letter {
            b'b' => flags.binary_key = true,
            b'N' => number(&mut flags.vivify),
            b'T' => number(&mut flags.expiry),
            b'R' => number(&mut flags.recache),
            b'v' => flags.value = true,
            b'u' => flags.no_update = true,
            b'q' => flags.quiet = true,
            b'I' => flags.invalidate = true,
            b'x' => flags.remove_value = true,
            b'F' => match unsigned_32(token) {
                Some(number) => flags.client_flags = number,
                None => wrong = wrong.or(Some(BAD_LINE.reason)),
            },
            b'C' | b'E' => match unsigned(token) {
                None => wrong = Some(BAD_TOKEN),
                number if letter == b'C' => flags.cas = number,
                number => flags.new_cas = number,
            },
            b'M' => match token {
                [mode] => flags.mode = *mode,
                _ => wrong = Some("CLIENT_ERROR incorrect length for M token"),
            },
            b'J' => match unsigned(token) {
                Some(number) => flags.initial = number,
                None => wrong = Some("CLIENT_ERROR invalid numeric initial value"),
            },
            b'D' => match unsigned(token) {
                Some(number) => flags.delta = Some(number),
                None => wrong = Some("CLIENT_ERROR invalid numeric delta value"),
            },
            b'l' | b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' | b'h' => {}
            _ => return Err("CLIENT_ERROR invalid flag"),
        }
    }
    wrong.map_or(Ok(flags), Err)
}

/// Appends a key in base64.
pub fn encode(key: &[u8], out: &mut Vec<u8>) {
    let mut room = [0; (MAX_KEY.div_ceil(3)) * 4];
    if let Ok(len) = STANDARD.encode_slice(key, &mut room) {
        out.extend_from_slice(&room[..len]);
    }
}
