use std::ops::Range;

/// Finds the bad items in a range for which a combined check has said that not all are good.
///
/// `all_good` checks a range together; `each` decides the items of a range one by one. Ranges are halved, and the
/// halves checked together, as long as they have more than `alone` items. Items that are not passed to `each` are good.
///
/// The work is bounded, however many items are bad: once the combined checks have looked at each item four times on
/// average, the rest goes to `each`. Finding a single bad item takes at most two looks at each item.
pub(crate) fn bisect(
    items: Range<usize>,
    alone: usize,
    mut all_good: impl FnMut(Range<usize>) -> bool,
    mut each: impl FnMut(Range<usize>),
) {
    let mut budget = 4 * items.len();
    // Ranges, and whether each is known to have a bad item. The last one is checked next.
    let mut open = vec![(items, true)];
    while let Some((items, is_bad)) = open.pop() {
        if items.len() <= alone || budget < items.len() {
            each(items);
        } else if is_bad {
            let (first, second) = halves(&items);
            budget -= first.len();
            if all_good(first.clone()) {
                open.push((second, true));
            } else {
                open.push((second, false));
                open.push((first, true));
            }
        } else {
            budget -= items.len();
            if !all_good(items.clone()) {
                open.push((items, true));
            }
        }
    }
}

fn halves(items: &Range<usize>) -> (Range<usize>, Range<usize>) {
    let middle = items.start + items.len() / 2;
    (items.start..middle, middle..items.end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bad items found, and the numbers of items checked together and alone.
    fn find(bad: &[bool], alone: usize) -> (Vec<bool>, usize, usize) {
        let (mut found, mut together, mut single) = (vec![false; bad.len()], 0, 0);
        let all_good = |items: Range<usize>| {
            together += items.len();
            !bad[items].contains(&true)
        };
        bisect(0..bad.len(), alone, all_good, |items| {
            single += items.len();
            found[items.clone()].copy_from_slice(&bad[items]);
        });
        (found, together, single)
    }

    #[test]
    fn one_bad_item_costs_little() {
        for position in 0..1024 {
            let mut bad = vec![false; 1024];
            bad[position] = true;
            let (found, together, single) = find(&bad, 16);
            assert_eq!(found, bad);
            assert!(together <= 2048 && single <= 32, "{together} together, {single} alone");
        }
    }

    proptest! {
        #[test]
        fn all_bad_ones_are_found_at_bounded_cost(
            mut bad in prop::collection::vec(prop::bool::weighted(0.05), 1..300), alone in 1usize..20, worst in any::<bool>(),
        ) {
            if worst {
                bad.fill(true);
            }
            let (found, together, single) = find(&bad, alone);
            prop_assert!(found == bad && together <= 4 * bad.len() && single <= bad.len());
        }
    }
}
