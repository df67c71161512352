/// Random coefficients for a combined check. They are drawn after what is checked is fixed, so that nobody can choose it to go with
/// them: where a check of one item fails, a combined check with it passes once in 2^128 times. None where the system has no
/// randomness; then each item has to be checked alone.
pub(super) fn draw(count: usize) -> Option<Vec<u128>> {
    let mut random = vec![0; 16 * count];
    getrandom::fill(&mut random).ok()?;
    Some(random.as_chunks().0.iter().copied().map(u128::from_le_bytes).collect())
}
