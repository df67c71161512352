use proptest::prelude::*;
use secp256k1::{PublicKey, SECP256K1, SecretKey};

use super::field::{Element, Sum, invert, square_root};
use super::kernel::Kernel;
use super::multiple::Multiples;
use super::point::{Affine, Jacobian};
use super::scalar::{Half, Scalar};
use super::table::{Table, to_row};
use super::*;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Fma, Ifma};
use crate::lanes::{Mask, Model, Pair, Plain, Row, Vector, has_fma, has_ifma, is_emulated};

type Number = [u64; 4];

const PRIME: Number = [0xffff_fffe_ffff_fc2f, u64::MAX, u64::MAX, u64::MAX];
const ORDER: Number = [0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff];

/// a + b modulo m, for numbers below m: the plain model, with multiplication bit by bit.
fn add(a: Number, b: Number, m: Number) -> Number {
    let mut sum = [0; 4];
    let mut carry = 0;
    for i in 0..4 {
        let wide = u128::from(a[i]) + u128::from(b[i]) + carry;
        (sum[i], carry) = (wide as u64, wide >> 64);
    }
    if carry == 1 || sum.iter().rev().ge(m.iter().rev()) { subtract(sum, m) } else { sum }
}

/// a - b modulo 2^256.
fn subtract(a: Number, b: Number) -> Number {
    let mut difference = [0; 4];
    let mut borrow = 0;
    for i in 0..4 {
        let wide = i128::from(a[i]) - i128::from(b[i]) + borrow;
        (difference[i], borrow) = (wide as u64, wide >> 64);
    }
    difference
}

fn reduce(a: Number, m: Number) -> Number {
    if a.iter().rev().ge(m.iter().rev()) { subtract(a, m) } else { a }
}

fn multiply(a: Number, b: Number, m: Number) -> Number {
    let a = reduce(a, m);
    (0..256).rev().fold([0; 4], |product, bit| {
        let product = add(product, product, m);
        if b[bit / 64] >> (bit % 64) & 1 == 1 { add(product, a, m) } else { product }
    })
}

/// Numbers around the special values of the field, its limbs and the group, and others.
fn number() -> impl Strategy<Value = Number> {
    let near = |number: Number| {
        (0u64..4, any::<bool>()).prop_map(move |(distance, below)| {
            let distance = [distance, 0, 0, 0];
            if below { subtract(number, distance) } else { subtract(number, subtract([0; 4], distance)) }
        })
    };
    let limbs = prop::array::uniform4(prop::sample::select(vec![0, 1, u64::MAX, 1 << 52, (1 << 52) - 1, 1 << 63]));
    prop_oneof![
        prop::array::uniform4(any::<u64>()),
        near([0; 4]),
        near(PRIME),
        near(ORDER),
        near([0, 0, 1, 0]),
        near([0, 0, 0, 1 << 63]),
        limbs,
    ]
}

/// One for each lane of the widest vector.
fn numbers() -> impl Strategy<Value = [Number; 16]> {
    prop::array::uniform16(number())
}

/// Runs a check on every vector that this processor has, and on the model of those that it lacks.
macro_rules! on_all_vectors {
    ($check:ident($($argument:expr),*)) => {{
        // An emulated processor only tests what the host lacks.
        if !is_emulated() {
            // SAFETY: a plain word needs no special instructions.
            unsafe { Plain::start(|any| $check(any, $($argument),*))? };
        }
        #[cfg(target_arch = "x86_64")]
        if has_fma() {
            // SAFETY: the processor has the instructions.
            unsafe {
                Fma::start(|any| $check(any, $($argument),*))?;
                Pair::<Fma>::start(|any| $check(any, $($argument),*))?;
            }
        }
        if has_ifma() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            unsafe {
                Ifma::start(|any| $check(any, $($argument),*))?;
                Pair::<Ifma>::start(|any| $check(any, $($argument),*))?;
            }
        } else {
            // SAFETY: a model needs no special instructions.
            unsafe {
                Model::start(|any| $check(any, $($argument),*))?;
                Pair::<Model>::start(|any| $check(any, $($argument),*))?;
            }
        }
    }};
}

