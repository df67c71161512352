//! Parses a byte stream into messages, each in a buffer of the pool.
//!
//! The reader fetches headers into a small staging buffer, together with whatever follows: many short messages take one
//! system call. It reads the rest of a long message directly into its buffer, and what follows into the staging buffer.

use std::sync::Arc;

use super::frame::{Header, Kind};
use crate::{
    Error, Message,
    pool::{FreeList, Lease, Pool, lease},
};

/// Size of the staging buffer in bytes: a few short messages.
const STAGE: usize = 16 << 10;

/// A byte source that fills two slices, one after the other, like `readv`. `None` means that no bytes are available
/// now.
pub(super) trait Source {
    /// Reads into both slices in order and returns the number of bytes; 0 is the end of the stream.
    fn read(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Error>;
}

/// The outcome of one step of a reader.
pub(super) enum Step {
    Message(Message),
    /// A frame with credits only.
    Credits,
    /// No bytes are available now.
    Dry,
    /// No buffer is free: the peer sent without a credit.
    NoBuffer,
}

pub(super) struct Reader {
    pool: Arc<Pool<FreeList>>,
    limit: u32,
    sequence: u32,
    /// Bytes that were read ahead: `stage[start..end]`.
    stage: Box<[u8]>,
    start: usize,
    end: usize,
    /// How much to read ahead. After a message longer than the staging buffer it is only a header, since staged bytes
    /// are copied once more, and the next message may be as long.
    ahead: usize,
    /// The message being read, and how much of it has arrived.
    partial: Option<(Lease, usize, usize)>,
    /// Credits received with frames, not yet collected.
    pub(super) credits: u32,
}

impl Reader {
    pub(super) fn new(pool: Arc<Pool<FreeList>>, limit: u32) -> Self {
        let stage = vec![0; STAGE].into_boxed_slice();
        Self { pool, limit, sequence: 0, stage, start: 0, end: 0, ahead: STAGE, partial: None, credits: 0 }
    }

    /// Reads on, up to the next message.
    pub(super) fn step(&mut self, source: &mut impl Source) -> Result<Step, Error> {
        loop {
            let staged = self.end - self.start;
            if let Some((mut lease, length, have)) = self.partial.take() {
                if have < length {
                    let (rest, ahead) = (&mut lease.bytes_mut(length)[have..], &mut self.stage[..self.ahead]);
                    debug_assert_eq!(staged, 0, "bytes behind a message that is not whole");
                    let wanted = rest.len();
                    let read = match source.read(rest, ahead) {
                        Ok(Some(read)) => read,
                        other => {
                            self.partial = Some((lease, length, have));
                            return other.map(|_| Step::Dry);
                        }
                    };
                    if read == 0 {
                        return Err(Error::Truncated);
                    }
                    (self.start, self.end) = (0, read.saturating_sub(wanted));
                    self.partial = Some((lease, length, (have + read).min(length)));
                    continue;
                }
                return Ok(Step::Message(Message::new(lease, length)));
            }
            if staged < Header::BYTES {
                // Move the rest to the front: it is less than a header.
                self.stage.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, staged);
                // Read the header and what follows. The rest of a longer message is read directly into its buffer.
                let Some(read) = source.read(&mut self.stage[staged..self.ahead], &mut [])? else {
                    return Ok(Step::Dry);
                };
                if read == 0 {
                    return Err(if staged == 0 { Error::Closed } else { Error::Truncated });
                }
                self.end += read;
                continue;
            }
            let mut bytes = [0; Header::BYTES];
            bytes.copy_from_slice(&self.stage[self.start..][..Header::BYTES]);
            let header = Header::decode(&bytes, self.sequence, self.limit)?;
            match header.kind {
                Kind::Credits => {
                    self.take(header);
                    return Ok(Step::Credits);
                }
                Kind::Message => {
                    let Some(mut lease) = lease(&self.pool) else { return Ok(Step::NoBuffer) };
                    self.take(header);
                    let length = header.length as usize;
                    self.ahead = if length > STAGE { Header::BYTES } else { STAGE };
                    let have = length.min(self.end - self.start);
                    lease.bytes_mut(have).copy_from_slice(&self.stage[self.start..][..have]);
                    self.start += have;
                    self.partial = Some((lease, length, have));
                }
            }
        }
    }

