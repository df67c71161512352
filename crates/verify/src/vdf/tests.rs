use super::kernel::Backend;
use super::ring::{InRing, Ring};
use super::*;
use crate::RuleCode;
use proptest::prelude::*;
use std::ops::ControlFlow;

/// Plain arithmetic on numbers of up to 64 bits.
fn power_of_two_power(base: u128, squarings: u64, modulus: u128) -> u128 {
    (0..squarings).fold(base % modulus, |number, _| number * number % modulus)
}

/// A modulus of this many 64-bit words, from a seed.
fn modulus(words: usize, seed: u8) -> Modulus {
    modulus_on(Backend::all()[0], words, seed)
}

fn modulus_on(backend: Backend, words: usize, seed: u8) -> Modulus {
    let mut bytes: Vec<u8> = (0..words * 8).map(|at| (at as u8).wrapping_mul(167).wrapping_add(seed)).collect();
    bytes[0] |= 0x80;
    bytes[words * 8 - 1] |= 1;
    Modulus::on(backend, modulus::words(&bytes, words), bytes.len())
}

fn delay(modulus: Modulus, iterations: u64) -> Delay {
    Delay { input: modulus.hash(b"input"), modulus, iterations }
}

fn keep_on(_: DelayCheckpoint) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn the_example_of_the_puzzle_lcs35() {
    // R. Rivest, Description of the LCS35 Time Capsule Crypto-Puzzle: n = 11 * 23, t = 10, w = 71.
    let puzzle = TimeLock::new(Modulus::new(&[253]).unwrap());
    let steps = [(1, 4), (2, 16), (3, 3), (4, 9), (5, 81), (6, 236), (7, 36), (8, 31), (9, 202), (10, 71)];
    for (iterations, expected) in steps {
        let solved = puzzle.solve(puzzle.start(), iterations, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(solved, Some(vec![expected]));
    }
}

#[test]
fn the_check_prime_is_one() {
    let prime = (1_u64 << 50) - 27;
    assert!((3..1 << 25).step_by(2).all(|divisor| !prime.is_multiple_of(divisor)));
}

#[test]
fn a_time_lock_goes_on_from_where_it_was_and_notices_mistakes() {
    let puzzle = TimeLock::new(Modulus::from_decimal(RSA_1024).unwrap());
    let go_on = |_: &_| ControlFlow::Continue(());
    let whole = puzzle.solve(puzzle.start(), 3000, go_on).unwrap().unwrap();
    let mut saved = Vec::new();
    let half = puzzle.solve(puzzle.start(), 1000, |state| {
        saved = puzzle.save(state);
        ControlFlow::Continue(())
    });
    assert!(half.unwrap().is_some());
    let state = puzzle.restore(&saved).unwrap();
    assert_eq!((state.at, puzzle.solve(state.clone(), 3000, go_on)), (1000, Ok(Some(whole))));
    for damaged in [7, 20, saved.len() - 1] {
        let mut bytes = saved.clone();
        bytes[damaged] ^= 1;
        assert_eq!(puzzle.restore(&bytes), None, "byte {damaged}");
    }
    assert_eq!(puzzle.restore(&saved[1..]), None);
}

#[test]
fn moduli() {
    assert_eq!(Modulus::new(&[]), Err(NumberError::NotAModulus));
    assert_eq!(Modulus::new(&[0, 1]), Err(NumberError::NotAModulus));
    assert_eq!(Modulus::new(&[8]), Err(NumberError::NotAModulus));
    assert_eq!(Modulus::new(&[0xff; 513]), Err(NumberError::TooLong));
    assert_eq!(Modulus::from_decimal("25x"), Err(NumberError::NotAModulus));
    assert_eq!(Modulus::from_decimal(&"9".repeat(1234)), Err(NumberError::TooLong));
    assert_eq!(Modulus::from_decimal("253"), Modulus::new(&[0, 253]));
    let modulus = Modulus::new(&[1, 3]).unwrap();
    for (bytes, expected) in [(vec![1], false), (vec![1, 2], true), (vec![1, 3], false), (vec![0, 1, 2], false)] {
        assert_eq!(modulus.number(&bytes).is_ok(), expected, "{bytes:?}");
    }
    assert_eq!(
        (Modulus::from_decimal(RSA_1024).unwrap().length(), Modulus::from_decimal(RSA_2048).unwrap().length()),
        (128, 256)
    );
}

/// Numbers at the edges, and any.
fn edges(modulus: &Modulus) -> Vec<Number> {
    let one = modulus.one();
    let mut edges =
        vec![modulus.small(0), one.clone(), modulus.negate(&one), modulus.small(2), modulus.small(u64::MAX)];
    edges.extend([b"a", b"b"].map(|message| modulus.hash(message)));
    edges
}

/// Checks that products in a ring equal those of words.
struct InWords<'a>(&'a Modulus, &'a [Number]);

impl InRing for InWords<'_> {
    type Output = ();

    fn run<R: Ring>(self, ring: &R) {
        let Self(modulus, numbers) = self;
        for a in numbers {
            assert_eq!(ring.leave(&ring.enter(&a.0)), a.0);
            assert_eq!(modulus.bytes(&ring.plain(&ring.enter(&a.0))), modulus.write(a));
            for b in numbers {
                let (mut product, mut expected) = (ring.enter(&a.0), a.clone());
                for times in [0, 1, 5] {
                    ring.multiply(&mut product, &ring.enter(&b.0));
                    ring.square(&mut product, times);
                    modulus.multiply(&mut expected, b);
                    (0..times).for_each(|_| modulus.square(&mut expected, 1));
                    assert_eq!(ring.leave(&product), expected.0);
                }
            }
        }
    }
}

