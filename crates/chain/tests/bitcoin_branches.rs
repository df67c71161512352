//! Synthetic chains: many branches, blocks in any order, crashes, ambiguous and repeated blocks.
#![allow(clippy::unwrap_used)]

mod bitcoin_model;

use bitcoin_model::Model;
use proptest::prelude::*;
use spv::bitcoin::{BlockHeader, Network, U256, node_hash, sha256d};
use spv::{Hash, Locator};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use storage::{Directory, Faults, SimulatedDisk};
use turnpike_chain::bitcoin::{
    BitcoinChain, Change, ChangeKind, Error, Importer, InvalidBlock, Observer, Options, Origin, Start, Summary,
};
use zerocopy::IntoBytes;

const FIRST_HEIGHT: u32 = 1000;
const OP_RETURN: u8 = 0x6a;

/// A block, and the outputs that its successors can spend.
#[derive(Clone)]
struct Mined {
    hash: Hash,
    header: BlockHeader,
    height: u32,
    parent: usize,
    bytes: Vec<u8>,
    unspent: Vec<[u8; 36]>,
}

fn transaction(inputs: &[[u8; 36]], input_script: &[u8], scripts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, inputs.len() as u8];
    for outpoint in inputs {
        bytes.extend(outpoint);
        bytes.push(input_script.len() as u8);
        bytes.extend(input_script);
        bytes.extend([0xff; 4]);
    }
    bytes.push(scripts.len() as u8);
    for script in scripts {
        bytes.extend([1; 8]);
        bytes.push(script.len() as u8);
        bytes.extend(script);
    }
    bytes.extend([0; 4]);
    bytes
}

fn coinbase(salt: u32, script: &[u8]) -> Vec<u8> {
    let null = [&[0; 32][..], &[0xff; 4]].concat().try_into().unwrap();
    transaction(&[null], &salt.to_le_bytes(), &[script.to_vec()])
}

fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [root] => *root,
        _ => root(&leaves.chunks(2).map(|pair| node_hash(&pair[0], &pair[pair.len() - 1])).collect::<Vec<_>>()),
    }
}

/// Puts transactions into a block and does the proof of work, which on regtest takes two tries.
fn mine(previous: Option<&BlockHeader>, transactions: &[Vec<u8>]) -> (BlockHeader, Vec<u8>) {
    let leaves: Vec<Hash> = transactions.iter().map(|transaction| sha256d(&[transaction])).collect();
    let genesis = Network::Regtest.genesis();
    let previous_header = previous.unwrap_or(&genesis);
    let mut header = BlockHeader {
        previous: previous.map_or([7; 32], BlockHeader::hash),
        merkle_root: root(&leaves),
        time: (previous_header.time.get() + 600).into(),
        ..genesis
    };
    let target = header.target().unwrap();
    while U256::from_le_bytes(&header.hash()) > target {
        header.nonce = (header.nonce.get() + 1).into();
    }
    let bytes = [header.as_bytes(), &[transactions.len() as u8], &transactions.concat()].concat();
    (header, bytes)
}

/// A block after `parent` with some transactions that spend available outputs, some of them from the same block.
fn extend(parent: Option<(usize, &Mined)>, salt: u32, spends: &[(u8, u8)]) -> Mined {
    let mut unspent = parent.map(|(_, parent)| parent.unspent.clone()).unwrap_or_default();
    let mut transactions = vec![coinbase(salt, &script(salt as u8))];
    let add = |transaction: &[u8], scripts: &[Vec<u8>], unspent: &mut Vec<[u8; 36]>| {
        let hash = sha256d(&[transaction]);
        for (number, _) in (0_u32..).zip(scripts).filter(|(_, script)| script[0] != OP_RETURN) {
            unspent.push([&hash[..], &number.to_le_bytes()].concat().try_into().unwrap());
        }
    };
    add(&transactions[0], &[script(salt as u8)], &mut unspent);
    for (which, to) in spends {
        if unspent.is_empty() {
            break;
        }
        let outpoint = unspent.swap_remove(usize::from(*which) % unspent.len());
        let scripts = [script(*to), script(to.wrapping_mul(3))];
        let spend = transaction(&[outpoint], &salt.to_le_bytes(), &scripts);
        add(&spend, &scripts, &mut unspent);
        transactions.push(spend);
    }
    let (header, bytes) = mine(parent.map(|(_, parent)| &parent.header), &transactions);
    let height = parent.map_or(FIRST_HEIGHT, |(_, parent)| parent.height + 1);
    Mined { hash: header.hash(), header, height, parent: parent.map_or(0, |(index, _)| index), bytes, unspent }
}

