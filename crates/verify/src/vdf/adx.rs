//! Rows of a product with the two carry chains of x86's ADX: one for the sums, one for the products.

use std::arch::asm;

use super::words::{Portable, Row};
use crate::lanes::is_emulated;

/// Words that the loop takes at once.
const WORDS: usize = 4;

/// Rows on processors with BMI2 and ADX. Only [`Adx::get`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Adx(());

impl Adx {
    /// The rows, if this processor has the instructions.
    pub(super) fn get() -> Option<Self> {
        let is_there = is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("adx");
        (is_there && !is_emulated()).then_some(Self(()))
    }
}

impl Row for Adx {
    #[inline(always)]
    fn add(self, sum: &mut [u64], a: &[u64], factor: u64, carry: u64) -> u64 {
        assert_eq!(sum.len(), a.len());
        // The remainder comes first, as the loop ends where the words do.
        let (sum_first, sum) = sum.split_at_mut(sum.len() % WORDS);
        let (a_first, a) = a.split_at(a.len() % WORDS);
        let mut carry = Portable.add(sum_first, a_first, factor, carry);
        if sum.is_empty() {
            return carry;
        }
        // SAFETY: the processor has BMI2 and ADX, as `self` shows. The loop runs `count` times, at least once, and each
        // time reads and writes `WORDS` words of each slice: all of them, and no others. LEA and JRCXZ leave the flags
        // alone.
        unsafe {
            asm!(
                "xor {low:e}, {low:e}",
                "2:",
                "mulx {high}, {low}, [{a}]",
                "adcx {low}, {carry}",
                "adox {low}, [{sum}]",
                "mov [{sum}], {low}",
                "mulx {carry}, {low}, [{a} + 8]",
                "adcx {low}, {high}",
                "adox {low}, [{sum} + 8]",
                "mov [{sum} + 8], {low}",
                "mulx {high}, {low}, [{a} + 16]",
                "adcx {low}, {carry}",
                "adox {low}, [{sum} + 16]",
                "mov [{sum} + 16], {low}",
                "mulx {carry}, {low}, [{a} + 24]",
                "adcx {low}, {high}",
                "adox {low}, [{sum} + 24]",
                "mov [{sum} + 24], {low}",
                "lea {a}, [{a} + 32]",
                "lea {sum}, [{sum} + 32]",
                "lea rcx, [rcx - 1]",
                "jrcxz 3f",
                "jmp 2b",
                "3:",
                "mov {low:e}, 0",
                "adcx {carry}, {low}",
                "adox {carry}, {low}",
                a = inout(reg) a.as_ptr() => _,
                sum = inout(reg) sum.as_mut_ptr() => _,
                carry = inout(reg) carry,
                low = out(reg) _,
                high = out(reg) _,
                inout("rcx") a.len() / WORDS => _,
                in("rdx") factor,
                options(nostack),
            );
        }
        carry
    }
}
