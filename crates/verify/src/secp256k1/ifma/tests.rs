use proptest::prelude::*;
use secp256k1::{PublicKey, SECP256K1, SecretKey};

use super::*;

type Number = [u64; 4];

const PRIME: Number = [0xffff_fffe_ffff_fc2f, u64::MAX, u64::MAX, u64::MAX];
const ORDER: Number = [0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff];

/// a + b modulo m, of numbers below m: the plain model, bit by bit where it multiplies.
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

/// Numbers around all that is special about the field, its limbs and the group, and others.
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

fn numbers() -> impl Strategy<Value = [Number; 8]> {
    prop::array::uniform8(number())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_field_agrees_with_the_plain_model(a in numbers(), b in numbers()) {
        if !is_available() {
            return Ok(());
        }
        // SAFETY: the instructions are there.
        let (x, y) = unsafe { (Element::load(&a), Element::load(&b)) };
        let lane = |f: &dyn Fn(Number, Number) -> Number| -> [Number; 8] {
            array::from_fn(|lane| f(reduce(a[lane], PRIME), reduce(b[lane], PRIME)))
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
        // On what products and sums look like, not only what is loaded.
        let (product, sum) = (x.multiply(&y), x.times::<1>().plus(&y).tight());
        let twice = |a, b| add(add(a, a, PRIME), b, PRIME);
        prop_assert_eq!(
            product.multiply(&sum).numbers(), lane(&|a, b| multiply(multiply(a, b, PRIME), twice(a, b), PRIME))
        );
        for i in 0..8 {
            let a = reduce(a[i], PRIME);
            prop_assert_eq!(x.is_zero() >> i & 1 == 1, a == [0; 4]);
            prop_assert_eq!(x.is_odd() >> i & 1 == 1, a[0] & 1 == 1);
        }
        let zero = x.times::<0>().minus::<0>(&x).tight();
        prop_assert_eq!(zero.is_zero(), Mask::MAX);
        let root = square_root(&x.square());
        let is_root = root.times::<0>().minus::<0>(&x).tight().is_zero() | root.times::<0>().plus(&x).tight().is_zero();
        prop_assert_eq!(is_root, Mask::MAX);
    }

    #[test]
    fn scalars_agree_with_the_plain_model(a in number(), b in number()) {
        let (a, b) = (scalar::reduce(a), scalar::reduce(b));
        prop_assert_eq!(a, reduce(a, ORDER));
        // Montgomery's product times 2^256 is the product.
        let product = multiply(scalar::multiply(&a, &b), subtract([0; 4], ORDER), ORDER);
        prop_assert_eq!(product, multiply(a, b, ORDER));
        let mut inverses: Vec<Scalar> = [a, b, [1, 0, 0, 0]].into_iter().filter(|number| *number != [0; 4]).collect();
        let numbers = inverses.clone();
        scalar::invert_each(&mut inverses);
        for (number, inverse) in numbers.iter().zip(&inverses) {
            prop_assert_eq!(scalar::multiply(number, inverse), [1, 0, 0, 0]);
        }
        // The endomorphism's eigenvalue.
        let lambda = [0xdf02967c1b23bd72, 0x122e22ea20816678, 0xa5261c028812645a, 0x5363ad4cc05c30e0];
        let [k1, k2] = scalar::split(&a).map(|half| {
            let magnitude = [half.magnitude as u64, (half.magnitude >> 64) as u64, 0, 0];
            if half.negative { subtract(ORDER, magnitude) } else { magnitude }
        });
        prop_assert_eq!(add(reduce(k1, ORDER), multiply(reduce(k2, ORDER), lambda, ORDER), ORDER), a);
    }
}

#[test]
fn the_table_is_the_generators_multiples() {
    let Some(table) = Table::get() else { panic!("the table cannot be made") };
    let point = |row: &[u64; 8]| {
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
            // Not below the order: 2^256 - 1 is 2^256 - 1 - order.
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
