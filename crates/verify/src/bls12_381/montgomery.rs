//! Montgomery's product of two numbers of six words, with the fastest instructions that this processor has.

use ::blst::{blst_fp, blst_fp_mul};

use super::portable::result;
use super::words::Words;
#[cfg(target_arch = "x86_64")]
use super::{adx, words::below_prime};

/// The product over 2^384, below p.
#[inline(always)]
pub(super) fn multiply(left: &Words, right: &Words) -> Words {
    #[cfg(target_arch = "x86_64")]
    if adx::is_available() {
        // SAFETY: the processor has the instructions.
        return below_prime(&unsafe { adx::multiply(left, right) });
    }
    let product: blst_fp = result!(blst_fp_mul(&blst_fp { l: *left }, &blst_fp { l: *right }));
    product.l
}
