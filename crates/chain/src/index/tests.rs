//! The index against a plain implementation of the protocol's definition.
use super::*;
use crate::links::{Link, Links};
use proptest::prelude::*;
use spv::hash::{index_leaf, index_node};
use spv::{BlockHeader, Hash, IndexProof, Locator, MAX_DEPTH, MAX_LEAF_ENTRIES};
use std::collections::BTreeMap;
use std::ops::Bound;
use wire::{Operation, TransactionId};
use zerocopy::{FromBytes, IntoBytes};

/// An index with its pending part.
struct Whole {
    index: Index,
    pending: Pending,
}

impl Whole {
    fn new() -> Self {
        Self::from_index(Index::new())
    }

    fn from_index(mut index: Index) -> Self {
        index.check_assets();
        Self { pending: Pending::new(&index), index }
    }

    fn apply(&mut self, height: u32, operations: &[Operation], links: &mut [Links]) -> Result<(), EffectError> {
        self.index.prepare(&mut self.pending, operations);
        self.index.apply(&mut self.pending, Locator { height, position: 0 }, operations, links)
    }

    fn undo(&mut self, operations: &[Operation]) {
        self.index.undo(&mut self.pending, operations);
    }

    /// The published root.
    fn root(&mut self) -> Hash {
        let root = self.pending.root_by(&self.index, 3);
        self.index.publish(&mut self.pending);
        root
    }

