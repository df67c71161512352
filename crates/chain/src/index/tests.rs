//! The index against the protocol's definition, plainly followed.
use super::*;
use crate::links::{Link, Links};
use proptest::prelude::*;
use spv::hash::{index_leaf, index_node};
use spv::{BlockHeader, IndexProof, Locator, MAX_DEPTH, MAX_LEAF_ENTRIES};
use std::collections::BTreeMap;
use std::convert::Infallible;
use wire::{Operation, TransactionId};
use zerocopy::IntoBytes;

/// An index with its pending part.
struct Whole {
    index: Index,
    pending: Pending,
}

impl Whole {
    fn new() -> Self {
        Self::of(Index::new())
    }

    fn of(index: Index) -> Self {
        Self { pending: Pending::new(&index), index }
    }

    fn apply(&mut self, height: u32, operations: &[Operation], links: &mut [Links]) -> Result<(), EffectError> {
        self.index.prepare(&mut self.pending, operations);
        self.index.apply(&mut self.pending, Locator { height, position: 0 }, operations, links)
    }

    fn undo(&mut self, height: u32, operations: &[Operation], links: &[Links]) {
        self.index.undo(&mut self.pending, height, operations, links);
    }

    /// The root, published.
    fn root(&mut self) -> Hash {
        let root = self.pending.root(&self.index);
        self.index.publish(&mut self.pending);
        root
    }

    fn prove(&self, account: &AccountId) -> IndexAnswer {
        self.index.prove(account, |entry| Ok::<_, Infallible>(Some(*entry))).unwrap()
    }
}

/// Accounts in the index's order.
type Model = BTreeMap<(u64, [u8; 16]), IndexEntry>;

fn plain_root(entries: &[(u64, IndexEntry)], depth: usize) -> Hash {
    if entries.len() <= MAX_LEAF_ENTRIES || depth == MAX_DEPTH {
        let leaf: Vec<_> = entries.iter().map(|(_, entry)| *entry).collect();
        return index_leaf(leaf.as_bytes());
    }
    let (left, right) = entries.split_at(entries.partition_point(|(path, _)| path >> (63 - depth) & 1 == 0));
    index_node(&plain_root(left, depth + 1), &plain_root(right, depth + 1))
}

fn root_of(model: &Model) -> Hash {
    let entries: Vec<_> = model.iter().map(|((path, _), entry)| (*path, *entry)).collect();
    plain_root(&entries, 0)
}

fn key(account: &AccountId) -> (u64, [u8; 16]) {
    (spv::account_path(&account.0), account.0)
}

fn apply_plainly(model: &mut Model, operation: &Operation, latest: Locator) -> Option<Links> {
    let touch = |model: &mut Model, account: &AccountId, balance: u64| {
        let entry = model.get_mut(&key(account)).unwrap();
        let before = entry.latest();
        *entry = IndexEntry {
            account: account.0,
            balance: balance.into(),
            height: latest.height.into(),
            position: latest.position.into(),
        };
        Link::from(before)
    };
    let balance = |model: &Model, account: &AccountId| Some(model.get(&key(account))?.balance.get());
    let amount = operation.amount.get();
    match operation.command.get() {
        1 if balance(model, &operation.source).is_none() => {
            let entry = IndexEntry {
                account: operation.source.0,
                balance: 0.into(),
                height: latest.height.into(),
                position: latest.position.into(),
            };
            model.insert(key(&operation.source), entry);
            Some(Links::NONE)
        }
        2 => {
            let after = balance(model, &operation.source)?.checked_add(amount)?;
            Some(Links { source: touch(model, &operation.source, after), destination: Link::NONE })
        }
        3 if operation.source != operation.destination => {
            let from = balance(model, &operation.source)?.checked_sub(amount)?;
            let to = balance(model, &operation.destination)?.checked_add(amount)?;
            let source = touch(model, &operation.source, from);
            Some(Links { source, destination: touch(model, &operation.destination, to) })
        }
        _ => None,
    }
}

