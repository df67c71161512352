//! What a site answers.

use std::net::IpAddr;

use super::reply::Reply;

/// What is to be had at which path.
pub trait Site: Send + Sync + 'static {
    /// The answer to a GET or a POST.
    fn answer(&self, get: &Get<'_>) -> Reply;

    /// Whether what is at a path has to be read from disk, or takes long for another reason.
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

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Get<'a> {
    /// What is before the question mark.
    pub path: &'a str,
    /// What is behind it.
    pub query: &'a str,
    /// What is sent along with a POST.
    pub posted: Option<&'a [u8]>,
    /// Whether a browser asks only whether a page may ask.
    pub is_preflight: bool,
    /// The `Origin` header.
    pub origin: Option<&'a str>,
    /// Who asks.
    pub from: IpAddr,
}