/// This many cases; an eighth of them where `scripts/test-avx512` emulates the processor, which is some hundred times
/// slower.
fn cases(many: u32) -> ProptestConfig {
    ProptestConfig::with_cases(if is_emulated() { many.div_ceil(8) } else { many })
}

fn check_field<V: Kernel>(any: V, a: &[Number; 16], b: &[Number; 16]) -> Result<(), TestCaseError> {
    let (x, y) = (Element::load(any, |lane| a[lane]), Element::load(any, |lane| b[lane]));
    let lane = |f: &dyn Fn(Number, Number) -> Number| -> Vec<Number> {
        (0..V::LANES).map(|lane| f(reduce(a[lane], PRIME), reduce(b[lane], PRIME))).collect()
    };
    prop_assert_eq!(x.numbers(), lane(&|a, _| a));
    prop_assert_eq!(x.multiply(&y).numbers(), lane(&|a, b| multiply(a, b, PRIME)));
    prop_assert_eq!(x.square().numbers(), lane(&|a, _| multiply(a, a, PRIME)));
    prop_assert_eq!(x.negative().numbers(), lane(&|a, _| reduce(subtract(PRIME, a), PRIME)));
    prop_assert_eq!(x.times::<0>().plus(&y).tight().numbers(), lane(&|a, b| add(a, b, PRIME)));
    let less = |a, b| add(a, reduce(subtract(PRIME, b), PRIME), PRIME);
    prop_assert_eq!(x.times::<0>().minus::<0>(&y).tight().numbers(), lane(&less));
    let eight = |a| multiply(a, [8, 0, 0, 0], PRIME);
    prop_assert_eq!(x.times::<3>().minus::<3>(&y).tight().numbers(), lane(&|a, b| less(eight(a), eight(b))));
    let less_b = x.multiply_plus(&y, Sum::zero(any).minus::<0>(&y));
    prop_assert_eq!(less_b.numbers(), lane(&|a, b| less(multiply(a, b, PRIME), b)));
    let less_eight_b = x.square_plus(Sum::zero(any).minus::<3>(&y));
    prop_assert_eq!(less_eight_b.numbers(), lane(&|a, b| less(multiply(a, a, PRIME), eight(b))));
    let signed = |at: usize, a| if at % 2 == 1 { less([0; 4], a) } else { a };
    let expected: Vec<Number> = (0..V::LANES).map(|at| signed(at, reduce(a[at], PRIME))).collect();
    prop_assert_eq!(x.negative_if(0xaaaa).tight().numbers(), expected);
    // On numbers that products and sums return, not only on those loaded.
    let (product, sum) = (x.multiply(&y), x.times::<1>().plus(&y).tight());
    let twice = |a, b| add(add(a, a, PRIME), b, PRIME);
    let expected = lane(&|a, b| multiply(multiply(a, b, PRIME), twice(a, b), PRIME));
    prop_assert_eq!(product.multiply(&sum).numbers(), expected);
    for i in 0..V::LANES {
        let a = reduce(a[i], PRIME);
        prop_assert_eq!(x.is_zero() >> i & 1 == 1, a == [0; 4]);
        prop_assert_eq!(x.is_odd() >> i & 1 == 1, a[0] & 1 == 1);
    }
    let all = ((1u32 << V::LANES) - 1) as Mask;
    prop_assert_eq!(x.times::<0>().minus::<0>(&x).tight().is_zero(), all);
    let root = square_root(&x.square());
    let is_root = root.times::<0>().minus::<0>(&x).tight().is_zero() | root.times::<0>().plus(&x).tight().is_zero();
    prop_assert_eq!(is_root, all);
    let one = lane(&|a, _| if a == [0; 4] { a } else { [1, 0, 0, 0] });
    prop_assert_eq!(invert(&x).multiply(&x).numbers(), one);
    Ok(())
}

/// A point made by libsecp256k1.
fn multiple_of_generator(number: &Number) -> Option<PublicKey> {
    Some(SecretKey::from_byte_array(scalar::to_bytes(number)).ok()?.public_key(SECP256K1))
}

