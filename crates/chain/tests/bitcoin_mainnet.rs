//! Import of real blocks: mainnet's first 14,132, and btcd's synthetic ones with reorganisations.
//!
//! `scripts/fetch-blocks` downloads them; without them these tests report that and check nothing.
#![allow(clippy::unwrap_used)]

mod bitcoin_model;

use bitcoin_model::Model;
use chain::bitcoin::{
    BitcoinChain, Block, BlockFiles, Branch, Change, ChangeKind, Error, FileError, Importer, Observer, Options, Origin,
    Progress, Start,
};
use spv::Locator;
use spv::bitcoin::{HeaderChain, Network};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use storage::RealDirectory;
use turnpike_chain as chain;

const BLOCKS: u32 = 14_132;
const TRANSACTIONS: u64 = 14_247;

fn blocks() -> Option<PathBuf> {
    skip::blocks("blk_0_to_14131.dat")
}

fn open(folder: &Path, options: &Options) -> Result<BitcoinChain, Error> {
    BitcoinChain::open(Arc::new(RealDirectory::create(folder).unwrap()), &folder.join("index"), options)
}

fn open_mainnet(folder: &Path) -> BitcoinChain {
    open(folder, &Options::new(Network::Mainnet)).unwrap()
}

fn import(chain: &BitcoinChain, path: &Path) -> Result<chain::bitcoin::Summary, Error> {
    let files = BlockFiles::find(path, chain.network())?;
    Importer::new(chain, ())?.import(&files)
}

/// Every block of a file, in its order.
fn read_all(path: &Path) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let files = BlockFiles::find(path, Network::Mainnet).unwrap();
    files
        .read(|_, block, _| {
            blocks.push(block.bytes.to_vec());
            Ok::<(), FileError>(())
        })
        .unwrap();
    blocks
}

#[test]
fn the_first_blocks_of_mainnet() {
    let Some(path) = blocks() else { return };
    let folder = tempfile::tempdir().unwrap();
    let chain = open_mainnet(folder.path());
    assert_eq!(chain.view().tip(), None);

    #[derive(Default)]
    struct Seen {
        last: Progress,
        connected: u32,
    }
    impl Observer for Seen {
        fn progress(&mut self, progress: &Progress) {
            assert!(progress.bytes > self.last.bytes && progress.bytes <= progress.total_bytes);
            self.last = *progress;
        }
        fn changed(&mut self, change: &Change) {
            assert_eq!((change.kind, change.height), (ChangeKind::Connected, self.connected));
            assert_eq!(change.scripts.is_empty(), change.height == 0, "genesis pays nobody");
            self.connected += 1;
        }
    }
    let mut importer = Importer::new(&chain, Seen::default()).unwrap();
    let summary = importer.import(&BlockFiles::find(&path, Network::Mainnet).unwrap()).unwrap();
    assert_eq!((summary.stored, summary.connected, summary.transactions), (BLOCKS.into(), BLOCKS.into(), TRANSACTIONS));
    assert_eq!((summary.unresolved_inputs, summary.not_provable, summary.reorganisations), (0, 0, 0));
    assert_eq!((importer.observer().connected, importer.observer().last.blocks), (BLOCKS, BLOCKS.into()));
    drop(importer);

    let view = chain.view();
    assert_eq!(view.tip().unwrap().height, BLOCKS - 1);
    assert_eq!(view.audit(|_| ()).unwrap(), TRANSACTIONS);
    let blocks = read_all(&path);
    Model::from_blocks(0, &blocks).check(&view);

    // A client that knows only genesis takes the headers, and then verifies a proof of every transaction.
    let mut headers = HeaderChain::new(Network::Mainnet);
    while headers.height() + 1 < BLOCKS {
        for header in view.headers(headers.height() + 1, 2000).unwrap() {
            headers.insert(header, u64::MAX).unwrap();
        }
    }
    assert_eq!(*headers.tip_hash(), view.tip().unwrap().hash);
    let mut proved = 0;
    for (height, bytes) in blocks.iter().enumerate() {
        let block = Block::parse(bytes).unwrap();
        for transaction in block.transactions() {
            let locator = view.transaction(&transaction.hash()).unwrap().unwrap();
            let proof = view.proof(locator).unwrap().unwrap();
            assert_eq!((proof.leaf, proof.locator.height as usize), (transaction.hash(), height));
            proof.as_transaction_proof().verify(headers.header(locator.height).unwrap()).unwrap();
            proved += 1;
        }
    }
    assert_eq!(proved, TRANSACTIONS);

    // The same through the branch in memory.
    let branch = Branch::load(view.clone()).unwrap().unwrap();
    assert_eq!(branch.tip(), view.tip().unwrap());
    for (height, bytes) in (0..).zip(&blocks) {
        assert_eq!(branch.header(height).unwrap().unwrap(), bytes[..80]);
        let block = Block::parse(bytes).unwrap();
        assert_eq!(branch.transactions(height), Some(block.transactions().len() as u32));
        for (position, begin) in (0..).zip(block.offsets()) {
            let (hash, transaction) = branch.transaction(Locator { height, position }).unwrap().unwrap();
            assert_eq!(hash, block.transactions()[position as usize].hash());
            assert_eq!(transaction, bytes[*begin as usize..][..transaction.len()]);
        }
    }
    assert_eq!(branch.header(BLOCKS).unwrap(), None);
    assert_eq!(branch.transaction(Locator { height: 1, position: 1 }).unwrap(), None);
    let (nodes, root) = branch.headers().path(100, BLOCKS).unwrap();
    let hash = headers.hash(100).unwrap();
    assert_eq!(spv::bitcoin::root_of_path(hash, 100, BLOCKS, &nodes), Ok(root));

    assert_eq!(view.transaction(&[0; 32]).unwrap(), None);
    assert_eq!(view.latest(&[0; 32]).unwrap(), None);
    assert_eq!(view.block(BLOCKS).unwrap(), None);
    assert_eq!(view.proof(Locator { height: BLOCKS, position: 0 }).unwrap(), None);
    assert_eq!(view.proof(Locator { height: 1, position: 1 }).unwrap(), None);

    // Once more: everything is known.
    let again = import(&chain, &path).unwrap();
    assert_eq!((again.stored, again.known, again.commits), (0, BLOCKS.into(), 0));
}

