//! Clients that do not behave, over sockets.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{TcpStream, UdpSocket},
    os::unix::net::UnixStream,
    process::Command,
    sync::atomic::Ordering::Relaxed,
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Ours, PATIENCE, ask, converse, expect, small_store};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use skip::Ability;
use turnpike_kv::{server::Deadlines, service::Settings};

/// Clients that are connected and silent.
const IDLE: usize = 10_000;

#[test]
fn ten_thousand_idle_connections_leave_room_for_one_more() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = 2 * IDLE as u64 + 200;
    if limit.maximum.is_some_and(|maximum| maximum < wanted) {
        return skip::lacking(Ability::Descriptors, format!("the hard limit of open files is below {wanted}"));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).unwrap();
    let ours = Ours::with(small_store(), Settings { connections: IDLE + 10, ..Settings::default() }, |_| {});
    let idle: Vec<_> = (0..IDLE).map(|_| ours.connect()).collect();
    // Half a request each: little memory is held for it.
    for mut stream in &idle {
        stream.write_all(b"get ke").unwrap();
    }
    ask(&ours.connect(), b"set a 0 0 1\r\n1\r\n", b"STORED\r\n");
    ask(&idle[IDLE / 2], b"y\r\n", b"END\r\n");
    assert_eq!(ours.server().service().counts.curr_connections.load(Relaxed), IDLE as u64 + 1);
}

#[test]
fn connections_beyond_the_limit_are_told_so() {
    let ours = Ours::with(small_store(), Settings { connections: 2, ..Settings::default() }, |_| {});
    let both = [ours.connect(), ours.connect()];
    both.iter().for_each(|stream| ask(stream, b"mn\r\n", b"MN\r\n"));
    expect(&ours.connect(), b"ERROR Too many open connections\r\n");
    drop(both);
    // The places are free as soon as the server sees that.
    while ours.server().service().counts.curr_connections.load(Relaxed) > 0 {
        sleep(Duration::from_millis(1));
    }
    ask(&ours.connect(), b"mn\r\n", b"MN\r\n");
}

#[test]
fn what_is_too_large_is_refused_and_passed_over() {
    let ours = Ours::start();
    let stream = ours.connect();
    ask(&stream, b"set a 0 0 1\r\n1\r\n", b"STORED\r\n");
    let large = [b"set a 0 0 2000000\r\n".to_vec(), vec![b'x'; 2_000_000], b"\r\nget a\r\n".to_vec()].concat();
    ask(&stream, &large, b"SERVER_ERROR object too large for cache\r\nEND\r\n");
    // By both protocols an item goes whose new value is refused.
    ask(&stream, b"set a 0 0 1\r\n1\r\n", b"STORED\r\n");
    let header = [&[0x80, 1, 0, 1, 8, 0, 0, 0, 0, 0x1e, 0x84, 0x80][..], &[0; 12]].concat();
    let binary = [header, vec![0; 8], b"a".to_vec(), vec![b'x'; 2_000_000 - 9]].concat();
    let too_large = [&[0x81, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 10][..], &[0; 12], b"Too large."].concat();
    ask(&ours.connect(), &binary, &too_large);
    ask(&stream, b"get a\r\n", b"END\r\n");
    let key = "k".repeat(251);
    ask(&stream, format!("get {key}\r\n").as_bytes(), b"CLIENT_ERROR bad command line format\r\n");
    ask(&stream, b"set a 0 0 -1\r\n", b"CLIENT_ERROR bad command line format\r\n");
    ask(&stream, b"set a 0 0 2147483646\r\n", b"CLIENT_ERROR bad command line format\r\n");
    assert_eq!(converse(&ours.path(), &[b'x'; 5000]), b"", "a line without an end");
    let half_a_million = format!("get{}", " k".repeat(300_000));
    assert_eq!(converse(&ours.path(), half_a_million.as_bytes()), b"", "a request without an end");
}

