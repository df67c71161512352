//! Channels whose peers are authenticated and whose messages are encrypted, over any transport: Noise (revision 34)
//! with the pattern XX, X25519, AES-256-GCM and SHA-256.
//!
//! ```text
//! -> e          <- e, ee, s, es          -> s, se          <- ready, sealed
//! ```
//!
//! Each arrow is a message of the transport.
//!
//! - On a handshake message that reveals the peer's static key: look the key up among the accepted peers, before
//!   anything else is sent. An unknown one ends the channel.
//! - On the third message the accepting side knows its peer: it sends `ready`, and is connected. The connecting side is
//!   connected when it has opened `ready`.
//! - From then on a message is sealed in the buffer that the user filled and opened in the buffer that it arrived in:
//!   each buffer has room for the tag. Its number in its direction is the nonce, and is not sent.
//! - On a message that does not open: the channel fails. It was changed, replayed, lost or reordered.
//! - On close: send a sealed close if there is a credit. If the transport ends without one, the peer may have lost
//!   messages.

mod cipher;
mod identity;

use std::{collections::VecDeque, net::SocketAddr, os::fd::BorrowedFd, sync::Arc};

use snow::HandshakeState;
use zeroize::Zeroizing;

use self::cipher::{Cipher, Kind, TAG_BYTES};
pub use self::identity::{Identity, KEY_BYTES, PublicKey, SecretKey};
use crate::{
    Address, Buffer, Config, Counters, Error, Message, Operations,
    notify::Notify,
    transport::{Listener, Transport},
};

const PATTERN: &str = "Noise_XX_25519_AESGCM_SHA256";

/// Protocol name that both sides must agree on besides the pattern.
const PROLOGUE: &[u8] = b"turnpike-link 1";

/// Maximum length of a handshake message: an ephemeral key, a static key and two tags.
const HANDSHAKE_BYTES: usize = 2 * KEY_BYTES + 2 * TAG_BYTES;

/// Handshake messages that each side receives. Their buffers are extra, so that all others are the user's.
const HANDSHAKE_MESSAGES: u16 = 2;

/// The configuration of the underlying transport. With an identity it adds room for the tag and for the handshake.
pub(crate) fn below(address: &Address, config: &Config) -> Result<Config, Error> {
    config.check()?;
    let mut below = config.clone();
    if config.identity.is_none() {
        return Ok(below);
    }
    if !address.can_encrypt() {
        return Err(Error::Config("channels inside this machine are not encrypted: remove the identity"));
    }
    below.buffers += HANDSHAKE_MESSAGES;
    below.buffer_bytes += TAG_BYTES as u32;
    if below.buffers > Config::MAX_BUFFERS
        || below.buffer_bytes > Config::MAX_BUFFER_BYTES
        || (below.buffer_bytes as usize) < HANDSHAKE_BYTES
    {
        return Err(Error::Config("an encrypted channel has up to 4,094 buffers of 80 bytes to 16 MiB less 16 bytes"));
    }
    Ok(below)
}

/// A transport that carries sealed messages.
pub(crate) struct Secure {
    inner: Box<dyn Transport>,
    identity: Arc<Identity>,
    phase: Phase,
    peer: Option<PublicKey>,
    /// Handshake messages, whose buffers are not returned.
    kept: Vec<Message>,
    /// Messages from before the end of the transport.
    rest: VecDeque<Message>,
    end: Option<Error>,
}

enum Phase {
    Handshake(Box<HandshakeState>),
    /// Both keys are known. `is_confirmed` once the peer is known to have accepted this side.
    Sealed {
        ciphers: Box<Ciphers>,
        is_confirmed: bool,
    },
}

struct Ciphers {
    to_peer: Cipher,
    from_peer: Cipher,
}

impl Secure {
    /// `connects`: whether this side connects or accepts.
    pub(crate) fn new(inner: Box<dyn Transport>, identity: &Arc<Identity>, connects: bool) -> Result<Self, Error> {
        let handshake =
            handshake(identity, PROLOGUE, connects).map_err(|_| Error::Handshake("the handshake cannot begin"))?;
        Ok(Self {
            inner,
            identity: Arc::clone(identity),
            phase: Phase::Handshake(Box::new(handshake)),
            peer: None,
            kept: Vec::with_capacity(usize::from(HANDSHAKE_MESSAGES)),
            rest: VecDeque::new(),
            end: None,
        })
    }

