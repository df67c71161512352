use proptest::prelude::*;

use super::{read, scalars};
use crate::BatchVerifier;
use crate::bls12_381::groth16::{Claim, Proof, Verifier, VerifyingKey, verify};
use crate::bls12_381::{Fp, G1, G2, ORDER, Point, Rule, Scalar};

/// Records of the proofs of mainnet: proof and inputs.
fn records(file: &str, key: &VerifyingKey, count: usize) -> Vec<Vec<u8>> {
    let bytes = read(file);
    let length = Proof::LENGTH + 32 * key.inputs();
    assert_eq!(bytes.len(), length * count);
    bytes.chunks(length).map(<[u8]>::to_vec).collect()
}

fn claim(record: &[u8]) -> Result<Claim, Rule> {
    Claim::parse(&record[..Proof::LENGTH], &record[Proof::LENGTH..])
}

fn spends() -> Vec<Vec<u8>> {
    records("sapling/spends.bin", VerifyingKey::sapling_spend(), 23)
}

fn verdicts(key: &VerifyingKey, claims: &[Claim]) -> Vec<Result<(), Rule>> {
    let mut batch = Verifier::new(key);
    claims.iter().for_each(|claim| batch.push(claim.clone()));
    batch.verify_each().to_vec()
}

#[test]
fn proofs_of_mainnet() {
    let outputs = records("sapling/outputs.bin", VerifyingKey::sapling_output(), 36);
    for (records, key, inputs) in
        [(spends(), VerifyingKey::sapling_spend(), 7), (outputs, VerifyingKey::sapling_output(), 5)]
    {
        assert_eq!(key.inputs(), inputs);
        let claims = Vec::from_iter(records.iter().map(|record| claim(record).unwrap()));
        claims.iter().for_each(|claim| assert_eq!(verify(key, claim), Ok(())));
        assert_eq!(verdicts(key, &claims), vec![Ok(()); claims.len()]);
        // A proof that does not hold: first, last and between.
        for bad in [0, claims.len() / 2, claims.len() - 1] {
            let mut claims = claims.clone();
            claims[bad].inputs[0] = claims[bad].inputs[0] + Scalar::from(1_u64);
            let mut expected = vec![Ok(()); claims.len()];
            expected[bad] = Err(Rule::ProofMismatch);
            assert_eq!(verdicts(key, &claims), expected);
        }
    }
    assert_eq!(VerifyingKey::sprout().inputs(), 9);
}

/// The public inputs of a JoinSplit: its values as bits, the highest of each byte first, packed into numbers of 254
/// bits, lowest first.
///
/// Zcash protocol specification, section A.4, and `multipack` of bellman.
fn joinsplit_inputs(values: &[u8]) -> Vec<u8> {
    let bits = Vec::from_iter(values.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)));
    let pack = |bits: &[u8]| {
        let mut number = [0; 32];
        bits.iter().enumerate().for_each(|(at, bit)| number[at / 8] |= bit << (at % 8));
        number
    };
    bits.chunks(254).flat_map(pack).collect()
}

#[test]
fn joinsplits_of_mainnet_and_testnet() {
    /// Root, h_sig, nullifier and its MAC, the second nullifier and MAC, two commitments, value in and value out.
    const VALUES: [usize; 10] = [32, 32, 32, 32, 32, 32, 32, 32, 8, 8];
    let key = VerifyingKey::sprout();
    let bytes = read("sprout/joinsplits.bin");
    let (records, []) = bytes.as_chunks::<{ Proof::LENGTH + 272 }>() else { panic!("whole records") };
    assert_eq!(records.len(), 7);
    let parse = |record: &[u8]| {
        let (proof, values) = record.split_at(Proof::LENGTH);
        Claim::parse(proof, &joinsplit_inputs(values)).unwrap()
    };
    let claims = Vec::from_iter(records.iter().map(|record| parse(record)));
    claims.iter().for_each(|claim| assert_eq!((claim.inputs.len(), verify(key, claim)), (9, Ok(()))));
    assert_eq!(verdicts(key, &claims), [Ok(()); 7]);

    // It does not hold with any value changed in its first or last bit, nor with the nullifiers swapped.
    let mut at = Proof::LENGTH;
    let mut changed = vec![];
    for length in VALUES {
        for (byte, bit) in [(at, 0x80), (at + length - 1, 1)] {
            let mut record = records[0];
            record[byte] ^= bit;
            changed.push(parse(&record));
        }
        at += length;
    }
    assert_eq!(at, records[0].len());
    let mut exchanged = records[0];
    let (first, second) = exchanged[Proof::LENGTH + 64..].split_at_mut(64);
    first[..32].swap_with_slice(&mut second[..32]);
    changed.push(parse(&exchanged));
    changed.iter().for_each(|claim| assert_eq!(verify(key, claim), Err(Rule::ProofMismatch)));
    // A proof of another JoinSplit does not hold either; in a batch, only the wrong one fails.
    let mut mixed = claims.clone();
    mixed[3].inputs = claims[4].inputs.clone();
    mixed.push(changed[5].clone());
    let mut expected = vec![Ok(()); 8];
    expected[3] = Err(Rule::ProofMismatch);
    expected[7] = Err(Rule::ProofMismatch);
    assert_eq!(verdicts(key, &mixed), expected);
}

