//! Any bytes as the body of a Bitcoin node's answer: each call returns a value or an error, and allocates no more than
//! was sent.
#![no_main]

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{Mutex, OnceLock},
    thread,
    time::Duration,
};

use bitcoind::{Client, Settings};
use libfuzzer_sys::fuzz_target;

/// Body of the next answer.
static BODY: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A client of a node that answers every request with `BODY`.
fn client() -> &'static Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    CLIENT.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("a port that is bound"));
        thread::spawn(move || {
            for socket in listener.incoming() {
                let Ok(mut socket) = socket else { continue };
                // Such a request arrives in one or two reads; anything after its head is irrelevant.
                let mut request = Vec::new();
                let mut room = [0; 4096];
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    match socket.read(&mut room) {
                        Ok(count) if count > 0 => request.extend_from_slice(&room[..count]),
                        _ => break,
                    }
                }
                let body = BODY.lock().expect("no panic here").clone();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                // The client may have closed the connection early.
                let _ = socket.write_all(&[head.as_bytes(), &body].concat());
            }
        });
        let cookie =
            tempfile::NamedTempFile::new().expect("a file").into_temp_path().keep().expect("a file that stays");
        Client::new(Settings { url, cookie, patience: Duration::from_secs(5) })
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((call, body)) = bytes.split_first() else { return };
    *BODY.lock().expect("no panic here") = body.to_vec();
    let (client, hash) = (client(), [7; 32]);
    match call % 10 {
        0 => drop(client.block_info()),
        1 => drop(client.block_hash(5)),
        2 => {
            if let Ok(hashes) = client.block_hashes(5, 3) {
                assert!(hashes.len() <= 3);
            }
        }
        3 => {
            if let Ok(block) = client.block(&hash) {
                assert!(2 * block.len() <= body.len());
            }
        }
        4 => {
            if let Ok(waiting) = client.mempool() {
                assert!(64 * waiting.len() <= body.len());
            }
        }
        5 => {
            if let Ok(transactions) = client.mempool_transactions(&[hash; 2]) {
                assert!(transactions.len() <= 2);
            }
        }
        6 => drop(client.fees()),
        7 => drop(client.test(["00"])),
        8 => drop(client.send_package(["00"])),
        _ => drop(client.estimate_fee(6, None)),
    }
});
