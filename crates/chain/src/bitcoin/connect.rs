//! The changes to the index when blocks join the active branch or leave it.
use super::block::{Block, Transaction};
use super::error::{Error, damaged};
use super::index::{
    Index, LocatorBytes, Outpoint, OutputRecord, encode_locator, encode_point, history_key, locator_of_key,
};
use super::pending::Pending;
use sha2::{Digest, Sha256};
use spv::{Hash, Locator};
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, IntoBytes};

/// Blocks that can be disconnected: two weeks of them. No reorganisation of mainnet was ever longer than a few dozen.
pub(super) const UNDO_DEPTH: u32 = 2016;

/// Stands for an output that is not known.
const UNRESOLVED: OutputRecord = OutputRecord { script: [0; 32], value: U64::ZERO, locator: ABSENT };
/// Stands for the locator of a transaction that was not there before.
const ABSENT: LocatorBytes = [0xff; 8];
/// The longest script that can be spent.
const MAX_SCRIPT_SIZE: usize = 10_000;
const OP_RETURN: u8 = 0x6a;

/// A block with the hashes of its transactions.
pub(super) struct Hashed<'a> {
    pub block: &'a Block<'a>,
    pub leaves: &'a [Hash],
    pub height: u32,
}

/// The result of connecting a block.
pub(super) struct Connected {
    /// The scripts that it pays or spends from, in order, each once.
    pub scripts: Vec<Hash>,
    /// Inputs that spend an output of a block that is not in the store.
    pub unresolved: u64,
}

impl Hashed<'_> {
    fn locator(&self, position: usize) -> Locator {
        Locator { height: self.height, position: position as u32 }
    }
}

/// Puts a block on top of the active branch.
pub(super) fn connect(index: &Index, pending: &mut Pending, hashed: &Hashed<'_>) -> Result<Connected, Error> {
    let mut connected = Connected { scripts: Vec::new(), unresolved: 0 };
    let mut undo = Vec::new();
    if hashed.height == 0 {
        // Genesis's coinbase can be proved, but its output does not exist for any node.
        pending.set_transaction(&hashed.leaves[0], Some(encode_locator(hashed.locator(0))));
        pending.active.insert(0, Some(hashed.block.header().hash()));
        return Ok(connected);
    }
    // Only a coinbase can have the hash of an earlier transaction; before BIP34, two of them do.
    let before = pending.transaction(index, &hashed.leaves[0])?;
    undo.extend(before.unwrap_or(ABSENT));
    if before.is_some() {
        // The outputs of the earlier one are overwritten.
        for outpoint in spendable(&hashed.block.transactions()[0], &hashed.leaves[0]) {
            undo.extend(pending.spend_output(index, &outpoint)?.unwrap_or(UNRESOLVED).as_bytes());
        }
    }
    for (position, (transaction, hash)) in hashed.block.transactions().iter().zip(hashed.leaves).enumerate() {
        let first = connected.scripts.len();
        let locator = hashed.locator(position);
        let encoded = encode_locator(locator);
        if position > 0 {
            for (number, input) in (0..).zip(transaction.inputs()) {
                let spent = pending.spend_output(index, input.outpoint)?;
                undo.extend_from_slice(spent.unwrap_or(UNRESOLVED).as_bytes());
                match spent {
                    Some(output) => {
                        connected.scripts.push(output.script);
                        let spent = encode_point(output.locator, output_number(input.outpoint));
                        pending.set_spender(spent, Some(encode_point(encoded, number)));
                    }
                    None => connected.unresolved += 1,
                }
            }
        }
        for (number, output) in transaction.outputs().enumerate() {
            let script = script_hash(output.script);
            connected.scripts.push(script);
            if is_spendable(output.script) {
                let record = OutputRecord { script, value: output.amount.into(), locator: encoded };
                pending.add_output(outpoint(hash, number), record);
            }
        }
        for script in &connected.scripts[first..] {
            pending.add_history(script, locator);
        }
        pending.set_transaction(hash, Some(encoded));
    }
    pending.active.insert(hashed.height, Some(hashed.block.header().hash()));
    pending.undo.set(hashed.height, undo);
    if let Some(old) = hashed.height.checked_sub(UNDO_DEPTH) {
        pending.undo.remove(old);
    }
    sort(&mut connected.scripts);
    Ok(connected)
}