    fn prove(&self, account: &AccountId) -> IndexAnswer {
        self.index.leaf(account).prove()
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
            position: (latest.position | entry.position.get() & (1 << 30 | 1 << 29)).into(),
        };
        Link::from(before)
    };
    let balance = |model: &Model, account: &AccountId| Some(model.get(&key(account))?.balance.get());
    let is_frozen = |model: &Model, account: &AccountId| model.get(&key(account)).is_some_and(IndexEntry::is_frozen);
    let amount = operation.amount.get();
    let asset = |model: &Model, id: &AccountId| balance(model, &asset_id(id)).unwrap_or(0);
    let mark = |asset: u64| if asset != 0 { 1 << 29 } else { 0 };
    let state_asset = |model: &mut Model, id: &AccountId, asset: u64| {
        let account = asset_id(id).0;
        let (height, position) = (latest.height.into(), (latest.position | 3 << 30).into());
        if asset != 0 {
            model.insert(key(&AccountId(account)), IndexEntry { account, balance: asset.into(), height, position });
        }
    };
    let pays = if matches!(operation.command, 3 | 5 | 9 | 11) { Some(operation.source) } else { operation.payer() };
    if pays.is_some_and(|payer| is_frozen(model, &payer)) {
        return None;
    }
    match operation.command {
        1 | 12 if balance(model, &operation.source).is_none() => {
            let destination = match operation.payer() {
                Some(payer) if asset(model, &payer) != 0 => return None,
                Some(payer) => {
                    let left = balance(model, &payer)?.checked_sub(amount)?;
                    touch(model, &payer, left)
                }
                None => Link::NONE,
            };
            let entry = IndexEntry {
                account: operation.source.0,
                balance: 0.into(),
                height: latest.height.into(),
                position: (latest.position | mark(operation.asset().into())).into(),
            };
            model.insert(key(&operation.source), entry);
            state_asset(model, &operation.source, operation.asset().into());
            Some(Links { source: Link::NONE, destination })
        }
        2 => {
            let after = balance(model, &operation.source)?.checked_add(amount)?;
            Some(Links { source: touch(model, &operation.source, after), destination: Link::NONE })
        }
        3 if operation.source != operation.destination => {
            if asset(model, &operation.source) != asset(model, &operation.destination) {
                return None;
            }
            let from = balance(model, &operation.source)?.checked_sub(amount)?;
            let to = balance(model, &operation.destination)?.checked_add(amount)?;
            let source = touch(model, &operation.source, from);
            Some(Links { source, destination: touch(model, &operation.destination, to) })
        }
        5 if operation.source != operation.destination => {
            let hold = hold_id(operation);
            let (from, to) = (balance(model, &operation.source)?, balance(model, &operation.destination)?);
            let left = from.checked_sub(amount).filter(|_| balance(model, &hold).is_none())?;
            let asset = Some(asset(model, &operation.source))
                .filter(|source| *source == asset(model, &operation.destination))?;
            let (height, position) = (latest.height.into(), (latest.position | 1 << 31 | mark(asset)).into());
            state_asset(model, &hold, asset);
            model.insert(key(&hold), IndexEntry { account: hold.0, balance: amount.into(), height, position });
            let source = touch(model, &operation.source, left);
            Some(Links { source, destination: touch(model, &operation.destination, to) })
        }
        6..9 if operation.source != operation.destination => {
            let hold = hold_id(operation);
            let [from, to] = [operation.source, operation.destination].map(|account| balance(model, &account));
            let rest = balance(model, &hold)?.checked_sub(amount)?;
            let held = asset(model, &hold);
            let is_of_another = |id: &AccountId| balance(model, id).is_some() && asset(model, id) != held;
            let receives_another = amount > 0 && is_of_another(&operation.destination);
            if to.is_none() && amount > 0 || rest > 0 && is_of_another(&operation.source) || receives_another {
                return None;
            }
            model.remove(&key(&hold));
            model.remove(&key(&asset_id(&hold)));
            let source = match from {
                Some(from) => touch(model, &operation.source, from + rest),
                None if rest == 0 => Link::NONE,
                None => {
                    let (height, position) = (latest.height.into(), (latest.position | mark(held)).into());
                    let account = operation.source.0;
                    state_asset(model, &operation.source, held);
                    model
                        .insert(key(&operation.source), IndexEntry { account, balance: rest.into(), height, position });
                    Link::NONE
                }
            };
            let destination = to.map_or(Link::NONE, |to| touch(model, &operation.destination, to + amount));
            Some(Links { source, destination })
        }
        9 | 10 => {
            let before = balance(model, &operation.source)?;
            if is_frozen(model, &operation.source) != (operation.command == 10) {
                return None;
            }
            let source = touch(model, &operation.source, before);
            let entry = model.get_mut(&key(&operation.source))?;
            let marks = entry.position.get() & 1 << 29 | if operation.command == 9 { 1 << 30 } else { 0 };
            entry.position = (latest.position | marks).into();
            Some(Links { source, destination: Link::NONE })
        }
        11 if balance(model, &operation.source)? == 0 => {
            let closed = model.remove(&key(&operation.source))?;
            model.remove(&key(&asset_id(&operation.source)));
            Some(Links { source: closed.latest().into(), destination: Link::NONE })
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
        1 if amount > 0 && source % 3 == 0 => Operation::open(id, account(source), 1 + destination % 2),
        1 => Operation::create(id, account(source)),
        2 => Operation::issue(id, account(source), amount),
        4 => Operation::create_for(id, account(source), account(destination), amount),
        12 => Operation::freeze(id, account(source % 40)),
        13 => Operation::unfreeze(id, account(source % 40)),
        14 | 15 => Operation::close(id, account(source % 40)),
        // Few holds, so that they are ended, and made again.
        5..12 => {
            let hold = Operation::hold(id, account(source % 40), account(destination % 3), 1 + amount % 20, 7);
            match command {
                5..8 => hold,
                8 | 9 => Operation::capture(&hold, 1 + amount % 9),
                10 => Operation::release(&hold),
                _ => Operation::reclaim(&hold),
            }
        }
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
    let mut header = BlockHeader::read_from_bytes(&[0; spv::HEADER_SIZE]).unwrap();
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
            prop::collection::vec((1_u16..16, 0_u32..900, 0_u32..900, 1_u64..50), 0..700),
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
        check_listing(&index.index, &model, 100);
        let entries: Vec<_> = index.index.entries().copied().collect();
        let mut again = Whole::from_index(Index::from_entries(9, index.index.accounts(), entries).unwrap());
        prop_assert_eq!(again.root(), index.root());
    }

    #[test]
    fn what_is_undone_was_never_there(
        first in prop::collection::vec((1_u16..16, 0_u32..300, 0_u32..300, 1_u64..50), 0..500),
        second in prop::collection::vec((1_u16..16, 0_u32..300, 0_u32..300, 1_u64..50), 0..500),
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
            operations
        };
        keep(1, first, &mut model);
        let operations = keep(2, second, &mut model.clone());
        // The state when a block cannot be written: hashed and not published.
        index.pending.root(&index.index);
        index.undo(&operations);
        check_against(&mut index, &model);
    }
}

