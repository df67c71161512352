//! Our own chain from block to proof, on real files and on a simulated disk that crashes.
mod history;
mod retention;

use super::record::Section;
use super::*;
use crate::merkle::{SignedTail, TAIL_SIZE};
use spv::{BlockHeader, HeaderChain, IndexProof, Locator, Seal, SealedHeader, SealingKey, TransactionProof};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use storage::{Directory, Faults, Random, RealDirectory, SimulatedDisk};
use wire::{AccountId, Operation, TransactionId};
use zerocopy::IntoBytes;

/// Small, so that blocks cross segments.
const OPTIONS: Options = Options { segment_size: 8192, levels: Levels::Stored, roots: RootSchedule::NODE };

/// In [`OPTIONS`], blocks are small and all state the index root. Here about half do not.
const FEWER_ROOTS: RootSchedule = RootSchedule { small_block: 3, eighths: 12 };

fn key() -> SealingKey {
    SealingKey::from_bytes(&[1; 32]).unwrap()
}

fn genesis() -> SealedHeader {
    key().seal(&BlockHeader::genesis("test", &[3; 16], 1000, &key().public()))
}

fn open(directory: &Arc<dyn Directory>) -> Result<OwnChain, Error> {
    open_with(directory, OPTIONS)
}

fn open_with(directory: &Arc<dyn Directory>, options: Options) -> Result<OwnChain, Error> {
    let catalog = Box::new(FileCatalog::new(Arc::clone(directory)));
    OwnChain::open(Arc::clone(directory), catalog, options, || Ok(genesis()))
}

fn account(n: u64) -> AccountId {
    AccountId::from(u128::from(n) << 70 | u128::from(n))
}

/// Creates valid blocks, and tracks their effects in a simple way.
struct Model {
    random: Random,
    /// Number of accounts.
    accounts: u64,
    /// HOLDs of open holds.
    holds: Vec<Operation>,
    frozen: HashSet<AccountId>,
    /// Those that are not 0, of accounts and of open holds.
    assets: HashMap<AccountId, u32>,
    /// Of accounts, and of open holds.
    balances: HashMap<AccountId, u64>,
    history: HashMap<AccountId, Vec<(Locator, Operation)>>,
    /// Balances and latest transactions as of the last stated index root.
    stated: HashMap<AccountId, (u64, Locator)>,
    headers: HeaderChain,
    next_id: u32,
}

/// A block of the model's.
#[derive(Clone)]
struct ModelBlock {
    operations: Vec<Operation>,
    tails: Vec<SignedTail>,
}

impl ModelBlock {
    fn next(&self, height: u64) -> NextBlock<'_> {
        NextBlock {
            operations: &self.operations,
            tails: &self.tails,
            end_sequence: height * 10_000,
            timestamp: 1000 + height,
        }
    }
}

