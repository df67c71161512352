//! Counters of a shard, with the names of memcached's `stats`.

macro_rules! counters {
    ($(#[doc = $about:literal])* $counters:ident, $($(#[doc = $doc:literal])* $name:ident,)*) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $counters {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl $counters {
            /// Adds the counts of another shard.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            /// Names and values, in the order of `stats`.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Counts of one shard, or of all.
    Counters,
    /// Writes of values.
    cmd_set,
    /// Keys touched.
    cmd_touch,
    /// Debug requests of the meta protocol.
    cmd_meta,
    /// Reads that found an item.
    get_hits,
    /// Reads that found none.
    get_misses,
    /// Reads of items that had expired.
    get_expired,
    /// Reads of items that were flushed.
    get_flushed,
    /// Deletions of missing items.
    delete_misses,
    /// Deletions.
    delete_hits,
    /// Increments of missing items.
    incr_misses,
    /// Increments.
    incr_hits,
    /// Decrements of missing items.
    decr_misses,
    /// Decrements.
    decr_hits,
    /// Compare-and-set of missing items.
    cas_misses,
    /// Compare-and-set that succeeded.
    cas_hits,
    /// Compare-and-set of changed items.
    cas_badval,
    /// Touches that found an item.
    touch_hits,
    /// Touches that found none.
    touch_misses,
    /// Values refused since they are too large.
    store_too_large,
    /// Values refused because there was no room.
    store_no_memory,
    /// Items stored since the start.
    total_items,
    /// Items evicted before they expired.
    evictions,
    /// Of these, those that were never read.
    evicted_unfetched,
    /// Items reclaimed after they were over.
    reclaimed,
    /// Of these, those that were never read.
    expired_unfetched,
    /// Pages moved from one class of blocks to another.
    pages_moved,
    /// Items evicted with such a page before they expired.
    slab_reassign_evictions_nomem,
    /// Items evicted before they expired although they were used since they entered their queue.
    evicted_active,
    /// Items evicted before they expired because a request needed room in their class.
    direct_reclaims,
    /// Items reclaimed by searches among blocks that were next, not by requests for their keys.
    crawler_reclaimed,
    /// Items that such searches looked at.
    crawler_items_checked,
    /// Items that moved to the protected queue.
    moves_to_warm,
    /// Items requeued in the protected queue.
    moves_within_lru,
}

counters! {
    /// Requests that found an item in a class of blocks, or stored one there, for `stats slabs`.
    ClassRequests,
    /// Reads that found an item.
    get_hits,
    /// Writes of values.
    cmd_set,
    /// Deletions.
    delete_hits,
    /// Increments.
    incr_hits,
    /// Decrements.
    decr_hits,
    /// Compare-and-set that succeeded.
    cas_hits,
    /// Compare-and-set of changed items.
    cas_badval,
    /// Touches that found an item.
    touch_hits,
}

counters! {
    /// The ends of items of a class of blocks, for `stats items`.
    ClassEnds,
    /// Items evicted before they expired.
    evicted,
    /// Of these, those that were to expire.
    evicted_nonzero,
    /// Of these, those that were never read.
    evicted_unfetched,
    /// Values refused because there was no room.
    outofmemory,
    /// Items reclaimed after they were over.
    reclaimed,
    /// Of these, those that were never read.
    expired_unfetched,
}

/// Counts of a class of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Requests.
    pub requests: ClassRequests,
    /// The ends of items.
    pub ends: ClassEnds,
}
