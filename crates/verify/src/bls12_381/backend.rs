// The fuzzers use the model too; cargo does not know their flag.
#![allow(unexpected_cfgs)]

use ::blst::{blst_fp12, blst_p1_affine, blst_p2_affine};

use crate::lanes::{has_ifma, run};

use super::encoding::CompressedPoint;
use super::pippenger::{self, OneByOne};
use super::{Group, lanes, portable};

/// An implementation of parsing and multiplying points, of pairings and of sums of multiples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Eight at once, in lanes of AVX-512 IFMA.
    Avx512Ifma,
    /// Any processor: blst.
    Portable,
    /// A model of the lanes, on processors without them.
    #[cfg(any(test, fuzzing))]
    Model,
}

/// Minimum number of pairs, or points, for which a vector is faster than blst one by one: by instruction count, a
/// vector takes as long as two at most.
const FILLED: usize = 4;

impl Backend {
    /// All backends, the fastest first.
    #[cfg(not(any(test, fuzzing)))]
    pub const ALL: [Self; 2] = [Self::Avx512Ifma, Self::Portable];
    #[cfg(any(test, fuzzing))]
    /// All backends, the fastest first.
    pub const ALL: [Self; 3] = [Self::Avx512Ifma, Self::Portable, Self::Model];

    /// Whether this processor has the instructions that it needs.
    pub fn is_available(self) -> bool {
        match self {
            Self::Avx512Ifma => has_ifma(),
            Self::Portable => true,
            #[cfg(any(test, fuzzing))]
            Self::Model => !has_ifma(),
        }
    }

    /// The backends to test on this processor.
    #[cfg(test)]
    pub(super) fn tested() -> impl Iterator<Item = Self> {
        let hardware = crate::testing::available(&[Self::Avx512Ifma, Self::Portable], Self::is_available);
        hardware.into_iter().chain(Some(Self::Model).filter(|model| model.is_available()))
    }

    /// The fastest on this processor.
    pub fn fastest() -> Self {
        Self::ALL.into_iter().find(|backend| backend.is_available()).unwrap_or(Self::Portable)
    }

    /// Decompresses encodings whose flags and x were checked, none at infinity; `None` for each without a point on the
    /// curve.
    pub(super) fn uncompress<G: Group>(self, encodings: &[&[u8]]) -> Vec<Option<G::Affine>> {
        let read = |bytes: &&[u8]| match CompressedPoint::read::<G>(bytes) {
            Ok(point) => point,
            Err(rule) => unreachable!("the encoding was checked: {rule}"),
        };
        let in_lanes = |ys: Vec<Option<G::Element>>, points: &[CompressedPoint<G::Element>]| {
            let point = |(y, point): (Option<G::Element>, &CompressedPoint<G::Element>)| {
                y.map(|y| G::from_coordinates(point.x.into(), y.into()))
            };
            ys.into_iter().zip(points).map(point).collect()
        };
        run!(
            self,
            [Avx512Ifma if encodings.len() >= FILLED => Ifma],
            |any| {
                let points: Vec<_> = encodings.iter().map(read).collect();
                in_lanes(lanes::uncompress(any, &points), &points)
            },
            encodings.iter().map(|bytes| G::uncompress(bytes)).collect()
        )
    }

    /// Whether each point of the curve is in the subgroup. No point may be at infinity.
    pub(super) fn are_in_subgroup<G: Group>(self, points: &[G::Affine]) -> Vec<bool> {
        run!(
            self,
            [Avx512Ifma if points.len() >= FILLED => Ifma],
            |any| lanes::are_in_subgroup(any, &coordinates::<G>(points)),
            points.iter().map(G::is_in_subgroup).collect()
        )
    }

    /// Multiplies each point by its scalar, of at most 255 bits. No point may be at infinity.
    pub(super) fn multiply_each<G: Group>(
        self,
        points: &[G::Affine],
        scalars: &[[u64; 4]],
        bits: usize,
    ) -> Vec<G::Affine> {
        let alone = |point: &G::Affine, scalar: &[u64; 4]| {
            let bytes = scalar.map(u64::to_le_bytes);
            G::to_affine(&G::multiply(&G::to_jacobian(point), bytes.as_flattened(), bits))
        };
        let in_lanes = |multiples: Vec<Option<(G::Element, G::Element)>>| {
            let each = multiples.into_iter().zip(points.iter().zip(scalars));
            let finite = |(x, y): (G::Element, G::Element)| G::from_coordinates(x.into(), y.into());
            each.map(|(multiple, (point, scalar))| multiple.map_or_else(|| alone(point, scalar), finite)).collect()
        };
        run!(
            self,
            [Avx512Ifma if points.len() >= FILLED => Ifma],
            |any| in_lanes(lanes::multiply_each(any, &coordinates::<G>(points), scalars)),
            points.iter().zip(scalars).map(|(point, scalar)| alone(point, scalar)).collect()
        )
    }

    /// The product of the Miller loops of pairs without points at infinity, up to a factor that the final
    /// exponentiation removes.
    pub(super) fn miller_loop(self, pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> blst_fp12 {
        run!(
            self,
            [Avx512Ifma if pairs.len() >= FILLED => Ifma],
            |any| lanes::miller_loop(any, pairs),
            portable::miller_loop(pairs)
        )
    }

    /// The pairing of each pair. No point may be at infinity.
    pub(super) fn pairings(self, pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> Vec<blst_fp12> {
        run!(
            self,
            [Avx512Ifma if pairs.len() >= FILLED => Ifma],
            |any| lanes::pairings(any, pairs),
            pairs.iter().map(|pair| portable::final_exponentiation(&portable::miller_loop(&[*pair]))).collect()
        )
    }

    /// The sum of each point multiplied by its scalar, which is below 2^255. No point may be at infinity.
    pub(super) fn multiply_and_add<G: Group>(self, points: &[G::Affine], scalars: &[[u64; 4]]) -> G::Jacobian {
        run!(
            self,
            [Avx512Ifma => Ifma],
            |any| pippenger::multiply_and_add::<G>(lanes::InLanes(any), points, scalars),
            pippenger::multiply_and_add::<G>(OneByOne, points, scalars)
        )
    }
}

fn coordinates<G: Group>(points: &[G::Affine]) -> Vec<(G::Element, G::Element)> {
    let of = |point: &G::Affine| {
        let (x, y) = G::coordinates(point);
        (x.into(), y.into())
    };
    points.iter().map(of).collect()
}
