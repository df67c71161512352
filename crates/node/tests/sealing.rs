//! The chain's key, in a file apart from the data and with a signer outside of the node.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixListener,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use client::{Client, Options};
use spv::{BlockHeader, SealingKey};
use turnpike_node::{Config, Node};
use zerocopy::FromBytes;

fn config(folder: &Path) -> Config {
    let mut config = Config { data: folder.join("data"), ..common::config(folder) };
    config.blocks.interval = 20;
    config
}

fn wait(what: &str, mut until: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !until() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A signer that seals no two headers of one height, as a hardware module would not.
struct Signer {
    stop: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
    sealed: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Signer {
    fn start(socket: &Path) -> Self {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let [stop, silent] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let sealed = Arc::new(AtomicU64::new(0));
        let thread = std::thread::spawn({
            let (stop, silent, highest) = (stop.clone(), silent.clone(), sealed.clone());
            let key = SealingKey::from_bytes(&[5; 32]).unwrap();
            let mut last: Option<BlockHeader> = None;
            move || {
                while !stop.load(Relaxed) {
                    let Ok((mut stream, _)) = listener.accept() else {
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    };
                    stream.set_nonblocking(false).unwrap();
                    let mut request = [0; 168];
                    stream.read_exact(&mut request).unwrap();
                    let reply: Vec<u8> = if request[7] == 1 {
                        [&[0; 4][..], &key.public().to_bytes(), &[0; 32]].concat()
                    } else {
                        let header = BlockHeader::read_from_bytes(&request[40..]).unwrap();
                        let due = last.is_none_or(|last| header == last || header.previous == last.hash());
                        assert!(due, "asked for another header than the next: {header:?} after {last:?}");
                        last = Some(header);
                        highest.store(header.height.get(), Relaxed);
                        [&[0; 4][..], &key.seal(&header).seal.0].concat()
                    };
                    if !silent.load(Relaxed) {
                        let _ = stream.write_all(&reply);
                    }
                }
            }
        });
        Self { stop, silent, sealed, thread: Some(thread) }
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn the_key_lies_where_it_is_configured_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("elsewhere.key");
    let config = Config { chain_key: file.clone(), ..config(folder.path()) };
    let node = Node::start(&config).unwrap();
    let (network, key) = (*node.network(), *node.chain_key());
    node.stop();
    assert!(file.exists() && !config.data.join("chain.key").exists());
    // Another chain can have the same key, and is another network all the same.
    let other = Config { data: folder.path().join("other"), ..config.clone() };
    let node = Node::start(&other).unwrap();
    assert_eq!(*node.chain_key(), key);
    assert_ne!(*node.network(), network);
    node.stop();
    let node = Node::start(&config).unwrap();
    assert_eq!((*node.network(), *node.chain_key()), (network, key));
}

#[test]
fn an_old_data_directory_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    std::fs::create_dir(&config.data).unwrap();
    std::fs::write(config.data.join("FORMAT"), "turnpike data directory, format 1\n").unwrap();
    let error = Node::start(&config).unwrap_err().to_string();
    assert!(error.contains("format 1") && error.contains("name another data directory"), "{error}");
}

#[test]
fn blocks_wait_for_a_signer_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("signer");
    let config = Config { chain_signer: socket.clone(), chain_signer_timeout: 100, ..config(folder.path()) };
    let error = Node::start(&config).unwrap_err().to_string();
    assert!(error.contains("check that it runs"), "{error}");
    let signer = Signer::start(&socket);
    let node = Node::start(&config).unwrap();
    assert!(!config.data.join("chain.key").exists());
    let mut client = Client::connect(node.local_address(), &Options::default()).unwrap();
    let mut chain = client.open_chain(Some(*node.network())).unwrap();
    assert_eq!(chain.authority().to_bytes(), *node.chain_key());
    client.create(1_u32.into()).unwrap();
    wait("no block", || node.height() == 1);

    // The signer signs and its reply is lost: the node accepts operations, reports why there are no blocks, and
    // retries.
    signer.silent.store(true, Relaxed);
    client.create(2_u32.into()).unwrap();
    wait("the signer is not missed", || node.state().unready().is_some_and(|reason| reason.contains("not sealed")));
    assert!(node.metrics().contains("turnpike_sealer_failed 1"));
    for account in 3_u32..20 {
        client.create(account.into()).unwrap();
    }
    assert_eq!((node.height(), signer.sealed.load(Relaxed)), (1, 2));

    // Ended and started again meanwhile, it asks for the same header.
    drop(node);
    let node = Node::start(&config).unwrap();
    let mut client = Client::connect(node.local_address(), &Options::default()).unwrap();
    wait("the signer is not missed", || node.state().unready().is_some());
    client.create(20_u32.into()).unwrap();
    signer.silent.store(false, Relaxed);
    wait("blocks are not built again", || node.state().unready().is_none() && node.behind() == 0 && !node.is_open());
    wait("not all is settled", || client.prove_index(&mut chain, 20_u32.into()).unwrap().entry.is_some());
    for account in 1_u32..=20 {
        assert!(client.prove_index(&mut chain, account.into()).unwrap().entry.is_some(), "{account}");
    }
    chain.check_seals().unwrap();
    node.stop();
}

fn get(address: SocketAddr, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// A node whose signer does not answer yet is alive, and reports over HTTP that it starts. The server that did so
/// serves the node's pages afterwards.
#[test]
fn a_node_that_starts_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("signer");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let config = Config {
        chain_signer: socket.clone(),
        chain_signer_timeout: 10_000,
        http: Some(address),
        ..config(folder.path())
    };
    // Connections wait here until somebody accepts them.
    let listener = UnixListener::bind(&socket).unwrap();
    let start = std::thread::spawn({
        let config = config.clone();
        move || Node::start(&config).unwrap()
    });
    wait("nobody reports the start", || get(address, "/ready").contains("503"));
    let reply = get(address, "/ready");
    assert!(reply.contains("starting: verifying the journal"), "{reply}");
    assert!(get(address, "/metrics").contains("503") && get(address, "/accounts").contains("503"));
    assert!(get(address, "/health").ends_with("\r\n\r\nok\n"));
    let (mut asked, _) = listener.accept().unwrap();
    asked.read_exact(&mut [0; 168]).unwrap();
    let key = SealingKey::from_bytes(&[5; 32]).unwrap();
    asked.write_all(&[&[0; 4][..], &key.public().to_bytes(), &[0; 32]].concat()).unwrap();
    // The seal of the genesis block.
    let (mut asked, _) = listener.accept().unwrap();
    drop(listener);
    let mut request = [0; 168];
    asked.read_exact(&mut request).unwrap();
    let header = BlockHeader::read_from_bytes(&request[40..]).unwrap();
    asked.write_all(&[&[0; 4][..], &key.seal(&header).seal.0].concat()).unwrap();
    let node = start.join().unwrap();
    assert_eq!(node.http_address(), Some(address));
    assert!(get(address, "/ready").ends_with("\r\n\r\nready\n"));
    assert!(get(address, "/metrics").contains("turnpike_height 0\n"));
    node.stop();
    assert!(get(address, "/health").is_empty());
}
