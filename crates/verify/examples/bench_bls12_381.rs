//! Microseconds of CPU time on BLS12-381: blst, called directly, against the engine, alternating in one run. The
//! engine's portable backend is blst as well, so a ratio of one means that the layers above it cost nothing; more is
//! the gain from batching.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "common/blst_groth16.rs"]
mod blst_groth16;
mod common;

use std::hint::black_box;
use std::iter::successors;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use blst::min_pk::{PublicKey, Signature};
use blst::{BLST_ERROR, Pairing, blst_fp, blst_fp12, blst_p1, blst_p1_affine, blst_p2, blst_p2_affine};
use common::{median, thread_time};
use figures::Figure;
use turnpike_verify::BatchVerifier;
use turnpike_verify::bls12_381::groth16::{self, Claim, VerifyingKey};
use turnpike_verify::bls12_381::signature::{PROOF_OF_POSSESSION, SecretKey, Signed, Verifier};
use turnpike_verify::bls12_381::{
    self, Fp, Fp12, G1, G2, Group, Point, Scalar, is_product_one, multiply_and_add, multiply_each, pairing,
};
use turnpike_verify::bls12_381::{pairings as pairings_of, products};

const ROUNDS: usize = 5;
const OUTPUTS: &[u8] = include_bytes!("../../../vectors/bls12_381/sapling/outputs.bin");
const RECORD: usize = 192 + 5 * 32;

/// Prints the medians of both per item of `count`, and their ratio.
fn compare<T, O>(what: &str, peer: &str, count: usize, mut theirs: impl FnMut() -> T, mut ours: impl FnMut() -> O) {
    let (mut their_times, mut our_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = thread_time();
        black_box(theirs());
        let middle = thread_time();
        black_box(ours());
        their_times.push((middle - start) / count as f64);
        our_times.push((thread_time() - middle) / count as f64);
    }
    let (theirs, ours) = (median(their_times), median(our_times));
    println!("{what:<44} {peer:<28} {theirs:>12.3} us, engine {ours:>12.3} us, {:.2}x", theirs / ours);
    Figure { name: what, value: ours, unit: "us", peer: Some((peer, theirs)) }.record();
}

/// Prints the median per item of `count`, for work without a peer.
fn measure<O>(what: &str, count: usize, mut ours: impl FnMut() -> O) {
    let times = (0..ROUNDS).map(|_| {
        let start = thread_time();
        black_box(ours());
        (thread_time() - start) / count as f64
    });
    let median = median(times.collect::<Vec<_>>());
    println!("{what:<44} {median:>12.3} us");
    Figure { name: what, value: median, unit: "us", peer: None }.record();
}

fn p1(point: &Point<G1>) -> blst_p1_affine {
    let mut affine = blst_p1_affine::default();
    // SAFETY: the call reads 96 bytes and writes a point.
    let error = unsafe { blst::blst_p1_deserialize(&mut affine, point.uncompressed().as_ptr()) };
    assert_eq!(error, BLST_ERROR::BLST_SUCCESS);
    affine
}

fn p2(point: &Point<G2>) -> blst_p2_affine {
    let mut affine = blst_p2_affine::default();
    // SAFETY: the call reads 192 bytes and writes a point.
    let error = unsafe { blst::blst_p2_deserialize(&mut affine, point.uncompressed().as_ptr()) };
    assert_eq!(error, BLST_ERROR::BLST_SUCCESS);
    affine
}