impl Model {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            accounts: 0,
            holds: Vec::new(),
            frozen: HashSet::new(),
            assets: HashMap::new(),
            balances: HashMap::new(),
            history: HashMap::new(),
            stated: HashMap::new(),
            headers: HeaderChain::new(&genesis().hash(), genesis()).unwrap(),
            next_id: 0,
        }
    }

    fn height(&self) -> u64 {
        self.headers.height()
    }

    /// The next block; the model is ahead of the chain until [`Model::built`].
    fn block(&mut self, size: u64) -> ModelBlock {
        let height = self.height() as u32 + 1;
        let mut block = ModelBlock { operations: Vec::new(), tails: Vec::new() };
        while (block.operations.len() as u64) < size {
            let position = block.operations.len() as u32;
            self.next_id += 1;
            let id = TransactionId::from(self.next_id);
            let accounts = self.accounts;
            let [a, b] = [(); 2].map(|()| account(self.random.below(accounts.max(1))));
            let amount = self.random.below(50) + 1;
            let has =
                |account: &AccountId, amount: u64| self.balances.get(account).is_some_and(|balance| *balance >= amount);
            let (exists, is_frozen) = (has(&a, 0), self.frozen.contains(&a));
            let can_pay = has(&a, amount) && !is_frozen;
            let is_same = self.assets.get(&a) == self.assets.get(&b);
            let asset = self.random.below(6).saturating_sub(3) as u32;
            let open = |account| match asset {
                0 => Operation::create(id, account),
                asset => Operation::open(id, account, asset),
            };
            let operation = match self.random.below(18) {
                10 | 11 if can_pay && is_same && a != b && has(&b, 0) => Operation::hold(id, a, b, amount, position),
                14 if is_frozen => Operation::unfreeze(id, a),
                14 if exists => Operation::freeze(id, a),
                15 if exists && !is_frozen && !has(&a, 1) => Operation::close(id, a),
                // Empties an account, to be closed.
                16 if can_pay && is_same && a != b && has(&b, 0) => Operation::transfer(id, a, b, self.balances[&a]),
                17 if accounts > 0 && !exists => open(a),
                12 | 13 if !self.holds.is_empty() => {
                    let number = self.random.below(self.holds.len() as u64) as usize;
                    let hold = self.holds[number];
                    // Its parties may have opened their accounts in another asset since.
                    let held = self.assets.get(&crate::index::hold_id(&hold));
                    let is_of_another = |id| self.balances.contains_key(id) && self.assets.get(id) != held;
                    if is_of_another(&hold.source) || is_of_another(&hold.destination) {
                        continue;
                    }
                    self.holds.swap_remove(number);
                    match self.random.below(4) {
                        _ if !self.balances.contains_key(&hold.destination) => Operation::reclaim(&hold),
                        0 => Operation::release(&hold),
                        1 => Operation::reclaim(&hold),
                        _ => Operation::capture(&hold, 1 + self.random.below(hold.amount())),
                    }
                }
                0 => open(account(accounts)),
                9 if can_pay && !a.is_zero() && !self.assets.contains_key(&a) => {
                    Operation::create_for(id, account(accounts), a, amount)
                }
                1 | 2 if exists => Operation::issue(id, a, amount),
                _ if can_pay && is_same && a != b && has(&b, 0) => Operation::transfer(id, a, b, amount),
                _ if accounts < 4 => Operation::create(id, account(accounts)),
                _ => continue,
            };
            if operation.payer().is_some() || self.random.below(5) == 0 {
                block.tails.push(SignedTail { position, tail: [self.next_id as u8; TAIL_SIZE] });
            }
            self.apply(&operation, Locator { height, position });
            block.operations.push(operation);
        }
        block
    }

    fn apply(&mut self, operation: &Operation, at: Locator) {
        let amount = operation.amount.get();
        if operation.is_of_hold() {
            return self.apply_to_hold(operation, at);
        }
        self.history.entry(operation.source).or_default().push((at, *operation));
        let balance = self.balances.entry(operation.source).or_default();
        match operation.command {
            1 | 12 => {
                if operation.asset() != 0 {
                    self.add_asset(operation.source, operation.asset(), at, operation);
                }
                self.accounts += u64::from(operation.source == account(self.accounts));
                if let Some(payer) = operation.payer() {
                    *self.balances.get_mut(&payer).unwrap() -= amount;
                    self.history.get_mut(&payer).unwrap().push((at, *operation));
                }
            }
            2 => *balance += amount,
            3 => {
                *balance -= amount;
                *self.balances.get_mut(&operation.destination).unwrap() += amount;
                self.history.get_mut(&operation.destination).unwrap().push((at, *operation));
            }
            9 => assert!(self.frozen.insert(operation.source)),
            10 => assert!(self.frozen.remove(&operation.source)),
            11 => {
                self.history.remove(&operation.source);
                assert_eq!(self.balances.remove(&operation.source), Some(0));
                self.remove_asset(operation.source);
            }
            _ => {}
        }
    }

    fn add_asset(&mut self, id: AccountId, asset: u32, at: Locator, operation: &Operation) {
        self.assets.insert(id, asset);
        self.history.insert(crate::index::asset_id(&id), vec![(at, *operation)]);
    }

    fn remove_asset(&mut self, id: AccountId) {
        if self.assets.remove(&id).is_some() {
            self.history.remove(&crate::index::asset_id(&id)).unwrap();
        }
    }

    /// All entries of the index: accounts, open holds, and the assets of both.
    fn entries(&self) -> HashMap<AccountId, u64> {
        let assets = self.assets.iter().map(|(id, asset)| (crate::index::asset_id(id), u64::from(*asset)));
        self.balances.iter().map(|(id, balance)| (*id, *balance)).chain(assets).collect()
    }

    fn apply_to_hold(&mut self, operation: &Operation, at: Locator) {
        let (amount, hold) = (operation.amount(), crate::index::hold_id(operation));
        if operation.ends_hold() {
            self.history.remove(&hold).unwrap();
            let held = self.balances.remove(&hold).unwrap();
            // Both may have closed their accounts. What the payer gets back opens its account again.
            let asset = self.assets.get(&hold).copied();
            self.remove_asset(hold);
            if held > amount {
                if let Some(asset) = asset.filter(|_| !self.balances.contains_key(&operation.source)) {
                    self.add_asset(operation.source, asset, at, operation);
                }
                self.balances.entry(operation.source).or_default();
                self.history.entry(operation.source).or_default();
            }
            for (account, change) in [(operation.source, held - amount), (operation.destination, amount)] {
                if let Some(balance) = self.balances.get_mut(&account) {
                    *balance += change;
                    self.history.get_mut(&account).unwrap().push((at, *operation));
                }
            }
        } else {
            for account in [operation.source, operation.destination] {
                self.history.get_mut(&account).unwrap().push((at, *operation));
            }
            *self.balances.get_mut(&operation.source).unwrap() -= amount;
            self.balances.insert(hold, amount);
            if let Some(&asset) = self.assets.get(&operation.source) {
                self.add_asset(hold, asset, at, operation);
            }
            self.history.insert(hold, vec![(at, *operation)]);
            self.holds.push(*operation);
        }
    }

    fn built(&mut self, tip: &Tip) {
        self.headers.append(key().seal(&tip.header)).unwrap();
        assert_eq!(*self.headers.tip_hash(), tip.hash);
        if tip.header.states_index() {
            let latest = |account: &AccountId| self.history[account].last().unwrap().0;
            self.stated = self.entries().into_iter().map(|(id, balance)| (id, (balance, latest(&id)))).collect();
            assert_eq!((tip.index_height, tip.index_transactions), (tip.height(), tip.transactions));
        }
    }

    /// Checks that the chain is at the model's height, and all of its answers.
    fn check(&self, chain: &OwnChain) {
        let reader = chain.reader();
        let first = reader.first_retained();
        let is_retained = |at: Locator| u64::from(at.height) >= first;
        assert_eq!(reader.tip().hash, *self.headers.tip_hash());
        let entries = self.entries();
        assert_eq!(reader.tip().header.accounts.get(), entries.len() as u64);
        for (account, balance) in &entries {
            let entry = self.check_index(&reader, account);
            let stated = entry.map(|entry| (entry.balance.get(), entry.latest()));
            assert_eq!(stated, self.stated.get(account).copied());
            let history = &self.history[account];
            let (latest, operation) = history[history.len() - 1];
            let entry = reader.account(account).unwrap().unwrap();
            assert_eq!((entry.balance.get(), entry.latest()), (*balance, latest));
            assert_eq!(entry.is_frozen(), self.frozen.contains(account));
            assert_eq!(entry.has_asset(), self.assets.contains_key(account));
            assert_eq!(entry.asset().is_some(), !self.balances.contains_key(account));
            if entry.asset().is_some() {
                assert_eq!(reader.latest(account).unwrap(), None);
                assert_eq!(reader.history(account).unwrap().count(), 0);
                continue;
            }
            if is_retained(latest) {
                let answer = reader.latest(account).unwrap().unwrap();
                assert_eq!(
                    (answer.operation, answer.height, answer.position),
                    (operation, latest.height.into(), latest.position)
                );
                self.check_transaction(&answer);
            } else {
                assert!(is_pruned(&reader.latest(account)));
            }
            check_walk(reader.history(account).unwrap(), history, first);
            let (middle, _) = history[history.len() / 2];
            let rest = reader.history_before(account, middle);
            if is_retained(middle) {
                check_walk(rest.unwrap().unwrap(), &history[..history.len() / 2], first);
            } else {
                assert!(is_pruned(&rest));
            }
            if !is_retained(latest) {
                continue;
            }
            let no_place = Locator { position: u32::MAX, ..latest };
            assert!(reader.history_before(account, no_place).unwrap().is_none());
        }
        for closed in (0..self.accounts).map(account).filter(|account| !self.balances.contains_key(account)) {
            assert_eq!((reader.account(&closed).unwrap(), reader.latest(&closed).unwrap()), (None, None));
            let stated = self.check_index(&reader, &closed).map(|entry| (entry.balance.get(), entry.latest()));
            assert_eq!(stated, self.stated.get(&closed).copied());
        }
        for n in self.accounts..self.accounts + 20 {
            assert_eq!(self.check_index(&reader, &account(n)), None);
            assert_eq!(reader.latest(&account(n)).unwrap(), None);
        }
        let elsewhere = Locator { height: self.height() as u32 + 1, position: 0 };
        assert!(reader.history_before(&account(0), elsewhere).unwrap().is_none());
        let stranger = account(self.accounts);
        for (others, _) in self.history.values().flatten().step_by(7).filter(|(at, _)| is_retained(*at)) {
            assert!(reader.history_before(&stranger, *others).unwrap().is_none());
        }
        let listed = reader.accounts(None, usize::MAX).1.into_iter();
        let stated = |entry: spv::IndexEntry| (AccountId(entry.account), (entry.balance.get(), entry.latest()));
        assert_eq!(listed.map(stated).collect::<HashMap<_, _>>(), self.stated);
        assert_eq!(reader.accounts(None, 0).0, reader.tip().index_height);
        let headers = reader.headers(0, usize::MAX).unwrap();
        assert_eq!(headers.len() as u64, self.height() + 1);
        assert_eq!(headers, self.headers.all());
        assert!(reader.headers(self.height() + 1, 5).unwrap().is_empty());
        let total: u128 = self.balances.values().map(|balance| u128::from(*balance)).sum();
        let audited = audit(chain, |_| ()).unwrap();
        assert_eq!((audited.tip, audited.total, audited.first_retained), (chain.tip(), total, first));
        assert!(if first <= 1 { audited.first_replayed == 1 } else { audited.first_replayed >= first });
    }

    fn check_index(&self, reader: &OwnReader, account: &AccountId) -> Option<spv::IndexEntry> {
        let answer = reader.index_entry(account).unwrap();
        let proof = IndexProof {
            block_hash: answer.block_hash,
            height: answer.height,
            path: &answer.proof.path,
            entries: &answer.proof.entries,
        };
        proof.verify(&account.0, &self.headers).unwrap()
    }

    fn check_transaction(&self, answer: &TransactionAnswer) {
        let bytes = [answer.operation.as_bytes(), answer.tail.as_ref().map_or(&[], |tail| tail)].concat();
        let proof = TransactionProof {
            tip_hash: answer.tip_hash,
            tip_height: answer.tip_height,
            block_hash: answer.block_hash,
            height: answer.height,
            transactions: answer.transactions,
            position: answer.position,
            leaf: answer.leaf,
            path: &answer.path,
            transaction: &bytes,
        };
        proof.verify(&self.headers).unwrap();
    }
}