#[test]
fn proofs_of_another_key_do_not_hold() {
    let spend = claim(&spends()[0]).unwrap();
    assert_eq!(verify(VerifyingKey::sprout(), &spend), Err(Rule::InputCount));
    let mut longer = spend.clone();
    longer.inputs.extend([Scalar::default(); 2]);
    assert_eq!(verify(VerifyingKey::sprout(), &longer), Err(Rule::ProofMismatch));
    assert_eq!(verify(VerifyingKey::sapling_spend(), &longer), Err(Rule::InputCount));
    let found = verdicts(VerifyingKey::sapling_spend(), &[longer, spend]);
    assert_eq!(found, [Err(Rule::InputCount), Ok(())]);
}

/// Each part of a record, broken in each possible way.
#[test]
fn encodings_are_refused_by_name() {
    let record = &spends()[0];
    let with = |at: usize, bytes: &[u8]| {
        let mut record = record.clone();
        record[at..at + bytes.len()].copy_from_slice(bytes);
        claim(&record).unwrap_err()
    };
    let (low, mut order) = (Fp::default().bytes(), ORDER);
    order.reverse();
    let flagged = |flags: u8, number: &[u8]| {
        let mut bytes = number.to_vec();
        bytes[0] |= flags;
        bytes
    };
    for at in [0, 144] {
        assert_eq!(with(at, &flagged(0x80, &low)), Rule::NotInSubgroup);
        assert_eq!(with(at, &flagged(0xc0, &low)), Rule::AtInfinity);
        assert_eq!(with(at, &flagged(0xe0, &low)), Rule::Flags);
        assert_eq!(
            with(at, &flagged(0x00, &record[at..at + 48][..1]).iter().map(|byte| byte & 0x7f).collect::<Vec<_>>()),
            Rule::Flags
        );
        assert_eq!(with(at, &[0x9f; 48]), Rule::Range);
        // There is no y for an x of 1.
        assert_eq!(with(at, &flagged(0x80, &Fp::one().bytes())), Rule::NotOnCurve);
    }
    assert_eq!(with(48, &flagged(0xc0, &[0; 96])), Rule::AtInfinity);
    assert_eq!(with(48, &flagged(0x80, &[0; 96])), Rule::NotOnCurve);
    for at in (0..7).map(|number| Proof::LENGTH + 32 * number) {
        assert_eq!(with(at, &order), Rule::ScalarRange);
        assert_eq!(with(at, &[0xff; 32]), Rule::ScalarRange);
    }
    assert_eq!(Claim::parse(&record[..191], &record[192..]), Err(Rule::Length));
    assert_eq!(Claim::parse(&record[..193], &record[192..]), Err(Rule::Length));
    assert_eq!(Claim::parse(&record[..192], &record[193..]), Err(Rule::Length));
}

#[test]
fn keys_are_refused_by_name() {
    let key = include_bytes!("../groth16/keys/sapling-output.vk");
    for length in [0, 95, 96, 864, 868, key.len() - 1] {
        assert_eq!(VerifyingKey::parse(&key[..length]), Err(Rule::Length), "{length}");
    }
    assert_eq!(VerifyingKey::parse(&[&key[..], &[0]].concat()), Err(Rule::Length));
    let with = |at: usize, byte: u8| {
        let mut key = key.to_vec();
        key[at] = byte;
        VerifyingKey::parse(&key).unwrap_err()
    };
    assert_eq!(with(867, 7), Rule::Length);
    assert_eq!(with(864, 0xff), Rule::Length);
    assert_eq!(with(0, key[0] | 0x80), Rule::Flags);
    assert_eq!(with(0, 0x1f), Rule::Range);
    assert_eq!(with(95, key[95] ^ 1), Rule::NotOnCurve);
    assert_eq!(with(868 + 95, key[868 + 95] ^ 1), Rule::NotOnCurve);
}

