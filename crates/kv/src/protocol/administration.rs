//! The ASCII protocol's commands that administer the store: `watch`, `slabs`, `lru`, `lru_crawler`, `cache_memlimit`.

use super::{BAD_LINE, ERROR, Line, MOST_WORDS, Refusal};
use crate::{
    number::{signed_32, unsigned_32},
    watch::Interests,
};

/// Longest pause of the crawler in microseconds.
const LONGEST_SLEEP: u32 = 1_000_000;

/// Least number of megabytes of `cache_memlimit`.
const LEAST_MEMORY: u32 = 8;

/// Greatest number of megabytes of `cache_memlimit`: greater ones are bytes.
const MOST_MEMORY: u32 = 1_000_000_000;

/// Classes of memcached at most, of which 0 is that of free pages.
const MOST_CLASSES: u32 = 64;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Administration {
    /// `watch`.
    Watch {
        /// The kinds of events; `None` if a word names no kind.
        interests: Option<Interests>,
    },
    /// `slabs reassign`: a class gives a page away.
    Reassign {
        /// The class; `None` for any.
        from: Option<u8>,
        /// The class that the page is for; `None` for all.
        to: Option<u8>,
    },
    /// `lru_crawler crawl`.
    Crawl(Classes),
    /// `lru_crawler metadump`.
    Metadump(Option<Classes>),
    /// `lru_crawler mgdump`.
    Mgdump(Option<Classes>),
    /// `cache_memlimit`, with a number of megabytes in range.
    MemoryLimit,
    /// A valid change of a setting that has no meaning here.
    NoEffect,
}

/// A set of classes of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes(u64);

impl Classes {
    /// All of them.
    pub const ALL: Self = Self(u64::MAX);

    /// Whether it contains a class, which clients know by a number greater by one.
    #[inline]
    pub fn contains(self, class: u8) -> bool {
        self.0 >> class & 1 != 0
    }

    /// A list of numbers between commas, or `all`.
    fn parse(word: &[u8]) -> Option<Self> {
        if word == b"all" {
            return Some(Self::ALL);
        }
        let numbers = word.split(|byte| *byte == b',').filter(|number| !number.is_empty());
        numbers
            .map(|number| class(unsigned_32(number)?))
            .try_fold(Self(0), |all, class| Some(Self(all.0 | 1 << class?)))
    }
}

/// The class of a client's number.
fn class(number: u32) -> Option<u8> {
    (1..MOST_CLASSES).contains(&number).then(|| number as u8 - 1)
}

/// A command, and whether the client wants no reply.
pub type Parsed = (Administration, bool);

/// The words of a line, without a last `noreply`, and whether that is there.
fn words<'a, 'b>(line: &'b Line<'a>) -> (&'b [&'a [u8]], bool) {
    let words = line.words();
    (words, words.last() == Some(&&b"noreply"[..]))
}

/// Parses a line whose first word is one of these commands.
pub fn parse(line: &[u8]) -> Result<Parsed, Refusal> {
    let line = Line::new(line);
    let (words, quiet) = words(&line);
    let command = match (words[0], &words[1..]) {
        (b"watch", kinds) => Ok(watch(kinds)),
        (b"cache_memlimit", [megabytes] | [megabytes, _]) => memory_limit(megabytes),
        (b"slabs", [b"reassign", from, to]) => return Ok((reassign(from, to)?, false)),
        (b"slabs", [b"automove", arguments @ ..]) if !arguments.is_empty() => automove(arguments),
        (b"lru", [command, arguments @ ..]) if !arguments.is_empty() => lru(command, arguments),
        (b"lru_crawler", arguments) => return crawler(arguments).map(|command| (command, false)),
        _ => return Err(ERROR),
    };
    command.map(|command| (command, quiet)).map_err(|refusal| Refusal { quiet, ..refusal })
}

fn watch(kinds: &[&[u8]]) -> Administration {
    let mut named = kinds.iter().map(|word| Interests::named(word));
    let interests = match kinds {
        [] => Some(Interests::FETCHERS),
        // Words beyond the last place are not known.
        _ if kinds.len() >= MOST_WORDS - 1 => None,
        _ => named.try_fold(Interests::NONE, |all, named| Some(all.and(named?))),
    };
    Administration::Watch { interests }
}

