use proptest::prelude::*;

use super::blake2b::AT_ONCE;
use super::*;
use crate::testing::available;

const VECTORS: &str = include_str!("../../tests/vectors/equihash.txt");

const fn zcash(n: usize, k: usize) -> Option<Parameters> {
    Parameters::new(n, k, *b"ZcashPoW")
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The solution's bytes: the inverse of `tree::decode`.
fn encode(parameters: &Parameters, indices: &[u32]) -> Vec<u8> {
    let width = parameters.collision_bits() + 1;
    let mut bytes = vec![0; parameters.solution_length()];
    for (number, index) in indices.iter().enumerate() {
        for bit in 0..width {
            let place = number * width + bit;
            bytes[place / 8] |= ((index >> (width - 1 - bit) & 1) as u8) << (7 - place % 8);
        }
    }
    bytes
}

#[test]
fn every_backend_hashes_as_blake2b_simd_does() {
    let parameters = Parameters::ZCASH;
    let length = parameters.leaves_per_hash() * parameters.n / 8;
    let personal = [&b"ZcashPoW"[..], &200u32.to_le_bytes(), &9u32.to_le_bytes()].concat();
    let mut oracle = blake2b_simd::Params::new();
    oracle.hash_length(length).personal(&personal);
    // An index in one block and in two, the last block short and full; and a number of indices that does not fill all
    // lanes.
    let input: Vec<u8> = (0..300).map(|at| (at * 7) as u8).collect();
    let indices: [u32; AT_ONCE] = std::array::from_fn(|at| (at as u32).wrapping_mul(0x9e37_79b1));
    let count = 21;
    for input in (0..input.len()).map(|length| &input[..length]) {
        for backend in available(&Backend::ALL, Backend::is_available) {
            let mut hashes = [[0; 64]; AT_ONCE];
            LeafHash::new(backend, &parameters, input).hash(&indices, count, &mut hashes);
            for (index, hash) in indices.iter().zip(&hashes).take(count) {
                let expected = oracle.to_state().update(input).update(&index.to_le_bytes()).finalize();
                assert_eq!(hash[..length], *expected.as_bytes(), "{} bytes and {index} on {backend:?}", input.len());
            }
        }
    }
}

/// The verdict of crate `equihash`.
fn oracle(parameters: &Parameters, input: &[u8], indices: &[u8]) -> Result<(), Rule> {
    let (n, k) = (parameters.n as u32, parameters.k as u32);
    equihash::is_valid_solution(n, k, input, &[], indices).map_err(|error| match error.to_string().as_str() {
        "Invalid solution: invalid parameters" => Rule::Length,
        "Invalid solution: invalid collision length between StepRows" => Rule::Collision,
        "Invalid solution: Index tree incorrectly ordered" => Rule::Order,
        "Invalid solution: duplicate indices" => Rule::Duplicate,
        "Invalid solution: root hash of tree is non-zero" => Rule::Root,
        other => panic!("the oracle says {other}"),
    })
}

/// The verdict, which all backends and the oracle must share.
fn verdict(parameters: &Parameters, input: &[u8], indices: &[u8]) -> Result<(), Rule> {
    let expected = oracle(parameters, input, indices);
    for backend in available(&Backend::ALL, Backend::is_available) {
        assert_eq!(verify_on(backend, parameters, &Solution { input, indices }), expected, "on {backend:?}");
    }
    expected
}

struct Vector {
    parameters: Parameters,
    expected: Result<(), Rule>,
    input: Vec<u8>,
    indices: Vec<u8>,
}

fn vectors() -> Vec<Vector> {
    let vector = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let parameters = zcash(fields[0].parse().unwrap(), fields[1].parse().unwrap()).unwrap();
        let expected = match fields[2] {
            "valid" => Ok(()),
            "Collision" => Err(Rule::Collision),
            "Order" => Err(Rule::Order),
            "Duplicate" => Err(Rule::Duplicate),
            "Root" => Err(Rule::Root),
            other => panic!("no such rule: {other}"),
        };
        let indices = match fields[4].contains(',') {
            true => encode(&parameters, &fields[4].split(',').map(|index| index.parse().unwrap()).collect::<Vec<_>>()),
            false => from_hex(fields[4]),
        };
        Vector { parameters, expected, input: from_hex(fields[3]), indices }
    };
    VECTORS.lines().filter(|line| !line.starts_with('#')).map(vector).collect()
}

