//! Products modulo a number, in whatever form they are fastest.

/// Products modulo a number, of elements in a form of its own, which many of them are worth to be brought to.
pub(super) trait Ring: Sync {
    /// A number in that form.
    type Element: Clone + Send + Sync;

    /// The element of a number, in words in Montgomery's form.
    fn enter(&self, words: &[u64]) -> Self::Element;

    /// The number of an element, in words in Montgomery's form.
    fn leave(&self, element: &Self::Element) -> Box<[u64]>;

    /// The same out of Montgomery's form.
    fn plain(&self, element: &Self::Element) -> Box<[u64]>;

    /// `a` becomes a · b.
    fn multiply(&self, a: &mut Self::Element, b: &Self::Element);

    /// `a` is squared so many times.
    fn square(&self, a: &mut Self::Element, times: u64);
}

/// Work on a [`Ring`], whichever it is.
pub(super) trait InRing {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<R: Ring>(self, ring: &R) -> Self::Output;
}
