//! The head of a request (RFC 9112): its target, and what of its headers matters.

use super::Reply;

/// Longest head of a request: its path is nearly all that matters.
pub const REQUEST_BYTES: usize = 8 << 10;
/// Longest body: transactions in hexadecimal digits. Bitcoin nodes pass on none, and no package, of more than 404,000
/// bytes.
pub const BODY_BYTES: usize = 1 << 20;
/// Maximum number of header lines of a request.
const HEADERS: usize = 64;

/// A method that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A resource.
    Get,
    /// A resource without its body.
    Head,
    /// Something that is sent.
    Post,
    /// The allowed methods: a browser asks this before a page of another origin may.
    Options,
}

/// How a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By its length; 0 for none.
    Length(usize),
    /// In chunks, each with its length.
    Chunked,
}

/// The header fields that sites read. One that is not text is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `Accept`.
    pub accept: Option<String>,
    /// `Accept-Encoding`.
    pub accept_encoding: Option<String>,
    /// `Host`: the name by which the client knows this server.
    pub host: Option<String>,
    /// `If-None-Match`: the entity tags of what the client has already.
    pub if_none_match: Option<String>,
    /// `Origin`: the page's origin, if a browser requests for a page.
    pub origin: Option<String>,
    /// `Sec-WebSocket-Key`, if the client asks for a WebSocket. Its messages have the fields of that request.
    pub web_socket_key: Option<String>,
}

impl Fields {
    fn new(values: &Values<'_>) -> Self {
        let text = |name| values.get_all(name).next().and_then(|value| str::from_utf8(value).ok()).map(str::to_owned);
        Self {
            accept: text("Accept"),
            accept_encoding: text("Accept-Encoding"),
            host: text("Host"),
            if_none_match: text("If-None-Match"),
            origin: text("Origin"),
            web_socket_key: None,
        }
    }
}

/// A head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The method.
    pub method: Method,
    /// The path with its query.
    pub target: String,
    /// Header fields.
    pub fields: Fields,
    /// How the body is framed.
    pub framing: Framing,
    /// Whether the client waits for 100 Continue before it sends the body.
    pub expects_continue: bool,
    /// Whether the client asks nothing more on this connection.
    pub is_last: bool,
}

/// A whole request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path with its query.
    pub target: String,
    /// Header fields.
    pub fields: Fields,
    /// The body of a POST.
    pub posted: Option<Vec<u8>>,
    /// Whether the client asks nothing more on this connection.
    pub is_last: bool,
    /// Whether it is a message of a WebSocket, and so is its reply.
    pub is_message: bool,
}

impl Request {
    /// The request of a head and its body.
    pub fn new(head: Head, body: Vec<u8>) -> Self {
        let Head { method, target, fields, is_last, .. } = head;
        let posted = (method == Method::Post).then_some(body);
        Self { method, target, fields, posted, is_last, is_message: false }
    }

    /// A message of the WebSocket that a request opened: as if it was posted to the same path.
    pub fn of_message(head: &Head, message: Vec<u8>) -> Self {
        let Head { target, fields, .. } = head.clone();
        Self { method: Method::Post, target, fields, posted: Some(message), is_last: false, is_message: true }
    }

    /// Whether the body of the answer is sent.
    pub fn with_body(&self) -> bool {
        self.method != Method::Head
    }
}

/// Why a request is not answered. The bytes after it are ignored: it is unknown where the next request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no HTTP.
    Malformed,
    /// It has no Host header, or several.
    Host,
    /// Its length is no number, or there are several.
    Length,
    /// Its body is in a coding other than chunked.
    Coding,
    /// A chunk of its body is malformed.
    Chunk,
    /// It expects something other than 100-continue.
    Expectation,
    /// The head is longer, or has more lines, than the limit.
    TooLong,
    /// Its method is not served.
    Method,
    /// It has a body without being a POST, or one that is too long.
    Body,
}