/// One of few scripts, so that their histories grow; some cannot be spent.
fn script(number: u8) -> Vec<u8> {
    if number.is_multiple_of(5) { vec![OP_RETURN, number] } else { vec![0x51, number % 7] }
}

fn tree(plan: &[(prop::sample::Index, Vec<(u8, u8)>)]) -> Vec<Mined> {
    let mut blocks = vec![extend(None, 0, &[])];
    for (salt, (parent, spends)) in plan.iter().enumerate() {
        // Prefer high parents, so that branches get long.
        let span = blocks.len().min(6);
        let parent = blocks.len() - 1 - parent.index(span);
        blocks.push(extend(Some((parent, &blocks[parent])), salt as u32 + 1, spends));
    }
    blocks
}

/// The blocks from the first to the one at `index`.
fn branch(blocks: &[Mined], index: usize) -> Vec<&Mined> {
    let mut branch = vec![&blocks[index]];
    let mut index = index;
    while index != 0 {
        index = blocks[index].parent;
        branch.push(&blocks[index]);
    }
    branch.reverse();
    branch
}

/// Follows the active branch by the announced changes.
#[derive(Default)]
struct Follower(Vec<Hash>);

impl Observer for Follower {
    fn changed(&mut self, change: &Change) {
        match change.kind {
            ChangeKind::Connected => self.0.push(change.hash),
            ChangeKind::Disconnected => assert_eq!(self.0.pop(), Some(change.hash)),
        }
        assert!(change.scripts.is_sorted());
    }
}

fn origin() -> Origin {
    Origin::File { path: "made up".into(), offset: 0 }
}

fn open(directory: Arc<dyn Directory>, index: &Path, first: &Mined) -> Result<BitcoinChain, Error> {
    let start = Start { height: FIRST_HEIGHT, hash: first.hash };
    BitcoinChain::open(directory, index, &Options { start: Some(start), ..Options::new(Network::Regtest) })
}

fn check(chain: &BitcoinChain, blocks: &[Mined]) {
    let view = chain.view();
    let Some(tip) = view.tip() else { return };
    let index = blocks.iter().position(|block| block.hash == tip.hash).unwrap();
    let active = branch(blocks, index);
    let model = Model::from_blocks(FIRST_HEIGHT, active.iter().map(|block| &block.bytes));
    model.check(&view);
    assert_eq!(view.audit(|_| ()).unwrap(), model.transactions.len() as u64);
    for block in blocks {
        let parsed = turnpike_chain::bitcoin::Block::parse(&block.bytes).unwrap();
        for transaction in parsed.transactions() {
            let hash = transaction.hash();
            let expected = model.transactions.get(&hash).copied();
            assert_eq!(view.transaction(&hash).unwrap(), expected);
            if let Some(locator) = expected {
                assert_eq!(view.proof(locator).unwrap().unwrap().leaf, hash);
            }
        }
    }
    for number in 0..=255 {
        let hash = turnpike_chain::bitcoin::script_hash(&script(number));
        assert_eq!(view.latest(&hash).unwrap(), model.history.get(&hash).and_then(|history| history.last()).copied());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 50, ..ProptestConfig::default() })]

    /// In any order, and with a crash at any point, the store has the branch with the most work, like a plain model.
    #[test]
    fn the_branch_with_the_most_work_is_indexed(
        plan in prop::collection::vec((any::<prop::sample::Index>(), prop::collection::vec(any::<(u8, u8)>(), 0..4)), 5..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 40),
        commits in prop::collection::vec(prop::bool::weighted(0.2), 40),
        crash in any::<prop::sample::Index>(),
        seed: u64,
    ) {
        let blocks = tree(&plan);
        let mut sequence: Vec<usize> = (0..blocks.len()).collect();
        for (i, other) in order.iter().enumerate().take(blocks.len()) {
            // Blocks move a little: sometimes a block comes before its parent.
            let other = (i + other.index(5)).min(blocks.len() - 1);
            sequence.swap(i, other);
        }
        let disk = SimulatedDisk::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let crash = crash.index(sequence.len());
        {
            let chain = open(disk.root(), folder.path(), &blocks[0]).unwrap();
            let mut importer = Importer::new(&chain, Follower::default()).unwrap();
            for (which, commit) in sequence[..crash].iter().zip(&commits) {
                importer.add(&blocks[*which].bytes, &origin()).unwrap();
                if *commit {
                    importer.commit().unwrap();
                    check(&chain, &blocks);
                    let tip = importer.observer().0.last().copied();
                    prop_assert_eq!(tip, chain.view().tip().map(|tip| tip.hash));
                }
            }
        }
        disk.crash();
        let chain = open(disk.root(), folder.path(), &blocks[0]).unwrap();
        check(&chain, &blocks);
        let mut importer = Importer::new(&chain, ()).unwrap();
        for which in sequence {
            importer.add(&blocks[which].bytes, &origin()).unwrap();
        }
        importer.commit().unwrap();
        check(&chain, &blocks);
        let highest = blocks.iter().map(|block| block.height).max();
        prop_assert_eq!(chain.view().tip().map(|tip| tip.height), highest);
    }
}

