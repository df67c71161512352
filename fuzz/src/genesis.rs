//! Shared by fuzz targets of servers over Bitcoin blocks: a service with only the genesis block.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use chain::bitcoin::{BitcoinChain, Importer, Options, Origin};
use electrum::{Limits, Service, Settings};
use spv::bitcoin::Network;
use storage::RealDirectory;

/// Mainnet's first block, the chain to query.
const GENESIS: &[u8] = include_bytes!("../seeds/bitcoin_block/block-0");
/// Maximum bytes of a reply, and of a request.
pub const LONGEST: usize = 8192;

/// A service over a store with only the genesis block.
pub fn service() -> &'static Arc<Service> {
    static SERVICE: OnceLock<Arc<Service>> = OnceLock::new();
    SERVICE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let directory = Arc::new(RealDirectory::create(&folder).expect("a folder that can be written"));
        let options = Options::new(Network::Mainnet);
        let chain = BitcoinChain::open(directory, &folder.join("index"), &options).expect("a new store");
        let mut importer = Importer::new(&chain, ()).expect("no other importer");
        let origin = Origin::File { path: Path::new("genesis").into(), offset: 0 };
        importer.add(GENESIS, &origin).expect("genesis is a block");
        importer.commit().expect("a disk");
        drop(importer);
        // A budget that is never exhausted: a client that must wait gets no replies meanwhile.
        let limits = Limits { prefix_cost: 1 << 40, reply: LONGEST, request: LONGEST, ..Limits::default() };
        Arc::new(
            Service::new(chain, None, Settings { limits, ..Settings::default() }).expect("a store from genesis on"),
        )
    })
}
