//! The expected content of a Bitcoin store's index, from plain maps.
use spv::{Hash, Locator};
use std::collections::HashMap;
use turnpike_chain::bitcoin::{Block, Unspent, View, script_hash};

/// The blocks of one branch, from the first to the last.
#[derive(Default)]
pub struct Model {
    outputs: HashMap<[u8; 36], (Hash, Unspent)>,
    spenders: HashMap<(Locator, u32), (Locator, u32)>,
    pub transactions: HashMap<Hash, Locator>,
    pub history: HashMap<Hash, Vec<Locator>>,
}

impl Model {
    pub fn connect(&mut self, height: u32, bytes: &[u8]) {
        let block = Block::parse(bytes).unwrap();
        for (position, transaction) in block.transactions().iter().enumerate() {
            let locator = Locator { height, position: position as u32 };
            let hash = transaction.hash();
            self.transactions.insert(hash, locator);
            if height == 0 {
                continue;
            }
            let mut scripts = Vec::new();
            for (number, input) in transaction.inputs().enumerate() {
                let Some((script, spent)) = self.outputs.remove(input.outpoint) else { continue };
                self.spenders.insert((spent.locator, spent.output), (locator, number as u32));
                scripts.push(script);
            }
            for (number, output) in transaction.outputs().enumerate() {
                let outpoint = [&hash[..], &(number as u32).to_le_bytes()].concat().try_into().unwrap();
                let script = script_hash(output.script);
                if output.script.first() != Some(&0x6a) {
                    let unspent = Unspent { locator, output: number as u32, value: output.amount };
                    self.outputs.insert(outpoint, (script, unspent));
                }
                scripts.push(script);
            }
            for script in scripts {
                let history = self.history.entry(script).or_default();
                if history.last() != Some(&locator) {
                    history.push(locator);
                }
            }
        }
    }

    pub fn from_blocks<'a>(first: u32, blocks: impl IntoIterator<Item = &'a Vec<u8>>) -> Self {
        let mut model = Self::default();
        for (height, bytes) in (first..).zip(blocks) {
            model.connect(height, bytes);
        }
        model
    }

    pub fn check(&self, view: &View) {
        for (hash, locator) in &self.transactions {
            assert_eq!(view.transaction(hash).unwrap(), Some(*locator));
            for number in 0..2_u32 {
                let outpoint: [u8; 36] = [&hash[..], &number.to_le_bytes()].concat().try_into().unwrap();
                let unspent = self.outputs.get(&outpoint).map(|(script, output)| (*script, output.value));
                assert_eq!(view.unspent_output(hash, number).unwrap(), unspent);
            }
        }
        let mut unspent: HashMap<Hash, Vec<Unspent>> = HashMap::new();
        for (script, output) in self.outputs.values() {
            unspent.entry(*script).or_default().push(*output);
            assert_eq!(view.spender(output.locator, output.output).unwrap(), None);
        }
        for ((locator, output), spender) in &self.spenders {
            assert_eq!(view.spender(*locator, *output).unwrap(), Some(*spender));
        }
        for (script, history) in &self.history {
            let mut unspent = unspent.remove(script).unwrap_or_default();
            unspent.sort_by_key(|output| (output.locator, output.output));
            assert_eq!(view.unspent(script, usize::MAX).unwrap(), unspent);
            assert_eq!(view.unspent(script, 1).unwrap(), unspent[..unspent.len().min(1)]);
            assert_eq!(view.latest(script).unwrap(), history.last().copied());
            assert_eq!(view.history_after(script, None, usize::MAX).unwrap(), *history);
            assert_eq!(view.history_after(script, Some(history[0]), usize::MAX).unwrap(), history[1..]);
            let newest_first: Vec<Locator> = history.iter().rev().copied().collect();
            assert_eq!(view.history(script, None, usize::MAX).unwrap(), newest_first);
            assert_eq!(
                view.history(script, history.last().copied(), 2).unwrap(),
                newest_first[1..].iter().copied().take(2).collect::<Vec<_>>()
            );
        }
    }
}