impl Refusal {
    /// The answer.
    pub fn reply(self) -> Reply {
        let (status, text) = match self {
            Self::Malformed => ("400 Bad Request", "this is no request of HTTP/1.1\n".to_owned()),
            Self::Host => ("400 Bad Request", "a request of HTTP/1.1 has one Host header\n".to_owned()),
            Self::Length => ("400 Bad Request", "Content-Length must be one number, alone\n".to_owned()),
            Self::Coding => ("501 Not Implemented", "the only transfer coding is chunked\n".to_owned()),
            Self::Chunk => ("400 Bad Request", "the body has a malformed chunk\n".to_owned()),
            Self::Expectation => ("417 Expectation Failed", "the only expectation is 100-continue\n".to_owned()),
            Self::TooLong => (
                "431 Request Header Fields Too Large",
                format!("a request has at most {REQUEST_BYTES} bytes and {HEADERS} headers\n"),
            ),
            Self::Method => ("405 Method Not Allowed", "there are GET, HEAD, POST and OPTIONS\n".to_owned()),
            Self::Body => ("413 Content Too Large", format!("only a POST has a body, of at most {BODY_BYTES} bytes\n")),
        };
        let reply = Reply::text(text).with_status(status);
        if self == Self::Method { reply.with_header("Allow", "GET, HEAD, POST, OPTIONS") } else { reply }
    }
}

/// Parses a head. Returns it with its length in bytes, or `None` if it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < REQUEST_BYTES => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLong),
        Err(_) => return Err(Refusal::Malformed),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else { return Err(Refusal::Malformed) };
    let method = match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "OPTIONS" => Method::Options,
        _ => return Err(Refusal::Method),
    };
    let is_1_1 = request.version == Some(1);
    let values = Values(request.headers);
    let hosts = values.get_all("Host").count();
    if hosts > 1 || hosts == 0 && is_1_1 {
        return Err(Refusal::Host);
    }
    let framing = framing(&values, is_1_1)?;
    let has_body = framing != Framing::Length(0);
    let is_too_long = matches!(framing, Framing::Length(length) if length > BODY_BYTES);
    if has_body && (method != Method::Post || is_too_long) {
        return Err(Refusal::Body);
    }
    let mut expectations = values.get_all("Expect");
    if expectations.any(|value| !value.eq_ignore_ascii_case(b"100-continue")) {
        return Err(Refusal::Expectation);
    }
    let can_upgrade = is_1_1 && method == Method::Get;
    let web_socket_key = if can_upgrade { web_socket_key(&values) } else { None };
    // HTTP/1.0 keeps connections only where both sides say so, and knows no interim answers.
    let head = Head {
        method,
        target: path(target, method)?.to_owned(),
        fields: Fields { web_socket_key, ..Fields::new(&values) },
        framing,
        expects_continue: is_1_1 && has_body && values.get_all("Expect").next().is_some(),
        is_last: !is_1_1 || values.items("Connection").any(|option| option.eq_ignore_ascii_case(b"close")),
    };
    Ok(Some((head, length)))
}

/// Header lines.
struct Values<'a>(&'a [httparse::Header<'a>]);

impl<'a> Values<'a> {
    /// The values of one name.
    fn get_all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.trim_ascii())
    }

    /// The items of a list, over all its lines.
    fn items(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.get_all(name).flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
    }
}

/// The key of a client's opening handshake of a WebSocket (RFC 6455, section 4.2.1), if it is one.
fn web_socket_key(values: &Values<'_>) -> Option<String> {
    let lists = |name, word: &[u8]| values.items(name).any(|item| item.eq_ignore_ascii_case(word));
    if !lists("Connection", b"upgrade") || !lists("Upgrade", b"websocket") || !lists("Sec-WebSocket-Version", b"13") {
        return None;
    }
    let mut keys = values.get_all("Sec-WebSocket-Key");
    let (key, None) = (keys.next()?, keys.next()) else { return None };
    // Base64 of 16 bytes: 22 digits, and the padding. Its value is only hashed.
    let digits = key.strip_suffix(b"==").filter(|digits| digits.len() == 22)?;
    let is_base64 = digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    String::from_utf8(key.to_vec()).ok().filter(|_| is_base64)
}

