//! Clients that speak TLS, good and bad ones.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use common::{everywhere, small_store};
use net::tls::{Clients, Error, Files, Tls, Version};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};
use skip::Ability;
use tempfile::TempDir;
use turnpike_kv::{
    server::{Config, Deadlines, Server},
    service::{Service, Settings},
    store::Store,
};

const LACKING: &str = "openssl is not installed; scripts/setup installs it";

/// How long a reply may take before a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A CA and its certificates, in a folder.
struct Authority(TempDir);

impl Authority {
    /// None where the machine has no openssl.
    fn new() -> Option<Self> {
        let authority = Self(tempfile::tempdir().unwrap());
        authority.make("authority", &[]).then_some(authority)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes NAME.pem and NAME.key.
    fn make(&self, name: &str, more: &[&str]) -> bool {
        let subject = format!("/CN={name}");
        let mut command = Command::new("openssl");
        command.current_dir(self.0.path()).args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
        ]);
        command.args(["-nodes", "-days", "100", "-subj", &subject, "-out", &format!("{name}.pem")]);
        command.args(["-keyout", &format!("{name}.key")]).args(more);
        match command.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            ran => {
                let ran = ran.unwrap();
                assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
                true
            }
        }
    }

    /// Makes a certificate that the authority signs.
    fn sign(&self, name: &str) {
        let signed =
            ["-CA", "authority.pem", "-CAkey", "authority.key", "-addext", "basicConstraints=critical,CA:FALSE"];
        let named = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
        assert!(self.make(name, &[&signed[..], &named[..]].concat()));
    }

    fn files(&self, name: &str) -> Files {
        Files {
            chain: self.path(&format!("{name}.pem")),
            key: self.path(&format!("{name}.key")),
            authorities: Some(self.path("authority.pem")),
            clients: Clients::Any,
            oldest: Version::V1_2,
            resume: false,
        }
    }

    fn client(&self, certificate: Option<&str>) -> Arc<ClientConfig> {
        self.client_of(certificate, &[&TLS12, &TLS13])
    }

    fn client_of(
        &self,
        certificate: Option<&str>,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("authority.pem")).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(versions).unwrap().with_root_certificates(roots);
        Arc::new(match certificate {
            None => builder.with_no_client_auth(),
            Some(name) => {
                let certificate = CertificateDer::from_pem_file(self.path(&format!("{name}.pem"))).unwrap();
                let key = PrivateKeyDer::from_pem_file(self.path(&format!("{name}.key"))).unwrap();
                builder.with_client_auth_cert(vec![certificate], key).unwrap()
            }
        })
    }
}

/// A server with TLS, and a port beside it without.
fn serve(files: Files) -> (Server, TempDir) {
    serve_with(files, Deadlines::default())
}

fn serve_with(files: Files, deadlines: Deadlines) -> (Server, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config { deadlines, ..everywhere(folder.path()) };
    config.tcp_plain = vec!["127.0.0.1:0".parse().unwrap()];
    let service = Service::new(Store::new(small_store()).unwrap(), Settings::default());
    let service = service.secured(Tls::load(files, 0).unwrap());
    (Server::start(&config, Arc::new(service)).unwrap(), folder)
}

fn tcp(server: &Server, n: usize) -> TcpStream {
    let stream = TcpStream::connect(server.tcp()[n]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn connect(server: &Server, config: &Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), tcp(server, 0))
}

fn ask(stream: &mut (impl Read + Write), request: &[u8], reply: &[u8]) {
    stream.write_all(request).unwrap();
    let mut got = vec![0; reply.len()];
    stream.read_exact(&mut got).unwrap();
    assert!(got == reply, "{}", String::from_utf8_lossy(&got[..got.len().min(200)]));
}

/// Whether a client is let in.
fn is_let_in(server: &Server, config: &Arc<ClientConfig>) -> bool {
    let mut stream = connect(server, config);
    // With TLS 1.3 a client finishes before the server has verified its certificate, so only the reply shows the
    // result.
    let mut reply = [0; 4];
    stream.write_all(b"mn\r\n").and_then(|()| stream.read_exact(&mut reply)).is_ok()
}

#[test]
fn a_handshake_that_stands_still_ends_and_a_connection_does_not() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    let deadlines = Deadlines { handshake: Duration::from_secs(1), ..Deadlines::default() };
    let (server, _folder) = serve_with(authority.files("server"), deadlines);
    let mut honest = connect(&server, &authority.client(None));
    ask(&mut honest, b"mn\r\n", b"MN\r\n");
    let mut stalled = [tcp(&server, 0), tcp(&server, 0)];
    // The first sends nothing, the second the start of a record.
    stalled[1].write_all(&[22, 3, 1, 0, 200, 1]).unwrap();
    for stream in &mut stalled {
        let mut alert = Vec::new();
        stream.read_to_end(&mut alert).unwrap();
        assert!(alert.len() < 100, "{alert:?}");
    }
    ask(&mut honest, b"mn\r\n", b"MN\r\n");
    assert_eq!(server.service().counts.slow_kicks.load(Relaxed), 2);
}

