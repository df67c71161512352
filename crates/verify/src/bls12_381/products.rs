//! Many sequential products of many elements at once, to measure a multiplication without the conversion of elements to
//! the form of the backend.

// The fuzzers use the model too; cargo does not know their flag.
#![allow(unexpected_cfgs)]

use std::ops::Mul;

use super::backend::Backend;
use super::{Fp, Fp12, lanes};
use crate::lanes::run;

/// Multiplies each element by itself `times` times.
pub fn in_fp(elements: &[Fp], times: usize) -> Vec<Fp> {
    run!(
        Backend::fastest(),
        [Avx512Ifma => Ifma],
        |any| lanes::products::in_fp(any, elements, times),
        one_by_one(elements, times)
    )
}

/// Multiplies each element by itself `times` times.
pub fn in_fp12(elements: &[Fp12], times: usize) -> Vec<Fp12> {
    run!(
        Backend::fastest(),
        [Avx512Ifma => Ifma],
        |any| lanes::products::in_fp12(any, elements, times),
        one_by_one(elements, times)
    )
}

fn one_by_one<E: Copy + Mul<Output = E>>(elements: &[E], times: usize) -> Vec<E> {
    elements.iter().map(|element| (0..times).fold(*element, |product, _| product * *element)).collect()
}
