//! A store in a file: it goes on with its items where it was closed, and only there.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

use proptest::prelude::*;
use tempfile::TempDir;
use turnpike_kv::{
    clock::{NEVER, Seconds},
    store::{Cold, Config, FileError, MAX_KEY, Mode, Start, Store, Stored, Write},
};

/// Small, so that the property has evictions, and one shard as one thread has.
fn config() -> Config {
    Config { memory: 2 << 20, largest_item: 1 << 20, evict: true, threads: 1 }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("items")
    }

    fn meta(&self) -> PathBuf {
        self.0.path().join("items.meta")
    }

    fn open(&self) -> (Store, Start) {
        Store::in_file(config(), &self.file()).unwrap()
    }

    fn cold(&self) -> Cold {
        match self.open() {
            (store, Start::Cold(reason)) => {
                assert_eq!(store.shards().map(|shard| shard.len()).sum::<usize>(), 0);
                reason
            }
            (_, Start::Warm { items }) => panic!("it goes on with {items} items"),
        }
    }
}

fn set(store: &Store, key: &[u8], value: &[u8], expires: Seconds) -> u64 {
    let key = store.key(key);
    let write = Write { flags: value.len() as u32, expires, ..Write::new(Mode::Set, key, value) };
    match store.shard(key.hash).write(&write, store.clock().now()) {
        Stored::Stored(cas) => cas,
        other => panic!("{other:?}"),
    }
}

/// Number, expiry, flags and value of a key's item.
fn get(store: &Store, key: &[u8]) -> Option<(u64, Seconds, u32, Vec<u8>)> {
    let key = store.key(key);
    let mut shard = store.shard(key.hash);
    let item = shard.peek(key.bytes, key.hash, store.clock().now())?;
    let header = *shard.header(item);
    Some((header.cas, header.expires, header.flags, shard.value(item).collect::<Vec<_>>().concat()))
}

/// All that is in a store.
fn items(store: &Store) -> BTreeMap<Vec<u8>, (u64, Seconds, u32, Vec<u8>)> {
    let now = store.clock().now();
    let keys = store.shards().flat_map(|shard| Vec::from_iter(shard.items(now).map(|item| shard.key(item).to_vec())));
    Vec::from_iter(keys).into_iter().map(|key| (key.clone(), get(store, &key).unwrap())).collect()
}

#[test]
fn a_closed_store_goes_on_with_its_items_numbers_and_expiry_times() {
    let folder = Folder::new();
    let (store, start) = folder.open();
    assert!(matches!(start, Start::Cold(Cold::New)));
    let now = store.clock().now();
    let large = vec![b'x'; 300_000];
    let long_key = [b'k'; MAX_KEY];
    let first = set(&store, b"a", b"1", NEVER);
    set(&store, &long_key, &large, NEVER);
    set(&store, b"soon", b"over", now + 1);
    set(&store, b"later", b"not over", now + 1000);
    let last = set(&store, b"b", b"2", NEVER);
    let before = items(&store);
    let used = store.shards().map(|shard| shard.used_bytes()).sum::<usize>();
    let at = store.clock().since_1970(now + 1000);
    store.close().unwrap();
    drop(store);
    assert_eq!(fs::metadata(folder.file()).unwrap().mode() & 0o777, 0o600);

    std::thread::sleep(Duration::from_millis(2100));
    let (store, start) = folder.open();
    assert!(matches!(start, Start::Warm { items: 5 }));
    assert!(!folder.meta().exists());
    assert_eq!(store.shards().map(|shard| shard.used_bytes()).sum::<usize>(), used);
    assert_eq!(get(&store, b"soon"), None);
    assert_eq!(get(&store, b"a").unwrap(), (first, NEVER, 1, b"1".to_vec()));
    assert_eq!(get(&store, &long_key).unwrap().3, large);
    let (_, expires, _, _) = get(&store, b"later").unwrap();
    assert!((store.clock().since_1970(expires) - at).abs() <= 1);
    let mut expected = before;
    expected.remove(&b"soon"[..]);
    assert_eq!(items(&store), expected);
    // Numbers go on, so that no client's compare-and-set takes a new item for an old one.
    assert!(set(&store, b"c", b"3", NEVER) > last);
}

#[test]
fn a_store_that_was_not_closed_is_not_taken_up() {
    let folder = Folder::new();
    set(&folder.open().0, b"a", b"1", NEVER);
    assert_eq!(folder.cold(), Cold::NotClosed);
    // Not the second time either after it was closed once.
    let (store, _) = folder.open();
    set(&store, b"a", b"1", NEVER);
    store.close().unwrap();
    drop(store);
    let (store, start) = folder.open();
    assert!(matches!(start, Start::Warm { items: 1 }));
    drop(store);
    assert_eq!(folder.cold(), Cold::NotClosed);
}

/// Closes a store with an item, has its files changed, and gives why the next one is empty.
fn after(change: impl FnOnce(&Folder)) -> Cold {
    let folder = Folder::new();
    let (store, _) = folder.open();
    set(&store, b"key", b"value", NEVER);
    store.close().unwrap();
    drop(store);
    change(&folder);
    folder.cold()
}

fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