/// A circuit whose set-up secrets are known, so that anything can be proved.
struct Circuit {
    alpha: Scalar,
    beta: Scalar,
    gamma: Scalar,
    delta: Scalar,
    inputs: Vec<Scalar>,
}

impl Circuit {
    fn key(&self) -> VerifyingKey {
        let (left, right) = (Point::<G1>::generator(), Point::<G2>::generator());
        let mut bytes = left.multiply(&self.alpha).uncompressed();
        bytes.extend(left.multiply(&self.beta).uncompressed());
        bytes.extend(right.multiply(&self.beta).uncompressed());
        bytes.extend(right.multiply(&self.gamma).uncompressed());
        bytes.extend(left.multiply(&self.delta).uncompressed());
        bytes.extend(right.multiply(&self.delta).uncompressed());
        bytes.extend((self.inputs.len() as u32).to_be_bytes());
        self.inputs.iter().for_each(|input| bytes.extend(left.multiply(input).uncompressed()));
        VerifyingKey::parse(&bytes).unwrap()
    }

    /// A proof of any inputs: c is what a b - alpha beta - (inputs) gamma leaves for delta.
    fn prove(&self, a: Scalar, b: Scalar, inputs: &[Scalar]) -> Claim {
        let sum =
            inputs.iter().zip(&self.inputs[1..]).fold(self.inputs[0], |sum, (input, point)| sum + *input * *point);
        let c = (a * b - self.alpha * self.beta - sum * self.gamma) * self.delta.inverse();
        let (left, right) = (Point::<G1>::generator(), Point::<G2>::generator());
        let proof =
            [left.multiply(&a).compressed(), right.multiply(&b).compressed(), left.multiply(&c).compressed()].concat();
        Claim { proof: Proof::parse(&proof).unwrap(), inputs: inputs.to_vec() }
    }
}

fn secrets() -> impl Strategy<Value = Scalar> {
    scalars().prop_filter("zero makes a point at infinity", |scalar| !scalar.is_zero())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Keys with any number of inputs, and proofs some of which do not hold.
    #[test]
    fn batches_say_what_single_checks_say(
        alpha in secrets(), beta in secrets(), gamma in secrets(), delta in secrets(),
        inputs in prop::collection::vec(secrets(), 1..6),
        proofs in prop::collection::vec((any::<[u8; 32]>(), any::<[u8; 32]>(), prop::collection::vec(scalars(), 5), prop::bool::weighted(0.2)), 0..12),
    ) {
        let circuit = Circuit { alpha, beta, gamma, delta, inputs };
        let key = circuit.key();
        prop_assert_eq!(key.inputs(), circuit.inputs.len() - 1);
        let mut expected = Vec::new();
        let claims = Vec::from_iter(proofs.iter().map(|(a, b, inputs, is_bad)| {
            let mut claim = circuit.prove(Scalar::reduce(a), Scalar::reduce(b), &inputs[..key.inputs()]);
            if *is_bad {
                claim.proof.c = claim.proof.c.add(&Point::generator());
            }
            expected.push(if *is_bad { Err(Rule::ProofMismatch) } else { Ok(()) });
            claim
        }));
        for (claim, expected) in claims.iter().zip(&expected) {
            prop_assert_eq!(verify(&key, claim), *expected);
        }
        prop_assert_eq!(verdicts(&key, &claims), expected);
    }
}

/// Two proofs whose errors cancel out if they are combined without factors.
#[test]
fn errors_do_not_cancel_out() {
    let mut claims = Vec::from_iter(spends()[..4].iter().map(|record| claim(record).unwrap()));
    let generator = Point::generator();
    claims[1].proof.c = claims[1].proof.c.add(&generator);
    claims[2].proof.c = claims[2].proof.c.add(&generator.negate());
    let bad = Err(Rule::ProofMismatch);
    assert_eq!(verdicts(VerifyingKey::sapling_spend(), &claims), [Ok(()), bad, bad, Ok(())]);
}