fn pairings() {
    let (p, q) = (Point::<G1>::generator(), Point::<G2>::generator());
    let (left, right) = (p1(&p), p2(&q));
    let theirs = || blst_fp12::miller_loop(&right, &left).final_exp();
    compare("pairing", "blst", 1, theirs, || pairing(&p, &q));
    let pairs = vec![(p, q); 64];
    let theirs = || {
        pairs.iter().for_each(|_| {
            black_box(blst_fp12::miller_loop(&right, &left).final_exp());
        })
    };
    compare("64 pairings, each", "blst", 64, theirs, || pairings_of(&pairs));
    let pairs = vec![(p, q); 16];
    let theirs = || {
        let product = (1..16)
            .fold(blst_fp12::miller_loop(&right, &left), |product, _| product * blst_fp12::miller_loop(&right, &left));
        black_box(product.final_exp());
    };
    compare("product of 16 pairings, each", "blst, loop by loop", 16, theirs, || {
        black_box(is_product_one(&pairs));
    });
}

/// Claims of real proofs, repeated.
fn records(count: usize) -> Vec<&'static [u8]> {
    OUTPUTS.chunks(RECORD).cycle().take(count).collect()
}

/// The engine, one proof after the other.
fn one_by_one(records: &[&[u8]]) {
    let key = VerifyingKey::sapling_output();
    for record in records {
        let claim = Claim::parse(&record[..192], &record[192..]).unwrap();
        assert_eq!(groth16::verify(key, &claim), Ok(()));
    }
}

