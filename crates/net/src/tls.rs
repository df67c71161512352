//! TLS for connections: certificates and keys from files, which may be reloaded while the server runs.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Relaxed, Release},
        },
    },
};

use rustls::{
    RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier},
    version::{TLS12, TLS13},
};

/// Maximum number of resumable sessions: clients keep their connections, so few are needed.
const SESSIONS: usize = 1024;

/// Settings of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The server's certificate and those between it and the authority: PEM.
    pub chain: PathBuf,
    /// The key of the server's certificate: PEM.
    pub key: PathBuf,
    /// CA certificates for client certificates: PEM.
    pub authorities: Option<PathBuf>,
    /// Which clients have to show a certificate.
    pub clients: Clients,
    /// The oldest version that is spoken.
    pub oldest: Version,
    /// Whether sessions may be resumed.
    pub resume: bool,
}

/// Which clients have to show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clients {
    /// None.
    #[default]
    Any,
    /// None; one that is shown must be good.
    Asked,
    /// All.
    Proven,
}

impl Clients {
    /// All choices, in the order of memcached's numbers.
    pub const ALL: [Self; 3] = [Self::Any, Self::Asked, Self::Proven];

    /// Returns the name of the choice.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Asked => "asked",
            Self::Proven => "proven",
        }
    }
}

/// A version of TLS: older ones are not safe, and are not spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// 1.2 (RFC 5246).
    #[default]
    V1_2,
    /// 1.3 (RFC 8446).
    V1_3,
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 2] = [Self::V1_2, Self::V1_3];

    /// Returns the version's name, which is memcached's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1_2 => "tlsv1.2",
            Self::V1_3 => "tlsv1.3",
        }
    }

    fn and_newer(self) -> &'static [&'static SupportedProtocolVersion] {
        static VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
        match self {
            Self::V1_2 => &VERSIONS,
            Self::V1_3 => &VERSIONS[1..],
        }
    }
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}; name a PEM file that this user may read")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: pem::Error,
    },
    /// A file has nothing in it of the kind that is needed.
    #[error("{path} contains no {what}; expected a PEM file with BEGIN {begin}")]
    Nothing {
        /// The file.
        path: PathBuf,
        /// The missing part.
        what: &'static str,
        /// How it begins.
        begin: &'static str,
    },
    /// The key is not that of the certificate, or of a kind that is not known.
    #[error("cannot use {chain} with {key}: {source}; name the key of the first certificate of the chain")]
    Pair {
        /// The chain's file.
        chain: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The error; boxed, since it is large.
        source: Box<rustls::Error>,
    },
    /// Client certificates are required, but no CA file is set.
    #[error("client certificates are required: set the CA file")]
    NoAuthorities,
    /// The authorities' certificates are not good.
    #[error("{path}: {reason}; name a PEM file with CA certificates")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// The error.
        reason: String,
    },
}

/// TLS as it is now.
#[derive(Debug)]
pub struct Tls {
    files: Files,
    current: RwLock<Arc<ServerConfig>>,
    /// When the files were read, by the caller's clock in seconds.
    loaded: AtomicU32,
    /// Connections that ended before they were safe.
    pub handshake_errors: AtomicU64,
    /// Sessions that were not resumed ones.
    pub new_sessions: AtomicU64,
}

impl Tls {
    /// Reads the files. `now` is by the caller's clock, in seconds.
    pub fn load(files: Files, now: u32) -> Result<Self, Error> {
        Ok(Self {
            current: RwLock::new(read(&files)?),
            files,
            loaded: AtomicU32::new(now),
            handshake_errors: AtomicU64::new(0),
            new_sessions: AtomicU64::new(0),
        })
    }

    /// Reloads the files for new connections. After an error the previous certificates stay.
    pub fn reload(&self, now: u32) -> Result<(), Error> {
        let config = read(&self.files)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        self.loaded.store(now, Release);
        Ok(())
    }

    /// When the files were read, by the caller's clock in seconds.
    pub fn loaded(&self) -> u32 {
        self.loaded.load(Relaxed)
    }

    /// The files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The server's side of a new connection.
    pub fn accept(&self) -> Result<ServerConnection, rustls::Error> {
        ServerConnection::new(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(files: &Files) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates(&files.chain)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|source| match source {
        pem::Error::NoItemsFound => Error::Nothing { path: files.key.clone(), what: "key", begin: "PRIVATE KEY" },
        source => Error::File { path: files.key.clone(), source },
    })?;
    let pair = |source| Error::Pair { chain: files.chain.clone(), key: files.key.clone(), source: Box::new(source) };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(files.oldest.and_newer()).map_err(pair)?;
    let builder = match files.clients {
        Clients::Any => builder.with_no_client_auth(),
        Clients::Asked | Clients::Proven => builder.with_client_cert_verifier(verifier(files, provider)?),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
    config.session_storage = match files.resume {
        true => ServerSessionMemoryCache::new(SESSIONS),
        false => Arc::new(NoServerSessionStorage {}),
    };
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let file = |source| Error::File { path: path.to_owned(), source };
    let all = CertificateDer::pem_file_iter(path).map_err(file)?.collect::<Result<Vec<_>, _>>().map_err(file)?;
    if all.is_empty() {
        return Err(Error::Nothing { path: path.to_owned(), what: "certificate", begin: "CERTIFICATE" });
    }
    Ok(all)
}

/// The verifier of client certificates.
fn verifier(
    files: &Files,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, Error> {
    let path = files.authorities.as_ref().ok_or(Error::NoAuthorities)?;
    let refused = |reason: String| Error::Authorities { path: path.clone(), reason };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| refused(error.to_string()))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if files.clients == Clients::Proven { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| refused(error.to_string()))
}
