//! The first blocks of mainnet, imported.
#![allow(dead_code, reason = "each suite uses some of it")]

use std::{path::Path, sync::Arc};

use chain::bitcoin::{BitcoinChain, BlockFiles, FileError, Importer, Options, Origin, Start};
use spv::bitcoin::{BlockHeader, Network};
use storage::RealDirectory;
use tempfile::TempDir;

pub struct Fixture {
    pub chain: BitcoinChain,
    pub blocks: Vec<Vec<u8>>,
    _folder: TempDir,
}

impl Fixture {
    /// A store of the first blocks, and all blocks of the file.
    pub fn new(imported: usize) -> Option<Self> {
        Self::from(0, imported)
    }

    /// A store of `imported` blocks from the one at height `first` on.
    pub fn from(first: u32, imported: usize) -> Option<Self> {
        let path = skip::blocks("blk_0_to_14131.dat")?;
        let mut blocks = Vec::new();
        let read = |_: &Path, block: chain::bitcoin::RawBlock<'_>, _| {
            blocks.push(block.bytes.to_vec());
            Ok::<(), FileError>(())
        };
        BlockFiles::find(&path, Network::Mainnet).unwrap().read(read).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let directory = Arc::new(RealDirectory::create(folder.path()).unwrap());
        let hash = BlockHeader::parse(&blocks[first as usize]).unwrap().hash();
        let start = (first > 0).then_some(Start { height: first, hash });
        let options = Options { start, ..Options::new(Network::Mainnet) };
        let chain = BitcoinChain::open(directory, &folder.path().join("index"), &options).unwrap();
        let mut importer = Importer::new(&chain, ()).unwrap();
        for block in &blocks[first as usize..][..imported] {
            importer.add(block, &Origin::File { path: path.clone(), offset: 0 }).unwrap();
        }
        importer.commit().unwrap();
        drop(importer);
        Some(Self { chain, blocks, _folder: folder })
    }

    /// A cache of proofs that goes with the store.
    pub fn cache(&self) -> Arc<proof::Cache> {
        let cache = Arc::new(proof::Cache::new(&proof::Config::for_replies(100)).unwrap());
        proof::begin_bitcoin(&cache, &self.chain);
        cache
    }
}
