use verify::BatchVerifier;
use verify::secp256k1::ecdsa::{self, Encoding, HighS};
use verify::secp256k1::{Rule, schnorr};

pub use verify::secp256k1::ecdsa::Policy;

use crate::items::check_count;
use crate::{Error, Items, Verifier, code};

/// Signatures in a piece of work: what a batch shares is shared by enough of them, and they stay in the caches.
const PIECE: (usize, usize) = (64, 1024);

/// The policy of a number: 0 for compact signatures, 1 for DER, 2 for lax DER; and 16 to normalise a high s, 32 to take
/// hybrid keys. None for others.
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

impl Verifier {
    /// Verifies ECDSA signatures of digests. How signatures and keys are encoded is for the policy to say.
    pub fn ecdsa(
        &self,
        policy: Policy,
        digests: &[[u8; 32]],
        signatures: Items<'_>,
        keys: Items<'_>,
        codes: &mut [u8],
    ) -> Result<(), Error> {
        let backend = self.backends.secp256k1()?;
        check_count("digests", digests.len(), codes.len())?;
        signatures.check_count("signatures", codes.len())?;
        keys.check_count("keys", codes.len())?;
        self.verify(codes, self.piece(codes.len(), PIECE.0, PIECE.1), |first, codes| {
            let parse = |item| ecdsa::Signed::parse(policy, digests[item], signatures.get(item), keys.get(item));
            if let Some(mut batch) = ecdsa::Verifier::on(backend) {
                verify_parsed(&mut batch, codes, |item| parse(first + item));
            }
        });
        Ok(())
    }

    /// Verifies BIP340 Schnorr signatures of messages of any length. Signatures have 64 bytes and keys 32; others break a rule.
    pub fn schnorr(
        &self,
        messages: Items<'_>,
        signatures: Items<'_>,
        keys: Items<'_>,
        codes: &mut [u8],
    ) -> Result<(), Error> {
        let backend = self.backends.secp256k1()?;
        messages.check_count("messages", codes.len())?;
        signatures.check_count("signatures", codes.len())?;
        keys.check_count("keys", codes.len())?;
        self.verify(codes, self.piece(codes.len(), PIECE.0, PIECE.1), |first, codes| {
            let parse = |item| schnorr::Signed::parse(messages.get(item), signatures.get(item), keys.get(item));
            if let Some(mut batch) = schnorr::Verifier::on(backend) {
                verify_parsed(&mut batch, codes, |item| parse(first + item));
            }
        });
        Ok(())
    }
}

/// Parses and verifies as many items as there are codes.
fn verify_parsed<B: BatchVerifier<Rule = Rule>>(
    batch: &mut B,
    codes: &mut [u8],
    parse: impl Fn(usize) -> Result<B::Item, Rule>,
) {
    let mut parsed = Vec::with_capacity(codes.len());
    for (item, code) in codes.iter_mut().enumerate() {
        match parse(item) {
            Ok(signed) => {
                batch.push(signed);
                parsed.push(item);
            }
            Err(rule) => *code = rule.code() as u8,
        }
    }
    for (item, verdict) in parsed.into_iter().zip(batch.verify_each()) {
        codes[item] = code(verdict.map_err(Rule::code));
    }
}
