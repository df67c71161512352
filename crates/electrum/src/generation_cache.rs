//! A cache of data about scripts.
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use spv::Hash;

/// A cache of data about scripts, as of an edition of the branch. It has two generations: when the younger one is full
/// it becomes the older one, and entries that are not used during a generation are dropped.
pub struct GenerationCache<T>(Mutex<Generations<T>>);

struct Generations<T> {
    room: usize,
    young: HashMap<Hash, Entry<T>>,
    old: HashMap<Hash, Entry<T>>,
    /// The newest edition.
    edition: u64,
}

struct Entry<T> {
    known: T,
    edition: u64,
}

impl<T: Clone + Default> GenerationCache<T> {
    /// A cache of at least `room` scripts, and at most twice that number.
    pub fn new(room: usize) -> Self {
        Self(Mutex::new(Generations { room, young: HashMap::new(), old: HashMap::new(), edition: 0 }))
    }

    fn lock(&self) -> MutexGuard<'_, Generations<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a new edition of the branch. If it has only grown, cached data is a prefix of the present data.
    pub(crate) fn begin(&self, edition: u64, has_only_grown: bool) {
        let mut generations = self.lock();
        generations.edition = edition;
        if !has_only_grown {
            generations.young.clear();
            generations.old.clear();
        }
    }

    /// Returns the cached data of a script, and whether it is complete as of an edition.
    pub fn get(&self, script: &Hash, edition: u64) -> (T, bool) {
        let generations = self.lock();
        match generations.young.get(script).or_else(|| generations.old.get(script)) {
            Some(entry) => (entry.known.clone(), entry.edition == edition),
            None => (T::default(), false),
        }
    }

    /// Stores data of a script as of an edition.
    pub fn put(&self, script: &Hash, known: T, edition: u64) {
        let mut generations = self.lock();
        // Data computed before a reorganisation must not be stored after it.
        if edition != generations.edition {
            return;
        }
        if generations.young.len() >= generations.room && !generations.young.contains_key(script) {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(*script, Entry { known, edition });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(number: u8) -> Hash {
        [number; 32]
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten() {
        let cache = GenerationCache::new(2);
        (0..3).for_each(|number| cache.put(&script(number), number, 0));
        assert_eq!(
            [0, 1, 2, 3].map(|number| cache.get(&script(number), 0)),
            [(0, true), (1, true), (2, true), (0, false)]
        );
        cache.put(&script(1), 7, 0);
        cache.put(&script(3), 3, 0);
        assert_eq!([0, 1, 3].map(|number| cache.get(&script(number), 0)), [(0, false), (7, true), (3, true)]);
    }

    #[test]
    fn what_grows_is_a_beginning_and_what_leaves_is_nothing() {
        let cache = GenerationCache::new(2);
        cache.put(&script(1), 1, 0);
        cache.begin(1, true);
        assert_eq!(cache.get(&script(1), 1), (1, false));
        // Too late.
        cache.put(&script(1), 9, 0);
        assert_eq!(cache.get(&script(1), 1), (1, false));
        cache.begin(2, false);
        assert_eq!(cache.get(&script(1), 2), (0, false));
    }
}