/// The framing of the body. Refuses a message that a proxy could parse differently: request smuggling.
fn framing(values: &Values<'_>, is_1_1: bool) -> Result<Framing, Refusal> {
    let mut lengths = values.items("Content-Length");
    let length = lengths.next();
    if lengths.any(|other| Some(other) != length) {
        return Err(Refusal::Length);
    }
    let mut codings = values.items("Transfer-Encoding");
    match (length, codings.next(), codings.next()) {
        (None, None, _) => Ok(Framing::Length(0)),
        (Some(digits), None, _) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            // A number beyond the machine's is too long, too.
            let text = str::from_utf8(digits).map_err(|_| Refusal::Length)?;
            Ok(Framing::Length(text.parse().unwrap_or(usize::MAX)))
        }
        (None, Some(coding), None) if is_1_1 && coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        (None, Some(_), _) if is_1_1 => Err(Refusal::Coding),
        _ => Err(Refusal::Length),
    }
}

/// The path and the query of a target: in origin form, in absolute form, or `*` for OPTIONS.
fn path(target: &str, method: Method) -> Result<&str, Refusal> {
    if target.starts_with('/') || target == "*" && method == Method::Options {
        return Ok(target);
    }
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let behind = scheme.map(|scheme| &target[scheme.len()..]).filter(|behind| !behind.is_empty());
    let behind = behind.ok_or(Refusal::Malformed)?;
    match behind.find(['/', '?']) {
        Some(0) => Err(Refusal::Malformed),
        Some(at) if behind[at..].starts_with('/') => Ok(&behind[at..]),
        // A query of the root.
        Some(_) | None => Ok("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(target: &str, method: Method) -> Head {
        let fields = Fields { host: Some("node".into()), ..Fields::default() };
        Head {
            method,
            target: target.to_owned(),
            fields,
            framing: Framing::Length(0),
            expects_continue: false,
            is_last: false,
        }
    }

    fn parsed(text: &str) -> Head {
        parse(text.as_bytes()).unwrap().unwrap().0
    }

    fn refused(text: &str) -> Refusal {
        parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn requests_follow_each_other() {
        let bytes = b"GET /a?b HTTP/1.1\r\nHost: node\r\n\r\nHEAD / HTTP/1.1\r\nHost: node\r\n\r\n";
        let (first, length) = parse(bytes).unwrap().unwrap();
        assert_eq!(first, head("/a?b", Method::Get));
        assert_eq!(parse(&bytes[length..]).unwrap().unwrap(), (head("/", Method::Head), bytes.len() - length));
        for end in 0..length {
            assert_eq!(parse(&bytes[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn a_body_has_one_framing() {
        let framing = |headers: &str| {
            parse(format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n").as_bytes())
                .map(|head| head.unwrap().0.framing)
        };
        assert_eq!(framing("Content-Length: 4"), Ok(Framing::Length(4)));
        assert_eq!(framing("Content-Length: 4\r\nContent-Length: 4"), Ok(Framing::Length(4)));
        assert_eq!(framing("Content-Length: 4, 4"), Ok(Framing::Length(4)));
        assert_eq!(framing("Transfer-Encoding: Chunked"), Ok(Framing::Chunked));
        for lengths in
            ["4\r\nContent-Length: 5", "4, 5", "+4", "-1", "0x4", "4;", "", "4 4", "4\r\nTransfer-Encoding: chunked"]
        {
            assert_eq!(framing(&format!("Content-Length: {lengths}")), Err(Refusal::Length), "{lengths}");
        }
        for codings in
            ["identity", "gzip, chunked", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked", "xchunked"]
        {
            assert_eq!(framing(&format!("Transfer-Encoding: {codings}")), Err(Refusal::Coding), "{codings}");
        }
        assert_eq!(framing("Content-Length: 1048577"), Err(Refusal::Body));
        assert_eq!(framing("Content-Length: 99999999999999999999"), Err(Refusal::Body));
        assert_eq!(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), Refusal::Length);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"), Refusal::Body);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: chunked\r\n\r\n"), Refusal::Body);
        assert_eq!(refused("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n"), Refusal::Malformed);
    }

    #[test]
    fn fields_have_their_first_value() {
        let text = "GET / HTTP/1.1\r\nhost: a\r\nAccept: text/html\r\naccept: text/plain\r\nOrigin: \u{e9}\r\n\r\n";
        let mut bytes = text.as_bytes().to_vec();
        let expected = Fields { host: Some("a".into()), accept: Some("text/html".into()), ..Fields::default() };
        let fields = parse(&bytes).unwrap().unwrap().0.fields;
        assert_eq!(fields, Fields { origin: Some("\u{e9}".into()), ..expected.clone() });
        let at = bytes.iter().position(|byte| *byte == 0xc3).unwrap();
        bytes.remove(at);
        assert_eq!(parse(&bytes).unwrap().unwrap().0.fields, expected);
    }

    #[test]
    fn a_client_may_ask_for_a_web_socket() {
        let whole = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
        let key = |from: &str, to: &str| {
            assert!(whole.contains(from), "{from}");
            parsed(&whole.replace(from, to)).fields.web_socket_key
        };
        assert_eq!(key("GET", "GET").as_deref(), Some("dGhlIHNhbXBsZSBub25jZQ=="));
        for (from, to) in [
            ("GET", "HEAD"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("Upgrade: WebSocket\r\n", ""),
            (", Upgrade", ""),
            ("Version: 13", "Version: 8"),
            ("Sec-WebSocket-Version: 13\r\n", ""),
            ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ"),
            ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZS.ub25jZQ=="),
            ("Sec-WebSocket-V", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-V"),
        ] {
            assert_eq!(key(from, to), None, "{to}");
        }
    }

    #[test]
    fn who_is_done_says_so() {
        assert!(parsed("GET / HTTP/1.0\r\n\r\n").is_last);
        assert!(parsed("GET / HTTP/1.1\r\nHost: a\r\nconnection: TE , Close\r\n\r\n").is_last);
        assert!(!parsed("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n").is_last);
    }

    #[test]
    fn a_target_has_several_forms() {
        let target = |target: &str| parsed(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).target;
        assert_eq!(target("http://node:7480/a?b"), "/a?b");
        assert_eq!((target("HTTP://node"), target("http://node?a")), ("/".to_owned(), "/".to_owned()));
        assert_eq!(parsed("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").target, "*");
        for wrong in ["*", "a", "http://", "http:///a", "https://node/a", "node:7480"] {
            assert_eq!(refused(&format!("GET {wrong} HTTP/1.1\r\nHost: a\r\n\r\n")), Refusal::Malformed, "{wrong}");
        }
    }

    #[test]
    fn a_body_may_wait_to_be_asked_for() {
        let expects =
            |headers: &str| parsed(&format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n")).expects_continue;
        assert!(expects("Expect: 100-Continue\r\nContent-Length: 4"));
        assert!(!expects("Expect: 100-continue") && !expects("Content-Length: 4"));
        assert!(!parsed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n").expects_continue);
        assert_eq!(refused("POST / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n"), Refusal::Expectation);
    }

    #[test]
    fn what_is_refused() {
        assert_eq!(refused("nonsense\r\n\r\n"), Refusal::Malformed);
        assert_eq!(refused("GET / HTTP/2.0\r\n\r\n"), Refusal::Malformed);
        assert_eq!(refused("PUT / HTTP/1.1\r\nHost: a\r\n\r\n"), Refusal::Method);
        assert_eq!(refused("GET / HTTP/1.1\r\n\r\n"), Refusal::Host);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), Refusal::Host);
        assert_eq!(refused(&format!("GET /{}", "a".repeat(REQUEST_BYTES))), Refusal::TooLong);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1))), Refusal::TooLong);
        let reply = String::from_utf8(Refusal::Method.reply().encode(true, true).bytes).unwrap();
        assert_eq!(reply.matches("Allow: GET, HEAD, POST, OPTIONS\r\n").count(), 1);
    }
}
