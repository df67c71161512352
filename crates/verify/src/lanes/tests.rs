use proptest::prelude::*;

use super::*;

/// Runs a check on every vector that this processor has.
macro_rules! on_all_vectors {
    ($check:ident($($argument:expr),*)) => {{
        // SAFETY: these need no special instructions.
        unsafe {
            Plain::start(|any| $check(any, $($argument),*))?;
            Model::start(|any| $check(any, $($argument),*))?;
        }
        #[cfg(target_arch = "x86_64")]
        if has_fma() {
            // SAFETY: the instructions are there.
            unsafe {
                Fma::start(|any| $check(any, $($argument),*))?;
                Pair::<Fma>::start(|any| $check(any, $($argument),*))?;
            }
        }
        #[cfg(target_arch = "x86_64")]
        if has_ifma() {
            // SAFETY: the instructions are there.
            unsafe { Ifma::start(|any| $check(any, $($argument),*))? };
        }
    }};
}

/// Numbers around those where doubles change their rounding, and others.
fn word() -> impl Strategy<Value = u64> {
    let near = (0u32..64, -2i64..=2).prop_map(|(bit, distance)| (1u64 << bit).wrapping_add_signed(distance));
    prop_oneof![any::<u64>(), near, Just(0), Just(LIMB)]
}

/// One for each lane of the widest vector.
fn words() -> impl Strategy<Value = [u64; 8]> {
    prop::array::uniform8(word())
}

fn each<V: Vector>(vector: V) -> Vec<u64> {
    let mut words = vec![0; V::LANES];
    vector.store(&mut words);
    words
}

fn check_products<V: Vector>(any: V, a: &[u64; 8], b: &[u64; 8], c: &[u64; 8]) -> Result<(), TestCaseError> {
    let [x, y, z] = [a, b, c].map(|words| any.with_each(|lane| words[lane]));
    let limb = any.with(LIMB);
    let zero = any.with(0).column();
    let [low, high] = V::add_product([zero, z.column()], (x & limb).factor(), (y & limb).factor());
    let twice = V::sum(V::twice(V::add_product([low, high], (x & limb).factor(), (y & limb).factor())[1]));
    let (low, high) = (each(V::sum(low)), each(V::sum(high)));
    let (exact_low, exact_high, twice) = (each(z.add_low(x, y)), each(z.add_high(x, y)), each(twice));
    for lane in 0..V::LANES {
        let product = wide(a[lane] & LIMB, b[lane] & LIMB);
        let (low, high) = (low[lane] as i64, high[lane].wrapping_sub(c[lane]));
        prop_assert!(V::LEAST_LOW <= low && low <= LIMB as i64 && high <= 1 << 52, "{low} {high}");
        prop_assert_eq!((u128::from(high) << 52).wrapping_add_signed(low.into()), product);
        prop_assert_eq!(exact_low[lane], c[lane].wrapping_add(product as u64 & LIMB));
        prop_assert_eq!(exact_high[lane], c[lane].wrapping_add((product >> 52) as u64));
        prop_assert_eq!(twice[lane], c[lane].wrapping_add(2 * high).wrapping_mul(2));
    }
    Ok(())
}

fn check_words<V: Vector>(any: V, a: &[u64; 8], b: &[u64; 8]) -> Result<(), TestCaseError> {
    let [x, y] = [a, b].map(|words| any.with_each(|lane| words[lane]));
    let lanes = |word: &dyn Fn(u64, u64) -> u64| Vec::from_iter((0..V::LANES).map(|lane| word(a[lane], b[lane])));
    prop_assert_eq!(each(x + y), lanes(&u64::wrapping_add));
    prop_assert_eq!(each(x - y), lanes(&u64::wrapping_sub));
    prop_assert_eq!(each(x & y), lanes(&|a, b| a & b));
    prop_assert_eq!(each(x | y), lanes(&|a, b| a | b));
    prop_assert_eq!(each(x.left::<12>()), lanes(&|a, _| a << 12));
    prop_assert_eq!(each(x.right::<52>()), lanes(&|a, _| a >> 52));
    prop_assert_eq!(each(x.right_signed::<52>()), lanes(&|a, _| (a as i64 >> 52) as u64));
    prop_assert_eq!(each(x.right_signed::<63>()), lanes(&|a, _| (a as i64 >> 63) as u64));
    let same = mask::<V>(|lane| a[lane] == b[lane]);
    prop_assert_eq!(x.equals(y), same);
    prop_assert_eq!(x.equals(x.or_if(0b0110_1001, y)), mask::<V>(|lane| 0b0110_1001 >> lane & 1 == 0) | same);
    Ok(())
}

fn check_rows<V: Vector>(any: V, a: &[u64; 8], b: &[u64; 8]) -> Result<(), TestCaseError> {
    let rows = Vec::from_iter((0..V::LANES).map(|lane| Row(std::array::from_fn(|i| a[lane].wrapping_add(b[i])))));
    let loaded = any.load_rows(|lane| &rows[lane]);
    for (i, word) in loaded.into_iter().enumerate() {
        prop_assert_eq!(each(word), Vec::from_iter((0..V::LANES).map(|lane| rows[lane].0[i])));
    }
    let mut stored = vec![Row::default(); V::LANES];
    V::store_rows(loaded, &mut stored);
    prop_assert_eq!(stored, rows);
    Ok(())
}

proptest! {
    #[test]
    fn products_are_exact(a in words(), b in words(), c in words()) {
        on_all_vectors!(check_products(&a, &b, &c));
    }

    #[test]
    fn words_are_those_of_each_lane(a in words(), b in words()) {
        on_all_vectors!(check_words(&a, &b));
        on_all_vectors!(check_words(&a, &a));
    }

    #[test]
    fn rows_come_back_as_they_were(a in words(), b in words()) {
        on_all_vectors!(check_rows(&a, &b));
    }
}
