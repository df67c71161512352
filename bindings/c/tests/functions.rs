//! The functions, called as from C: published vectors, every backend, threads, and every wrong argument.
#![allow(clippy::unwrap_used)]

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use sha2::{Digest as _, Sha256};
use skip::Ability;
use turnpike_verify_c::*;

const EQUIHASH: &str = include_str!("../../../crates/verify/tests/vectors/equihash.txt");
const BIP340: &str = include_str!("../../../vectors/secp256k1/bip340.csv");

/// A verifier that is freed with the test.
struct Owned(*mut Verifier);

impl Owned {
    fn new(threads: u32, backend: Backend) -> Option<Self> {
        let mut verifier = null_mut();
        // SAFETY: the pointer is to a variable.
        match unsafe { turnpike_verifier_new(threads, backend as u8, &mut verifier) } {
            Status::Ok => Some(Self(verifier)),
            Status::Backend => None,
            other => panic!("{other:?}"),
        }
    }

    /// Every backend that has the scheme, with one thread and with three.
    fn all(scheme: Scheme) -> Vec<Self> {
        let available = |backend: &Backend| turnpike_backend_available(scheme as u8, *backend as u8);
        let backends = Backend::ALL.into_iter().filter(available);
        let verifiers: Vec<Self> =
            backends.flat_map(|backend| [1, 3].map(|threads| Self::new(threads, backend).unwrap())).collect();
        assert!(verifiers.len() >= 4, "the fastest and the portable one");
        verifiers
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it is valid, and no call uses it.
        unsafe { turnpike_verifier_free(self.0) };
    }
}

/// Items of any lengths, in one block of memory.
struct Packed {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
}

impl Packed {
    fn new<T: AsRef<[u8]>>(items: &[T]) -> Self {
        let mut packed = Self { bytes: Vec::new(), offsets: vec![0] };
        for item in items {
            packed.bytes.extend(item.as_ref());
            packed.offsets.push(packed.bytes.len() as u64);
        }
        packed
    }

    fn items(&self) -> Items {
        Items { bytes: self.bytes.as_ptr(), width: 0, offsets: self.offsets.as_ptr() }
    }
}

fn rows(bytes: &[u8], width: usize) -> Items {
    Items { bytes: bytes.as_ptr(), width, offsets: null() }
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

const COUNTS: [usize; 11] = [0, 1, 2, 7, 8, 9, 64, 100, 257, 999, 1000];

#[test]
fn hashes_of_every_count_agree_with_sha2() {
    let bytes: Vec<u8> = (0..80_000_u32).map(|at| (at % 251) as u8).collect();
    let tag = Sha256::digest("turnpike/test");
    for verifier in Owned::all(Scheme::Sha256) {
        for count in COUNTS {
            for length in [0, 1, 64, 80] {
                let mut digests = vec![[0; 32]; count];
                let out = digests.as_mut_ptr().cast();
                let message = |item: usize| &bytes[item * length..][..length];
                let expect = |digests: &[[u8; 32]], hash: &dyn Fn(&[u8]) -> [u8; 32]| {
                    assert!(digests.iter().enumerate().all(|(item, digest)| *digest == hash(message(item))));
                };
                // SAFETY: there are `count` messages of `length` bytes, and room for `count` digests.
                let status = unsafe { turnpike_sha256(verifier.0, bytes.as_ptr(), length, count, out) };
                assert_eq!(status, Status::Ok);
                expect(&digests, &|message| Sha256::digest(message).into());
                // SAFETY: there are `count` messages of `length` bytes, and room for `count` digests.
                let status = unsafe { turnpike_sha256d(verifier.0, bytes.as_ptr(), length, count, out) };
                assert_eq!(status, Status::Ok);
                expect(&digests, &|message| Sha256::digest(Sha256::digest(message)).into());
                let name = c"turnpike/test".as_ptr();
                // SAFETY: `name` ends with a zero; messages and room for digests are those of the calls before.
                let status = unsafe { turnpike_tagged_sha256(verifier.0, name, bytes.as_ptr(), length, count, out) };
                assert_eq!(status, Status::Ok);
                expect(&digests, &|message| {
                    Sha256::new().chain_update(tag).chain_update(tag).chain_update(message).finalize().into()
                });
            }
        }
    }
}

/// Bitcoin's definition, one level after the other.
fn merkle_root(leaves: &[[u8; 32]]) -> [u8; 32] {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        let parent =
            |pair: &[[u8; 32]]| Sha256::digest(Sha256::digest([pair[0], pair[pair.len() - 1]].concat())).into();
        level = level.chunks(2).map(parent).collect();
    }
    level[0]
}

