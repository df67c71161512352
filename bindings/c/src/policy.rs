/// Encoding of ECDSA signatures: one of the first three values, plus any of the next two, combined with |. The others
/// are the policies of chains.
///
/// Keys have 33 bytes (2 or 3, x), 65 bytes (4, x, y), or, if the policy allows it, 65 bytes (6 or 7, x, y).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcdsaPolicy {
    /// Signatures are r and s, of 32 bytes each, big-endian, and s is low.
    Compact = 0,
    /// Signatures are strict DER (BIP66) without the byte of the signature hash type, and s is low.
    Der = 1,
    /// Signatures are in the form that Bitcoin accepted as DER before BIP66.
    LaxDer = 2,
    /// A high s is normalised, not rejected.
    NormaliseHighS = 16,
    /// Keys in the hybrid form are accepted.
    HybridKeys = 32,
    /// Bitcoin's consensus since BIP66.
    Bitcoin = 1 | 16 | 32,
    /// Bitcoin's consensus before BIP66.
    BitcoinLax = 2 | 16 | 32,
}
