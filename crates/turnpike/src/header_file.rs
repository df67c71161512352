//! Files of block headers, one after the other, as `turnpike headers` writes them: 192 bytes each of the own chain,
//! with their seals, and 80 bytes each of Bitcoin. The headers of a chain that replicas order are followed by the
//! founding replicas' keys, the changes of their set, and the certificate of the last header. They are verified
//! whenever they are read.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use client::Client;
use spv::finality::Vouched;
use spv::{HeaderChain, HeaderError, bitcoin};
use zerocopy::{FromBytes, IntoBytes};

use crate::error::Error;
use crate::file::replace;

/// The own chain in a file, or a new one that begins with the node's genesis if there is no file yet. With a network
/// id, it must be of that network.
pub fn open_own(file: Option<&Path>, client: &mut Client, network: Option<[u8; 32]>) -> Result<HeaderChain, Error> {
    match file {
        Some(file) if file.exists() => read_own(file, network),
        _ => client.open_chain(network).map_err(Error::other),
    }
}

/// The own chain in a file, from genesis.
pub fn read_own(file: &Path, network: Option<[u8; 32]>) -> Result<HeaderChain, Error> {
    own_of(&fs::read(file).map_err(|error| Error::file("read the headers", file, error))?, file, network)
}

/// The own chain in the bytes of a file: its links, and the seal of its tip or the certificate for it, which covers
/// them all.
pub fn own_of(bytes: &[u8], file: &Path, network: Option<[u8; 32]>) -> Result<HeaderChain, Error> {
    if bytes.len().is_multiple_of(spv::HEADER_SIZE) && bytes.starts_with(&1_u32.to_be_bytes()) {
        return Err(Error::Input(format!(
            "{} has headers of version 1, which are not sealed and prove nothing; delete it and synchronise with a \
             node of this version",
            file.display()
        )));
    }
    let (headers, rest) = HeaderChain::split(bytes).ok_or_else(|| not_headers(file))?;
    let genesis = headers.first().ok_or_else(|| not_headers(file))?.hash();
    let mut chain = match HeaderChain::restore(&network.unwrap_or(genesis), headers) {
        Err(HeaderError::WrongNetwork) => {
            return Err(Error::Input(format!("{} has headers of another network than --network-id", file.display())));
        }
        result => result.map_err(Error::other)?,
    };
    if !rest.is_empty() {
        chain.certify(&Vouched::decode(rest).map_err(|_| not_headers(file))?).map_err(Error::other)?;
    }
    Ok(chain)
}

/// Writes the own chain to a file.
pub fn write_own(file: &Path, chain: &HeaderChain) -> Result<(), Error> {
    replace("write the headers", file, &chain.encode())
}

/// The Bitcoin chain in a file, or a new one that begins with the network's genesis if there is no file yet.
pub fn open_bitcoin(file: Option<&Path>, network: bitcoin::Network) -> Result<bitcoin::HeaderChain, Error> {
    match file {
        Some(file) if file.exists() => read_bitcoin(file, network, None),
        _ => Ok(bitcoin::HeaderChain::new(network)),
    }
}

/// The Bitcoin chain in a file: from genesis, or from a first header that is trusted to be at the given height.
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
                "{} does not begin with the genesis block of Bitcoin's {} network; to trust its first header, set its \
                 height with --first-height",
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
    Error::Input(format!("{} is not a file of headers written by `turnpike headers`", file.display()))
}