#[test]
fn merkle_roots_of_every_count() {
    let leaves: Vec<[u8; 32]> = (0..1000_u32).map(|leaf| Sha256::digest(leaf.to_le_bytes()).into()).collect();
    for verifier in Owned::all(Scheme::Sha256) {
        for count in COUNTS.into_iter().filter(|count| *count > 0) {
            let (mut root, mut ambiguous) = ([0; 32], 9);
            let from = leaves.as_ptr().cast();
            // SAFETY: there are at least `count` leaves, and both results have room.
            let status = unsafe { turnpike_merkle_root(verifier.0, from, count, root.as_mut_ptr(), &mut ambiguous) };
            assert_eq!((status, ambiguous, root), (Status::Ok, 0, merkle_root(&leaves[..count])));
            let mut parents = vec![[0; 32]; count.div_ceil(2)];
            // SAFETY: there are at least `count` leaves, and room for their parents.
            let status = unsafe { turnpike_merkle_parents(verifier.0, from, count, parents.as_mut_ptr().cast()) };
            assert_eq!(status, Status::Ok);
            // A lone leaf is the root, but it has a parent too.
            if count > 1 {
                assert_eq!(merkle_root(&parents), root);
            }
        }
        // The last two leaves repeated: the same root.
        let (mut roots, mut ambiguous) = ([[0; 32]; 2], [9; 2]);
        let repeated = [&leaves[..6], &leaves[4..6]].concat();
        for (at, leaves) in [&leaves[..6], &repeated].into_iter().enumerate() {
            let (root, flag) = (roots[at].as_mut_ptr(), &mut ambiguous[at]);
            // SAFETY: the leaves are those of the slice, and both results have room.
            unsafe { turnpike_merkle_root(verifier.0, leaves.as_ptr().cast(), leaves.len(), root, flag) };
        }
        assert_eq!((roots[0], ambiguous), (roots[1], [0, 1]));
    }
}

#[test]
fn equihash_vectors_fail_for_the_rule_that_they_name() {
    let mut checked = 0;
    for line in EQUIHASH.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let (n, k): (u32, u32) = (fields[0].parse().unwrap(), fields[1].parse().unwrap());
        let expected = match fields[2] {
            "valid" => TURNPIKE_VALID,
            "Collision" => RuleCode::EquihashCollision as u8,
            "Order" => RuleCode::EquihashOrder as u8,
            "Duplicate" => RuleCode::EquihashDuplicate as u8,
            "Root" => RuleCode::EquihashRoot as u8,
            other => panic!("no such rule: {other}"),
        };
        // The other vectors are lists of indices, which the crate's own tests encode.
        if fields[4].contains(',') {
            continue;
        }
        let input = from_hex(fields[3]);
        let solution = from_hex(fields[4]);
        for verifier in Owned::all(Scheme::Equihash) {
            // The solution, a truncated one, and the solution again.
            let inputs = Packed::new(&[&input, &input, &input]);
            let solutions = Packed::new(&[&solution[..], &solution[1..], &solution]);
            let mut codes = [0; 3];
            let (inputs, solutions, out) = (inputs.items(), solutions.items(), codes.as_mut_ptr());
            let name = b"ZcashPoW".as_ptr();
            // SAFETY: the pointers are to that many items.
            let status = unsafe { turnpike_verify_equihash(verifier.0, n, k, name, inputs, solutions, 3, out) };
            assert_eq!(status, Status::Invalid);
            assert_eq!(codes, [expected, RuleCode::EquihashLength as u8, expected], "{line}");
        }
        checked += 1;
    }
    assert!(checked > 0);
}

/// Block 415,000 of Zcash.
fn zcash_header() -> Vec<u8> {
    let line = EQUIHASH.lines().find(|line| line.starts_with("200 9 valid")).unwrap();
    let fields: Vec<&str> = line.split(' ').collect();
    [from_hex(fields[3]), vec![0xfd, 0x40, 0x05], from_hex(fields[4])].concat()
}