#[test]
fn a_transaction_of_the_size_of_a_node_makes_a_block_unprovable() {
    let first = extend(None, 1, &[]);
    let node_sized = transaction(&[first.unspent[0]], &[], &[vec![0x51; 4]]);
    assert_eq!(node_sized.len(), 64);
    let (header, bytes) = mine(Some(&first.header), &[coinbase(2, &[0x51]), node_sized.clone()]);
    let folder = tempfile::tempdir().unwrap();
    let chain = open(SimulatedDisk::new(1).root(), folder.path(), &first).unwrap();
    let mut importer = Importer::new(&chain, ()).unwrap();
    importer.add(&first.bytes, &origin()).unwrap();
    importer.add(&bytes, &origin()).unwrap();
    importer.commit().unwrap();
    assert_eq!(importer.summary().not_provable, 1);
    let view = chain.view();
    let locator = view.transaction(&sha256d(&[&node_sized])).unwrap().unwrap();
    assert_eq!(locator, Locator { height: FIRST_HEIGHT + 1, position: 1 });
    for position in [0, 1] {
        let proof = view.proof(Locator { position, ..locator });
        assert!(matches!(proof, Err(Error::NotProvable { hash }) if hash == header.hash()));
    }
    assert!(view.proof(Locator { height: FIRST_HEIGHT, position: 0 }).unwrap().is_some());
    assert!(!view.block(FIRST_HEIGHT + 1).unwrap().unwrap().is_provable);
}

/// A coinbase identical to an earlier one replaces its outputs, until its block leaves the branch (BIP30).
#[test]
fn a_coinbase_that_is_repeated_overwrites_the_earlier_one() {
    let first = extend(None, 7, &[]);
    let repeated = extend(Some((0, &first)), 7, &[]);
    // A longer branch, which spends the first block's outputs.
    let other = extend(Some((0, &first)), 8, &[]);
    let longer = extend(Some((1, &other)), 9, &[(0, 1)]);
    let folder = tempfile::tempdir().unwrap();
    let chain = open(SimulatedDisk::new(1).root(), folder.path(), &first).unwrap();
    let mut importer = Importer::new(&chain, ()).unwrap();
    for active in [&[&first][..], &[&first, &repeated], &[&first, &other, &longer]] {
        for block in active {
            importer.add(&block.bytes, &origin()).unwrap();
        }
        importer.commit().unwrap();
        assert_eq!(chain.view().tip().map(|tip| tip.hash), active.last().map(|block| block.hash));
        Model::from_blocks(FIRST_HEIGHT, active.iter().map(|block| &block.bytes)).check(&chain.view());
    }
}

/// A store of the first format reports what to do.
#[test]
fn an_older_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = extend(None, 0, &[]);
    {
        let database = fjall::Database::builder(folder.path()).open().unwrap();
        let catalog = database.keyspace("catalog", fjall::KeyspaceCreateOptions::default).unwrap();
        catalog.insert("state", [0; 84]).unwrap();
    }
    let error = open(SimulatedDisk::new(1).root(), folder.path(), &first).err().unwrap();
    assert!(matches!(error, Error::Version { found: 1, expected: 2 }));
    assert!(error.to_string().contains("import the blocks again"), "{error}");
}

