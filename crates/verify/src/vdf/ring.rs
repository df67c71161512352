//! Products modulo a number, in whatever form is fastest.

/// Products modulo a number, of elements in a special form.
///
/// Converting to it pays off only for many products.
pub(super) trait Ring: Sync {
    /// A number in that form.
    type Element: Clone + Send + Sync;

    /// The element of a number, in words in Montgomery's form.
    fn enter(&self, words: &[u64]) -> Self::Element;

    /// The number of an element, in words in Montgomery's form.
    fn leave(&self, element: &Self::Element) -> Box<[u64]>;

    /// The same, converted from Montgomery's form.
    fn plain(&self, element: &Self::Element) -> Box<[u64]>;

    /// `a` becomes a · b.
    fn multiply(&self, a: &mut Self::Element, b: &Self::Element);

    /// `a` is squared `times` times.
    fn square(&self, a: &mut Self::Element, times: u64);
}

/// Work that runs in any [`Ring`].
pub(super) trait InRing {
    /// The result.
    type Output;

    /// Does the work.
    fn run<R: Ring>(self, ring: &R) -> Self::Output;
}
