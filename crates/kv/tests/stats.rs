//! `stats`: the keys that dashboards read, with true values.
#![allow(clippy::unwrap_used)]

mod common;

use std::{collections::BTreeMap, path::Path};

use common::{Ours, Theirs, converse, small_store};
use skip::Ability;
use turnpike_kv::{service::Settings, store};

/// Keys of memcached that have no true value here.
const LEFT_OUT: [&str; 8] = [
    "libevent",
    "response_obj_oom",
    "response_obj_count",
    "response_obj_bytes",
    "read_buf_count",
    "read_buf_bytes",
    "read_buf_bytes_free",
    "read_buf_oom",
];

fn stats(path: &Path, group: &str) -> BTreeMap<String, String> {
    let reply = String::from_utf8(converse(path, format!("stats{group}\r\n").as_bytes())).unwrap();
    let lines = reply.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn every_key_of_memcached_but_those_without_a_true_value() {
    let Some(theirs) = Theirs::start(&[]) else {
        return skip::lacking(Ability::Peers, "memcached is not installed; scripts/setup installs it");
    };
    let ours = stats(&Ours::start().path(), "");
    let missing = stats(&theirs.path(), "").into_keys().filter(|name| !ours.contains_key(name));
    let mut left_out = LEFT_OUT.map(str::to_owned).to_vec();
    left_out.sort();
    assert_eq!(Vec::from_iter(missing), left_out);
}

#[test]
fn values_are_counted() {
    let config = store::Config { memory: 2 << 20, ..small_store() };
    let ours = Ours::with(config, Settings::default(), |_| {});
    let number = |stats: &BTreeMap<String, String>, name: &str| stats[name].parse::<u64>().unwrap();
    let empty = stats(&ours.path(), "");
    assert_eq!(number(&empty, "slab_global_page_pool"), 32, "2 MiB in pages of 64 KiB");
    assert!(number(&empty, "reserved_fds") > 0 && number(&empty, "curr_items") == 0);
    // Items that expire at once, then more than there is room for, some of them read twice, and last of another size.
    let mut requests = String::new();
    for n in 0..100 {
        requests += &format!("set over{n} 0 -1 1 noreply\r\n1\r\n");
    }
    for n in 0..40_000 {
        requests += &format!("set small{n} 0 0 100 noreply\r\n{}\r\n", "s".repeat(100));
        requests += &format!("mg small{} q\r\nmg small0 q\r\n", n - n % 100);
    }
    for n in 0..300 {
        requests += &format!("set large{n} 0 0 9000 noreply\r\n{}\r\n", "l".repeat(9000));
    }
    converse(&ours.path(), requests.as_bytes());
    let full = stats(&ours.path(), "");
    let count = |name| number(&full, name);
    assert_eq!(count("evictions"), count("direct_reclaims") + count("slab_reassign_evictions_nomem"));
    assert_eq!(count("slabs_moved"), count("pages_moved"));
    assert_eq!(count("slab_global_page_pool"), 0);
    for name in ["direct_reclaims", "moves_to_warm", "moves_within_lru", "crawler_items_checked", "crawler_reclaimed"] {
        assert!(count(name) > 0, "{name}");
    }
    assert!(count("crawler_reclaimed") <= count("reclaimed"));
    assert!(count("hash_power_level") >= 9 && 1 << count("hash_power_level") > count("curr_items") / 2);
    let settings = stats(&ours.path(), " settings");
    assert_eq!(number(&settings, "read_buf_mem_limit"), Settings::default().buffered as u64 >> 20);
    assert_eq!(settings["auth_enabled_ascii"], "no");
}
