//! Any bytes as the path and body of a request to Esplora's API: each gets a reply within the length limit.
#![no_main]

use std::{net::Ipv4Addr, sync::OnceLock, time::Instant};

use esplora::Api;
use libfuzzer_sys::fuzz_target;
use turnpike_fuzz::genesis;

fn api() -> &'static Api {
    static API: OnceLock<Api> = OnceLock::new();
    API.get_or_init(|| Api::new(genesis::service().clone()))
}

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (path, posted) = (parts.next().unwrap_or_default(), parts.next());
    let Ok(path) = str::from_utf8(path) else { return };
    let reply = api().answer(&format!("/{path}"), posted, Ipv4Addr::new(192, 0, 2, 1).into(), Instant::now());
    assert!(reply.body.len() <= genesis::LONGEST, "a reply of {} bytes", reply.body.len());
});
