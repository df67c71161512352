//! Blocks and transactions in Bitcoin's serialisation, parsed in place.
//!
//! Parsing checks everything that does not depend on other blocks: encodings, limits, the position of the coinbase. It
//! does not check scripts, signatures and amounts, for which proof of work stands.
use spv::Hash;
use spv::bitcoin::{BlockHeader, CoinbaseError, Encoding, EncodingError, HEADER_SIZE, check_coinbase, sha256d};
use thiserror::Error;

/// Maximum size of a block in bytes: its weight is limited to 4,000,000, and each byte weighs at least one.
pub const MAX_BLOCK_SIZE: usize = 4_000_000;
/// Maximum weight: witness bytes count once, all others four times.
const MAX_BLOCK_WEIGHT: usize = 4_000_000;
/// Minimum size of a transaction: one input and one output with empty scripts.
const MIN_TRANSACTION_SIZE: usize = 60;
/// Minimum size of an input: outpoint, empty script, sequence.
const MIN_INPUT_SIZE: usize = 41;
/// Minimum size of an output: amount, empty script.
const MIN_OUTPUT_SIZE: usize = 9;

/// Why bytes are not a block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlockError {
    /// Too short for a header.
    #[error("{0} bytes are too few for a block")]
    Short(usize),
    /// More bytes, or more weight, than a block may have.
    #[error("the block is larger than the rules allow")]
    TooLarge,
    /// A block needs at least a coinbase.
    #[error("the block has no transactions")]
    NoTransactions,
    /// The encoding around the transactions is invalid.
    #[error("the block {0}")]
    Encoding(#[from] EncodingError),
    /// A transaction is invalid.
    #[error("transaction {position}: {error}")]
    Transaction {
        /// Its position in the block.
        position: u32,
        /// What is wrong with it.
        error: TransactionError,
    },
}

/// Why bytes are not a transaction of a block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransactionError {
    /// The encoding is invalid.
    #[error("the transaction {0}")]
    Encoding(#[from] EncodingError),
    /// It has no inputs.
    #[error("the transaction has no inputs")]
    NoInputs,
    /// It has no outputs.
    #[error("the transaction has no outputs")]
    NoOutputs,
    /// The byte after the witness marker is not 1.
    #[error("the transaction has the unknown flag {0}")]
    Flag(u8),
    /// It has the form with a witness, but the witness is empty.
    #[error("the transaction is marked as having a witness, but has none")]
    EmptyWitness,
    /// The first transaction is not a coinbase.
    #[error("the first transaction must be a coinbase: {0}")]
    Coinbase(#[from] CoinbaseError),
    /// A coinbase that is not the first transaction.
    #[error("the transaction is a coinbase, but not the first of its block")]
    CoinbaseAgain,
}

/// A transaction, in place.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    version: &'a [u8; 4],
    /// Everything that a transaction without witness has between version and lock time.
    body: &'a [u8],
    witness: &'a [u8],
    lock_time: &'a [u8; 4],
    inputs: Items<'a>,
    outputs: Items<'a>,
}

/// Encoded inputs or outputs, already checked.
#[derive(Clone, Copy, Debug)]
struct Items<'a> {
    count: usize,
    bytes: &'a [u8],
}

/// An input of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The output that it spends: the hash of a transaction, and the number of the output.
    pub outpoint: &'a [u8; 36],
    /// The solution of the spent output's script. A coinbase may have anything here.
    pub script: &'a [u8],
    /// The sequence number.
    pub sequence: &'a [u8; 4],
}

/// An output of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// Amount in satoshis.
    pub amount: u64,
    /// The script to solve in order to spend it.
    pub script: &'a [u8],
}

impl<'a> Transaction<'a> {
    /// Reads a transaction in either form, with witness or without.
    pub fn read(encoding: &mut Encoding<'a>) -> Result<Self, TransactionError> {
        let version = encoding.array()?;
        let has_witness = encoding.rest().first() == Some(&0);
        if has_witness {
            match *encoding.array()? {
                [0, 1] => {}
                // No inputs and no outputs, in the form without witness.
                [0, 0] => return Err(TransactionError::NoInputs),
                [_, flag] => return Err(TransactionError::Flag(flag)),
            }
        }
        let start = encoding.position();
        let inputs = read_items(encoding, MIN_INPUT_SIZE, read_input)?;
        let outputs = read_items(encoding, MIN_OUTPUT_SIZE, read_output)?;
        let body = encoding.since(start);
        if inputs.count == 0 {
            return Err(TransactionError::NoInputs);
        }
        if outputs.count == 0 {
            return Err(TransactionError::NoOutputs);
        }
        let start = encoding.position();
        if has_witness {
            let mut is_empty = true;
            for _ in 0..inputs.count {
                for _ in 0..encoding.count(1)? {
                    encoding.string()?;
                    is_empty = false;
                }
            }
            if is_empty {
                return Err(TransactionError::EmptyWitness);
            }
        }
        let witness = encoding.since(start);
        let lock_time = encoding.array()?;
        Ok(Self { version, body, witness, lock_time, inputs, outputs })
    }

    /// The transaction's hash, which leaves the witness out.
    pub fn hash(&self) -> Hash {
        sha256d(&self.parts())
    }

    /// The transaction without its witness.
    pub fn stripped(&self) -> Vec<u8> {
        self.parts().concat()
    }

    /// Its length without the witness.
    pub fn stripped_size(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }

    /// Whether it has the size of two hashes, so that an inner node of a Merkle tree could pass for it
    /// (CVE-2017-12842).
    pub fn is_node_sized(&self) -> bool {
        self.stripped_size() == 2 * size_of::<Hash>()
    }