/// Doubling, and additions of points that are different, equal, and each other's negative.
fn check_points<V: Kernel>(any: V, a: &[Number; 16], b: &[Number; 16]) -> Result<(), TestCaseError> {
    let point = |numbers: &[Number; 16], lane: usize| {
        let number = scalar::reduce(numbers[lane]);
        multiple_of_generator(if number == [0; 4] { &[1, 0, 0, 0] } else { &number }).unwrap()
    };
    let p: Vec<PublicKey> = (0..V::LANES).map(|lane| point(a, lane)).collect();
    let mut q: Vec<PublicKey> = (0..V::LANES).map(|lane| point(b, lane)).collect();
    q[0] = p[0];
    q[V::LANES / 2] = p[V::LANES / 2].negate(SECP256K1);
    let rows = |points: &[PublicKey]| -> Vec<Row> { points.iter().map(|point| to_row(point).unwrap()).collect() };
    let (p_rows, q_rows) = (rows(&p), rows(&q));
    let load = |rows: &[Row]| Affine::load(any, |lane| &rows[lane]);
    let (x, y) = (load(&p_rows), load(&q_rows));
    // With a z other than 1: as the difference of three times and twice itself.
    let scaled = |point: &Affine<V>| {
        let twice = point.to_jacobian().double();
        twice.add_affine(point).0.add(&Jacobian { y: twice.y.negative(), ..twice })
    };
    let store = |point: &Jacobian<V>| {
        let mut rows = vec![Row::default(); V::LANES];
        let affine = point.to_affine();
        Element::store_rows(&affine.x, &affine.y, &mut rows);
        rows.into_iter().map(|row| row.0).collect::<Vec<_>>()
    };
    let row = |point: PublicKey| to_row(&point).unwrap().0;
    let twice: Vec<_> = p.iter().map(|p| row(p.combine(p).unwrap())).collect();
    prop_assert_eq!(store(&x.to_jacobian().double()), twice.clone());
    prop_assert_eq!(store(&scaled(&x).double()), twice);
    for sum in [x.to_jacobian().add_affine(&y).0, scaled(&x).add_affine(&y).0, scaled(&x).add(&scaled(&y))] {
        let sums = store(&sum);
        for lane in 0..V::LANES {
            // The formulas cannot add a point to itself or to its negative, and say so.
            if p[lane].serialize()[1..] == q[lane].serialize()[1..] {
                prop_assert_eq!(sum.z.is_zero() >> lane & 1, 1);
                prop_assert_eq!(sum.add(&x.to_jacobian()).double().z.is_zero() >> lane & 1, 1, "it stays so");
            } else {
                prop_assert_eq!(sums[lane], row(p[lane].combine(&q[lane]).unwrap()));
            }
        }
    }
    Ok(())
}

