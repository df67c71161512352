//! The first block of a store that does not begin with genesis.
use super::block::Block;
use super::error::{Error, Origin};
use super::files::{BlockFiles, FileError, Verdict};
use spv::Hash;

/// The block that a store begins with. It is trusted: nothing proves its height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: Hash,
}

/// Why the scan of files ends.
enum End {
    Found(Start),
    Failed(Error),
}

impl From<FileError> for Option<Error> {
    fn from(error: FileError) -> Self {
        Some(error.into())
    }
}

impl From<FileError> for End {
    fn from(error: FileError) -> Self {
        Self::Failed(error.into())
    }
}

impl Start {
    /// The first block of some files. Unless it is genesis, its coinbase must contain its height, as blocks do since
    /// BIP34: on mainnet all from 227,931 on.
    pub fn first_of(files: &BlockFiles) -> Result<Self, Error> {
        let read = files.scan(|path, raw, _| -> Result<Verdict, End> {
            let origin = Origin::File { path: path.to_path_buf(), offset: raw.offset };
            let block = match Block::parse(raw.bytes) {
                Ok(block) => block,
                Err(error) if raw.is_framed => return Ok(Verdict::Other(error.to_string())),
                Err(error) => return Err(End::Failed(Error::Block { origin, error: error.into() })),
            };
            let height = if *block.header() == files.network().genesis() { Some(0) } else { height_of(&block) };
            Err(match height {
                Some(height) => End::Found(Self { height, hash: block.header().hash() }),
                None => End::Failed(Error::HeightUnknown { origin }),
            })
        });
        match read {
            Err(End::Found(start)) => Ok(start),
            Err(End::Failed(error)) => Err(error),
            Ok(_) => Err(Error::NoBlocks),
        }
    }
}

/// Checks that some files contain a block, before creating a store for them.
///
/// # Errors
/// The error at the first place where a block should begin, or [`Error::NoBlocks`].
pub fn check_files(files: &BlockFiles) -> Result<(), Error> {
    let read = files.scan(|path, raw, _| -> Result<Verdict, Option<Error>> {
        let origin = Origin::File { path: path.to_path_buf(), offset: raw.offset };
        match Block::parse(raw.bytes) {
            Ok(_) => Err(None),
            Err(error) if raw.is_framed => Ok(Verdict::Other(error.to_string())),
            Err(error) => Err(Some(Error::Block { origin, error: error.into() })),
        }
    });
    match read {
        Err(None) => Ok(()),
        Err(Some(error)) => Err(error),
        Ok(_) => Err(Error::NoBlocks),
    }
}

/// The height according to a block: the coinbase script of blocks of version 2 and above begins with it.
fn height_of(block: &Block<'_>) -> Option<u32> {
    let coinbase = block.transactions().first()?.inputs().next()?;
    if (block.header().version.get() as i32) < 2 { None } else { first_number(coinbase.script) }
}

/// The number at the start of a script: its length in bytes, then the number. Three bytes are enough for the next
/// century.
fn first_number(script: &[u8]) -> Option<u32> {
    let (length, rest) = script.split_first()?;
    let (number, _) = rest.split_at_checked((*length).into())?;
    let mut bytes = [0; 4];
    match number.len() {
        length @ 1..=3 => bytes[..length].copy_from_slice(number),
        _ => return None,
    }
    Some(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spv::bitcoin::Network;

    #[test]
    fn height_of_a_real_block() {
        let folder = tempfile::tempdir().unwrap();
        let find = || BlockFiles::find(folder.path(), Network::Mainnet).unwrap();
        std::fs::write(folder.path().join("1.bin"), bitcoin_test_data::blocks::mainnet_702861()).unwrap();
        assert_eq!(Start::first_of(&find()).unwrap().height, 702_861);
        std::fs::write(folder.path().join("0.bin"), [0; 90]).unwrap();
        assert!(matches!(Start::first_of(&find()), Err(Error::Block { .. })));
        std::fs::write(folder.path().join("blk00000.dat"), [0; 90]).unwrap();
        assert!(matches!(Start::first_of(&find()), Err(Error::NoBlocks)));
    }

    #[test]
    fn heights() {
        assert_eq!(first_number(&[3, 0x6d, 0xb9, 0x0a, 9]), Some(702_829));
        assert_eq!(first_number(&[2, 0x77, 0x52]), Some(21_111));
        for none in [&[][..], &[3, 1, 2], &[0, 1, 2], &[4, 0xff, 0xff, 0, 0x1d], &[0xff, 1]] {
            assert_eq!(first_number(none), None);
        }
    }
}