fn is_pruned<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Pruned { .. }))
}

/// Checks that a walk has the transactions of a history, newest first, down to the first retained block.
fn check_walk(walk: History, history: &[(Locator, Operation)], first: u64) {
    let pruned = history.partition_point(|(at, _)| u64::from(at.height) < first);
    let mut steps = Vec::from_iter(walk);
    if pruned > 0 {
        assert!(steps.pop().is_some_and(|last| is_pruned(&last)));
    }
    assert!(steps.into_iter().map(Result::unwrap).eq(history[pruned..].iter().rev().copied()));
}

fn real() -> (tempfile::TempDir, Arc<dyn Directory>) {
    let folder = tempfile::tempdir().unwrap();
    let directory = Arc::new(RealDirectory::open(folder.path()).unwrap());
    (folder, directory)
}

#[test]
fn blocks_of_every_shape_are_proved_and_survive_a_restart() {
    for roots in [RootSchedule::NODE, FEWER_ROOTS] {
        blocks_of_every_shape_are_proved(Options { roots, ..OPTIONS });
    }
}

fn blocks_of_every_shape_are_proved(options: Options) {
    let (_folder, directory) = real();
    let mut model = Model::new(1);
    let mut chain = open_with(&directory, options).unwrap();
    for size in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 300, 0, 1000] {
        let block = model.block(size);
        let tip = chain.append(block.next(model.height() + 1), &mut key()).unwrap();
        model.built(&tip);
        let reader = chain.reader();
        for position in 0..size as u32 {
            let answer = reader.by_locator(tip.height(), position).unwrap().unwrap();
            assert_eq!(answer.operation, block.operations[position as usize]);
            let signed = block.tails.iter().find(|tail| tail.position == position);
            assert_eq!(answer.tail, signed.map(|tail| tail.tail));
            model.check_transaction(&answer);
            let found = reader.by_id(&answer.operation.transaction, &answer.operation.namer()).unwrap();
            assert_eq!(found, Some(answer));
        }
        assert_eq!(reader.by_locator(tip.height(), size as u32).unwrap(), None);
    }
    assert_eq!(chain.reader().by_id(&TransactionId::from(77_777_u32), &account(0)).unwrap(), None);
    assert_eq!(chain.reader().by_locator(u64::MAX, 0).unwrap(), None);
    model.check(&chain);
    let tip = chain.tip();
    drop(chain);
    let chain = open(&directory).unwrap();
    assert_eq!(chain.tip(), tip);
    model.check(&chain);
    drop(chain);
    let rebuilt = open_with(&directory, Options { levels: Levels::Rebuilt, ..OPTIONS }).unwrap();
    model.check(&rebuilt);
}

