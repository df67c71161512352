//! Replies that take a walk over all items: `lru_crawler metadump`, `stats cachedump` and `stats sizes`, made in steps.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{binary_reply::reply, meta::append_key};
use crate::{
    clock::{NEVER, Seconds},
    protocol::{
        administration::Classes,
        binary::{Header, Status},
    },
    replies::Replies,
    service::Service,
    store::{Cursor, Item, Shard, mark},
    turn::Turn,
    watch::append_encoded,
};

/// Blocks looked at in a step, under the lock of a shard: some 10 us.
const BLOCKS: usize = 128;

/// Cost of a step, in requests of a turn.
const COST: usize = 64;

/// Bytes that are counted as one size.
const SIZE_STEP: usize = 32;

/// Bytes of memory that a size takes in the counts, with its share of the tree's nodes.
const BYTES_PER_SIZE: usize = 32;

/// Bytes of a list of keys of one class at most (memcached's limit for `cachedump`).
const LONGEST_DUMP: usize = 2 << 20;

/// The purpose of a walk.
#[derive(Debug)]
pub(super) enum Purpose {
    /// Lists the keys of some classes.
    Dump(Dump, Classes),
    /// Reclaims expired items of some classes.
    Reclaim(Classes),
    /// Lists the keys of a class, up to limits of keys and of bytes.
    Cachedump { class: u32, keys: u32, bytes: usize },
    /// Counts items by size. The counts are sent when the walk is over.
    Sizes { counts: BTreeMap<usize, u64>, counted: bool },
}

/// What a list of keys contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// All that is known of the items.
    Metadata,
    /// Requests for the items.
    Requests,
}

/// A walk over all items, for a reply.
#[derive(Debug)]
pub struct Walk {
    purpose: Purpose,
    cursor: Cursor,
    /// The request's header, if it was a binary one.
    binary: Option<Header>,
}

impl Walk {
    pub(super) fn new(purpose: Purpose) -> Self {
        Self { purpose, cursor: Cursor::default(), binary: None }
    }

    /// `lru_crawler metadump` and `lru_crawler mgdump`.
    pub fn dump(dump: Dump, classes: Classes) -> Self {
        Self::new(Purpose::Dump(dump, classes))
    }

    /// `lru_crawler crawl`.
    pub fn reclaim(classes: Classes) -> Self {
        Self::new(Purpose::Reclaim(classes))
    }

    /// `stats sizes`.
    pub(super) fn sizes(binary: Option<&Header>) -> Self {
        let purpose = Purpose::Sizes { counts: BTreeMap::new(), counted: false };
        Self { binary: binary.copied(), ..Self::new(purpose) }
    }

    /// `stats cachedump`.
    pub(super) fn cachedump(class: u32, keys: u32) -> Self {
        Self::new(Purpose::Cachedump { class, keys, bytes: LONGEST_DUMP })
    }

    /// Bytes of memory that it takes besides the replies.
    pub fn bytes(&self) -> usize {
        match &self.purpose {
            Purpose::Sizes { counts, .. } => counts.len() * BYTES_PER_SIZE,
            Purpose::Dump(..) | Purpose::Reclaim(_) | Purpose::Cachedump { .. } => 0,
        }
    }

