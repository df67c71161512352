//! The identity of a side and its accepted peers: static keys of X25519 (RFC 7748).

use std::{fmt, str::FromStr};

use snow::{
    params::DHChoice,
    resolvers::{CryptoResolver, DefaultResolver},
    types::Dh,
};
use zeroize::Zeroizing;

use crate::Error;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// Maximum number of peers of an identity: each handshake looks through all of them.
const MAX_PEERS: usize = 4096;

/// The public key of a peer. Its text form has 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; KEY_BYTES]);

/// The secret key of this side. `Debug` does not show it, and dropping it wipes it from memory.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; KEY_BYTES]>);

/// This side's key and the peers that it accepts.
#[derive(Clone)]
pub struct Identity {
    secret: SecretKey,
    public: PublicKey,
    peers: Vec<PublicKey>,
}

impl SecretKey {
    /// Generates a key from the operating system's random numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Key`] if there are none.
    pub fn generate() -> Result<Self, Error> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut *bytes)
            .map_err(|_| Error::Key("the system returned no random bytes"))?;
        Ok(Self(bytes))
    }

    /// Creates the key from its bytes.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The key's bytes. Store them where nobody else can read them.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Derives the public key, by which peers identify this side.
    ///
    /// # Errors
    ///
    /// [`Error::Key`].
    pub fn public(&self) -> Result<PublicKey, Error> {
        let mut dh = diffie_hellman()?;
        dh.set(self.as_bytes());
        dh.pubkey().try_into().map(PublicKey).map_err(|_| Error::Key("a public key of X25519 has 32 bytes"))
    }
}

fn diffie_hellman() -> Result<Box<dyn Dh>, Error> {
    DefaultResolver.resolve_dh(&DHChoice::Curve25519).ok_or(Error::Key("X25519 is missing from this program"))
}

impl Identity {
    /// Creates an identity from this side's key and the keys of all peers that it accepts.
    ///
    /// # Errors
    ///
    /// [`Error::Key`] if there are no peers or too many.
    pub fn new(secret: SecretKey, peers: impl IntoIterator<Item = PublicKey>) -> Result<Self, Error> {
        let peers: Vec<_> = peers.into_iter().take(MAX_PEERS + 1).collect();
        if !(1..=MAX_PEERS).contains(&peers.len()) {
            return Err(Error::Key("an identity has 1 to 4,096 peers"));
        }
        Ok(Self { public: secret.public()?, secret, peers })
    }

    /// The public key, by which peers identify this side.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(super) fn secret(&self) -> &[u8; KEY_BYTES] {
        self.secret.as_bytes()
    }

    /// Returns the peer with this key, if it is accepted.
    pub(super) fn peer(&self, key: &[u8]) -> Result<PublicKey, Error> {
        let key = PublicKey(key.try_into().map_err(|_| Error::Handshake("the peer sent no key"))?);
        if self.peers.contains(&key) { Ok(key) } else { Err(Error::PeerUnknown { key }) }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("SecretKey")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Identity({} with {} peers)", self.public, self.peers.len())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(to, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        digits(text).map(Self)
    }
}

impl FromStr for SecretKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        digits(text).map(Self::from_bytes)
    }
}

fn digits(text: &str) -> Result<[u8; KEY_BYTES], Error> {
    let wrong = Error::Key("a key has 64 hexadecimal digits");
    if text.len() != 2 * KEY_BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    let mut key = [0; KEY_BYTES];
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong.clone())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong.clone())?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_key_is_that_of_rfc_7748() {
        // Section 6.1, Bob.
        let secret: SecretKey = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb".parse().unwrap();
        let public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
        assert_eq!(secret.public().unwrap().to_string(), public);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let key = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
        assert_eq!(key.parse::<PublicKey>().unwrap().to_string(), key);
        for wrong in ["", &key[1..], &format!("{}zz", &key[2..]), &format!("+1{}", &key[2..])] {
            assert!(matches!(wrong.parse::<PublicKey>(), Err(Error::Key(_))), "{wrong}");
        }
        assert!(matches!(Identity::new(SecretKey::generate().unwrap(), []), Err(Error::Key(_))));
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = SecretKey::from_bytes([0xab; 32]);
        let identity = Identity::new(secret.clone(), [PublicKey([1; 32])]).unwrap();
        assert!(!format!("{secret:?}{identity:?}").contains("abab"));
        assert_ne!(SecretKey::generate().unwrap().as_bytes(), SecretKey::generate().unwrap().as_bytes());
    }
}
