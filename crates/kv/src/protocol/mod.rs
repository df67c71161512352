//! Parsers of memcached's protocols: bytes to commands, without allocation and without effect.

pub mod administration;
pub mod ascii;
pub mod binary;
pub mod login;
pub mod meta;
pub mod udp;

use crate::number::unsigned_32;

/// Maximum number of words of a line to parse; no command has more.
pub const MOST_WORDS: usize = 23;

/// A length that a value may have: two bytes follow it, and 32 bits hold the sum.
fn value_len(word: &[u8]) -> Option<usize> {
    unsigned_32(word).map(|len| len as usize).filter(|len| *len <= i32::MAX as usize - 2)
}

/// The words of a line, between spaces, up to a NUL.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The words of a line.
    pub fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// The rest of the line.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut start = 0;
        while self.rest.get(start) == Some(&b' ') {
            start += 1;
        }
        let rest = &self.rest[start..];
        let len = memchr::memchr2(b' ', 0, rest).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(len);
        self.rest = if rest.first() == Some(&0) { &[] } else { rest };
        (!word.is_empty()).then_some(word)
    }
}

/// The first words of a line.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    words: [&'a [u8]; MOST_WORDS],
    count: usize,
}

impl<'a> Line<'a> {
    /// Splits a line into words.
    #[inline]
    pub fn new(line: &'a [u8]) -> Self {
        let mut words = [&[][..]; MOST_WORDS];
        let mut count = 0;
        let mut source = Words::new(line);
        while let (Some(place), Some(word)) = (words.get_mut(count), source.next()) {
            *place = word;
            count += 1;
        }
        Self { words, count }
    }

    /// The words.
    #[inline]
    pub fn words(&self) -> &[&'a [u8]] {
        &self.words[..self.count]
    }
}

/// Why a line is not a command, in memcached's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error line for the client.
    pub reason: &'static str,
    /// Whether the client suppressed replies.
    pub quiet: bool,
    /// Bytes of the value that follows, to be passed over.
    pub swallow: u64,
}

impl Refusal {
    /// A refusal that is replied, for a command without a value.
    pub const fn new(reason: &'static str) -> Self {
        Self { reason, quiet: false, swallow: 0 }
    }
}

/// No command, or with a wrong number of words.
pub const ERROR: Refusal = Refusal::new("ERROR");

/// A command with words that it cannot have.
pub const BAD_LINE: Refusal = Refusal::new("CLIENT_ERROR bad command line format");