#[test]
fn blocks_that_state_no_root_are_proved_by_the_last_one_that_does() {
    let mut without = 0;
    for seed in 0..3 {
        let disk = SimulatedDisk::new(seed);
        let options = Options { roots: FEWER_ROOTS, ..OPTIONS };
        let mut random = Random::new(seed);
        let mut model = Model::new(seed);
        let mut chain = open_with(&disk.root(), options).unwrap();
        for height in 1..=20 {
            // A block that cannot be written leaves no trace in what readers see.
            let block = model.block(if random.chance(0.1) { random.below(3) } else { random.below(100) });
            disk.set_faults(Faults { write: 0.1, sync: 0.1, ..Faults::default() });
            let tip = loop {
                match chain.append(block.next(height), &mut key()) {
                    Ok(tip) => break tip,
                    Err(error) => assert!(matches!(error, Error::Storage(_)), "{error}"),
                }
            };
            disk.set_faults(Faults::default());
            model.built(&tip);
            model.check(&chain);
            without += u32::from(!tip.header.states_index());
            if random.chance(0.3) {
                assert_eq!(chain.snapshot().unwrap(), tip.header.states_index());
            }
            if random.chance(0.2) {
                drop(chain);
                disk.crash();
                chain = open_with(&disk.root(), options).unwrap();
                assert_eq!(chain.tip(), tip);
                model.check(&chain);
            }
        }
    }
    assert!((20..50).contains(&without), "{without} of 60 blocks without a root");
}

#[test]
fn a_snapshot_stands_in_for_the_blocks_before_it_and_damage_to_it_does_not_matter() {
    let (folder, directory) = real();
    let mut model = Model::new(2);
    let mut chain = open(&directory).unwrap();
    for height in 1..=8 {
        let block = model.block(400);
        model.built(&chain.append(block.next(height), &mut key()).unwrap());
        if height % 2 == 0 {
            chain.snapshot().unwrap();
        }
    }
    drop(chain);
    let snapshots = || directory.list().unwrap().into_iter().filter(|name| name.starts_with("index-"));
    assert_eq!(snapshots().collect::<Vec<_>>(), ["index-0000000006", "index-0000000008"]);
    model.check(&open(&directory).unwrap());
    for snapshot in snapshots() {
        let path = folder.path().join(snapshot);
        let mut content = std::fs::read(&path).unwrap();
        let middle = content.len() / 2;
        content[middle] ^= 4;
        std::fs::write(&path, content).unwrap();
        model.check(&open(&directory).unwrap());
    }
    std::fs::write(folder.path().join("index-0000000008"), b"short").unwrap();
    model.check(&open(&directory).unwrap());
}

/// Whether a snapshot leads to the index of the tip. A start would use an older one, or the blocks, if not.
fn is_used(directory: &Arc<dyn Directory>, chain: &OwnChain, height: u64) -> bool {
    let progress = crate::progress::Progress::default();
    let loaded = snapshot::load(directory, chain.store(), height, &progress).unwrap();
    loaded.is_some_and(|loaded| {
        chain::complete_index(loaded, chain.store(), &chain.tip(), &progress).is_ok_and(|complete| complete.is_some())
    })
}

