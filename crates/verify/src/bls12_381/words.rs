//! Sums and differences of numbers below p, of six words, lowest first, in Montgomery's form, which is 2^384 times the
//! number.

pub(super) type Words = [u64; 6];

pub(super) const PRIME: Words = [
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];

#[inline(always)]
pub(super) fn add(left: &Words, right: &Words) -> Words {
    let mut sum = [0; 6];
    let mut carry = false;
    for i in 0..6 {
        (sum[i], carry) = left[i].carrying_add(right[i], carry);
    }
    below_prime(&sum)
}

#[inline(always)]
pub(super) fn subtract(left: &Words, right: &Words) -> Words {
    let (difference, borrow) = less(left, right);
    let mask = 0_u64.wrapping_sub(borrow.into());
    let mut sum = [0; 6];
    let mut carry = false;
    for i in 0..6 {
        (sum[i], carry) = difference[i].carrying_add(PRIME[i] & mask, carry);
    }
    sum
}

/// Subtracts p from a number below 2p, unless it is below p.
#[inline(always)]
pub(super) fn below_prime(number: &Words) -> Words {
    let (difference, borrow) = less(number, &PRIME);
    std::array::from_fn(|i| if borrow { number[i] } else { difference[i] })
}

/// The difference modulo 2^384, and whether it is negative.
#[inline(always)]
fn less(left: &Words, right: &Words) -> (Words, bool) {
    let mut difference = [0; 6];
    let mut borrow = false;
    for i in 0..6 {
        (difference[i], borrow) = left[i].borrowing_sub(right[i], borrow);
    }
    (difference, borrow)
}
