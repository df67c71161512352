/// Draws random coefficients for a combined check; `None` if the system has no randomness.
///
/// They are drawn after the items are fixed, so nobody can choose items to match them: a combined check with an item
/// that would fail alone passes with a chance of 2^-128. Without randomness, each item must be checked alone.
pub(super) fn draw(count: usize) -> Option<Vec<u128>> {
    let mut random = vec![0; 16 * count];
    getrandom::fill(&mut random).ok()?;
    Some(random.as_chunks().0.iter().copied().map(u128::from_le_bytes).collect())
}