#[test]
fn a_client_that_takes_no_replies_is_closed_and_a_slow_one_is_not() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    let deadlines = Deadlines { replies: Duration::from_secs(2), ..Deadlines::default() };
    let (server, _folder) = serve_with(authority.files("server"), deadlines);
    let [mut slow, mut stalled] = [0; 2].map(|_| connect(&server, &authority.client(None)));
    let value = vec![b'v'; 900_000];
    ask(&mut slow, &[b"set a 0 0 900000\r\n".to_vec(), value.clone(), b"\r\n".to_vec()].concat(), b"STORED\r\n");
    // More than the buffers of the system hold.
    let requests = b"get a\r\n".repeat(20);
    let reply = [b"VALUE a 0 900000\r\n".to_vec(), value, b"\r\nEND\r\n".to_vec()].concat().repeat(20);
    slow.write_all(&requests).unwrap();
    stalled.write_all(&requests).unwrap();
    let mut taken = vec![0; reply.len()];
    for piece in taken.chunks_mut(reply.len() / 16 + 1) {
        slow.read_exact(piece).unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(taken == reply, "a reply changed");
    let counts = &server.service().counts;
    assert_eq!(counts.stalled_kicks.load(Relaxed), 1);
    assert_eq!(counts.curr_connections.load(Relaxed), 1);
    assert!(stalled.read_exact(&mut taken).is_err(), "it gets all");
}

#[test]
fn requests_of_all_sizes_and_replies_that_are_not_taken() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    let (server, _folder) = serve(authority.files("server"));
    let value = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect::<Vec<_>>();
    let set = [b"set large 1 0 1000000\r\n".to_vec(), value.clone(), b"\r\n".to_vec()].concat();
    let got = [b"VALUE large 1 1000000\r\n".to_vec(), value, b"\r\nEND\r\n".to_vec()].concat();
    for versions in [&[&TLS12][..], &[&TLS13]] {
        let mut stream = connect(&server, &authority.client_of(None, versions));
        ask(&mut stream, &set, b"STORED\r\n");
        ask(&mut stream, b"get large\r\n", &got);
        ask(&mut stream, &b"get nothing\r\n".repeat(20_000), &b"END\r\n".repeat(20_000));
        // A megabyte each, before the first is read.
        ask(&mut stream, &b"get large\r\n".repeat(20), &got.repeat(20));
        // What binary clients say, too.
        let mut binary = connect(&server, &authority.client(None));
        ask(&mut binary, &[&[0x80, 0x0a][..], &[0; 22]].concat(), &[&[0x81, 0x0a][..], &[0; 22]].concat());
    }
    ask(&mut tcp(&server, 1), b"get large\r\n", &got);
}

#[test]
fn openssl_is_a_client_too() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    let (server, _folder) = serve(authority.files("server"));
    let port = server.tcp()[0].port();
    for version in ["-tls1_2", "-tls1_3"] {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-quiet", "-verify_return_error", "-verify_hostname", "localhost", version]);
        command.arg("-connect").arg(format!("127.0.0.1:{port}")).arg("-CAfile").arg(authority.path("authority.pem"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = command.spawn().unwrap();
        client.stdin.as_mut().unwrap().write_all(b"set a 0 0 5\r\nhello\r\nget a\r\nquit\r\n").unwrap();
        let ran = client.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(text, "STORED\r\nVALUE a 0 5\r\nhello\r\nEND\r\n", "{version}");
    }
}

#[test]
fn a_client_that_speaks_no_tls_is_closed_and_holds_nobody_up() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    let (server, _folder) = serve(authority.files("server"));
    let mut plain = tcp(&server, 0);
    plain.write_all(b"get a\r\n").unwrap();
    // An alert, which is no reply of the protocol's, and the end.
    let mut rest = Vec::new();
    plain.read_to_end(&mut rest).unwrap();
    assert!(!rest.windows(3).any(|bytes| bytes == b"END"), "{rest:?}");
    let tls = server.service().tls().unwrap();
    assert_eq!(tls.handshake_errors.load(Relaxed), 1);
    let mut silent = tcp(&server, 0);
    silent.write_all(&[22]).unwrap();
    let mut stream = connect(&server, &authority.client(None));
    ask(&mut stream, b"mn\r\n", b"MN\r\n");
    let mut unsafe_one = tcp(&server, 1);
    ask(&mut unsafe_one, b"stats\r\n", b"STAT pid ");
}