#[test]
fn headers_of_zcash() {
    let header = zcash_header();
    let change = |at: usize, byte: u8| {
        let mut header = header.clone();
        header[at] = byte;
        header
    };
    let headers = [header.clone(), change(140, 0xfc), change(107, 0xff), change(0, 5), header.clone()];
    let expected = [0, 8, 9, 10, 0];
    for verifier in Owned::all(Scheme::Equihash) {
        let (bytes, mut codes) = (headers.concat(), [77; 5]);
        // SAFETY: there are five headers, and room for five codes.
        let status = unsafe { turnpike_verify_zcash_headers(verifier.0, bytes.as_ptr(), 5, codes.as_mut_ptr()) };
        assert_eq!((status, codes), (Status::Invalid, expected));
        // SAFETY: the first header is whole, and there is room for its code.
        let status = unsafe { turnpike_verify_zcash_headers(verifier.0, bytes.as_ptr(), 1, codes.as_mut_ptr()) };
        assert_eq!((status, codes[0]), (Status::Ok, TURNPIKE_VALID));
    }
}

#[test]
fn bip340_vectors() {
    let lines = BIP340.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let vectors: Vec<Vec<&str>> = lines.collect();
    assert_eq!(vectors.len(), 19);
    let keys: Vec<u8> = vectors.iter().flat_map(|fields| from_hex(fields[2])).collect();
    let signatures: Vec<u8> = vectors.iter().flat_map(|fields| from_hex(fields[5])).collect();
    let messages: Vec<Vec<u8>> = vectors.iter().map(|fields| from_hex(fields[4])).collect();
    let messages = Packed::new(&messages);
    for verifier in Owned::all(Scheme::Secp256k1) {
        let mut codes = [77; 19];
        let (signatures, keys) = (signatures.as_ptr(), keys.as_ptr());
        // SAFETY: the pointers are to that many items.
        let status =
            unsafe { turnpike_verify_schnorr(verifier.0, messages.items(), signatures, keys, 19, codes.as_mut_ptr()) };
        assert_eq!(status, Status::Invalid);
        for (fields, code) in vectors.iter().zip(codes) {
            assert_eq!(code == TURNPIKE_VALID, fields[6] == "TRUE", "{}: {code}", fields[7]);
        }
        let named = |comment: &str| codes[vectors.iter().position(|fields| fields[7] == comment).unwrap()];
        assert_eq!(named("public key not on the curve"), RuleCode::KeyNotOnCurve as u8);
        assert_eq!(named("sig[32:64] is equal to curve order"), RuleCode::SignatureRange as u8);
        assert_eq!(named("negated message"), RuleCode::SignatureMismatch as u8);
    }
}

/// Digests, keys and signatures of the first 1,000 signatures of Bitcoin's block 413,567.
fn block() -> [Vec<Vec<u8>>; 3] {
    let mut rest = &include_bytes!("../../../vectors/secp256k1/bitcoin_block_413567.bin")[..];
    let mut take = |length: usize| {
        let (item, behind) = rest.split_at(length);
        rest = behind;
        item.to_vec()
    };
    let mut columns = [const { Vec::new() }; 3];
    for _ in 0..1000 {
        columns[0].push(take(32));
        for column in &mut columns[1..] {
            let length = take(1)[0];
            column.push(take(length.into()));
        }
    }
    columns
}

#[test]
fn ecdsa_of_every_count_names_the_broken_item() {
    let [digests, keys, signatures] = block();
    let (digests, keys, signatures) = (digests.concat(), Packed::new(&keys), Packed::new(&signatures));
    let policy = EcdsaPolicy::Bitcoin as u32;
    for verifier in Owned::all(Scheme::Secp256k1) {
        for count in COUNTS {
            let mut digests = digests.clone();
            let mut codes = vec![77; count];
            let mut verify = |digests: &[u8]| {
                let (signatures, keys) = (signatures.items(), keys.items());
                // SAFETY: the pointers are to that many items.
                let status = unsafe {
                    let out = codes.as_mut_ptr();
                    turnpike_verify_ecdsa(verifier.0, policy, digests.as_ptr(), signatures, keys, count, out)
                };
                (status, codes.clone())
            };
            assert_eq!(verify(&digests), (Status::Ok, vec![TURNPIKE_VALID; count]));
            if count > 0 {
                digests[32 * (count / 2)] ^= 1;
                let mut expected = vec![TURNPIKE_VALID; count];
                expected[count / 2] = RuleCode::SignatureMismatch as u8;
                assert_eq!(verify(&digests), (Status::Invalid, expected));
            }
        }
    }
}

