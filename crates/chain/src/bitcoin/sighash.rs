//! Digests that signatures of inputs cover: the original algorithm, BIP143 for witnesses of version 0, and BIP341 for
//! Taproot outputs spent by their key.
use super::block::{Input, Output, Transaction};
use super::coins::Coin;
use sha2::{Digest, Sha256};
use spv::Hash;
use spv::bitcoin::sha256d;
use spv::hash::TaggedHash;

/// Everything; in Taproot, the type of a signature without a sighash byte.
const DEFAULT: u8 = 0;
const ALL: u8 = 1;
const NONE: u8 = 2;
const SINGLE: u8 = 3;
const ANYONE_CAN_PAY: u8 = 0x80;

/// The digest of `SINGLE` if there is no output with the input's number: the number 1.
const MISSING_OUTPUT: Hash = {
    let mut one = [0; 32];
    one[0] = 1;
    one
};

/// Computes the digests of the signatures of one transaction.
#[derive(Clone, Debug)]
pub(super) struct SignatureHasher<'t, 'a> {
    transaction: &'t Transaction<'a>,
    inputs: Vec<Input<'a>>,
    outputs: Vec<Output<'a>>,
    /// Hashes of all outpoints, all sequence numbers and all outputs, computed for the first witness that needs them.
    witness: Option<[Hash; 3]>,
    /// The parts of the whole transaction that Taproot signatures cover, computed for the first that needs them.
    taproot: Option<TaprootHashes>,
}

/// Hashes of all outpoints, amounts and scripts of the coins, sequence numbers, and outputs (BIP341).
#[derive(Clone, Copy, Debug)]
struct TaprootHashes {
    outpoints: Hash,
    amounts: Hash,
    scripts: Hash,
    sequences: Hash,
    outputs: Hash,
}

impl<'t, 'a> SignatureHasher<'t, 'a> {
    pub(super) fn new(transaction: &'t Transaction<'a>) -> Self {
        let (inputs, outputs) = (transaction.inputs().collect(), transaction.outputs().collect());
        Self { transaction, inputs, outputs, witness: None, taproot: None }
    }

    /// The digest of a signature for an input that solves `script`, by the original algorithm. `script` contains
    /// neither the signature nor `OP_CODESEPARATOR`. Each call hashes the whole transaction.
    pub(super) fn original(&self, input: usize, script: &[u8], hash_type: u8) -> Hash {
        let kind = hash_type & 0x1f;
        let alone = hash_type & ANYONE_CAN_PAY != 0;
        if kind == SINGLE && input >= self.outputs.len() {
            return MISSING_OUTPUT;
        }
        let mut message = self.transaction.version().to_vec();
        push_size(&mut message, if alone { 1 } else { self.inputs.len() });
        for (number, other) in self.inputs.iter().enumerate() {
            let own = number == input;
            if alone && !own {
                continue;
            }
            message.extend(other.outpoint);
            push_string(&mut message, if own { script } else { &[] });
            // Other inputs may change their sequence number unless all outputs are fixed.
            message.extend(if own || !matches!(kind, NONE | SINGLE) { *other.sequence } else { [0; 4] });
        }
        match kind {
            NONE => push_size(&mut message, 0),
            SINGLE => {
                push_size(&mut message, input + 1);
                for _ in 0..input {
                    message.extend([0xff; 8]);
                    push_size(&mut message, 0);
                }
                push_output(&mut message, &self.outputs[input]);
            }
            _ => {
                push_size(&mut message, self.outputs.len());
                message.extend(self.transaction.encoded_outputs());
            }
        }
        message.extend(self.transaction.lock_time());
        message.extend(u32::from(hash_type).to_le_bytes());
        sha256d(&[&message])
    }

    /// The same by BIP143, which also covers the amount of the coin.
    pub(super) fn version_0(&mut self, input: usize, script: &[u8], amount: u64, hash_type: u8) -> Hash {
        let kind = hash_type & 0x1f;
        let alone = hash_type & ANYONE_CAN_PAY != 0;
        let [outpoints, sequences, outputs] = self.witness_hashes();
        let zero = [0; 32];
        let outputs = match (kind, self.outputs.get(input)) {
            (NONE, _) | (SINGLE, None) => zero,
            (SINGLE, Some(output)) => {
                let mut message = Vec::new();
                push_output(&mut message, output);
                sha256d(&[&message])
            }
            _ => outputs,
        };
        let own = &self.inputs[input];
        let mut code = Vec::with_capacity(script.len() + 3);
        push_string(&mut code, script);
        sha256d(&[
            self.transaction.version(),
            if alone { &zero } else { &outpoints },
            if alone || matches!(kind, NONE | SINGLE) { &zero } else { &sequences },
            own.outpoint,
            &code,
            &amount.to_le_bytes(),
            own.sequence,
            &outputs,
            self.transaction.lock_time(),
            &u32::from(hash_type).to_le_bytes(),
        ])
    }