/// Whether a block begins at this offset of its file.
fn begins_at(origin: &Origin, expected: usize) -> bool {
    matches!(origin, Origin::File { offset, .. } if *offset == expected as u64)
}

#[test]
fn an_import_goes_on_where_it_was_interrupted() {
    let Some(path) = blocks() else { return };
    let blocks = read_all(&path);
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::File { path: path.clone(), offset: 0 };
    // In each round some blocks are committed, and some more are not.
    for round in 0..2 {
        let chain = open_mainnet(folder.path());
        let mut importer = Importer::new(&chain, ()).unwrap();
        for (height, bytes) in blocks[..3000 * (round + 1)].iter().enumerate() {
            importer.add(bytes, &origin).unwrap();
            if height == 2000 * (round + 1) {
                importer.commit().unwrap();
            }
        }
        assert!(matches!(Importer::new(&chain, ()), Err(Error::AlreadyImporting)));
    }
    let chain = open_mainnet(folder.path());
    assert_eq!(chain.view().tip().unwrap().height, 4000);
    let summary = import(&chain, &path).unwrap();
    assert_eq!((summary.known, summary.stored), (4001, u64::from(BLOCKS) - 4001));
    assert_eq!(chain.view().audit(|_| ()).unwrap(), TRANSACTIONS);
    Model::from_blocks(0, &blocks).check(&chain.view());
}

#[test]
fn blocks_in_any_order_and_from_any_start() {
    let Some(path) = blocks() else { return };
    let blocks = read_all(&path);
    let start = Start { height: 1000, hash: Block::parse(&blocks[1000]).unwrap().header().hash() };
    let options = Options { start: Some(start), ..Options::new(Network::Mainnet) };
    let folder = tempfile::tempdir().unwrap();
    let chain = open(folder.path(), &options).unwrap();
    let mut importer = Importer::new(&chain, ()).unwrap();
    // Old blocks do not contain their height; genesis need not.
    assert_eq!(Start::first_of(&BlockFiles::find(&path, Network::Mainnet).unwrap()).unwrap().height, 0);
    let origin = Origin::File { path, offset: 0 };
    let block = folder.path().join("block.bin");
    std::fs::write(&block, &blocks[1000]).unwrap();
    let unknown = Start::first_of(&BlockFiles::find(&block, Network::Mainnet).unwrap());
    assert!(matches!(unknown, Err(Error::HeightUnknown { .. })));
    // Windows of blocks in reverse, as a node writes them when it downloads from several others.
    for window in blocks[1000..3000].chunks(37) {
        for bytes in window.iter().rev() {
            importer.add(bytes, &origin).unwrap();
        }
    }
    importer.commit().unwrap();
    // The outputs of the first thousand blocks are unknown here.
    let unresolved = importer.summary().unresolved_inputs;
    assert!(unresolved > 0);
    drop(importer);
    let view = chain.view();
    assert_eq!(view.tip().unwrap().height, 2999);
    assert_eq!((view.block(999).unwrap(), view.headers(1000, 5).unwrap().len()), (None, 5));
    Model::from_blocks(1000, &blocks[1000..3000]).check(&view);
    view.audit(|_| ()).unwrap();
    drop((view, chain));

    assert!(matches!(open(folder.path(), &Options::new(Network::Testnet)), Err(Error::OtherChain { .. })));
    let other = Options { start: Some(Start { height: 1001, ..start }), ..options };
    assert!(matches!(open(folder.path(), &other), Err(Error::OtherChain { .. })));
    assert_eq!(open_mainnet(folder.path()).start(), start);
}

