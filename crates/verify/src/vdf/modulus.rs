//! Numbers modulo a number whose factors nobody knows.

use thiserror::Error;

use super::kernel::{Backend, Kernel};
use super::ring::{InRing, Ring};
use super::words::MAX_WORDS;
use crate::{sha256::Tag, tags::VDF_INPUT_TAG};

static EXPAND: Tag = Tag::new(VDF_INPUT_TAG);

/// Why bytes are not a modulus, or not a number below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NumberError {
    /// A modulus is odd and at least 3.
    #[error("a modulus has to be odd and greater than 1")]
    NotAModulus,
    /// The length exceeds the limit.
    #[error("a modulus has at most {} bits", Modulus::MAX_BITS)]
    TooLong,
    /// A number is below its modulus and has its length.
    #[error("a number has as many bytes as its modulus, and is below it")]
    OutOfRange,
}

/// A modulus: odd, of up to [`Modulus::MAX_BITS`] bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modulus {
    kernel: Kernel,
    /// 1, in Montgomery's form.
    one: Number,
    /// 2^(64 · words) in Montgomery's form: multiplying by it converts a number to that form.
    square: Number,
    length: usize,
}

/// A number below a modulus, in Montgomery's form. It is meaningless without its modulus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(pub(super) Box<[u64]>);

impl Modulus {
    /// Maximum number of bits of a modulus.
    pub const MAX_BITS: usize = 4096;

    /// The modulus of these bytes, big-endian.
    pub fn new(bytes: &[u8]) -> Result<Self, NumberError> {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let bytes = &bytes[zeros..];
        match bytes {
            [] | [1] => Err(NumberError::NotAModulus),
            [.., last] if last & 1 == 0 => Err(NumberError::NotAModulus),
            _ if bytes.len() * 8 > Self::MAX_BITS => Err(NumberError::TooLong),
            _ => Ok(Self::from_words(words(bytes, bytes.len().div_ceil(8)), bytes.len())),
        }
    }

    pub(super) fn from_words(modulus: Box<[u64]>, length: usize) -> Self {
        Self::on(Backend::all()[0], modulus, length)
    }

    /// The same on a backend of the caller's choice.
    pub(super) fn on(backend: Backend, modulus: Box<[u64]>, length: usize) -> Self {
        let words = modulus.len();
        assert!(words <= MAX_WORDS);
        let kernel = Kernel::new(modulus, backend);
        // 1 doubled once for each bit of the words is 1 in Montgomery's form; doubled as often again, it is 2^(64 ·
        // words).
        let mut number: Box<[u64]> = vec![0; words].into();
        number[0] = 1;
        for _ in 0..64 * words {
            kernel.double(&mut number);
        }
        let one = Number(number.clone());
        for _ in 0..64 * words {
            kernel.double(&mut number);
        }
        Self { kernel, one, square: Number(number), length }
    }

    /// A modulus written in decimal digits, as challenges publish it.
    pub fn from_decimal(digits: &str) -> Result<Self, NumberError> {
        let mut bytes = vec![0_u8; Self::MAX_BITS / 8];
        for digit in digits.chars() {
            let mut carry = digit.to_digit(10).ok_or(NumberError::NotAModulus)?;
            for byte in bytes.iter_mut().rev() {
                let sum = u32::from(*byte) * 10 + carry;
                (*byte, carry) = (sum as u8, sum >> 8);
            }
            if carry != 0 {
                return Err(NumberError::TooLong);
            }
        }
        Self::new(&bytes)
    }

    /// This modulus times an odd number of one word.
    pub(super) fn times(&self, factor: u64) -> Self {
        let mut carry = 0;
        let mut product: Vec<u64> = Vec::with_capacity(self.kernel.modulus.len() + 1);
        for word in &self.kernel.modulus {
            let wide = u128::from(*word) * u128::from(factor) + u128::from(carry);
            product.push(wide as u64);
            carry = (wide >> 64) as u64;
        }
        product.extend((carry != 0).then_some(carry));
        let length = product.len() * 8;
        Self::from_words(product.into(), length)
    }

