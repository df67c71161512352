//! Verify frames: verdicts by rule, in the order of the messages; and the same over TCP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use secp256k1::{Keypair, Message, SECP256K1, SecretKey};
use wire::{
    EcdsaBody, EquihashBody, InfoFrame, MESSAGE_REPLY_BIT, MessageHeader, Reply, SchnorrBody, Status, U16, U32,
    VerifyCommand, VerifyHeader, VerifyResult,
};
use zerocopy::IntoBytes;

use super::cases;
use crate::link::excerpt;
use crate::{LinkError, Session, Stop, ensure, ensure_eq};

cases! {
    "verify: masks of headers" => headers,
    "verify: masks of ECDSA signatures" => ecdsa,
    "verify: masks of BIP340 signatures" => schnorr,
    "verify: masks of Merkle trees" => merkle_roots,
    "verify: masks of BLS signatures" => bls,
    "verify: masks of Groth16 proofs" => groth16,
    "verify: masks of products of pairings" => pairings,
    "verify: masks of proofs of delays" => delays,
    "verify: many messages in a frame" => many,
    "verify: frames that are refused" => refused,
    "verify: NOT_TRUSTED for strangers" => strangers,
    "verify and info over TCP" => streams,
}

/// Bits of result masks.
const COLLISION: u64 = 1 << 2;
const DUPLICATE: u64 = 1 << 4;
const SOLUTION_LENGTH: u64 = 1 << 8;
const TARGET: u64 = 1 << 9;
const DIFFICULTY: u64 = 1 << 10;
const RANGE: u64 = 1 << 16;
const HIGH_S: u64 = 1 << 17;
const KEY_ENCODING: u64 = 1 << 18;
const KEY_NOT_ON_CURVE: u64 = 1 << 19;
const MISMATCH: u64 = 1 << 20;
const KEY_RANGE: u64 = 1 << 26;
const ROOT: u64 = 1 << 32;
const REPEATED: u64 = 1 << 33;
const POINT_FLAGS: u64 = 1 << 41;
const PADDING: u64 = 1 << 43;
const COORDINATE: u64 = 1 << 44;
const POINT_NOT_ON_CURVE: u64 = 1 << 45;
const NOT_IN_SUBGROUP: u64 = 1 << 46;
const SCALAR: u64 = 1 << 47;
const AT_INFINITY: u64 = 1 << 48;
const INPUT_COUNT: u64 = 1 << 50;
const BLS_MISMATCH: u64 = 1 << 51;
const PROOF_MISMATCH: u64 = 1 << 52;
const PAIRING_MISMATCH: u64 = 1 << 53;

/// A signature of Ethereum's tests: key, signature and message.
const BLS: [&str; 3] = [
    "b53d21a4cfd562c469cc81514d4ce5a6b577d8403d32a394dc265dd190b47fa9f829fdd7963afdf972e5e77854051f6f",
    "ae82747ddeefe4fd64cf9cedb9b04ae3e8a43420cd255e3c7cd06a8d88b7c7f8638543719981c5d16fa3527c468c25f0026704a6951bde891360c7e8d12ddee0559004ccdbe6046b55bae1b257ee97f7cdb955773d7cf29adf3ccbb9975e4eb9",
    "abababababababababababababababababababababababababababababababab",
];

/// Proofs of mainnet transactions of Zcash: 192 bytes, and 7 inputs of 32.
const SPENDS: &[u8] = include_bytes!("../../../../vectors/bls12_381/sapling/spends.bin");

/// Proofs of delays, and their result masks.
const DELAYS: &str = include_str!("../../../../vectors/delay/proofs.txt");

/// Vectors of Equihash, the first of them the header of Zcash's block 415,000.
const EQUIHASH: &str = include_str!("../../../../crates/verify/tests/vectors/equihash.txt");

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).filter_map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

