//! Paths in the index are hashes under a key that everybody knows, so ids can be searched for whose paths begin alike: what one of
//! them costs the block builder and a proof has to stay what any account costs.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use chain::index::{Index, Pending};
use chain::links::Links;
use client::{Client, Options};
use spv::{Locator, account_path};
use turnpike_attacks::Victim;
use wire::{AccountId, Operation, Promise, TransactionId};

/// Ids whose paths all begin with ten zeros: that many bits are more than what an index of so few accounts has groups and cells for.
fn ground() -> &'static [AccountId] {
    const COUNT: usize = 2_000;
    const BITS: u32 = 10;
    static FOUND: OnceLock<Vec<AccountId>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let ids = (1_u32..).map(AccountId::from);
        ids.filter(|id| account_path(&id.0) >> (64 - BITS) == 0).take(COUNT).collect()
    })
}

fn creates(accounts: &[AccountId]) -> Vec<Operation> {
    (1_u32..).zip(accounts).map(|(n, account)| Operation::create(TransactionId::from(n), *account)).collect()
}

/// Counted in entries that are hashed, as time depends on the machine: all 2,000 are hashed again with each block, and for each
/// proof, where they are one cell's.
#[test]
fn ids_alike_cost_what_any_account_costs() {
    const MOST: u64 = 256;
    let accounts = ground();
    let mut index = Index::new();
    let mut pending = Pending::new(&index);
    let mut block = |height: u32, operations: &[Operation]| {
        index.prepare(&mut pending, operations);
        let before = pending.hashed();
        let first = Locator { height, position: 0 };
        index.apply(&mut pending, first, operations, &mut vec![Links::NONE; operations.len()]).unwrap();
        pending.root(&index);
        index.publish(&mut pending);
        let cost = pending.hashed() - before;
        (cost, accounts.iter().map(|account| index.leaf(account).entries()).max().unwrap())
    };
    let (cost, _) = block(1, &creates(accounts));
    assert!(cost <= 2 * accounts.len() as u64, "{cost} entries hashed for {} accounts", accounts.len());
    for (height, account) in (2..).zip(accounts.iter().step_by(100)) {
        let (cost, proof) = block(height, &[Operation::issue(TransactionId::ZERO, *account, 1)]);
        assert!(cost <= MOST && proof as u64 <= MOST, "{cost} entries hashed for one account, {proof} for a proof");
    }
}

/// A node that is given them settles them and proves each of them, also after it has read them again.
#[test]
fn a_node_proves_ids_alike() {
    let accounts = ground();
    let mut victim = Victim::start(|_| {});
    for restart in [false, true] {
        if restart {
            victim.restart();
        }
        let options = Options { promise: Promise::Durable, ..Options::default() };
        let mut client = Client::connect(victim.address(), &options).unwrap();
        if !restart {
            let receipts = client.submit(&creates(accounts)).unwrap();
            assert!(receipts.iter().all(|receipt| receipt.status.is_ok()));
        }
        let mut chain = client.open_chain(None).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while chain.tip().accounts.get() < 2_000 {
            assert!(Instant::now() < deadline, "not settled");
            client.sync_headers(&mut chain).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        for account in accounts.iter().step_by(50) {
            assert!(client.prove_index(&mut chain, *account).unwrap().entry.is_some());
        }
    }
}
