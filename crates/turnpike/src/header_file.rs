//! Files of block headers, one after the other, as `turnpike headers` keeps them: 128 bytes each of the own chain, 80
//! bytes each of Bitcoin. They are checked whenever they are read.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use client::Client;
use spv::{BlockHeader, HeaderChain, bitcoin};
use zerocopy::{FromBytes, IntoBytes};

use crate::error::Error;
use crate::file::replace;

/// The own chain in a file, or a new one that begins with the node's genesis where there is no file yet.
pub fn open_own(file: Option<&Path>, client: &mut Client) -> Result<HeaderChain, Error> {
    match file {
        Some(file) if file.exists() => read_own(file),
        _ => client.open_chain(None).map_err(Error::other),
    }
}

/// The own chain in a file, from genesis.
pub fn read_own(file: &Path) -> Result<HeaderChain, Error> {
    own_of(&fs::read(file).map_err(|error| Error::file("read the headers", file, error))?, file)
}

/// The own chain in the bytes of a file.
pub fn own_of(bytes: &[u8], file: &Path) -> Result<HeaderChain, Error> {
    let (genesis, rest) = BlockHeader::read_from_prefix(bytes).map_err(|_| not_headers(file))?;
    let headers = <[BlockHeader]>::ref_from_bytes(rest).map_err(|_| not_headers(file))?;
    let mut chain = HeaderChain::new(&genesis.hash(), genesis).map_err(Error::other)?;
    headers.iter().try_for_each(|header| chain.append(*header)).map_err(Error::other)?;
    Ok(chain)
}

/// Writes the own chain to a file.
pub fn write_own(file: &Path, chain: &HeaderChain) -> Result<(), Error> {
    let headers = (0..=chain.height()).filter_map(|height| chain.header(height));
    replace("write the headers", file, &headers.flat_map(|header| header.as_bytes().to_vec()).collect::<Vec<u8>>())
}

/// The Bitcoin chain in a file, or a new one that begins with the network's genesis where there is no file yet.
pub fn open_bitcoin(file: Option<&Path>, network: bitcoin::Network) -> Result<bitcoin::HeaderChain, Error> {
    match file {
        Some(file) if file.exists() => read_bitcoin(file, network, None),
        _ => Ok(bitcoin::HeaderChain::new(network)),
    }
}

/// The Bitcoin chain in a file: from genesis, or from a first header that is trusted to have the given height.
pub fn read_bitcoin(
    file: &Path,
    network: bitcoin::Network,
    first_height: Option<u32>,
) -> Result<bitcoin::HeaderChain, Error> {
    let bytes = fs::read(file).map_err(|error| Error::file("read the headers", file, error))?;
    bitcoin_of(&bytes, file, network, first_height)
}

/// The Bitcoin chain in the bytes of a file.
pub fn bitcoin_of(
    bytes: &[u8],
    file: &Path,
    network: bitcoin::Network,
    first_height: Option<u32>,
) -> Result<bitcoin::HeaderChain, Error> {
    let headers = <[bitcoin::BlockHeader]>::ref_from_bytes(bytes).map_err(|_| not_headers(file))?;
    let (first, rest) = headers.split_first().ok_or_else(|| not_headers(file))?;
    let mut chain = match first_height {
        Some(height) => bitcoin::HeaderChain::from_trusted(network, *first, height).map_err(Error::other)?,
        None if first.hash() == network.genesis().hash() => bitcoin::HeaderChain::new(network),
        None => {
            return Err(Error::Input(format!(
                "{} does not begin with the genesis block of Bitcoin's {} network; if its first header is to be trusted, \
                 say at which height it is with --first-height",
                file.display(),
                network.name()
            )));
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Error::other)?.as_secs();
    for header in rest {
        chain.insert(*header, now).map_err(Error::other)?;
    }
    Ok(chain)
}

/// Writes the active Bitcoin chain to a file.
pub fn write_bitcoin(file: &Path, chain: &bitcoin::HeaderChain) -> Result<(), Error> {
    let headers = (chain.first_height()..=chain.height()).filter_map(|height| chain.header(height));
    replace("write the headers", file, &headers.flat_map(|header| header.as_bytes().to_vec()).collect::<Vec<u8>>())
}

fn not_headers(file: &Path) -> Error {
    Error::Input(format!("{} is not a file of headers as `turnpike headers` writes it", file.display()))
}
