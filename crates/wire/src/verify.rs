//! The verify frame: proofs of work, signatures, Merkle roots, Groth16 proofs, pairings and delays to verify.
//!
//! Its messages have the form of the Zcash FPGA's: a header with command and length, an index that the reply repeats,
//! and in the reply a mask of results and a count of cycles.

use core::ops::RangeInclusive;

use crate::{
    BlsBody, DelayBody, EcdsaBody, EquihashBody, FrameHeader, FrameType, Groth16Body, MESSAGE_REPLY_BIT, MerkleBody,
    MessageHeader, SchnorrBody, Status, UnknownStatus, VerifyCommand, VerifyHeader, VerifyResult, VerifyingKeyId,
};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

impl VerifyHeader {
    /// The header of a request.
    pub const fn new(id: u32, count: u16) -> Self {
        Self {
            header: FrameHeader::new(FrameType::Verify, id),
            count: U16::from_bytes(count.to_be_bytes()),
            reserved: U16::ZERO,
            status: U16::ZERO,
            reserved_end: U16::ZERO,
        }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Turns the header into that of the reply, in place. If the status is not `OK`, the header alone is the reply.
    pub fn set_reply(&mut self, status: Status) {
        self.header.set_reply();
        self.status = U16::new(status.code());
    }

    fn is_request(&self) -> bool {
        self.reserved.get() == 0 && self.status.get() == 0 && self.reserved_end.get() == 0
    }
}

impl MessageHeader {
    /// The header of a request with `body` bytes after it.
    pub const fn new(command: VerifyCommand, index: u64, body: usize) -> Self {
        Self {
            command: U32::from_bytes(command.code().to_be_bytes()),
            length: U32::from_bytes(((Self::LENGTH + body) as u32).to_be_bytes()),
            index: U64::from_bytes(index.to_be_bytes()),
        }
    }
}

impl EquihashBody {
    /// Flag: skips the comparison of the header's hash with its target.
    pub const SOLUTION_ONLY: u8 = 1;

    /// Minimum length of a header, with an empty solution.
    const MIN_HEADER: usize = 141;

    /// Maximum length of a header: one with a (200,9) solution.
    pub const MAX_HEADER: usize = 1487;

    fn is_request(&self, header: &[u8]) -> bool {
        self.flags & !Self::SOLUTION_ONLY == 0
            && self.reserved.get() == 0
            && matches!((self.n.get(), self.k), (200, 9) | (192, 7) | (144, 5) | (96, 5) | (48, 5))
            && (Self::MIN_HEADER..=Self::MAX_HEADER).contains(&header.len())
    }
}

impl EcdsaBody {
    /// Flag: an s above half the group order is invalid.
    pub const LOW_S: u8 = 1;

    /// A body; `None` if the key has neither 33 nor 65 bytes.
    pub fn new(flags: u8, digest: [u8; 32], signature: [u8; 64], key: &[u8]) -> Option<Self> {
        let mut field = [0; 65];
        field.get_mut(..key.len())?.copy_from_slice(key);
        let key_length = u8::try_from(key.len()).ok()?;
        let body = Self { flags, key_length, reserved: U16::ZERO, digest, signature, key: field, reserved_end: [0; 3] };
        matches!(key_length, 33 | 65).then_some(body)
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        self.key.get(..self.key_length.into()).unwrap_or(&self.key)
    }

    fn is_request(&self) -> bool {
        let rest = self.key.get(self.key_length.into()..).unwrap_or(&self.key);
        self.flags & !Self::LOW_S == 0
            && matches!(self.key_length, 33 | 65)
            && self.reserved.get() == 0
            && self.reserved_end == [0; 3]
            && rest.iter().all(|byte| *byte == 0)
    }
}

impl Groth16Body {
    /// Maximum number of public inputs; no key has as many.
    pub const MAX_INPUTS: usize = 16;

    fn is_request(&self, inputs: &[[u8; 32]]) -> bool {
        VerifyingKeyId::try_from(self.key).is_ok() && self.reserved == [0; 7] && inputs.len() <= Self::MAX_INPUTS
    }
}

/// A pair of points in a message with a product of pairings, in the encoding of EIP-2537.
pub type PairBytes = [u8; 384];

/// Maximum number of pairs in a product: some milliseconds of work.
pub const MAX_PAIRS: usize = 16;

impl DelayBody {
    /// Magic bytes at the start of a proof.
    pub const MAGIC: [u8; 8] = *b"TPDELAY1";

    /// Range of a modulus in bytes: from 1,024 bits, as in the smallest challenge in use, to 4,096. Each segment takes
    /// a prime of 256 bits, however short the modulus is, so with a shorter one a frame could request more work.
    const MODULUS: RangeInclusive<usize> = 128..=512;

    /// Maximum number of squarings: more than the puzzle LCS35 took, 2^46. Their proof has twelve segments.
    pub const MAX_ITERATIONS: u64 = 1 << 48;