/// Snapshots are written in slices while blocks are added, and the machine crashes at random moments. Every finished
/// snapshot is of the block that it ends with, although its entries are of different blocks.
#[test]
fn snapshots_written_between_blocks_are_exact() {
    let mut spread = 0;
    for (seed, roots) in (1..=4).zip([RootSchedule::NODE, FEWER_ROOTS].into_iter().cycle()) {
        let options = Options { roots, ..OPTIONS };
        let mut random = Random::new(seed);
        let disk = SimulatedDisk::new(seed);
        let mut model = Model::new(seed);
        let mut chain = open_with(&disk.root(), options).unwrap();
        let mut began = 0;
        for height in 1..=30 {
            let block = model.block(if height < 6 { 1000 } else { random.below(200) });
            model.built(&chain.append(block.next(height), &mut key()).unwrap());
            if chain.snapshot_left().is_none() {
                chain.begin_snapshot().unwrap();
                began = height;
            }
            if random.chance(0.7) && chain.continue_snapshot().unwrap() {
                spread += u32::from(height > began + 1);
                assert!(is_used(&disk.root(), &chain, height), "seed {seed}, height {height}");
            }
            if random.chance(0.05) {
                drop(chain);
                disk.crash();
                chain = open_with(&disk.root(), options).unwrap();
                for height in snapshot::heights(&disk.root()).unwrap() {
                    assert!(is_used(&disk.root(), &chain, height), "seed {seed}, height {height} after a crash");
                }
            }
        }
        drop(chain);
        model.check(&open_with(&disk.root(), options).unwrap());
    }
    assert!(spread >= 4, "{spread} snapshots were written over several blocks");
}

/// A snapshot that somebody changed, together with its checksum, does not lead to the root in a header.
#[test]
fn forged_snapshots_are_refused() {
    let (folder, directory) = real();
    let mut model = Model::new(11);
    let mut chain = open(&directory).unwrap();
    for height in 1..=2 {
        let block = model.block(400);
        model.built(&chain.append(block.next(height), &mut key()).unwrap());
        chain.snapshot().unwrap();
    }
    assert!(is_used(&directory, &chain, 1) && is_used(&directory, &chain, 2));
    let path = folder.path().join(snapshot::name(2));
    let written = std::fs::read(&path).unwrap();
    let forge = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut content = written.clone();
        content.truncate(written.len() - 32);
        change(&mut content);
        let sum = *blake3::hash(&content).as_bytes();
        std::fs::write(&path, [&content[..], &sum].concat()).unwrap();
    };
    let is_used = || is_used(&directory, &chain, 2);
    forge(&|_| ());
    assert!(is_used());
    // After the header: an id of 16 bytes, a balance, a height, a position.
    for place in [64, 64 + 16, 64 + 23, 64 + 24, 64 + 28, 64 + 32 * 50 + 20] {
        for change in [1, 0xff] {
            forge(&|content| content[place] ^= change);
            assert!(!is_used(), "byte {place}");
        }
    }
    forge(&|content| drop(content.drain(64..96)));
    assert!(!is_used());
    // It began at a later block than it ended, or at a block of another chain.
    forge(&|content| content[15] = 3);
    assert!(!is_used());
    forge(&|content| content[15] = 1);
    assert!(!is_used());
    drop(chain);
    model.check(&open(&directory).unwrap());
}

/// Snapshots of earlier versions of the program, which were written at once, are read.
#[test]
fn snapshots_of_version_1_are_read() {
    let (folder, directory) = real();
    let mut model = Model::new(12);
    let mut chain = open(&directory).unwrap();
    for height in 1..=4 {
        let block = model.block(300);
        let tip = chain.append(block.next(height), &mut key()).unwrap();
        model.built(&tip);
        if height == 3 {
            let accounts = tip.header.accounts.get();
            let mut content =
                [&b"TPindex1"[..], &3_u64.to_be_bytes(), &tip.hash, &accounts.to_be_bytes(), &[0; 8]].concat();
            chain.with_index(|index| index.entries().for_each(|entry| content.extend_from_slice(entry.as_bytes())));
            let sum = *blake3::hash(&content).as_bytes();
            std::fs::write(folder.path().join(snapshot::name(3)), [&content[..], &sum].concat()).unwrap();
        }
    }
    assert!(is_used(&directory, &chain, 3));
    drop(chain);
    model.check(&open(&directory).unwrap());
}

#[test]
fn blocks_that_cannot_be_are_refused_and_change_nothing() {
    let (_folder, directory) = real();
    let mut model = Model::new(3);
    let mut chain = open(&directory).unwrap();
    let block = model.block(100);
    model.built(&chain.append(block.next(1), &mut key()).unwrap());
    let transfer = Operation::transfer(TransactionId::ZERO, account(0), account(1), 1 << 40);
    let create = Operation::create(TransactionId::ZERO, account(7777));
    let mut failed = create;
    failed.status = 4.into();
    let tail = |position| SignedTail { position, tail: [0; TAIL_SIZE] };
    let attempt = |chain: &mut OwnChain, operations: &[Operation], tails: &[SignedTail], end_sequence| {
        chain.append(NextBlock { operations, tails, end_sequence, timestamp: 0 }, &mut key()).unwrap_err()
    };
    assert!(
        matches!(attempt(&mut chain, &[create, transfer], &[], 20_000), Error::Effect(error) if error.position == 1)
    );
    assert!(matches!(attempt(&mut chain, &[failed], &[], 20_000), Error::InvalidBlock(_)));
    assert!(matches!(attempt(&mut chain, &[create], &[tail(1)], 20_000), Error::InvalidBlock(_)));
    assert!(matches!(attempt(&mut chain, &[create; 3], &[tail(1), tail(1)], 20_000), Error::InvalidBlock(_)));
    assert!(matches!(attempt(&mut chain, &[create], &[], 9_999), Error::InvalidBlock(_)));
    model.check(&chain);
    let block = model.block(50);
    let clock_set_back = NextBlock { timestamp: 5, ..block.next(2) };
    model.built(&chain.append(clock_set_back, &mut key()).unwrap());
    assert_eq!(chain.tip().header.timestamp.get(), 1001);
    model.check(&chain);
}

