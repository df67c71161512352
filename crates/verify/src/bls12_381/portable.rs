//! The portable backend: blst. All calls of it are here, behind functions that are safe to call.

use ::blst::*;

/// The result of a call that writes its first argument.
macro_rules! result {
    ($call:ident($($argument:expr),*)) => {{
        let mut result = Default::default();
        // SAFETY: the call writes its first argument, which has the type that it writes, and reads the others, which
        // are references to the types that it reads; each length comes with its slice.
        unsafe { $call(&mut result, $($argument),*) };
        result
    }};
}

/// The result of a call that only reads.
macro_rules! answer {
    ($call:ident($($argument:expr),*)) => {
        // SAFETY: the call reads its arguments, which are references to the types that it reads.
        unsafe { $call($($argument),*) }
    };
}

pub(super) use {answer, result};

/// The functions of blst for each of the two groups.
pub trait Backend {
    /// x and y; zeros at infinity.
    type Affine: Copy + Default + Eq + std::fmt::Debug + Send + Sync;
    /// Jacobian coordinates X / Z², Y / Z³; Z is zero at infinity.
    type Jacobian: Copy + Default + Eq + std::fmt::Debug + Send + Sync;
    /// The field of x and y.
    type Coordinate: Copy;
    /// Length of a coordinate in bytes.
    const COORDINATE: usize;

    fn generator() -> Self::Affine;
    fn from_coordinates(x: Self::Coordinate, y: Self::Coordinate) -> Self::Affine;
    fn coordinates(point: &Self::Affine) -> (Self::Coordinate, Self::Coordinate);
    fn from_jacobian(coordinates: [Self::Coordinate; 3]) -> Self::Jacobian;
    fn jacobian(point: &Self::Jacobian) -> [Self::Coordinate; 3];
    /// From a compressed encoding whose flags and x were checked; `None` if the curve has no such point.
    fn uncompress(bytes: &[u8]) -> Option<Self::Affine>;
    fn compress(point: &Self::Affine, bytes: &mut [u8]);
    fn serialise(point: &Self::Affine, bytes: &mut [u8]);
    fn is_infinity(point: &Self::Affine) -> bool;
    fn is_on_curve(point: &Self::Affine) -> bool;
    fn is_jacobian_on_curve(point: &Self::Jacobian) -> bool;
    fn is_in_subgroup(point: &Self::Affine) -> bool;
    fn to_jacobian(point: &Self::Affine) -> Self::Jacobian;
    fn to_affine(point: &Self::Jacobian) -> Self::Affine;
    fn add(left: &Self::Jacobian, right: &Self::Jacobian) -> Self::Jacobian;
    fn add_affine(left: &Self::Jacobian, right: &Self::Affine) -> Self::Jacobian;
    fn negate(point: &Self::Jacobian) -> Self::Jacobian;
    /// The point must be in the subgroup; the scalar is little-endian and has `bits` bits.
    fn multiply(point: &Self::Jacobian, scalar: &[u8], bits: usize) -> Self::Jacobian;
    /// Points must be in the subgroup and not at infinity, with one scalar each; scalars are little-endian, of `bits`
    /// bits, rounded up to bytes.
    fn multiply_and_add(points: &[Self::Affine], scalars: &[u8], bits: usize) -> Self::Jacobian;
    fn hash(message: &[u8], tag: &[u8]) -> Self::Jacobian;
    fn encode(message: &[u8], tag: &[u8]) -> Self::Jacobian;
    fn map(element: &Self::Coordinate) -> Self::Jacobian;
}