    fn is_request(&self, rest: &[u8]) -> bool {
        let length = self.length.get().into();
        let iterations = rest.get(2 * length..).and_then(|rest| U64::ref_from_prefix(rest).ok());
        self.magic == Self::MAGIC
            && Self::MODULUS.contains(&length)
            && iterations.is_some_and(|(iterations, _)| (1..=Self::MAX_ITERATIONS).contains(&iterations.get()))
    }
}

/// A message to verify.
#[derive(Clone, Copy, Debug)]
pub enum Verification<'a> {
    /// The header of a block: Equihash solution, difficulty.
    Equihash(&'a EquihashBody, &'a [u8]),
    /// An ECDSA signature.
    Ecdsa(&'a EcdsaBody),
    /// A BIP340 signature.
    Schnorr(&'a SchnorrBody),
    /// The root of a Merkle tree of double SHA-256.
    Merkle(&'a [u8; 32], &'a [[u8; 32]]),
    /// A BLS signature, and the signed message.
    Bls(&'a BlsBody, &'a [u8]),
    /// A Groth16 proof and its public inputs.
    Groth16(&'a Groth16Body, &'a [[u8; 32]]),
    /// Whether a product of pairings is one.
    Pairing(&'a [PairBytes]),
    /// The proof of a delay function, encoded.
    Delay(&'a [u8]),
}

/// A verify frame.
#[derive(Clone, Copy, Debug)]
pub struct Verify<'a> {
    /// Its header.
    pub header: &'a VerifyHeader,
    messages: &'a [u8],
}

impl<'a> Verify<'a> {
    /// Its messages.
    pub fn messages(&self) -> impl Iterator<Item = (&'a MessageHeader, Verification<'a>)> + use<'a> {
        let mut rest = self.messages;
        core::iter::from_fn(move || take_message(&mut rest).ok())
    }

    /// Parses the bytes of a datagram, whose type was checked: returns the frame, or the status that refuses it; or
    /// `None` if its header is incomplete.
    pub(crate) fn check(bytes: &'a [u8]) -> Option<(Status, Option<Self>)> {
        let (header, messages) = VerifyHeader::ref_from_prefix(bytes).ok()?;
        let refuse = |status| Some((status, None));
        if !header.is_request() || header.count.get() == 0 {
            return refuse(Status::Malformed);
        }
        let mut rest = messages;
        for _ in 0..header.count.get() {
            if let Err(status) = take_message(&mut rest) {
                return refuse(status);
            }
        }
        if !rest.is_empty() {
            return refuse(Status::Malformed);
        }
        Some((Status::Ok, Some(Self { header, messages })))
    }
}

/// Takes the message at the start of the bytes.
fn take_message<'a>(rest: &mut &'a [u8]) -> Result<(&'a MessageHeader, Verification<'a>), Status> {
    let malformed = |_| Status::Malformed;
    let (header, _) = MessageHeader::ref_from_prefix(rest).map_err(|_| Status::Malformed)?;
    let command = VerifyCommand::try_from(header.command.get())?;
    let length = usize::try_from(header.length.get()).map_err(malformed)?;
    let (message, behind) = rest.split_at_checked(length).ok_or(Status::Malformed)?;
    let body = message.get(MessageHeader::LENGTH..).ok_or(Status::Malformed)?;
    let found = match command {
        VerifyCommand::Equihash => EquihashBody::ref_from_prefix(body)
            .ok()
            .filter(|(body, header)| body.is_request(header))
            .map(|(body, header)| Verification::Equihash(body, header)),
        VerifyCommand::Ecdsa => {
            EcdsaBody::ref_from_bytes(body).ok().filter(|body| body.is_request()).map(Verification::Ecdsa)
        }
        VerifyCommand::Schnorr => SchnorrBody::ref_from_bytes(body).ok().map(Verification::Schnorr),
        VerifyCommand::MerkleRoot => MerkleBody::ref_from_prefix(body).ok().and_then(|(body, leaves)| {
            let leaves = <[[u8; 32]]>::ref_from_bytes(leaves).ok().filter(|leaves| !leaves.is_empty())?;
            Some(Verification::Merkle(&body.root, leaves))
        }),
        VerifyCommand::Bls => {
            BlsBody::ref_from_prefix(body).ok().map(|(body, message)| Verification::Bls(body, message))
        }
        VerifyCommand::Groth16 => Groth16Body::ref_from_prefix(body).ok().and_then(|(body, inputs)| {
            let inputs = <[[u8; 32]]>::ref_from_bytes(inputs).ok().filter(|inputs| body.is_request(inputs))?;
            Some(Verification::Groth16(body, inputs))
        }),
        VerifyCommand::Pairing => <[PairBytes]>::ref_from_bytes(body)
            .ok()
            .filter(|pairs| (1..=MAX_PAIRS).contains(&pairs.len()))
            .map(Verification::Pairing),
        VerifyCommand::Delay => DelayBody::ref_from_prefix(body)
            .ok()
            .filter(|(delay, rest)| delay.is_request(rest))
            .map(|_| Verification::Delay(body)),
    };
    let found = found.ok_or(Status::Malformed)?;
    *rest = behind;
    Ok((header, found))
}

/// Writes the reply over a checked verify frame, and returns its length: result mask and cycle count of each message,
/// in order. 0 if there are fewer results than messages.
pub fn write_verify_reply(datagram: &mut [u8], results: impl IntoIterator<Item = (u64, u64)>) -> usize {
    let Ok((header, messages)) = VerifyHeader::mut_from_prefix(datagram) else { return 0 };
    let (mut from, mut to) = (0, 0);
    let mut results = results.into_iter();
    for _ in 0..header.count.get() {
        // Each reply is shorter than its message, so none overwrites a message that was not read yet.
        let message = messages.get(from..).and_then(|rest| MessageHeader::read_from_prefix(rest).ok());
        let (Some((message, _)), Some((result_mask, cycle_count))) = (message, results.next()) else { return 0 };
        let result = VerifyResult {
            message: MessageHeader {
                command: U32::new(message.command.get() | MESSAGE_REPLY_BIT),
                length: U32::new(VerifyResult::LENGTH as u32),
                index: message.index,
            },
            result_mask: U64::new(result_mask),
            cycle_count: U64::new(cycle_count),
        };
        let Some(place) = messages.get_mut(to..to + VerifyResult::LENGTH) else { return 0 };
        if result.write_to(place).is_err() {
            return 0;
        }
        from += message.length.get() as usize;
        to += VerifyResult::LENGTH;
    }
    header.set_reply(Status::Ok);
    VerifyHeader::LENGTH + to
}