    /// Continues the handshake as far as messages and buffers allow.
    fn shake_hands(&mut self) -> Result<(), Error> {
        while !self.is_connected() {
            let is_ours = matches!(&self.phase, Phase::Handshake(handshake) if handshake.is_my_turn());
            let moved = if is_ours { self.send_handshake()? } else { self.receive_handshake()? };
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// Sends the next handshake message, if there is a buffer.
    fn send_handshake(&mut self) -> Result<bool, Error> {
        let Phase::Handshake(handshake) = &mut self.phase else { return Ok(false) };
        let Some(mut buffer) = self.inner.buffer() else { return Ok(false) };
        if buffer.capacity() < HANDSHAKE_BYTES {
            return Err(Error::Handshake("the peer's buffers are too small for the handshake"));
        }
        buffer.set_len(HANDSHAKE_BYTES);
        let length = handshake.write_message(&[], &mut buffer);
        buffer.set_len(length.map_err(|_| Error::Handshake("the next message of the handshake cannot be built"))?);
        self.inner.send(buffer, false)?;
        if handshake.is_handshake_finished() {
            self.phase = Phase::Sealed { ciphers: ciphers(handshake)?, is_confirmed: false };
        }
        Ok(true)
    }

    /// Handles the next handshake message, if there is one.
    fn receive_handshake(&mut self) -> Result<bool, Error> {
        let Some(mut message) = self.inner.receive() else { return Ok(false) };
        let handshake = match &mut self.phase {
            Phase::Handshake(handshake) => handshake,
            Phase::Sealed { ciphers, is_confirmed } => {
                *is_confirmed = ciphers.from_peer.open(message.bytes_mut()) == Ok((Kind::Ready, 0));
                self.kept.push(message);
                return if *is_confirmed { Ok(true) } else { Err(NOT_THAT_PEER) };
            }
        };
        let mut nothing = [0; HANDSHAKE_BYTES];
        let read =
            if message.len() > HANDSHAKE_BYTES { None } else { handshake.read_message(&message, &mut nothing).ok() };
        if read != Some(0) {
            return Err(NOT_THAT_PEER);
        }
        self.kept.push(message);
        if let Some(key) = handshake.get_remote_static() {
            // Checked before anything else is sent: a stranger learns only that somebody is there.
            self.peer = Some(self.identity.peer(key)?);
        }
        if handshake.is_handshake_finished() {
            let mut ciphers = ciphers(handshake)?;
            // The peer has room for it, because this side has sent a single message.
            let Some(buffer) = self.inner.buffer() else {
                return Err(Error::Handshake("the peer has no credit for the handshake"));
            };
            seal(&mut *self.inner, &mut ciphers.to_peer, Kind::Ready, buffer, false)?;
            self.phase = Phase::Sealed { ciphers, is_confirmed: true };
        }
        Ok(true)
    }

    /// Decrypts a message in place. `None` is the close.
    fn open(&mut self, mut message: Message) -> Result<Option<Message>, Error> {
        let Phase::Sealed { ciphers, .. } = &mut self.phase else { return Err(Error::NotConnected) };
        match ciphers.from_peer.open(message.bytes_mut())? {
            (Kind::Message, length) => {
                message.truncate(length);
                Ok(Some(message))
            }
            (Kind::Close, _) => Ok(None),
            (Kind::Ready, _) => Err(Error::Tampered),
        }
    }

    /// Handles the end of the transport. Only a close sealed by the peer proves that nothing is missing.
    fn finish(&mut self, end: Error) -> Error {
        let end = if end == Error::Closed { Error::Lost } else { end };
        if !self.is_connected() {
            return if end == Error::Lost { Error::Handshake(REFUSED) } else { end };
        }
        while let Some(message) = self.inner.receive() {
            match self.open(message) {
                Ok(Some(message)) => self.rest.push_back(message),
                Ok(None) => return Error::Closed,
                Err(error) => return error,
            }
        }
        end
    }
}

/// Why a peer disconnects during a handshake.
const REFUSED: &str = "the peer disconnected; is the key of this side among its peers, and does it encrypt?";

const NOT_THAT_PEER: Error = Error::Handshake(
    "a message failed authentication: it was changed in transit, or the peer does not have the key that it claims",
);

fn handshake(identity: &Identity, prologue: &[u8], connects: bool) -> Result<HandshakeState, snow::Error> {
    let builder = snow::Builder::new(PATTERN.parse()?).local_private_key(identity.secret())?.prologue(prologue)?;
    if connects { builder.build_initiator() } else { builder.build_responder() }
}

/// The keys of both directions, once the handshake is finished.
fn ciphers(handshake: &mut HandshakeState) -> Result<Box<Ciphers>, Error> {
    let keys = Zeroizing::new(<[_; 2]>::from(handshake.dangerously_get_raw_split()));
    let [first, second] = &*keys;
    let (to_peer, from_peer) = if handshake.is_initiator() { (first, second) } else { (second, first) };
    Ok(Box::new(Ciphers { to_peer: Cipher::new(to_peer)?, from_peer: Cipher::new(from_peer)? }))
}

/// Seals a message in its buffer and sends it.
fn seal(
    inner: &mut dyn Transport,
    cipher: &mut Cipher,
    kind: Kind,
    mut buffer: Buffer,
    may_wait: bool,
) -> Result<(), Error> {
    let tag = cipher.seal(kind, &mut buffer)?;
    buffer.append(tag.as_ref());
    inner.send(buffer, may_wait)
}

impl Transport for Secure {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.inner.descriptor()
    }

    fn signalled(&mut self, may_be_over: bool) {
        self.inner.signalled(may_be_over);
    }

    fn progress(&mut self) -> Result<(), Error> {
        if self.end.is_none() {
            let moved = self.inner.progress();
            let shaken = if self.inner.is_connected() { self.shake_hands() } else { Ok(()) };
            self.end = match (shaken, moved) {
                (Err(error), _) => Some(error),
                (Ok(()), Err(error)) => Some(self.finish(error)),
                (Ok(()), Ok(())) => None,
            };
        }
        self.end.clone().map_or(Ok(()), Err)
    }

    fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Sealed { is_confirmed: true, .. })
    }

    fn ready(&self) -> Operations {
        if self.is_connected() { self.inner.ready() } else { Operations::NONE }
    }

    fn buffer(&mut self) -> Option<Buffer> {
        if !self.is_connected() || self.end.is_some() {
            return None;
        }
        let mut buffer = self.inner.buffer()?;
        buffer.reserve(TAG_BYTES);
        Some(buffer)
    }

    fn send(&mut self, buffer: Buffer, may_wait: bool) -> Result<(), Error> {
        let Phase::Sealed { ciphers, is_confirmed: true } = &mut self.phase else { return Err(Error::NotConnected) };
        seal(&mut *self.inner, &mut ciphers.to_peer, Kind::Message, buffer, may_wait)
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn receive(&mut self) -> Option<Message> {
        if !self.rest.is_empty() || self.end.is_some() {
            return self.rest.pop_front();
        }
        if !self.is_connected() {
            return None;
        }
        let message = self.inner.receive()?;
        match self.open(message) {
            Ok(Some(message)) => return Some(message),
            Ok(None) => self.end = Some(Error::Closed),
            Err(error) => self.end = Some(error),
        }
        None
    }

    fn set_notify(&mut self, notify: Option<Arc<Notify>>) {
        self.inner.set_notify(notify);
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn is_polled(&self) -> bool {
        self.inner.is_polled()
    }

    fn rest(&mut self, interest: Operations) -> bool {
        self.inner.rest(interest)
    }

    /// Sends the peer a sealed close, which proves that nothing is missing, once it has room.
    fn close(&mut self) -> bool {
        if let (Phase::Sealed { ciphers, is_confirmed: true }, None) = (&mut self.phase, &self.end) {
            // Credits may have arrived that nobody has read.
            self.inner.signalled(false);
            if self.inner.progress().is_ok() {
                let Some(buffer) = self.inner.buffer() else { return false };
                let _ = seal(&mut *self.inner, &mut ciphers.to_peer, Kind::Close, buffer, false);
            }
            self.end = Some(Error::Closed);
        }
        self.inner.close()
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.inner.peer()
    }

    fn peer_key(&self) -> Option<PublicKey> {
        self.peer.filter(|_| self.is_connected())
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

/// A listener whose connections are encrypted.
pub(crate) struct SecureListener {
    pub(crate) inner: Box<dyn Listener>,
    pub(crate) identity: Arc<Identity>,
}

impl Listener for SecureListener {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.inner.descriptor()
    }

    fn accept(&mut self) -> Result<Option<Box<dyn Transport>>, Error> {
        let Some(inner) = self.inner.accept()? else { return Ok(None) };
        Ok(Some(Box::new(Secure::new(inner, &self.identity, false)?)))
    }

    fn address(&self) -> Address {
        self.inner.address()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        let pairs = text.as_bytes().chunks_exact(2);
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// The vector of this pattern from the Noise implementation Cacophony: payload and ciphertext of three handshake
    /// messages, then of three more in alternating directions, the accepting side first.
    #[test]
    fn keys_and_messages_are_those_of_the_published_vector() {
        let secret = |text| bytes(text);
        let near = secret("e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1");
        let far = secret("4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893");
        let near_ephemeral = bytes("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a");
        let far_ephemeral = bytes("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b");
        let build = |secret: &[u8], ephemeral: &[u8], connects| {
            let builder = snow::Builder::new(PATTERN.parse().unwrap()).local_private_key(secret).unwrap();
            let builder = builder.prologue(b"John Galt").unwrap().fixed_ephemeral_key_for_testing_only(ephemeral);
            if connects { builder.build_initiator().unwrap() } else { builder.build_responder().unwrap() }
        };
        let mut near = build(&near, &near_ephemeral, true);
        let mut far = build(&far, &far_ephemeral, false);
        let shaken = [
            (
                "4c756477696720766f6e204d69736573",
                "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79444c756477696720766f6e204d69736573",
            ),
            (
                "4d757272617920526f746862617264",
                concat!(
                    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843757117acceb05bd7a45733bc22015c97",
                    "a9d0cbaf41b80446d5988ff5127235d76b79eade70f473d6a4ef521fdcbeda5340d01e028ba793fc059f2724a83af05f",
                    "12dda0448a7621a926b379a92477fd",
                ),
            ),
            (
                "462e20412e20486179656b",
                concat!(
                    "c90f1cf77eba4e50edb038991565e36c9758943a989229b6051244dc4fbecb6946744b401af2ee1a5881b65fbb87fd07",
                    "cb6a328ececc9ce6ce84c399dc332d4fd521fa4bb7f467ce909395",
                ),
            ),
        ];
        for (at, (payload, expected)) in shaken.into_iter().enumerate() {
            let (from, to) = if at % 2 == 0 { (&mut near, &mut far) } else { (&mut far, &mut near) };
            let mut message = [0; 256];
            let length = from.write_message(&bytes(payload), &mut message).unwrap();
            assert_eq!(message[..length], bytes(expected), "message {at}");
            to.read_message(&message[..length], &mut [0; 256]).unwrap();
        }
        let (mut near, mut far) = (ciphers(&mut near).unwrap(), ciphers(&mut far).unwrap());
        let sealed = [
            ("4361726c204d656e676572", "bc3fa77f6aca3e8466d7dc6bea10013e88a6a29add5132b461806c"),
            (
                "4a65616e2d426170746973746520536179",
                "250b01074cdfe0df2ecf8ccbf1737b15a2ddb5b52fd9a396604e9c793cee3b3bb9",
            ),
            (
                "457567656e2042f6686d20766f6e2042617765726b",
                "449d4d433b3cdc3d02bf6fc881774b9df54366ebcffb9689bb13f14709822cd7ef42bcdb4d",
            ),
        ];
        for (at, (payload, expected)) in sealed.into_iter().enumerate() {
            let (from, to) = if at % 2 == 0 { (&mut far, &mut near) } else { (&mut near, &mut far) };
            let payload = bytes(payload);
            let mut message = payload.clone();
            let tag = from.to_peer.seal(Kind::Message, &mut message).unwrap();
            message.extend_from_slice(tag.as_ref());
            assert_eq!(message, bytes(expected), "sealed message {at}");
            assert_eq!(to.from_peer.open(&mut message), Ok((Kind::Message, payload.len())));
            assert_eq!(message[..payload.len()], payload);
        }
    }
}
