//! Writing items.

use table::Hash;

use super::{
    Key,
    index::Position,
    item::{Address, HEADER, kind, mark},
    queues::MOST_USES,
    shard::{Item, Shard},
    shared_layout::MAX_KEY,
};
use crate::{
    clock::{NEVER, Seconds},
    watch::Interests,
};

/// The mode of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In any case.
    Set,
    /// Only if the item is missing.
    Add,
    /// Only if the item exists.
    Replace,
    /// After the present value.
    Append,
    /// Before the one there is.
    Prepend,
    /// Only if the present item has the given CAS number.
    Cas,
}

impl Mode {
    /// Its name in log lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
            Self::Cas => "cas",
        }
    }
}

/// The value to write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// How.
    pub mode: Mode,
    /// The key, of up to 250 bytes.
    pub key: &'a [u8],
    /// Its hash.
    pub hash: Hash,
    /// The client's flags.
    pub flags: u32,
    /// When the item expires.
    pub expires: Seconds,
    /// The value.
    pub value: &'a [u8],
    /// The number that the item must have, or 0.
    pub cas: u64,
    /// The number that the item gets, if the client chose one.
    pub new_cas: Option<u64>,
    /// With [`Mode::Append`] and [`Mode::Prepend`]: a missing item is stored, with this expiry.
    pub vivify: Option<Seconds>,
    /// With [`Mode::Cas`]: an item with a greater number is replaced, too, by one that is marked stale.
    pub stale: bool,
    /// Whether the key was sent in base64.
    pub binary_key: bool,
}

impl<'a> Write<'a> {
    /// A write of a value that never expires, without flags.
    pub fn new(mode: Mode, key: Key<'a>, value: &'a [u8]) -> Self {
        Self {
            mode,
            key: key.bytes,
            hash: key.hash,
            flags: 0,
            expires: NEVER,
            value,
            cas: 0,
            new_cas: None,
            vivify: None,
            stale: false,
            binary_key: false,
        }
    }
}

/// A change of the number that a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// Whether to add; else to subtract.
    pub increment: bool,
    /// By how much.
    pub delta: u64,
    /// The number that the item must have, or 0.
    pub cas: u64,
    /// The number that the item gets, if the client chose one.
    pub new_cas: Option<u64>,
}

impl Arithmetic {
    /// The sum, around 2^64, or the difference, at least 0.
    fn apply(&self, number: u64) -> u64 {
        if self.increment { number.wrapping_add(self.delta) } else { number.saturating_sub(self.delta) }
    }
}

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Done; the item has this number.
    Stored(u64),
    /// There is an item, or none, and the mode is for the other case.
    NotStored,
    /// The item has another number.
    Exists,
    /// The item to compare with is missing.
    NotFound,
    /// The item is larger than the limit.
    TooLarge,
    /// There is no room.
    NoMemory,
}

impl Stored {
    /// Its name in log lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored(_) => "stored",
            Self::NotStored => "not_stored",
            Self::Exists => "exists",
            Self::NotFound => "not_found",
            Self::TooLarge => "too_large",
            Self::NoMemory => "no_memory",
        }
    }
}

/// Why a number was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotChanged {
    /// There is no item.
    NotFound,
    /// The value is not a number.
    NotNumeric,
    /// The item has another number.
    Exists,
    /// There is no room.
    NoMemory,
}

impl Shard {
    /// Writes a value.
    pub fn write(&mut self, write: &Write<'_>, now: Seconds) -> Stored {
        let stored = self.write_value(write, now);
        if self.watchers.want(Interests::MUTATIONS) {
            self.log_write(write, stored, now);
        }
        stored
    }

    #[cold]
    fn log_write(&self, write: &Write<'_>, stored: Stored, now: Seconds) {
        let ttl = |expires: Seconds| if expires == NEVER { 0 } else { expires.saturating_sub(now) };
        let (class, ttl, size) = match (stored, self.find(write.key, write.hash)) {
            (Stored::TooLarge, _) => (0, 0, 0),
            (Stored::Stored(_), Some((_, at))) => {
                let header = self.blocks.header(at);
                (self.blocks.class_at(at) + 1, ttl(header.expires), header.value_len)
            }
            _ => {
                let class = self.blocks.class_for(write.key.len() + write.value.len());
                (class.unwrap_or(self.blocks.largest()) + 1, ttl(write.expires), write.value.len() as u32)
            }
        };
        self.watchers.log_write(write.key, [stored.name(), write.mode.name()], ttl, class, size);
    }

