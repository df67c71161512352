//! Real headers and proofs of Bitcoin. They lie beside the repository on some machines only; elsewhere these tests say so and
//! check nothing. The import's tests, in the chain crate, work on real blocks everywhere.
#![allow(clippy::unwrap_used)]

use skip::Ability;
use std::path::{Path, PathBuf};
use turnpike_spv::bitcoin::{BlockHeader, HEADER_SIZE, HeaderChain, HeaderError, Inserted, MerkleBlock, Network};

const LATER: u64 = 4_000_000_000;

fn inputs(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/bitcoin").join(name);
    if !path.exists() {
        skip::lacking(Ability::Inputs, format_args!("{} is not there", path.display()));
        return None;
    }
    Some(path)
}

fn headers(path: &Path) -> Vec<BlockHeader> {
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks_exact(HEADER_SIZE).map(|bytes| BlockHeader::parse(bytes).unwrap()).collect()
}

/// Four retarget periods of mainnet, so that the difficulty rule is evaluated exactly.
fn recent_chain() -> Option<HeaderChain> {
    let headers = headers(&inputs("headers/headers_0822528_0830592.bin")?);
    let mut chain = HeaderChain::from_trusted(Network::Mainnet, headers[0], 822_528).unwrap();
    for header in &headers[1..] {
        chain.insert(*header, LATER).unwrap();
    }
    assert_eq!(chain.height(), 830_592);
    Some(chain)
}

#[test]
fn the_first_headers_of_mainnet() {
    let Some(path) = inputs("headers/headers_0_10236.bin") else { return };
    let mut chain = HeaderChain::new(Network::Mainnet);
    for header in &headers(&path) {
        chain.insert(*header, LATER).unwrap();
    }
    assert_eq!(chain.height(), 10_236);
}

#[test]
fn headers_of_2024_with_changes_of_difficulty() {
    let Some(chain) = recent_chain() else { return };
    let bits = |height| chain.header(height).unwrap().bits;
    assert!((823_000..830_592).step_by(2016).any(|height| bits(height) != bits(height + 2016)));
    // Each header with the bits of the interval before is refused at the boundary.
    let mut stopped = HeaderChain::from_trusted(Network::Mainnet, *chain.header(822_528).unwrap(), 822_528).unwrap();
    for height in 822_529..824_544 {
        stopped.insert(*chain.header(height).unwrap(), LATER).unwrap();
    }
    let next = BlockHeader { bits: bits(824_543), ..*chain.header(824_544).unwrap() };
    assert!(matches!(
        stopped.insert(next, LATER),
        Err(HeaderError::ProofOfWork { .. } | HeaderError::Difficulty { height: 824_544, .. })
    ));
}

#[test]
fn a_stale_header_stays_beside_the_chain() {
    let (Some(mut chain), Some(path)) = (recent_chain(), inputs("headers/stale/0823226.bin")) else { return };
    let stale = headers(&path)[0];
    assert_eq!(chain.insert(stale, LATER), Ok(Inserted::Side { height: 823_226 }));
    assert!(!chain.is_active(&stale.hash()));
    assert_eq!(chain.height(), 830_592);
}

#[test]
fn merkle_blocks_of_bitcoin_core() {
    let (Some(chain), Some(folder)) = (recent_chain(), inputs("proofs/case-0830000")) else { return };
    for position in [0, 1, 10, 100, 1000, 1850] {
        let bytes = std::fs::read(folder.join(format!("0830000-{position}.bin"))).unwrap();
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
