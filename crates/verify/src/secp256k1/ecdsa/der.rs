//! The integers r and s of a DER-encoded signature, as bytes. Their values are not checked here.

use super::Rule;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;

/// The two integers of a strict encoding (BIP66), of which each signature has exactly one.
///
/// Lengths of 128 and more, which would take the long form, belong to numbers far out of range.
pub(super) fn strict(bytes: &[u8]) -> Result<[&[u8]; 2], Rule> {
    let (content, behind) = short_element(SEQUENCE, bytes)?;
    let (r, rest) = short_element(INTEGER, content)?;
    let (s, rest) = short_element(INTEGER, rest)?;
    if !behind.is_empty() || !rest.is_empty() {
        return Err(Rule::DerStructure);
    }
    for integer in [r, s] {
        match *integer {
            [] => return Err(Rule::DerStructure),
            [0x80..=0xff, ..] => return Err(Rule::DerNegative),
            [0, 0..=0x7f, ..] => return Err(Rule::DerPadding),
            _ => {}
        }
    }
    Ok([r, s])
}

/// The content of an element whose length is below 128, and the bytes after it.
fn short_element(tag: u8, bytes: &[u8]) -> Result<(&[u8], &[u8]), Rule> {
    match *bytes {
        [first, length @ ..=0x7f, ref rest @ ..] if first == tag => {
            rest.split_at_checked(length.into()).ok_or(Rule::DerStructure)
        }
        _ => Err(Rule::DerStructure),
    }
}

/// The two integers as Bitcoin accepted them before BIP66, when it took whatever OpenSSL did: libsecp256k1's
/// `ecdsa_signature_parse_der_lax`.
///
/// The sequence's length is skipped. Lengths may be in the long form, with leading zeros. Integers are never negative,
/// and may have leading zeros or be empty. Bytes after them are ignored.
pub(super) fn lax(bytes: &[u8]) -> Result<[&[u8]; 2], Rule> {
    let [SEQUENCE, length, rest @ ..] = bytes else { return Err(Rule::DerStructure) };
    let long = if *length >= 0x80 { usize::from(length - 0x80) } else { 0 };
    let rest = rest.get(long..).ok_or(Rule::DerStructure)?;
    let (r, rest) = lax_integer(rest)?;
    let (s, _) = lax_integer(rest)?;
    Ok([r, s])
}

fn lax_integer(bytes: &[u8]) -> Result<(&[u8], &[u8]), Rule> {
    let [INTEGER, first, rest @ ..] = bytes else { return Err(Rule::DerStructure) };
    if *first < 0x80 {
        return rest.split_at_checked((*first).into()).ok_or(Rule::DerStructure);
    }
    let (length, rest) = rest.split_at_checked((first - 0x80).into()).ok_or(Rule::DerStructure)?;
    // A length that overflows exceeds the bytes that there are.
    let add = |sum: usize, byte: &u8| sum.checked_mul(256)?.checked_add((*byte).into());
    let length = length.iter().try_fold(0, add).ok_or(Rule::DerStructure)?;
    rest.split_at_checked(length).ok_or(Rule::DerStructure)
}