fn memory_limit(megabytes: &[u8]) -> Result<Administration, Refusal> {
    match unsigned_32(megabytes).ok_or(ERROR)? {
        ..LEAST_MEMORY => Err(Refusal::new("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m")),
        LEAST_MEMORY..=MOST_MEMORY => Ok(Administration::MemoryLimit),
        _ => Err(Refusal::new("MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes")),
    }
}

fn reassign(from: &[u8], to: &[u8]) -> Result<Administration, Refusal> {
    let (from, to) = (signed_32(from).ok_or(BAD_LINE)?, signed_32(to).ok_or(BAD_LINE)?);
    if from == to {
        return Err(Refusal::new("SAME src and dst class are identical"));
    }
    let bad_class = Refusal::new("BADCLASS invalid src or dst class id");
    let known = |number: i32| u32::try_from(number).ok().and_then(class).map(Some).ok_or(bad_class);
    // -1 is any class, and 0 that of the free pages.
    let from = if from == -1 { None } else { known(from)? };
    let to = if to == 0 { None } else { known(to)? };
    Ok(Administration::Reassign { from, to })
}

fn automove(arguments: &[&[u8]]) -> Result<Administration, Refusal> {
    match arguments {
        [b"ratio", ratio, ..] if is_number(ratio) => Ok(Administration::NoEffect),
        [b"ratio", ..] => Err(ERROR),
        [level, ..] => match unsigned_32(level).ok_or(BAD_LINE)? {
            0..=2 => Ok(Administration::NoEffect),
            _ => Err(ERROR),
        },
        [] => Err(ERROR),
    }
}

fn lru(command: &[u8], arguments: &[&[u8]]) -> Result<Administration, Refusal> {
    let is_valid = match (command, arguments) {
        (b"mode", [mode, ..]) => matches!(*mode, b"flat" | b"segmented"),
        (b"temp_ttl", [ttl, ..]) => signed_32(ttl).is_some(),
        (b"tune", [hot, warm, hot_age, warm_age, ..]) => {
            let (Some(hot), Some(warm)) = (unsigned_32(hot), unsigned_32(warm)) else { return Err(ERROR) };
            let (Some(hot_age), Some(warm_age)) = (decimal(hot_age), decimal(warm_age)) else { return Err(ERROR) };
            if hot.saturating_add(warm) > 80 {
                return Err(Refusal::new("ERROR hot and warm pcts must not exceed 80"));
            }
            if hot_age <= 0.0 || warm_age <= 0.0 {
                return Err(Refusal::new("ERROR hot/warm age factors must be greater than 0"));
            }
            true
        }
        _ => false,
    };
    if is_valid { Ok(Administration::NoEffect) } else { Err(ERROR) }
}

fn crawler(arguments: &[&[u8]]) -> Result<Administration, Refusal> {
    let bad_class = Refusal::new("BADCLASS invalid class id");
    // All classes are walked in no particular order, as memcached does for `hash`.
    let dumped = |word: &[u8]| if word == b"hash" { Some(Classes::ALL) } else { Classes::parse(word) };
    match *arguments {
        [b"crawl", classes] => Classes::parse(classes).map(Administration::Crawl).ok_or(bad_class),
        [b"metadump", classes] => Ok(Administration::Metadump(dumped(classes))),
        [b"mgdump", classes] => Ok(Administration::Mgdump(dumped(classes))),
        [b"tocrawl", count] => unsigned_32(count).map(|_| Administration::NoEffect).ok_or(BAD_LINE),
        [b"sleep", time] => match unsigned_32(time).ok_or(BAD_LINE)? {
            ..=LONGEST_SLEEP => Ok(Administration::NoEffect),
            _ => Err(Refusal::new("CLIENT_ERROR sleep must be one second or less")),
        },
        [b"enable" | b"disable"] => Ok(Administration::NoEffect),
        _ => Err(ERROR),
    }
}

fn is_number(word: &[u8]) -> bool {
    decimal(word).is_some()
}

/// A decimal number, with a fraction or not.
fn decimal(word: &[u8]) -> Option<f64> {
    str::from_utf8(word).ok()?.parse().ok()
}