#[test]
fn an_account_that_pays_without_a_signature_is_found() {
    let (_folder, directory) = real();
    let mut chain = open(&directory).unwrap();
    let (id, [payer, new]) = (TransactionId::ZERO, [1, 2].map(account));
    let operations =
        [Operation::create(id, payer), Operation::issue(id, payer, 9), Operation::create_for(id, new, payer, 5)];
    let tail = |position| SignedTail { position, tail: [0; TAIL_SIZE] };
    let append = |chain: &mut OwnChain, operations: &[Operation], tails: &[SignedTail]| {
        let end_sequence = chain.tip().end_sequence + 1;
        chain.append(NextBlock { operations, tails, end_sequence, timestamp: 0 }, &mut key()).unwrap()
    };
    let tip = append(&mut chain, &operations, &[tail(0), tail(2)]);
    assert_eq!(audit(&chain, |_| ()).unwrap(), Audit { tip, total: 4, first_retained: 0, first_replayed: 1 });
    let other = Operation::create_for(id, account(3), payer, 1);
    append(&mut chain, &[other, Operation::create(id, account(4))], &[tail(1)]);
    let found = audit(&chain, |_| ()).unwrap_err();
    assert!(matches!(&found, Error::Damaged(found) if (found.height, found.damage) == (2, Damage::Tails)), "{found}");
}

#[test]
fn a_directory_without_a_chain_is_told_apart() {
    let (_folder, directory) = real();
    let catalog = || Box::new(FileCatalog::new(Arc::clone(&directory)));
    let none = OwnChain::open(Arc::clone(&directory), catalog(), OPTIONS, || Err(Error::NoChain));
    assert!(matches!(none, Err(Error::NoChain)));
    let wrong = key().seal(&BlockHeader { accounts: 3.into(), ..genesis().header });
    let unsealed = SealedHeader { seal: Seal([0; 64]), ..genesis() };
    for wrong in [wrong, unsealed] {
        let refused = OwnChain::open(Arc::clone(&directory), catalog(), OPTIONS, || Ok(wrong));
        assert!(matches!(refused, Err(Error::InvalidBlock(_))));
    }
    open(&directory).unwrap();
    // An existing chain keeps its genesis block.
    let chain = OwnChain::open(Arc::clone(&directory), catalog(), OPTIONS, || unreachable!()).unwrap();
    assert_eq!(chain.network_id(), genesis().hash());
}

