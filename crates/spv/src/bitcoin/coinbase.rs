//! The shape of a coinbase transaction, which distinguishes it from an inner node of the tree.
use super::encoding::{Encoding, EncodingError};
use thiserror::Error;

/// Why bytes are not a coinbase transaction without a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CoinbaseError {
    /// 64 bytes: they could also be an inner node of the tree.
    #[error("it has 64 bytes, as an inner node of the tree has (CVE-2017-12842)")]
    NodeSized,
    /// Not a transaction at all.
    #[error("invalid encoding: {0}")]
    Encoding(#[from] EncodingError),
    /// The number of inputs is not one.
    #[error("it has {0} inputs in place of one; is the witness still in it?")]
    Inputs(u64),
    /// Its input spends something.
    #[error("its input spends an output, which a coinbase can't")]
    Spends,
    /// The input's script is shorter or longer than the consensus rules allow.
    #[error("its input script has {0} bytes, not 2 to 100")]
    Script(usize),
    /// It has no outputs.
    #[error("it has no outputs")]
    NoOutputs,
}

/// Checks that `transaction` is a coinbase transaction, serialised without a witness.
///
/// An attacker who could pass 64 bytes of an inner node for a transaction, or the other way round, could move the
/// leaves of the tree to another level. To make an inner node that begins with a coinbase's version, one input and an
/// empty outpoint, the attacker would have to find a hash with 27 chosen bytes.
pub fn check_coinbase(transaction: &[u8]) -> Result<(), CoinbaseError> {
    if transaction.len() == 64 {
        return Err(CoinbaseError::NodeSized);
    }
    let mut encoding = Encoding::new(transaction);
    encoding.u32()?;
    match encoding.compact_size()? {
        1 => {}
        inputs => return Err(CoinbaseError::Inputs(inputs)),
    }
    if *encoding.array::<32>()? != [0; 32] || encoding.u32()? != u32::MAX {
        return Err(CoinbaseError::Spends);
    }
    let script = encoding.string()?;
    if !(2..=100).contains(&script.len()) {
        return Err(CoinbaseError::Script(script.len()));
    }
    encoding.u32()?;
    let outputs = encoding.count(9)?;
    if outputs == 0 {
        return Err(CoinbaseError::NoOutputs);
    }
    for _ in 0..outputs {
        encoding.array::<8>()?;
        encoding.string()?;
    }
    encoding.u32()?;
    Ok(encoding.finish()?)
}

#[cfg(test)]
pub(super) mod model {
    /// A coinbase with this input script, paying to a script of this many bytes.
    pub fn coinbase(script: &[u8], output_script: usize) -> Vec<u8> {
        let mut bytes = [&[1, 0, 0, 0, 1][..], &[0; 32], &[0xff; 4], &[script.len() as u8], script].concat();
        bytes.extend([0xff; 4]);
        bytes.push(1);
        bytes.extend(5_000_000_000_u64.to_le_bytes());
        bytes.push(output_script as u8);
        bytes.resize(bytes.len() + output_script, 0x51);
        bytes.extend([0; 4]);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::coinbase;

    #[test]
    fn shape() {
        let good = coinbase(&[3, 1, 2, 3], 25);
        assert_eq!(check_coinbase(&good), Ok(()));
        for end in 0..good.len() {
            assert!(check_coinbase(&good[..end]).is_err());
        }
        assert_eq!(check_coinbase(&[&good[..], &[0]].concat()), Err(EncodingError::Trailing(good.len()).into()));
        assert_eq!(check_coinbase(&coinbase(&[1], 25)), Err(CoinbaseError::Script(1)));
        assert_eq!(check_coinbase(&coinbase(&[1; 101], 25)), Err(CoinbaseError::Script(101)));
        let mut spends = good.clone();
        spends[5] = 1;
        assert_eq!(check_coinbase(&spends), Err(CoinbaseError::Spends));
        let mut witness = good.clone();
        witness[4] = 0;
        assert_eq!(check_coinbase(&witness), Err(CoinbaseError::Inputs(0)));
        let node_sized = coinbase(&[1, 2], 2);
        assert_eq!(node_sized.len(), 64);
        assert_eq!(check_coinbase(&node_sized), Err(CoinbaseError::NodeSized));
    }
}
