use super::*;
use proptest::prelude::*;

const NETWORK: Network = Network::Regtest;

/// Framed blocks followed by zeros, XORed as Bitcoin Core does: the blocks are, the reserved space is not.
fn frames(blocks: &[Vec<u8>], padding: &[usize], key: Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (block, padding) in blocks.iter().zip(padding.iter().chain(std::iter::repeat(&0))) {
        let mut frame = NETWORK.magic().to_vec();
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(block);
        apply(&key, bytes.len() as u64, &mut frame);
        bytes.extend(frame);
        bytes.resize(bytes.len() + padding, 0);
    }
    bytes
}

fn read(bytes: &[u8], key: Key) -> Result<Vec<Vec<u8>>, FrameError> {
    let (blocks, skipped) = read_with(bytes, key, |_| true);
    skipped.map_or(Ok(blocks), Err)
}

/// The frames that `is_block` accepts, and the first error.
fn read_with(bytes: &[u8], key: Key, is_block: impl Fn(&[u8]) -> bool) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut reader = BlockReader::new(bytes, NETWORK, key);
    let (mut blocks, mut first) = (Vec::new(), None);
    while let Some(block) = reader.next_block().unwrap() {
        let (offset, bytes) = (block.offset, block.bytes.to_vec());
        if is_block(&bytes) {
            blocks.push(bytes);
            first = first.or(reader.take_skipped());
        } else {
            reader.reject(offset, bytes.len(), "not a block".into());
        }
    }
    assert_eq!(reader.position(), bytes.len() as u64);
    (blocks, first.or(reader.take_skipped()))
}

proptest! {
    #[test]
    fn blocks_come_back(
        blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 81..500), 0..8),
        padding in prop::collection::vec(0..9000_usize, 0..8),
        key: Key,
    ) {
        for key in [Key::default(), key] {
            prop_assert_eq!(read(&frames(&blocks, &padding, key), key).unwrap(), blocks.clone());
        }
    }

    #[test]
    fn any_bytes_are_taken_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), key: Key) {
        let _ = read_with(&bytes, key, |_| false);
    }

    /// All blocks are found, whatever lies between them: junk, pieces of frames, and frames cut short by the next one.
    #[test]
    fn blocks_come_back_from_between_junk(
        parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), any::<bool>(), 81..500_usize), 1..8),
        key: Key,
    ) {
        for key in [Key::default(), key] {
            let (mut bytes, mut blocks, mut skipped) = (Vec::new(), Vec::new(), 0);
            for (junk, is_frame, length) in &parts {
                if *is_frame {
                    // A frame that claims more bytes than there are.
                    let mut frame = NETWORK.magic().to_vec();
                    frame.extend((junk.len() as u32 + 81).to_le_bytes());
                    apply(&key, bytes.len() as u64, &mut frame);
                    bytes.extend(frame);
                }
                let block = [b"block".to_vec(), vec![0xb1; *length]].concat();
                bytes.extend(junk);
                skipped += junk.iter().filter(|byte| **byte != 0).count().min(1);
                let mut frame = frames(std::slice::from_ref(&block), &[], Key::default());
                apply(&key, bytes.len() as u64, &mut frame);
                bytes.extend(frame);
                blocks.push(block);
            }
            let is_block = |bytes: &[u8]| bytes.starts_with(b"block") && bytes[5..].iter().all(|byte| *byte == 0xb1);
            let (found, first) = read_with(&bytes, key, is_block);
            prop_assert_eq!(found, blocks);
            prop_assert!(first.is_some() || key != Key::default() || skipped == 0);
        }
    }
}

#[test]
fn large_blocks_and_keys_made_of_the_magic() {
    let blocks = vec![vec![1; MAX_BLOCK_SIZE], vec![2; 100], vec![0; 2 * READ_SIZE]];
    assert_eq!(read(&frames(&blocks, &[3, READ_SIZE * 2 + 7], Key::default()), Key::default()).unwrap(), blocks);
    // With this key, the first block's frame begins with zeros, and its padding looks like a magic number.
    let [a, b, c, d] = NETWORK.magic();
    for key in [[a, b, c, d, 0, 0, 0, 0], [a, b, c, d, 1, 2, 3, 4]] {
        assert_eq!(read(&frames(&blocks, &[], key), key).unwrap(), blocks);
    }
}