fn zcash_header() -> Vec<u8> {
    let line = EQUIHASH.lines().find(|line| line.starts_with("200 9 valid")).unwrap_or_default();
    let fields: Vec<&str> = line.split(' ').collect();
    match fields[..] {
        [_, _, _, input, solution] => from_hex(&[input, "fd4005", solution].concat()),
        _ => Vec::new(),
    }
}

fn message(command: VerifyCommand, index: u64, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [MessageHeader::new(command, index, body.len()).as_bytes(), &body].concat()
}

fn equihash(index: u64, n: u16, k: u8, flags: u8, header: &[u8]) -> Vec<u8> {
    let body = EquihashBody { n: U16::new(n), k, flags, reserved: U32::ZERO, personalisation: *b"ZcashPoW" };
    message(VerifyCommand::Equihash, index, &[body.as_bytes(), header])
}

fn frame(id: u32, messages: &[Vec<u8>]) -> Vec<u8> {
    [VerifyHeader::new(id, messages.len() as u16).as_bytes(), &messages.concat()].concat()
}

/// The result masks of messages, in a reply that fits the request in every field.
fn masks(request: &[u8], messages: &[Vec<u8>], reply: &[u8]) -> Result<Vec<u64>, Stop> {
    let Ok(Reply::Verify(verify)) = Reply::parse(reply) else {
        return Err(Stop::Failed(format!("a verify frame was answered with {}", excerpt(reply))));
    };
    ensure_eq!(verify.status, Status::Ok, "status of a verify frame");
    ensure_eq!(&reply[4..10], &request[4..10], "id and count of the reply");
    ensure_eq!(reply.len(), VerifyHeader::LENGTH + messages.len() * VerifyResult::LENGTH, "length of the reply");
    let mut masks = Vec::new();
    for (message, result) in messages.iter().zip(verify.results) {
        let command = u32::from_be_bytes([message[0], message[1], message[2], message[3]]);
        ensure_eq!(result.message.command.get(), command | MESSAGE_REPLY_BIT, "command of a result");
        ensure_eq!(result.message.length.get() as usize, VerifyResult::LENGTH, "length of a result");
        ensure_eq!(result.message.index.as_bytes(), &message[8..16], "index of a result");
        ensure!(result.cycle_count.get() > 0, "a verification that took no time");
        masks.push(result.result_mask.get());
    }
    Ok(masks)
}

fn verify(session: &mut Session, messages: &[Vec<u8>]) -> Result<Vec<u64>, Stop> {
    let request = frame(session.fresh(), messages);
    let reply = session.link.ask(&request)?;
    masks(&request, messages, &reply)
}

fn headers(session: &mut Session) -> Result<(), Stop> {
    let good = zcash_header();
    let with = |changes: &[(usize, u8)]| {
        let mut header = good.clone();
        changes.iter().for_each(|(at, byte)| header[*at] = *byte);
        header
    };
    const SOLUTION_ONLY: u8 = EquihashBody::SOLUTION_ONLY;
    let mut repeated = good.clone();
    repeated.copy_within(143..143 + 672, 143 + 672);
    for (flags, header, expected) in [
        (0, good.clone(), 0),
        (SOLUTION_ONLY, good.clone(), 0),
        (0, with(&[(106, 0x80)]), TARGET),
        (0, with(&[(107, 0x1b)]), DIFFICULTY),
        (0, with(&[(1000, !good[1000])]), DIFFICULTY),
        (SOLUTION_ONLY, with(&[(1000, !good[1000])]), COLLISION),
        (SOLUTION_ONLY, repeated, DUPLICATE),
        (0, good[..good.len() - 1].to_vec(), SOLUTION_LENGTH),
        (0, with(&[(141, 0x3f)]), SOLUTION_LENGTH),
    ] {
        ensure_eq!(verify(session, &[equihash(7, 200, 9, flags, &header)])?, [expected], "mask of a header");
    }
    ensure_eq!(verify(session, &[equihash(7, 144, 5, 0, &good)])?, [SOLUTION_LENGTH], "mask with other parameters");
    Ok(())
}

