//! A walk over all items in steps, so that no request waits long for a shard's lock.
//!
//! Items that exist from the start to the end of the walk and are not written meanwhile are visited exactly once.

use super::{
    Store,
    item::kind,
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
    pub fn walk(&self, cursor: &mut Cursor, blocks: usize, now: Seconds, visit: impl FnMut(&Shard, Item)) -> bool {
        let Some(shard) = self.shards.get(cursor.shard) else { return false };
        if !lock(shard).walk(cursor, blocks, now, visit) {
            *cursor = Cursor { shard: cursor.shard + 1, ..Cursor::default() };
        }
        cursor.shard < self.shards.len()
    }
}

impl Shard {
    /// The same for a shard. Returns whether it has further pages.
    fn walk(&self, cursor: &mut Cursor, blocks: usize, now: Seconds, mut visit: impl FnMut(&Self, Item)) -> bool {
        for _ in 0..blocks {
            let Some(at) = self.blocks.block(cursor.page, cursor.block) else {
                (cursor.page, cursor.block) = (cursor.page + 1, 0);
                if cursor.page >= self.blocks.pages() {
                    return false;
                }
                continue;
            };
            cursor.block += 1;
            let header = self.blocks.header(at);
            if header.kind == kind::ITEM && self.is_live(header, now) {
                visit(self, Item(at));
            }
        }
        true
    }
}