/// Takes the last block off the active branch, and returns the scripts that it touched.
///
/// When all blocks that have to leave have left, the caller restores their latest transactions with [`restore_latest`].
pub(super) fn disconnect(index: &Index, pending: &mut Pending, hashed: &Hashed<'_>) -> Result<Vec<Hash>, Error> {
    let height = hashed.height;
    let undo = index.undo.get(height.to_be_bytes())?;
    let undo = undo.ok_or_else(|| damaged(format!("the undo data of block {height} is missing")))?;
    let wrong = || damaged(format!("the undo data of block {height} does not match the block"));
    let (before, rest) = undo.split_first_chunk::<8>().ok_or_else(wrong)?;
    let mut spent = <[OutputRecord]>::ref_from_bytes(rest).map_err(|_| wrong())?;
    let mut scripts = Vec::new();
    // Backwards, so that an output made and spent in the block is first restored and then removed.
    for (position, (transaction, hash)) in hashed.block.transactions().iter().zip(hashed.leaves).enumerate().rev() {
        let first = scripts.len();
        let encoded = encode_locator(hashed.locator(position));
        if position > 0 {
            let inputs: Vec<_> = transaction.inputs().collect();
            let (others, own) = spent.split_at_checked(spent.len().wrapping_sub(inputs.len())).ok_or_else(wrong)?;
            spent = others;
            for (input, output) in inputs.iter().zip(own).filter(|(_, output)| **output != UNRESOLVED) {
                pending.add_output(*input.outpoint, *output);
                pending.set_spender(encode_point(output.locator, output_number(input.outpoint)), None);
                scripts.push(output.script);
            }
        }
        for (number, output) in transaction.outputs().enumerate() {
            let script = script_hash(output.script);
            scripts.push(script);
            if is_spendable(output.script) {
                let record = OutputRecord { script, value: output.amount.into(), locator: encoded };
                pending.remove_output(outpoint(hash, number), &record);
            }
        }
        for script in &scripts[first..] {
            pending.remove_history(script, hashed.locator(position));
        }
        pending.set_transaction(hash, (position == 0 && *before != ABSENT).then_some(*before));
    }
    if *before != ABSENT {
        let outpoints = spendable(&hashed.block.transactions()[0], &hashed.leaves[0]);
        for (outpoint, output) in outpoints.zip(spent).filter(|(_, output)| **output != UNRESOLVED) {
            pending.add_output(outpoint, *output);
        }
    }
    pending.active.insert(height, None);
    pending.undo.remove(height);
    sort(&mut scripts);
    Ok(scripts)
}

/// Sets the latest transactions of scripts to what they were when the block at height `fork` was the tip.
pub(super) fn restore_latest(index: &Index, pending: &mut Pending, scripts: &[Hash], fork: u32) -> Result<(), Error> {
    for script in scripts {
        let first = history_key(script, Locator { height: 0, position: 0 });
        let last = history_key(script, Locator { height: fork, position: u32::MAX });
        let latest = match index.history.range(first..=last).next_back() {
            Some(entry) => Some(locator_of_key(&entry.key()?)?),
            None => None,
        };
        pending.set_latest(script, latest);
    }
    Ok(())
}

/// The hash that a script is indexed by.
pub fn script_hash(script: &[u8]) -> Hash {
    Sha256::digest(script).into()
}

/// Whether an output can ever be spent, and therefore has to be stored.
pub fn is_spendable(script: &[u8]) -> bool {
    script.first() != Some(&OP_RETURN) && script.len() <= MAX_SCRIPT_SIZE
}

/// The outputs of a transaction that can be spent.
fn spendable<'a>(transaction: &Transaction<'a>, hash: &Hash) -> impl Iterator<Item = Outpoint> + use<'a> {
    let hash = *hash;
    let numbered = transaction.outputs().enumerate();
    numbered.filter(|(_, output)| is_spendable(output.script)).map(move |(number, _)| outpoint(&hash, number))
}

fn output_number(outpoint: &Outpoint) -> u32 {
    let [.., a, b, c, d] = *outpoint;
    u32::from_le_bytes([a, b, c, d])
}

/// An output of a transaction, in its serialised form.
pub(super) fn outpoint(transaction: &Hash, number: usize) -> Outpoint {
    let mut outpoint = [0; 36];
    outpoint[..32].copy_from_slice(transaction);
    outpoint[32..].copy_from_slice(&(number as u32).to_le_bytes());
    outpoint
}

fn sort(scripts: &mut Vec<Hash>) {
    scripts.sort_unstable();
    scripts.dedup();
}