/// A key pair, and an ECDSA signature of a digest.
fn signed(digest: [u8; 32]) -> Result<(Keypair, [u8; 64]), Stop> {
    let secret = SecretKey::from_byte_array([9; 32]).map_err(|error| Stop::Failed(error.to_string()))?;
    let signature = SECP256K1.sign_ecdsa(Message::from_digest(digest), &secret);
    Ok((Keypair::from_secret_key(SECP256K1, &secret), signature.serialize_compact()))
}

/// The group's order less s.
fn with_high_s(signature: &[u8; 64]) -> Result<[u8; 64], Stop> {
    let invalid = |error: secp256k1::Error| Stop::Failed(error.to_string());
    let s: [u8; 32] = std::array::from_fn(|at| signature[32 + at]);
    let negated = SecretKey::from_byte_array(s).map_err(invalid)?.negate().secret_bytes();
    Ok(std::array::from_fn(|at| if at < 32 { signature[at] } else { negated[at - 32] }))
}

fn ecdsa(session: &mut Session) -> Result<(), Stop> {
    let digest = [3; 32];
    let (pair, signature) = signed(digest)?;
    let (compressed, whole) = (pair.public_key().serialize(), pair.public_key().serialize_uncompressed());
    let high = with_high_s(&signature)?;
    let mut no_r = signature;
    no_r[..32].fill(0);
    let mut off_curve = whole;
    off_curve[64] ^= 1;
    let (mut too_large, mut no_point) = ([0xff; 33], [0; 33]);
    too_large[0] = 2;
    // There is no point with an x of 5.
    (no_point[0], no_point[32]) = (2, 5);
    for (flags, digest, signature, key, expected) in [
        (0, digest, signature, &compressed[..], 0),
        (EcdsaBody::LOW_S, digest, signature, &whole, 0),
        (0, [4; 32], signature, &compressed, MISMATCH),
        (0, digest, high, &compressed, 0),
        (EcdsaBody::LOW_S, digest, high, &compressed, HIGH_S),
        (0, digest, no_r, &compressed, RANGE),
        (0, digest, signature, &off_curve, KEY_NOT_ON_CURVE),
        (0, digest, signature, &no_point, KEY_NOT_ON_CURVE),
        (0, digest, signature, &too_large, KEY_RANGE),
        (0, digest, signature, &[9; 33], KEY_ENCODING),
    ] {
        let body = EcdsaBody::new(flags, digest, signature, key).ok_or(Stop::Failed("no key".to_owned()))?;
        let message = message(VerifyCommand::Ecdsa, u64::MAX, &[body.as_bytes()]);
        ensure_eq!(verify(session, &[message])?, [expected], "mask of a signature with key {key:02x?}");
    }
    Ok(())
}

fn schnorr(session: &mut Session) -> Result<(), Stop> {
    let (pair, _) = signed([1; 32])?;
    let digest = [5; 32];
    let key = pair.x_only_public_key().0.serialize();
    let signature = SECP256K1.sign_schnorr_no_aux_rand(&digest, &pair).to_byte_array();
    let mut changed = signature;
    changed[40] ^= 1;
    let good = SchnorrBody { message: digest, key, signature };
    for (body, expected) in [
        (good, 0),
        (SchnorrBody { message: [6; 32], ..good }, MISMATCH),
        (SchnorrBody { signature: changed, ..good }, MISMATCH),
        (SchnorrBody { signature: [0xff; 64], ..good }, RANGE),
        (SchnorrBody { key: [0xff; 32], ..good }, KEY_RANGE),
    ] {
        let message = message(VerifyCommand::Schnorr, 0, &[body.as_bytes()]);
        ensure_eq!(verify(session, &[message])?, [expected], "mask of a BIP340 signature");
    }
    Ok(())
}