    fn write_value(&mut self, write: &Write<'_>, now: Seconds) -> Stored {
        debug_assert!(write.key.len() <= MAX_KEY, "parsers refuse longer keys");
        let old = self.find_to_write(write.key, write.hash, now);
        self.counters.cmd_set += 1;
        let Some((position, at)) = old else {
            return match write.mode {
                Mode::Set | Mode::Add => self.store(None, write, now),
                Mode::Cas => {
                    self.counters.cas_misses += 1;
                    Stored::NotFound
                }
                Mode::Replace | Mode::Append | Mode::Prepend => match write.vivify {
                    Some(expires) => self.store(None, &Write { mode: Mode::Set, expires, ..*write }, now),
                    None => Stored::NotStored,
                },
            };
        };
        let header = *self.blocks.header(at);
        let mut write = *write;
        match write.mode {
            Mode::Add => {
                self.note_write(at, now);
                return Stored::NotStored;
            }
            Mode::Cas if write.cas == header.cas => {
                self.counters.cas_hits += 1;
                self.count(at).requests.cas_hits += 1;
            }
            Mode::Cas if write.stale && write.cas != 0 && write.cas < header.cas => {
                self.counters.cas_hits += 1;
                self.count(at).requests.cas_hits += 1;
                write.expires = header.expires;
            }
            Mode::Cas => {
                self.counters.cas_badval += 1;
                self.count(at).requests.cas_badval += 1;
                return Stored::Exists;
            }
            Mode::Append | Mode::Prepend => {
                if write.cas != 0 && write.cas != header.cas {
                    return Stored::Exists;
                }
                (write.flags, write.expires) = (header.flags, header.expires);
                write.binary_key = header.marks & mark::BINARY_KEY != 0;
            }
            Mode::Set | Mode::Replace => {}
        }
        let is_stale = write.mode == Mode::Cas && write.cas != header.cas;
        let stored = self.store(Some((position, at)), &write, now);
        if is_stale && let (Stored::Stored(_), Some((_, at))) = (stored, self.find(write.key, write.hash)) {
            self.set_marks(Item(at), mark::STALE | header.marks & mark::WON, 0);
        }
        stored
    }

    /// Stores an item's new value without counting it as a client's write.
    pub fn rewrite(&mut self, write: &Write<'_>, now: Seconds) -> Stored {
        let old = self.find(write.key, write.hash);
        self.store(old, write, now)
    }

    /// Changes the decimal number in a value. Returns the item and the number.
    fn change_number(&mut self, key: Key<'_>, change: &Arithmetic, now: Seconds) -> Result<(Item, u64), NotChanged> {
        let (_, at) = self.find_to_write(key.bytes, key.hash, now).ok_or(NotChanged::NotFound)?;
        let header = *self.blocks.header(at);
        if header.value_len > 0 && change.cas != 0 && change.cas != header.cas {
            return Err(NotChanged::Exists);
        }
        // A value in several parts is too long for a number.
        if header.next.is_some() {
            return Err(NotChanged::NotNumeric);
        }
        let (from, len) = (usize::from(header.key_len), header.value_len as usize);
        let before = crate::number::unsigned(self.blocks.bytes_at(at, from, len)).ok_or(NotChanged::NotNumeric)?;
        let number = change.apply(before);
        let mut digits = [0; crate::number::DIGITS];
        let digits = crate::number::format(number, &mut digits);
        if digits.len() <= len {
            self.unmirror(at);
            // A shorter number is followed by spaces, as clients expect of a length that stays.
            let value = self.blocks.bytes_at_mut(at, from, len);
            value[..digits.len()].copy_from_slice(digits);
            value[digits.len()..].fill(b' ');
            self.renumber(Item(at), change.new_cas);
            self.note_write(at, now);
            return Ok((Item(at), number));
        }
        let write = Write {
            flags: header.flags,
            expires: header.expires,
            new_cas: change.new_cas,
            binary_key: header.marks & mark::BINARY_KEY != 0,
            ..Write::new(Mode::Set, key, digits)
        };
        match self.rewrite(&write, now) {
            Stored::Stored(_) => {
                let (_, at) = self.find(key.bytes, key.hash).ok_or(NotChanged::NoMemory)?;
                Ok((Item(at), number))
            }
            _ => Err(NotChanged::NoMemory),
        }
    }

    /// Adds to the number that a value is, around 2^64, or subtracts from it, down to 0.
    pub fn add(&mut self, key: Key<'_>, change: &Arithmetic, now: Seconds) -> Result<(Item, u64), NotChanged> {
        let increment = change.increment;
        let changed = self.change_number(key, change, now);
        if let Ok((item, _)) = &changed {
            let requests = &mut self.count(item.0).requests;
            let hits = if increment { &mut requests.incr_hits } else { &mut requests.decr_hits };
            *hits += 1;
        }
        let counters = &mut self.counters;
        match (&changed, increment) {
            (Ok(_), true) => counters.incr_hits += 1,
            (Ok(_), false) => counters.decr_hits += 1,
            (Err(NotChanged::NotFound), true) => counters.incr_misses += 1,
            (Err(NotChanged::NotFound), false) => counters.decr_misses += 1,
            (Err(_), _) => {}
        }
        changed
    }

    /// Notes that an item was written, or would have been.
    pub(super) fn note_write(&mut self, at: Address, now: Seconds) {
        let now = self.stamp(now);
        let header = self.blocks.header_mut(at);
        header.accessed = now;
        header.uses = (header.uses + 1).min(MOST_USES);
    }

