//! Montgomery's product of two numbers of six words, with the two carry chains of x86's ADX.

use std::arch::asm;

use super::words::{PRIME, Words};
use crate::lanes::is_emulated;

/// The factor for finding the multiple of p that makes the lowest word zero: minus the inverse of p modulo 2^64.
const INVERSE: u64 = 0x89f3_fffc_fffc_fffd;

/// p, and then [`INVERSE`].
static CONSTANTS: [u64; 7] = [PRIME[0], PRIME[1], PRIME[2], PRIME[3], PRIME[4], PRIME[5], INVERSE];

/// Whether this processor has the instructions.
#[inline(always)]
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("adx") && !is_emulated()
}

/// Adds six words at `$at`, times RDX, to the sum in `$a` (lowest word) to `$g` (highest word, zero before).
///
/// The carry flags are clear before and after.
macro_rules! row {
    ($at:literal, $a:literal, $b:literal, $c:literal, $d:literal, $e:literal, $f:literal, $g:literal) => {
        concat!(
            "mulx {high}, {low}, [",
            $at,
            "]\n adcx ",
            $a,
            ", {low}\n adox ",
            $b,
            ", {high}\n",
            "mulx {high}, {low}, [",
            $at,
            " + 8]\n adcx ",
            $b,
            ", {low}\n adox ",
            $c,
            ", {high}\n",
            "mulx {high}, {low}, [",
            $at,
            " + 16]\n adcx ",
            $c,
            ", {low}\n adox ",
            $d,
            ", {high}\n",
            "mulx {high}, {low}, [",
            $at,
            " + 24]\n adcx ",
            $d,
            ", {low}\n adox ",
            $e,
            ", {high}\n",
            "mulx {high}, {low}, [",
            $at,
            " + 32]\n adcx ",
            $e,
            ", {low}\n adox ",
            $f,
            ", {high}\n",
            "mulx {high}, {low}, [",
            $at,
            " + 40]\n adcx ",
            $f,
            ", {low}\n adox ",
            $g,
            ", {high}\n",
            "mov {low:e}, 0\n adcx ",
            $g,
            ", {low}\n",
        )
    };
}

/// Adds the product of the first number with one word of the second, and the multiple of p that makes the lowest word
/// zero. The result is the six words above that.
macro_rules! step {
    ($word:literal, $a:literal, $b:literal, $c:literal, $d:literal, $e:literal, $f:literal, $g:literal) => {
        concat!(
            "mov rdx, [{right} + ",
            $word,
            "]\n xor ",
            $g,
            ", ",
            $g,
            "\n",
            row!("{left}", $a, $b, $c, $d, $e, $f, $g),
            "mov rdx, ",
            $a,
            "\n imul rdx, [rip + {constants} + 48]\n xor {low:e}, {low:e}\n",
            row!("rip + {constants}", $a, $b, $c, $d, $e, $f, $g),
        )
    };
}

/// The product over 2^384, below 2p.
///
/// # Safety
///
/// The processor must have BMI2 and ADX.
#[inline(always)]
pub(super) unsafe fn multiply(left: &Words, right: &Words) -> Words {
    let (a, b, c, d, e, f);
    // SAFETY: the processor has the instructions, as the caller promises; the pointers are to six words each, which are
    // read. The sum never takes more than seven words: before a step it is below 2p < 2^382, and the step adds less
    // than 2^384 times p and 2^64 times p.
    unsafe {
        asm!(
            "xor {a:e}, {a:e}", "xor {b:e}, {b:e}", "xor {c:e}, {c:e}", "xor {d:e}, {d:e}", "xor {e:e}, {e:e}", "xor {f:e}, {f:e}",
            step!("0", "{a}", "{b}", "{c}", "{d}", "{e}", "{f}", "{g}"),
            step!("8", "{b}", "{c}", "{d}", "{e}", "{f}", "{g}", "{a}"),
            step!("16", "{c}", "{d}", "{e}", "{f}", "{g}", "{a}", "{b}"),
            step!("24", "{d}", "{e}", "{f}", "{g}", "{a}", "{b}", "{c}"),
            step!("32", "{e}", "{f}", "{g}", "{a}", "{b}", "{c}", "{d}"),
            step!("40", "{f}", "{g}", "{a}", "{b}", "{c}", "{d}", "{e}"),
            left = in(reg) left.as_ptr(),
            right = in(reg) right.as_ptr(),
            constants = sym CONSTANTS,
            // After six steps the lowest word is in the seventh register.
            g = out(reg) a, a = out(reg) b, b = out(reg) c, c = out(reg) d, d = out(reg) e, e = out(reg) f, f = out(reg) _,
            low = out(reg) _,
            high = out(reg) _,
            out("rdx") _,
            options(nostack, pure, readonly),
        );
    }
    [a, b, c, d, e, f]
}