    /// The digest of a signature that spends a Taproot output by its key (BIP341). It covers the coins of all inputs,
    /// and the annex of the witness, if any. `None` if the sighash type is invalid, or needs an output with the input's
    /// number that does not exist.
    pub(super) fn taproot(
        &mut self,
        input: usize,
        coins: &[&Coin],
        annex: Option<&[u8]>,
        hash_type: u8,
    ) -> Option<Hash> {
        let kind = hash_type & !ANYONE_CAN_PAY;
        let alone = hash_type & ANYONE_CAN_PAY != 0;
        if !(ALL..=SINGLE).contains(&kind) && hash_type != DEFAULT {
            return None;
        }
        let hashes = self.taproot_hashes(coins);
        // First the version of this algorithm.
        let mut message = vec![0, hash_type];
        message.extend(self.transaction.version());
        message.extend(self.transaction.lock_time());
        if !alone {
            message.extend([hashes.outpoints, hashes.amounts, hashes.scripts, hashes.sequences].as_flattened());
        }
        if !matches!(kind, NONE | SINGLE) {
            message.extend(hashes.outputs);
        }
        message.push(annex.is_some().into());
        if alone {
            let (own, coin) = (&self.inputs[input], coins[input]);
            message.extend(own.outpoint);
            message.extend(coin.amount.to_le_bytes());
            push_string(&mut message, &coin.script);
            message.extend(own.sequence);
        } else {
            message.extend((input as u32).to_le_bytes());
        }
        if let Some(annex) = annex {
            let mut encoded = Vec::with_capacity(annex.len() + 9);
            push_string(&mut encoded, annex);
            message.extend(Sha256::digest(encoded));
        }
        if kind == SINGLE {
            let mut output = Vec::new();
            push_output(&mut output, self.outputs.get(input)?);
            message.extend(Sha256::digest(output));
        }
        Some(TaggedHash::new("TapSighash").hash(&[&message]))
    }

    fn taproot_hashes(&mut self, coins: &[&Coin]) -> TaprootHashes {
        let (inputs, transaction) = (&self.inputs, self.transaction);
        *self.taproot.get_or_insert_with(|| {
            let mut hashers: [Sha256; 4] = Default::default();
            let mut script = Vec::new();
            for (input, coin) in inputs.iter().zip(coins) {
                script.clear();
                push_string(&mut script, &coin.script);
                let parts = [&input.outpoint[..], &coin.amount.to_le_bytes(), &script, &input.sequence[..]];
                hashers.iter_mut().zip(parts).for_each(|(hasher, part)| hasher.update(part));
            }
            let [outpoints, amounts, scripts, sequences] = hashers.map(|hasher| hasher.finalize().into());
            let outputs = Sha256::digest(transaction.encoded_outputs()).into();
            TaprootHashes { outpoints, amounts, scripts, sequences, outputs }
        })
    }

    fn witness_hashes(&mut self) -> [Hash; 3] {
        let (inputs, transaction) = (&self.inputs, self.transaction);
        *self.witness.get_or_insert_with(|| {
            let outpoints: Vec<&[u8]> = inputs.iter().map(|input| &input.outpoint[..]).collect();
            let sequences: Vec<&[u8]> = inputs.iter().map(|input| &input.sequence[..]).collect();
            [sha256d(&outpoints), sha256d(&sequences), sha256d(&[transaction.encoded_outputs()])]
        })
    }
}

fn push_output(message: &mut Vec<u8>, output: &Output<'_>) {
    message.extend(output.amount.to_le_bytes());
    push_string(message, output.script);
}

fn push_string(message: &mut Vec<u8>, string: &[u8]) {
    push_size(message, string.len());
    message.extend(string);
}

fn push_size(message: &mut Vec<u8>, size: usize) {
    match size {
        0..0xfd => message.push(size as u8),
        0xfd..0x1_0000 => {
            message.push(0xfd);
            message.extend((size as u16).to_le_bytes());
        }
        _ => {
            message.push(0xfe);
            message.extend((size as u32).to_le_bytes());
        }
    }
}
