//! Any bytes as a list of coins, and a block whose inputs spend them in rotation: the amounts that the inputs claim.
#![no_main]

use chain::bitcoin::{Block, Coin, Coins, Rules, claims};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let (list, block) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    if let Ok(coins) = Coins::parse(list) {
        assert!(39 * coins.len() <= list.len());
    }
    let Ok(block) = Block::parse(block) else { return };
    // Scripts that the block itself pays to, and some of the recognised forms.
    let script_hash = [&[0xa9, 20][..], &[7; 20], &[0x87]].concat();
    let taproot = [&[0x51, 32][..], &[7; 32]].concat();
    for transaction in block.transactions() {
        let scripts = transaction.outputs().map(|output| output.script.to_vec());
        let scripts: Vec<Vec<u8>> = scripts.chain([list.to_vec(), script_hash.clone(), taproot.clone()]).collect();
        let coin = |number: usize| {
            let script = scripts[number % scripts.len()].as_slice().into();
            (number % 5 != 4).then_some(Coin { amount: number as u64, script })
        };
        let coins: Vec<Option<Coin>> = (0..transaction.inputs().count()).map(coin).collect();
        let claimed = claims(transaction, &coins, Rules::ALL);
        assert_eq!(claimed.len(), coins.len());
        for (claim, coin) in claimed.iter().zip(&coins) {
            assert_eq!(claim.is_some(), coin.is_some());
            if let Some(Ok(claim)) = claim {
                assert!(!claim.signatures.is_empty() && claim.signatures.len() <= claim.keys.len());
            }
        }
    }
});