#[test]
fn keys_of_real_signatures_are_recovered() {
    let [digests, keys, signatures] = block();
    let compressed = |key: &Vec<u8>| [&[2 + (key[0] & 1)], &key[1..33]].concat();
    let expected: Vec<Vec<u8>> = keys.iter().map(compressed).collect();
    let (digests, signatures) = (digests.concat(), Packed::new(&signatures));
    let policy = EcdsaPolicy::Bitcoin as u32;
    for verifier in Owned::all(Scheme::Secp256k1) {
        let recover = |id: u8| {
            let (mut found, mut codes, ids) = (vec![[7; 33]; 1000], [77; 1000], [id; 1000]);
            let (from, ids, found_at, out) = (digests.as_ptr(), ids.as_ptr(), found.as_mut_ptr(), codes.as_mut_ptr());
            let signatures = signatures.items();
            // SAFETY: the pointers are to that many items.
            let status = unsafe {
                turnpike_recover_ecdsa(verifier.0, policy, from, signatures, ids, 1000, found_at.cast(), out)
            };
            (status, found, codes)
        };
        // The y of the nonce's point is even or odd.
        let (even, odd) = (recover(0), recover(1));
        assert_eq!((even.0, odd.0), (Status::Ok, Status::Ok));
        for (item, expected) in expected.iter().enumerate().filter(|(item, _)| keys[*item].len() == 33) {
            assert!(even.1[item] == expected[..] || odd.1[item] == expected[..], "signature {item}");
            assert_ne!(even.1[item], odd.1[item]);
        }
        for (id, rule) in [(2, RuleCode::RecoveryId), (4, RuleCode::RecoveryId)] {
            assert_eq!(recover(id), (Status::Invalid, vec![[0; 33]; 1000], [rule as u8; 1000]));
        }
    }
}

