//! What both kinds of directories promise, and what only the simulated one does on purpose.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use turnpike_storage::{Directory, Error, Faults, Mode, RealDirectory, SimulatedDisk};

/// Everything that is promised of any directory.
fn behaves(directory: &dyn Directory) {
    assert!(matches!(directory.open("a", Mode::Read), Err(Error::NotFound { .. })));
    assert!(matches!(directory.open("a", Mode::Write), Err(Error::NotFound { .. })));
    let file = directory.open("a", Mode::CreateNew).unwrap();
    assert!(matches!(directory.open("a", Mode::CreateNew), Err(Error::Exists { .. })));
    assert!(file.is_empty().unwrap());

    file.write_at(b"hello", 1000).unwrap();
    assert_eq!(file.len().unwrap(), 1005);
    let mut buffer = [1; 10];
    assert_eq!(file.read_at(&mut buffer, 998).unwrap(), 7);
    assert_eq!(&buffer, b"\0\0hello\x01\x01\x01");
    assert!(matches!(file.read_exact_at(&mut buffer, 998), Err(Error::Corrupt { offset: 998, .. })));
    file.set_len(1002).unwrap();
    file.allocate(4096).unwrap();
    assert_eq!(file.len().unwrap(), 4096);
    file.read_exact_at(&mut buffer, 1000).unwrap();
    assert_eq!(&buffer, b"he\0\0\0\0\0\0\0\0");
    file.sync_data().unwrap();
    file.sync().unwrap();

    directory.rename("a", "b").unwrap();
    assert!(matches!(directory.rename("a", "b"), Err(Error::NotFound { .. })));
    assert!(!directory.exists("a").unwrap() && directory.exists("b").unwrap());
    directory.replace("c", b"content").unwrap();
    directory.replace("c", b"new").unwrap();
    assert_eq!(directory.read("c").unwrap(), b"new");
    assert_eq!(directory.directory("below").unwrap().list().unwrap(), Vec::<String>::new());
    assert_eq!(directory.list().unwrap(), ["b", "c"]);
    directory.remove("b").unwrap();
    assert!(matches!(directory.remove("b"), Err(Error::NotFound { .. })));
    assert!(matches!(directory.read("b"), Err(Error::NotFound { .. })));
    directory.sync().unwrap();
    assert_eq!(directory.list().unwrap(), ["c"]);
}

#[test]
fn both_behave() {
    let temporary = tempfile::tempdir().unwrap();
    behaves(&RealDirectory::open(temporary.path()).unwrap());
    behaves(&*SimulatedDisk::new(1).root());
}

#[test]
fn synced_data_survives_and_handles_do_not() {
    let disk = SimulatedDisk::new(2);
    let root = disk.root();
    let file = root.open("a", Mode::Create).unwrap();
    file.write_at(&[7; 2000], 0).unwrap();
    file.sync_data().unwrap();
    root.sync().unwrap();
    disk.crash();
    assert!(matches!(file.read_at(&mut [0], 0), Err(Error::Failed { .. })));
    assert!(root.list().is_err());
    assert_eq!(disk.root().read("a").unwrap(), [7; 2000]);
}

#[test]
fn unsynced_sectors_survive_one_by_one() {
    let mut seen = [0; 4];
    for seed in 0..64 {
        let disk = SimulatedDisk::new(seed);
        let root = disk.root();
        let file = root.open("a", Mode::Create).unwrap();
        file.allocate(1024).unwrap();
        file.sync().unwrap();
        root.sync().unwrap();
        file.write_at(&[1; 1024], 0).unwrap();
        disk.crash();
        let content = disk.root().read("a").unwrap();
        assert!(content.chunks(512).all(|sector| sector == [0; 512] || sector == [1; 512]));
        seen[usize::from(content[0]) * 2 + usize::from(content[512])] += 1;
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn a_name_that_was_not_synced_may_be_lost() {
    let survivors = (0..64).filter(|&seed| {
        let disk = SimulatedDisk::new(seed);
        disk.root().open("a", Mode::Create).unwrap().sync().unwrap();
        disk.crash();
        disk.root().exists("a").unwrap()
    });
    assert!((1..64).contains(&survivors.count()));
}

#[test]
fn what_a_failed_sync_drops_no_later_sync_brings_back() {
    let lost = (0..64).filter(|&seed| {
        let disk = SimulatedDisk::new(seed);
        let root = disk.root();
        let file = root.open("a", Mode::Create).unwrap();
        file.allocate(512).unwrap();
        file.sync().unwrap();
        root.sync().unwrap();
        file.write_at(&[1], 0).unwrap();
        disk.set_faults(Faults { sync: 1.0, ..Faults::default() });
        assert!(matches!(file.sync_data(), Err(Error::Failed { .. })));
        disk.set_faults(Faults::default());
        file.sync_data().unwrap();
        disk.crash();
        disk.root().read("a").unwrap()[0] == 0
    });
    assert!((1..64).contains(&lost.count()));
}

#[test]
fn a_full_disk_is_told() {
    let disk = SimulatedDisk::new(3);
    disk.set_faults(Faults { capacity: 2048, ..Faults::default() });
    let root = disk.root();
    let file = root.open("a", Mode::Create).unwrap();
    file.allocate(1024).unwrap();
    assert!(matches!(file.allocate(4096), Err(Error::Full { .. })));
    assert!(matches!(file.write_at(&[1; 4096], 0), Err(Error::Full { .. })));
    file.write_at(&[2; 1024], 0).unwrap();
    root.remove("a").unwrap();
    root.sync().unwrap();
    root.open("b", Mode::Create).unwrap().allocate(2048).unwrap();
}

#[test]
fn replace_is_atomic_at_every_crash() {
    for crash_at in 0.. {
        let disk = SimulatedDisk::new(crash_at);
        disk.root().replace("a", &[1; 1500]).unwrap();
        disk.crash_at(disk.changes() + crash_at);
        let replaced = disk.root().replace("a", &[2; 700]).is_ok();
        disk.crash();
        let content = disk.root().read("a").unwrap();
        assert!(content == [2; 700] || (!replaced && content == [1; 1500]), "crash at change {crash_at}");
        if replaced {
            break;
        }
    }
}

proptest! {
    #[test]
    fn without_faults_a_file_is_an_array(
        writes in prop::collection::vec((0..3000u64, prop::collection::vec(any::<u8>(), 1..1500), any::<bool>()), 1..20),
    ) {
        let disk = SimulatedDisk::new(4);
        let file = disk.root().open("a", Mode::Create).unwrap();
        let mut model = Vec::new();
        for (offset, data, cut) in writes {
            if cut {
                file.set_len(offset).unwrap();
                model.resize(offset as usize, 0);
            } else {
                file.write_at(&data, offset).unwrap();
                let end = offset as usize + data.len();
                model.resize(model.len().max(end), 0);
                model[offset as usize..end].copy_from_slice(&data);
            }
            prop_assert_eq!(&disk.root().read("a").unwrap(), &model);
        }
    }
}
