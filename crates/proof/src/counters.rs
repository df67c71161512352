//! What the cache did, in numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One number that only grows.
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
        /// What a cache did since it was made.
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
    /// Replies taken in.
    fills,
    /// Replies refused because the chain had moved on since they were computed, or was moving on just then.
    late_fills,
    /// Replies refused because they are too long or there was no room.
    refused_fills,
    /// Replies forgotten because a block touched their address.
    invalidations,
    /// Replies forgotten to make room.
    evictions,
}
