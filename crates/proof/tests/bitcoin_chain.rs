//! Proof frames on real Bitcoin blocks, and on made-up ones with a reorganisation.
//!
//! `scripts/fetch-blocks` downloads the blocks; without them, these tests say so and check nothing.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{path::Path, sync::Arc};

use chain::bitcoin::{
    BitcoinChain, Block, BlockFiles, Change, ChangeKind, FileError, Importer, Observer, Options, script_hash,
};
use spv::bitcoin::{BlockHeader, Network, TransactionProof};
use storage::RealDirectory;
use turnpike_proof::{BitcoinAnnouncer, BitcoinSource, Cache, Config, Lookup, Service};
use wire::{Chain, ProofRequest, Query, Reply, Status, key_of_locator};
use zerocopy::IntoBytes;

struct Fixture {
    _folder: tempfile::TempDir,
    chain: BitcoinChain,
    cache: Arc<Cache>,
    service: Service,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = Arc::new(RealDirectory::create(folder.path()).unwrap());
        let index = folder.path().join("index");
        let chain = BitcoinChain::open(directory, &index, &Options::new(Network::Mainnet)).unwrap();
        let cache = Arc::new(Cache::new(&Config::for_replies(4000)).unwrap());
        let source = Arc::new(BitcoinSource::new(chain.clone()));
        let service = Service::new(Some(Arc::clone(&cache))).with(Chain::Bitcoin, source);
        Self { _folder: folder, chain, cache, service }
    }

    fn import(&self, path: &Path) {
        let announcer = BitcoinAnnouncer::new(Arc::clone(&self.cache), &self.chain);
        let files = BlockFiles::find(path, Network::Mainnet).unwrap();
        Importer::new(&self.chain, announcer).unwrap().import(&files).unwrap();
    }

    /// Sends a request, checks the proof against the chain's headers, and returns where the transaction is.
    fn ask(&mut self, query: Query, key: [u8; 32]) -> Result<(u64, u32), Status> {
        let mut datagram = ProofRequest::new(7, Chain::Bitcoin, query, key).as_bytes().to_vec();
        datagram.resize(1472, 0);
        let len = self.service.answer(&mut datagram);
        match Reply::parse(&datagram[..len]).unwrap() {
            Reply::Proof(reply) => {
                let fixed = reply.fixed;
                let view = self.chain.view();
                let tip = view.tip().unwrap();
                assert_eq!((fixed.tip_height.get(), fixed.tip_hash), (tip.height.into(), tip.hash));
                let block = view.block(fixed.block_height.get() as u32).unwrap().unwrap();
                assert_eq!(block.hash, fixed.block_hash);
                let proof = TransactionProof {
                    leaf: &fixed.leaf,
                    position: fixed.position.get(),
                    transactions: fixed.transaction_count.get(),
                    path: reply.path,
                    coinbase: reply.coinbase,
                    coinbase_path: reply.coinbase_path,
                };
                proof.verify(&block.header).unwrap();
                Ok((fixed.block_height.get(), fixed.position.get()))
            }
            Reply::ProofRefused(_, status) => Err(status),
            other => panic!("{other:?}"),
        }
    }
}

fn read_all(path: &Path) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let files = BlockFiles::find(path, Network::Mainnet).unwrap();
    let read = files.read(|_, block, _| {
        blocks.push(block.bytes.to_vec());
        Ok::<(), FileError>(())
    });
    read.unwrap();
    blocks
}

#[test]
fn the_first_blocks_of_mainnet() {
    let Some(path) = skip::blocks("blk_0_to_14131.dat") else { return };
    let mut fixture = Fixture::new();
    assert_eq!(fixture.ask(Query::Latest, [1; 32]), Err(Status::NotFound));
    fixture.import(&path);
    let blocks = read_all(&path);
    for (height, bytes) in (0_u64..).zip(&blocks).step_by(37) {
        let block = Block::parse(bytes).unwrap();
        for (position, transaction) in (0..).zip(block.transactions()) {
            let script = script_hash(transaction.outputs().next().unwrap().script);
            for _ in 0..2 {
                assert_eq!(fixture.ask(Query::Locator, key_of_locator(height, position)), Ok((height, position)));
                assert_eq!(fixture.ask(Query::Transaction, transaction.hash()), Ok((height, position)));
                if height > 0 {
                    assert!(fixture.ask(Query::Latest, script).unwrap() >= (height, position));
                }
            }
        }
    }
    let counters = fixture.cache.counters();
    assert!(counters.hits >= counters.misses && counters.late_fills == 0, "{counters:?}");
    // Genesis's coinbase cannot be spent, and the index has no output of it.
    let genesis = Block::parse(&blocks[0]).unwrap();
    let script = script_hash(genesis.transactions()[0].outputs().next().unwrap().script);
    assert_eq!(fixture.ask(Query::Latest, script), Err(Status::NotFound));
    assert_eq!(fixture.ask(Query::Index, [0; 32]), Err(Status::UnknownCommand));
    assert_eq!(fixture.ask(Query::Locator, key_of_locator(14_132, 0)), Err(Status::NotFound));
    assert_eq!(fixture.ask(Query::Locator, key_of_locator(1 << 40, 0)), Err(Status::NotFound));
    assert_eq!(fixture.ask(Query::Transaction, [1; 32]), Err(Status::NotFound));
}