#[test]
fn wrong_arguments_have_a_status() {
    let verifier = Owned::new(2, Backend::Fastest).unwrap();
    let bytes = [0_u8; 2000];
    let mut out = [0_u8; 64];
    let items = rows(&bytes, 64);
    let policy = EcdsaPolicy::Compact as u32;
    let falling = [0, 64, 10];
    let crooked = Items { bytes: bytes.as_ptr(), width: 64, offsets: bytes.as_ptr().wrapping_add(1).cast() };
    let nothing = Items { bytes: null(), width: 64, offsets: null() };
    let from = bytes.as_ptr();
    let to = out.as_mut_ptr();
    // SAFETY: the pointers are NULL, misaligned, or to enough bytes for what is read before the call is rejected.
    unsafe {
        let mut made = null_mut();
        assert_eq!(turnpike_verifier_new(1, 0, null_mut()), Status::Pointer);
        assert_eq!(turnpike_verifier_new(1, 5, &mut made), Status::Argument);
        assert_eq!(turnpike_verifier_new(1_000_000, 0, &mut made), Status::Threads);
        assert!(made.is_null());
        turnpike_verifier_free(null_mut());
        assert_eq!(turnpike_verifier_threads(null()), 0);
        assert_eq!(turnpike_verifier_threads(verifier.0), 2);
        assert_eq!(turnpike_verifier_backend(null(), 0, to), Status::Pointer);
        assert_eq!(turnpike_verifier_backend(verifier.0, 4, to), Status::Argument);
        assert_eq!(turnpike_verifier_backend(verifier.0, 0, null_mut()), Status::Pointer);
        assert!(!turnpike_backend_available(4, 0) && !turnpike_backend_available(0, 5));

        assert_eq!(turnpike_sha256(null(), from, 64, 2, to), Status::Pointer);
        assert_eq!(turnpike_sha256(verifier.0, null(), 64, 2, to), Status::Pointer);
        assert_eq!(turnpike_sha256(verifier.0, from, 64, 2, null_mut()), Status::Pointer);
        assert_eq!(turnpike_sha256(verifier.0, from, usize::MAX, 2, to), Status::Length);
        assert_eq!(turnpike_sha256d(verifier.0, from, isize::MAX as usize + 1, 1, to), Status::Length);
        assert_eq!(turnpike_sha256(verifier.0, null(), 64, 0, null_mut()), Status::Ok, "nothing");
        assert_eq!(turnpike_tagged_sha256(verifier.0, null(), from, 64, 2, to), Status::Pointer);
        assert_eq!(turnpike_tagged_sha256(verifier.0, c"\xff".as_ptr(), from, 64, 2, to), Status::Argument);
        assert_eq!(turnpike_merkle_parents(verifier.0, from, usize::MAX, to), Status::Length);
        assert_eq!(turnpike_merkle_root(verifier.0, from, 0, to, to.add(40)), Status::Length);
        assert_eq!(turnpike_merkle_root(verifier.0, from, 1, to, null_mut()), Status::Pointer);

        let name = b"ZcashPoW".as_ptr();
        assert_eq!(turnpike_verify_equihash(verifier.0, 200, 9, null(), items, items, 2, to), Status::Pointer);
        assert_eq!(turnpike_verify_equihash(verifier.0, 201, 9, name, items, items, 2, to), Status::Argument);
        assert_eq!(turnpike_verify_equihash(verifier.0, 200, 9, name, items, nothing, 2, to), Status::Pointer);
        assert_eq!(turnpike_verify_zcash_headers(verifier.0, null(), 1, to), Status::Pointer);
        assert_eq!(turnpike_verify_zcash_headers(verifier.0, null(), 0, null_mut()), Status::Ok, "nothing");

        let ecdsa = |policy, signatures, keys, count| {
            turnpike_verify_ecdsa(verifier.0, policy, from, signatures, keys, count, to)
        };
        assert_eq!(ecdsa(3, items, items, 2), Status::Argument);
        assert_eq!(ecdsa(policy, crooked, items, 2), Status::Pointer);
        assert_eq!(ecdsa(policy, Items { offsets: falling.as_ptr(), ..items }, items, 2), Status::Length);
        assert_eq!(ecdsa(policy, items, rows(&bytes, usize::MAX), 2), Status::Length);
        assert_eq!(ecdsa(policy, items, items, usize::MAX), Status::Length);
        assert_eq!(ecdsa(policy, nothing, nothing, 0), Status::Ok, "nothing");
        let recover =
            |signatures, ids, keys| turnpike_recover_ecdsa(verifier.0, policy, from, signatures, ids, 1, keys, to);
        assert_eq!(recover(items, null(), to), Status::Pointer);
        assert_eq!(recover(items, from, null_mut()), Status::Pointer);
        assert_eq!(recover(nothing, from, to), Status::Pointer);
        assert_eq!(turnpike_verify_schnorr(verifier.0, nothing, from, from, 2, to), Status::Pointer);
        assert_eq!(turnpike_verify_schnorr(verifier.0, items, null(), from, 2, to), Status::Pointer);
        assert_eq!(turnpike_verify_schnorr(verifier.0, items, from, from, 2, null_mut()), Status::Pointer);
    }
}

#[test]
fn a_scheme_without_the_backend_says_so() {
    let Some(verifier) = Owned::new(1, Backend::ShaNi) else {
        return skip::lacking(Ability::Processor, "the processor has no SHA extensions");
    };
    let (mut codes, mut backend) = ([77], 77);
    let items = rows(&[0; 64], 64);
    // SAFETY: the pointers are to that many items.
    unsafe {
        assert_eq!(turnpike_verifier_backend(verifier.0, Scheme::Sha256 as u8, &mut backend), Status::Ok);
        assert_eq!(backend, Backend::ShaNi as u8);
        assert_eq!(turnpike_verifier_backend(verifier.0, Scheme::Equihash as u8, &mut backend), Status::Backend);
        let status = turnpike_verify_ecdsa(verifier.0, 0, [0; 32].as_ptr(), items, items, 1, codes.as_mut_ptr());
        assert_eq!((status, codes), (Status::Backend, [77]));
    }
}

