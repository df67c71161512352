//! Many Schnorr signatures at once: one combined check, and, if it fails, bisection to a verdict for each.

use super::challenge::challenge;
use super::signed::Signed;
use crate::bisect::bisect;
use crate::secp256k1::lanes::Kernel;
use crate::secp256k1::lanes::schnorr::{Combined, Finding, points, verify_all, verify_each};
use crate::secp256k1::{Rule, portable};

/// Signatures in a combined check. A larger check would cost less per signature, but its points would not stay in the
/// caches.
const TOGETHER: usize = 1024;

/// Up to this many signatures, checking one by one is faster.
const ALONE: usize = 32;

/// Appends the verdict of each item.
#[inline(always)]
pub(in crate::secp256k1) fn verify<V: Kernel>(any: V, items: &[Signed<'_>], verdicts: &mut Vec<Result<(), Rule>>) {
    for items in items.chunks(TOGETHER) {
        let first = verdicts.len();
        verdicts.resize(first + items.len(), Ok(()));
        verify_together(any, items, &mut verdicts[first..]);
    }
}

/// Writes the verdicts of the items that fail; on entry, all verdicts say good.
#[inline(always)]
fn verify_together<V: Kernel>(any: V, items: &[Signed<'_>], verdicts: &mut [Result<(), Rule>]) {
    let mut random = vec![0; 16 * items.len()];
    // A combined check needs random numbers.
    if items.len() <= ALONE || getrandom::fill(&mut random).is_err() {
        return verify_alone(any, items, verdicts);
    }
    let challenged = challenge(items);
    let keys = points(any, &Vec::from_iter(challenged.iter().map(|item| item.key)));
    let nonces = points(any, &Vec::from_iter(challenged.iter().map(|item| item.r)));
    let mut on_curve = Vec::with_capacity(items.len());
    for (at, (key, nonce)) in keys.iter().zip(&nonces).enumerate() {
        match (key, nonce) {
            (None, _) => verdicts[at] = Err(Rule::KeyNotOnCurve),
            (_, None) => verdicts[at] = Err(Rule::NonceNotOnCurve),
            (Some(key), Some(nonce)) => on_curve.push((at, key, nonce)),
        }
    }
    let random = random.as_chunks::<8>().0.as_chunks::<2>().0;
    let all_good = |range: std::ops::Range<usize>| {
        let combined = on_curve[range].iter().map(|(at, key, nonce)| Combined {
            item: &challenged[*at],
            key,
            nonce,
            random: random[*at].map(u64::from_le_bytes),
        });
        // In a function of its own, as the bisection is not compiled for the vector.
        any.call(
            #[inline(always)]
            || verify_all(any, combined),
        )
    };
    if all_good(0..on_curve.len()) {
        return;
    }
    bisect(0..on_curve.len(), ALONE, all_good, |range| {
        let positions = &on_curve[range];
        let alone: Vec<Signed<'_>> = positions.iter().map(|(at, ..)| items[*at]).collect();
        let mut found = vec![Ok(()); alone.len()];
        any.call(
            #[inline(always)]
            || verify_alone(any, &alone, &mut found),
        );
        for ((at, ..), verdict) in positions.iter().zip(found) {
            verdicts[*at] = verdict;
        }
    });
}

/// Writes the verdict of each item, checked on its own.
#[inline(always)]
fn verify_alone<V: Kernel>(any: V, items: &[Signed<'_>], verdicts: &mut [Result<(), Rule>]) {
    // With one lane or one item, libsecp256k1 is faster.
    if V::LANES == 1 || items.len() == 1 {
        for (item, verdict) in items.iter().zip(verdicts) {
            *verdict = portable::schnorr::verify(item);
        }
        return;
    }
    let findings = verify_each(any, &challenge(items));
    for ((item, verdict), finding) in items.iter().zip(verdicts).zip(findings) {
        *verdict = match finding {
            Finding::Good => Ok(()),
            Finding::KeyNotOnCurve => Err(Rule::KeyNotOnCurve),
            Finding::Mismatch if portable::is_x(&item.signature.r) => Err(Rule::Mismatch),
            Finding::Mismatch => Err(Rule::NonceNotOnCurve),
            Finding::Unsure => portable::schnorr::verify(item),
        };
    }
}
