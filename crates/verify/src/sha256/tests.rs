use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::{lanes::is_emulated, testing::available};

/// BIP340's definition, word for word, over crate `sha2`.
fn tagged(name: &str, message: &[u8]) -> Digest {
    let tag = Sha256::digest(name);
    Sha256::new().chain_update(tag).chain_update(tag).chain_update(message).finalize().into()
}

fn double(message: &[u8]) -> Digest {
    Sha256::digest(Sha256::digest(message)).into()
}

/// Every backend that this processor has, alone, and the choice that programs get. An emulated processor only tests
/// what the host lacks.
fn engines() -> Vec<Engine> {
    let is_tested = |backend: &Backend| *backend == Backend::Avx512 || !is_emulated();
    let backends = available(&Backend::ALL, Backend::is_available);
    let mut engines: Vec<Engine> = backends.into_iter().filter(is_tested).filter_map(Engine::only).collect();
    engines.push(Engine::mixed());
    engines
}

/// Bytes without a pattern, the same in every run.
fn noise(length: usize) -> Vec<u8> {
    let mut state = length as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn check_many<const N: usize>(count: usize) {
    const NAME: &str = "turnpike/transaction";
    const TAG: Tag = Tag::new(NAME);
    let bytes = noise(N * count);
    let messages: Vec<[u8; N]> = (0..count).map(|at| bytes[N * at..][..N].try_into().unwrap()).collect();
    let expected: Vec<Digest> = messages.iter().map(|message| tagged(NAME, message)).collect();
    let expected_double: Vec<Digest> = messages.iter().map(|message| double(message)).collect();
    let expected_single: Vec<Digest> = messages.iter().map(|message| Sha256::digest(message).into()).collect();
    for engine in engines() {
        let mut digests = vec![[1; 32]; count];
        TAG.hash_many_on(&engine, &messages, &mut digests);
        assert!(digests == expected, "{count} messages of {N} bytes on {engine:?}");
        sha256d_many_on(&engine, &messages, &mut digests);
        assert!(digests == expected_double, "{count} messages of {N} bytes, double, on {engine:?}");
        TAG.hash_rows_on(&engine, &bytes, N, &mut digests);
        assert!(digests == expected, "{count} rows of {N} bytes on {engine:?}");
        sha256d_rows_on(&engine, &bytes, N, &mut digests);
        assert!(digests == expected_double, "{count} rows of {N} bytes, double, on {engine:?}");
        sha256_rows_on(&engine, &bytes, N, &mut digests);
        assert!(digests == expected_single, "{count} rows of {N} bytes, single, on {engine:?}");
    }
}

#[test]
fn every_backend_agrees_with_sha2_at_every_count_and_corner_length() {
    for count in (0..67).chain([128, 200]) {
        check_many::<64>(count);
        check_many::<80>(count);
        check_many::<184>(count);
    }
    check_many::<0>(19);
    check_many::<1>(19);
    check_many::<32>(19);
    check_many::<55>(19);
    check_many::<56>(19);
    check_many::<63>(19);
    check_many::<65>(19);
    check_many::<119>(19);
    check_many::<120>(19);
    check_many::<128>(19);
    check_many::<512>(19);
}

#[test]
fn bits_that_are_all_equal() {
    for engine in engines() {
        for byte in [0, 0xff] {
            let mut digests = [[0; 32]; 17];
            sha256d_many_on(&engine, &[[byte; 64]; 17], &mut digests);
            assert_eq!(digests, [double(&[byte; 64]); 17], "on {engine:?}");
        }
    }
}

#[test]
fn levels_with_and_without_an_odd_child() {
    const TAG: Tag = Tag::new("turnpike/node");
    for count in 0..140 {
        let bytes = noise(32 * count);
        let children = bytes.as_chunks::<32>().0;
        let pair = |pair: &[Digest], missing: Digest| [pair[0], *pair.get(1).unwrap_or(&missing)].concat();
        let own: Vec<Digest> = children.chunks(2).map(|p| tagged("turnpike/node", &pair(p, [0; 32]))).collect();
        let bitcoin: Vec<Digest> = children.chunks(2).map(|p| double(&pair(p, p[0]))).collect();
        for engine in engines() {
            let mut parents = vec![[1; 32]; own.len()];
            TAG.nodes_on(&engine, children, &mut parents);
            assert_eq!(parents, own, "{count} children on {engine:?}");
            sha256d_nodes_on(&engine, children, &mut parents);
            assert_eq!(parents, bitcoin, "{count} children on {engine:?}");
        }
    }
}

/// Names that leave room for the padding in their last block, and names that do not.
#[test]
fn tags_of_any_length() {
    for length in (0..200).chain([1000, 4096]) {
        let name = "tag ".repeat(1024)[..length].to_owned();
        let tag = Tag::new(&name);
        assert_eq!(tag.hash(b"message"), tagged(&name, b"message"), "a name of {length} bytes");
    }
}

#[test]
fn known_answers() {
    // The header of the genesis block.
    let mut header = [0; 80];
    header[0] = 1;
    let root: Digest = [
        0x3b, 0xa3, 0xed, 0xfd, 0x7a, 0x7b, 0x12, 0xb2, 0x7a, 0xc7, 0x2c, 0x3e, 0x67, 0x76, 0x8f, 0x61, 0x7f, 0xc8,
        0x1b, 0xc3, 0x88, 0x8a, 0x51, 0x32, 0x3a, 0x9f, 0xb8, 0xaa, 0x4b, 0x1e, 0x5e, 0x4a,
    ];
    header[36..68].copy_from_slice(&root);
    header[68..].copy_from_slice(&[0x29, 0xab, 0x5f, 0x49, 0xff, 0xff, 0x00, 0x1d, 0x1d, 0xac, 0x2b, 0x7c]);
    let genesis = [
        0x6f, 0xe2, 0x8c, 0x0a, 0xb6, 0xf1, 0xb3, 0x72, 0xc1, 0xa6, 0xa2, 0x46, 0xae, 0x63, 0xf7, 0x4f, 0x93, 0x1e,
        0x83, 0x65, 0xe1, 0x5a, 0x08, 0x9c, 0x68, 0xd6, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];
    assert_eq!(sha256d(&header), genesis);
}

#[test]
fn the_choice_is_made_of_available_backends() {
    let engine = Engine::fastest();
    assert!(engine.wide().is_available());
    assert!(engine.narrow().0.is_available());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn messages_of_differing_lengths(lengths in prop::collection::vec(0usize..600, 0..80), few in any::<bool>()) {
        const NAME: &str = "turnpike/index/leaf";
        let tag = Tag::new(NAME);
        let bytes = noise(600);
        let lengths: Vec<usize> = lengths.iter().map(|&l| if few { 32 * (l % 17) } else { l }).collect();
        let messages: Vec<&[u8]> = lengths.iter().enumerate().map(|(i, &l)| &bytes[(i % 40).min(600 - l)..][..l]).collect();
        let expected: Vec<Digest> = messages.iter().map(|message| tagged(NAME, message)).collect();
        for engine in engines() {
            let mut digests = vec![[0; 32]; messages.len()];
            tag.hash_each_on(&engine, &messages, &mut digests);
            prop_assert_eq!(&digests, &expected);
        }
        if let Some(first) = messages.first() {
            prop_assert_eq!(tag.hash(first), expected[0]);
            let (a, b) = first.split_at(first.len() / 3);
            prop_assert_eq!(tag.hash_parts(&[a, &[], b]), expected[0]);
        }
    }
}