    /// Advances past a header.
    fn take(&mut self, header: Header) {
        self.start += Header::BYTES;
        self.sequence = self.sequence.wrapping_add(1);
        self.credits = self.credits.saturating_add(header.credits.into());
    }
}

/// Feeds a stream in pieces and returns every message, then why the stream ended.
#[cfg(any(test, fuzzing))]
pub fn messages(pieces: &[&[u8]], buffers: u16, buffer_bytes: u32) -> Result<(Vec<Vec<u8>>, Error), Error> {
    struct Pieces<'a>(std::slice::Iter<'a, &'a [u8]>, &'a [u8]);
    impl Source for Pieces<'_> {
        fn read(&mut self, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Error> {
            if self.1.is_empty() {
                match self.0.next() {
                    None => return Ok(Some(0)),
                    Some([]) => return Ok(None),
                    Some(piece) => self.1 = piece,
                }
            }
            let mut read = 0;
            for place in [first, second] {
                let (now, rest) = self.1.split_at(place.len().min(self.1.len()));
                place[..now.len()].copy_from_slice(now);
                (self.1, read) = (rest, read + now.len());
            }
            Ok(Some(read))
        }
    }
    let pool = crate::pool::private_pool(buffers, buffer_bytes, 1)?;
    let mut reader = Reader::new(pool, buffer_bytes);
    let mut source = Pieces(pieces.iter(), &[]);
    let mut all = Vec::new();
    loop {
        match reader.step(&mut source) {
            Ok(Step::Message(message)) => all.push(message.to_vec()),
            Ok(Step::Credits | Step::Dry) => {}
            Ok(Step::NoBuffer) => unreachable!("messages are dropped as they come"),
            Err(error) => return Ok((all, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Longer than the staging buffer; shorter under Miri, which is slow for each byte.
    const LONG: usize = if cfg!(miri) { 300 } else { 40_000 };

    fn stream(bodies: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (sequence, body) in bodies.iter().enumerate() {
            let sequence = sequence as u32;
            let header = Header { length: body.len() as u32, sequence, credits: 3, kind: Kind::Message };
            bytes.extend_from_slice(&header.encode());
            bytes.extend_from_slice(body);
        }
        bytes
    }

    /// Splits the bytes at `cuts`.
    fn pieces<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        for cut in cuts {
            let (piece, rest) = bytes.split_at((*cut).min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces.push(bytes);
        pieces
    }

    proptest! {
        #[test]
        fn messages_come_whole_however_the_stream_is_cut(
            bodies in vec(prop_oneof![vec(any::<u8>(), 0..100), vec(any::<u8>(), 0..LONG)], 0..8),
            cuts in vec(prop_oneof![0usize..40, 0..LONG + LONG / 4], 0..20),
        ) {
            let stream = stream(&bodies);
            let (read, end) = messages(&pieces(&stream, &cuts), 4, LONG as u32).unwrap();
            prop_assert_eq!(read, bodies);
            prop_assert_eq!(end, Error::Closed);
        }

        #[test]
        fn a_stream_that_ends_early_is_truncated(body in vec(any::<u8>(), 1..LONG), cuts in vec(0..LONG / 2, 0..4),
            missing in any::<prop::sample::Index>()) {
            let mut stream = stream(std::slice::from_ref(&body));
            stream.truncate(1 + missing.index(stream.len() - 1));
            let (read, end) = messages(&pieces(&stream, &cuts), 4, LONG as u32).unwrap();
            prop_assert!(read.is_empty());
            prop_assert_eq!(end, Error::Truncated);
        }
    }

    #[test]
    fn frames_that_were_replayed_lost_or_swapped_are_told() {
        let frame = |sequence, length| Header { length, sequence, credits: 0, kind: Kind::Message }.encode();
        let end = |frames: &[[u8; Header::BYTES]]| messages(&[&frames.concat()], 4, 64).unwrap();
        assert_eq!(end(&[frame(0, 0), frame(0, 0)]).1, Error::OutOfSequence { expected: 1, got: 0 });
        assert_eq!(end(&[frame(0, 0), frame(2, 0)]).1, Error::OutOfSequence { expected: 1, got: 2 });
        assert_eq!(end(&[frame(1, 0), frame(0, 0)]), (vec![], Error::OutOfSequence { expected: 0, got: 1 }));
        assert_eq!(end(&[frame(0, 65)]), (vec![], Error::TooLong { length: 65, limit: 64 }));
    }
}