#[test]
fn published_vectors_fail_for_the_rule_that_they_name() {
    let vectors = vectors();
    assert!(vectors.len() > 10);
    for (number, vector) in vectors.iter().enumerate() {
        assert_eq!(verdict(&vector.parameters, &vector.input, &vector.indices), vector.expected, "vector {number}");
    }
}

/// A list of indices for each rule, breaking only that rule.
#[test]
fn each_rule_is_broken_alone() {
    let vectors = vectors();
    for (n, k) in [(200, 9), (144, 5), (96, 5), (48, 5)] {
        let of = |expected: Result<(), Rule>| {
            let fits =
                |vector: &&Vector| (vector.parameters.n, vector.parameters.k) == (n, k) && vector.expected == expected;
            vectors.iter().find(fits)
        };
        let good = of(Ok(())).unwrap();
        assert_eq!(verdict(&good.parameters, &good.input, &good.indices), Ok(()));
        // Such a list takes as long to find as a solution.
        match of(Err(Rule::Root)) {
            Some(root) => assert_eq!(verdict(&root.parameters, &root.input, &root.indices), Err(Rule::Root)),
            None => assert_eq!((n, k), (144, 5)),
        }
        let indices = tree::decode(&good.parameters, &good.indices);
        let rule = |indices: &[u32]| verdict(&good.parameters, &good.input, &encode(&good.parameters, indices));
        for height in 0..k {
            let (size, first) = (1 << height, indices.len() - (2 << height));
            let mut swapped = indices.clone();
            swapped[first..].rotate_left(size);
            assert_eq!(rule(&swapped), Err(Rule::Order), "({n},{k}), height {height}");
            let mut repeated = indices.clone();
            repeated.copy_within(first..first + size, first + size);
            assert_eq!(rule(&repeated), Err(Rule::Duplicate), "({n},{k}), height {height}");
            let mut changed = indices.clone();
            changed[first] ^= 1;
            assert_eq!(rule(&changed), Err(Rule::Collision), "({n},{k}), height {height}");
        }
        let short = &good.indices[..good.indices.len() - 1];
        assert_eq!(verdict(&good.parameters, &good.input, short), Err(Rule::Length));
    }
}

#[test]
fn every_bit_of_a_solution_counts() {
    for vector in vectors().iter().filter(|vector| vector.expected.is_ok()).take(3) {
        for bit in (0..8 * vector.indices.len()).step_by(if vector.parameters.n == 200 { 37 } else { 1 }) {
            let mut indices = vector.indices.clone();
            indices[bit / 8] ^= 0x80 >> (bit % 8);
            assert!(verdict(&vector.parameters, &vector.input, &indices).is_err());
        }
        for bit in (0..8 * vector.input.len()).step_by(13) {
            let mut input = vector.input.clone();
            input[bit / 8] ^= 0x80 >> (bit % 8);
            assert!(verdict(&vector.parameters, &input, &vector.indices).is_err());
        }
    }
}

#[test]
fn a_solution_has_one_length() {
    for vector in vectors().iter().take(3) {
        let longer = [&vector.indices[..], &[0]].concat();
        let shorter = &vector.indices[1..];
        for indices in [&longer[..], shorter, &[]] {
            assert_eq!(verdict(&vector.parameters, &vector.input, indices), Err(Rule::Length));
        }
    }
}

#[test]
fn swapped_and_repeated_subtrees_of_a_real_header() {
    let vector = &vectors()[0];
    let indices = tree::decode(&vector.parameters, &vector.indices);
    for height in 0..9 {
        let size = 1 << height;
        for first in (0..512).step_by(2 * size).step_by(5) {
            let mut swapped = indices.clone();
            swapped[first..first + 2 * size].rotate_left(size);
            let bytes = encode(&vector.parameters, &swapped);
            assert_eq!(verdict(&vector.parameters, &vector.input, &bytes), Err(Rule::Order));
            let mut repeated = indices.clone();
            repeated.copy_within(first..first + size, first + size);
            let bytes = encode(&vector.parameters, &repeated);
            assert_eq!(verdict(&vector.parameters, &vector.input, &bytes), Err(Rule::Duplicate));
        }
    }
}

