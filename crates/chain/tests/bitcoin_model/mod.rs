//! What the index of a Bitcoin store should say, from plain maps.
use spv::{Hash, Locator};
use std::collections::HashMap;
use turnpike_chain::bitcoin::{Block, View, script_hash};

/// The blocks of one branch, from the first to the last.
#[derive(Default)]
pub struct Model {
    outputs: HashMap<[u8; 36], Hash>,
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
            let spent = transaction.inputs().filter_map(|input| self.outputs.remove(input.outpoint));
            let mut scripts: Vec<Hash> = spent.collect();
            for (number, output) in transaction.outputs().enumerate() {
                let outpoint = [&hash[..], &(number as u32).to_le_bytes()].concat().try_into().unwrap();
                self.outputs.insert(outpoint, script_hash(output.script));
                scripts.push(script_hash(output.script));
            }
            for script in scripts {
                let history = self.history.entry(script).or_default();
                if history.last() != Some(&locator) {
                    history.push(locator);
                }
            }
        }
    }

    pub fn of<'a>(first: u32, blocks: impl IntoIterator<Item = &'a Vec<u8>>) -> Self {
        let mut model = Self::default();
        for (height, bytes) in (first..).zip(blocks) {
            model.connect(height, bytes);
        }
        model
    }

    pub fn check(&self, view: &View) {
        for (hash, locator) in &self.transactions {
            assert_eq!(view.transaction(hash).unwrap(), Some(*locator));
        }
        for (script, history) in &self.history {
            assert_eq!(view.latest(script).unwrap(), history.last().copied());
            let newest_first: Vec<Locator> = history.iter().rev().copied().collect();
            assert_eq!(view.history(script, None, usize::MAX).unwrap(), newest_first);
            assert_eq!(
                view.history(script, history.last().copied(), 2).unwrap(),
                newest_first[1..].iter().copied().take(2).collect::<Vec<_>>()
            );
        }
    }
}
