//! Bytes and numbers as texts for people.

/// Bytes as lowercase hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal digits of either case. `None` unless there are exactly `2 * N`.
pub fn from_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let value = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (value(0)? << 4 | value(1)?) as u8;
    }
    Some(bytes)
}

/// A number with its thousands set apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(hex(&[0, 255]), "00ff");
        assert_eq!(["00ff", "00FF"].map(from_hex), [Some([0, 255]); 2]);
        assert_eq!(["00f", "00ff0", "00fg", "+0ff", "0€"].map(from_hex::<2>), [None; 5]);
    }
}