    /// Name of the backend for long runs of squarings: it depends on the processor and on the length of the modulus.
    pub fn backend(&self) -> &'static str {
        self.kernel.backend()
    }

    /// Length of the modulus, and of every encoded number, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The modulus, big-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes(&self.kernel.modulus, self.length)
    }

    /// The number of these big-endian bytes, as many as the modulus has.
    pub fn number(&self, bytes: &[u8]) -> Result<Number, NumberError> {
        if bytes.len() != self.length {
            return Err(NumberError::OutOfRange);
        }
        let mut number = words(bytes, self.kernel.modulus.len());
        if !self.kernel.is_below(&number) {
            return Err(NumberError::OutOfRange);
        }
        self.kernel.multiply(&mut number, &self.square.0);
        Ok(Number(number))
    }

    /// A small number; modulo the modulus, if that is smaller still.
    pub fn small(&self, value: u64) -> Number {
        let mut number: Box<[u64]> = vec![0; self.kernel.modulus.len()].into();
        number[0] = if let [modulus] = self.kernel.modulus[..] { value % modulus } else { value };
        self.kernel.multiply(&mut number, &self.square.0);
        Number(number)
    }

    /// Hashes a message to a number: uniform, because 128 bits more than needed are taken modulo the modulus.
    pub fn hash(&self, message: &[u8]) -> Number {
        let blocks = (self.length + 16).div_ceil(32) as u64;
        let digest = |block: u64| EXPAND.hash_parts(&[&block.to_be_bytes(), message]);
        let bytes: Vec<u8> = (0..blocks).flat_map(digest).collect();
        self.reduce(&words(&bytes, bytes.len() / 8))
    }

    /// A number of any length modulo this one, its lowest word first.
    pub(super) fn reduce(&self, words: &[u64]) -> Number {
        let mut shift = self.small(1 << 32);
        self.square(&mut shift, 1);
        words.iter().rev().fold(self.small(0), |mut number, word| {
            self.multiply(&mut number, &shift);
            self.add(&mut number, &self.small(*word));
            number
        })
    }

    /// The number, big-endian.
    pub fn write(&self, number: &Number) -> Vec<u8> {
        self.bytes(&self.plain(number))
    }

    /// A number's words out of Montgomery's form, big-endian.
    pub(super) fn bytes(&self, plain: &[u64]) -> Vec<u8> {
        bytes(plain, self.length)
    }

    /// The number's words, out of Montgomery's form.
    pub(super) fn plain(&self, number: &Number) -> Box<[u64]> {
        Ring::plain(&self.kernel, &number.0)
    }

    /// 1.
    pub fn one(&self) -> Number {
        self.one.clone()
    }

    /// -a.
    pub fn negate(&self, a: &Number) -> Number {
        let mut negated = a.clone();
        if a.0.iter().any(|word| *word != 0) {
            self.kernel.negate(&mut negated.0);
        }
        negated
    }

    /// `a` becomes a + b.
    pub fn add(&self, a: &mut Number, b: &Number) {
        self.kernel.add(&mut a.0, &b.0);
    }

    /// `a` becomes a · b.
    pub fn multiply(&self, a: &mut Number, b: &Number) {
        self.kernel.multiply(&mut a.0, &b.0);
    }

    /// Squares `a` `times` times.
    pub fn square(&self, a: &mut Number, times: u64) {
        self.kernel.square(&mut a.0, times);
    }

    /// a to the power of an exponent in words, the lowest first.
    pub fn power(&self, a: &Number, exponent: &[u64]) -> Number {
        self.many(Power { one: &self.one, a, exponent })
    }

    /// Runs work that consists of many products, in the representation in which they are fastest.
    pub(super) fn many<W: InRing>(&self, work: W) -> W::Output {
        self.kernel.many(work)
    }
}

struct Power<'a> {
    one: &'a Number,
    a: &'a Number,
    exponent: &'a [u64],
}

impl InRing for Power<'_> {
    type Output = Number;

    fn run<R: Ring>(self, ring: &R) -> Number {
        /// Exponent bits per step.
        const WINDOW: u32 = 4;
        let a = ring.enter(&self.a.0);
        let mut powers = vec![ring.enter(&self.one.0)];
        for at in 1..1 << WINDOW {
            let mut power = powers[at - 1].clone();
            ring.multiply(&mut power, &a);
            powers.push(power);
        }
        let mut result = powers[0].clone();
        for word in self.exponent.iter().rev() {
            for shift in (0..64).step_by(WINDOW as usize).rev() {
                ring.square(&mut result, WINDOW.into());
                ring.multiply(&mut result, &powers[(word >> shift) as usize % (1 << WINDOW)]);
            }
        }
        Number(ring.leave(&result))
    }
}

/// Words from big-endian bytes, the lowest first.
pub(super) fn words(bytes: &[u8], count: usize) -> Box<[u64]> {
    let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let mut words: Vec<u64> = bytes.rchunks(8).map(word).collect();
    words.resize(count, 0);
    words.into()
}

fn bytes(words: &[u64], length: usize) -> Vec<u8> {
    let all: Vec<u8> = words.iter().rev().flat_map(|word| word.to_be_bytes()).collect();
    let (zeros, bytes) = all.split_at(all.len().saturating_sub(length));
    debug_assert!(zeros.iter().all(|byte| *byte == 0));
    bytes.to_vec()
}
