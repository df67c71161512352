//! Where a store begins that does not begin with genesis.
use super::block::Block;
use super::error::{Error, Origin};
use super::files::{BlockFiles, FileError};
use spv::Hash;

/// The block that a store begins with. It is trusted: nothing shows that it has this height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: Hash,
}

/// Why the reading of files ends.
enum End {
    Found(Start),
    Failed(Error),
}

impl From<FileError> for End {
    fn from(error: FileError) -> Self {
        Self::Failed(error.into())
    }
}

impl Start {
    /// The first block of some files, with the height that its coinbase tells. Blocks tell it since BIP34, on mainnet from 227,931 on.
    pub fn first_of(files: &BlockFiles) -> Result<Self, Error> {
        let read = files.read(|path, raw, _| -> Result<(), End> {
            let origin = Origin { path: path.to_path_buf(), offset: raw.offset };
            let block = match Block::parse(raw.bytes) {
                Ok(block) => block,
                Err(error) => return Err(End::Failed(Error::Block { origin, error: error.into() })),
            };
            let mut inputs = block.transactions().iter().flat_map(|transaction| transaction.inputs());
            Err(match inputs.next().and_then(|input| height_of(input.script)) {
                Some(height) => End::Found(Self { height, hash: block.header().hash() }),
                None => End::Failed(Error::HeightUnknown { origin }),
            })
        });
        match read {
            Err(End::Found(start)) => Ok(start),
            Err(End::Failed(error)) => Err(error),
            Ok(()) => Err(Error::NoBlocks),
        }
    }
}

/// The height that a coinbase's script begins with: its length in bytes, then the number.
fn height_of(script: &[u8]) -> Option<u32> {
    let (length, rest) = script.split_first()?;
    let mut bytes = [0; 4];
    let (number, _) = rest.split_at_checked((*length).into())?;
    // Heights of BIP34 begin where three bytes are needed.
    if !(3..=4).contains(&number.len()) {
        return None;
    }
    bytes[..number.len()].copy_from_slice(number);
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
        assert_eq!(height_of(&[3, 0x6d, 0xb9, 0x0a, 9]), Some(702_829));
        for none in [&[][..], &[3, 1, 2], &[2, 1, 2], &[5, 1, 2, 3, 4, 5], &[0xff, 1]] {
            assert_eq!(height_of(none), None);
        }
    }
}