#[test]
fn many_products_are_what_one_after_the_other_is() {
    for words in [1, 4, 15, 16, 17, 31, 32, 33, 36, 64] {
        for backend in Backend::all() {
            let modulus = modulus_on(backend, words, 0x55);
            modulus.many(InWords(&modulus, &edges(&modulus)));
        }
    }
}

#[test]
fn the_laws_of_arithmetic_hold_at_the_edges() {
    for words in [1, 2, 3, 4, 5, 16, 31, 32, 33, 64] {
        for (backend, seed) in
            Backend::all().into_iter().flat_map(|backend| [(backend, 1), (backend, 0x55), (backend, 0xff)])
        {
            let modulus = modulus_on(backend, words, seed);
            let product = |a: &Number, b: &Number| {
                let mut product = a.clone();
                modulus.multiply(&mut product, b);
                product
            };
            let sum = |a: &Number, b: &Number| {
                let mut sum = a.clone();
                modulus.add(&mut sum, b);
                sum
            };
            for a in &edges(&modulus) {
                assert_eq!(modulus.number(&modulus.write(a)).as_ref(), Ok(a));
                assert_eq!(product(a, &modulus.one()), *a);
                assert_eq!(sum(a, &modulus.negate(a)), modulus.small(0));
                let mut square = a.clone();
                modulus.square(&mut square, 1);
                assert_eq!(square, product(a, a), "{words} words");
                assert_eq!(modulus.power(a, &[5]), product(&product(&square, &square), a));
                for b in &edges(&modulus) {
                    assert_eq!(product(a, b), product(b, a));
                    let both = sum(a, b);
                    let (two, mixed) = (modulus.small(2), product(a, b));
                    let squares = sum(&product(a, a), &product(b, b));
                    assert_eq!(product(&both, &both), sum(&squares, &product(&two, &mixed)), "{words} words");
                }
            }
        }
    }
}

#[test]
fn squarings_in_a_row_are_products() {
    for words in [4, 13, 16, 19, 31, 32, 33, 38] {
        let (mut least, most) = (vec![0; words], vec![u64::MAX; words]);
        (least[0], least[words - 1]) = (1, 1 << 63);
        for backend in Backend::all() {
            let extreme = |modulus: &[u64]| Modulus::on(backend, modulus.into(), 8 * words);
            let moduli =
                [extreme(&least), extreme(&most), modulus_on(backend, words, 1), modulus_on(backend, words, 0x55)];
            for modulus in &moduli {
                for a in edges(modulus) {
                    let mut expected = a.clone();
                    for times in 1..=20 {
                        let factor = expected.clone();
                        modulus.multiply(&mut expected, &factor);
                        let mut squared = a.clone();
                        modulus.square(&mut squared, times);
                        assert_eq!(squared, expected, "{words} words on {backend:?}, {times} times");
                    }
                }
            }
        }
    }
}

