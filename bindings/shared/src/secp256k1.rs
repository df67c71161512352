use verify::secp256k1::ecdsa::{self, Encoding, HighS, Recoverable};
use verify::secp256k1::schnorr;

pub use verify::secp256k1::ecdsa::Policy;

use crate::items::check_count;
use crate::parsed::{each_parsed, verify_parsed};
use crate::{Call, Error, Items, NOT_VERIFIED, VALID};

/// Signatures per work unit: enough to share a batch's cost, few enough to stay in the caches.
const PIECE: (usize, usize) = (64, 1024);

/// Decodes a policy: 0 for compact signatures, 1 for DER, 2 for lax DER; plus 16 to normalise a high s, 32 to accept
/// hybrid keys. `None` for other numbers.
pub fn policy(flags: u32) -> Option<Policy> {
    const NORMALISE_HIGH_S: u32 = 16;
    const HYBRID_KEYS: u32 = 32;
    let encoding = match flags & !(NORMALISE_HIGH_S | HYBRID_KEYS) {
        0 => Encoding::Compact,
        1 => Encoding::Der,
        2 => Encoding::LaxDer,
        _ => return None,
    };
    let high_s = if flags & NORMALISE_HIGH_S != 0 { HighS::Normalise } else { HighS::Refuse };
    Some(Policy { encoding, high_s, hybrid_keys: flags & HYBRID_KEYS != 0 })
}

impl Call<'_> {
    /// Verifies ECDSA signatures of digests. The policy defines the encoding of signatures and keys.
    pub fn ecdsa(
        &mut self,
        policy: Policy,
        digests: &[[u8; 32]],
        signatures: Items<'_>,
        keys: Items<'_>,
        codes: &mut [u8],
    ) -> Result<(), Error> {
        let backend = self.backends().secp256k1()?;
        check_count("digests", digests.len(), codes.len())?;
        signatures.check_count("signatures", codes.len())?;
        keys.check_count("keys", codes.len())?;
        let piece = self.piece(codes.len(), PIECE.0, PIECE.1);
        self.verify(
            codes,
            piece,
            |_| 0,
            |first, codes| {
                let parse = |item| ecdsa::Signed::parse(policy, digests[item], signatures.get(item), keys.get(item));
                if let Some(mut batch) = ecdsa::Verifier::on(backend) {
                    verify_parsed(&mut batch, codes, (first..).map(parse));
                }
            },
        )
    }

    /// Recovers the compressed keys that made ECDSA signatures of digests. An id selects one of the points for r:
    /// whether its y is odd (1), and whether its x is r + n (2). If the policy replaces a high s, the id is adjusted
    /// with it: the key is that of the original signature. The key of an item that breaks a rule is all zeros.
    pub fn recover_ecdsa(
        &mut self,
        policy: Policy,
        digests: &[[u8; 32]],
        signatures: Items<'_>,
        ids: &[u8],
        keys: &mut [[u8; 33]],
        codes: &mut [u8],
    ) -> Result<(), Error> {
        let backend = self.backends().secp256k1()?;
        check_count("digests", digests.len(), codes.len())?;
        signatures.check_count("signatures", codes.len())?;
        check_count("recovery ids", ids.len(), codes.len())?;
        check_count("keys", keys.len(), codes.len())?;
        let parse = |item| Recoverable::parse(policy, digests[item], signatures.get(item), ids[item]);
        codes.fill(NOT_VERIFIED);
        let piece = self.piece(codes.len(), PIECE.0, PIECE.1);
        let pieces = codes.chunks_mut(piece).zip(keys.chunks_mut(piece)).enumerate();
        self.each(pieces, |(number, (codes, keys))| {
            keys.fill([0; 33]);
            let recover = |items: Vec<Recoverable>| ecdsa::recover_each_on(backend, &items);
            for (item, key) in each_parsed(codes, (number * piece..).map(parse), recover) {
                match key {
                    Ok(key) => {
                        keys[item] = key.compressed();
                        codes[item] = VALID;
                    }
                    Err(rule) => codes[item] = rule.code() as u8,
                }
            }
        })
    }

    /// Verifies BIP340 Schnorr signatures of messages of any length. Signatures have 64 bytes and keys 32; other
    /// lengths break a rule.
    pub fn schnorr(
        &mut self,
        messages: Items<'_>,
        signatures: Items<'_>,
        keys: Items<'_>,
        codes: &mut [u8],
    ) -> Result<(), Error> {
        let backend = self.backends().secp256k1()?;
        messages.check_count("messages", codes.len())?;
        signatures.check_count("signatures", codes.len())?;
        keys.check_count("keys", codes.len())?;
        let piece = self.piece(codes.len(), PIECE.0, PIECE.1);
        self.verify(
            codes,
            piece,
            |item| messages.get(item).len(),
            |first, codes| {
                let parse = |item| schnorr::Signed::parse(messages.get(item), signatures.get(item), keys.get(item));
                if let Some(mut batch) = schnorr::Verifier::on(backend) {
                    verify_parsed(&mut batch, codes, (first..).map(parse));
                }
            },
        )
    }
}