/// Hits and misses while `work` is done.
fn counted(fixture: &mut Fixture, work: impl FnOnce(&mut Fixture)) -> (u64, u64) {
    let before = fixture.cache.counters();
    work(fixture);
    let after = fixture.cache.counters();
    (after.hits - before.hits, after.misses - before.misses)
}

/// Blocks on top leave other replies in the cache, with the new tip; if a block was missed, none is left.
#[test]
fn what_a_block_does_not_touch_stays_in_the_cache() {
    let Some(folder) = skip::blocks("reorganisations") else { return };
    let mut fixture = Fixture::new();
    let files = folder.join("blk_0_to_4.dat");
    let blocks = read_all(&files);
    let first = fixture._folder.path().join("first.dat");
    let framed = |bytes: &Vec<u8>| [&[0xf9, 0xbe, 0xb4, 0xd9], &(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    std::fs::write(&first, blocks[..3].iter().flat_map(framed).collect::<Vec<_>>()).unwrap();
    fixture.import(&first);
    let ask = |fixture: &mut Fixture| assert_eq!(fixture.ask(Query::Locator, key_of_locator(1, 0)), Ok((1, 0)));
    assert_eq!(counted(&mut fixture, ask), (0, 1));
    assert_eq!(counted(&mut fixture, ask), (1, 0));
    // Imports a chain that continues where another one ended: the cache is as of the tip at that time.
    fixture.import(&files);
    assert_eq!(fixture.chain.view().tip().unwrap().height, 4);
    assert_eq!(counted(&mut fixture, ask), (0, 1), "whoever begins to announce begins anew");
    let (cache, chain) = (Arc::clone(&fixture.cache), fixture.chain.clone());
    let mut announcer = BitcoinAnnouncer::new(Arc::clone(&cache), &chain);
    assert_eq!(
        cache.tip(Chain::Bitcoin).map(|tip| (tip.hash, tip.height)),
        chain.view().tip().map(|tip| (tip.hash, 4))
    );
    let mut connect = |height: u32| {
        announcer.changed(&Change { kind: ChangeKind::Connected, height, hash: [height as u8; 32], scripts: vec![] });
    };
    let get = |room: &mut [u8; 2000]| cache.get(Chain::Bitcoin, Query::Locator, &key_of_locator(1, 0), room);
    let mut room = [0; 2000];
    ask(&mut fixture);
    assert!(matches!(get(&mut room), Lookup::Hit(_)));
    for height in [5, 6] {
        connect(height);
        assert!(matches!(get(&mut room), Lookup::Hit(_)), "height {height}");
        assert_eq!((room[..32] == [height as u8; 32], room[39]), (true, height as u8));
    }
    connect(8);
    assert_eq!(cache.tip(Chain::Bitcoin).unwrap().height, 8);
    assert!(matches!(get(&mut room), Lookup::Miss), "nothing is known of block 7");
}

#[test]
fn a_reorganisation_leaves_nothing_of_the_old_branch() {
    let Some(folder) = skip::blocks("reorganisations") else { return };
    let mut fixture = Fixture::new();
    fixture.import(&folder.join("blk_0_to_4.dat"));
    let old = read_all(&folder.join("blk_0_to_4.dat"));
    let hash = |bytes: &[u8]| Block::parse(bytes).unwrap().transactions()[0].hash();
    for (height, bytes) in (0..).zip(&old) {
        assert_eq!(fixture.ask(Query::Transaction, hash(bytes)), Ok((height, 0)));
        assert_eq!(fixture.ask(Query::Locator, key_of_locator(height, 0)), Ok((height, 0)));
    }
    for name in ["blk_3A.dat", "blk_4A.dat", "blk_5A.dat"] {
        fixture.import(&folder.join(name));
    }
    for (height, bytes) in (0..).zip(&old) {
        let expected = if height < 3 { Ok((height, 0)) } else { Err(Status::NotFound) };
        assert_eq!(fixture.ask(Query::Transaction, hash(bytes)), expected);
    }
    for (height, name) in [(3, "blk_3A.dat"), (4, "blk_4A.dat"), (5, "blk_5A.dat")] {
        let bytes = read_all(&folder.join(name)).remove(0);
        assert_eq!(fixture.ask(Query::Transaction, hash(&bytes)), Ok((height, 0)));
        let header = BlockHeader::parse(&bytes).unwrap();
        assert_eq!(fixture.chain.view().block(height as u32).unwrap().unwrap().hash, header.hash());
        assert_eq!(fixture.ask(Query::Locator, key_of_locator(height, 0)), Ok((height, 0)));
    }
}