/// An invalid block is skipped, and all blocks before it are imported.
#[test]
fn faults_in_block_files() {
    let Some(path) = blocks() else { return };
    let bytes = std::fs::read(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let attempt = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes[..40_000].to_vec();
        change(&mut changed);
        let file = folder.path().join(format!("blk-{name}.dat"));
        std::fs::write(&file, changed).unwrap();
        let chain = open_mainnet(&folder.path().join(name));
        let result = import(&chain, &file);
        (result, chain.view().tip().unwrap().height)
    };
    let run = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let (result, height) = attempt(name, change);
        (result.unwrap_err(), height)
    };
    // The 100th block's place in the file.
    let mut offset = 0;
    for block in &read_all(&path)[..100] {
        offset += 8 + block.len();
    }

    let (summary, height) = attempt("truncated", &|_| ());
    let skipped = summary.unwrap().skipped;
    assert!(skipped.places == 1 && (1..1000).contains(&skipped.bytes) && height > 100, "{skipped:?}");
    let length = u32::from_le_bytes(bytes[offset + 4..offset + 8].try_into().unwrap()) as usize;
    // The magic, the proof of work, the last byte of the coinbase's lock time, and the number of transactions.
    for (name, at) in [("magic", 0), ("proof-of-work", 8 + 76), ("root", 7 + length), ("encoding", 8 + 80)] {
        let (error, height) = run(name, &|bytes| bytes[offset + at] ^= 3);
        assert!(matches!(error, Error::Unlinked { .. }), "{name}: {error}");
        assert_eq!(height, 99);
        // With the correct one after it nothing is missing.
        let block = bytes[offset..offset + 8 + length].to_vec();
        let (summary, height) = attempt(&format!("{name}-again"), &|bytes| {
            bytes[offset + at] ^= 3;
            bytes.splice(offset + 8 + length..offset + 8 + length, block.clone());
        });
        let skipped = summary.unwrap().skipped;
        assert!(height > 100 && skipped.places == 2, "{name}: {height}, {skipped:?}");
    }
    // The 100th block is missing, so none of the later ones links.
    let (error, height) = run("link", &|bytes| {
        let length = u32::from_le_bytes(bytes[offset + 4..offset + 8].try_into().unwrap()) as usize;
        bytes.drain(offset..offset + 8 + length);
        let mut end = 0;
        while let Some(length) =
            bytes.get(end + 4..end + 8).map(|length| u32::from_le_bytes(length.try_into().unwrap()) as usize)
        {
            if end + 8 + length > bytes.len() {
                break;
            }
            end += 8 + length;
        }
        bytes.truncate(end);
    });
    let Error::Unlinked { count, origin, .. } = &error else { panic!("{error}") };
    assert!(begins_at(origin, offset));
    assert_eq!(height, 99);
    assert!(*count > 10);

    let chain = open_mainnet(&folder.path().join("waiting"));
    let mut importer = Importer::new(&chain, ()).unwrap();
    importer.limit_waiting(1000);
    let waiting = importer.import(&BlockFiles::find(&folder.path().join("blk-link.dat"), Network::Mainnet).unwrap());
    assert!(matches!(waiting, Err(Error::TooManyUnlinked { limit: 1000, .. })));
}

