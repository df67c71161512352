//! The verify service. Signatures of all waiting frames are verified together in the lanes of one batch; a large frame
//! a slice at a time.

use std::time::Duration;

use net::Sharer;
use nic::{
    Costs, Held, Reply, Transmit,
    cost::{Work, pieces},
};
use verify::{
    BatchVerifier, RuleCode,
    bls12_381::groth16::{self, VerifyingKey},
    bls12_381::{eip2537, is_product_one, signature},
    equihash::{Header, HeaderRule, Parameters, verify},
    secp256k1::{
        ecdsa::{self, Encoding, HighS, Policy},
        schnorr,
    },
    sha256::{Digest, sha256d_nodes},
    vdf::Evaluated,
};
use wire::{
    EcdsaBody, EquihashBody, Frame, MessageHeader, PairBytes, Verification, VerifyingKeyId, write_verify_reply,
};

use crate::{
    cycles::{cycles, processor_time},
    turns::{Limits, SlicedWork},
};

/// Limits of waiting work for `threads` threads, and of the work of a turn: enough to fill the lanes of a pass with any
/// kind of work, while no frame waits for more of another.
pub fn limits(threads: usize) -> Limits {
    Limits { slice: Duration::from_millis(20), waiting: Duration::from_secs(1).saturating_mul(threads as u32) }
}

/// The result of a message: the bit of the broken rule, and cycles.
type Outcome = (u64, u64);

/// A verify frame, and the results of its messages so far.
pub struct Request {
    held: Held,
    outcomes: Vec<Outcome>,
    /// Of the messages without an outcome.
    cost: Duration,
}

impl Request {
    /// A frame of which nothing is known.
    pub fn new(held: Held, costs: &Costs) -> Self {
        let mut request = Self { held, outcomes: Vec::new(), cost: Duration::ZERO };
        request.cost = request.messages().map(|(_, message)| cost(costs, &message)).sum();
        request
    }

    /// The frame as it came.
    pub fn into_held(self) -> Held {
        self.held
    }

    /// The messages without an outcome.
    fn messages(&self) -> impl Iterator<Item = (&MessageHeader, Verification<'_>)> {
        // The packet selector has let nothing else through.
        let frame = match Frame::parse(&self.held) {
            Ok(Frame::Verify(frame)) => Some(frame),
            _ => None,
        };
        frame.into_iter().flat_map(|frame| frame.messages()).skip(self.outcomes.len())
    }

    fn is_finished(&self) -> bool {
        self.messages().next().is_none()
    }
}

impl SlicedWork for Request {
    fn cost(&self) -> Duration {
        self.cost
    }

    fn sharer(&self) -> Sharer {
        self.held.sharer()
    }
}

fn cost(costs: &Costs, message: &Verification<'_>) -> Duration {
    let (work, pieces) = pieces(message);
    costs.time(work, pieces)
}

/// Verifies at least one message, and more until a slice is used. Sends the replies of finished requests, and returns
/// the others and the number of messages.
pub fn work(
    mut requests: Vec<Request>,
    slice: Duration,
    costs: &Costs,
    transmit: &mut impl Transmit,
) -> (usize, Vec<Request>) {
    let start = processor_time();
    let mut turn = Turn::new(&requests, slice, costs);
    turn.learn(costs, processor_time().saturating_sub(start));
    let mut outcomes = std::mem::take(&mut turn.outcomes).into_iter();
    let count = outcomes.len();
    for (request, (messages, cost)) in requests.iter_mut().zip(turn.shares) {
        request.outcomes.extend(outcomes.by_ref().take(messages));
        request.cost = request.cost.saturating_sub(cost);
    }
    let mut finished = Vec::from_iter(requests.extract_if(.., |request| request.is_finished()));
    let replies = Vec::from_iter(
        finished.iter_mut().map(|Request { held, outcomes, .. }| write_verify_reply(held, outcomes.drain(..))),
    );
    transmit.transmit(
        &mut finished
            .iter()
            .zip(replies)
            .map(|(request, length)| Reply { peer: request.held.peer, bytes: &request.held[..length] }),
    );
    (count, requests)
}

/// The work done in a turn.
#[derive(Default)]
struct Turn {
    /// The outcomes of all messages, in their order.
    outcomes: Vec<Outcome>,
    /// What each was.
    works: Vec<(Work, u64)>,
    /// Number of messages of each request, and their estimated cost.
    shares: Vec<(usize, Duration)>,
}

