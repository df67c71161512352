//! Sealing the headers of new blocks.
//!
//! The chain records a header durably before it is passed to a [`Sealer`], and after a crash passes the same one again.
//! So a sealer gets at most one header for each height, and need not remember any. A seal that does not verify under
//! the chain's key never enters the chain, and the block waits.
use super::error::Error;
use spv::{Authority, BlockHeader, Seal, SealedHeader, SealingKey};
use std::fmt::Debug;

/// Why a header was not sealed.
pub type SealingError = Box<dyn std::error::Error + Send + Sync>;

/// Holds the key of the chain, or knows who does: a file, a hardware module, another machine. If several nodes order
/// blocks together, a certificate of finality replaces its signature.
///
/// It may take its time and it may fail; the block then waits, and sealing is retried.
pub trait Sealer: Send + Debug {
    /// Seals a header.
    ///
    /// At most one header per height is ever passed in: the proposal is made durable before, and after a crash the same
    /// header is passed again.
    fn seal(&mut self, header: &BlockHeader) -> Result<Seal, SealingError>;
}

/// Seals nothing: for chains that replicas order.
#[derive(Clone, Copy, Debug)]
pub struct NoSealer;

impl Sealer for NoSealer {
    fn seal(&mut self, _: &BlockHeader) -> Result<Seal, SealingError> {
        Ok(Seal::NONE)
    }
}

impl Sealer for SealingKey {
    fn seal(&mut self, header: &BlockHeader) -> Result<Seal, SealingError> {
        Ok(Self::seal(self, header).seal)
    }
}

/// Seals a header and verifies the seal: the result of a broken or foreign signer never enters a chain.
pub fn seal(sealer: &mut dyn Sealer, authority: &Authority, header: &BlockHeader) -> Result<SealedHeader, Error> {
    let height = header.height.get();
    let seal = sealer.seal(header).map_err(|source| Error::Sealing { height, source })?;
    if !authority.has_sealed(&header.hash(), &seal) {
        return Err(Error::WrongSeal { height });
    }
    Ok(SealedHeader { header: *header, seal })
}
