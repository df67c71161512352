//! Hexadecimal digits, as keys, hashes and scripts are written.

/// Bytes as lowercase hexadecimal.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal; `None` where it is not.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|index| u8::from_str_radix(&text[index..index + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_only() {
        assert_eq!(decode("00fF"), Some(vec![0, 255]));
        assert_eq!(encode(&[0, 255]), "00ff");
        for text in ["0", "+5", "0x00", "é", "0g"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
