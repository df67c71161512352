//! The service: from a request to its reply.

use std::sync::Arc;

use wire::{Chain, ErrorFrame, ProofRequest, Status};
use zerocopy::FromBytes;

use crate::{Cache, Lookup, Refusal, Source};

/// Answers proof frames. Clones share the cache and the sources; each has its own buffer for the reply it is making.
#[derive(Clone)]
pub struct Service {
    sources: [Option<Arc<dyn Source>>; 2],
    cache: Option<Arc<Cache>>,
    body: Vec<u8>,
}

impl Service {
    /// A service with no chain yet. Without a cache, the source proves every reply.
    pub fn new(cache: Option<Arc<Cache>>) -> Self {
        Self { sources: [None, None], cache, body: Vec::new() }
    }

    /// Adds a chain, proved by `source`.
    pub fn with(mut self, chain: Chain, source: Arc<dyn Source>) -> Self {
        self.sources[usize::from(chain.code())] = Some(source);
        self
    }

    /// The cache, if there is one.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }

    /// Answers a request from the cache, in place, and returns the length of the answer.
    ///
    /// Returns `None` and leaves the request unchanged if the cache has no reply. Never waits for a disk: meant for the
    /// data path's own thread.
    pub fn answer_cached(&self, datagram: &mut [u8]) -> Option<usize> {
        let (request, room) = ProofRequest::mut_from_prefix(datagram).ok()?;
        let (chain, query) = (request.chain().ok()?, request.query().ok()?);
        match self.cache.as_ref()?.get(chain, query, &request.key, room) {
            Lookup::Hit(len) => Some(reply(request, len)),
            Lookup::TooLarge(len) => Some(too_large(datagram, len)),
            Lookup::Miss => None,
        }
    }

    /// Answers a request in place and returns the length of the answer; 0 if the datagram is too short for a request.
    ///
    /// What the source has to prove also goes into the cache.
    pub fn answer(&mut self, datagram: &mut [u8]) -> usize {
        if let Some(len) = self.answer_cached(datagram) {
            return len;
        }
        let Ok((request, room)) = ProofRequest::mut_from_prefix(datagram) else { return 0 };
        match self.prove(request) {
            Ok(()) => match room.get_mut(..self.body.len()) {
                Some(room) => {
                    room.copy_from_slice(&self.body);
                    reply(request, self.body.len())
                }
                None => too_large(datagram, self.body.len()),
            },
            Err(status) => {
                request.set_reply(status, 0);
                ProofRequest::LENGTH
            }
        }
    }

    /// Has the source write the body of the reply, and fills the cache with it.
    fn prove(&mut self, request: &ProofRequest) -> Result<(), Status> {
        let (chain, query) = (request.chain()?, request.query()?);
        let source = self.sources[usize::from(chain.code())].as_ref().ok_or(Status::UnknownChain)?;
        self.body.clear();
        source.prove(query, &request.key, &mut self.body).map_err(|refusal| {
            if matches!(refusal, Refusal::Failed(_)) {
                tracing::error!(%chain, %query, error = %refusal, "no proof");
            }
            refusal.status()
        })?;
        if let Some(cache) = &self.cache {
            cache.fill(chain, query, &request.key, &self.body);
        }
        Ok(())
    }
}

/// Turns the request into the head of its reply, followed by `body` bytes, and returns the reply's length.
fn reply(request: &mut ProofRequest, body: usize) -> usize {
    request.set_reply(Status::Ok, body as u32);
    ProofRequest::LENGTH + body
}

/// Says how long the request would have to be for a body of this many bytes.
fn too_large(datagram: &mut [u8], body: usize) -> usize {
    let id = ProofRequest::ref_from_prefix(datagram).map_or(0, |(request, _)| request.header.id.get());
    ErrorFrame::new(id, Status::ReplyTooLarge, (ProofRequest::LENGTH + body) as u32).write_over(datagram)
}
