//! The server over sockets: TCP and TLS, slow clients, clients that send too much, and many at once.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpStream},
    process::Command,
    sync::Arc,
    time::Duration,
};

use common::Fixture;
use net::tls::{Clients, Files, Tls, Version};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::ring, pki_types::pem::PemObject};
use serde_json::{Value, json};
use skip::Ability;
use tungstenite::{
    Message, WebSocket,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};
use turnpike_electrum::{
    Limits, Settings,
    server::{Config, Server},
};

/// How long a reply may take before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);
const HELLO: &str = "{\"id\":0,\"method\":\"server.version\",\"params\":[\"\",\"1.4\"]}\n";

fn start(fixture: &Fixture, settings: Settings, tls: Option<Arc<Tls>>) -> Server {
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let at = vec![any];
    let config =
        Config { tcp: at.clone(), tcp_tls: at.clone(), web_socket: at.clone(), web_socket_tls: at, tls, threads: 2 };
    Server::start(&config, fixture.service(settings)).unwrap()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.tcp()[0]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn read_line(reader: &mut impl BufRead) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn pipelines_slow_clients_and_long_lines() {
    let Some(fixture) = Fixture::new(2100) else { return };
    let limits = Limits { request: 100_000, trusted: Vec::new(), prefix_connections: 5, ..Limits::default() };
    let settings = Settings { limits, patience: Duration::from_secs(2), ..Settings::default() };
    let server = start(&fixture, settings, None);
    // A client that never ends its request is disconnected; so is one that sends nothing but bytes.
    let mut slow = connect(&server);
    slow.write_all(b"{\"id\":").unwrap();
    let mut endless = connect(&server);
    endless.set_nonblocking(false).unwrap();
    let written = (0..1000).map_while(|_| endless.write(&[b'x'; 100_000]).ok()).count();
    assert!(written < 1000, "100 MB in a line were taken");
    // Others are served meanwhile: 2,000 requests at once, whose replies are read late.
    let mut client = connect(&server);
    client.write_all(HELLO.as_bytes()).unwrap();
    let chunk = json!({"id": 1, "method": "blockchain.block.headers", "params": [0, 2016]}).to_string() + "\n";
    let ping = json!({"id": 2, "method": "server.ping"}).to_string() + "\n";
    let mut writer = client.try_clone().unwrap();
    let sent = std::thread::spawn(move || writer.write_all((chunk.repeat(50) + &ping.repeat(1950)).as_bytes()));
    let mut reader = BufReader::new(client);
    assert_eq!(read_line(&mut reader)["id"], 0);
    for n in 0..2000 {
        let reply = read_line(&mut reader);
        assert_eq!(reply["id"], if n < 50 { 1 } else { 2 }, "{n}");
        assert_eq!(reply["result"]["count"].as_u64(), (n < 50).then_some(2016));
    }
    sent.join().unwrap().unwrap();
    assert_eq!(slow.read(&mut [0; 10]).unwrap(), 0);
    // Connections beyond the limit of a prefix are refused at once.
    let mut many: Vec<TcpStream> = (0..5).map(|_| connect(&server)).collect();
    let closed = many.iter_mut().filter_map(|stream| {
        let _ = stream.write_all(HELLO.as_bytes());
        let mut room = [0; 200];
        match stream.read(&mut room) {
            Ok(0) => Some(()),
            Ok(count) if String::from_utf8_lossy(&room[..count]).contains("too many connections") => Some(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(()),
            _ => None,
        }
    });
    assert!(closed.count() >= 1);
    drop(server);
}

#[test]
fn over_tls() {
    let Some(fixture) = Fixture::new(10) else { return };
    let folder = tempfile::tempdir().unwrap();
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 100 -subj /CN=localhost -out chain.pem \
                     -keyout key.pem -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE";
    match Command::new("openssl").current_dir(folder.path()).args(arguments.split_whitespace()).output() {
        Ok(made) => assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr)),
        Err(_) => return skip::lacking(Ability::Peers, "openssl is not installed; scripts/setup installs it"),
    }
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
    let mut roots = RootCertStore::empty();
    roots.add(rustls::pki_types::CertificateDer::from_pem_file(&chain).unwrap()).unwrap();
    let files = Files { chain, key, authorities: None, clients: Clients::Any, oldest: Version::V1_2, resume: false };
    let settings = Settings { patience: Duration::from_secs(5), ..Settings::default() };
    let server = start(&fixture, settings, Some(Arc::new(Tls::load(files, 0).unwrap())));
    // A handshake that never continues, or never begins.
    let mut stalled = [server.tls()[0], server.web_socket_tls()[0]].map(|to| TcpStream::connect(to).unwrap());
    stalled[0].write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let header = json!({"id": 1, "method": "blockchain.block.header", "params": [5]}).to_string() + "\n";
    for _ in 0..3 {
        let stream = TcpStream::connect(server.tls()[0]).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let client = ClientConnection::new(Arc::clone(&config), "localhost".try_into().unwrap()).unwrap();
        let mut stream = StreamOwned::new(client, stream);
        stream.write_all(HELLO.as_bytes()).unwrap();
        stream.write_all(header.repeat(200).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        assert_eq!(read_line(&mut reader)["result"][1], "1.4");
        for _ in 0..200 {
            assert_eq!(read_line(&mut reader)["result"], common::hex(&fixture.blocks[5][..80]));
        }
    }
    // The same over WebSocket in TLS.
    let stream = TcpStream::connect(server.web_socket_tls()[0]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let client = ClientConnection::new(Arc::clone(&config), "localhost".try_into().unwrap()).unwrap();
    let (mut socket, _) = tungstenite::client("wss://localhost/", StreamOwned::new(client, stream)).unwrap();
    assert_eq!(exchange(&mut socket, HELLO)["result"][1], "1.4");
    assert_eq!(exchange(&mut socket, &header)["result"], common::hex(&fixture.blocks[5][..80]));
    // A client that does not speak TLS is disconnected.
    let mut plain = TcpStream::connect(server.tls()[0]).unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    plain.write_all(HELLO.as_bytes()).unwrap();
    let mut rest = Vec::new();
    // An alert, or a reset.
    let _ = plain.read_to_end(&mut rest);
    assert!(rest.len() < 100);
    stalled.iter_mut().for_each(ends);
}

/// Waits for the end of a connection.
fn ends(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
}

/// Everything begun is finished in time or ended; bytes that arrive meanwhile do not extend the time.
#[test]
fn what_is_half_done_ends_in_time() {
    let Some(fixture) = Fixture::new(10) else { return };
    let settings = Settings { patience: Duration::from_secs(2), ..Settings::default() };
    let server = start(&fixture, settings, None);
    let to = server.web_socket()[0];
    let silent = TcpStream::connect(to).unwrap();
    let mut half = TcpStream::connect(to).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n").unwrap();
    let mut dripping = connect(&server);
    dripping.write_all(HELLO.as_bytes()).unwrap();
    let open = |first: &[u8]| {
        let (socket, _) = tungstenite::client("ws://localhost/", TcpStream::connect(to).unwrap()).unwrap();
        let mut stream = socket.get_ref().try_clone().unwrap();
        stream.write_all(first).unwrap();
        stream
    };
    // An incomplete message, pings between its parts, and empty parts. The mask is 0.
    let [begin, part, ping] = [0x01, 0x00, 0x89].map(|first| [first, 0x80, 0, 0, 0, 0]);
    let half_message = open(&[0x81, 0xfe, 0x10, 0x00, 0, 0, 0, 0, b'{']);
    let (mut with_pings, mut empty) = (open(&begin), open(&begin));
    let mut pinging = open(&ping);
    let start = std::time::Instant::now();
    let is_open = |stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let read = loop {
            match (&*stream).read(&mut [0; 4096]) {
                Ok(count) if count > 0 => {}
                read => break read,
            }
        };
        stream.set_nonblocking(false).unwrap();
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    while [&dripping, &with_pings, &empty].into_iter().any(is_open) {
        assert!(start.elapsed() < PATIENCE, "bytes that arrive keep a half request open");
        // An ended connection accepts nothing.
        let _ = dripping.write_all(b" ");
        let _ = with_pings.write_all(&[ping, part].concat());
        let _ = empty.write_all(&part.repeat(100));
        pinging.write_all(&ping).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    [silent, half, half_message].iter_mut().for_each(ends);
    // A client that only pings has nothing incomplete.
    assert!(is_open(&pinging));
}

/// Sends a message, and reads its reply.
fn exchange(socket: &mut WebSocket<impl Read + Write>, message: &str) -> Value {
    socket.send(Message::text(message)).unwrap();
    read_message(socket)
}

fn read_message(socket: &mut WebSocket<impl Read + Write>) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

#[test]
fn over_web_socket() {
    let Some(fixture) = Fixture::new(2100) else { return };
    let limits = Limits { request: 100_000, trusted: Vec::new(), prefix_cost: 1 << 30, ..Limits::default() };
    let server = start(&fixture, Settings { limits, ..Settings::default() }, None);
    let connect = || {
        let stream = TcpStream::connect(server.web_socket()[0]).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        tungstenite::client("ws://localhost/", stream).unwrap().0
    };
    let mut socket = connect();
    // A message has no line end, one, or several between its parts; it is text or binary, whole or in frames.
    assert_eq!(exchange(&mut socket, HELLO)["result"][1], "1.4");
    let pretty = "{\n\"id\": 1,\n\"method\": \"server.ping\"\n}";
    assert_eq!(exchange(&mut socket, pretty), json!({"jsonrpc": "2.0", "result": null, "id": 1}));
    socket.send(Message::binary(pretty)).unwrap();
    assert_eq!(read_message(&mut socket)["id"], 1);
    socket.send(Message::Ping("hello".into())).unwrap();
    assert_eq!(socket.read().unwrap(), Message::Pong("hello".into()));
    // Many at once, with long replies that are read late: each reply is a message.
    let chunk = json!({"id": 2, "method": "blockchain.block.headers", "params": [0, 2016]}).to_string();
    for _ in 0..50 {
        socket.send(Message::text(chunk.as_str())).unwrap();
    }
    for _ in 0..50 {
        let reply = read_message(&mut socket);
        assert_eq!((&reply["id"], &reply["result"]["count"]), (&json!(2), &json!(2016)));
    }
    let batch = json!([{"id": 3, "method": "server.ping"}, {"id": 4, "method": "none"}]).to_string();
    assert_eq!(exchange(&mut socket, &batch).as_array().unwrap().len(), 2);
    // A message that is too long ends the connection with the reason, however long it is, in one frame or in several.
    for (length, frames) in [(100_001, 1), (15_000_000, 1), (60_000, 2)] {
        let mut socket = connect();
        assert_eq!(exchange(&mut socket, HELLO)["id"], 0);
        for number in 1..=frames {
            let (opcode, is_last) = (if number == 1 { Data::Text } else { Data::Continue }, number == frames);
            let frame = Frame::message(vec![b'x'; length], OpCode::Data(opcode), is_last);
            socket.send(Message::Frame(frame)).unwrap();
        }
        let refusal = read_message(&mut socket);
        assert_eq!(refusal["error"], json!({"code": -101, "message": "request too large: at most 100000 bytes"}));
        assert!(matches!(socket.read(), Ok(Message::Close(_))));
    }
    // A request other than for a WebSocket ends the connection, too.
    let mut plain = TcpStream::connect(server.web_socket()[0]).unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    plain.write_all(format!("{HELLO}\r\n\r\n").as_bytes()).unwrap();
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("result"));
    // A close is acknowledged, and others are served.
    let mut socket = connect();
    assert_eq!(exchange(&mut socket, HELLO)["id"], 0);
    socket.close(None).unwrap();
    assert!(matches!(socket.read(), Ok(Message::Close(_)) | Err(tungstenite::Error::ConnectionClosed)));
}
