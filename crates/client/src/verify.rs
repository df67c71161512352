//! Remote verification of proofs of work, signatures, Merkle roots, Groth16 proofs, pairings and delays.

use wire::{
    BlsBody, EcdsaBody, EquihashBody, Groth16Body, MESSAGE_REPLY_BIT, MessageHeader, PairBytes, Reply, SchnorrBody,
    U16, U32, VerifyCommand, VerifyHeader, VerifyResult, VerifyingKeyId,
};
use zerocopy::IntoBytes;

use crate::{Client, Error};

/// A check for the node.
#[derive(Clone, Copy, Debug)]
pub enum Check<'a> {
    /// A header with an Equihash solution, as in a block.
    Equihash {
        /// n and k: (200,9), (192,7), (144,5), (96,5) or (48,5).
        parameters: (u16, u8),
        /// The chain's personalisation.
        personalisation: [u8; 8],
        /// Whether to skip the comparison of the header's hash with its target.
        solution_only: bool,
        /// 140 bytes, the solution's length, the solution.
        header: &'a [u8],
    },
    /// An ECDSA signature.
    Ecdsa {
        /// Whether an s above half the group order is invalid.
        low_s: bool,
        /// The signed digest.
        digest: [u8; 32],
        /// r ‖ s.
        signature: [u8; 64],
        /// The public key, of 33 or 65 bytes.
        key: &'a [u8],
    },
    /// A BIP340 signature.
    Schnorr {
        /// The signed message.
        message: [u8; 32],
        /// The public key.
        key: [u8; 32],
        /// The signature.
        signature: [u8; 64],
    },
    /// The root of a Merkle tree of Bitcoin.
    MerkleRoot {
        /// The claimed root.
        root: [u8; 32],
        /// All leaves.
        leaves: &'a [[u8; 32]],
    },
    /// A BLS signature on BLS12-381, with the tag of proofs of possession.
    Bls {
        /// The signed message.
        message: &'a [u8],
        /// The public key: a compressed point of G1.
        key: [u8; 48],
        /// The signature: a compressed point of G2.
        signature: [u8; 96],
    },
    /// A Groth16 proof.
    Groth16 {
        /// The verifying key, one of those that nodes have.
        key: VerifyingKeyId,
        /// A, B and C, compressed.
        proof: [u8; 192],
        /// The public inputs, little-endian; at most 16.
        inputs: &'a [[u8; 32]],
    },
    /// Whether a product of pairings on BLS12-381 is one.
    Pairing {
        /// Pairs of points in the encoding of EIP-2537, from 1 to 16.
        pairs: &'a [PairBytes],
    },
    /// The proof of a delay function. The node verifies it for the modulus, the input and the number of squarings in
    /// the proof: compare these with what was requested.
    Delay {
        /// Its bytes, as in docs/delay.md: with a modulus of 1,024 to 4,096 bits, and at most 2^48 squarings.
        proof: &'a [u8],
    },
}

/// A node's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// 0 if everything is valid, otherwise the bit of the broken rule.
    pub result_mask: u64,
    /// The node's cost, in cycles of its time-stamp counter.
    pub cycle_count: u64,
}

impl Check<'_> {
    fn command(&self) -> VerifyCommand {
        match self {
            Self::Equihash { .. } => VerifyCommand::Equihash,
            Self::Ecdsa { .. } => VerifyCommand::Ecdsa,
            Self::Schnorr { .. } => VerifyCommand::Schnorr,
            Self::MerkleRoot { .. } => VerifyCommand::MerkleRoot,
            Self::Bls { .. } => VerifyCommand::Bls,
            Self::Groth16 { .. } => VerifyCommand::Groth16,
            Self::Pairing { .. } => VerifyCommand::Pairing,
            Self::Delay { .. } => VerifyCommand::Delay,
        }
    }

    /// The message, with an index that the reply repeats; `None` if a key has an impossible length.
    pub(crate) fn message(&self, index: u64) -> Option<Vec<u8>> {
        let body = match *self {
            Self::Equihash { parameters: (n, k), personalisation, solution_only, header } => {
                let flags = if solution_only { EquihashBody::SOLUTION_ONLY } else { 0 };
                let body = EquihashBody { n: U16::new(n), k, flags, reserved: U32::ZERO, personalisation };
                [body.as_bytes(), header].concat()
            }
            Self::Ecdsa { low_s, digest, signature, key } => {
                let flags = if low_s { EcdsaBody::LOW_S } else { 0 };
                EcdsaBody::new(flags, digest, signature, key)?.as_bytes().to_vec()
            }
            Self::Schnorr { message, key, signature } => SchnorrBody { message, key, signature }.as_bytes().to_vec(),
            Self::MerkleRoot { root, leaves } => [&root, leaves.as_flattened()].concat(),
            Self::Bls { message, key, signature } => [BlsBody { key, signature }.as_bytes(), message].concat(),
            Self::Groth16 { key, proof, inputs } => {
                let body = Groth16Body { key: key.code(), reserved: [0; 7], proof };
                [body.as_bytes(), inputs.as_flattened()].concat()
            }
            Self::Pairing { pairs } => pairs.as_flattened().to_vec(),
            Self::Delay { proof } => proof.to_vec(),
        };
        Some([MessageHeader::new(self.command(), index, body.len()).as_bytes(), &body].concat())
    }
}

impl Client {
    /// Has the node verify all checks, in as few datagrams as possible. Returns the verdicts in order.
    pub fn verify(&mut self, checks: &[Check<'_>]) -> Result<Vec<Verdict>, Error> {
        let mut verdicts = Vec::with_capacity(checks.len());
        let room = self.datagram() - VerifyHeader::LENGTH;
        let mut messages = Vec::new();
        let mut first = 0;
        for (number, check) in checks.iter().enumerate() {
            let message = check.message(number as u64).ok_or(Error::Option {
                name: "key",
                found: 0,
                expected: "33 or 65 bytes of a public key",
            })?;
            if messages.len() + message.len() > room || number - first == usize::from(u16::MAX) {
                self.verify_frame(checks, first..number, &messages, &mut verdicts)?;
                messages.clear();
                first = number;
            }
            messages.extend(message);
        }
        if first < checks.len() {
            self.verify_frame(checks, first..checks.len(), &messages, &mut verdicts)?;
        }
        Ok(verdicts)
    }

    fn verify_frame(
        &mut self,
        checks: &[Check<'_>],
        range: std::ops::Range<usize>,
        messages: &[u8],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), Error> {
        self.exchange(
            |id, _| Ok([VerifyHeader::new(id, range.len() as u16).as_bytes(), messages].concat()),
            |reply, _| {
                let Reply::Verify(reply) = reply else { return Err(Error::WrongReply) };
                if reply.results.len() != range.len() {
                    return Err(Error::WrongReply);
                }
                for (number, result) in range.clone().zip(reply.results) {
                    verdicts.push(read(number, &checks[number], result).ok_or(Error::WrongReply)?);
                }
                Ok(())
            },
        )
    }
}

/// The verdict in the reply to a message, if it matches.
fn read(number: usize, check: &Check<'_>, result: &VerifyResult) -> Option<Verdict> {
    let is_answer = result.message.command.get() == check.command().code() | MESSAGE_REPLY_BIT
        && result.message.index.get() == number as u64;
    let (result_mask, cycle_count) = (result.result_mask.get(), result.cycle_count.get());
    is_answer.then_some(Verdict { result_mask, cycle_count })
}