/// CVE-2012-2459: repeating the last transactions does not change the root. The correct block must still be accepted
/// afterwards.
#[test]
fn a_block_with_repeated_transactions_is_refused() {
    let first = extend(None, 0, &[]);
    let second = extend(Some((0, &first)), 1, &[(0, 1), (1, 2)]);
    let mut repeated = second.bytes.clone();
    let last = transaction_bytes(&second.bytes).pop().unwrap();
    repeated[80] += 1;
    repeated.extend(last);
    let folder = tempfile::tempdir().unwrap();
    let chain = open(SimulatedDisk::new(1).root(), folder.path(), &first).unwrap();
    let mut importer = Importer::new(&chain, ()).unwrap();
    importer.add(&first.bytes, &origin()).unwrap();
    let error = importer.add(&repeated, &origin()).unwrap_err();
    assert!(
        matches!(error, Error::Block { error: InvalidBlock::Repeated { hash, .. }, .. } if hash == second.hash),
        "{error}"
    );
    importer.add(&second.bytes, &origin()).unwrap();
    importer.commit().unwrap();
    assert_eq!(chain.view().tip().map(|tip| tip.hash), Some(second.hash));
}

/// The transactions of a block, each as it is encoded; none has a witness here.
fn transaction_bytes(block: &[u8]) -> Vec<Vec<u8>> {
    let block = turnpike_chain::bitcoin::Block::parse(block).unwrap();
    block.transactions().iter().map(|transaction| transaction.stripped()).collect()
}

#[test]
fn a_full_disk_loses_nothing_that_was_committed() {
    let mut blocks = vec![extend(None, 0, &[])];
    for salt in 1..60 {
        let parent = blocks.len() - 1;
        blocks.push(extend(Some((parent, &blocks[parent])), salt, &[(salt as u8, 1)]));
    }
    let disk = SimulatedDisk::new(3);
    let folder = tempfile::tempdir().unwrap();
    {
        let chain = open(disk.root(), folder.path(), &blocks[0]).unwrap();
        let mut importer = Importer::new(&chain, ()).unwrap();
        for block in &blocks[..20] {
            importer.add(&block.bytes, &origin()).unwrap();
        }
        importer.commit().unwrap();
        disk.set_faults(Faults { capacity: 8000, ..Faults::default() });
        for block in &blocks[20..] {
            importer.add(&block.bytes, &origin()).unwrap();
        }
        assert!(matches!(importer.commit(), Err(Error::Storage(storage::Error::Full { .. }))));
        assert!(matches!(importer.commit(), Err(Error::GivenUp)));
        assert!(matches!(importer.add(&blocks[0].bytes, &origin()), Err(Error::GivenUp)));
        // Readers continue.
        check(&chain, &blocks);
        assert_eq!(chain.view().tip().map(|tip| tip.height), Some(FIRST_HEIGHT + 19));
    }
    disk.set_faults(Faults::default());
    let chain = open(disk.root(), folder.path(), &blocks[0]).unwrap();
    let mut importer = Importer::new(&chain, ()).unwrap();
    for block in &blocks {
        importer.add(&block.bytes, &origin()).unwrap();
    }
    importer.commit().unwrap();
    check(&chain, &blocks);
    let Summary { known, stored, .. } = *importer.summary();
    assert_eq!((known, stored), (20, 40));
}

#[test]
fn damage_is_found_before_it_is_served() {
    let first = extend(None, 0, &[]);
    let second = extend(Some((0, &first)), 1, &[(0, 1), (1, 2)]);
    let disk = SimulatedDisk::new(4);
    let folder = tempfile::tempdir().unwrap();
    let chain = open(disk.root(), folder.path(), &first).unwrap();
    let mut importer = Importer::new(&chain, ()).unwrap();
    for block in [&first, &second] {
        importer.add(&block.bytes, &origin()).unwrap();
    }
    importer.commit().unwrap();
    let name = &disk.files()[0];
    let length = disk.root().open("blocks-000000", storage::Mode::Read).unwrap().len().unwrap();
    let view = chain.view();
    let locator = Locator { height: FIRST_HEIGHT + 1, position: 2 };
    let mut found = HashMap::new();
    for offset in 0..length {
        disk.damage(name, offset, 0x10).unwrap();
        assert!(matches!(view.audit(|_| ()), Err(Error::Damaged(_) | Error::Storage(_))), "byte {offset}");
        *found.entry(view.proof(locator).is_err()).or_insert(0) += 1;
        if let Ok(proof) = view.proof(locator) {
            let proof = proof.unwrap();
            proof.as_transaction_proof().verify(&second.header).unwrap();
        }
        disk.damage(name, offset, 0x10).unwrap();
    }
    assert!(found[&true] > 0 && found[&false] > 0);
    view.audit(|_| ()).unwrap();
}
