//! The cache's counters.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a cache has counted since it was created.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub(crate) struct Counting {
            $(pub(crate) $name: Counter,)*
        }

        impl Counting {
            pub(crate) fn read(&self) -> Counters {
                Counters { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Requests answered.
    hits,
    /// Requests that the source had to answer.
    misses,
    /// Replies stored.
    fills,
    /// Replies refused because the chain had moved on since they were computed, or was just moving on.
    late_fills,
    /// Replies refused because they were too long or there was no room.
    refused_fills,
    /// Replies dropped because a block touched their address.
    invalidations,
    /// Replies dropped to make room.
    evictions,
}
