//! Batch verification of Groth16 proofs on blst alone: what a user of blst would write, with the engine's random
//! combination.

use blst::*;

/// The result of a call that writes its first argument.
macro_rules! result {
    ($call:ident($($argument:expr),*)) => {{
        let mut result = Default::default();
        // SAFETY: the call writes its first argument, which has the type that it writes, and reads the others:
        // references to what it reads, or pointers to as many bytes as it reads, checked by the callers below.
        unsafe { $call(&mut result, $($argument),*) };
        result
    }};
}

/// A verifying key in bellman's encoding, reduced to the parts that a check needs.
pub struct Key {
    alpha: blst_p1,
    /// Minus beta, gamma and delta.
    right: [blst_p2_affine; 3],
    inputs: Vec<blst_p1_affine>,
}

fn p1(bytes: &[u8]) -> blst_p1_affine {
    assert_eq!(bytes.len(), 96);
    result!(blst_p1_deserialize(bytes.as_ptr()))
}

/// Minus the point.
fn minus_p2(bytes: &[u8]) -> blst_p2_affine {
    assert_eq!(bytes.len(), 192);
    let affine: blst_p2_affine = result!(blst_p2_deserialize(bytes.as_ptr()));
    let mut point: blst_p2 = result!(blst_p2_from_affine(&affine));
    // SAFETY: the call reads and writes its argument.
    unsafe { blst_p2_cneg(&mut point, true) };
    result!(blst_p2_to_affine(&point))
}

fn uncompress_p1(bytes: &[u8]) -> blst_p1_affine {
    assert_eq!(bytes.len(), 48);
    let mut point = blst_p1_affine::default();
    // SAFETY: the calls read 48 bytes, and a point.
    let is_good = unsafe {
        blst_p1_uncompress(&mut point, bytes.as_ptr()) == BLST_ERROR::BLST_SUCCESS
            && blst_p1_affine_in_g1(&point)
            && !blst_p1_affine_is_inf(&point)
    };
    assert!(is_good);
    point
}

fn uncompress_p2(bytes: &[u8]) -> blst_p2_affine {
    assert_eq!(bytes.len(), 96);
    let mut point = blst_p2_affine::default();
    // SAFETY: the calls read 96 bytes, and a point.
    let is_good = unsafe {
        blst_p2_uncompress(&mut point, bytes.as_ptr()) == BLST_ERROR::BLST_SUCCESS
            && blst_p2_affine_in_g2(&point)
            && !blst_p2_affine_is_inf(&point)
    };
    assert!(is_good);
    point
}

fn scalar(bytes: &[u8; 32]) -> blst_fr {
    let scalar: blst_scalar = result!(blst_scalar_from_lendian(bytes.as_ptr()));
    // SAFETY: the call reads its argument.
    assert!(unsafe { blst_scalar_fr_check(&scalar) });
    result!(blst_fr_from_scalar(&scalar))
}

fn bytes(scalar: &blst_fr) -> [u8; 32] {
    let scalar: blst_scalar = result!(blst_scalar_from_fr(scalar));
    scalar.b
}

/// The sum of multiples, in one thread.
fn sum(points: &[blst_p1_affine], scalars: &[u8], bits: usize) -> blst_p1_affine {
    assert_eq!(scalars.len(), points.len() * bits.div_ceil(8));
    let (points_at, scalars_at) = ([points.as_ptr(), std::ptr::null()], [scalars.as_ptr(), std::ptr::null()]);
    // SAFETY: the counts match the slices, and the scratch has the size that the call requires.
    let mut scratch = unsafe { vec![0_u64; blst_p1s_mult_pippenger_scratch_sizeof(points.len()).div_ceil(8)] };
    let (points_at, scalars_at) = (points_at.as_ptr(), scalars_at.as_ptr());
    let sum: blst_p1 =
        result!(blst_p1s_mult_pippenger(points_at, points.len(), scalars_at, bits, scratch.as_mut_ptr()));
    result!(blst_p1_to_affine(&sum))
}

impl Key {
    pub fn parse(bytes: &[u8]) -> Self {
        let (points, inputs) = bytes.split_at(868);
        let alpha = p1(&points[..96]);
        Self {
            alpha: result!(blst_p1_from_affine(&alpha)),
            right: [&points[192..384], &points[384..576], &points[672..864]].map(minus_p2),
            inputs: inputs.chunks(96).map(p1).collect(),
        }
    }

    /// Whether all proofs hold; each record is a proof's 192 bytes and its inputs.
    pub fn all_hold(&self, records: &[&[u8]]) -> bool {
        let mut random = vec![0; 16 * records.len()];
        getrandom::fill(&mut random).unwrap();
        let (coefficients, _) = random.as_chunks::<16>();
        let (mut left, mut right, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let mut sums = vec![blst_fr::default(); self.inputs.len()];
        for (record, coefficient) in records.iter().zip(coefficients) {
            let a: blst_p1 = result!(blst_p1_from_affine(&uncompress_p1(&record[..48])));
            let a: blst_p1 = result!(blst_p1_mult(&a, coefficient.as_ptr(), 128));
            left.push(result!(blst_p1_to_affine(&a)));
            right.push(uncompress_p2(&record[48..144]));
            last.push(uncompress_p1(&record[144..192]));
            let mut word = [0; 32];
            word[..16].copy_from_slice(coefficient);
            let coefficient = scalar(&word);
            sums[0] = result!(blst_fr_add(&sums[0], &coefficient));
            let (inputs, _) = record[192..].as_chunks();
            assert_eq!(1 + inputs.len(), sums.len());
            for (sum, input) in sums[1..].iter_mut().zip(inputs) {
                let product: blst_fr = result!(blst_fr_mul(&coefficient, &scalar(input)));
                *sum = result!(blst_fr_add(sum, &product));
            }
        }
        let alpha: blst_p1 = result!(blst_p1_mult(&self.alpha, bytes(&sums[0]).as_ptr(), 255));
        let sums = Vec::from_iter(sums.iter().map(bytes));
        left.push(result!(blst_p1_to_affine(&alpha)));
        left.push(sum(&self.inputs, sums.as_flattened(), 255));
        left.push(sum(&last, &random, 128));
        right.extend(self.right);
        let (left_at, right_at) = ([left.as_ptr(), std::ptr::null()], [right.as_ptr(), std::ptr::null()]);
        let product: blst_fp12 = result!(blst_miller_loop_n(right_at.as_ptr(), left_at.as_ptr(), left.len()));
        product.final_exp() == blst_fp12::default()
    }
}
