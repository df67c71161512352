//! Blocks coming onto the active branch and leaving it: what that changes in the index.
use super::block::Block;
use super::error::Error;
use super::index::{Index, LocatorBytes, Outpoint, damaged, encode_locator, history_key, locator_of_key};
use super::pending::Pending;
use sha2::{Digest, Sha256};
use spv::{Hash, Locator};

/// Blocks that can be disconnected: two weeks of them. No reorganisation of mainnet was ever longer than a few dozen.
pub(super) const UNDO_DEPTH: u32 = 2016;

/// In place of the script hash of an output that is not known.
const UNRESOLVED: Hash = [0; 32];
/// In place of the locator of a transaction that was not there before.
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

/// What connecting a block did.
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
    // Only a coinbase can have the hash of an earlier transaction, and before BIP34 two of them do.
    let before = pending.transaction(index, &hashed.leaves[0])?;
    undo.extend(before.unwrap_or(ABSENT));
    for (position, (transaction, hash)) in hashed.block.transactions().iter().zip(hashed.leaves).enumerate() {
        let first = connected.scripts.len();
        if position > 0 {
            for input in transaction.inputs() {
                let script = pending.spend_output(index, input.outpoint)?;
                undo.extend(script.unwrap_or(UNRESOLVED));
                match script {
                    Some(script) => connected.scripts.push(script),
                    None => connected.unresolved += 1,
                }
            }
        }
        for (number, output) in transaction.outputs().enumerate() {
            let script = script_hash(output.script);
            connected.scripts.push(script);
            if is_spendable(output.script) {
                pending.add_output(outpoint(hash, number), script);
            }
        }
        let locator = hashed.locator(position);
        for script in &connected.scripts[first..] {
            pending.add_history(script, locator);
        }
        pending.set_transaction(hash, Some(encode_locator(locator)));
    }
    pending.active.insert(hashed.height, Some(hashed.block.header().hash()));
    pending.undo.insert(hashed.height, Some(undo));
    if let Some(old) = hashed.height.checked_sub(UNDO_DEPTH) {
        pending.undo.insert(old, None);
    }
    sort(&mut connected.scripts);
    Ok(connected)
}

/// Takes the last block off the active branch, and returns the scripts that it touched. The caller restores their latest
/// transactions with [`restore_latest`] when all blocks that have to go are gone.
pub(super) fn disconnect(index: &Index, pending: &mut Pending, hashed: &Hashed<'_>) -> Result<Vec<Hash>, Error> {
    let height = hashed.height;
    let undo = index.undo.get(height.to_be_bytes())?;
    let undo = undo.ok_or_else(|| damaged(format!("the data to undo block {height} is missing")))?;
    let wrong = || damaged(format!("the data to undo block {height} does not fit the block"));
    let (before, rest) = undo.split_first_chunk::<8>().ok_or_else(wrong)?;
    let (mut spent, _) = rest.as_chunks::<32>();
    let mut scripts = Vec::new();
    // Backwards, so that an output made and spent in the block is restored first and removed then.
    for (position, (transaction, hash)) in hashed.block.transactions().iter().zip(hashed.leaves).enumerate().rev() {
        let first = scripts.len();
        if position > 0 {
            let inputs: Vec<_> = transaction.inputs().collect();
            let (others, own) = spent.split_at_checked(spent.len().wrapping_sub(inputs.len())).ok_or_else(wrong)?;
            spent = others;
            for (input, script) in inputs.iter().zip(own).filter(|(_, script)| **script != UNRESOLVED) {
                pending.add_output(*input.outpoint, *script);
                scripts.push(*script);
            }
        }
        for (number, output) in transaction.outputs().enumerate() {
            scripts.push(script_hash(output.script));
            if is_spendable(output.script) {
                pending.remove_output(outpoint(hash, number));
            }
        }
        for script in &scripts[first..] {
            pending.remove_history(script, hashed.locator(position));
        }
        pending.set_transaction(hash, (position == 0 && *before != ABSENT).then_some(*before));
    }
    pending.active.insert(height, None);
    pending.undo.insert(height, None);
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

/// What scripts are indexed by.
pub fn script_hash(script: &[u8]) -> Hash {
    Sha256::digest(script).into()
}

/// Whether an output can ever be spent, so that it has to be remembered.
fn is_spendable(script: &[u8]) -> bool {
    script.first() != Some(&OP_RETURN) && script.len() <= MAX_SCRIPT_SIZE
}

fn outpoint(transaction: &Hash, number: usize) -> Outpoint {
    let mut outpoint = [0; 36];
    outpoint[..32].copy_from_slice(transaction);
    outpoint[32..].copy_from_slice(&(number as u32).to_le_bytes());
    outpoint
}

fn sort(scripts: &mut Vec<Hash>) {
    scripts.sort_unstable();
    scripts.dedup();
}
