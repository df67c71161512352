//! BLS12-381 against another implementation, zkcrypto's `bls12_381`, which shares no code with the engines or with
//! blst: signatures, Groth16 proofs and products of pairings, good ones, wrong ones, and invalid encodings, on every
//! backend.
#![allow(clippy::unwrap_used)]

use bls12_381::hash_to_curve::{ExpandMsgXmd, HashToCurve};
use bls12_381::{
    G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Gt, MillerLoopResult, Scalar, multi_miller_loop,
};
use proptest::prelude::*;
use sha2_for_bls12_381::Sha256;
use turnpike_verify_shared::{Backend, Items, Scheme, VALID, Verifier};

/// The tag of the scheme with proofs of possession.
const TAG: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/// The field's prime.
const PRIME: [u8; 48] = [
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7, 0x64, 0x77, 0x4b,
    0x84, 0xf3, 0x85, 0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24, 0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53,
    0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab,
];

/// Items per call: several work units, the last one not full.
const ITEMS: usize = 45;

fn verifiers() -> impl Iterator<Item = Verifier> {
    let available = Backend::ALL.into_iter().filter(|backend| backend.is_available(Scheme::Bls12381));
    available.filter(|backend| *backend != Backend::Fastest).map(|backend| Verifier::new(3, backend).unwrap())
}

/// Few cases, as each covers many items on all backends; PROPTEST_CASES requests more.
fn few() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").map(|_| ProptestConfig::default().cases);
    ProptestConfig { cases: asked.unwrap_or(2), max_shrink_iters: 0, ..ProptestConfig::default() }
}

/// Numbers derived from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }

    /// Not zero.
    fn scalar(&mut self) -> Scalar {
        let wide = Scalar::from_bytes_wide(&self.bytes());
        if wide == Scalar::zero() { Scalar::one() } else { wide }
    }

    /// Another compressed encoding: of another point, of one outside the subgroup, or of none.
    fn twisted(&mut self, encoding: &[u8]) -> Vec<u8> {
        let mut bytes = encoding.to_vec();
        match self.below(9) {
            // One bit.
            0 => bytes[self.below(encoding.len())] ^= 1 << self.below(8),
            // The flags.
            1 => bytes[0] ^= [0x20, 0x40, 0x80, 0x60, 0xa0, 0xc0, 0xe0][self.below(7)],
            // Infinity, and infinity with another bit.
            2 => bytes.fill(0),
            3 => {
                bytes.fill(0);
                bytes[0] = 0xc0;
            }
            4 => {
                bytes.fill(0);
                bytes[0] = [0xe0, 0xc1, 0xc0][self.below(3)];
                let last = bytes.len() - 1;
                bytes[last] = self.below(2) as u8;
            }
            // The prime and its neighbours as a coordinate.
            5 => {
                let at = 48 * self.below(bytes.len() / 48);
                bytes[at..at + 48].copy_from_slice(&PRIME);
                bytes[at + 47] = bytes[at + 47].wrapping_add([0, 1, 0xff][self.below(3)]);
                bytes[0] |= 0x80;
            }
            // A small x: half of them are on the curve, and hardly any in the subgroup.
            6 => {
                bytes.fill(0);
                bytes[0] = 0x80 | (self.below(2) as u8) << 5;
                let last = bytes.len() - 1;
                bytes[last] = self.next() as u8;
            }
            // Any x.
            _ => {
                bytes.iter_mut().for_each(|byte| *byte = self.next() as u8);
                bytes[0] = 0x80 | bytes[0] & 0x2f;
            }
        }
        bytes
    }
}

fn g1(scalar: &Scalar) -> G1Affine {
    (G1Projective::generator() * scalar).into()
}

fn g2(scalar: &Scalar) -> G2Affine {
    (G2Projective::generator() * scalar).into()
}

fn hash(message: &[u8]) -> G2Projective {
    <G2Projective as HashToCurve<ExpandMsgXmd<Sha256>>>::hash_to_curve(message, TAG)
}

fn read_g1(bytes: &[u8]) -> Option<G1Affine> {
    G1Affine::from_compressed(bytes.try_into().unwrap()).into()
}

fn read_g2(bytes: &[u8]) -> Option<G2Affine> {
    G2Affine::from_compressed(bytes.try_into().unwrap()).into()
}

