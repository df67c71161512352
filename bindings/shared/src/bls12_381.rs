use verify::RuleCode;
use verify::bls12_381::groth16::{self, Claim, VerifyingKey};
use verify::bls12_381::signature::{self, Signed};
use verify::bls12_381::{Rule, eip2537, is_product_one};

use crate::parsed::verify_parsed;
use crate::{Error, Items, Verifier, code};

/// Items in a piece of work: half a millisecond each alone, and what a batch shares is small beside that.
const PIECE: (usize, usize) = (8, 1024);

impl Verifier {
    /// Verifies BLS signatures of messages of any length, with the tag of proofs of possession. Keys have 48 bytes and signatures 96;
    /// others break a rule.
    pub fn bls(
        &self,
        messages: Items<'_>,
        signatures: Items<'_>,
        keys: Items<'_>,
        codes: &mut [u8],
    ) -> Result<(), Error> {
        self.backends.bls12_381()?;
        messages.check_count("messages", codes.len())?;
        signatures.check_count("signatures", codes.len())?;
        keys.check_count("keys", codes.len())?;
        self.verify(codes, self.piece(codes.len(), PIECE.0, PIECE.1), |first, codes| {
            let items = first..first + codes.len();
            let items = items.map(|item| (messages.get(item), signatures.get(item), keys.get(item)));
            let parsed = Signed::parse_each(&Vec::from_iter(items));
            verify_parsed(&mut signature::Verifier::default(), codes, parsed);
        });
        Ok(())
    }

    /// Verifies Groth16 proofs of 192 bytes, for a verifying key in bellman's encoding. The inputs of a proof are numbers of 32
    /// little-endian bytes, one after the other; others than the key asks for break a rule.
    pub fn groth16(&self, key: &[u8], proofs: Items<'_>, inputs: Items<'_>, codes: &mut [u8]) -> Result<(), Error> {
        self.backends.bls12_381()?;
        let key = VerifyingKey::parse(key).map_err(Error::VerifyingKey)?;
        proofs.check_count("proofs", codes.len())?;
        inputs.check_count("inputs", codes.len())?;
        self.verify(codes, self.piece(codes.len(), PIECE.0, PIECE.1), |first, codes| {
            let items = (first..first + codes.len()).map(|item| (proofs.get(item), inputs.get(item)));
            let parsed = Claim::parse_each_for(&key, &Vec::from_iter(items));
            verify_parsed(&mut groth16::Verifier::new(&key), codes, parsed);
        });
        Ok(())
    }

    /// Verifies that products of pairings are one: pairs of points in the encoding of EIP-2537, 384 bytes each, at least one.
    pub fn pairings(&self, products: Items<'_>, codes: &mut [u8]) -> Result<(), Error> {
        self.backends.bls12_381()?;
        products.check_count("products", codes.len())?;
        self.verify(codes, 1, |item, codes| {
            let verdict = match eip2537::pairs(products.get(item)) {
                Ok(pairs) if is_product_one(&pairs) => Ok(()),
                Ok(_) => Err(Rule::PairingMismatch),
                Err(rule) => Err(rule),
            };
            codes[0] = code(verdict.map_err(RuleCode::from));
        });
        Ok(())
    }
}
