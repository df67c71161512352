//! Requests: the head of one and what of it matters, and what is sent along.

use super::Reply;

/// Longest head of a request: its path is nearly all that matters.
pub const REQUEST_BYTES: usize = 8 << 10;
/// Longest body: transactions in hexadecimal digits. Bitcoin nodes pass on none, and no package, of more than 404,000 bytes.
pub const BODY_BYTES: usize = 1 << 20;
/// Most header lines of a request.
const HEADERS: usize = 64;

/// A GET, a HEAD or a POST.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The path with its query.
    pub target: String,
    /// What is sent along with a POST.
    pub posted: Option<Vec<u8>>,
    /// Whether the body of the answer is wanted.
    pub with_body: bool,
    /// Whether the client asks nothing more on this connection.
    pub is_last: bool,
}

/// Why a request is not answered. What is behind it is not looked at: nobody knows where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no HTTP.
    Malformed,
    /// Its head is longer, or has more lines, than what is looked at.
    TooLong,
    /// It is neither a GET, a HEAD nor a POST.
    Method,
    /// It has a body that is none of a POST, is too long, or does not tell its length before.
    Body,
}

impl Refusal {
    /// What the client is told.
    pub fn reply(self) -> Reply {
        let (status, text) = match self {
            Self::Malformed => ("400 Bad Request", "this is no request of HTTP/1.1\n".to_owned()),
            Self::TooLong => (
                "431 Request Header Fields Too Large",
                format!("a request has at most {REQUEST_BYTES} bytes and {HEADERS} headers\n"),
            ),
            Self::Method => ("405 Method Not Allowed", "there are GET, HEAD and POST\n".to_owned()),
            Self::Body => (
                "413 Content Too Large",
                format!("only a POST has a body, of a known length of at most {BODY_BYTES} bytes\n"),
            ),
        };
        let reply = Reply::text(text).with_status(status);
        if self == Self::Method { reply.with_header("Allow", "GET, HEAD, POST") } else { reply }
    }
}

/// The first request of what a client sent, and how many bytes it has. Nothing where it is not whole.
pub fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < REQUEST_BYTES => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLong),
        Err(_) => return Err(Refusal::Malformed),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else { return Err(Refusal::Malformed) };
    let (with_body, is_post) = match method {
        "GET" => (true, false),
        "HEAD" => (false, false),
        "POST" => (true, true),
        _ => return Err(Refusal::Method),
    };
    let mut body_length = 0;
    // HTTP/1.0 keeps connections only where both sides say so.
    let mut is_last = request.version != Some(1);
    for header in request.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("Transfer-Encoding") {
            return Err(Refusal::Body);
        }
        if is("Content-Length") {
            let text = str::from_utf8(header.value.trim_ascii()).ok();
            body_length = text.and_then(|text| text.parse().ok()).ok_or(Refusal::Malformed)?;
        }
        let mut options = header.value.split(|byte| *byte == b',');
        is_last |= is("Connection") && options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"));
    }
    if body_length > if is_post { BODY_BYTES } else { 0 } {
        return Err(Refusal::Body);
    }
    let Some(body) = bytes.get(length..length + body_length) else { return Ok(None) };
    let posted = is_post.then(|| body.to_vec());
    Ok(Some((Request { target: target.to_owned(), posted, with_body, is_last }, length + body_length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, with_body: bool, is_last: bool) -> Request {
        Request { target: target.to_owned(), posted: None, with_body, is_last }
    }

    #[test]
    fn requests_follow_each_other() {
        let bytes = b"GET /a?b HTTP/1.1\r\nHost: node\r\n\r\nHEAD / HTTP/1.1\r\n\r\n";
        let (first, length) = parse(bytes).unwrap().unwrap();
        assert_eq!(first, request("/a?b", true, false));
        assert_eq!(parse(&bytes[length..]).unwrap().unwrap(), (request("/", false, false), bytes.len() - length));
        for end in 0..length {
            assert_eq!(parse(&bytes[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn a_post_is_whole_with_its_body() {
        let bytes = b"POST /tx HTTP/1.1\r\nContent-Length: 4\r\n\r\n00ffGET / HTTP/1.1\r\n\r\n";
        let (post, length) = parse(bytes).unwrap().unwrap();
        assert_eq!(post, Request { posted: Some(b"00ff".to_vec()), ..request("/tx", true, false) });
        assert_eq!(parse(&bytes[length..]).unwrap().unwrap().0, request("/", true, false));
        for end in 0..length {
            assert_eq!(parse(&bytes[..end]), Ok(None), "{end}");
        }
        let (empty, _) = parse(b"POST / HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert_eq!(empty.posted, Some(Vec::new()));
    }

    #[test]
    fn who_is_done_says_so() {
        let is_last = |text: &str| parse(text.as_bytes()).unwrap().unwrap().0.is_last;
        assert!(is_last("GET / HTTP/1.0\r\n\r\n"));
        assert!(is_last("GET / HTTP/1.1\r\nconnection: TE , Close\r\n\r\n"));
        assert!(!is_last("GET / HTTP/1.1\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
    }

    #[test]
    fn what_is_refused() {
        let refused = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert_eq!(refused("nonsense\r\n\r\n"), Refusal::Malformed);
        assert_eq!(refused("GET / HTTP/2.0\r\n\r\n"), Refusal::Malformed);
        assert_eq!(refused("PUT / HTTP/1.1\r\n\r\n"), Refusal::Method);
        assert_eq!(refused("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n"), Refusal::Body);
        assert_eq!(refused("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), Refusal::Malformed);
        assert_eq!(refused("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"), Refusal::Malformed);
        assert_eq!(refused("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"), Refusal::Body);
        assert_eq!(refused("GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"), Refusal::Body);
        assert_eq!(refused(&format!("GET /{}", "a".repeat(REQUEST_BYTES))), Refusal::TooLong);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1))), Refusal::TooLong);
        assert_eq!(
            Refusal::Method.reply().encode(true, true).windows(22).filter(|at| at == b"Allow: GET, HEAD, POST").count(),
            1
        );
    }
}
