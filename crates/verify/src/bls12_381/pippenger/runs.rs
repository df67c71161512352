//! Sums of runs of points, in affine coordinates.

use super::Affine;
use crate::bls12_381::field::Field;

/// Adds up runs of points that lie one after the other: each run's points in pairs, the sums again in pairs, until there is one.
/// Pairs of all runs share the inversion that an addition of affine points takes. Such an addition is five multiplications and a
/// squaring.
#[derive(Default)]
pub(super) struct Runs<E> {
    steps: Vec<Step>,
    /// For each step, the product of the denominators of the steps after it.
    products: Vec<E>,
}

/// What a round makes the next of its points of.
#[derive(Clone, Copy)]
struct Step {
    from: u32,
    is_pair: bool,
}

impl<E: Field> Runs<E> {
    /// Leaves the sums of the runs that are not empty, one after the other.
    pub(super) fn add_up(&mut self, points: &mut Vec<Affine<E>>, lengths: &mut [u32]) {
        while lengths.iter().any(|length| *length > 1) {
            self.steps.clear();
            let mut from = 0;
            for length in &mut *lengths {
                let end = from + *length;
                self.steps.extend((from..end).step_by(2).map(|from| Step { from, is_pair: from + 1 < end }));
                from = end;
                *length = length.div_ceil(2);
            }
            self.round(points);
            points.truncate(self.steps.len());
        }
    }

    /// Step `i` writes point `i`, and reads none before that.
    fn round(&mut self, points: &mut [Affine<E>]) {
        self.products.clear();
        let mut product = E::one();
        for step in self.steps.iter().rev() {
            self.products.push(product);
            if step.is_pair {
                product = product * denominator(&points[step.from as usize], &points[step.from as usize + 1]);
            }
        }
        let mut inverse = product.inverse();
        for (to, (step, product)) in self.steps.iter().zip(self.products.iter().rev()).enumerate() {
            let from = step.from as usize;
            points[to] = points[from];
            if step.is_pair {
                let (left, right) = (points[from], points[from + 1]);
                points[to] = add(&left, &right, inverse * *product);
                inverse = inverse * denominator(&left, &right);
            }
        }
    }
}

/// The denominator of the slope that the sum of two points takes; any number but zero if it takes none.
#[inline(always)]
fn denominator<E: Field>(left: &Affine<E>, right: &Affine<E>) -> E {
    if !left.x.equals(&right.x) {
        right.x - left.x
    } else if left.y.equals(&right.y) && !left.is_infinity() {
        // Not zero: no point of an odd order is its own negative.
        left.y + left.y
    } else {
        E::one()
    }
}

/// The sum of two points, by the inverse of their denominator.
#[inline(always)]
fn add<E: Field>(left: &Affine<E>, right: &Affine<E>, inverse: E) -> Affine<E> {
    let numerator = if left.is_infinity() {
        return *right;
    } else if right.is_infinity() {
        return *left;
    } else if !left.x.equals(&right.x) {
        right.y - left.y
    } else if left.y.equals(&right.y) {
        let square = left.x.square();
        square + square + square
    } else {
        return Affine::default();
    };
    let slope = numerator * inverse;
    let x = slope.square() - left.x - right.x;
    Affine { x, y: slope * (left.x - x) - left.y }
}
