//! Decimal numbers as memcached reads them: a sign may stand in front, and what follows the digits must be white space.

/// Maximum number of digits.
pub const DIGITS: usize = 20;

/// The sign, and the value of the digits; `None` if it is too large or there are no digits.
fn parse(text: &[u8]) -> Option<(bool, u64)> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !is_space(byte))?;
    let text = &text[start..];
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let followed = digits.get(len).is_none_or(|byte| is_space(byte) || *byte == 0);
    if len == 0 || !followed {
        return None;
    }
    let value = digits[..len]
        .iter()
        .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    Some((negative, value))
}

/// A non-negative number of 64 bits. memcached accepts large negative ones, which wrap around.
pub fn unsigned(text: &[u8]) -> Option<u64> {
    parse(text).filter(|(negative, _)| !negative).map(|(_, value)| value)
}

/// A number of 32 bits that is not negative.
pub fn unsigned_32(text: &[u8]) -> Option<u32> {
    unsigned(text).and_then(|number| number.try_into().ok())
}

/// A number of 32 bits with a sign: the low bits of one of 64.
pub fn signed_32(text: &[u8]) -> Option<i32> {
    let (negative, value) = parse(text)?;
    let limit = i64::MAX as u64 + u64::from(negative);
    let number = if negative { value.wrapping_neg() } else { value };
    (value <= limit).then_some(number as i32)
}

/// Writes a number's digits to the end of `digits`, and returns them.
#[inline]
pub fn format(mut number: u64, digits: &mut [u8; DIGITS]) -> &[u8] {
    let mut start = DIGITS;
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

/// Appends a number's digits.
#[inline]
pub fn append(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(format(number, &mut [0; DIGITS]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_with_signs_and_limits() {
        let cases: [(&[u8], Option<u64>); 16] = [
            (b"0", Some(0)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"-1", None),
            (b"-18446744073709551615", None),
            (b"-9223372036854775809", None),
            (b"-0", None),
            (b"+7", Some(7)),
            (b"\t7", Some(7)),
            (b"7 x", Some(7)),
            (b"7\r", Some(7)),
            (b"7x", None),
            (b"", None),
            (b"-", None),
            (b" ", None),
            (b"0x10", None),
        ];
        for (text, number) in cases {
            assert_eq!(unsigned(text), number, "{text:?}");
        }
        assert_eq!(signed_32(b"-1"), Some(-1));
        assert_eq!(signed_32(b"2147483648"), Some(i32::MIN));
        assert_eq!(signed_32(b"9223372036854775808"), None);
        assert_eq!(signed_32(b"-9223372036854775808"), Some(0));
        assert_eq!(unsigned_32(b"4294967295"), Some(u32::MAX));
        assert_eq!(unsigned_32(b"4294967296"), None);
    }

    proptest! {
        #[test]
        fn numbers_come_back(number in any::<u64>(), small in any::<i32>()) {
            let mut digits = [0; DIGITS];
            prop_assert_eq!(format(number, &mut digits).to_vec(), number.to_string().into_bytes());
            prop_assert_eq!(unsigned(number.to_string().as_bytes()), Some(number));
            prop_assert_eq!(signed_32(small.to_string().as_bytes()), Some(small));
        }

        #[test]
        fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..30)) {
            let _ = (unsigned(&text), signed_32(&text), unsigned_32(&text));
        }
    }
}