#[test]
fn every_backend_evaluates_the_same_and_verifies_it() {
    let iterations = if crate::lanes::is_emulated() { 50 } else { 1000 };
    for digits in [RSA_1024, RSA_2048] {
        let bytes = Modulus::from_decimal(digits).unwrap().to_bytes();
        let results = Backend::all().into_iter().map(|backend| {
            let modulus = Modulus::on(backend, modulus::words(&bytes, bytes.len() / 8), bytes.len());
            let evaluated = delay(modulus, iterations).evaluate(&[], keep_on).unwrap().unwrap();
            assert_eq!(evaluated.verify(), Ok(()), "on {backend:?}");
            evaluated.to_bytes()
        });
        let results: Vec<_> = results.collect();
        assert!(results.iter().all(|result| *result == results[0]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if crate::lanes::is_emulated() { 4 } else { 64 }))]

    #[test]
    fn chains_are_the_same_on_every_backend(
        bits in prop_oneof![900_usize..1200, 1860_usize..2300],
        random in prop::collection::vec(prop_oneof![Just(0), Just(0xff), any::<u8>()], 600),
        times in 8_u64..40,
    ) {
        // Many words are all zeros or all ones, so that carries travel far.
        let length = bits.div_ceil(8);
        let mut bytes = random[..length].to_vec();
        bytes[0] &= 0xff >> (length * 8 - bits);
        bytes[0] |= 1 << ((bits - 1) % 8);
        bytes[length - 1] |= 1;
        let words = modulus::words(&bytes, length.div_ceil(8));
        let results = Backend::all().into_iter().map(|backend| {
            let modulus = Modulus::on(backend, words.clone(), length);
            let mut number = modulus.reduce(&modulus::words(&random[600 - length..], length.div_ceil(8)));
            modulus.square(&mut number, times);
            modulus.write(&number)
        });
        let results: Vec<_> = results.collect();
        prop_assert!(results.iter().all(|result| *result == results[0]));
    }
}

proptest! {
    #[test]
    fn small_numbers_are_as_plain_arithmetic_says(n in 3_u64.., a: u64, squarings in 0_u64..50) {
        let n = n | 1;
        let modulus = Modulus::new(&n.to_be_bytes()).unwrap();
        let mut number = modulus.small(a);
        modulus.square(&mut number, squarings);
        let expected = power_of_two_power(a.into(), squarings, n.into()) as u64;
        prop_assert!(modulus.write(&number).iter().fold(0, |all, byte| all << 8 | u64::from(*byte)) == expected);
    }

    #[test]
    fn what_is_no_result_is_refused(bytes: Vec<u8>, cut in 0_usize..200) {
        prop_assert!(Evaluated::from_bytes(&bytes).is_err());
        let whole = delay(modulus(2, 7), 5).evaluate(&[], keep_on).unwrap().unwrap().to_bytes();
        prop_assert!(cut >= whole.len() || Evaluated::from_bytes(&whole[..cut]).is_err());
    }
}

#[test]
fn results_verify_and_nothing_else_does() {
    for (words, iterations) in [(2, 1), (4, 2), (16, 63), (16, 64), (16, 1000), (32, 4097), (4, 70_000), (4, 600_000)] {
        let delay = delay(modulus(words, 9), iterations);
        let evaluated = delay.evaluate(&[], keep_on).unwrap().unwrap();
        let mut expected = delay.input.clone();
        delay.modulus.square(&mut expected, iterations);
        let negated = delay.modulus.write(&delay.modulus.negate(&expected));
        let expected = delay.modulus.write(&expected);
        assert_eq!(evaluated.output(), expected.min(negated));
        let bytes = evaluated.to_bytes();
        assert_eq!(bytes.len(), Evaluated::bytes(delay.modulus.length(), iterations));
        assert_eq!(Evaluated::from_bytes(&bytes).as_ref(), Ok(&evaluated));
        let from = 10 + delay.modulus.length();
        for damaged in (from..bytes.len()).step_by(bytes.len() / 20 + 1) {
            let mut bytes = bytes.clone();
            bytes[damaged] ^= 1;
            let is_accepted = Evaluated::from_bytes(&bytes).is_ok_and(|evaluated| evaluated.verify().is_ok());
            assert!(!is_accepted, "{iterations} squarings, byte {damaged}");
        }
    }
}