#[test]
fn parameters_that_cannot_be_verified_are_refused() {
    for (n, k) in [(200, 9), (144, 5), (192, 7), (96, 5), (48, 5), (96, 3), (240, 7)] {
        assert!(zcash(n, k).is_some(), "({n},{k})");
    }
    for (n, k) in [(0, 5), (512, 7), (264, 10), (200, 8), (100, 4), (96, 2), (48, 47), (256, 3), (144, 11), (8, 7000)] {
        assert!(zcash(n, k).is_none(), "({n},{k})");
    }
}

#[test]
fn batches() {
    let vectors = vectors();
    let vectors: Vec<&Vector> = vectors.iter().filter(|vector| vector.parameters.n == 96).collect();
    let mut verifier = Verifier::new(vectors[0].parameters);
    for _ in 0..2 {
        for vector in &vectors {
            verifier.push(Solution { input: &vector.input, indices: &vector.indices });
        }
        assert_eq!(verifier.len(), vectors.len());
        let expected: Vec<_> = vectors.iter().map(|vector| vector.expected).collect();
        assert_eq!(verifier.verify_each(), expected);
        assert!(verifier.is_empty());
        vectors.iter().for_each(|vector| verifier.push(Solution { input: &vector.input, indices: &vector.indices }));
        let first = expected.iter().position(Result::is_err).unwrap();
        assert_eq!(verifier.verify_all(), Err((first, expected[first].unwrap_err())));
        assert_eq!((verifier.len(), verifier.verify_all()), (0, Ok(())));
    }
}

#[test]
fn a_header_is_checked_as_a_whole() {
    let vector = &vectors()[0];
    let header = [&vector.input[..], &[0xfd, 0x40, 0x05], &vector.indices].concat();
    assert!(Header::first_of(&header[..header.len() - 1]).is_none());
    let with = |at: usize, byte: u8| {
        let mut header = header.clone();
        header[at] = byte;
        header
    };
    assert_eq!(Header::first_of(&header).unwrap().verify(), Ok(()));
    let rule = |header: &[u8]| Header::first_of(header).unwrap().verify().unwrap_err();
    assert_eq!(rule(&with(141, 0x3f)), HeaderRule::SolutionLength);
    assert_eq!(rule(&with(140, 100)), HeaderRule::SolutionLength);
    assert!(Header::first_of(&with(141, 0x41)).is_none(), "one byte too few");
    assert!(Header::first_of(&with(140, 0xfe)).is_none());
    assert!(Header::first_of(&[&header[..140], &[0xfd, 100, 0], &[0; 100]].concat()).is_none(), "not the shortest");
    let other = zcash(144, 5).unwrap();
    assert_eq!(Header::first_of(&header).unwrap().verify_with(&other), Err(HeaderRule::SolutionLength));
    assert_eq!(rule(&with(106, 0x80)), HeaderRule::Target);
    assert_eq!(rule(&with(107, 0x1b)), HeaderRule::Difficulty);
    assert_eq!(rule(&with(200, !header[200])), HeaderRule::Difficulty);
    // The easiest target, with a nonce that meets it.
    let solution_fails = (0..=255).any(|nonce| {
        let mut header = with(107, 0x20);
        header[104..107].fill(0x7f);
        header[139] = nonce;
        rule(&header) == HeaderRule::Solution(Rule::Collision)
    });
    assert!(solution_fails);
}

