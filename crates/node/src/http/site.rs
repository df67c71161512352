//! What a site answers.

use std::net::IpAddr;

use super::reply::Reply;

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
    /// The `Origin` header.
    pub origin: Option<&'a str>,
    /// The client's address.
    pub from: IpAddr,
}