/// The sum of multiples of points, each of them G times its second number, and of G itself: zero for the right multiple
/// of G.
fn check_multiples<V: Kernel>(any: V, terms: &[(Number, Number)]) -> Result<(), TestCaseError> {
    let mut total = [0; 4];
    let mut xs = Vec::new();
    let mut numbers = Vec::new();
    for (number, point) in terms {
        let point = scalar::reduce(*point);
        let Some(key) = multiple_of_generator(&point) else { continue };
        let number = scalar::reduce(*number);
        let odd = key.serialize()[0] == 3;
        xs.push(key.x_only_public_key().0.serialize());
        numbers.push(number);
        let part = scalar::product(&number, &point);
        total = scalar::add(&total, &if odd { scalar::negate(&part) } else { part });
    }
    // SAFETY: a plain word needs no special instructions.
    let points = unsafe { Plain::start(|any| schnorr::points(any, &xs)) };
    let points: Vec<_> = points.into_iter().map(Option::unwrap).collect();
    for off in [0, 1] {
        let mut sum = Multiples::default();
        for (point, number) in points.iter().zip(&numbers) {
            sum.push(point, scalar::split(number));
        }
        sum.push_generator(&scalar::negate(&scalar::add(&total, &scalar::from_u64(off))));
        prop_assert_eq!(sum.sum_is_zero(any), off == 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_field_agrees_with_the_plain_model(a in numbers(), b in numbers()) {
        on_all_vectors!(check_field(&a, &b));
    }

    #[test]
    fn points_agree_with_libsecp256k1(a in numbers(), b in numbers()) {
        on_all_vectors!(check_points(&a, &b));
    }
}

// Unrelated points: with others, a good sum may be reported as not zero.
proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn sums_of_multiples_agree_with_libsecp256k1(
        terms in prop_oneof![
            prop::collection::vec((number(), prop::array::uniform4(any::<u64>())), 0..4),
            prop::collection::vec((number(), prop::array::uniform4(any::<u64>())), 90..100),
        ],
    ) {
        on_all_vectors!(check_multiples(&terms));
    }
}

/// The same point again and again: its sums with itself are doubled; sums with its negative are at least not reported
/// as correct.
#[test]
fn equal_points_are_added_up() -> Result<(), TestCaseError> {
    let terms: Vec<(Number, Number)> = (1..40).map(|number| ([number, 0, 0, 0], [7, 0, 0, 0])).collect();
    for terms in [&terms[..1], &terms[..2], &terms[..3]] {
        on_all_vectors!(check_multiples(terms));
    }
    let same = [([1, 0, 0, 0], [7, 0, 0, 0]); 32];
    on_all_vectors!(check_multiples(&same));
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn scalars_agree_with_the_plain_model(a in number(), b in number()) {
        let (a, b) = (scalar::reduce(a), scalar::reduce(b));
        prop_assert_eq!(a, reduce(a, ORDER));
        // Montgomery's product times 2^256 is the product.
        let product = multiply(scalar::multiply(&a, &b), subtract([0; 4], ORDER), ORDER);
        prop_assert_eq!(product, multiply(a, b, ORDER));
        prop_assert_eq!(scalar::product(&a, &b), product);
        prop_assert_eq!(scalar::add(&a, &b), add(a, b, ORDER));
        prop_assert_eq!(scalar::negate(&a), reduce(subtract(ORDER, a), ORDER));
        prop_assert_eq!(scalar::from_bytes(&scalar::to_bytes(&a)), a);
        let mut inverses: Vec<Scalar> = [a, b, [1, 0, 0, 0]].into_iter().filter(|number| *number != [0; 4]).collect();
        let numbers = inverses.clone();
        scalar::invert_each(&mut inverses);
        for (number, inverse) in numbers.iter().zip(&inverses) {
            prop_assert_eq!(scalar::multiply(number, inverse), [1, 0, 0, 0]);
        }
        let [k1, k2] = scalar::split(&a).map(|Half { negative, magnitude }| {
            let magnitude = [magnitude as u64, (magnitude >> 64) as u64, 0, 0];
            if negative { subtract(ORDER, magnitude) } else { magnitude }
        });
        prop_assert_eq!(add(reduce(k1, ORDER), multiply(reduce(k2, ORDER), scalar::LAMBDA, ORDER), ORDER), a);
    }
}

#[test]
fn the_table_is_the_generators_multiples() {
    let Some(table) = Table::get() else { panic!("the table cannot be made") };
    let point = |Row(row): &Row| {
        let mut key = [4; 65];
        for (bytes, word) in key[1..].chunks_exact_mut(8).zip(row[..4].iter().rev().chain(row[4..].iter().rev())) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        PublicKey::from_byte_array_uncompressed(key).unwrap()
    };
    for digits in [[1; 32], [0xff; 32], std::array::from_fn(|i| i as u8), std::array::from_fn(|i| (7 * i + 3) as u8)] {
        let points: Vec<PublicKey> = (0..32).map(|place| point(table.row(place, digits[place]))).collect();
        let sum = PublicKey::combine_keys(&points.iter().collect::<Vec<_>>()).unwrap();
        let mut number = digits;
        number.reverse();
        let number = match SecretKey::from_byte_array(number) {
            Ok(number) => number,
            // Not below the order: 2^256 - 1 reduces to 2^256 - 1 - order.
            Err(_) => {
                let less = subtract([u64::MAX; 4], ORDER);
                let bytes: Vec<u8> = less.iter().rev().flat_map(|limb| limb.to_be_bytes()).collect();
                SecretKey::from_byte_array(bytes.try_into().unwrap()).unwrap()
            }
        };
        assert_eq!(sum, number.public_key(SECP256K1));
    }
    let zeros: Vec<PublicKey> = (0..31).map(|place| point(table.row(place, 0))).collect();
    let sum = PublicKey::combine_keys(&zeros.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(sum.negate(SECP256K1), point(table.row(31, 0)), "the points for zeros cancel out");
}
