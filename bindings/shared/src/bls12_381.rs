use verify::RuleCode;
use verify::bls12_381::groth16::{self, Claim, VerifyingKey};
use verify::bls12_381::signature::{self, PROOF_OF_POSSESSION, Signed};
use verify::bls12_381::{Backend, Product, Rule, eip2537};

use crate::parsed::verify_parsed;
use crate::{Call, Error, Items, NOT_VERIFIED, code};

/// Minimum items per work unit: half a millisecond each, compared with which the shared cost of a batch is small.
const LEAST: usize = 8;

/// Pairs of a product per work unit.
const PAIRS: usize = 64;

/// Maximum items per work unit: about twenty milliseconds, a few times as long if most are invalid.
fn most(backend: Backend) -> usize {
    match backend {
        Backend::Portable => 64,
        _ => 128,
    }
}

impl Call<'_> {
    /// Verifies BLS signatures of messages of any length, with the tag of proofs of possession. Keys have 48 bytes and
    /// signatures 96; other lengths break a rule.
    pub fn bls(
        &mut self,
        messages: Items<'_>,
        signatures: Items<'_>,
        keys: Items<'_>,
        codes: &mut [u8],
    ) -> Result<(), Error> {
        let backend = self.backends().bls12_381()?;
        messages.check_count("messages", codes.len())?;
        signatures.check_count("signatures", codes.len())?;
        keys.check_count("keys", codes.len())?;
        let piece = self.piece(codes.len(), LEAST, most(backend));
        self.verify(
            codes,
            piece,
            |item| messages.get(item).len(),
            |first, codes| {
                let items = first..first + codes.len();
                let items = items.map(|item| (messages.get(item), signatures.get(item), keys.get(item)));
                if let Some(mut batch) = signature::Verifier::on(backend, PROOF_OF_POSSESSION) {
                    verify_parsed(&mut batch, codes, Signed::parse_each_on(backend, &Vec::from_iter(items)));
                }
            },
        )
    }

    /// Verifies Groth16 proofs of 192 bytes, for a verifying key in bellman's encoding. The inputs of a proof are
    /// contiguous 32-byte little-endian numbers; a number of inputs that the key does not expect breaks a rule.
    pub fn groth16(&mut self, key: &[u8], proofs: Items<'_>, inputs: Items<'_>, codes: &mut [u8]) -> Result<(), Error> {
        let backend = self.backends().bls12_381()?;
        let key = VerifyingKey::parse(key).map_err(Error::VerifyingKey)?;
        proofs.check_count("proofs", codes.len())?;
        inputs.check_count("inputs", codes.len())?;
        let piece = self.piece(codes.len(), LEAST, most(backend));
        self.verify(
            codes,
            piece,
            |item| inputs.get(item).len(),
            |first, codes| {
                let items = (first..first + codes.len()).map(|item| (proofs.get(item), inputs.get(item)));
                if let Some(mut batch) = groth16::Verifier::on(backend, &key) {
                    verify_parsed(&mut batch, codes, Claim::parse_each_for_on(backend, &key, &Vec::from_iter(items)));
                }
            },
        )
    }

    /// Verifies that products of pairings are one. Each has at least one pair of points in the encoding of EIP-2537,
    /// 384 bytes long.
    pub fn pairings(&mut self, products: Items<'_>, codes: &mut [u8]) -> Result<(), Error> {
        let backend = self.backends().bls12_381()?;
        products.check_count("products", codes.len())?;
        codes.fill(NOT_VERIFIED);
        let is_long = |item| products.get(item).len() > PAIRS * eip2537::PAIR;
        self.each(codes.iter_mut().enumerate(), |(item, code)| {
            if !is_long(item) {
                *code = self::code(is_one(backend, products.get(item)));
            }
        })?;
        for (item, code) in codes.iter_mut().enumerate().filter(|(item, _)| is_long(*item)) {
            *code = self.long_product(backend, products.get(item))?;
        }
        Ok(())
    }

    /// The code of a product whose pairs are split among threads.
    fn long_product(&mut self, backend: Backend, pairs: &[u8]) -> Result<u8, Error> {
        if !pairs.len().is_multiple_of(eip2537::PAIR) {
            return Ok(code(Err(Rule::Length.into())));
        }
        let pieces = pairs.chunks(PAIRS * eip2537::PAIR);
        let mut parts = vec![Ok(Product::default()); pieces.len()];
        self.each(pieces.zip(&mut parts), |(pairs, part)| *part = product(backend, pairs))?;
        let whole = parts.into_iter().try_fold(Product::default(), |whole, part| Ok(whole.times(part?)));
        Ok(code(whole.and_then(check).map_err(RuleCode::from)))
    }
}

fn product(backend: Backend, pairs: &[u8]) -> Result<Product, Rule> {
    Ok(Product::new(backend, &eip2537::pairs_on(backend, pairs)?))
}

fn check(product: Product) -> Result<(), Rule> {
    if product.is_one() { Ok(()) } else { Err(Rule::PairingMismatch) }
}

fn is_one(backend: Backend, pairs: &[u8]) -> Result<(), RuleCode> {
    product(backend, pairs).and_then(check).map_err(RuleCode::from)
}