#[test]
fn a_verifier_is_used_by_many_threads_at_once() {
    let verifier = Owned::new(3, Backend::Fastest).unwrap();
    let address = verifier.0 as usize;
    std::thread::scope(|scope| {
        for byte in 0..8 {
            scope.spawn(move || {
                let messages = vec![byte; 64 * 5000];
                let mut digests = vec![[0; 32]; 5000];
                let out = digests.as_mut_ptr().cast();
                // SAFETY: the pointers are to that many bytes, and the verifier outlives the threads.
                let status = unsafe { turnpike_sha256d(address as *const Verifier, messages.as_ptr(), 64, 5000, out) };
                assert_eq!(status, Status::Ok);
                let expected: [u8; 32] = Sha256::digest(Sha256::digest([byte; 64])).into();
                assert!(digests.iter().all(|digest| *digest == expected));
            });
        }
    });
}

#[test]
fn every_code_has_a_text() {
    // SAFETY: the texts belong to the library.
    let text = |pointer| unsafe { CStr::from_ptr(pointer) }.to_str().unwrap();
    assert_eq!(text(turnpike_verify_version()), env!("CARGO_PKG_VERSION"));
    for rule in RuleCode::ALL {
        assert_eq!(text(turnpike_rule_message(rule as u8)), rule.message());
    }
    assert_eq!(text(turnpike_rule_message(TURNPIKE_VALID)), "no rule is broken");
    assert_eq!(text(turnpike_rule_message(TURNPIKE_NOT_VERIFIED)), "the item was not verified");
    assert_eq!(text(turnpike_rule_message(63)), "not a rule");
    let texts: Vec<&str> = (0..9).map(|status| text(turnpike_status_message(status))).collect();
    assert!(texts.iter().all(|text| *text != "not a status"));
    assert_eq!(text(turnpike_status_message(9)), "not a status");
}

#[test]
fn proofs_and_pairings_on_bls12_381() {
    const SPENDS: &[u8] = include_bytes!("../../../vectors/bls12_381/sapling/spends.bin");
    const KEY: &[u8] = include_bytes!("../../../crates/verify/src/bls12_381/groth16/keys/sapling-spend.vk");
    let (proofs, inputs): (Vec<&[u8]>, Vec<&[u8]>) = SPENDS.chunks(416).map(|record| record.split_at(192)).unzip();
    let (proofs, mut inputs) = (proofs.concat(), inputs.concat());
    for verifier in Owned::all(Scheme::Bls12381) {
        for count in [0, 1, 2, 23] {
            let mut codes = vec![9; count];
            let mut verify = |key: &[u8], inputs: &[u8]| {
                // SAFETY: all pointers are to slices of these lengths.
                unsafe {
                    let (inputs, codes) = (rows(inputs, 224), codes.as_mut_ptr());
                    turnpike_verify_groth16(verifier.0, key.as_ptr(), key.len(), proofs.as_ptr(), inputs, count, codes)
                }
            };
            assert_eq!(verify(KEY, &inputs), Status::Ok);
            assert_eq!(verify(&KEY[1..], &inputs), Status::Argument);
            if count > 1 {
                inputs[224] ^= 1;
                assert_eq!(verify(KEY, &inputs), Status::Invalid);
                inputs[224] ^= 1;
                assert_eq!(codes[..2], [TURNPIKE_VALID, RuleCode::Groth16Mismatch as u8]);
            }
        }
        // A key and a signature at infinity; pairs with both points at infinity, one of them truncated.
        let (mut key, mut signature, mut codes) = ([0; 48], [0; 96], [9; 2]);
        (key[0], signature[0]) = (0xc0, 0xc0);
        let (message, pairs) = (Packed::new(&[b"message"]), Packed::new(&[&[0; 384][..], &[0; 383]]));
        // SAFETY: items and pairs live until the calls return; key, signature and codes have the lengths of one item.
        unsafe {
            let status = turnpike_verify_bls(
                verifier.0,
                message.items(),
                signature.as_ptr(),
                key.as_ptr(),
                1,
                codes.as_mut_ptr(),
            );
            assert_eq!((status, codes[0]), (Status::Invalid, RuleCode::PointAtInfinity as u8));
            let status = turnpike_verify_pairings(verifier.0, pairs.items(), 2, codes.as_mut_ptr());
            assert_eq!((status, codes), (Status::Invalid, [TURNPIKE_VALID, RuleCode::PointLength as u8]));
        }
    }
}
