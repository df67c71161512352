//! A walk over all items in steps, so that no request waits long for a shard's lock.
//!
//! Items that exist from the start to the end of the walk and are not written meanwhile are visited exactly once.

use super::{
    Store,
    blocks::Class,
    item::{Address, kind},
    lock,
    shard::{Item, Shard},
};
use crate::clock::Seconds;

/// The position at which a walk continues.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    shard: usize,
    page: u32,
    block: u16,
}

impl Store {
    /// Visits the live items in the next few blocks of one shard. Returns whether the walk continues.
    pub fn walk(&self, cursor: &mut Cursor, blocks: usize, now: Seconds, mut visit: impl FnMut(&Shard, Item)) -> bool {
        self.step(cursor, blocks, |shard, at| {
            let header = shard.blocks.header(at);
            if header.kind == kind::ITEM && shard.is_live(header, now) {
                visit(shard, Item(at));
            }
        })
    }

    /// Reclaims the items in the next few blocks of one shard that are over. Returns whether the walk continues.
    pub fn reclaim(&self, cursor: &mut Cursor, blocks: usize, now: Seconds, classes: impl Fn(Class) -> bool) -> bool {
        self.step(cursor, blocks, |shard, at| {
            shard.flush_when_due(now);
            if classes(shard.blocks.class_at(at)) {
                shard.reclaim_if_over(at, now);
            }
        })
    }

    /// Visits the next few blocks of one shard. Returns whether the walk continues.
    fn step(&self, cursor: &mut Cursor, blocks: usize, visit: impl FnMut(&mut Shard, Address)) -> bool {
        let Some(shard) = self.shards.get(cursor.shard) else { return false };
        if !lock(shard).step(cursor, blocks, visit) {
            *cursor = Cursor { shard: cursor.shard + 1, ..Cursor::default() };
        }
        cursor.shard < self.shards.len()
    }
}

impl Shard {
    /// The same for a shard. Returns whether it has further pages.
    fn step(&mut self, cursor: &mut Cursor, blocks: usize, mut visit: impl FnMut(&mut Self, Address)) -> bool {
        for _ in 0..blocks {
            let Some(at) = self.blocks.block(cursor.page, cursor.block) else {
                (cursor.page, cursor.block) = (cursor.page + 1, 0);
                if cursor.page >= self.blocks.pages() {
                    return false;
                }
                continue;
            };
            cursor.block += 1;
            visit(self, at);
        }
        true
    }
}