#[test]
fn the_key_value_catalog_remembers_the_last_commit() {
    let (folder, directory) = real();
    let mut model = Model::new(4);
    for height in 1..=3 {
        let database = fjall::Database::builder(folder.path().join("catalog")).open().unwrap();
        let catalog = Box::new(KeyValueCatalog::new(&database).unwrap());
        let mut chain = OwnChain::open(Arc::clone(&directory), catalog, OPTIONS, || Ok(genesis())).unwrap();
        assert_eq!(chain.tip().height(), height - 1);
        let block = model.block(60);
        model.built(&chain.append(block.next(height), &mut key()).unwrap());
        model.check(&chain);
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let disk = SimulatedDisk::new(5);
    let mut model = Model::new(5);
    let mut chain = open(&disk.root()).unwrap();
    for height in 1..=3 {
        let block = model.block(60);
        model.built(&chain.append(block.next(height), &mut key()).unwrap());
    }
    model.check(&chain);
    let mut random = Random::new(6);
    for name in ["/records-000000", "/blocks-000000", "/blocks-000001", "/catalog"] {
        let directory = disk.root();
        let length = directory.read(&name[1..]).unwrap().len() as u64;
        for _ in 0..40 {
            let (offset, mask) = (random.below(length), 1 << random.below(8));
            disk.damage(name, offset, mask).unwrap();
            let noticed = open(&directory).and_then(|chain| {
                // Everything that can be read at all is correct.
                for account in model.balances.keys() {
                    if let Ok(Some(answer)) = chain.reader().latest(account) {
                        model.check_transaction(&answer);
                    }
                    let walked = chain.reader().history(account).into_iter().flatten().map_while(Result::ok);
                    assert!(walked.zip(model.history[account].iter().rev()).all(|(a, b)| a == *b));
                }
                audit(&chain, |_| ())
            });
            assert!(noticed.is_err(), "bit of byte {offset} in {name}");
            disk.damage(name, offset, mask).unwrap();
        }
    }
    model.check(&open(&disk.root()).unwrap());
}

/// Files are damaged while the chain is served: reads never return wrong data, and name file and offset; the scrub
/// finds damage in blocks that nobody reads.
#[test]
fn damage_under_a_chain_that_is_served_is_found() {
    let disk = SimulatedDisk::new(8);
    let mut model = Model::new(8);
    let mut chain = open(&disk.root()).unwrap();
    for height in 1..=3 {
        let block = model.block(60);
        model.built(&chain.append(block.next(height), &mut key()).unwrap());
    }
    let scrub = |chain: &OwnChain| {
        let mut scrub = chain.reader().scrub();
        let mut bytes = 0;
        for _ in 0..100 {
            let step = scrub.step();
            bytes += step.bytes;
            if step.is_complete {
                return bytes;
            }
        }
        panic!("the scrub does not end");
    };
    let names = disk.root().list().unwrap().into_iter();
    let names = names.filter(|name| name.starts_with("records-") || name.starts_with("blocks-"));
    let files = Vec::from_iter(names.map(|name| format!("/{name}")));
    let length = |name: &str| disk.root().read(&name[1..]).unwrap().len() as u64;
    assert_eq!(scrub(&chain), files.iter().map(|name| length(name)).sum::<u64>());
    assert_eq!(chain.reader().damage(), []);

    // The amount of the first operation of block 2.
    let record = chain.store().record(2).unwrap();
    let amount = record.section(Section::Operations).start + 56;
    let (path, offset) = (format!("/blocks-{:06}", amount / OPTIONS.segment_size), amount % OPTIONS.segment_size);
    disk.damage(&path, offset, 1).unwrap();
    let first = chain.store().section::<Operation>(&record, Section::Operations).unwrap_err();
    let Error::Damaged(first) = first else { panic!("{first}") };
    assert!(first.path.ends_with(&path[1..]) && first.offset == offset - 56, "{first}");
    let at = Locator { height: 2, position: 0 };
    for error in
        [chain.reader().by_locator(2, 0).unwrap_err(), chain.reader().history_before(&account(1), at).unwrap_err()]
    {
        assert!(matches!(&error, Error::Damaged(found) if *found == first), "{error}");
    }
    assert_eq!(chain.reader().damage(), [first]);
    disk.damage(&path, offset, 1).unwrap();

    let mut random = Random::new(9);
    for name in &files {
        for _ in 0..40 {
            let (offset, mask) = (random.below(length(name)), 1 << random.below(8));
            let chain = open(&disk.root()).unwrap();
            disk.damage(name, offset, mask).unwrap();
            scrub(&chain);
            let [found] = &chain.reader().damage()[..] else { panic!("{:?}", chain.reader().damage()) };
            let begins = if found.path.ends_with(&name[1..]) { found.offset } else { 0 };
            assert!(begins <= offset, "byte {offset} of {name}: {found}");
            disk.damage(name, offset, mask).unwrap();
        }
    }
}

#[test]
fn a_crash_at_any_change_leaves_a_chain_of_whole_blocks() {
    for roots in [RootSchedule::NODE, RootSchedule { small_block: 3, eighths: 80 }] {
        a_crash_leaves_whole_blocks(Options { roots, ..OPTIONS });
    }
}

fn a_crash_leaves_whole_blocks(options: Options) {
    let mut crash_at = 0;
    loop {
        let disk = SimulatedDisk::new(crash_at);
        let mut model = Model::new(7);
        let mut tips = Vec::new();
        disk.crash_at(crash_at);
        let result = (|| {
            let mut chain = open_with(&disk.root(), options)?;
            for height in 1..=3 {
                let block = model.block(30);
                let tip = chain.append(block.next(height), &mut key())?;
                model.built(&tip);
                tips.push(tip);
                chain.snapshot()?;
            }
            Ok::<_, Error>(())
        })();
        let crashed = result.is_err();
        disk.crash();
        let mut chain = open(&disk.root()).unwrap();
        // The block being committed may be there or not; earlier ones are.
        let height = chain.tip().height();
        assert!(height as usize == tips.len() || height as usize == tips.len() + 1, "crash at {crash_at}");
        if let Some(tip) = (height as usize).checked_sub(1).and_then(|last| tips.get(last)) {
            assert_eq!(chain.tip(), *tip);
        }
        audit(&chain, |_| ()).unwrap();
        let create = Operation::create(TransactionId::ZERO, account(1 << 40));
        let next = NextBlock { operations: &[create], tails: &[], end_sequence: 50_000, timestamp: 9 };
        chain.append(next, &mut key()).unwrap();
        drop(chain);
        audit(&open(&disk.root()).unwrap(), |_| ()).unwrap();
        if !crashed {
            break;
        }
        crash_at += 1;
    }
    assert!(crash_at > 30);
}

#[test]
fn a_block_that_a_start_has_found_survives_the_next_crash() {
    let mut found_more = 0;
    for seed in 0..400 {
        let disk = SimulatedDisk::new(seed);
        let mut model = Model::new(7);
        let mut appended = 0;
        disk.crash_at(seed % 100);
        let _ = (|| {
            let mut chain = open(&disk.root())?;
            loop {
                let block = model.block(2);
                model.built(&chain.append(block.next(appended + 1), &mut key())?);
                appended += 1;
            }
            #[expect(unreachable_code, reason = "it ends by the crash")]
            Ok::<_, Error>(())
        })();
        // The process dies in the middle of a change, and the machine only after the next start.
        disk.kill();
        let found = open(&disk.root()).unwrap().tip();
        disk.crash();
        assert_eq!(open(&disk.root()).unwrap().tip(), found, "seed {seed}");
        found_more += u64::from(found.height() > appended);
    }
    assert!(found_more > 0, "no start found a block that its process had not finished");
}

#[test]
fn a_full_disk_is_an_error_after_which_the_same_block_can_be_built() {
    let disk = SimulatedDisk::new(8);
    let mut model = Model::new(8);
    let mut chain = open(&disk.root()).unwrap();
    let block = model.block(200);
    model.built(&chain.append(block.next(1), &mut key()).unwrap());
    let block = model.block(500);
    for capacity in [20_000, 30_000, 40_000, 50_000] {
        disk.set_faults(Faults { capacity, ..Faults::default() });
        let error = chain.append(block.next(2), &mut key()).unwrap_err();
        assert!(matches!(error, Error::Storage(storage::Error::Full { .. })), "{error}");
        assert_eq!(chain.tip().height(), 1);
    }
    disk.set_faults(Faults::default());
    model.built(&chain.append(block.next(2), &mut key()).unwrap());
    model.check(&chain);
    drop(chain);
    model.check(&open(&disk.root()).unwrap());
}

#[test]
fn blocks_without_their_catalog_are_not_thrown_away() {
    let (folder, directory) = real();
    let mut model = Model::new(10);
    let mut chain = open(&directory).unwrap();
    let block = model.block(20);
    model.built(&chain.append(block.next(1), &mut key()).unwrap());
    drop(chain);
    let catalog = folder.path().join("catalog");
    let aside = folder.path().join("aside");
    std::fs::rename(&catalog, &aside).unwrap();
    assert!(matches!(open(&directory), Err(Error::CatalogDamaged)));
    std::fs::rename(&aside, &catalog).unwrap();
    model.check(&open(&directory).unwrap());
}

#[test]
fn failing_writes_and_syncs_only_delay_blocks() {
    for seed in 0..20 {
        let disk = SimulatedDisk::new(seed);
        let mut model = Model::new(seed);
        let mut chain = open(&disk.root()).unwrap();
        disk.set_faults(Faults { write: 0.1, sync: 0.1, ..Faults::default() });
        for height in 1..=6 {
            let block = model.block(40);
            let tip = loop {
                match chain.append(block.next(height), &mut key()) {
                    Ok(tip) => break tip,
                    Err(error) => assert!(matches!(error, Error::Storage(_)), "{error}"),
                }
            };
            model.built(&tip);
            // A snapshot that could not be written does not exist.
            let _ = chain.snapshot();
        }
        model.check(&chain);
        drop(chain);
        disk.crash();
        disk.set_faults(Faults::default());
        model.check(&open(&disk.root()).unwrap());
    }
}

#[test]
fn readers_see_whole_blocks_only() {
    let (_folder, directory) = real();
    let mut model = Model::new(9);
    let options = Options { roots: RootSchedule { small_block: 3, eighths: 80 }, ..Options::default() };
    let mut chain = open_with(&directory, options).unwrap();
    let reader = chain.reader();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in [1, 2] {
            let (reader, done) = (reader.clone(), &done);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let account = account(random.below(3000));
                    let answer = reader.index_entry(&account).unwrap();
                    let header = reader.headers(answer.height, 1).unwrap()[0].header;
                    assert_eq!(header.hash(), answer.block_hash);
                    let proof = IndexProof {
                        block_hash: answer.block_hash,
                        height: answer.height,
                        path: &answer.proof.path,
                        entries: &answer.proof.entries,
                    };
                    proof.verify_in(&account.0, &header).unwrap();
                    if let Some(latest) = reader.latest(&account).unwrap() {
                        assert!(latest.operation.source == account || latest.operation.destination == account);
                    }
                }
            });
        }
        for height in 1..=6 {
            let block = model.block(if height == 4 { 2 } else { 15_000 });
            let last = block.operations.len() - 1;
            let mut broken = block.clone();
            broken.operations[last] = Operation::issue(TransactionId::ZERO, account(1 << 50), 1);
            chain.append(broken.next(height), &mut key()).unwrap_err();
            model.built(&chain.append(block.next(height), &mut key()).unwrap());
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    model.check(&chain);
}