macro_rules! backend {
    (
        $group:ty, $affine:ty, $jacobian:ty, $coordinate:ty, $length:literal,
        $generator:ident, $uncompress:ident, $compress:ident, $serialise:ident, $is_infinity:ident, $is_on_curve:ident,
        $is_jacobian_on_curve:ident, $is_in_subgroup:ident, $to_jacobian:ident, $to_affine:ident, $add:ident, $add_affine:ident,
        $negate:ident, $multiply:ident, $pippenger:ident, $scratch:ident, $hash:ident, $encode:ident, $map:ident
    ) => {
        impl Backend for $group {
            type Affine = $affine;
            type Jacobian = $jacobian;
            type Coordinate = $coordinate;
            const COORDINATE: usize = $length;

            fn generator() -> $affine {
                // SAFETY: the pointer is to a constant.
                unsafe { *$generator() }
            }

            fn from_coordinates(x: $coordinate, y: $coordinate) -> $affine {
                Self::Affine { x, y }
            }

            fn coordinates(point: &$affine) -> ($coordinate, $coordinate) {
                (point.x, point.y)
            }

            fn from_jacobian([x, y, z]: [$coordinate; 3]) -> $jacobian {
                Self::Jacobian { x, y, z }
            }

            fn jacobian(point: &$jacobian) -> [$coordinate; 3] {
                [point.x, point.y, point.z]
            }

            fn uncompress(bytes: &[u8]) -> Option<$affine> {
                assert_eq!(bytes.len(), $length);
                let mut point = Default::default();
                // SAFETY: the call reads as many bytes as the slice has.
                let error = unsafe { $uncompress(&mut point, bytes.as_ptr()) };
                // For points with an x of 0 it reports that they are not in the subgroup, but writes them all the same.
                matches!(error, BLST_ERROR::BLST_SUCCESS | BLST_ERROR::BLST_POINT_NOT_IN_GROUP).then_some(point)
            }

            fn compress(point: &$affine, bytes: &mut [u8]) {
                assert_eq!(bytes.len(), $length);
                // SAFETY: the call writes as many bytes as the slice has.
                unsafe { $compress(bytes.as_mut_ptr(), point) }
            }

            fn serialise(point: &$affine, bytes: &mut [u8]) {
                assert_eq!(bytes.len(), 2 * $length);
                // SAFETY: the call writes two coordinates, exactly the length asserted above.
                unsafe { $serialise(bytes.as_mut_ptr(), point) }
            }

            fn is_infinity(point: &$affine) -> bool {
                answer!($is_infinity(point))
            }

            fn is_on_curve(point: &$affine) -> bool {
                answer!($is_on_curve(point))
            }

            fn is_jacobian_on_curve(point: &$jacobian) -> bool {
                answer!($is_jacobian_on_curve(point))
            }

            fn is_in_subgroup(point: &$affine) -> bool {
                answer!($is_in_subgroup(point))
            }

            fn to_jacobian(point: &$affine) -> $jacobian {
                result!($to_jacobian(point))
            }

            fn to_affine(point: &$jacobian) -> $affine {
                result!($to_affine(point))
            }

            fn add(left: &$jacobian, right: &$jacobian) -> $jacobian {
                result!($add(left, right))
            }

            fn add_affine(left: &$jacobian, right: &$affine) -> $jacobian {
                result!($add_affine(left, right))
            }

            fn negate(point: &$jacobian) -> $jacobian {
                let mut point = *point;
                // SAFETY: the call reads and writes its first argument.
                unsafe { $negate(&mut point, true) };
                point
            }

            fn multiply(point: &$jacobian, scalar: &[u8], bits: usize) -> $jacobian {
                assert!(bits <= 8 * scalar.len());
                result!($multiply(point, scalar.as_ptr(), bits))
            }

            fn multiply_and_add(points: &[$affine], scalars: &[u8], bits: usize) -> $jacobian {
                assert_eq!(scalars.len(), points.len() * bits.div_ceil(8));
                // A null second pointer means that the points, and the scalars, are contiguous.
                let points_at = [points.as_ptr(), std::ptr::null()];
                let scalars_at = [scalars.as_ptr(), std::ptr::null()];
                let mut scratch = vec![0; answer!($scratch(points.len())).div_ceil(size_of::<limb_t>())];
                let mut sum = Default::default();
                if !points.is_empty() {
                    // SAFETY: the counts match the slices, and the scratch has the size that the call requires.
                    unsafe {
                        let (points_at, scalars_at) = (points_at.as_ptr(), scalars_at.as_ptr());
                        $pippenger(&mut sum, points_at, points.len(), scalars_at, bits, scratch.as_mut_ptr());
                    }
                }
                sum
            }

            fn hash(message: &[u8], tag: &[u8]) -> $jacobian {
                let nothing = std::ptr::null();
                result!($hash(message.as_ptr(), message.len(), tag.as_ptr(), tag.len(), nothing, 0))
            }

            fn encode(message: &[u8], tag: &[u8]) -> $jacobian {
                let nothing = std::ptr::null();
                result!($encode(message.as_ptr(), message.len(), tag.as_ptr(), tag.len(), nothing, 0))
            }

            fn map(element: &$coordinate) -> $jacobian {
                result!($map(element, std::ptr::null()))
            }
        }
    };
}

backend!(
    super::G1,
    blst_p1_affine,
    blst_p1,
    blst_fp,
    48,
    blst_p1_affine_generator,
    blst_p1_uncompress,
    blst_p1_affine_compress,
    blst_p1_affine_serialize,
    blst_p1_affine_is_inf,
    blst_p1_affine_on_curve,
    blst_p1_on_curve,
    blst_p1_affine_in_g1,
    blst_p1_from_affine,
    blst_p1_to_affine,
    blst_p1_add_or_double,
    blst_p1_add_or_double_affine,
    blst_p1_cneg,
    blst_p1_mult,
    blst_p1s_mult_pippenger,
    blst_p1s_mult_pippenger_scratch_sizeof,
    blst_hash_to_g1,
    blst_encode_to_g1,
    blst_map_to_g1
);

backend!(
    super::G2,
    blst_p2_affine,
    blst_p2,
    blst_fp2,
    96,
    blst_p2_affine_generator,
    blst_p2_uncompress,
    blst_p2_affine_compress,
    blst_p2_affine_serialize,
    blst_p2_affine_is_inf,
    blst_p2_affine_on_curve,
    blst_p2_on_curve,
    blst_p2_affine_in_g2,
    blst_p2_from_affine,
    blst_p2_to_affine,
    blst_p2_add_or_double,
    blst_p2_add_or_double_affine,
    blst_p2_cneg,
    blst_p2_mult,
    blst_p2s_mult_pippenger,
    blst_p2s_mult_pippenger_scratch_sizeof,
    blst_hash_to_g2,
    blst_encode_to_g2,
    blst_map_to_g2
);

/// The product of the Miller loops of pairs without points at infinity.
pub(super) fn miller_loop(pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> blst_fp12 {
    let (left, right): (Vec<*const _>, Vec<*const _>) =
        pairs.iter().map(|(left, right)| (std::ptr::from_ref(*left), std::ptr::from_ref(*right))).unzip();
    if pairs.is_empty() {
        return blst_fp12::default();
    }
    result!(blst_miller_loop_n(right.as_ptr(), left.as_ptr(), pairs.len()))
}

/// Raises to the power of 3 (p^12 - 1) / r.
pub(super) fn final_exponentiation(element: &blst_fp12) -> blst_fp12 {
    result!(blst_final_exp(element))
}
