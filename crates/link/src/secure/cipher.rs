//! Messages sealed in place with AES-256-GCM. The nonce is the message's number in its direction (Noise, section 5.1).
//!
//! Numbers are not sent. A message that was changed, replayed, lost or swapped fails to open.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, Nonce, Tag, UnboundKey};
use zeroize::Zeroizing;

use super::identity::KEY_BYTES;
use crate::Error;

/// Bytes that sealing adds to a message.
pub(super) const TAG_BYTES: usize = MAX_TAG_LEN;

/// Messages after which the key is replaced by one that does not reveal it (Noise, section 11.3). With messages of
/// maximum length that is 2^44 bytes, far below the limit of an AES-GCM key.
const REKEY_EVERY: u64 = 1 << 20;

/// Kind of a sealed message, encoded in its nonce. [`Kind::Message`] yields the nonces of Noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Message = 0,
    /// The last message.
    Close = 1,
    /// The end of the handshake: the sender has accepted its peer.
    Ready = 2,
}

/// The key of one direction, and the number of its next message.
pub(super) struct Cipher {
    key: LessSafeKey,
    next: u64,
}

impl Cipher {
    pub(super) fn new(key: &[u8; KEY_BYTES]) -> Result<Self, Error> {
        Ok(Self { key: Self::key(key)?, next: 0 })
    }

    fn key(key: &[u8; KEY_BYTES]) -> Result<LessSafeKey, Error> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| Error::Key("a key of AES-256 has 32 bytes"))?;
        Ok(LessSafeKey::new(key))
    }

    /// Encrypts a message in place and returns its tag.
    pub(super) fn seal(&mut self, kind: Kind, message: &mut [u8]) -> Result<Tag, Error> {
        let nonce = nonce(kind, self.next);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), message);
        let tag = tag.map_err(|_| Error::Config("a message is too long for AES-GCM"))?;
        self.step()?;
        Ok(tag)
    }

    /// Decrypts a message with its tag in place. Returns its kind and length.
    pub(super) fn open(&mut self, sealed: &mut [u8]) -> Result<(Kind, usize), Error> {
        let length = sealed.len().checked_sub(TAG_BYTES).ok_or(Error::Tampered)?;
        // Only an empty message can be of another kind.
        let kinds = if length == 0 { &[Kind::Message, Kind::Close, Kind::Ready][..] } else { &[Kind::Message] };
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&sealed[length..]);
        for kind in kinds {
            sealed[length..].copy_from_slice(&tag);
            if self.key.open_in_place(nonce(*kind, self.next), Aad::empty(), sealed).is_ok() {
                self.step()?;
                return Ok((*kind, length));
            }
        }
        Err(Error::Tampered)
    }

    fn step(&mut self) -> Result<(), Error> {
        self.next += 1;
        if self.next.is_multiple_of(REKEY_EVERY) {
            let mut key = Zeroizing::new([0; KEY_BYTES]);
            let nonce = nonce(Kind::Message, u64::MAX);
            // Nobody opens this ciphertext, so its tag is not needed.
            let _tag = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut *key);
            self.key = Self::key(&key)?;
        }
        Ok(())
    }
}

fn nonce(kind: Kind, number: u64) -> Nonce {
    let mut nonce = [0; ring::aead::NONCE_LEN];
    nonce[..4].copy_from_slice(&(kind as u32).to_be_bytes());
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seal(cipher: &mut Cipher, kind: Kind, message: &[u8]) -> Vec<u8> {
        let mut sealed = message.to_vec();
        let tag = cipher.seal(kind, &mut sealed).unwrap();
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    fn pair() -> (Cipher, Cipher) {
        (Cipher::new(&[7; KEY_BYTES]).unwrap(), Cipher::new(&[7; KEY_BYTES]).unwrap())
    }

    #[test]
    fn keys_are_replaced_on_both_sides_alike() {
        let (mut near, mut far) = pair();
        let mut old = Cipher::new(&[7; KEY_BYTES]).unwrap();
        (near.next, far.next, old.next) = (REKEY_EVERY - 2, REKEY_EVERY - 2, REKEY_EVERY);
        for number in 0..4_u8 {
            let mut sealed = seal(&mut near, Kind::Message, &[number; 40]);
            if number == 2 {
                assert_eq!(old.open(&mut sealed.clone()), Err(Error::Tampered), "the key is another one");
            }
            assert_eq!(far.open(&mut sealed), Ok((Kind::Message, 40)));
            assert_eq!(sealed[..40], [number; 40]);
        }
    }

    proptest! {
        #[test]
        fn only_what_was_sealed_opens_once_and_in_order(
            message in prop::collection::vec(any::<u8>(), 0..300), kind in 0..3usize, flip in 1u8..,
            at: prop::sample::Index,
        ) {
            let kind = [Kind::Message, Kind::Close, Kind::Ready][kind];
            let message = if kind == Kind::Message { message } else { vec![] };
            let (mut near, mut far) = pair();
            let first = seal(&mut near, Kind::Message, b"first");
            let sealed = seal(&mut near, kind, &message);
            let mut changed = first.clone();
            changed[at.index(first.len())] ^= flip;
            prop_assert_eq!(far.open(&mut changed), Err(Error::Tampered));
            prop_assert_eq!(far.open(&mut first[1..].to_vec()), Err(Error::Tampered));
            prop_assert_eq!(far.open(&mut sealed.clone()), Err(Error::Tampered), "too early");
            prop_assert_eq!(far.open(&mut first.clone()), Ok((Kind::Message, 5)));
            prop_assert_eq!(far.open(&mut first.clone()), Err(Error::Tampered), "replayed");
            let mut opened = sealed.clone();
            prop_assert_eq!(far.open(&mut opened), Ok((kind, message.len())));
            prop_assert_eq!(&opened[..message.len()], &message[..]);
            prop_assert!(message.len() < 8 || opened != sealed);
        }
    }
}