#[test]
fn every_fault_has_its_error() {
    let good = frames(&[vec![1; 100], vec![2; 100]], &[5], Key::default());
    let second = 113;
    for end in second + 1..good.len() {
        let missing = (if end < second + 8 { second + 8 } else { good.len() } - end) as u64;
        let (blocks, error) = read_with(&good[..end], Key::default(), |_| true);
        assert_eq!(blocks, [vec![1; 100]]);
        match error {
            Some(FrameError::Truncated { offset: 113, missing: found }) => assert_eq!(found, missing),
            other => panic!("cut at {end}: {other:?}"),
        }
    }
    let mut wrong = good.clone();
    wrong[second..second + 4].copy_from_slice(&Network::Mainnet.magic());
    let error = read(&wrong, Key::default()).unwrap_err();
    assert!(matches!(error, FrameError::WrongMagic { offset: 113, expected: NETWORK, .. }));
    let text = "byte 113: expected a block of regtest, which begins with fa bf b5 da, but found f9 be b4 d9, which is \
                the magic of main: name that network";
    assert_eq!(error.to_string(), text);
    for length in [80, MAX_BLOCK_SIZE as u32 + 1, u32::MAX] {
        let mut wrong = good.clone();
        wrong[second + 4..second + 8].copy_from_slice(&length.to_le_bytes());
        let error = read(&wrong, Key::default()).unwrap_err();
        assert!(matches!(error, FrameError::Length { offset: 113, length: found } if found == length));
    }
    // The key of another node.
    assert!(matches!(read(&good, [9; 8]), Err(FrameError::WrongMagic { offset: 0, .. })));
}

fn collect(path: &Path) -> Result<Vec<(String, u64, usize, u64)>, FileError> {
    let files = BlockFiles::find(path, NETWORK)?;
    let mut found = Vec::new();
    files.read(|path, block, end| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.push((name, block.offset, block.bytes.len(), end));
        Ok::<(), FileError>(())
    })?;
    assert!(found.iter().all(|(.., end)| *end <= files.total_bytes()));
    Ok(found)
}

#[test]
fn files_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    assert!(matches!(collect(folder.path()), Err(FileError::NoFiles { .. })));
    assert!(matches!(collect(&folder.path().join("none")), Err(FileError::Io { .. })));
    // Raw blocks, and one framed file among them.
    put("1.bin", &[1; 90]);
    put("2.raw", &frames(&[vec![5; 100], vec![6; 100]], &[], Key::default()));
    put("notes.txt", b"no block");
    let expected = [("1.bin", 0, 90, 90), ("2.raw", 0, 100, 198), ("2.raw", 108, 100, 306)];
    assert_eq!(
        collect(folder.path()).unwrap(),
        expected.map(|(name, offset, size, end)| (name.into(), offset, size, end))
    );
    // If there are blk*.dat files, only those count, and they are XORed with the key beside them.
    let key = [3, 1, 4, 1, 5, 9, 2, 6];
    put("blk00001.dat", &frames(&[vec![8; 100]], &[], key));
    put("blk00000.dat", &frames(&[vec![7; 100]], &[50], key));
    assert!(matches!(
        collect(folder.path()),
        Err(FileError::Frame { error: FrameError::WrongMagic { offset: 0, .. }, .. })
    ));
    put(KEY_FILE, &key);
    let expected = [("blk00000.dat", 0, 100, 108), ("blk00001.dat", 0, 100, 266)];
    assert_eq!(
        collect(folder.path()).unwrap(),
        expected.map(|(name, offset, size, end)| (name.into(), offset, size, end))
    );
    put(KEY_FILE, &key[1..]);
    assert!(matches!(collect(folder.path()), Err(FileError::Key { .. })));
}
