//! What a site answers.

use std::{
    net::{IpAddr, TcpStream},
    time::Instant,
};

use wire::FeedFrame;

use super::{reply::Reply, request::Fields};

/// The pages of a site, by path.
pub trait Site: Send + Sync + 'static {
    /// The answer to a GET or a POST.
    fn answer(&self, get: &Get<'_>) -> Reply;

    /// Whether the page at a path must be read from disk, or takes long for another reason.
    fn is_slow(&self, path: &str) -> bool;

    /// The answer to a preflight of a page of another origin; `None` refuses it.
    fn preflight(&self, _get: &Get<'_>) -> Option<Reply> {
        None
    }

    /// The next event for all clients of [`Reply::events`], if there is one. Called several times a second on the
    /// connections' thread.
    fn tick(&self, _now: Instant) -> Option<Vec<u8>> {
        None
    }

    /// Serves a feed on the connection of a WebSocket: called after [`Reply::feed`]. The socket does not block.
    fn serve_feed(&self, _stream: TcpStream, _request: FeedFrame) {}

    /// Whether something can be posted to a path.
    fn takes_posts(&self, _path: &str) -> bool {
        false
    }
}

/// A request for a page.
#[derive(Clone, Copy, Debug)]
pub struct Get<'a> {
    /// The path before the question mark.
    pub path: &'a str,
    /// The query after the question mark.
    pub query: &'a str,
    /// The body of a POST.
    pub posted: Option<&'a [u8]>,
    /// Whether a browser asks only whether a page may ask.
    pub is_preflight: bool,
    /// Header fields.
    pub fields: &'a Fields,
    /// The client's address.
    pub from: IpAddr,
}

impl Get<'_> {
    /// Whether the client asks for a page for people: browsers do.
    pub fn accepts_html(&self) -> bool {
        lists(self.fields.accept.as_deref(), "text/html")
    }

    /// Whether the reply may be compressed.
    pub fn accepts_gzip(&self) -> bool {
        lists(self.fields.accept_encoding.as_deref(), "gzip")
    }

    /// Whether the client has the reply with this entity tag already.
    pub fn has(&self, tag: &str) -> bool {
        let tags = self.fields.if_none_match.as_deref().unwrap_or_default();
        tags.split(',').any(|other| other.trim().trim_start_matches("W/") == tag)
    }
}

/// Whether a list has an item that is not refused by `q=0` (RFC 9110, section 12.4.2).
fn lists(list: Option<&str>, name: &str) -> bool {
    list.unwrap_or_default().split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_it = parts.next().is_some_and(|item| item.eq_ignore_ascii_case(name));
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_it && weight.and_then(|weight| weight.parse::<f32>().ok()).is_none_or(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_what_it_accepts() {
        for list in ["gzip", "br, GZIP", "deflate;q=0.5,gzip ;q=0.1", "gzip;x=1"] {
            assert!(lists(Some(list), "gzip"), "{list}");
        }
        for list in ["", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip"] {
            assert!(!lists(Some(list), "gzip"), "{list}");
        }
        assert!(!lists(None, "gzip"));
    }

    #[test]
    fn a_client_says_what_it_has() {
        let has = |tags: Option<&str>| {
            let fields = Fields { if_none_match: tags.map(str::to_owned), ..Fields::default() };
            let from = IpAddr::from([127, 0, 0, 1]);
            Get { path: "/", query: "", posted: None, is_preflight: false, fields: &fields, from }.has("\"a\"")
        };
        assert!(has(Some("\"a\"")) && has(Some("\"b\", W/\"a\"")));
        assert!(!has(None) && !has(Some("a")) && !has(Some("\"b\"")));
    }
}