/// Pages of `limit` entries return the published ones, once and in order.
fn check_listing(index: &Index, published: &Model, limit: usize) {
    let mut listed: Vec<IndexEntry> = Vec::new();
    loop {
        let after = listed.last().map(|entry| AccountId(entry.account));
        let page = index.listing(after.as_ref(), limit);
        assert!(page.len() <= limit);
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    assert!(listed.iter().eq(published.values()));
    // After any account, existing or not.
    for after in (2000..2020).map(account) {
        let behind = (Bound::Excluded(key(&after)), Bound::Unbounded);
        let expected = published.range(behind).map(|(_, entry)| *entry).take(limit);
        assert!(index.listing(Some(&after), limit).into_iter().eq(expected));
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

/// Ids whose paths begin with the `bits` bits of `prefix`, found by search.
fn ground(prefix: u64, bits: u32, count: usize) -> Vec<AccountId> {
    let (mut found, mut first) = (Vec::new(), 0_u32);
    while found.len() < count {
        let candidates: Vec<_> = (first..first + 4096).map(account).collect();
        let mut paths = vec![0; candidates.len()];
        account_paths(&candidates, &mut paths);
        found.extend(candidates.iter().zip(paths).filter(|(_, path)| path >> (64 - bits) == prefix).map(|(id, _)| *id));
        first += 4096;
    }
    found.truncate(count);
    found
}

fn creates(accounts: &[AccountId]) -> Vec<Operation> {
    accounts.iter().map(|account| Operation::create(TransactionId::ZERO, *account)).collect()
}

#[test]
fn accounts_with_paths_alike_make_a_deep_trie() {
    // More accounts than a leaf holds, whose paths agree in more bits than a fingerprint has.
    let accounts: Vec<_> = ground(0x1_2345, 18, 20).into_iter().chain((0..30).map(account)).collect();
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

/// However many ids are ground, in however many blocks, the cost of each is bounded by the size of a cell, for hashing,
/// and of a group, for moving and searching.
#[test]
fn ground_ids_make_no_cell_or_group_large() {
    for (bits, count) in [(4, 6_000), (9, 3_000), (13, 1_000)] {
        let alike = ground(1, bits, count);
        for blocks in [1, 3, 20] {
            let (mut index, mut model) = (Whole::new(), Model::new());
            index.apply(1, &creates(&(0..500).map(account).collect::<Vec<_>>()), &mut [Links::NONE; 500]).unwrap();
            for (height, ids) in (2..).zip(alike.chunks(count.div_ceil(blocks))) {
                let ids: Vec<_> = ids.iter().copied().filter(|id| index.index.get(id).is_none()).collect();
                index.apply(height, &creates(&ids), &mut vec![Links::NONE; ids.len()]).unwrap();
                let (cell, group) = index.index.trie.largest();
                assert!(cell <= trie::MAX_CELL && group <= 4 * trie::MAX_CELL as usize, "{cell} {group}");
                index.root();
            }
            model.extend(index.index.entries().map(|entry| (key(&AccountId(entry.account)), *entry)));
            check_against(&mut index, &model);
            check_proofs(&mut index, alike.iter().copied().step_by(97).chain((0..600).step_by(31).map(account)));
            // Like a snapshot: in one piece, and with its crowds.
            let mut again =
                Whole::from_index(Index::from_entries(99, model.len() as u64, model.values().copied()).unwrap());
            check_against(&mut again, &model);
            let (cell, group) = again.index.trie.largest();
            assert!(cell <= trie::MAX_CELL && group <= 4 * trie::MAX_CELL as usize, "{cell} {group}");
            check_proofs(&mut again, alike.iter().copied().step_by(97));
            check_listing(&again.index, &model, 64);
        }
    }
}

/// Crowds, with crowds in them, behave like the whole: with transfers, reverted blocks, growth around them, and blocks
/// that are committed without being published.
#[test]
fn crowds_follow_the_plain_model() {
    for published_every in [1, 3, 5, 12] {
        crowds_follow(published_every);
    }
}

fn crowds_follow(published_every: u32) {
    let alike: Vec<_> = [ground(0, 6, 900), ground(5, 11, 400), ground(0x155, 11, 300)].concat();
    let mut random = storage::Random::new(7);
    let (mut index, mut committed) = (Whole::new(), Model::new());
    let (mut published, mut root) = (Model::new(), index.root());
    let mut fresh = alike.iter().copied().chain((1 << 30..).map(account));
    let (mut known, mut accounts, mut holds) = (Vec::new(), Vec::new(), Vec::new());
    for height in 1..=12 {
        let mut operations = creates(&fresh.by_ref().take(if height == 9 { 6_000 } else { 250 }).collect::<Vec<_>>());
        known.extend(operations.iter().map(|operation| operation.source));
        accounts.extend(operations.iter().map(|operation| operation.source));
        for _ in 0..600 {
            let [source, destination] = [0; 2].map(|_| accounts[random.below(accounts.len() as u64) as usize]);
            let id = TransactionId::ZERO;
            let kind = if source == destination { 0 } else { random.below(8) };
            operations.push(match kind {
                0..2 => Operation::issue(id, source, random.below(1000)),
                2..4 => Operation::transfer(id, source, destination, random.below(100)),
                4 => {
                    let hold = Operation::hold(id, source, destination, 1 + random.below(20), height);
                    known.push(hold_id(&hold));
                    holds.push(hold);
                    hold
                }
                6 => match random.below(4) {
                    0 => Operation::freeze(id, source),
                    1 | 2 => Operation::unfreeze(id, source),
                    _ => Operation::create(id, source),
                },
                7 => Operation::close(id, source),
                // Of this block, of others, and of none.
                _ => match holds.get(random.below(holds.len() as u64 + 1) as usize) {
                    Some(hold) if random.chance(0.1) => *hold,
                    Some(hold) => Operation::capture(hold, 1 + random.below(10)),
                    None => continue,
                },
            });
        }
        let mut done = committed.clone();
        let mut position = 0;
        operations.retain(|operation| {
            let is_done = apply_plainly(&mut done, operation, Locator { height, position }).is_some();
            position += u32::from(is_done);
            is_done
        });
        // A reverted block leaves no trace, and meanwhile readers see the previous states.
        for keep in [false, true] {
            index.apply(height, &operations, &mut vec![Links::NONE; operations.len()]).unwrap();
            check_readers(&index, &known, &committed, (&published, root));
            if keep {
                committed = std::mem::take(&mut done);
                index.index.commit();
            } else {
                index.pending.root(&index.index);
                index.undo(&operations);
            }
            check_readers(&index, &known, &committed, (&published, root));
            assert!(index.index.entries().eq(committed.values()));
        }
        if height % published_every == 0 {
            (published, root) = (committed.clone(), index.root());
            assert_eq!(root, root_of(&published));
            check_readers(&index, &known, &committed, (&published, root));
        }
    }
    assert!(index.index.trie.has_crowds());
    assert!(committed.values().any(IndexEntry::is_hold) && committed.values().any(IndexEntry::is_frozen));
    assert!(accounts.iter().any(|account| !committed.contains_key(&key(account))), "some are closed");
    check_against(&mut index, &committed);
    check_proofs(&mut index, known.into_iter().step_by(23));
}

/// Readers see the entries of committed blocks, and proofs of published ones.
fn check_readers(index: &Whole, known: &[AccountId], committed: &Model, (published, root): (&Model, Hash)) {
    let mut header = BlockHeader::read_from_bytes(&[0; spv::HEADER_SIZE]).unwrap();
    (header.index_root, header.accounts) = (root, (published.len() as u64).into());
    for account in known.iter().step_by(11) {
        let answer = index.prove(account);
        let proof = IndexProof { block_hash: header.hash(), height: 0, path: &answer.path, entries: &answer.entries };
        let entry = published.get(&key(account)).copied();
        assert_eq!(proof.verify_in(&account.0, &header), Ok(entry));
        assert_eq!(index.index.published(account), entry);
        assert_eq!(index.index.committed(account), committed.get(&key(account)).copied());
    }
    check_listing(&index.index, published, 100);
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
        (operation((4, 1, 2, 1)), Effect::AccountExists),
        (operation((4, 3, 4, 1)), Effect::AccountUnknown),
        (operation((4, 3, 2, 8)), Effect::Underflow),
        (operation((4, 3, 3, 1)), Effect::NotATransaction),
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
        index.undo(&block);
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
    assert_eq!(Index::from_entries(1, 500, entries.clone()).err(), Some(OrderError(301)));
    entries.swap(300, 301);
    entries[300] = entries[299];
    assert_eq!(Index::from_entries(1, 500, entries).err(), Some(OrderError(300)));
}