#[test]
fn half_requests_take_bounded_memory_together() {
    let ours = Ours::with(small_store(), Settings { buffered: 1 << 20, ..Settings::default() }, |_| {});
    let honest = ours.connect();
    ask(&honest, b"set a 0 0 3\r\nold\r\n", b"STORED\r\n");
    // What a client says that it will send takes no memory.
    let declared: Vec<_> = (0..100).map(|_| ours.connect()).collect();
    declared.iter().for_each(|mut stream| stream.write_all(b"set a 0 0 1000000\r\nx").unwrap());
    let value = [b"set b 0 0 300000\r\n".to_vec(), vec![b'x'; 300_000], b"\r\n".to_vec()].concat();
    ask(&honest, &value, b"STORED\r\n");
    // One that is too large for what all may hold is refused, and the old item stays.
    let large = [b"set a 0 0 700000\r\n".to_vec(), vec![b'x'; 700_000], b"\r\nget a\r\n".to_vec()].concat();
    let refused = b"SERVER_ERROR out of memory storing object\r\nVALUE a 0 3\r\nold\r\nEND\r\n";
    ask(&honest, &large, refused);
    // Clients that hold memory and do nothing are refused or closed, the sooner the longer they do nothing. On a busy
    // machine that may be the honest one, which connects again.
    let stored = || {
        let started = Instant::now();
        while !ask_line(&ours.connect(), &value).is_ok_and(|line| line == "STORED") {
            assert!(started.elapsed() < Duration::from_secs(60), "there is no room for an honest client");
            sleep(Duration::from_millis(10));
        }
    };
    let greedy: Vec<_> = (0..8).map(|_| ours.connect()).collect();
    greedy.iter().for_each(|mut stream| drop(stream.write_all(&value[..200_000])));
    stored();
    // Lines without an end count, too.
    let line = ["get".to_owned(), " key".repeat(100_000)].concat();
    let lines: Vec<_> = (0..8).map(|_| ours.connect()).collect();
    lines.iter().for_each(|mut stream| drop(stream.write_all(line.as_bytes())));
    stored();
    let kicked = lines.iter().filter(|stream| {
        stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        // Bytes that the server had not read reset the connection.
        match { *stream }.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    });
    assert!(kicked.count() >= 5, "more than half a mebibyte is held");
}

/// Sends a request, and gives the line that answers it.
fn ask_line(mut stream: &UnixStream, request: &[u8]) -> io::Result<String> {
    stream.write_all(request)?;
    let mut line = String::new();
    let mut byte = [0];
    while !line.ends_with("\r\n") {
        stream.read_exact(&mut byte)?;
        line.push(byte[0].into());
    }
    Ok(line.trim_end().into())
}

#[test]
fn a_client_that_takes_no_replies_holds_up_itself_alone() {
    let ours = Ours::start();
    let value = vec![b'v'; 1_000_000];
    let other = ours.connect();
    ask(&other, &[b"set a 0 0 1000000\r\n".to_vec(), value.clone(), b"\r\n".to_vec()].concat(), b"STORED\r\n");
    let stuck = ours.connect();
    (&stuck).write_all("get a a a a\r\n".repeat(100).as_bytes()).unwrap();
    ask(&other, b"get b\r\nmn\r\n", b"END\r\nMN\r\n");
    let one = [b"VALUE a 0 1000000\r\n".to_vec(), value, b"\r\n".to_vec()].concat();
    for _ in 0..5 {
        expect(&stuck, &[one.repeat(4), b"END\r\n".to_vec()].concat());
    }
}

#[test]
fn clients_that_send_a_byte_at_a_time_are_served_and_hold_nobody_up() {
    let ours = Ours::start();
    let value = "v".repeat(3000);
    let text = format!("set slow 0 0 3000\r\n{value}\r\nmg slow s\r\nincr slow 1\r\n").into_bytes();
    let text_reply = b"STORED\r\nHD s3000\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n".to_vec();
    let get = [&[0x80, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4][..], &[0; 12], b"none"].concat();
    let miss = [&[0x81, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9][..], &[0; 12], b"Not found"].concat();
    let clients = (0..40).map(|n| (ours.connect(), n % 4 == 3)).collect::<Vec<_>>();
    let quick = ours.connect();
    for at in 0..text.len() {
        for (stream, is_binary) in &clients {
            let requests = if *is_binary { &get } else { &text };
            if let Some(byte) = requests.get(at) {
                let mut stream = stream;
                stream.write_all(&[*byte]).unwrap();
            }
        }
        if at % 100 == 0 {
            ask(&quick, b"mn\r\n", b"MN\r\n");
        }
    }
    clients.iter().for_each(|(stream, is_binary)| expect(stream, if *is_binary { &miss } else { &text_reply }));
}

