//! The numbers of the rules.
//!
//! Made by schema/generate.py of schema/protocol.toml; change that.

/// The rules of all schemes, each with a number that is its own for ever: the number of its bit in a result mask of the
/// wire, and the number that C and Python see. Zero stands for no broken rule, so every number is from 1 to 63.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleCode {
    /// The Equihash solution has the length that the parameters require.
    EquihashLength = 1,
    /// The two halves of a subtree agree in the bits of its level.
    EquihashCollision = 2,
    /// The half of a subtree with the lower first index comes first.
    EquihashOrder = 3,
    /// No index is in both halves of a subtree.
    EquihashDuplicate = 4,
    /// The XOR of all leaves is zero.
    EquihashRoot = 5,
    /// The header gives its solution's length in three bytes, and it is that of the chain.
    HeaderSolutionLength = 8,
    /// The header's target is a positive number of 256 bits.
    HeaderTarget = 9,
    /// The header's hash is not above its target.
    HeaderDifficulty = 10,
    /// r and s are in the range that the scheme has for them.
    SignatureRange = 16,
    /// s is at most half the order of the group.
    SignatureHighS = 17,
    /// The key is encoded as the scheme requires.
    KeyEncoding = 18,
    /// The key is a point of the curve.
    KeyNotOnCurve = 19,
    /// The signature is one of this message with this key.
    SignatureMismatch = 20,
    /// The signature has the length of its encoding.
    SignatureLength = 21,
    /// The DER signature is a sequence of two integers, and nothing else.
    SignatureDerStructure = 22,
    /// The integers of the DER signature are not negative.
    SignatureDerNegative = 23,
    /// The integers of the DER signature have no more leading zero bytes than they need.
    SignatureDerPadding = 24,
    /// The key is not in the hybrid form.
    KeyHybrid = 25,
    /// The key's coordinates are below the field's prime.
    KeyRange = 26,
    /// The first byte of the hybrid key matches the parity of its y.
    KeyParity = 27,
    /// The signature's x is that of a point on the curve.
    NonceNotOnCurve = 28,
    /// The recovery id is from 0 to 3, and fits r.
    RecoveryId = 29,
    /// A key can be recovered from the signature.
    NoKey = 30,
    /// The Merkle root is that of the leaves.
    MerkleRoot = 32,
    /// No two nodes side by side in a Merkle tree of Bitcoin are equal (CVE-2012-2459).
    MerkleRepeated = 33,
    /// An encoding of BLS12-381 has the right length.
    PointLength = 40,
    /// The flag bits of a point match its encoding.
    PointFlags = 41,
    /// A point with the infinity flag has no other bits set.
    PointInfinityBits = 42,
    /// The 16 bytes before each field element of EIP-2537 are zero.
    CoordinatePadding = 43,
    /// The coordinates of a point are below the field's prime.
    CoordinateRange = 44,
    /// The point is on the curve.
    PointNotOnCurve = 45,
    /// The point is in the subgroup of prime order.
    PointNotInSubgroup = 46,
    /// Scalars and public inputs are below the order of the group.
    ScalarRange = 47,
    /// The point is not at infinity, if the scheme forbids it.
    PointAtInfinity = 48,
    /// An aggregate has keys, and one message per key if each has its own.
    KeyCount = 49,
    /// The proof has the number of public inputs that its verifying key requires.
    InputCount = 50,
    /// The BLS signature is one of this message with this key.
    BlsMismatch = 51,
    /// The Groth16 proof is valid for these public inputs with this verifying key.
    Groth16Mismatch = 52,
    /// The product of the pairings is one.
    PairingMismatch = 53,
    /// The proof of a delay has the form and the length that its modulus and its number of squarings require.
    DelayForm = 56,
    /// The modulus of a delay is odd and greater than 1.
    DelayModulus = 57,
    /// The numbers of a delay are below its modulus.
    DelayRange = 58,
    /// The input of a delay is not 0, 1 or -1.
    DelayInput = 59,
    /// Each output of a delay is the smaller one of itself and its negation.
    DelayCanonical = 60,
    /// Each output of a delay is proved.
    DelayMismatch = 61,
}

impl RuleCode {
    /// All rules.
    ///
    /// cbindgen:ignore
    pub const ALL: [Self; 45] = [
        Self::EquihashLength,
        Self::EquihashCollision,
        Self::EquihashOrder,
        Self::EquihashDuplicate,
        Self::EquihashRoot,
        Self::HeaderSolutionLength,
        Self::HeaderTarget,
        Self::HeaderDifficulty,
        Self::SignatureRange,
        Self::SignatureHighS,
        Self::KeyEncoding,
        Self::KeyNotOnCurve,
        Self::SignatureMismatch,
        Self::SignatureLength,
        Self::SignatureDerStructure,
        Self::SignatureDerNegative,
        Self::SignatureDerPadding,
        Self::KeyHybrid,
        Self::KeyRange,
        Self::KeyParity,
        Self::NonceNotOnCurve,
        Self::RecoveryId,
        Self::NoKey,
        Self::MerkleRoot,
        Self::MerkleRepeated,
        Self::PointLength,
        Self::PointFlags,
        Self::PointInfinityBits,
        Self::CoordinatePadding,
        Self::CoordinateRange,
        Self::PointNotOnCurve,
        Self::PointNotInSubgroup,
        Self::ScalarRange,
        Self::PointAtInfinity,
        Self::KeyCount,
        Self::InputCount,
        Self::BlsMismatch,
        Self::Groth16Mismatch,
        Self::PairingMismatch,
        Self::DelayForm,
        Self::DelayModulus,
        Self::DelayRange,
        Self::DelayInput,
        Self::DelayCanonical,
        Self::DelayMismatch,
    ];
}
