//! The body of a request as it arrives: with a length, or in chunks (RFC 9112, section 7.1).

use super::request::{BODY_BYTES, Framing, Refusal};

/// Longest line before a chunk: its length, and extensions, which are ignored.
const CHUNK_LINE: usize = 256;
/// Longest trailer, which is ignored.
const TRAILER: usize = 4096;
/// Maximum size of chunk lines and trailer in bytes: that of a body. No honest client sends chunks of a few bytes.
const OVERHEAD: usize = BODY_BYTES;

/// A body that is being received.
#[derive(Debug)]
pub struct Body {
    bytes: Vec<u8>,
    expected: Expected,
    overhead: usize,
}

#[derive(Debug)]
enum Expected {
    /// The rest of a body of known length.
    Bytes(usize),
    /// The line before a chunk.
    ChunkLine,
    /// The rest of a chunk, and its line end.
    Chunk(usize),
    /// Lines of the trailer, after this many bytes of it.
    Trailer(usize),
    Nothing,
}

impl Body {
    /// A body of which nothing has arrived yet.
    pub fn new(framing: Framing) -> Self {
        let expected = match framing {
            Framing::Length(length) => Expected::Bytes(length),
            Framing::Chunked => Expected::ChunkLine,
        };
        Self { bytes: Vec::new(), expected, overhead: 0 }
    }

    /// How many bytes came.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Removes the bytes of the body from `received`. Returns the body once it is whole.
    pub fn take(&mut self, received: &mut Vec<u8>) -> Result<Option<Vec<u8>>, Refusal> {
        let mut taken = 0;
        let result = loop {
            match self.step(&received[taken..]) {
                Ok(Some(count)) => taken += count,
                Ok(None) => break Ok(None),
                Err(refusal) => break Err(refusal),
            }
            if let Expected::Nothing = self.expected {
                break Ok(Some(std::mem::take(&mut self.bytes)));
            }
        };
        received.drain(..taken);
        result
    }

    /// Reads the next part, and returns its length; `None` if it has not arrived yet.
    fn step(&mut self, input: &[u8]) -> Result<Option<usize>, Refusal> {
        let count = match self.expected {
            Expected::Bytes(0) | Expected::Nothing => {
                self.expected = Expected::Nothing;
                return Ok(Some(0));
            }
            Expected::Bytes(length) | Expected::Chunk(length) if length > 0 => {
                let part = &input[..length.min(input.len())];
                self.bytes.extend_from_slice(part);
                let rest = length - part.len();
                let is_chunk = matches!(self.expected, Expected::Chunk(_));
                self.expected = if is_chunk { Expected::Chunk(rest) } else { Expected::Bytes(rest) };
                // An empty part means that more must arrive first.
                return Ok((!part.is_empty()).then_some(part.len()));
            }
            Expected::Bytes(_) | Expected::Chunk(_) => {
                let Some(end) = input.get(..2) else { return Ok(None) };
                if end != b"\r\n" {
                    return Err(Refusal::Chunk);
                }
                self.expected = Expected::ChunkLine;
                2
            }
            Expected::ChunkLine => {
                let Some(line) = line(input, CHUNK_LINE)? else { return Ok(None) };
                let length = chunk_length(line)?;
                if length > BODY_BYTES - self.bytes.len() {
                    return Err(Refusal::Body);
                }
                self.expected = if length == 0 { Expected::Trailer(0) } else { Expected::Chunk(length) };
                line.len() + 2
            }
            Expected::Trailer(before) => {
                let Some(line) = line(input, TRAILER.saturating_sub(before))? else { return Ok(None) };
                self.expected =
                    if line.is_empty() { Expected::Nothing } else { Expected::Trailer(before + line.len() + 2) };
                line.len() + 2
            }
        };
        self.overhead += count;
        if self.overhead > OVERHEAD { Err(Refusal::Body) } else { Ok(Some(count)) }
    }
}

/// A line, without its end; nothing where that is not there yet.
fn line(input: &[u8], longest: usize) -> Result<Option<&[u8]>, Refusal> {
    let looked = &input[..input.len().min(longest + 2)];
    match looked.iter().position(|byte| *byte == b'\n') {
        // Lines end with CR LF: a proxy could take a bare LF for no end.
        Some(end) => looked[..end].strip_suffix(b"\r").map(Some).ok_or(Refusal::Chunk),
        None if looked.len() < longest + 2 => Ok(None),
        None => Err(Refusal::Chunk),
    }
}

/// The length in a chunk's line: hexadecimal digits, and perhaps extensions after a semicolon.
fn chunk_length(line: &[u8]) -> Result<usize, Refusal> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(digits).ok().filter(|_| is_number).ok_or(Refusal::Chunk)?;
    // A number beyond the machine's is too long, too.
    Ok(usize::from_str_radix(text, 16).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for bytes that arrive in pieces, and the unused rest.
    fn take(framing: Framing, input: &[u8], piece: usize) -> (Result<Option<Vec<u8>>, Refusal>, Vec<u8>) {
        let (mut body, mut received) = (Body::new(framing), Vec::new());
        let mut pieces = input.chunks(piece);
        loop {
            match body.take(&mut received) {
                Ok(None) => match pieces.next() {
                    Some(piece) => received.extend_from_slice(piece),
                    None => return (Ok(None), received),
                },
                result => return (result, [received, pieces.flatten().copied().collect()].concat()),
            }
        }
    }

    #[test]
    fn a_body_comes_in_any_pieces() {
        let chunked = b"4;name=\"v\"\r\nWiki\r\n005 \r\npedia\r\n0\r\nTrailer: x\r\n\r\nGET";
        for piece in 1..=chunked.len() {
            let whole = (Ok(Some(b"Wikipedia".to_vec())), b"GET".to_vec());
            assert_eq!(take(Framing::Chunked, chunked, piece), whole, "{piece}");
            assert_eq!(take(Framing::Length(9), b"WikipediaGET", piece), whole, "{piece}");
        }
        for end in 0..chunked.len() - 3 {
            assert_eq!(take(Framing::Chunked, &chunked[..end], 7).0, Ok(None), "{end}");
        }
        assert_eq!(take(Framing::Length(0), b"", 1).0, Ok(Some(Vec::new())));
    }

    #[test]
    fn malformed_and_endless_chunks_are_refused() {
        let long = [b"1;".as_slice(), &[b'x'; CHUNK_LINE]].concat();
        for wrong in [&b"\r\n"[..], b"x\r\n", b"+4\r\nabcd\r\n", b"4\nabcd\n", b"1\r\nab\r\n", b" 4\r\n", &long] {
            assert_eq!(take(Framing::Chunked, wrong, 5).0, Err(Refusal::Chunk), "{wrong:?}");
        }
        let large = format!("{:x}\r\n", BODY_BYTES + 1);
        assert_eq!(take(Framing::Chunked, large.as_bytes(), 9).0, Err(Refusal::Body));
        assert_eq!(take(Framing::Chunked, b"fffffffffffffffffffff\r\n", 9).0, Err(Refusal::Body));
        let tiny = b"1\r\na\r\n".repeat(BODY_BYTES / 5 + 1);
        assert_eq!(take(Framing::Chunked, &tiny, 8192).0, Err(Refusal::Body));
        let trailer = [b"0\r\n".as_slice(), &b"a: b\r\n".repeat(TRAILER / 6 + 2)].concat();
        assert_eq!(take(Framing::Chunked, &trailer, 8192).0, Err(Refusal::Chunk));
    }
}