#[test]
fn files_of_bitcoin_core_that_are_xored() {
    let Some(path) = blocks() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Begins like a magic, so that zeros before a block may belong to it.
    let key = [0xf9, 0xbe, 0x13, 0, 0xf9, 0x80, 0xff, 1];
    let all = std::fs::read(path).unwrap();
    let used = all.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    // The last block's lock time is zero.
    let (used, reserved) = all.split_at(used + 4);
    let mut xored: Vec<u8> = used.iter().enumerate().map(|(i, byte)| byte ^ key[i % 8]).collect();
    xored.extend(&reserved[..5000]);
    std::fs::write(folder.path().join("blk00000.dat"), xored).unwrap();
    std::fs::write(folder.path().join("xor.dat"), key).unwrap();
    let chain = open_mainnet(&folder.path().join("chain"));
    assert_eq!(import(&chain, folder.path()).unwrap().stored, BLOCKS.into());
}

/// Genesis to block 4 of a synthetic chain, and a second block 3 with 4 and 5 after it, which wins.
#[test]
fn reorganisation_of_btcd() {
    let Some(folder) = skip::blocks("reorganisations") else { return };
    let store = tempfile::tempdir().unwrap();
    let chain = open_mainnet(store.path());
    let first = read_all(&folder.join("blk_0_to_4.dat"));
    import(&chain, &folder.join("blk_0_to_4.dat")).unwrap();
    Model::from_blocks(0, &first).check(&chain.view());
    let before = chain.view();
    assert_eq!(import(&chain, &folder.join("blk_3A.dat")).unwrap().connected, 0);
    assert_eq!(import(&chain, &folder.join("blk_4A.dat")).unwrap().connected, 0);
    assert_eq!(chain.view().tip(), before.tip());

    let summary = import(&chain, &folder.join("blk_5A.dat")).unwrap();
    assert_eq!((summary.reorganisations, summary.disconnected, summary.connected), (1, 2, 3));
    let mut second = first[..3].to_vec();
    for name in ["blk_3A.dat", "blk_4A.dat", "blk_5A.dat"] {
        second.extend(read_all(&folder.join(name)));
    }
    let view = chain.view();
    assert_eq!(view.tip().unwrap().height, 5);
    Model::from_blocks(0, &second).check(&view);
    view.audit(|_| ()).unwrap();
    // Nothing of the old branch remains, and the earlier view still sees it.
    let old = Model::from_blocks(0, &first);
    for hash in old.transactions.keys().filter(|hash| !Model::from_blocks(0, &second).transactions.contains_key(*hash))
    {
        assert_eq!(view.transaction(hash).unwrap(), None);
    }
    old.check(&before);
}

/// Full blocks of recent years, with witnesses. The crate includes one; more may lie next to the repository.
#[test]
fn full_blocks() {
    let block = bitcoin_test_data::blocks::mainnet_702861();
    check_full_blocks(702_861, &[block.to_vec()]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/bitcoin/blocks");
    for (height, names) in [
        (830_000, &["0830000.bin"][..]),
        (831_328, &["0831328.bin", "0831329.bin", "0831330.bin", "0831331.bin", "0831332.bin"]),
        (413_567, &["block413567.raw"]),
        (227_835, &["bitcoinj_227835.dat"]),
        (363_703, &["bitcoinj_363703.dat"]),
    ] {
        let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        if paths.iter().all(|path| path.exists()) {
            check_full_blocks(height, &paths.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>());
        } else {
            skip::lacking(skip::Ability::Inputs, format_args!("block {height} is not there"));
        }
    }
}

fn check_full_blocks(height: u32, blocks: &[Vec<u8>]) {
    let folder = tempfile::tempdir().unwrap();
    let start = Start { height, hash: Block::parse(&blocks[0]).unwrap().header().hash() };
    let options = Options { start: Some(start), ..Options::new(Network::Mainnet) };
    let chain = open(&folder.path().join("chain"), &options).unwrap();
    for (i, bytes) in blocks.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{i}.bin")), bytes).unwrap();
    }
    let summary = import(&chain, folder.path()).unwrap();
    assert_eq!(summary.connected, blocks.len() as u64);
    let view = chain.view();
    Model::from_blocks(height, blocks).check(&view);
    assert_eq!(view.audit(|_| ()).unwrap(), summary.transactions);
    for (height, bytes) in (height..).zip(blocks) {
        let transactions = Block::parse(bytes).unwrap().transactions().len() as u32;
        for position in (0..transactions).step_by(7).chain([transactions - 1]) {
            let proof = view.proof(Locator { height, position }).unwrap().unwrap();
            proof.as_transaction_proof().verify(&proof.block.header).unwrap();
        }
    }
}
