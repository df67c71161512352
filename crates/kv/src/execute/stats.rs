//! The replies to `stats`, with memcached's names, so that tools that read them keep working.

use std::sync::atomic::Ordering::Relaxed;

use super::{
    binary_reply::{refuse, reply},
    compatible_stats,
    walk::Walk,
};
use net::tls::Tls;

use crate::{
    clock::Seconds,
    host::Access,
    number::unsigned_32,
    protocol::{
        Words,
        binary::{Request, Status},
    },
    service::{Allowed, Service, VERSION},
    store::ClassUse,
    users::Users,
};

/// Replies to `stats` and its arguments, or begins to.
pub fn ascii(service: &Service, mut words: Words<'_>, out: &mut Vec<u8>, now: Seconds) -> Option<Walk> {
    let _position = service.order(&Access::Read);
    let mut stat = |name: &str, value: &str| {
        out.extend_from_slice(b"STAT ");
        out.extend_from_slice(name.as_bytes());
        out.push(b' ');
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    };
    let error = match words.next() {
        Some(b"reset") => {
            service.reset_counts();
            out.extend_from_slice(b"RESET\r\n");
            return None;
        }
        Some(b"detail") => match words.next() {
            Some(b"on" | b"off") => Err("OK\r\n"),
            Some(b"dump") => Ok(()),
            _ => Err("CLIENT_ERROR usage: stats detail on|off|dump\r\n"),
        },
        Some(b"cachedump") => return cachedump(service, words, out),
        Some(b"sizes") => return Some(Walk::sizes(None)),
        group => {
            if tell(service, group, now, &mut stat) {
                Ok(())
            } else {
                Err("ERROR\r\n")
            }
        }
    };
    out.extend_from_slice(error.err().unwrap_or("END\r\n").as_bytes());
    None
}

/// Replies to a binary `stat`, or begins to: one item of it a reply, and an empty one at the end.
pub fn binary(service: &Service, request: &Request<'_>, out: &mut Vec<u8>, now: Seconds) -> Option<Walk> {
    let _position = service.order(&Access::Read);
    let header = request.header;
    let group = (!request.key.is_empty()).then_some(request.key);
    if group == Some(b"reset") {
        service.reset_counts();
    } else if group == Some(b"sizes") {
        return Some(Walk::sizes(Some(header)));
    } else {
        let mut stat = |name: &str, value: &str| {
            reply(header, Status::Ok, &[], name.as_bytes(), value.as_bytes(), 0, out);
        };
        let known = group.is_some_and(|group| group.starts_with(b"detail")) || tell(service, group, now, &mut stat);
        if !known {
            refuse(header, Status::NotFound, out);
            return None;
        }
    }
    reply(header, Status::Ok, &[], &[], &[], 0, out);
    None
}

/// Writes a group of counts; false if there is no such group.
fn tell(service: &Service, group: Option<&[u8]>, now: Seconds, stat: &mut impl FnMut(&str, &str)) -> bool {
    match group {
        None => general(service, now, stat),
        Some(b"settings") => settings(service, stat),
        Some(b"items") => items(service, now, stat),
        Some(b"slabs") => slabs(service, now, stat),
        Some(b"conns") => {}
        _ => return false,
    }
    true
}