#[test]
fn a_wrong_magic_ends_a_binary_connection() {
    let ours = Ours::start();
    let noop = [&[0x80, 0x0a][..], &[0; 22]].concat();
    let reply = [&[0x81, 0x0a][..], &[0; 22]].concat();
    assert_eq!(converse(&ours.path(), &[noop.clone(), b"get a\r\n".to_vec(), noop].concat()), reply);
}

#[test]
fn idle_connections_are_closed_where_that_is_asked_for() {
    let ours = Ours::with(small_store(), Settings::default(), |config| config.idle = Some(Duration::from_secs(1)));
    let idle = ours.connect();
    ask(&idle, b"mn\r\n", b"MN\r\n");
    assert_eq!((&idle).read(&mut [0]).unwrap(), 0);
    assert_eq!(ours.server().service().counts.idle_kicks.load(Relaxed), 1);
}

#[test]
fn bytes_now_and_then_do_not_renew_the_time_for_a_request() {
    let deadlines = Deadlines { request: Duration::from_secs(1), ..Deadlines::default() };
    let ours = Ours::with(small_store(), Settings::default(), |config| config.deadlines = deadlines);
    let (dripping, honest) = (ours.connect(), ours.connect());
    (&dripping).write_all(b"set a 0 0 10000\r\n").unwrap();
    let started = Instant::now();
    while (&dripping).write_all(b"x").is_ok() {
        assert!(started.elapsed() < Duration::from_secs(60), "half a request goes on for ever");
        sleep(Duration::from_millis(50));
        // Whole requests may take as long as they like together.
        ask(&honest, b"mn\r\n", b"MN\r\n");
    }
    assert_eq!(ours.server().service().counts.slow_kicks.load(Relaxed), 1);
    ask(&honest, b"get a\r\n", b"END\r\n");
}

#[test]
fn clients_that_take_no_replies_are_closed_and_those_that_take_some_are_not() {
    let deadlines = Deadlines { replies: Duration::from_secs(2), ..Deadlines::default() };
    let ours = Ours::with(small_store(), Settings::default(), |config| config.deadlines = deadlines);
    let honest = ours.connect();
    let set = [b"set a 0 0 900000\r\n".to_vec(), vec![b'a'; 900_000], b"\r\n".to_vec()].concat();
    ask(&honest, &set, b"STORED\r\n");
    let (slow, stalled) = (ours.connect(), [ours.connect(), ours.connect()]);
    // Long values are sent from the store, and short replies are held for the client.
    (&slow).write_all(b"get a\r\nmn\r\n").unwrap();
    (&stalled[0]).write_all(b"get a\r\n").unwrap();
    stalled[1].set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    while (&stalled[1]).write_all(&b"get nothing\r\n".repeat(10_000)).is_ok() {}
    let started = Instant::now();
    let counts = &ours.server().service().counts;
    let reply = [b"VALUE a 0 900000\r\n".to_vec(), vec![b'a'; 900_000], b"\r\nEND\r\nMN\r\n".to_vec()].concat();
    // Longer in all than a client may take nothing.
    let mut taken = vec![0; reply.len()];
    let pieces = 16;
    for piece in taken.chunks_mut(reply.len() / pieces + 1) {
        { &slow }.read_exact(piece).unwrap();
        sleep(Duration::from_millis(300));
    }
    assert!(taken == reply, "a reply changed");
    while counts.stalled_kicks.load(Relaxed) < 2 {
        assert!(started.elapsed() < Duration::from_secs(60), "clients that read nothing stay");
        sleep(Duration::from_millis(50));
    }
    for stream in &stalled {
        // Replies that the system had accepted, and the end.
        let mut rest = Vec::new();
        let _ = { stream }.read_to_end(&mut rest);
        assert!(rest.len() < 900_000, "{} bytes", rest.len());
    }
    ask(&slow, b"mn\r\n", b"MN\r\n");
    assert_eq!(counts.stalled_kicks.load(Relaxed), 2);
    assert_eq!(counts.slow_kicks.load(Relaxed) + counts.idle_kicks.load(Relaxed), 0);
    assert_eq!(ours.server().service().store.copies().used(), 0);
}

