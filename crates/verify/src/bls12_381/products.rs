//! Many products, one after the other, of many elements at once: what a multiplication takes, without what it takes to bring elements to
//! the form that the backend has them in.

use super::backend::Backend;
use super::{Fp, Fp12};

/// Each element multiplied by itself so many times.
pub fn in_fp(elements: &[Fp], times: usize) -> Vec<Fp> {
    Backend::fastest().products_in_fp(elements, times)
}

/// Each element multiplied by itself so many times.
pub fn in_fp12(elements: &[Fp12], times: usize) -> Vec<Fp12> {
    Backend::fastest().products_in_fp12(elements, times)
}