    /// Writes an item's value, replacing an old item's, if any.
    fn store(&mut self, old: Option<(Position, Address)>, write: &Write<'_>, now: Seconds) -> Stored {
        let joined = matches!(write.mode, Mode::Append | Mode::Prepend);
        let kept = old.filter(|_| joined).map_or(0, |(_, at)| self.blocks.header(at).value_len as usize);
        let len = kept + write.value.len();
        if HEADER + write.key.len() + len > self.limits.item {
            self.counters.store_too_large += 1;
            if let Some((position, at)) = old.filter(|_| write.mode == Mode::Set) {
                self.unlink(position, write.hash, at);
            }
            return if joined { Stored::NotStored } else { Stored::TooLarge };
        }
        if let Some((_, at)) = old
            && !joined
            && self.blocks.header(at).next == Address::NONE
            && self.blocks.class_for(write.key.len() + len) == Some(self.blocks.class_at(at))
        {
            return self.overwrite(at, write, now);
        }
        // The old item is not to be evicted while it is copied.
        if let Some((_, at)) = old {
            let class = usize::from(self.blocks.class_at(at));
            self.queues[class].remove(&mut self.blocks, at);
            self.blocks.header_mut(at).kind = kind::BUSY;
        }
        let Some(new) = self.allocate_item(write.key, len, now) else {
            self.counters.store_no_memory += 1;
            let class = self.blocks.class_for(write.key.len() + len).unwrap_or(self.blocks.largest());
            self.class_counters[usize::from(class)].ends.outofmemory += 1;
            if let Some((_, at)) = old {
                self.blocks.header_mut(at).kind = kind::ITEM;
                let class = usize::from(self.blocks.class_at(at));
                let protected = self.blocks.header(at).marks & mark::PROTECTED != 0;
                self.queues[class].push(&mut self.blocks, at, protected);
                if write.mode == Mode::Set {
                    self.delete(Item(at));
                }
            }
            return Stored::NoMemory;
        };
        match (write.mode, old) {
            (Mode::Append, Some((_, old))) => {
                self.copy_value(old, new, 0);
                self.fill(new, kept, write.value);
            }
            (Mode::Prepend, Some((_, old))) => {
                self.fill(new, 0, write.value);
                self.copy_value(old, new, write.value.len());
            }
            _ => self.fill(new, 0, write.value),
        }
        self.link(old, new, write, now)
    }

    /// Writes a value over one that takes a block of the same size.
    fn overwrite(&mut self, at: Address, write: &Write<'_>, now: Seconds) -> Stored {
        self.unmirror(at);
        let (cas, now) = (self.cas(write.new_cas), self.stamp(now));
        let header = self.blocks.header_mut(at);
        let before = header.expires;
        header.cas = cas;
        header.expires = write.expires;
        header.accessed = now;
        header.flags = write.flags;
        header.value_len = write.value.len() as u32;
        header.marks = header.marks & mark::PROTECTED | if write.binary_key { mark::BINARY_KEY } else { 0 };
        header.uses = (header.uses + 1).min(MOST_USES);
        let from = usize::from(header.key_len);
        self.blocks.bytes_at_mut(at, from, write.value.len()).copy_from_slice(write.value);
        self.mortal = self.mortal + usize::from(write.expires != NEVER) - usize::from(before != NEVER);
        self.counters.total_items += 1;
        self.count(at).requests.cmd_set += 1;
        Stored::Stored(cas)
    }

    /// Puts a new item into the table and its queue, replacing an old one, if any.
    fn link(&mut self, old: Option<(Position, Address)>, new: Address, write: &Write<'_>, now: Seconds) -> Stored {
        let (cas, now) = (self.cas(write.new_cas), self.stamp(now));
        let header = self.blocks.header_mut(new);
        header.cas = cas;
        header.expires = write.expires;
        header.accessed = now;
        header.flags = write.flags;
        header.kind = kind::ITEM;
        header.marks = if write.binary_key { mark::BINARY_KEY } else { 0 };
        self.mortal += usize::from(write.expires != NEVER);
        self.counters.total_items += 1;
        self.count(new).requests.cmd_set += 1;
        let protected = match old {
            Some((_, at)) => self.blocks.header(at).marks & mark::PROTECTED != 0,
            None => self.ghosts.recall(write.hash),
        };
        let class = usize::from(self.blocks.class_at(new));
        self.queues[class].push(&mut self.blocks, new, protected);
        if let Some((position, at)) = old {
            // Evictions for the new one free places, and move none.
            self.index.replace(position, write.hash, new);
            self.blocks.header_mut(new).uses = 1;
            self.release(at);
            return Stored::Stored(cas);
        }
        loop {
            let (hasher, blocks) = (&self.hasher, &self.blocks);
            let hash_of = |at: Address| {
                let len = blocks.header(at).key_len;
                hasher.hash_bytes(blocks.bytes_at(at, 0, len.into()))
            };
            match self.index.insert(write.hash, new, hash_of) {
                Ok(()) => return Stored::Stored(cas),
                Err(goes) => {
                    self.count_eviction(goes);
                    self.delete(Item(goes));
                }
            }
        }
    }
}