#[test]
fn replies_by_udp_count_among_the_memory_for_clients() {
    let ours = Ours::with(small_store(), Settings { buffered: 1 << 20, ..Settings::default() }, |_| {});
    let honest = ours.connect();
    let part = |command: &str| [format!("{command} a 0 0 300000\r\n").into_bytes(), vec![b'a'; 300_000]].concat();
    for command in ["set", "append", "append"] {
        ask(&honest, &[part(command), b"\r\n".to_vec()].concat(), b"STORED\r\n");
    }
    let waiting = ours.connect();
    (&waiting).write_all(&part("set")).unwrap();
    // The reply has 900,000 bytes: with half a request beside it, that is too much. The half may be read later.
    waiting.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let since = Instant::now();
    let mut refusal = String::new();
    while let Err(error) = BufReader::new(&waiting).read_line(&mut refusal) {
        assert!(error.kind() == ErrorKind::WouldBlock && refusal.is_empty(), "{error}, {refusal}");
        assert!(since.elapsed() < PATIENCE, "a reply in datagrams is not counted");
        assert!(!datagrams(&socket(&ours), b"get a\r\n").is_empty());
    }
    assert_eq!(refusal, "SERVER_ERROR out of memory storing object\r\n");
    // The memory of the reply is free again once all of it was sent, which its thread may do later.
    let mut replies = BufReader::new(&honest);
    let since = Instant::now();
    loop {
        (&honest).write_all(&[part("set"), b"\r\n".to_vec()].concat()).unwrap();
        let mut reply = String::new();
        replies.read_line(&mut reply).unwrap();
        if reply == "STORED\r\n" {
            break;
        }
        assert_eq!(reply, "SERVER_ERROR out of memory storing object\r\n");
        assert!(since.elapsed() < PATIENCE, "the memory of a reply is never free again");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_value_that_changes_while_it_is_sent_arrives_as_it_was() {
    let ours = Ours::start();
    let writer = ours.connect();
    let set = |fill: u8| [b"set a 0 0 900000\r\n".to_vec(), vec![fill; 900_000], b"\r\n".to_vec()].concat();
    ask(&writer, &set(b'1'), b"STORED\r\n");
    let readers: Vec<_> = (0..20).map(|_| ours.connect()).collect();
    let head = b"VALUE a 0 900000\r\n";
    for (number, mut reader) in readers.iter().enumerate() {
        reader.write_all(b"get a\r\nmn\r\n").unwrap();
        // Its reply has begun, and does not fit the socket's buffers.
        let appended = b"VALUE a 0 900002\r\n";
        expect(reader, if number == 11 { appended } else { head });
        match number {
            5 => ask(&writer, &set(b'2'), b"STORED\r\n"),
            10 => ask(&writer, b"append a 0 0 1\r\n!\r\nappend a 0 0 1\r\n!\r\n", b"STORED\r\nSTORED\r\n"),
            11 => ask(&writer, &set(b'3'), b"STORED\r\n"),
            15 => ask(&writer, b"md a I\r\n", b"HD\r\n"),
            _ => {}
        }
    }
    ask(&writer, b"delete a\r\n", b"DELETED\r\n");
    let store = &ours.server().service().store;
    // A copy for each of the four values that the item had, for however many clients.
    assert!((3_600_002..4_000_000).contains(&store.copies().used()), "{}", store.copies().used());
    for (number, reader) in readers.iter().enumerate() {
        let fill = match number {
            0..=5 => b'1',
            6..=11 => b'2',
            _ => b'3',
        };
        let mut value = vec![0; 900_000];
        { reader }.read_exact(&mut value).unwrap();
        assert!(value.iter().all(|byte| *byte == fill), "reader {number}");
        let rest = if number == 11 { &b"!!\r\nEND\r\nMN\r\n"[..] } else { b"\r\nEND\r\nMN\r\n" };
        expect(reader, rest);
    }
    assert_eq!(store.copies().used(), 0);
}

#[test]
fn a_stop_answers_what_has_arrived_and_leaves_no_file() {
    let mut ours = Ours::start();
    let tcp = TcpStream::connect(ours.server().tcp()[0]).unwrap();
    (&tcp).write_all(b"mn\r\n").unwrap();
    let mut reply = [0; 4];
    (&tcp).read_exact(&mut reply).unwrap();
    let service = ours.server().service().clone();
    let server = ours.server.take().unwrap();
    service.stop();
    server.join();
    assert!(!ours.path().exists());
    assert_eq!((&tcp).read(&mut reply).unwrap(), 0);
}

/// Sends a request in a datagram, and gives the datagrams of the reply that came within a moment.
fn datagrams(socket: &UdpSocket, request: &[u8]) -> Vec<Vec<u8>> {
    socket.send(&[&[0x12, 0x34, 0, 0, 0, 1, 0, 0], request].concat()).unwrap();
    let mut all = Vec::new();
    let mut room = [0; 2000];
    loop {
        let Ok(count) = socket.recv(&mut room) else { return all };
        all.push(room[..count].to_vec());
        if all.len() == usize::from(u16::from_be_bytes([room[4], room[5]])) {
            return all;
        }
    }
}

fn socket(ours: &Ours) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(ours.server().udp()[0]).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

#[test]
fn replies_by_udp_come_in_several_datagrams() {
    let ours = Ours::start();
    let value = vec![b'v'; 5000];
    ask(&ours.connect(), &[b"set a 0 0 5000\r\n".to_vec(), value.clone(), b"\r\n".to_vec()].concat(), b"STORED\r\n");
    let parts = datagrams(&socket(&ours), b"get a\r\n");
    assert_eq!(parts.len(), 4);
    for (n, part) in parts.iter().enumerate() {
        assert_eq!(part[..8], [0x12, 0x34, 0, n as u8, 0, 4, 0, 0]);
        assert!(part.len() <= 1400);
    }
    let whole: Vec<_> = parts.iter().flat_map(|part| part[8..].to_vec()).collect();
    assert_eq!(whole, [b"VALUE a 0 5000\r\n".to_vec(), value, b"\r\nEND\r\n".to_vec()].concat());
    let several = datagrams(&socket(&ours), b"set b 0 0 1\r\n1\r\nget b\r\nget c\r\n");
    assert_eq!(several.concat()[8..], *b"STORED\r\nVALUE b 0 1\r\n1\r\nEND\r\nEND\r\n");
    // Half a request is forgotten with its datagram.
    assert!(datagrams(&socket(&ours), b"set b 0 0 100\r\n1").is_empty());
    assert_eq!(datagrams(&socket(&ours), b"mn\r\n").concat()[8..], *b"MN\r\n");
}

#[test]
fn nobody_else_gets_more_by_udp_than_it_sent() {
    let ours = Ours::with(small_store(), Settings::default(), |config| config.udp_trusted.clear());
    ask(&ours.connect(), b"set a 0 0 20\r\n01234567890123456789\r\n", b"STORED\r\n");
    assert!(datagrams(&socket(&ours), b"get a\r\n").is_empty());
    let padded = format!("get a{}\r\n", " ".repeat(100));
    assert_eq!(
        datagrams(&socket(&ours), padded.as_bytes()).concat()[8..],
        *b"VALUE a 0 20\r\n01234567890123456789\r\nEND\r\n"
    );
}

#[test]
fn memccapable_finds_everything_as_it_should_be() {
    let ours = Ours::start();
    let port = ours.server().tcp()[0].port().to_string();
    let Ok(ran) = Command::new("memccapable").args(["-h", "127.0.0.1", "-p", &port]).output() else {
        return skip::lacking(Ability::Peers, "memccapable is not installed; scripts/setup installs it");
    };
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.contains("All tests passed"), "{text}");
}
