//! How large an element may have become. Which operations are done does not depend on the numbers, so a test that does them once with
//! any has shown for all that no limb overflows.

/// What [`super::fp::Fp::tight`] adds, in multiples of p, so that no element is negative.
pub(super) const BIAS: u64 = 1 << 10;

/// The bounds of an element, which only tests keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound(#[cfg(test)] Range);

/// Between `-below` p and `above` p, in limbs that are less than `limbs` times 2^52 from zero. Of a product that is not reduced, they
/// are multiples of p 2^416, and of its columns.
#[derive(Clone, Copy, Debug)]
#[cfg(test)]
struct Range {
    below: u64,
    above: u64,
    limbs: u64,
}

#[cfg(test)]
fn bound(below: u64, above: u64, limbs: u64) -> Bound {
    assert!(limbs < 1 << 11, "limbs have 63 bits and a sign");
    Bound(Range { below, above, limbs })
}

#[cfg(test)]
impl Bound {
    /// Of six words: 2^384 is less than ten times p.
    pub(super) fn loaded() -> Self {
        bound(0, 10, 1)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        bound(a.below + b.below, a.above + b.above, a.limbs + b.limbs)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        bound(a.below + b.above, a.above + b.below, a.limbs + b.limbs)
    }

    pub(super) fn either(self, other: Self) -> Self {
        let (a, b) = (self.0, other.0);
        bound(a.below.max(b.below), a.above.max(b.above), a.limbs.max(b.limbs))
    }

    pub(super) fn biased(self, bias: u64) -> Self {
        assert!(self.0.below <= bias, "the bias makes up for what is below zero");
        bound(0, self.0.above + bias, self.0.limbs + 1)
    }

    pub(super) fn carried(self) -> Self {
        bound(self.0.below, self.0.above, 1)
    }

    /// The quotient is less than the right one by one, and by a part of 2^16 of it, at most.
    pub(super) fn folded(self) -> Self {
        assert!(self.0.limbs == 1 && self.0.below == 0 && self.0.above <= 1 << 12, "a tight element");
        bound(0, 2, 4)
    }

    /// Of a number below p.
    pub(super) fn canonical() -> Self {
        bound(0, 1, 1)
    }

    /// Of what comes from memory: a product, or what is folded.
    pub(super) fn of_stored() -> Self {
        bound(0, 3, 1)
    }

    pub(super) fn stored(self) {
        assert!(self.0.limbs == 1 && self.0.below == 0 && self.0.above <= 3, "what is stored is reduced");
    }

    /// A column has at most 16 halves of products.
    pub(super) fn product(self, other: Self) -> Self {
        for factor in [self.0, other.0] {
            assert!(factor.limbs == 1 && factor.below == 0, "factors are tight");
            assert!(factor.above <= 1 << 12, "products are below 2^24 p², which is less than p 2^416 / 2^11");
        }
        bound(0, 1, 16)
    }

    /// The reduction adds less than p and a quarter, and what products come to is less than a part of 2^11 of their bound; to a column
    /// it adds 16 halves of products and a carry.
    pub(super) fn reduced(self) -> Self {
        bound(self.0.below, self.0.above + 1, self.0.limbs + 17)
    }
}

#[cfg(not(test))]
#[allow(clippy::unused_self)]
impl Bound {
    #[inline(always)]
    pub(super) fn loaded() -> Self {
        Self()
    }

    #[inline(always)]
    pub(super) fn plus(self, _: Self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn minus(self, _: Self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn either(self, _: Self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn biased(self, _: u64) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn carried(self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn folded(self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn canonical() -> Self {
        Self()
    }

    #[inline(always)]
    pub(super) fn of_stored() -> Self {
        Self()
    }

    #[inline(always)]
    pub(super) fn stored(self) {}

    #[inline(always)]
    pub(super) fn product(self, _: Self) -> Self {
        self
    }

    #[inline(always)]
    pub(super) fn reduced(self) -> Self {
        self
    }
}