/// A stream that takes and gives a byte at a time.
struct Bytewise(TcpStream);

impl Read for Bytewise {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let count = room.len().min(1);
        self.0.read(&mut room[..count])
    }
}

impl Write for Bytewise {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.set_nodelay(true)?;
        self.0.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_handshake_and_requests_by_single_bytes() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    let (server, _folder) = serve(authority.files("server"));
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(authority.client(None), name).unwrap();
    let mut stream = StreamOwned::new(session, Bytewise(tcp(&server, 0)));
    ask(&mut stream, b"set a 0 0 1\r\n1\r\nget a\r\n", b"STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
}

#[test]
fn clients_show_certificates_where_that_is_wanted() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    authority.sign("client");
    assert!(authority.make("stranger", &["-addext", "basicConstraints=critical,CA:FALSE"]));
    for (clients, nobody, stranger) in
        [(Clients::Any, true, true), (Clients::Asked, true, false), (Clients::Proven, false, false)]
    {
        let (server, _folder) = serve(Files { clients, ..authority.files("server") });
        assert_eq!(is_let_in(&server, &authority.client(None)), nobody, "{clients:?}");
        assert_eq!(is_let_in(&server, &authority.client(Some("stranger"))), stranger, "{clients:?}");
        assert!(is_let_in(&server, &authority.client(Some("client"))), "{clients:?}");
    }
    let (server, _folder) = serve(Files { oldest: Version::V1_3, ..authority.files("server") });
    assert!(!is_let_in(&server, &authority.client_of(None, &[&TLS12])));
    assert!(is_let_in(&server, &authority.client_of(None, &[&TLS13])));
}

#[test]
fn certificates_change_while_the_store_runs() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    authority.sign("next");
    let files = authority.files("server");
    let (server, _folder) = serve(files.clone());
    let shown = |stream: &StreamOwned<ClientConnection, TcpStream>| stream.conn.peer_certificates().unwrap()[0].clone();
    let mut old = connect(&server, &authority.client(None));
    ask(&mut old, b"mn\r\n", b"MN\r\n");
    let before = shown(&old);
    fs::write(&files.key, b"nothing").unwrap();
    ask(&mut old, b"refresh_certs\r\n", b"ERROR the certificates cannot be read; the log tells why\r\n");
    let mut still = connect(&server, &authority.client(None));
    ask(&mut still, b"mn\r\n", b"MN\r\n");
    assert_eq!(shown(&still), before);
    fs::copy(authority.path("next.pem"), &files.chain).unwrap();
    fs::copy(authority.path("next.key"), &files.key).unwrap();
    ask(&mut old, b"refresh_certs\r\n", b"OK\r\n");
    let mut new = connect(&server, &authority.client(None));
    ask(&mut new, b"mn\r\n", b"MN\r\n");
    assert_eq!(shown(&new), CertificateDer::from_pem_file(authority.path("next.pem")).unwrap());
    ask(&mut old, b"mn\r\n", b"MN\r\n");
}

#[test]
fn errors_tell_what_is_missing() {
    let Some(authority) = Authority::new() else { return skip::lacking(Ability::Peers, LACKING) };
    authority.sign("server");
    authority.sign("other");
    let files = authority.files("server");
    let error = |files| Tls::load(files, 0).unwrap_err();
    let nowhere = Path::new("/nowhere/at/all").to_owned();
    assert!(
        matches!(error(Files { chain: nowhere.clone(), ..files.clone() }), Error::File { path, .. } if path == nowhere)
    );
    assert!(
        matches!(error(Files { key: nowhere.clone(), ..files.clone() }), Error::File { path, .. } if path == nowhere)
    );
    let key_alone = error(Files { chain: files.key.clone(), ..files.clone() }).to_string();
    assert!(key_alone.contains("contains no certificate") && key_alone.contains("server.key"), "{key_alone}");
    let no_key = error(Files { key: files.chain.clone(), ..files.clone() }).to_string();
    assert!(no_key.contains("contains no key"), "{no_key}");
    let of_another = error(Files { key: authority.path("other.key"), ..files.clone() });
    assert!(matches!(of_another, Error::Pair { .. }), "{of_another}");
    let proven = Files { clients: Clients::Proven, authorities: None, ..files.clone() };
    assert!(matches!(error(proven), Error::NoAuthorities));
    let both = authority.path("both.pem");
    fs::write(&both, [fs::read(&files.chain).unwrap(), fs::read(&files.key).unwrap()].concat()).unwrap();
    assert!(Tls::load(Files { chain: both.clone(), key: both, ..files }, 0).is_ok());
}
