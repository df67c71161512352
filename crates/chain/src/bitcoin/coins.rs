//! Coins: the outputs that inputs spend.
//!
//! A file of coins is Bitcoin Core's serialisation of a list of outpoints and coins: a compact size, then for each the
//! outpoint (36 bytes) and the coin as in the chain state (height and whether a coinbase made it, the compressed
//! amount, the compressed script: `coins.h` and `compressor.cpp` of Bitcoin Core).
use secp256k1::PublicKey;
use spv::bitcoin::{Encoding, EncodingError};
use std::collections::HashMap;
use thiserror::Error;

/// The longest script that can be spent; Bitcoin Core stores no longer ones.
const MAX_SCRIPT_SIZE: usize = 10_000;
/// The fewest bytes of a coin in a file: outpoint, height, amount, the length of an empty script.
const MIN_COIN_SIZE: usize = 39;
/// Forms of compressed scripts. From this number on, it is the length of an uncompressed script plus this.
const SPECIAL_SCRIPTS: u64 = 6;

/// The hash of a transaction and the number of an output, as in inputs.
pub type OutpointBytes = [u8; 36];

/// What an output pays, and the condition for spending it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coin {
    /// Satoshis.
    pub amount: u64,
    /// The script.
    pub script: Box<[u8]>,
}

/// Why bytes are not a list of coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CoinsError {
    /// The bytes do not encode one.
    #[error("the list of coins {0}")]
    Encoding(#[from] EncodingError),
    /// A variable-length number exceeds 64 bits.
    #[error("the list of coins has a number beyond 64 bits at byte {0}")]
    Number(usize),
    /// A script that nobody could spend.
    #[error("the list of coins has a script of more than 10,000 bytes at byte {0}")]
    Script(usize),
    /// A compressed key that is not a point of the curve.
    #[error("the list of coins has a script at byte {0} whose key is not on the curve")]
    Key(usize),
}

/// Coins by their outpoints.
#[derive(Clone, Debug, Default)]
pub struct Coins {
    by_outpoint: HashMap<OutpointBytes, Coin>,
}

impl Coins {
    /// Reads a file of coins.
    pub fn parse(bytes: &[u8]) -> Result<Self, CoinsError> {
        let mut encoding = Encoding::new(bytes);
        let count = encoding.count(MIN_COIN_SIZE)?;
        let mut by_outpoint = HashMap::with_capacity(count);
        for _ in 0..count {
            let outpoint = *encoding.array()?;
            read_number(&mut encoding)?;
            let amount = decompress_amount(read_number(&mut encoding)?);
            let script = read_script(&mut encoding)?;
            by_outpoint.insert(outpoint, Coin { amount, script });
        }
        encoding.finish()?;
        Ok(Self { by_outpoint })
    }

    /// The number of coins.
    pub fn len(&self) -> usize {
        self.by_outpoint.len()
    }

    /// Whether there are no coins.
    pub fn is_empty(&self) -> bool {
        self.by_outpoint.is_empty()
    }

    /// Adds a coin.
    pub fn add(&mut self, outpoint: OutpointBytes, coin: Coin) {
        self.by_outpoint.insert(outpoint, coin);
    }

    /// Adds all coins of another list.
    pub fn extend(&mut self, other: Self) {
        self.by_outpoint.extend(other.by_outpoint);
    }

    /// Removes and returns the coin that an input spends, as it can be spent only once.
    pub fn spend(&mut self, outpoint: &OutpointBytes) -> Option<Coin> {
        self.by_outpoint.remove(outpoint)
    }
}

/// Bitcoin Core's `VARINT`: seven bits per byte, most significant first, the numbers of each length continuing where
/// the shorter length ends.
fn read_number(encoding: &mut Encoding<'_>) -> Result<u64, CoinsError> {
    let start = encoding.position();
    let mut number = 0_u64;
    loop {
        let [byte] = *encoding.array()?;
        let shifted = number.checked_mul(128).ok_or(CoinsError::Number(start))? | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok(shifted);
        }
        number = shifted.checked_add(1).ok_or(CoinsError::Number(start))?;
    }
}

/// Amounts are compressed by their trailing decimal zeros. One that overflows never resulted from compression.
fn decompress_amount(compressed: u64) -> u64 {
    let Some(rest) = compressed.checked_sub(1) else { return 0 };
    let (rest, zeros) = (rest / 10, rest % 10);
    let (number, zeros) = match zeros {
        9 => (rest.wrapping_add(1), 9),
        _ => ((rest / 9).wrapping_mul(10).wrapping_add(rest % 9 + 1), zeros as u32),
    };
    number.wrapping_mul(10_u64.pow(zeros))
}