fn general(service: &Service, now: Seconds, stat: &mut impl FnMut(&str, &str)) {
    let (store, counts) = (&service.store, &service.counts);
    let counters = store.counters();
    let mut number = |name: &str, value: u64| stat(name, &value.to_string());
    number("pid", std::process::id().into());
    number("uptime", store.clock().uptime(now).into());
    number("time", store.clock().since_1970(now).cast_unsigned());
    stat("version", VERSION);
    let mut number = |name: &str, value: u64| stat(name, &value.to_string());
    number("pointer_size", usize::BITS.into());
    for (name, seconds) in ["rusage_user", "rusage_system"].into_iter().zip(processor_time()) {
        stat(name, &format!("{seconds:.6}"));
    }
    let mut number = |name: &str, value: u64| stat(name, &value.to_string());
    number("max_connections", service.connection_limit() as u64);
    number("curr_connections", counts.curr_connections.load(Relaxed));
    number("total_connections", counts.total_connections.load(Relaxed));
    number("rejected_connections", counts.rejected_connections.load(Relaxed));
    // A connection above the limit is refused at once; the listener continues.
    number("listen_disabled_num", 0);
    number("connection_structures", counts.curr_connections.load(Relaxed));
    number("cmd_get", counters.get_hits + counters.get_misses);
    number("cmd_flush", counts.cmd_flush.load(Relaxed));
    counters.iter().for_each(|(name, value)| number(name, value));
    number("auth_cmds", counts.auth_cmds.load(Relaxed));
    number("auth_errors", counts.auth_errors.load(Relaxed));
    number("idle_kicks", counts.idle_kicks.load(Relaxed));
    number("memory_kicks", counts.memory_kicks.load(Relaxed));
    number("slow_kicks", counts.slow_kicks.load(Relaxed));
    number("stalled_kicks", counts.stalled_kicks.load(Relaxed));
    number("bytes_read", counts.bytes_read.load(Relaxed));
    number("bytes_written", counts.bytes_written.load(Relaxed));
    number("conn_yields", counts.conn_yields.load(Relaxed));
    for (event, count) in service.nic().iter().flat_map(|nic| nic.counts().all()) {
        number(&format!("nic_{event}"), count);
    }
    if let Some(tls) = service.tls() {
        if tls.files().resume {
            number("ssl_new_sessions", tls.new_sessions.load(Relaxed));
        }
        number("ssl_handshake_errors", tls.handshake_errors.load(Relaxed));
        number("time_since_server_cert_refresh", now.saturating_sub(tls.loaded()).into());
    }
    number("limit_maxbytes", store.config().memory as u64);
    number("accepting_conns", u64::from(!service.is_stopping()));
    number("threads", store.config().threads as u64);
    let sum = |of: fn(&crate::store::Shard) -> usize| store.shards().map(|shard| of(&shard) as u64).sum::<u64>();
    number("total_malloced", sum(crate::store::Shard::memory));
    number("hash_bytes", sum(crate::store::Shard::overhead_bytes));
    number("bytes", sum(crate::store::Shard::used_bytes));
    number("curr_items", sum(crate::store::Shard::len));
    compatible_stats::general(service, &mut number);
}

/// User and system seconds of the program (proc(5), `/proc/pid/stat`); 0 if the system does not report them.
fn processor_time() -> [f64; 2] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may contain spaces. The times are the 12th and 13th field after it.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut times = fields.split_whitespace().skip(11).map(|ticks| ticks.parse().unwrap_or(0.0));
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    std::array::from_fn(|_| times.next().unwrap_or(0.0) / per_second)
}

fn settings(service: &Service, stat: &mut impl FnMut(&str, &str)) {
    let (settings, config) = (&service.settings, service.store.config());
    let yes = |is: bool| if is { "yes" } else { "no" };
    stat("maxbytes", &config.memory.to_string());
    stat("maxconns", &service.connection_limit().to_string());
    stat("evictions", if config.evict { "on" } else { "off" });
    stat("num_threads", &config.threads.to_string());
    stat("cas_enabled", "yes");
    let users = |spoken: bool| service.users().filter(|_| spoken).map(Users::path);
    stat("auth_enabled_sasl", yes(users(settings.protocol != Allowed::Ascii).is_some()));
    let file = users(settings.protocol != Allowed::Binary).map_or("no".into(), |path| path.display().to_string());
    stat("auth_enabled_ascii", &file);
    stat("item_size_max", &config.largest_item.to_string());
    stat("flush_enabled", yes(settings.flush));
    stat("dump_enabled", yes(settings.dump));
    stat("shutdown_command", yes(settings.shutdown));
    compatible_stats::settings(service, stat);
    tls(service, stat);
    settings.told.iter().for_each(|(name, value)| stat(name, value));
}

/// Bytes that a connection's records hold at most before they are sent (RFC 8446, section 5.1).
const RECORD: usize = 16 << 10;