#[test]
fn what_is_torn_is_not_taken_up() {
    // In the item's block, at its value; the first word of the file is the mark, the header has 40 bytes.
    assert_eq!(after(|folder| flip(&folder.file(), 8 + 40 + 3)), Cold::Damaged);
    let len = after_len();
    for at in [12, 16, 40, 60, 100, len / 2, len - 1] {
        assert_eq!(after(|folder| flip(&folder.meta(), at)), Cold::Damaged, "{at}");
    }
    assert_eq!(after(|folder| flip(&folder.meta(), 8)), Cold::Version { found: 3, expected: 2 });
    let cut = |path: PathBuf, len| File::options().write(true).open(path).unwrap().set_len(len).unwrap();
    assert_eq!(after(|folder| cut(folder.meta(), len - 1)), Cold::Damaged);
    assert_eq!(after(|folder| cut(folder.meta(), 30)), Cold::Damaged);
    assert_eq!(after(|folder| cut(folder.file(), 1 << 20)), Cold::Damaged);
    assert_eq!(after(|folder| fs::remove_file(folder.file()).unwrap()), Cold::Damaged);
}

/// Bytes of the state.
fn after_len() -> u64 {
    let folder = Folder::new();
    folder.open().0.close().unwrap();
    fs::metadata(folder.meta()).unwrap().len()
}

#[test]
fn other_sizes_begin_empty_and_other_threads_do_not() {
    let folder = Folder::new();
    let config = Config { memory: 256 << 20, threads: 2, ..config() };
    let open = |config: &Config| Store::in_file(config.clone(), &folder.file()).unwrap();
    let (store, _) = open(&config);
    assert!(store.shards().count() > 1);
    for n in 0..1000_u32 {
        set(&store, &n.to_le_bytes(), b"v", NEVER);
    }
    store.close().unwrap();
    drop(store);
    for threads in [1, 7] {
        let (store, start) = open(&Config { threads, ..config.clone() });
        assert!(matches!(start, Start::Warm { items: 1000 }), "{start:?}");
        assert_eq!(get(&store, &7_u32.to_le_bytes()).unwrap().3, b"v");
        store.close().unwrap();
    }
    let (store, start) = open(&Config { memory: 128 << 20, ..config.clone() });
    let Start::Cold(Cold::OtherSize { what: "memory", found, .. }) = start else { panic!("{start:?}") };
    assert_eq!(found, 256 << 20);
    store.close().unwrap();
    drop(store);
    let (_, start) = open(&Config { memory: 128 << 20, largest_item: 2 << 20, ..config });
    assert!(matches!(start, Start::Cold(Cold::OtherSize { what: "largest item", .. })));
}

#[test]
fn a_file_that_is_something_else_is_left_alone() {
    let folder = Folder::new();
    fs::write(folder.file(), b"a letter to somebody").unwrap();
    let refused = Store::in_file(config(), &folder.file()).unwrap_err();
    assert!(matches!(&refused, FileError::NotOurs(path) if *path == folder.file()), "{refused}");
    assert_eq!(fs::read(folder.file()).unwrap(), b"a letter to somebody");
    fs::remove_file(folder.file()).unwrap();
    File::create(folder.meta()).unwrap().write_all(b"another one").unwrap();
    let refused = Store::in_file(config(), &folder.file()).unwrap_err();
    assert!(matches!(&refused, FileError::NotOurs(path) if *path == folder.meta()), "{refused}");
    assert_eq!(fs::read(folder.meta()).unwrap(), b"another one");
}

#[test]
fn one_store_at_a_time_and_no_more_than_there_is_room_for() {
    let folder = Folder::new();
    let (store, _) = folder.open();
    assert!(matches!(Store::in_file(config(), &folder.file()), Err(FileError::InUse(_))));
    drop(store);
    let vast = Config { memory: 1 << 55, threads: 256, ..config() };
    assert!(matches!(Store::in_file(vast, &folder.file()), Err(FileError::NoRoom { .. })));
    let nowhere = Store::in_file(config(), Path::new("/nowhere/at/all")).unwrap_err().to_string();
    assert!(nowhere.contains("cannot open /nowhere/at/all"), "{nowhere}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With pages that move between classes, evictions, free blocks and several lives.
    #[test]
    fn like_a_store_that_never_ended(
        lives in prop::collection::vec(
            prop::collection::vec((0..200_u8, prop_oneof![8 => 0..2000_usize, 1 => 0..200_000_usize], any::<bool>()), 0..300),
            1..4,
        ),
    ) {
        let folder = Folder::new();
        let (mut store, _) = folder.open();
        for life in lives {
            for (key, len, delete) in life {
                if delete {
                    let now = store.clock().now();
                    let key = store.key(std::slice::from_ref(&key));
                    store.shard(key.hash).delete_key(key.bytes, key.hash, now);
                } else {
                    set(&store, &[key], &vec![key; len], if len % 3 == 0 { NEVER } else { 100_000 });
                }
            }
            let (before, used) = (items(&store), store.shards().map(|shard| shard.used_bytes()).sum::<usize>());
            let classes = store.shards().flat_map(|shard| Vec::from_iter(shard.classes(0).map(|class| (class.pages, class.items, class.protected)))).collect::<Vec<_>>();
            store.close().unwrap();
            drop(store);
            let (next, start) = folder.open();
            let is_whole = matches!(start, Start::Warm { items } if items == before.len());
            prop_assert!(is_whole, "{:?}", start);
            prop_assert_eq!(items(&next), before);
            prop_assert_eq!(next.shards().map(|shard| shard.used_bytes()).sum::<usize>(), used);
            let after = next.shards().flat_map(|shard| Vec::from_iter(shard.classes(0).map(|class| (class.pages, class.items, class.protected)))).collect::<Vec<_>>();
            prop_assert_eq!(after, classes);
            store = next;
        }
    }
}