fn read_script(encoding: &mut Encoding<'_>) -> Result<Box<[u8]>, CoinsError> {
    let start = encoding.position();
    let form = read_number(encoding)?;
    let script = match form {
        0 => [&[0x76, 0xa9, 20][..], encoding.take(20)?, &[0x88, 0xac]].concat(),
        1 => [&[0xa9, 20][..], encoding.take(20)?, &[0x87]].concat(),
        2 | 3 => [&[33, form as u8][..], encoding.take(32)?, &[0xac]].concat(),
        4 | 5 => {
            let compressed = [&[form as u8 - 2], encoding.take(32)?].concat();
            let key = PublicKey::from_slice(&compressed).map_err(|_| CoinsError::Key(start))?;
            [&[65][..], &key.serialize_uncompressed(), &[0xac]].concat()
        }
        length => {
            let length = usize::try_from(length - SPECIAL_SCRIPTS).map_err(|_| CoinsError::Script(start))?;
            if length > MAX_SCRIPT_SIZE {
                return Err(CoinsError::Script(start));
            }
            encoding.take(length)?.to_vec()
        }
    };
    Ok(script.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `CompressAmount` of Bitcoin Core.
    fn compress_amount(mut amount: u64) -> u64 {
        if amount == 0 {
            return 0;
        }
        let mut zeros = 0;
        while amount.is_multiple_of(10) && zeros < 9 {
            amount /= 10;
            zeros += 1;
        }
        match zeros {
            9 => 1 + (amount - 1) * 10 + 9,
            _ => 1 + (amount / 10 * 9 + amount % 10 - 1) * 10 + zeros,
        }
    }

    /// The pairs of Bitcoin Core's `compress_amounts` test, and round trips around them.
    #[test]
    fn amounts() {
        let (cent, coin) = (1_000_000, 100_000_000);
        for (amount, compressed) in
            [(0, 0), (1, 1), (cent, 7), (coin, 9), (50 * coin, 0x32), (21_000_000 * coin, 0x140_6f40)]
        {
            assert_eq!(decompress_amount(compressed), amount);
        }
        for amount in (0..100_000).chain((0..10_000).map(|n| n * cent)).chain((0..10_000).map(|n| n * 50 * coin)) {
            assert_eq!(decompress_amount(compress_amount(amount)), amount);
        }
        decompress_amount(u64::MAX);
    }

    #[test]
    fn numbers() {
        let number = |bytes: &[u8]| read_number(&mut Encoding::new(bytes));
        assert_eq!(number(&[0x7f]), Ok(0x7f));
        assert_eq!(number(&[0x80, 0x00]), Ok(0x80));
        assert_eq!(number(&[0x80, 0x7f]), Ok(0xff));
        assert_eq!(number(&[0xfe, 0x7f]), Ok(0x3fff));
        assert_eq!(number(&[0x80, 0x80, 0x00]), Ok(0x4080));
        assert_eq!(number(&[0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0x7f]), Ok(u64::MAX));
        assert_eq!(number(&[0xff; 11]), Err(CoinsError::Number(0)));
        assert!(matches!(number(&[0xff]), Err(CoinsError::Encoding(_))));
    }

    #[test]
    fn scripts_of_all_forms() {
        let generator = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        let x: Vec<u8> = (0..32).map(|at| u8::from_str_radix(&generator[2 * at..][..2], 16).unwrap()).collect();
        let script = |bytes: &[u8]| read_script(&mut Encoding::new(bytes)).map(|script| script.to_vec());
        assert_eq!(script(&[&[0][..], &[7; 20]].concat()).unwrap().len(), 25);
        assert_eq!(script(&[&[1][..], &[7; 20]].concat()).unwrap().len(), 23);
        assert_eq!(script(&[&[3][..], &x].concat()).unwrap()[..2], [33, 3]);
        let uncompressed = script(&[&[4][..], &x].concat()).unwrap();
        assert_eq!((uncompressed.len(), &uncompressed[..2], &uncompressed[2..34]), (67, &[65, 4][..], &x[..]));
        assert_eq!(script(&[&[5][..], &[0xff; 32]].concat()), Err(CoinsError::Key(0)));
        assert_eq!(script(&[8, 0x51, 0x52]), Ok(vec![0x51, 0x52]));
        assert_eq!(script(&[6]), Ok(vec![]));
        assert_eq!(script(&[0xff, 0xff, 0x7f]), Err(CoinsError::Script(0)));
    }
}
