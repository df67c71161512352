//! Who seals the headers of new blocks.
use super::error::Error;
use spv::{Authority, BlockHeader, Seal, SealedHeader, SealingKey};
use std::fmt::Debug;

/// Why a header was not sealed.
pub type SealingError = Box<dyn std::error::Error + Send + Sync>;

/// Holds the key of the chain, or knows who does: a file, a hardware module, another machine. A certificate of finality takes
/// the place of its signature where several nodes order blocks together.
///
/// It may take its time and it may fail; the block waits then, and is tried again.
pub trait Sealer: Send + Debug {
    /// The seal of a header. No two headers of one height are given, whatever happens between: what is proposed to be sealed is
    /// durable before, and after a crash the same header is given again.
    fn seal(&mut self, header: &BlockHeader) -> Result<Seal, SealingError>;
}

/// Gives no header a seal: for chains that replicas order.
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

/// Has a header sealed, and checks that it was: what a signer that is broken or another one's gives gets into no chain.
pub fn seal(sealer: &mut dyn Sealer, authority: &Authority, header: &BlockHeader) -> Result<SealedHeader, Error> {
    let height = header.height.get();
    let seal = sealer.seal(header).map_err(|source| Error::Sealing { height, source })?;
    if !authority.has_sealed(&header.hash(), &seal) {
        return Err(Error::WrongSeal { height });
    }
    Ok(SealedHeader { header: *header, seal })
}
