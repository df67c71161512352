use std::error::Error;

/// A batch of items of one kind, gathered because verifying many at once is faster than one after the other.
pub trait BatchVerifier {
    /// The type of the items verified.
    type Item;
    /// A rule that an item may break.
    type Rule: Error;

    /// Adds an item to the batch.
    fn push(&mut self, item: Self::Item);

    /// Number of items in the batch.
    fn len(&self) -> usize;

    /// Whether the batch is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Verifies every item and empties the batch. The verdicts are in the order of the items; each names the first rule
    /// that its item breaks.
    fn verify_each(&mut self) -> &[Result<(), Self::Rule>];

    /// Verifies every item and empties the batch: `Ok`, or the position of the first item that fails, and the rule.
    ///
    /// A scheme that can check all items at once, with random coefficients, does that first, and then finds the failing
    /// item by halving the batch. A scheme that cannot, like Equihash, stops at the first item that fails.
    fn verify_all(&mut self) -> Result<(), (usize, Self::Rule)>
    where
        Self::Rule: Clone,
    {
        let failed = |(position, verdict): (usize, &Result<(), Self::Rule>)| Some((position, verdict.clone().err()?));
        match self.verify_each().iter().enumerate().find_map(failed) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}
