//! Hexadecimal text: bytes as they are, and hashes in the order in which Bitcoin displays them.
use spv::Hash;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends bytes as hexadecimal digits.
pub fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(2 * bytes.len());
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}

/// Appends a hash as hexadecimal digits, its last byte first.
pub fn push_reversed(out: &mut Vec<u8>, hash: &Hash) {
    let mut reversed = *hash;
    reversed.reverse();
    push(out, &reversed);
}

/// The hexadecimal text of bytes.
pub fn text(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    push(&mut text, bytes);
    text.into_iter().map(char::from).collect()
}

/// The hexadecimal text of a hash, its last byte first.
pub fn reversed(hash: &Hash) -> String {
    let mut reversed = *hash;
    reversed.reverse();
    text(&reversed)
}

/// The bytes of a hexadecimal text; `None` if it is not one.
pub fn parse(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    if rest.is_empty() { pairs.iter().map(pair).collect() } else { None }
}

/// A hash from a text whose first digits are the hash's last byte.
pub fn parse_reversed(text: &str) -> Option<Hash> {
    if text.len() != 2 * size_of::<Hash>() {
        return None;
    }
    let mut hash = Hash::try_from(parse(text)?).ok()?;
    hash.reverse();
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let hash: Hash = std::array::from_fn(|n| n as u8 * 7);
        let text = reversed(&hash);
        assert!(text.starts_with("d9d2") && text.ends_with("0700"));
        assert_eq!(parse_reversed(&text), Some(hash));
        assert_eq!(parse_reversed(&text.to_uppercase()), Some(hash));
        assert_eq!(parse("00fF"), Some(vec![0, 255]));
        for wrong in ["0", "0g", "é", " 0", "0 "] {
            assert_eq!(parse(wrong), None);
        }
        assert_eq!((parse_reversed(&text[2..]), parse_reversed("é")), (None, None));
    }
}
