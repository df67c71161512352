//! Bounds of elements. The sequence of operations does not depend on the numbers, so a single test run proves for all
//! numbers that no limb overflows.

/// The multiple of p that [`super::fp::Fp::tight`] adds, so that no element is negative.
pub(super) const BIAS: u64 = 1 << 10;

/// The bounds of an element; only tests track them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound(#[cfg(test)] Range);

/// Between `-below` p and `above` p, in limbs less than `limbs` times 2^52 from zero. For a product before its
/// reduction the units are p 2^416, and the limbs are its columns.
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
    /// Loaded from six words: 2^384 is less than ten times p.
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

    /// The quotient is too small by less than one plus a 2^16th of it.
    pub(super) fn folded(self) -> Self {
        assert!(self.0.limbs == 1 && self.0.below == 0 && self.0.above <= 1 << 12, "a tight element");
        bound(0, 2, 4)
    }

    /// A number below p.
    pub(super) fn canonical() -> Self {
        bound(0, 1, 1)
    }

    /// Loaded from memory: a product or a folded element.
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

    /// The reduction adds less than one and a quarter p, and products amount to less than a 2^11th of their bound; it
    /// adds 16 halves of products and a carry to each column.
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