impl Turn {
    fn new(requests: &[Request], slice: Duration, costs: &Costs) -> Self {
        let mut turn = Self::default();
        let mut messages = Vec::new();
        let mut sum = Duration::ZERO;
        for request in requests {
            let (first, before) = (messages.len(), sum);
            for (_, message) in request.messages() {
                if sum >= slice && !messages.is_empty() {
                    break;
                }
                sum += cost(costs, &message);
                turn.works.push(pieces(&message));
                messages.push(message);
            }
            turn.shares.push((messages.len() - first, sum - before));
        }
        turn.outcomes = verify_messages(&messages);
        turn
    }

    /// Records the cost of each kind of work. The time-stamp counter separates kinds, but also runs while the thread
    /// does not; so it only determines the shares of the processor time.
    fn learn(&self, costs: &Costs, took: Duration) {
        let mut sums: Vec<(Work, u64, u64)> = Vec::new();
        for ((work, pieces), (_, cycles)) in self.works.iter().zip(&self.outcomes) {
            match sums.iter_mut().find(|(known, ..)| known == work) {
                Some(sum) => *sum = (*work, sum.1 + pieces, sum.2 + cycles),
                None => sums.push((*work, *pieces, *cycles)),
            }
        }
        let all = sums.iter().map(|(_, _, cycles)| cycles).sum::<u64>().max(1);
        for (work, pieces, cycles) in sums {
            costs.learn(work, pieces, took.mul_f64(cycles as f64 / all as f64));
        }
    }
}

/// The outcomes of messages, in their order.
fn verify_messages(messages: &[Verification<'_>]) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(messages.len());
    let mut ecdsa = Lanes::new(ecdsa::Verifier::default());
    let mut schnorr = Lanes::new(schnorr::Verifier::default());
    let mut signed = Vec::new();
    let mut claims = [const { Vec::new() }; VerifyingKeyId::ALL.len()];
    for message in messages {
        let start = cycles();
        let verdict = match *message {
            Verification::Equihash(body, header) => verify_equihash(body, header),
            Verification::Merkle(root, leaves) => verify_merkle(root, leaves),
            Verification::Ecdsa(body) => ecdsa.push(outcomes.len(), parse_ecdsa(body)),
            Verification::Schnorr(body) => {
                schnorr.push(outcomes.len(), schnorr::Signed::parse(&body.message, &body.signature, &body.key))
            }
            // Points are parsed in lanes, too, when all of them are there.
            Verification::Bls(body, message) => {
                signed.push((outcomes.len(), (message, &body.signature[..], &body.key[..])));
                Ok(())
            }
            Verification::Groth16(body, inputs) => {
                let known = VerifyingKeyId::ALL.iter().zip(&mut claims).find(|(id, _)| id.code() == body.key);
                // The parser lets only keys through that exist.
                known.ok_or(RuleCode::InputCount).map(|(_, claims)| {
                    claims.push((outcomes.len(), (&body.proof[..], inputs.as_flattened())));
                })
            }
            Verification::Pairing(pairs) => verify_pairing(pairs),
            Verification::Delay(proof) => verify_delay(proof),
        };
        outcomes.push((mask(verdict), cycles().wrapping_sub(start)));
    }
    ecdsa.verify(&mut outcomes);
    schnorr.verify(&mut outcomes);
    Lanes::new(signature::Verifier::default()).parse_and_verify(&signed, signature::Signed::parse_each, &mut outcomes);
    for (id, claims) in VerifyingKeyId::ALL.iter().zip(&claims) {
        let key = key(*id);
        let parse = |claims: &[_]| groth16::Claim::parse_each_for(key, claims);
        Lanes::new(groth16::Verifier::new(key)).parse_and_verify(claims, parse, &mut outcomes);
    }
    outcomes
}

/// A batch of one scheme, and which messages its items are.
struct Lanes<V> {
    verifier: V,
    places: Vec<usize>,
}

impl<V: BatchVerifier<Rule: Copy + Into<RuleCode>>> Lanes<V> {
    fn new(verifier: V) -> Self {
        Self { verifier, places: Vec::new() }
    }

    /// Adds a parsed item, whose verdict comes with the batch.
    fn push(&mut self, place: usize, parsed: Result<V::Item, V::Rule>) -> Result<(), RuleCode> {
        self.verifier.push(parsed.map_err(Into::into)?);
        self.places.push(place);
        Ok(())
    }

    /// Parses and verifies the items of these places, as far as they can be parsed.
    fn parse_and_verify<T: Copy>(
        mut self,
        items: &[(usize, T)],
        parse_each: impl FnOnce(&[T]) -> Vec<Result<V::Item, V::Rule>>,
        outcomes: &mut [Outcome],
    ) {
        let start = cycles();
        let encoded: Vec<T> = items.iter().map(|(_, item)| *item).collect();
        let parsed = parse_each(&encoded);
        let each = cycles().wrapping_sub(start) / items.len().max(1) as u64;
        for ((place, _), parsed) in items.iter().zip(parsed) {
            outcomes[*place] = (mask(self.push(*place, parsed)), each);
        }
        self.verify(outcomes);
    }

    /// Verifies all, and adds to each message its part of the cycles.
    fn verify(&mut self, outcomes: &mut [Outcome]) {
        let start = cycles();
        let verdicts = self.verifier.verify_each();
        let each = cycles().wrapping_sub(start) / verdicts.len().max(1) as u64;
        for (verdict, place) in verdicts.iter().zip(&self.places) {
            outcomes[*place].0 = mask(verdict.map_err(Into::into));
            outcomes[*place].1 += each;
        }
    }
}

fn mask(verdict: Result<(), RuleCode>) -> u64 {
    verdict.err().map_or(0, RuleCode::mask)
}

fn parse_ecdsa(body: &EcdsaBody) -> Result<ecdsa::Signed, verify::secp256k1::Rule> {
    let high_s = if body.flags & EcdsaBody::LOW_S != 0 { HighS::Refuse } else { HighS::Normalise };
    let policy = Policy { encoding: Encoding::Compact, high_s, hybrid_keys: true };
    ecdsa::Signed::parse(policy, body.digest, &body.signature, body.key())
}

fn verify_equihash(body: &EquihashBody, header: &[u8]) -> Result<(), RuleCode> {
    let length = HeaderRule::SolutionLength.code();
    let header = Header::first_of(header).filter(|found| found.bytes().len() == header.len()).ok_or(length)?;
    // The parser lets only parameters through that exist.
    let parameters = Parameters::new(body.n.get().into(), body.k.into(), body.personalisation).ok_or(length)?;
    if body.flags & EquihashBody::SOLUTION_ONLY != 0 {
        return verify(&parameters, &header.solution()).map_err(|rule| rule.code());
    }
    header.verify_with(&parameters).map_err(|rule| rule.code())
}

fn key(id: VerifyingKeyId) -> &'static VerifyingKey {
    match id {
        VerifyingKeyId::SaplingSpend => VerifyingKey::sapling_spend(),
        VerifyingKeyId::SaplingOutput => VerifyingKey::sapling_output(),
        VerifyingKeyId::Sprout => VerifyingKey::sprout(),
    }
}