fn account(n: u32) -> AccountId {
    AccountId::from(u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

fn operation((command, source, destination, amount): (u16, u32, u32, u64)) -> Operation {
    let id = TransactionId::ZERO;
    match command {
        1 => Operation::create(id, account(source)),
        2 => Operation::issue(id, account(source), amount),
        _ => Operation::transfer(id, account(source), account(destination), amount),
    }
}

fn check_against(index: &mut Whole, model: &Model) {
    let root = index.root();
    assert_eq!(root, root_of(model));
    assert_eq!(index.index.accounts(), model.len() as u64);
    assert!(index.index.entries().eq(model.values()));
}

fn check_proofs(index: &mut Whole, accounts: impl Iterator<Item = AccountId>) {
    let mut header = BlockHeader::genesis("test", &[0; 16], 0);
    header.index_root = index.root();
    header.accounts = index.index.accounts().into();
    for account in accounts {
        let answer = index.prove(&account);
        let proof = IndexProof { block_hash: header.hash(), height: 0, path: &answer.path, entries: &answer.entries };
        assert_eq!(proof.verify_in(&account.0, &header), Ok(index.index.get(&account)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn follows_the_plain_model(
        blocks in prop::collection::vec(
            prop::collection::vec((1_u16..4, 0_u32..900, 0_u32..900, 1_u64..50), 0..700),
            1..5,
        ),
    ) {
        let (mut index, mut model) = (Whole::new(), Model::new());
        for (height, block) in blocks.into_iter().enumerate() {
            let height = height as u32 + 1;
            let mut operations = Vec::new();
            let mut expected = Vec::new();
            for candidate in block.into_iter().map(operation) {
                let latest = Locator { height, position: operations.len() as u32 };
                if let Some(links) = apply_plainly(&mut model, &candidate, latest) {
                    operations.push(candidate);
                    expected.push(links);
                }
            }
            let mut links = vec![Links::NONE; operations.len()];
            index.apply(height, &operations, &mut links).unwrap();
            prop_assert_eq!(links, expected);
            check_against(&mut index, &model);
        }
        check_proofs(&mut index, (0..1000).step_by(13).map(account));
        let entries: Vec<_> = index.index.entries().copied().collect();
        let mut again = Whole::of(Index::from_entries(index.index.accounts(), entries).unwrap());
        prop_assert_eq!(again.root(), index.root());
    }

    #[test]
    fn what_is_undone_was_never_there(
        first in prop::collection::vec((1_u16..4, 0_u32..300, 0_u32..300, 1_u64..50), 0..500),
        second in prop::collection::vec((1_u16..4, 0_u32..300, 0_u32..300, 1_u64..50), 0..500),
    ) {
        let (mut index, mut model) = (Whole::new(), Model::new());
        let mut keep = |height, block: Vec<_>, model: &mut Model| {
            let mut operations = Vec::new();
            for candidate in block.into_iter().map(operation) {
                if apply_plainly(model, &candidate, Locator { height, position: operations.len() as u32 }).is_some() {
                    operations.push(candidate);
                }
            }
            let mut links = vec![Links::NONE; operations.len()];
            index.apply(height, &operations, &mut links).unwrap();
            (operations, links)
        };
        keep(1, first, &mut model);
        let (operations, links) = keep(2, second, &mut model.clone());
        index.root();
        index.undo(2, &operations, &links);
        check_against(&mut index, &model);
    }
}

#[test]
fn every_size_up_to_a_few_hundred() {
    let (mut index, mut model) = (Whole::new(), Model::new());
    for n in 0..600 {
        let create = operation((1, n, 0, 0));
        apply_plainly(&mut model, &create, Locator { height: n, position: 0 }).unwrap();
        index.apply(n, &[create], &mut [Links::NONE]).unwrap();
        check_against(&mut index, &model);
        if n % 50 == 16 {
            check_proofs(&mut index, (0..n + 40).map(account));
        }
    }
}

#[test]
fn accounts_with_paths_alike_make_a_deep_trie() {
    // More accounts than a leaf holds whose paths agree in more bits than a fingerprint has: found by search.
    let alike = (0_u32..).map(account).filter(|account| spv::account_path(&account.0) >> 46 == 0x1_2345);
    let accounts: Vec<_> = alike.take(20).chain((0..30).map(account)).collect();
    let (mut index, mut model) = (Whole::new(), Model::new());
    for (height, account) in accounts.iter().enumerate() {
        let create = Operation::create(TransactionId::ZERO, *account);
        apply_plainly(&mut model, &create, Locator { height: height as u32, position: 0 }).unwrap();
        index.apply(height as u32, &[create], &mut [Links::NONE]).unwrap();
        check_against(&mut index, &model);
    }
    assert!(index.prove(&accounts[0]).path.len() > 18);
    check_proofs(&mut index, accounts.into_iter());
}

#[test]
fn contradictions_are_errors_and_can_be_taken_back() {
    let good = [operation((1, 1, 0, 0)), operation((1, 2, 0, 0)), operation((2, 1, 0, u64::MAX))];
    let cases = [
        (operation((1, 1, 0, 0)), Effect::AccountExists),
        (operation((2, 3, 0, 1)), Effect::AccountUnknown),
        (operation((3, 1, 3, 1)), Effect::AccountUnknown),
        (operation((3, 3, 1, 1)), Effect::AccountUnknown),
        (operation((3, 2, 1, 1)), Effect::Underflow),
        (operation((2, 1, 0, 1)), Effect::Overflow),
        (operation((3, 1, 1, 1)), Effect::NotATransaction),
        (Operation::refer(TransactionId::ZERO, account(1)), Effect::NotATransaction),
    ];
    for (bad, effect) in cases {
        let mut index = Whole::new();
        index.apply(1, &good, &mut [Links::NONE; 3]).unwrap();
        let before = index.root();
        let mut links = [Links::NONE; 2];
        let block = [operation((3, 1, 2, 7)), bad];
        let block = if effect == Effect::Underflow || effect == Effect::Overflow {
            [operation((1, 9, 0, 0)), bad]
        } else {
            block
        };
        let error = index.apply(2, &block, &mut links).unwrap_err();
        assert_eq!(error, EffectError { height: 2, position: 1, effect });
        index.undo(2, &block, &links);
        assert_eq!(index.root(), before);
    }
}

#[test]
fn entries_out_of_order_are_refused() {
    let mut index = Whole::new();
    let creates: Vec<_> = (0..500).map(|n| operation((1, n, 0, 0))).collect();
    index.apply(1, &creates, &mut vec![Links::NONE; 500]).unwrap();
    let mut entries: Vec<_> = index.index.entries().copied().collect();
    entries.swap(300, 301);
    assert_eq!(Index::from_entries(500, entries.clone()).err(), Some(OrderError(301)));
    entries.swap(300, 301);
    entries[300] = entries[299];
    assert_eq!(Index::from_entries(500, entries).err(), Some(OrderError(300)));
}