fn tls(service: &Service, stat: &mut impl FnMut(&str, &str)) {
    let tls = service.tls();
    stat("ssl_enabled", if tls.is_some() { "yes" } else { "no" });
    let Some(files) = tls.map(Tls::files) else { return };
    let yes = |is: bool| if is { "yes" } else { "no" };
    stat("ssl_chain_cert", &files.chain.display().to_string());
    stat("ssl_key", &files.key.display().to_string());
    stat("ssl_verify_mode", &(files.clients as u8).to_string());
    // PEM, by OpenSSL's number for it.
    stat("ssl_keyformat", "1");
    stat("ssl_ciphers", "NULL");
    stat("ssl_ca_cert", &files.authorities.as_ref().map_or("NULL".into(), |path| path.display().to_string()));
    stat("ssl_wbuf_size", &RECORD.to_string());
    stat("ssl_session_cache", yes(files.resume));
    stat("ssl_kernel_tls", "no");
    stat("ssl_min_version", files.oldest.name());
}

/// The use of each class of blocks, over all shards.
fn classes(service: &Service, now: Seconds) -> Vec<ClassUse> {
    let mut sum: Vec<ClassUse> = Vec::new();
    for shard in service.store.shards() {
        for class in shard.classes(now) {
            match sum.binary_search_by_key(&class.class, |known| known.class) {
                Ok(at) => {
                    let known = &mut sum[at];
                    known.pages += class.pages;
                    known.items += class.items;
                    known.protected += class.protected;
                    known.age = known.age.max(class.age);
                    known.counters.requests.add(&class.counters.requests);
                    known.counters.ends.add(&class.counters.ends);
                }
                Err(at) => sum.insert(at, class),
            }
        }
    }
    sum
}

fn items(service: &Service, now: Seconds, stat: &mut impl FnMut(&str, &str)) {
    for class in classes(service, now) {
        let number = class.class + 1;
        stat(&format!("items:{number}:number"), &class.items.to_string());
        stat(&format!("items:{number}:number_hot"), &(class.items - class.protected).to_string());
        stat(&format!("items:{number}:number_warm"), &class.protected.to_string());
        stat(&format!("items:{number}:age"), &class.age.to_string());
        for (name, count) in class.counters.ends.iter() {
            stat(&format!("items:{number}:{name}"), &count.to_string());
        }
    }
}

fn slabs(service: &Service, now: Seconds, stat: &mut impl FnMut(&str, &str)) {
    let classes = classes(service, now);
    for class in &classes {
        let number = class.class + 1;
        let blocks = class.blocks_in_page * class.pages as usize;
        stat(&format!("{number}:chunk_size"), &class.block.to_string());
        stat(&format!("{number}:chunks_per_page"), &class.blocks_in_page.to_string());
        stat(&format!("{number}:total_pages"), &class.pages.to_string());
        stat(&format!("{number}:total_chunks"), &blocks.to_string());
        stat(&format!("{number}:used_chunks"), &class.items.to_string());
        stat(&format!("{number}:free_chunks"), &blocks.saturating_sub(class.items).to_string());
        for (name, count) in class.counters.requests.iter() {
            stat(&format!("{number}:{name}"), &count.to_string());
        }
    }
    stat("active_slabs", &classes.len().to_string());
    let memory: usize = classes.iter().map(|class| class.block * class.blocks_in_page * class.pages as usize).sum();
    stat("total_malloced", &memory.to_string());
}

/// Replies to `stats cachedump`, or begins to.
fn cachedump(service: &Service, mut words: Words<'_>, out: &mut Vec<u8>) -> Option<Walk> {
    let (class, limit) = (words.next(), words.next());
    let refusal: &[u8] = if !service.settings.dump {
        b"CLIENT_ERROR stats cachedump not allowed\r\n"
    } else if let (Some(class), Some(limit)) = (class, limit) {
        match (unsigned_32(class), unsigned_32(limit)) {
            (Some(64..), Some(_)) => b"CLIENT_ERROR Illegal slab id\r\n",
            (Some(class), Some(0)) => return Some(Walk::cachedump(class, u32::MAX)),
            (Some(class), Some(keys)) => return Some(Walk::cachedump(class, keys)),
            _ => b"CLIENT_ERROR bad command line format\r\n",
        }
    } else {
        b"CLIENT_ERROR bad command line\r\n"
    };
    out.extend_from_slice(refusal);
    None
}