/// Headers of Zcash's main and test networks at the upgrades of its rules, from crate zebra-test 5.0.0 (MIT OR
/// Apache-2.0).
#[test]
fn headers_of_zcash() {
    const HEADERS: &str = include_str!("../../tests/vectors/zcash_headers.txt");
    let mut count = 0;
    for line in HEADERS.lines().filter(|line| !line.starts_with('#')) {
        let (name, bytes) = line.split_once(' ').unwrap();
        let bytes = from_hex(bytes);
        let header = Header::first_of(&bytes).unwrap();
        assert_eq!(header.bytes(), bytes);
        assert_eq!(header.verify(), Ok(()), "{name}");
        for backend in available(&Backend::ALL, Backend::is_available) {
            assert_eq!(header.verify_on(backend), Ok(()), "{name} on {backend:?}");
        }
        let Solution { input, indices } = header.solution();
        assert_eq!(verdict(&Parameters::ZCASH, input, indices), Ok(()), "{name}");
        count += 1;
    }
    assert!(count > 10);
}

/// Solutions by Wagner's algorithm, each the first found for its first index.
fn solve(parameters: &Parameters, input: &[u8]) -> Vec<Vec<u32>> {
    let bits = parameters.collision_bits();
    let hash = LeafHash::new(Backend::Portable, parameters, input);
    let per_hash = parameters.leaves_per_hash();
    let mut rows: Vec<(u128, Vec<u32>)> = Vec::new();
    let numbers: Vec<u32> = (0..(2u32 << bits).div_ceil(per_hash as u32)).collect();
    for some in numbers.chunks(AT_ONCE) {
        let mut hashes = [[0; 64]; AT_ONCE];
        let mut full = [0; AT_ONCE];
        full[..some.len()].copy_from_slice(some);
        hash.hash(&full, some.len(), &mut hashes);
        for (number, hash) in some.iter().zip(&hashes) {
            for part in 0..per_hash {
                let mut bytes = [0; 16];
                bytes[..parameters.n / 8].copy_from_slice(&hash[part * parameters.n / 8..][..parameters.n / 8]);
                rows.push((u128::from_be_bytes(bytes), vec![number * per_hash as u32 + part as u32]));
            }
        }
    }
    rows.truncate(2 << bits);
    for height in 1..=parameters.k {
        rows.sort();
        let agree = |row: u128| row >> (128 - height * bits);
        let mut next = Vec::new();
        for group in rows.chunk_by(|a, b| agree(a.0) == agree(b.0)) {
            for (at, left) in group.iter().enumerate() {
                for right in &group[at + 1..] {
                    if next.len() < 3 << bits && !left.1.iter().any(|index| right.1.contains(index)) {
                        let mut halves = [&left.1[..], &right.1];
                        halves.sort();
                        next.push((left.0 ^ right.0, halves.concat()));
                    }
                }
            }
        }
        rows = next;
    }
    rows.into_iter().filter(|row| row.0 == 0).map(|row| row.1).collect()
}

#[test]
fn own_solutions_of_inputs_of_any_length() {
    let mut solved = 0;
    // Around a block's end, where the index is in two blocks, and with a short last block.
    for length in [0, 1, 60, 104, 121, 123, 124, 125, 126, 127, 128, 129, 136, 140, 141, 200, 252, 255, 256, 268] {
        let input: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
        let parameters = zcash(48, 5).unwrap();
        for indices in solve(&parameters, &input) {
            let indices = encode(&parameters, &indices);
            assert_eq!(verdict(&parameters, &input, &indices), Ok(()), "input of {length} bytes");
            solved += 1;
        }
    }
    assert!(solved > 5, "only {solved} solutions");
    let parameters = zcash(96, 5).unwrap();
    for indices in solve(&parameters, b"an input of the solver") {
        assert_eq!(verdict(&parameters, b"an input of the solver", &encode(&parameters, &indices)), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn noise_gets_the_verdict_of_the_oracle(
        sizes in prop::sample::select(vec![(200, 9), (144, 5), (192, 7), (96, 5), (48, 5)]),
        input in prop::collection::vec(any::<u8>(), 0..300), seed in any::<u64>(), zero in any::<bool>(),
    ) {
        let parameters = zcash(sizes.0, sizes.1).unwrap();
        let mut state = seed;
        let indices: Vec<u8> = (0..parameters.solution_length()).map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if zero { 0 } else { (state >> 56) as u8 }
        }).collect();
        prop_assert!(verdict(&parameters, &input, &indices).is_err());
    }
}
