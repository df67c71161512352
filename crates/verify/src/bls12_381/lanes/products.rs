//! Many products of field elements, one in each lane.

use super::fp::Fp;
use super::fp12::Fp12;
use crate::bls12_381 as scalar;
use crate::lanes::Vector;

/// Each element multiplied by itself `times` times.
#[inline(always)]
pub(in crate::bls12_381) fn in_fp<V: Vector>(any: V, elements: &[scalar::Fp], times: usize) -> Vec<scalar::Fp> {
    let mut products = Vec::with_capacity(elements.len());
    for elements in elements.chunks(V::LANES) {
        let element = Fp::load(any, |lane| elements.get(lane).unwrap_or(&elements[0]).0.l);
        let product = any.call(
            #[inline(always)]
            || {
                let mut product = element;
                for _ in 0..times {
                    product = product.multiply_tight(&element);
                }
                product
            },
        );
        products.extend(super::Lanes::elements(&product).into_iter().take(elements.len()));
    }
    products
}

/// Each element multiplied by itself `times` times.
#[inline(always)]
pub(in crate::bls12_381) fn in_fp12<V: Vector>(any: V, elements: &[scalar::Fp12], times: usize) -> Vec<scalar::Fp12> {
    let mut products = Vec::with_capacity(elements.len());
    for elements in elements.chunks(V::LANES) {
        let element = Fp12::load(any, |lane| &elements.get(lane).unwrap_or(&elements[0]).0);
        let mut product = element;
        for _ in 0..times {
            product = product.multiply(&element);
        }
        products.extend(product.elements().into_iter().map(scalar::Fp12).take(elements.len()));
    }
    products
}