/// A sealer that returns what it is configured to, and counts its calls.
#[derive(Debug, Default)]
struct Broken {
    gives: Option<Seal>,
    asked: Vec<BlockHeader>,
}

impl Sealer for Broken {
    fn seal(&mut self, header: &BlockHeader) -> Result<Seal, SealingError> {
        self.asked.push(*header);
        self.gives.ok_or_else(|| "no answer".into())
    }
}

#[test]
fn a_block_that_is_not_sealed_is_not_in_the_chain_and_is_tried_again() {
    let (_folder, directory) = real();
    let mut chain = open(&directory).unwrap();
    let mut model = Model::new(21);
    let first = model.block(30);
    model.built(&chain.append(first.next(1), &mut key()).unwrap());
    assert_eq!(chain.proposed_end(), None);
    let before = chain.tip();

    let block = model.block(30);
    let (mut silent, mut wrong) = (Broken::default(), Broken { gives: Some(Seal([7; 64])), asked: Vec::new() });
    let error = chain.append(block.next(2), &mut silent).unwrap_err();
    assert!(matches!(error, Error::Sealing { height: 2, .. }), "{error}");
    let error = chain.append(block.next(2), &mut wrong).unwrap_err();
    assert!(matches!(error, Error::WrongSeal { height: 2 }), "{error}");
    let mut other = SealingKey::from_bytes(&[2; 32]).unwrap();
    assert!(matches!(chain.append(block.next(2), &mut other), Err(Error::WrongSeal { height: 2 })));
    assert_eq!(chain.tip(), before);
    assert_eq!(silent.asked, wrong.asked);

    // Closed like this, the chain remembers the block: nobody can know whether the signer signed it.
    drop(chain);
    let mut chain = open(&directory).unwrap();
    assert_eq!((chain.tip(), chain.proposed_end()), (before, Some(20_000)));
    model.built(&chain.append(block.next(2), &mut key()).unwrap());
    assert_eq!(chain.tip().header, silent.asked[0]);
    assert_eq!(chain.proposed_end(), None);
    model.check(&chain);
}
