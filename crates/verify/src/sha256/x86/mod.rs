//! The kernels for x86-64: each is compiled for its own instructions, however the program was built.

mod avx2;
mod avx512;
mod lanes;
mod sha_ni;

use std::ops::Range;

use super::engine::{Job, Plan, drive};

/// # Safety
///
/// The processor must have AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn drive_avx512<J: Job>(plan: &Plan<'_>, job: &mut J, range: Range<usize>) {
    // SAFETY: the instructions are those that this function asks for.
    unsafe { drive::<lanes::Lanes<lanes::Twice<avx512::Vector>>, 32, J>(plan, job, range) }
}

/// # Safety
///
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn drive_avx2<J: Job>(plan: &Plan<'_>, job: &mut J, range: Range<usize>) {
    // SAFETY: as above.
    unsafe { drive::<lanes::Lanes<avx2::Vector>, 8, J>(plan, job, range) }
}

/// # Safety
///
/// The processor must have the SHA extensions and SSE 4.1.
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
pub(super) unsafe fn drive_sha_ni<J: Job>(plan: &Plan<'_>, job: &mut J, range: Range<usize>) {
    // SAFETY: as above.
    unsafe {
        let pairs = range.len() / 2 * 2;
        drive::<sha_ni::Streams<2>, 2, J>(plan, job, range.start..range.start + pairs);
        drive::<sha_ni::Streams<1>, 1, J>(plan, job, range.start + pairs..range.end);
    }
}