    /// Makes steps until the turn is over or the replies must be sent. Returns whether the reply is complete.
    pub fn go_on(&mut self, service: &Service, out: &mut Replies, turn: &mut Turn, now: Seconds) -> bool {
        while !out.is_full() && !turn.is_over() {
            turn.spend(COST);
            let goes_on = match &mut self.purpose {
                Purpose::Dump(dump, classes) => {
                    let visit = |shard: &Shard, item| match dump {
                        _ if !classes.contains(shard.class(item)) => {}
                        Dump::Metadata => metadump(service, shard, item, out),
                        Dump::Requests => mgdump(shard, item, out),
                    };
                    service.store.walk(&mut self.cursor, BLOCKS, now, visit)
                }
                Purpose::Reclaim(classes) => {
                    service.store.reclaim(&mut self.cursor, BLOCKS, now, |class| classes.contains(class))
                }
                Purpose::Cachedump { class, keys, bytes } => {
                    let visit = |shard: &Shard, item| {
                        if u32::from(shard.class(item)) + 1 == *class && *keys > 0 && *bytes > 0 {
                            *keys -= 1;
                            let before = out.len();
                            cachedump(service, shard, item, out);
                            *bytes = bytes.saturating_sub(out.len() - before);
                        }
                    };
                    service.store.walk(&mut self.cursor, BLOCKS, now, visit) && *keys > 0 && *bytes > 0
                }
                Purpose::Sizes { counts, counted: false } => {
                    let visit = |shard: &Shard, item| {
                        *counts.entry(shard.size(item).next_multiple_of(SIZE_STEP)).or_insert(0) += 1;
                    };
                    if !service.store.walk(&mut self.cursor, BLOCKS, now, visit) {
                        self.purpose = Purpose::Sizes { counts: std::mem::take(counts), counted: true };
                    }
                    true
                }
                Purpose::Sizes { counts, counted: true } => match counts.pop_first() {
                    Some((size, count)) => {
                        append_stat(self.binary.as_ref(), &size.to_string(), &count.to_string(), out);
                        true
                    }
                    None => false,
                },
            };
            if !goes_on {
                match (&self.binary, &self.purpose) {
                    (Some(header), _) => reply(header, Status::Ok, &[], &[], &[], 0, out),
                    (None, Purpose::Dump(Dump::Requests, _)) => out.extend_from_slice(b"EN\r\n"),
                    (None, Purpose::Reclaim(_)) => out.extend_from_slice(b"OK\r\n"),
                    (None, _) => out.extend_from_slice(b"END\r\n"),
                }
                return true;
            }
        }
        false
    }
}

fn append_stat(binary: Option<&Header>, name: &str, value: &str, out: &mut Vec<u8>) {
    match binary {
        Some(header) => reply(header, Status::Ok, &[], name.as_bytes(), value.as_bytes(), 0, out),
        None => out.extend_from_slice(format!("STAT {name} {value}\r\n").as_bytes()),
    }
}

fn cachedump(service: &Service, shard: &Shard, item: Item, out: &mut Vec<u8>) {
    let header = shard.header(item);
    let expires = if header.expires == NEVER { 0 } else { service.store.clock().since_1970(header.expires) };
    out.extend_from_slice(b"ITEM ");
    out.extend_from_slice(shard.key(item));
    out.extend_from_slice(format!(" [{} b; {expires} s]\r\n", header.value_len).as_bytes());
}

fn metadump(service: &Service, shard: &Shard, item: Item, out: &mut Vec<u8>) {
    let clock = service.store.clock();
    let header = shard.header(item);
    let mut text = String::from("key=");
    append_encoded(shard.key(item), &mut text);
    let expires = if header.expires == NEVER { -1 } else { clock.since_1970(header.expires) };
    let fetched = if header.marks & mark::FETCHED != 0 { "yes" } else { "no" };
    // Writing to a string does not fail.
    let _ = write!(
        text,
        " exp={expires} la={} cas={} fetch={fetched} cls={} size={}\r\n",
        clock.since_1970(header.accessed),
        header.cas,
        shard.class(item) + 1,
        shard.size(item)
    );
    out.extend_from_slice(text.as_bytes());
}

fn mgdump(shard: &Shard, item: Item, out: &mut Vec<u8>) {
    let is_binary = shard.header(item).marks & mark::BINARY_KEY != 0;
    out.extend_from_slice(b"mg ");
    append_key(shard.key(item), is_binary, out);
    out.extend_from_slice(if is_binary { b" b\r\n" } else { b"\r\n" });
}