fn merkle_roots(session: &mut Session) -> Result<(), Stop> {
    let leaves: Vec<[u8; 32]> = (1..=5).map(|byte| [byte; 32]).collect();
    let node = |left: &[u8; 32], right: &[u8; 32]| spv::bitcoin::node_hash(left, right);
    let level = [node(&leaves[0], &leaves[1]), node(&leaves[2], &leaves[3]), node(&leaves[4], &leaves[4])];
    let root = node(&node(&level[0], &level[1]), &node(&level[2], &level[2]));
    let repeated = [&leaves[..], &leaves[4..]].concat();
    for (root, leaves, expected) in [
        (root, &leaves[..], 0),
        (leaves[0], &leaves[..1], 0),
        ([0; 32], &leaves[..], ROOT),
        // The same root, of other leaves (CVE-2012-2459).
        (root, &repeated[..], REPEATED),
    ] {
        let message = message(VerifyCommand::MerkleRoot, 1, &[&root, leaves.as_bytes()]);
        ensure_eq!(verify(session, &[message])?, [expected], "mask of a tree of {} leaves", leaves.len());
    }
    Ok(())
}

/// Bytes with some of them replaced.
fn replaced(bytes: &[u8], at: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

/// A compressed point with this x, below 256, and this first byte.
fn small_x(first: u8, x: u8) -> [u8; 48] {
    std::array::from_fn(|at| {
        if at == 0 {
            first
        } else if at == 47 {
            x
        } else {
            0
        }
    })
}

fn bls(session: &mut Session) -> Result<(), Stop> {
    let good = BLS.map(from_hex).concat();
    for (body, expected) in [
        (good.clone(), 0),
        (replaced(&good, 144, &[1]), BLS_MISMATCH),
        (good[..144].to_vec(), BLS_MISMATCH),
        (replaced(&good, 0, &small_x(0x80, 0)), NOT_IN_SUBGROUP),
        (replaced(&good, 0, &small_x(0x80, 1)), POINT_NOT_ON_CURVE),
        (replaced(&good, 0, &small_x(0xc0, 0)), AT_INFINITY),
        (replaced(&good, 0, &[0x20]), POINT_FLAGS),
        (replaced(&good, 48, &[0x9f, 0xff]), COORDINATE),
    ] {
        ensure_eq!(
            verify(session, &[message(VerifyCommand::Bls, 3, &[&body])])?,
            [expected],
            "mask of a BLS signature"
        );
    }
    Ok(())
}

fn groth16(session: &mut Session) -> Result<(), Stop> {
    const LENGTH: usize = 192 + 7 * 32;
    let good = &SPENDS[..LENGTH];
    let changed_input = replaced(good, 192, &[good[192] ^ 1]);
    let cases = [
        (1, good.to_vec(), 0),
        (1, SPENDS[LENGTH..2 * LENGTH].to_vec(), 0),
        (1, changed_input, PROOF_MISMATCH),
        (2, good.to_vec(), INPUT_COUNT),
        (3, good.to_vec(), INPUT_COUNT),
        (2, good[..192 + 5 * 32].to_vec(), PROOF_MISMATCH),
        (1, replaced(good, 192, &[0xff; 32]), SCALAR),
        (1, replaced(good, 0, &small_x(0x80, 0)), NOT_IN_SUBGROUP),
        (1, replaced(good, 144, &small_x(0xc0, 0)), AT_INFINITY),
    ];
    let body = |key: u8, claim: &[u8]| message(VerifyCommand::Groth16, 4, &[&[key], &[0; 7], claim]);
    for (key, claim, expected) in &cases {
        ensure_eq!(verify(session, &[body(*key, claim)])?, [*expected], "mask of a proof");
    }
    // All in one frame, where they are combined.
    let messages = Vec::from_iter(cases.iter().map(|(key, claim, _)| body(*key, claim)));
    ensure_eq!(verify(session, &messages)?, cases.map(|(_, _, expected)| expected), "masks of proofs in a frame");
    Ok(())
}

fn pairings(session: &mut Session) -> Result<(), Stop> {
    // A pair with a point at infinity counts as one.
    let infinity = [0; 384];
    let vectors = include_str!("../../../../vectors/bls12_381/eip2537/pairing_check.json");
    let input = |name: &str| {
        let line = vectors.lines().find(|line| line.contains(name)).unwrap_or_default();
        from_hex(line.split('"').nth(3).unwrap_or_default())
    };
    let (product, pair) = (input("bls_pairing_bilinearity"), input("bls_pairing_non-degeneracy"));
    for (body, expected) in [
        (infinity.to_vec(), 0),
        (product.clone(), 0),
        ([&product[..], &infinity].concat(), 0),
        (pair.clone(), PAIRING_MISMATCH),
        (replaced(&pair, 0, &[1]), PADDING),
        (replaced(&pair, 16, &[0xff]), COORDINATE),
        (replaced(&pair, 127, &[pair[127] ^ 1]), POINT_NOT_ON_CURVE),
    ] {
        let message = message(VerifyCommand::Pairing, 5, &[&body]);
        ensure_eq!(verify(session, &[message])?, [expected], "mask of a product of {} pairs", body.len() / 384);
    }
    Ok(())
}

fn delays(session: &mut Session) -> Result<(), Stop> {
    let records = DELAYS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for record in records {
        let fields = Vec::from_iter(record.split(' '));
        let [name, mask, proof] = fields[..] else { return Err(Stop::Failed(format!("no vector: {record}"))) };
        let expected = mask.parse::<u64>().map_err(|error| Stop::Failed(error.to_string()))?;
        let message = message(VerifyCommand::Delay, count, &[&from_hex(proof)]);
        ensure_eq!(verify(session, &[message])?, [expected], "mask of the proof of a delay: {name}");
        count += 1;
    }
    ensure!(count > 0, "no vectors of delays");
    Ok(())
}

/// Messages of all kinds, good and bad in turns.
fn mixed(count: u64) -> Result<(Vec<Vec<u8>>, Vec<u64>), Stop> {
    let digest = [8; 32];
    let (pair, signature) = signed(digest)?;
    let (key, x) = (pair.public_key().serialize(), pair.x_only_public_key().0.serialize());
    let schnorr = SECP256K1.sign_schnorr_no_aux_rand(&digest, &pair).to_byte_array();
    let header = zcash_header();
    let (mut messages, mut expected) = (Vec::new(), Vec::new());
    for number in 0..count {
        let is_bad = number % 3 == 0;
        let digest = if is_bad { [7; 32] } else { digest };
        let index = number << 40 | number;
        let (message, mask) = match number % 17 {
            0 => {
                let mut header = header.clone();
                header[200] ^= u8::from(is_bad);
                (equihash(index, 200, 9, EquihashBody::SOLUTION_ONLY, &header), COLLISION)
            }
            kind if kind < 9 => {
                let body = EcdsaBody::new(0, digest, signature, &key).ok_or(Stop::Failed("no key".to_owned()))?;
                (message(VerifyCommand::Ecdsa, index, &[body.as_bytes()]), MISMATCH)
            }
            _ => {
                let body = SchnorrBody { message: digest, key: x, signature: schnorr };
                (message(VerifyCommand::Schnorr, index, &[body.as_bytes()]), MISMATCH)
            }
        };
        messages.push(message);
        expected.push(if is_bad { mask } else { 0 });
    }
    Ok((messages, expected))
}

fn many(session: &mut Session) -> Result<(), Stop> {
    for count in [1, 2, 9, 180] {
        let (messages, expected) = mixed(count)?;
        ensure_eq!(verify(session, &messages)?, expected, "masks of {count} messages");
    }
    Ok(())
}

fn refused(session: &mut Session) -> Result<(), Stop> {
    let good = message(VerifyCommand::Schnorr, 1, &[&[1; 128]]);
    let mut unknown = good.clone();
    unknown[3] = 0x77;
    let mut long = good.clone();
    long[7] += 1;
    let other = equihash(1, 200, 8, 0, &zcash_header());
    for (messages, status) in [
        (vec![], Status::Malformed),
        (vec![unknown], Status::UnknownCommand),
        (vec![long], Status::Malformed),
        (vec![good.clone(), other], Status::Malformed),
        (vec![good[..100].to_vec()], Status::Malformed),
    ] {
        let request = frame(session.fresh(), &messages);
        let reply = session.link.ask(&request)?;
        ensure_eq!(reply.len(), VerifyHeader::LENGTH, "length of the refusal of {}", excerpt(&request));
        match Reply::parse(&reply) {
            Ok(Reply::Verify(verify)) => ensure_eq!(verify.status, status, "refusal of {}", excerpt(&request)),
            other => return Err(Stop::Failed(format!("{} was answered with {other:?}", excerpt(&request)))),
        }
    }
    Ok(())
}

/// A node may be configured to verify for everyone; by default it does not.
fn strangers(session: &mut Session) -> Result<(), Stop> {
    let request = frame(session.fresh(), &[message(VerifyCommand::Schnorr, 1, &[&[1; 128]])]);
    let reply = session.stranger()?.ask(&request)?;
    match Reply::parse(&reply) {
        Ok(Reply::Verify(verify)) if verify.status == Status::Ok => {
            Err(Stop::Skipped("the node verifies for everyone"))
        }
        Ok(Reply::Verify(verify)) => {
            ensure_eq!(
                (verify.status, reply.len()),
                (Status::NotTrusted, VerifyHeader::LENGTH),
                "a stranger's refusal"
            );
            ensure_eq!(&reply[4..8], &request[4..8], "id of the refusal");
            Ok(())
        }
        other => Err(Stop::Failed(format!("a stranger's verify frame was answered with {other:?}"))),
    }
}

/// The same frames over TCP, each with its length before it; requests in flight are answered in any order.
fn streams(session: &mut Session) -> Result<(), Stop> {
    let failed = |error: std::io::Error| Stop::from(LinkError::from(error));
    let mut stream = TcpStream::connect(session.target.node).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(failed)?;
    let (messages, expected) = mixed(40)?;
    let first = session.fresh();
    let requests: Vec<Vec<u8>> = (first..first + 20)
        .map(|id| if id % 4 == 0 { InfoFrame::new(id).as_bytes().to_vec() } else { frame(id, &messages) })
        .collect();
    for _ in 0..20 {
        session.fresh();
    }
    for request in &requests {
        let framed = [&(request.len() as u32).to_be_bytes(), &request[..]].concat();
        stream.write_all(&framed).map_err(failed)?;
    }
    let mut answered = vec![false; requests.len()];
    for _ in &requests {
        let mut length = [0; 4];
        stream.read_exact(&mut length).map_err(failed)?;
        let mut reply = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut reply).map_err(failed)?;
        let id = Reply::parse(&reply).map_err(|error| Stop::Failed(error.to_string()))?.id();
        let number = id.wrapping_sub(first) as usize;
        ensure!(answered.get(number) == Some(&false), "an answer to a request that was not made: {}", excerpt(&reply));
        answered[number] = true;
        if id % 4 == 0 {
            ensure!(matches!(Reply::parse(&reply), Ok(Reply::Info(_))), "info was answered with {}", excerpt(&reply));
        } else {
            ensure_eq!(masks(&requests[number], &messages, &reply)?, expected, "masks over TCP");
        }
    }
    // A length that no frame has ends the connection.
    stream.write_all(&[0xff; 8]).map_err(failed)?;
    ensure_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "bytes after a length that no frame has");
    Ok(())
}