fn miller_loop(pairs: &[(G1Affine, G2Affine)]) -> MillerLoopResult {
    let prepared = Vec::from_iter(pairs.iter().map(|(left, right)| (*left, G2Prepared::from(*right))));
    multi_miller_loop(&Vec::from_iter(prepared.iter().map(|(left, right)| (left, right))))
}

fn is_product_one(pairs: &[(G1Affine, G2Affine)]) -> bool {
    miller_loop(pairs).final_exponentiation() == Gt::identity()
}

fn pack(items: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let mut offsets = vec![0];
    items.iter().for_each(|item| offsets.push(offsets[offsets.len() - 1] + item.len() as u64));
    (items.concat(), offsets)
}

/// Checks that codes and verdicts agree, and that both verdicts occur.
fn check(codes: &[u8], expected: &[bool]) {
    let found = Vec::from_iter(codes.iter().map(|code| *code == VALID));
    assert_eq!(found, expected, "{codes:?}");
    assert!(expected.contains(&true) && expected.contains(&false), "{expected:?}");
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn verdicts_of_signatures_agree(seed: u64) {
        let mut random = Random(seed);
        let (mut messages, mut signatures, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ITEMS {
            let secret = random.scalar();
            // Some messages have many signers.
            let mut message = vec![random.below(20) as u8; random.below(20) * 10];
            let (mut key, mut signature) = (g1(&secret).to_compressed().to_vec(), G2Affine::from(hash(&message) * secret));
            let mut point = signature.to_compressed().to_vec();
            match random.below(16) {
                0 => message.push(0),
                1 => key = random.twisted(&key),
                2 => point = random.twisted(&point),
                3 => key = g1(&random.scalar()).to_compressed().to_vec(),
                4 => {
                    signature = -signature;
                    point = signature.to_compressed().to_vec();
                }
                // Negates both, so that the product is still one.
                5 => {
                    key = (-g1(&secret)).to_compressed().to_vec();
                    point = (-signature).to_compressed().to_vec();
                }
                // Both at infinity, where the product is one for any message.
                6 => {
                    key = G1Affine::identity().to_compressed().to_vec();
                    point = G2Affine::identity().to_compressed().to_vec();
                }
                _ => {}
            }
            messages.push(message);
            signatures.push(point);
            keys.push(key);
        }
        let is_good = |item: usize| {
            let (Some(key), Some(signature)) = (read_g1(&keys[item]), read_g2(&signatures[item])) else { return false };
            let pairs = [(key, hash(&messages[item]).into()), (-G1Affine::generator(), signature)];
            !bool::from(key.is_identity()) && is_product_one(&pairs)
        };
        let expected = Vec::from_iter((0..ITEMS).map(is_good));
        let ((bytes, offsets), signatures, keys) = (pack(&messages), signatures.concat(), keys.concat());
        for verifier in verifiers() {
            let mut codes = vec![7; ITEMS];
            let messages = Items::offsets(&bytes, &offsets).unwrap();
            let (signatures, keys) = (Items::rows(&signatures, 96, ITEMS), Items::rows(&keys, 48, ITEMS));
            verifier.call().bls(messages, signatures.unwrap(), keys.unwrap(), &mut codes).unwrap();
            check(&codes, &expected);
        }
    }

    /// Proofs made with the secrets of a key, which nobody has for a real one.
    #[test]
    fn verdicts_of_proofs_agree(seed: u64, inputs in prop::sample::select(vec![0, 1, 5, 40])) {
        let mut random = Random(seed);
        let [alpha, beta, gamma, delta] = std::array::from_fn(|_| random.scalar());
        let terms = Vec::from_iter((0..=inputs).map(|_| random.scalar()));
        let points = Vec::from_iter(terms.iter().map(g1));
        let key = [
            &g1(&alpha).to_uncompressed()[..],
            &g1(&beta).to_uncompressed(),
            &g2(&beta).to_uncompressed(),
            &g2(&gamma).to_uncompressed(),
            &g1(&delta).to_uncompressed(),
            &g2(&delta).to_uncompressed(),
            &(points.len() as u32).to_be_bytes(),
            points.iter().map(G1Affine::to_uncompressed).collect::<Vec<_>>().as_flattened(),
        ]
        .concat();

        let (mut proofs, mut given) = (Vec::new(), Vec::new());
        for _ in 0..ITEMS {
            let (a, b) = (random.scalar(), random.scalar());
            let numbers = Vec::from_iter((0..inputs).map(|_| random.scalar()));
            let sum = numbers.iter().zip(&terms[1..]).fold(terms[0], |sum, (number, term)| sum + number * term);
            let c = (a * b - alpha * beta - sum * gamma) * delta.invert().unwrap();
            let mut parts = [g1(&a).to_compressed().to_vec(), g2(&b).to_compressed().to_vec(), g1(&c).to_compressed().to_vec()];
            let mut bytes = numbers.iter().map(Scalar::to_bytes).collect::<Vec<_>>().concat();
            match random.below(12) {
                part @ 0..3 => parts[part] = random.twisted(&parts[part]),
                3 => parts[0] = (-g1(&a)).to_compressed().to_vec(),
                4 => {
                    parts[0] = (-g1(&a)).to_compressed().to_vec();
                    parts[1] = (-g2(&b)).to_compressed().to_vec();
                }
                5 if inputs > 0 => {
                    let at = random.below(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
                // Above the order.
                6 if inputs > 0 => bytes[..32].fill(0xff),
                7 => bytes.extend([0; 32]),
                _ => {}
            }
            proofs.push(parts.concat());
            given.push(bytes);
        }
        let is_good = |item: usize| {
            let (proof, bytes) = (&proofs[item], &given[item]);
            let a = read_g1(&proof[..48])?;
            let b = read_g2(&proof[48..144])?;
            let c = read_g1(&proof[144..])?;
            if bool::from(a.is_identity() | b.is_identity() | c.is_identity()) || bytes.len() != 32 * inputs {
                return None;
            }
            let mut sum = G1Projective::from(points[0]);
            for (number, point) in bytes.as_chunks().0.iter().zip(&points[1..]) {
                sum += point * Option::<Scalar>::from(Scalar::from_bytes(number))?;
            }
            let pairs = [(-a, b), (g1(&alpha), g2(&beta)), (sum.into(), g2(&gamma)), (c, g2(&delta))];
            is_product_one(&pairs).then_some(())
        };
        let expected = Vec::from_iter((0..ITEMS).map(|item| is_good(item).is_some()));
        let (proofs, (bytes, offsets)) = (proofs.concat(), pack(&given));
        for verifier in verifiers() {
            let mut codes = vec![7; ITEMS];
            let proofs = Items::rows(&proofs, 192, ITEMS).unwrap();
            verifier.call().groth16(&key, proofs, Items::offsets(&bytes, &offsets).unwrap(), &mut codes).unwrap();
            check(&codes, &expected);
        }
    }

    #[test]
    fn verdicts_of_products_agree(seed: u64) {
        let mut random = Random(seed);
        let mut products = Vec::new();
        for item in 0..ITEMS {
            // One of them is long.
            let count = if item == 9 { 70 } else { random.below(6) };
            let mut sum = Scalar::zero();
            let mut pairs = Vec::new();
            for _ in 0..count {
                let (left, right) = match random.below(8) {
                    0 => (Scalar::zero(), random.scalar()),
                    1 => (random.scalar(), Scalar::zero()),
                    _ => (random.scalar(), random.scalar()),
                };
                sum += left * right;
                pairs.push((g1(&left), g2(&right)));
            }
            if random.below(4) > 0 {
                pairs.push((g1(&-sum), G2Affine::generator()));
            }
            let mut bytes = pairs.iter().map(encode).collect::<Vec<_>>().concat();
            if !bytes.is_empty() {
                let at = random.below(bytes.len());
                match random.below(12) {
                    0 => bytes[at] ^= 1 << random.below(8),
                    1 => drop(bytes.pop()),
                    // A point that is most likely not on the curve, or zeros, which encode infinity.
                    2 => bytes[at / 128 * 128..][..128].fill(random.below(2) as u8),
                    3 => bytes[at / 64 * 64 + 16..][..48].copy_from_slice(&PRIME),
                    // Replaces the first point by one on the curve but outside the subgroup: (4, y) on G1's curve, or
                    // the next x with a y.
                    4 => bytes[..128].copy_from_slice(&outside()),
                    _ => {}
                }
            }
            products.push(bytes);
        }
        let expected = Vec::from_iter(products.iter().map(|bytes| decode(bytes).is_some_and(|pairs| is_product_one(&pairs))));
        let (bytes, offsets) = pack(&products);
        for verifier in verifiers() {
            let mut codes = vec![7; ITEMS];
            verifier.call().pairings(Items::offsets(&bytes, &offsets).unwrap(), &mut codes).unwrap();
            check(&codes, &expected);
        }
    }
}

/// A point on G1's curve outside the subgroup, in EIP-2537's encoding.
fn outside() -> [u8; 128] {
    let point = |x: u8| {
        let mut bytes = [0; 48];
        (bytes[0], bytes[47]) = (0x80, x);
        let point = Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(&bytes))?;
        (!bool::from(point.is_torsion_free())).then(|| point.to_uncompressed())
    };
    words((0..=255).find_map(point).unwrap().as_chunks().0).try_into().unwrap()
}

/// 48-byte numbers, each after 16 zeros.
fn words(numbers: &[[u8; 48]]) -> Vec<u8> {
    numbers.iter().flat_map(|number| [&[0; 16][..], number].concat()).collect()
}

/// A pair in EIP-2537's encoding: infinity is all zeros, and the coefficient of u comes second.
fn encode((left, right): &(G1Affine, G2Affine)) -> Vec<u8> {
    let (mut left, right) = (left.to_uncompressed(), right.to_uncompressed());
    let (numbers, _) = right.as_chunks::<48>();
    let mut right = [numbers[1], numbers[0], numbers[3], numbers[2]];
    // The flag of infinity.
    left[0] &= 0x1f;
    right[1][0] &= 0x1f;
    [words(left.as_chunks().0), words(&right)].concat()
}

/// The pairs, at least one, all of points in the subgroups.
fn decode(bytes: &[u8]) -> Option<Vec<(G1Affine, G2Affine)>> {
    let pair = |pair: &[u8]| {
        let numbers = pair.chunks_exact(64).map(|word| {
            let (padding, number) = word.split_first_chunk::<16>()?;
            // With one of the highest bits set it is not a number, although the other encoding has flags there.
            (*padding == [0; 16] && number[0] < 0x20).then(|| <[u8; 48]>::try_from(number).unwrap())
        });
        let [x, y, u0, u1, v0, v1] = numbers.collect::<Option<Vec<_>>>()?.try_into().ok()?;
        let left = match [x, y].as_flattened() {
            zeros if zeros.iter().all(|byte| *byte == 0) => G1Affine::identity(),
            bytes => Option::from(G1Affine::from_uncompressed(bytes.try_into().ok()?))?,
        };
        let right = match [u1, u0, v1, v0].as_flattened() {
            zeros if zeros.iter().all(|byte| *byte == 0) => G2Affine::identity(),
            bytes => Option::from(G2Affine::from_uncompressed(bytes.try_into().ok()?))?,
        };
        Some((left, right))
    };
    (!bytes.is_empty() && bytes.len().is_multiple_of(384)).then(|| bytes.chunks_exact(384).map(pair).collect())?
}

/// The reported backend is the requested one, and a scheme that does not support it is rejected.
#[test]
fn the_choice_of_a_backend_is_honoured() {
    let verify = |backend| {
        let verifier = Verifier::new(1, backend).unwrap();
        let none = Items::rows(&[], 384, 0).unwrap();
        (verifier.backend(Scheme::Bls12381), verifier.call().pairings(none, &mut []))
    };
    assert!(matches!(verify(Backend::Portable), (Ok(Backend::Portable), Ok(()))));
    // Its lanes need the same instructions as those of secp256k1.
    if Backend::Avx512.is_available(Scheme::Secp256k1) {
        assert!(matches!(verify(Backend::Avx512), (Ok(Backend::Avx512), Ok(()))));
        assert!(matches!(verify(Backend::Fastest), (Ok(Backend::Avx512), Ok(()))));
    }
    if Backend::Avx2.is_available(Scheme::Secp256k1) {
        assert!(matches!(verify(Backend::Avx2), (Err(_), Err(_))));
    }
}
