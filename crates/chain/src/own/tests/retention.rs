//! Pruned blocks: what a chain without them answers, and what crashes, damage and copies do to it.
use super::*;
use crate::own::retained::Retained;

/// The time of a block of the model's.
fn time(height: u64) -> u64 {
    1000 + height
}

fn scrub(chain: &OwnChain) {
    let mut scrub = chain.reader().scrub();
    while !scrub.step().is_complete {}
    assert_eq!(chain.reader().damage(), []);
}

/// Numbers of the segments of the blocks file.
fn segments(directory: &Arc<dyn Directory>) -> Vec<u64> {
    let names = directory.list().unwrap();
    names.iter().filter_map(|name| name.strip_prefix("blocks-")?.parse().ok()).collect()
}

/// Blocks are pruned by age at random, between snapshots and crashes. Balances, headers and proofs from the first
/// retained block on stay; the blocks that the snapshots need are never pruned.
#[test]
fn a_chain_without_its_old_blocks_has_all_balances() {
    let mut removed = 0;
    for (seed, roots) in (1..=4).zip([RootSchedule::NODE, FEWER_ROOTS].into_iter().cycle()) {
        let options = Options { roots, ..OPTIONS };
        let (mut random, disk, mut model) = (Random::new(seed), SimulatedDisk::new(seed), Model::new(seed));
        let mut chain = open_with(&disk.root(), options).unwrap();
        for height in 1..=40 {
            let block = model.block(if height < 4 { 300 } else { random.below(120) });
            model.built(&chain.append(block.next(height), &mut key()).unwrap());
            if random.chance(0.3) {
                chain.snapshot().unwrap();
            }
            if random.chance(0.5) {
                let (before, asked) = (chain.reader().first_retained(), random.below(height + 3));
                let crashes = random.chance(0.4);
                if crashes {
                    disk.crash_at(disk.changes() + random.below(8));
                }
                let result = chain.prune(time(asked));
                let after = chain.reader().first_retained();
                if crashes {
                    drop(chain);
                    disk.crash();
                    chain = open_with(&disk.root(), options).unwrap();
                    assert!(result.is_err() || chain.reader().first_retained() == after);
                } else {
                    result.unwrap();
                }
                let after = chain.reader().first_retained();
                assert!(before <= after && after <= before.max(asked));
            }
            if height % 8 == 0 {
                model.check(&chain);
                scrub(&chain);
            }
            for height in snapshot::heights(&disk.root()).unwrap() {
                assert!(is_used(&disk.root(), &chain, height), "seed {seed}: the snapshot after {height}");
            }
        }
        drop(chain);
        let chain = open_with(&disk.root(), options).unwrap();
        model.check(&chain);
        let first = Retained::read(&disk.root()).unwrap();
        assert_eq!(first.height, chain.reader().first_retained());
        assert_eq!(segments(&disk.root())[0], first.offset / OPTIONS.segment_size);
        removed += segments(&disk.root())[0];
    }
    assert!(removed > 0, "no segment was removed");
}

/// A chain whose first blocks are pruned.
fn pruned(directory: &Arc<dyn Directory>) -> (Model, OwnChain) {
    let (mut model, mut chain) = (Model::new(21), open(directory).unwrap());
    for height in 1..=12 {
        let block = model.block(150);
        model.built(&chain.append(block.next(height), &mut key()).unwrap());
        if height == 6 || height == 9 {
            chain.prune(u64::MAX).unwrap();
            assert_eq!(chain.reader().first_retained(), 0, "a start may need all blocks");
            chain.snapshot().unwrap();
        }
    }
    chain.prune(time(5)).unwrap();
    assert_eq!(chain.reader().first_retained(), 5);
    chain.prune(time(2)).unwrap();
    assert_eq!(chain.reader().first_retained(), 5);
    chain.prune(u64::MAX).unwrap();
    assert_eq!(chain.reader().first_retained(), 7, "the older snapshot needs it");
    assert!(segments(directory)[0] > 0);
    (model, chain)
}