fn groth16_batches() {
    let key = VerifyingKey::sapling_output();
    let their_key = blst_groth16::Key::parse(include_bytes!("../src/bls12_381/groth16/keys/sapling-output.vk"));
    let split = |records: &[&'static [u8]]| Vec::from_iter(records.iter().map(|record| record.split_at(192)));
    for count in [1, 16, 64, 256] {
        let records = records(count);
        let ours = || {
            let mut verifier = groth16::Verifier::new(key);
            for record in Claim::parse_each(&split(&records)) {
                verifier.push(record.unwrap());
            }
            assert_eq!(verifier.verify_all(), Ok(()));
        };
        let what = format!("Groth16 with parsing, {count} at once, each");
        compare(&what, "blst, same combination", count, || assert!(their_key.all_hold(&records)), ours);
        compare(&what, "engine, one by one", count, || one_by_one(&records), ours);
    }
    let records = records(256);
    measure("of which parsing, each", 256, || {
        assert!(Claim::parse_each(&split(&records)).iter().all(Result::is_ok));
    });
}

fn signatures() {
    const COUNT: usize = 128;
    for same in [false, true] {
        let items: Vec<_> = (0..COUNT)
            .map(|number| {
                let key = SecretKey::parse(&[1 + (number % 100) as u8; 32]).unwrap();
                let message = [if same { 0 } else { number as u8 }; 32];
                (message, key.sign(&message, PROOF_OF_POSSESSION).bytes(), key.public().bytes())
            })
            .collect();
        let theirs = || {
            let mut pairing = Pairing::new(true, PROOF_OF_POSSESSION);
            for (number, (message, signature, key)) in items.iter().enumerate() {
                let signature = Signature::from_bytes(signature).unwrap();
                let key = PublicKey::from_bytes(key).unwrap();
                key.validate().unwrap();
                let (key, signature): (&blst_p1_affine, &blst_p2_affine) = ((&key).into(), (&signature).into());
                let scalar = [[number as u8 + 1; 16], [0x5a; 16]].concat();
                let error = pairing.mul_n_aggregate(key, false, signature, true, &scalar, 128, message, &[]);
                assert_eq!(error, BLST_ERROR::BLST_SUCCESS);
            }
            pairing.commit();
            assert!(pairing.finalverify(None));
        };
        let ours = || {
            let mut verifier = Verifier::default();
            let items = items.iter().map(|(message, signature, key)| (&message[..], &signature[..], &key[..]));
            for item in Signed::parse_each(&Vec::from_iter(items)) {
                verifier.push(item.unwrap());
            }
            assert_eq!(verifier.verify_all(), Ok(()));
        };
        let what =
            format!("BLS signatures, {COUNT} at once of {}, each", if same { "one message" } else { "different ones" });
        compare(&what, "blst, mul_n_aggregate", COUNT, theirs, ours);
    }
}

/// The work of blst's `mult` in one thread; `mult` itself starts a thread per processor.
macro_rules! their_sum {
    ($name:ident, $affine:ident, $sum:ident, $pippenger:ident, $scratch:ident) => {
        fn $name(points: &[$affine], scalars: &[u8]) -> $sum {
            assert_eq!(scalars.len(), 32 * points.len());
            let mut sum = $sum::default();
            let (points_at, scalars_at) = ([points.as_ptr(), std::ptr::null()], [scalars.as_ptr(), std::ptr::null()]);
            // SAFETY: the counts match the slices, and the scratch has the size that the call requires.
            unsafe {
                let mut scratch = vec![0_u64; blst::$scratch(points.len()).div_ceil(8)];
                let (points_at, scalars_at) = (points_at.as_ptr(), scalars_at.as_ptr());
                blst::$pippenger(&mut sum, points_at, points.len(), scalars_at, 255, scratch.as_mut_ptr());
            }
            sum
        }
    };
}

their_sum!(sum_in_g1, blst_p1_affine, blst_p1, blst_p1s_mult_pippenger, blst_p1s_mult_pippenger_scratch_sizeof);
their_sum!(sum_in_g2, blst_p2_affine, blst_p2, blst_p2s_mult_pippenger, blst_p2s_mult_pippenger_scratch_sizeof);

/// Sums of multiples of 2^bits points.
fn sums_of_multiples<G: Group, A, S>(
    sizes: &[u32],
    scalar: impl Fn(u64) -> Scalar,
    affine: impl Fn(&Point<G>) -> A,
    theirs: impl Fn(&[A], &[u8]) -> S,
) {
    let step = Point::<G>::generator().multiply(&scalar(5));
    for bits in sizes {
        let count = 1 << bits;
        let points = successors(Some(step), |point| Some(point.add(&step))).take(count);
        let points: Vec<Point<G>> = points.collect();
        let scalars: Vec<Scalar> = (0..count as u64).map(&scalar).collect();
        let their_points = Vec::from_iter(points.iter().map(&affine));
        let their_scalars = Vec::from_iter(scalars.iter().flat_map(Scalar::little_endian));
        let what = format!("sum of 2^{bits} multiples in {:?}", G::default());
        compare(&what, "blst", 1, || theirs(&their_points, &their_scalars), || multiply_and_add(&points, &scalars));
    }
}

fn sums() {
    let scalar = |number: u64| {
        Scalar::reduce(&std::array::from_fn(|at| {
            (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (at % 8 * 8)) as u8 ^ at as u8
        }))
    };
    sums_of_multiples(&[6, 8, 10, 14, 16, 18], scalar, p1, sum_in_g1);
    sums_of_multiples(&[6, 8, 10, 14, 16], scalar, p2, sum_in_g2);
    let factor = scalar(77);
    let (left, right) = (Point::<G1>::generator().multiply(&scalar(8)), Point::<G2>::generator().multiply(&scalar(3)));
    let theirs = || {
        let (mut point, mut result) = (blst_p1::default(), blst_p1::default());
        let mut affine = blst_p1_affine::default();
        // SAFETY: the calls write their first argument and read the others; the scalar has 32 bytes.
        unsafe {
            blst::blst_p1_from_affine(&mut point, &p1(&left));
            blst::blst_p1_mult(&mut result, &point, factor.little_endian().as_ptr(), 255);
            blst::blst_p1_to_affine(&mut affine, &result);
        }
        black_box(affine);
    };
    compare("multiple of a point of G1, affine", "blst", 1, theirs, || left.multiply(&factor));
    measure("multiple of a point of G2, affine", 1, || right.multiply(&factor));
    multiples(&left, scalar, p1, multiple_in_g1);
    multiples(&right, scalar, p2, multiple_in_g2);
}

macro_rules! their_multiple {
    ($name:ident, $affine:ident, $point:ident, $from_affine:ident, $multiply:ident, $to_affine:ident) => {
        fn $name(affine: &$affine, scalar: &[u8; 32]) -> $affine {
            let (mut point, mut multiple) = ($point::default(), $point::default());
            let mut result = $affine::default();
            // SAFETY: the calls write their first argument and read the others; the scalar has 32 bytes.
            unsafe {
                blst::$from_affine(&mut point, affine);
                blst::$multiply(&mut multiple, &point, scalar.as_ptr(), 255);
                blst::$to_affine(&mut result, &multiple);
            }
            result
        }
    };
}

their_multiple!(multiple_in_g1, blst_p1_affine, blst_p1, blst_p1_from_affine, blst_p1_mult, blst_p1_to_affine);
their_multiple!(multiple_in_g2, blst_p2_affine, blst_p2, blst_p2_from_affine, blst_p2_mult, blst_p2_to_affine);

/// Many multiples, each of a different point.
fn multiples<G: Group, A>(
    step: &Point<G>,
    scalar: impl Fn(u64) -> Scalar,
    affine: impl Fn(&Point<G>) -> A,
    theirs: impl Fn(&A, &[u8; 32]) -> A,
) {
    const COUNT: usize = 256;
    let points: Vec<_> = successors(Some(*step), |point| Some(point.add(step))).take(COUNT).collect();
    let scalars: Vec<_> = (0..COUNT as u64).map(scalar).collect();
    let their_points: Vec<_> = points.iter().map(affine).collect();
    let theirs = || {
        for (point, scalar) in their_points.iter().zip(&scalars) {
            black_box(theirs(point, &scalar.little_endian()));
        }
    };
    let what = format!("{COUNT} multiples in {:?}, each, affine", G::default());
    compare(&what, "blst", COUNT, theirs, || multiply_each(&points, &scalars));
}

/// Sums on all processors, in wall-clock time: blst's own threads, and one part of the points per thread of ours.
fn sums_on_all_processors() {
    let threads = available_parallelism().map_or(1, usize::from);
    let step = Point::<G1>::generator();
    for bits in [16, 18] {
        let count = 1 << bits;
        let points: Vec<_> = successors(Some(step), |point| Some(point.add(&step))).take(count).collect();
        let scalars: Vec<_> = (1..=count as u64).map(|number| Scalar::from(number).inverse()).collect();
        let their_points = blst::p1_affines::from(&their_jacobian(&points)[..]);
        let their_scalars = Vec::from_iter(scalars.iter().flat_map(Scalar::little_endian));
        let theirs = || {
            black_box(their_points.mult(&their_scalars, 255));
        };
        let part = count.div_ceil(threads);
        let ours = || {
            let parts = points.chunks(part).zip(scalars.chunks(part));
            let sums: Vec<_> = scope(|scope| {
                let threads: Vec<_> =
                    parts.map(|(points, scalars)| scope.spawn(|| multiply_and_add(points, scalars))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            black_box(Point::sum(&sums));
        };
        let clock = |work: &dyn Fn()| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        };
        let times: Vec<_> = (0..2 * ROUNDS + 1).map(|_| (clock(&theirs), clock(&ours))).collect();
        let (theirs, ours) = (median(times.iter().map(|times| times.0)), median(times.iter().map(|times| times.1)));
        println!(
            "sum of 2^{bits} multiples in G1, {threads} threads, by the clock: blst {theirs:.1} ms, engine {ours:.1} ms, {:.2}x",
            theirs / ours
        );
        let name = format!("sum of 2^{bits} multiples in G1, {threads} threads");
        Figure { name: &name, value: ours, unit: "ms", peer: Some(("blst", theirs)) }.record();
    }
}

fn their_jacobian(points: &[Point<G1>]) -> Vec<blst_p1> {
    let jacobian = |point: &Point<G1>| {
        let mut jacobian = blst_p1::default();
        // SAFETY: the call writes its first argument and reads the other.
        unsafe { blst::blst_p1_from_affine(&mut jacobian, &p1(point)) };
        jacobian
    };
    points.iter().map(jacobian).collect()
}

/// The rows of the FPGA's table other than pairings.
fn fields() {
    const COUNT: usize = 10_000;
    let repeat = |what: &str, mut work: Box<dyn FnMut()>| measure(what, COUNT, move || (0..COUNT).for_each(|_| work()));
    let mut fp = Fp::from(3);
    repeat("Fp multiplication", Box::new(move || fp = black_box(fp * fp)));
    let mut fp = Fp::from(3);
    repeat("Fp inversion", Box::new(move || fp = black_box(fp.inverse())));
    let mut fp12 = Fp12::new(std::array::from_fn(|at| Fp::from(at as u64 + 1)));
    repeat("Fp12 multiplication", Box::new(move || fp12 = black_box(fp12 * fp12)));
    let mut fp12 = Fp12::new(std::array::from_fn(|at| Fp::from(at as u64 + 1)));
    repeat("Fp12 inversion", Box::new(move || fp12 = black_box(fp12.inverse())));
    let pair = [(Point::<G1>::generator(), Point::<G2>::generator())];
    measure("Miller loop", 1, || bls12_381::miller_loop(&pair));
    let product = bls12_381::miller_loop(&pair);
    measure("final exponentiation", 1, || product.final_exponentiation());
    products_at_once(8, 10_000);
}

/// Products of many elements, each multiplied by itself `times` times.
fn products_at_once(elements: usize, times: usize) {
    let fps = Vec::from_iter((0..elements as u64).map(|number| Fp::from(number + 3)));
    let theirs = Vec::from_iter(fps.iter().map(|fp| {
        let mut element = blst_fp::default();
        // SAFETY: the call reads 48 bytes and writes an element.
        unsafe { blst::blst_fp_from_bendian(&mut element, fp.bytes().as_ptr()) };
        element
    }));
    let multiply = || {
        let mut products = theirs.clone();
        for _ in 0..times {
            for (product, element) in products.iter_mut().zip(&theirs) {
                // SAFETY: the call reads two elements and writes one, which may alias one of them.
                unsafe { blst::blst_fp_mul(product, product, element) };
            }
        }
        products
    };
    let count = elements * times;
    let what = format!("Fp multiplication, {elements} at once, each");
    compare(&what, "blst", count, multiply, || products::in_fp(&fps, times));
    let fp12s = Vec::from_iter(
        (0..elements as u64).map(|number| Fp12::new(std::array::from_fn(|at| Fp::from(number + at as u64 + 1)))),
    );
    let point = |number: u64| p1(&Point::<G1>::generator().multiply(&Scalar::from(number)));
    let right = p2(&Point::<G2>::generator());
    let theirs = Vec::from_iter((1..=elements as u64).map(|number| blst_fp12::miller_loop(&right, &point(number))));
    let multiply = || {
        let mut products = theirs.clone();
        for _ in 0..times / 100 {
            products.iter_mut().zip(&theirs).for_each(|(product, element)| *product *= *element);
        }
        products
    };
    let what = format!("Fp12 multiplication, {elements} at once, each");
    compare(&what, "blst", count / 100, multiply, || products::in_fp12(&fp12s, times / 100));
}

fn main() {
    let parts: [(&str, fn()); 6] = [
        ("fields", fields),
        ("pairings", pairings),
        ("groth16", groth16_batches),
        ("signatures", signatures),
        ("sums", sums),
        ("threads", sums_on_all_processors),
    ];
    let wanted = std::env::args().nth(1);
    for (_, measure) in parts.iter().filter(|(name, _)| wanted.as_deref().is_none_or(|wanted| wanted == *name)) {
        measure();
    }
}
