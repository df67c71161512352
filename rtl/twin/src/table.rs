//! The table with 16-byte keys and 8-byte values: the testbenches of `rtl/table` run it in lock step. `table_tb.hpp`
//! declares it.

use table::{Config, Table};

type Twin = Table<16, 8>;

/// Creates a table for `entries` entries at a load of `load` percent; null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn table_new(entries: usize, load: u32, seed: &[u8; 16]) -> Option<Box<Twin>> {
    Twin::with_capacity(&Config::new(entries).load(load).seed(*seed)).ok().map(Box::new)
}

/// Frees a table.
#[unsafe(no_mangle)]
pub extern "C" fn table_free(_: Option<Box<Twin>>) {}

/// Looks a key up. Returns whether it exists, and its value.
#[unsafe(no_mangle)]
pub extern "C" fn table_get(table: &Twin, key: &[u8; 16], value: &mut u64) -> bool {
    let found = table.get(key);
    *value = found.map_or(*value, u64::from_le_bytes);
    found.is_some()
}

/// Adds a key, or changes its value; returns false if the table is full.
#[unsafe(no_mangle)]
pub extern "C" fn table_insert(table: &mut Twin, key: &[u8; 16], value: u64) -> bool {
    table.insert(key, value.to_le_bytes()).is_ok()
}

/// Removes a key. Returns whether it existed, and its value.
#[unsafe(no_mangle)]
pub extern "C" fn table_remove(table: &mut Twin, key: &[u8; 16], value: &mut u64) -> bool {
    let removed = table.remove(key);
    *value = removed.map_or(*value, u64::from_le_bytes);
    removed.is_some()
}