#[test]
fn transactions_of_pruned_blocks_are_refused_by_that_name() {
    let (_folder, directory) = real();
    let (model, chain) = pruned(&directory);
    let reader = chain.reader();
    let pruned = Error::Pruned { height: 6, first: 7 }.to_string();
    assert_eq!(reader.block(6).unwrap_err().to_string(), pruned);
    assert_eq!(reader.operations(6, 0..1).unwrap_err().to_string(), pruned);
    assert_eq!(reader.by_locator(6, 0).unwrap_err().to_string(), pruned);
    assert!(reader.block(7).is_ok() && reader.by_locator(7, 0).unwrap().is_some());
    assert_eq!(reader.headers(0, 20).unwrap().len(), 13);
    let mut found = [0; 2];
    for (at, operation) in model.history.values().flatten().filter(|(_, operation)| !operation.is_of_hold()) {
        let answer = reader.by_id(&operation.transaction, &operation.namer());
        if u64::from(at.height) >= 7 {
            assert_eq!(answer.unwrap().map(|answer| answer.operation), Some(*operation));
            found[0] += 1;
        } else {
            // After a CLOSE, nothing leads there.
            assert!(is_pruned(&answer) || answer.unwrap().is_none());
            found[1] += 1;
        }
    }
    assert!(found[0] > 100 && found[1] > 100, "{found:?}");
    let limits = PageLimits { rows: usize::MAX, examined: usize::MAX };
    let mut ends = [0; 2];
    // The entry of an asset has no history of its own.
    for (account, history) in model.history.iter().filter(|(id, _)| model.balances.contains_key(id)) {
        let page = reader.page(account, &Filter::default(), None, limits).unwrap().unwrap();
        let retained = history.iter().filter(|(at, _)| at.height >= 7).count();
        assert_eq!(page.transactions.len(), retained);
        let is_cut = retained < history.len();
        assert_eq!((page.first_retained, page.next), (is_cut.then_some(7), None));
        ends[usize::from(is_cut)] += 1;
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

#[test]
fn what_a_start_needs_of_a_pruned_chain_is_damage_if_it_is_missing() {
    let (folder, directory) = real();
    drop(pruned(&directory));
    let path = |name: &str| folder.path().join(name);
    let content = std::fs::read(path("retained")).unwrap();
    for place in 0..content.len() {
        let mut damaged = content.clone();
        damaged[place] ^= 1;
        std::fs::write(path("retained"), damaged).unwrap();
        assert!(open(&directory).unwrap_err().is_damage(), "byte {place}");
    }
    // The file of another chain, or of another state.
    std::fs::write(path("retained"), &content).unwrap();
    Retained { height: 8, ..Retained::read(&directory).unwrap() }.write(&directory).unwrap();
    assert!(matches!(open(&directory), Err(Error::Damaged(_))));
    std::fs::remove_file(path("retained")).unwrap();
    assert!(open(&directory).unwrap_err().is_damage());
    std::fs::write(path("retained"), &content).unwrap();
    // One snapshot is enough.
    let [older, newer] = [6, 9].map(|height| path(&snapshot::name(height)));
    std::fs::write(&newer, "damaged").unwrap();
    assert_eq!(open(&directory).unwrap().tip().height(), 12);
    std::fs::write(&older, "damaged").unwrap();
    let refused = open(&directory).unwrap_err();
    assert!(matches!(refused, Error::NoSnapshot { first: 7 }) && refused.is_damage(), "{refused}");
}

/// A copy of a pruned chain is one; a copy that has the pruned blocks keeps them; and one that would have a gap is
/// refused.
#[test]
fn copies_keep_the_blocks_that_they_have() {
    let options = Options::default();
    let copy_of = |from: &Arc<dyn Directory>, to: &Arc<dyn Directory>, sequence| {
        let catalog = FileCatalog::new(Arc::clone(to));
        let commit = copy(from, to, catalog.last().unwrap().as_ref(), sequence)?;
        catalog.commit(&commit)?;
        Ok::<_, Error>(open_with(to, options).unwrap())
    };
    let ([(_f, from), (_g, early), (_h, late)], mut model) = ([(); 3].map(|()| real()), Model::new(22));
    let mut chain = open_with(&from, options).unwrap();
    for height in 1..=12 {
        let block = model.block(150);
        model.built(&chain.append(block.next(height), &mut key()).unwrap());
        if height % 3 == 0 {
            chain.snapshot().unwrap();
        }
        if height == 4 {
            copy_of(&from, &early, u64::MAX).unwrap();
        }
        if height == 6 {
            // The snapshot of block 3 needs block 4.
            chain.prune(u64::MAX).unwrap();
            assert_eq!(chain.reader().first_retained(), 4);
            let copied = copy_of(&from, &early, u64::MAX).unwrap();
            assert_eq!(copied.reader().first_retained(), 0);
            model.check(&copied);
            let copied = copy_of(&from, &late, u64::MAX).unwrap();
            assert_eq!(copied.reader().first_retained(), 4);
            model.check(&copied);
        }
    }
    chain.prune(u64::MAX).unwrap();
    assert_eq!(chain.reader().first_retained(), 10);
    for to in [&early, &late] {
        assert!(matches!(copy_of(&from, to, u64::MAX), Err(Error::Gap { height: 6, first: 10, .. })));
    }
    let (_i, to) = real();
    assert!(matches!(copy_of(&from, &to, 90_000), Err(Error::Pruned { height: 9, first: 10 })));
    assert!(copy_of(&from, &to, 100_000).is_ok());
    let (_j, to) = real();
    model.check(&copy_of(&from, &to, u64::MAX).unwrap());
}
