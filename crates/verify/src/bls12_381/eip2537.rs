//! Ethereum's precompiled contracts for this curve (EIP-2537), as functions from input to output.
//!
//! A field element is 64 big-endian bytes, the first 16 of them zero; of two coefficients, that of 1 comes before that
//! of u. A point is x and y, or zeros at infinity; a scalar is any number of 32 big-endian bytes.

use super::{
    Backend, CurvePoint, Fp, Fp2, G1, G2, Group, Pair, Point, Rule, Scalar, is_product_one, map_to_curve,
    multiply_and_add,
};

/// Length of a field element in bytes.
const ELEMENT: usize = 64;

/// Length of a pair of points in bytes: an input of [`pairing_check`] has one or more.
pub const PAIR: usize = 6 * ELEMENT;

/// A coordinate in this encoding.
pub trait Word: Sized {
    /// Its length in bytes.
    const LENGTH: usize;

    /// Decodes exactly [`LENGTH`](Self::LENGTH) bytes.
    fn read(bytes: &[u8]) -> Result<Self, Rule>;

    /// Appends its encoding.
    fn write(&self, bytes: &mut Vec<u8>);
}

impl Word for Fp {
    const LENGTH: usize = ELEMENT;

    fn read(bytes: &[u8]) -> Result<Self, Rule> {
        let (padding, number) = bytes.split_first_chunk::<16>().ok_or(Rule::Length)?;
        if *padding != [0; 16] {
            return Err(Rule::Padding);
        }
        Self::parse(number.try_into().map_err(|_| Rule::Length)?)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend([0; 16]);
        bytes.extend(self.bytes());
    }
}

impl Word for Fp2 {
    const LENGTH: usize = 2 * ELEMENT;

    fn read(bytes: &[u8]) -> Result<Self, Rule> {
        let (c0, c1) = bytes.split_at_checked(ELEMENT).ok_or(Rule::Length)?;
        Ok(Self::new(Fp::read(c0)?, Fp::read(c1)?))
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        self.coefficients().iter().for_each(|coefficient| coefficient.write(bytes));
    }
}

/// `BLS12_G1ADD` and `BLS12_G2ADD`: the sum of two points, which need not be in the subgroup.
pub fn add<G: Group<Element: Word>>(input: &[u8]) -> Result<Vec<u8>, Rule> {
    let [left, right] = exactly(input, point_length::<G>())?;
    Ok(write_point(&read_point::<G>(left)?.add(&read_point(right)?)))
}

/// `BLS12_G1MSM` and `BLS12_G2MSM`: the sum of one or more points, each multiplied by the scalar after it.
pub fn multi_scalar_multiply<G: Group<Element: Word>>(input: &[u8]) -> Result<Vec<u8>, Rule> {
    let (points, scalars) = multiples::<G>(input)?;
    Ok(write_point(&multiply_and_add(&points, &scalars).on_curve()))
}

/// Parses the points and the scalars of `BLS12_G1MSM` and `BLS12_G2MSM`; at least one of each.
pub fn multiples<G: Group<Element: Word>>(input: &[u8]) -> Result<(Vec<Point<G>>, Vec<Scalar>), Rule> {
    let length = point_length::<G>();
    let mut points = Vec::new();
    let mut scalars = Vec::new();
    let read = items(input, length + 32)?.try_for_each(|item| {
        let (point, scalar) = item.split_at(length);
        points.push(read_point::<G>(point)?);
        scalars.push(Scalar::reduce(scalar.try_into().map_err(|_| Rule::Length)?));
        Ok(())
    });
    // The first item that breaks a rule counts: parsed points come before one that could not be parsed.
    let points = CurvePoint::in_subgroup_each(&points).into_iter().collect::<Result<Vec<_>, _>>()?;
    read.map(|()| (points, scalars))
}

/// Parses the points of `BLS12_PAIRING_CHECK`: one or more pairs of a point of G1 and one of G2.
pub fn pairs(input: &[u8]) -> Result<Vec<Pair>, Rule> {
    pairs_on(Backend::fastest(), input)
}

/// As [`pairs`], on a backend that is available.
pub fn pairs_on(backend: Backend, input: &[u8]) -> Result<Vec<Pair>, Rule> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let read = items(input, PAIR)?.try_for_each(|item| {
        let (first, second) = item.split_at(point_length::<G1>());
        let (first, second) = (read_point::<G1>(first)?, read_point::<G2>(second)?);
        left.push(first);
        right.push(second);
        Ok(())
    });
    let left = CurvePoint::in_subgroup_each_on(backend, &left);
    let right = CurvePoint::in_subgroup_each_on(backend, &right);
    let pairs = left.into_iter().zip(right).map(|(left, right)| Ok((left?, right?))).collect::<Result<_, _>>()?;
    read.map(|()| pairs)
}

/// `BLS12_PAIRING_CHECK`: whether the product of the pairings is one, as a number of 32 bytes.
pub fn pairing_check(input: &[u8]) -> Result<Vec<u8>, Rule> {
    let mut output = vec![0; 32];
    output[31] = u8::from(is_product_one(&pairs(input)?));
    Ok(output)
}

/// `BLS12_MAP_FP_TO_G1` and `BLS12_MAP_FP2_TO_G2`: the point for a field element.
pub fn map<G: Group<Element: Word>>(input: &[u8]) -> Result<Vec<u8>, Rule> {
    let [element] = exactly(input, G::Element::LENGTH)?;
    Ok(write_point(&map_to_curve::<G>(G::Element::read(element)?).on_curve()))
}

fn point_length<G: Group<Element: Word>>() -> usize {
    2 * G::Element::LENGTH
}

/// Splits the input into `N` items.
fn exactly<const N: usize>(input: &[u8], length: usize) -> Result<[&[u8]; N], Rule> {
    if input.len() != N * length {
        return Err(Rule::Length);
    }
    Ok(std::array::from_fn(|at| &input[at * length..(at + 1) * length]))
}

/// Splits the input into one or more items.
fn items(input: &[u8], length: usize) -> Result<std::slice::ChunksExact<'_, u8>, Rule> {
    let items = input.chunks_exact(length);
    if items.len() == 0 || !items.remainder().is_empty() { Err(Rule::Length) } else { Ok(items) }
}

fn read_point<G: Group<Element: Word>>(bytes: &[u8]) -> Result<CurvePoint<G>, Rule> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(CurvePoint::default());
    }
    let (x, y) = bytes.split_at(G::Element::LENGTH);
    CurvePoint::new(G::Element::read(x)?, G::Element::read(y)?)
}

fn write_point<G: Group<Element: Word>>(point: &CurvePoint<G>) -> Vec<u8> {
    let Some((x, y)) = point.coordinates() else { return vec![0; point_length::<G>()] };
    let mut bytes = Vec::with_capacity(point_length::<G>());
    x.write(&mut bytes);
    y.write(&mut bytes);
    bytes
}