fn verify_pairing(pairs: &[PairBytes]) -> Result<(), RuleCode> {
    let pairs = eip2537::pairs(pairs.as_flattened()).map_err(|rule| rule.code())?;
    if is_product_one(&pairs) { Ok(()) } else { Err(RuleCode::PairingMismatch) }
}

/// The parser has bounded the modulus and the number of squarings, and with them the segments that are verified.
fn verify_delay(proof: &[u8]) -> Result<(), RuleCode> {
    let evaluated = Evaluated::from_bytes(proof).map_err(|error| error.code())?;
    evaluated.verify().map_err(|rule| rule.code())
}

/// Verifies a tree of Bitcoin: an odd node is paired with itself, so two equal neighbours make the root ambiguous
/// (CVE-2012-2459).
fn verify_merkle(root: &Digest, leaves: &[Digest]) -> Result<(), RuleCode> {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        if level.as_chunks::<2>().0.iter().any(|[left, right]| left == right) {
            return Err(RuleCode::MerkleRepeated);
        }
        let mut above = vec![Digest::default(); level.len().div_ceil(2)];
        sha256d_nodes(&level, &mut above);
        level = above;
    }
    if level.first() == Some(root) { Ok(()) } else { Err(RuleCode::MerkleRoot) }
}

#[cfg(test)]
mod tests {
    use wire::DelayBody;

    use super::*;

    #[test]
    fn a_delay_has_twelve_segments_at_most() {
        let bytes = |iterations| Evaluated::bytes(512, iterations);
        assert_eq!(bytes(DelayBody::MAX_ITERATIONS) - bytes(0), 12 * 2 * 512);
    }
}