    /// Its inputs.
    pub fn inputs(&self) -> impl Iterator<Item = Input<'a>> + use<'a> {
        self.inputs.iter(read_input)
    }

    /// Its outputs.
    pub fn outputs(&self) -> impl Iterator<Item = Output<'a>> + use<'a> {
        self.outputs.iter(read_output)
    }

    /// The witness of each input: the items of its stack. Empty for a transaction in the form without witness.
    pub fn witnesses(&self) -> impl Iterator<Item = Vec<&'a [u8]>> + use<'a> {
        let mut encoding = Encoding::new(self.witness);
        // It was read without error before.
        std::iter::from_fn(move || {
            let count = encoding.count(1).ok()?;
            (0..count).map(|_| encoding.string().ok()).collect()
        })
    }

    /// The version, as it is encoded.
    pub fn version(&self) -> &'a [u8; 4] {
        self.version
    }

    /// The lock time, as it is encoded.
    pub fn lock_time(&self) -> &'a [u8; 4] {
        self.lock_time
    }

    /// The encoded outputs, without their count.
    pub(super) fn encoded_outputs(&self) -> &'a [u8] {
        self.outputs.bytes
    }

    fn parts(&self) -> [&'a [u8]; 3] {
        [self.version, self.body, self.lock_time]
    }
}

impl Input<'_> {
    /// The output that it spends: the hash of its transaction, and its number.
    pub fn spent(&self) -> (Hash, u32) {
        let (hash, number) = self.outpoint.split_at(size_of::<Hash>());
        (Hash::try_from(hash).unwrap_or_default(), number.try_into().map_or(u32::MAX, u32::from_le_bytes))
    }

    /// Whether it spends nothing, as the input of a coinbase.
    pub fn is_null(&self) -> bool {
        self.outpoint[..32] == [0; 32] && self.outpoint[32..] == [0xff; 4]
    }
}

impl<'a> Items<'a> {
    /// Reads the items again; they were read without error before, so none is missing.
    fn iter<T>(self, read: impl Fn(&mut Encoding<'a>) -> Result<T, EncodingError>) -> impl Iterator<Item = T> {
        let mut encoding = Encoding::new(self.bytes);
        (0..self.count).map_while(move |_| read(&mut encoding).ok())
    }
}

fn read_items<'a, T>(
    encoding: &mut Encoding<'a>,
    least: usize,
    read: impl Fn(&mut Encoding<'a>) -> Result<T, EncodingError>,
) -> Result<Items<'a>, EncodingError> {
    let count = encoding.count(least)?;
    let start = encoding.position();
    for _ in 0..count {
        read(encoding)?;
    }
    Ok(Items { count, bytes: encoding.since(start) })
}

fn read_input<'a>(encoding: &mut Encoding<'a>) -> Result<Input<'a>, EncodingError> {
    Ok(Input { outpoint: encoding.array()?, script: encoding.string()?, sequence: encoding.array()? })
}

fn read_output<'a>(encoding: &mut Encoding<'a>) -> Result<Output<'a>, EncodingError> {
    Ok(Output { amount: u64::from_le_bytes(*encoding.array()?), script: encoding.string()? })
}

/// A block, in place.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    bytes: &'a [u8],
    header: BlockHeader,
    transactions: Vec<Transaction<'a>>,
    offsets: Vec<u32>,
}

impl<'a> Block<'a> {
    /// Parses a block, which must be all of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BlockError> {
        if bytes.len() > MAX_BLOCK_SIZE {
            return Err(BlockError::TooLarge);
        }
        let header = BlockHeader::parse(bytes).ok_or(BlockError::Short(bytes.len()))?;
        let mut encoding = Encoding::new(bytes);
        encoding.take(HEADER_SIZE)?;
        let count = encoding.count(MIN_TRANSACTION_SIZE)?;
        if count == 0 {
            return Err(BlockError::NoTransactions);
        }
        let mut stripped_size = encoding.position();
        let mut transactions = Vec::with_capacity(count);
        let mut offsets = Vec::with_capacity(count);
        for position in 0..count as u32 {
            offsets.push(encoding.position() as u32);
            let located = |error| BlockError::Transaction { position, error };
            let transaction = Transaction::read(&mut encoding).map_err(located)?;
            check_place(&transaction, position).map_err(located)?;
            stripped_size += transaction.stripped_size();
            transactions.push(transaction);
        }
        encoding.finish()?;
        if 3 * stripped_size + bytes.len() > MAX_BLOCK_WEIGHT {
            return Err(BlockError::TooLarge);
        }
        Ok(Self { bytes, header, transactions, offsets })
    }

    /// The encoded block.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header.
    pub fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// The transactions; the coinbase is the first.
    pub fn transactions(&self) -> &[Transaction<'a>] {
        &self.transactions
    }

    /// Offset of each transaction in the block.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }
}

/// The coinbase of a block that was parsed before, from the block's first bytes.
pub(super) fn coinbase(start: &[u8]) -> Result<Transaction<'_>, TransactionError> {
    let mut encoding = Encoding::new(start);
    encoding.take(HEADER_SIZE)?;
    encoding.compact_size()?;
    Transaction::read(&mut encoding)
}

/// Checks that the first transaction is a coinbase, and no other one is.
fn check_place(transaction: &Transaction<'_>, position: u32) -> Result<(), TransactionError> {
    if position > 0 {
        let is_coinbase = transaction.inputs().any(|input| input.is_null());
        return if is_coinbase { Err(TransactionError::CoinbaseAgain) } else { Ok(()) };
    }
    match check_coinbase(&transaction.stripped()) {
        // It is part of the chain; the store reports that proofs are ambiguous.
        Ok(()) | Err(CoinbaseError::NodeSized) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
