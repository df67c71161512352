//! Real headers and proofs from Bitcoin: those in `vectors/bitcoin`, and the first headers, from the blocks that
//! `scripts/fetch-blocks` downloads.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use turnpike_spv::bitcoin::{BlockHeader, HEADER_SIZE, HeaderChain, HeaderError, Inserted, MerkleBlock, Network};

const LATER: u64 = 4_000_000_000;

/// Heights in a file of headers: a retarget period, and the first header of the next.
const FIRST: u32 = 828_576;
const LAST: u32 = 830_592;

fn vectors(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/bitcoin").join(name)
}

fn headers(path: &Path) -> Vec<BlockHeader> {
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks_exact(HEADER_SIZE).map(|bytes| BlockHeader::parse(bytes).unwrap()).collect()
}

/// The chain in a file. Its first header is trusted and starts a period, so the exact difficulty rule applies.
fn chain_from(first: u32) -> HeaderChain {
    let headers = headers(&vectors(&format!("headers_{first}.bin")));
    let mut chain = HeaderChain::from_trusted(Network::Mainnet, headers[0], first).unwrap();
    for header in &headers[1..] {
        chain.insert(*header, LATER).unwrap();
    }
    chain
}

/// In a file of blocks, a magic number and the length, 4 bytes each, precede every block.
#[test]
fn the_first_headers_of_mainnet() {
    let Some(path) = skip::blocks("blk_0_to_14131.dat") else { return };
    let bytes = std::fs::read(path).unwrap();
    let mut chain = HeaderChain::new(Network::Mainnet);
    let mut rest = &bytes[..];
    while let Some((&[0xf9, 0xbe, 0xb4, 0xd9, ref length @ ..], behind)) = rest.split_first_chunk::<8>() {
        chain.insert(BlockHeader::parse(&behind[..HEADER_SIZE]).unwrap(), LATER).unwrap();
        rest = &behind[u32::from_le_bytes(*length) as usize..];
    }
    assert_eq!(chain.height(), 14_131);
}

#[test]
fn a_change_of_difficulty() {
    let chain = chain_from(FIRST);
    assert_eq!(chain.height(), LAST);
    let bits = |height| chain.header(height).unwrap().bits;
    assert_ne!(bits(LAST - 1), bits(LAST));
    // At the boundary, a header with the bits of the interval before is refused.
    let mut stopped = HeaderChain::from_trusted(Network::Mainnet, *chain.header(FIRST).unwrap(), FIRST).unwrap();
    for height in FIRST + 1..LAST {
        stopped.insert(*chain.header(height).unwrap(), LATER).unwrap();
    }
    let next = BlockHeader { bits: bits(LAST - 1), ..*chain.header(LAST).unwrap() };
    assert!(matches!(
        stopped.insert(next, LATER),
        Err(HeaderError::ProofOfWork { .. } | HeaderError::Difficulty { height: LAST, .. })
    ));
}

#[test]
fn a_stale_header_stays_beside_the_chain() {
    let mut chain = chain_from(822_528);
    let stale = headers(&vectors("stale_823226.bin"))[0];
    assert_eq!(chain.insert(stale, LATER), Ok(Inserted::Side { height: 823_226 }));
    assert!(!chain.is_active(&stale.hash()));
    assert_eq!(chain.height(), 823_230);
}

#[test]
fn merkle_blocks_of_bitcoin_core() {
    let chain = chain_from(FIRST);
    for position in [0, 1, 10, 100, 1000, 1850] {
        let bytes = std::fs::read(vectors(&format!("merkle_block_830000_{position}.bin"))).unwrap();
        let block = MerkleBlock::parse(&bytes).unwrap();
        assert_eq!(chain.header(830_000), Some(block.header()));
        assert_eq!(block.transactions(), 1851);
        let matches = block.verify().unwrap();
        assert_eq!(matches.iter().map(|found| found.position).collect::<Vec<_>>(), [position]);
        for at in 0..bytes.len() - 1 {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let accepted = MerkleBlock::parse(&changed).and_then(|block| Ok((*block.header(), block.verify()?)));
            if let Ok((header, found)) = accepted {
                assert!(header != *block.header() || found == matches || found.is_empty(), "changed byte {at}");
            }
        }
    }
}