/// The proofs that `vectors/generate.py` made from docs/delay.md.
#[test]
fn golden_vectors() {
    let vectors = include_str!("../../../../vectors/delay/proofs.txt");
    let records = vectors.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let modulus = Modulus::from_decimal(RSA_1024).unwrap();
    let delay = Delay { input: modulus.hash(b"message"), modulus, iterations: 70_000 };
    let mut count = 0;
    for record in records {
        let [name, mask, proof] = record.split(' ').collect::<Vec<_>>()[..] else { panic!("{record}") };
        let byte = |at| u8::from_str_radix(&proof[at..at + 2], 16).unwrap();
        let proof = Vec::from_iter((0..proof.len()).step_by(2).map(byte));
        let verdict = Evaluated::from_bytes(&proof)
            .map_err(|error| error.code())
            .and_then(|evaluated| evaluated.verify().map_err(|rule| rule.code()));
        assert_eq!(verdict.err().map_or(0, RuleCode::mask), mask.parse::<u64>().unwrap(), "{name}");
        if name == "good" {
            assert_eq!(delay.evaluate(&[], keep_on).unwrap().unwrap().to_bytes(), proof);
        }
        count += 1;
    }
    assert_eq!(count, 18);
}

#[test]
fn the_negation_of_a_result_is_refused() {
    let delay = delay(modulus(4, 3), 100);
    let length = delay.modulus.length();
    let mut bytes = delay.evaluate(&[], keep_on).unwrap().unwrap().to_bytes();
    let output = bytes.len() - 2 * length..bytes.len() - length;
    let number = delay.modulus.number(&bytes[output.clone()]).unwrap();
    bytes[output].copy_from_slice(&delay.modulus.write(&delay.modulus.negate(&number)));
    assert_eq!(Evaluated::from_bytes(&bytes).unwrap().verify(), Err(Invalid::NotCanonical(0)));
}

#[test]
fn trivial_inputs_are_refused() {
    let modulus = modulus(4, 3);
    let one = modulus.one();
    for input in [modulus.small(0), one.clone(), modulus.negate(&one)] {
        let delay = Delay { modulus: modulus.clone(), input, iterations: 10 };
        assert_eq!(delay.evaluate(&[], keep_on), Err(EvaluateError::Trivial));
    }
    assert_eq!(delay(modulus, 0).evaluate(&[], keep_on), Err(EvaluateError::Trivial));
}

#[test]
fn an_evaluation_goes_on_after_any_crash() {
    let delay = delay(modulus(4, 5), 70_000);
    let mut all = Vec::new();
    let whole = delay.evaluate(&[], |kept| {
        all.push(kept);
        ControlFlow::Continue(())
    });
    let whole = whole.unwrap().unwrap();
    for crash in (0..all.len()).step_by(all.len() / 40 + 1).chain([all.len() - 1, all.len()]) {
        let mut kept = Vec::new();
        let broken_off = delay.evaluate(&[], |new| {
            let is_over = kept.len() == crash;
            if !is_over {
                kept.push(new);
            }
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(broken_off.unwrap().is_none(), crash < all.len());
        assert_eq!(kept, all[..crash]);
        let mut later = kept.clone();
        let evaluated = delay.evaluate(&kept, |new| {
            later.push(new);
            ControlFlow::Continue(())
        });
        assert!(evaluated.unwrap().unwrap() == whole && later == all, "crash at {crash}");
    }
    // Numbers of another evaluation, and damaged ones.
    let mut foreign = all[..10].to_vec();
    foreign.remove(3);
    assert_eq!(delay.evaluate(&foreign, keep_on), Err(EvaluateError::Foreign { index: 3, at: all[4].at }));
    let mut damaged = all[..10].to_vec();
    damaged[5].number[10] ^= 1;
    assert_eq!(delay.evaluate(&damaged, keep_on), Err(EvaluateError::Mistake));
}
