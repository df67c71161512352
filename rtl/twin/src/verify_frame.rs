//! C interface of verify frames: the expected answers of a NIC's engines. `verification.hpp` declares it.

use std::slice;

use verify::RuleCode;
use verify::secp256k1::{ecdsa, schnorr};
use wire::{EcdsaBody, EquihashBody, Frame, Verification};

use crate::verification::{equihash_header, mask, merkle_root};

/// Mask of a message that no engine of the NIC takes; no rule has it.
const OTHER: u64 = u64::MAX;

/// Writes the result masks of a verify frame's messages, for a NIC that takes signatures, Merkle roots, and Equihash
/// with the parameters (n, k). A message that it does not take has the mask [`OTHER`]. Returns the number of messages,
/// or -1 if the frame is refused as a whole.
///
/// # Safety
///
/// `frame` has `length` bytes, and `masks` has room for a number for each 16 of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_frame(
    frame: *const u8,
    length: usize,
    n: u16,
    k: u8,
    masks: *mut u64,
) -> isize {
    // SAFETY: the caller's promise.
    let (frame, masks) =
        unsafe { (slice::from_raw_parts(frame, length), slice::from_raw_parts_mut(masks, length / 16)) };
    let Ok(Frame::Verify(frame)) = Frame::parse(frame) else { return -1 };
    let mut count = 0;
    for ((_, message), place) in frame.messages().zip(masks) {
        *place = match message {
            Verification::Ecdsa(body) => mask(ecdsa(body)),
            Verification::Schnorr(body) => mask(
                schnorr::Signed::parse(&body.message, &body.signature, &body.key)
                    .and_then(|signed| schnorr::verify(&signed))
                    .map_err(RuleCode::from),
            ),
            Verification::Merkle(root, leaves) => match merkle_root(leaves) {
                (_, true) => RuleCode::MerkleRepeated.mask(),
                (found, false) if found != *root => RuleCode::MerkleRoot.mask(),
                _ => 0,
            },
            Verification::Equihash(body, header) if (body.n.get(), body.k) == (n, k) => {
                let only = body.flags & EquihashBody::SOLUTION_ONLY != 0;
                equihash_header(n.into(), k.into(), body.personalisation, header, only)
            }
            _ => OTHER,
        };
        count += 1;
    }
    count
}

fn ecdsa(body: &EcdsaBody) -> Result<(), RuleCode> {
    let high_s = if body.flags & EcdsaBody::LOW_S != 0 { ecdsa::HighS::Refuse } else { ecdsa::HighS::Normalise };
    let policy = ecdsa::Policy { high_s, hybrid_keys: true, ..ecdsa::Policy::COMPACT };
    let signed = ecdsa::Signed::parse(policy, body.digest, &body.signature, body.key())?;
    Ok(ecdsa::verify(&signed)?)
}
