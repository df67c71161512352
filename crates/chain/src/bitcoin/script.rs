//! Scripts of the forms that wallets use.
use ripemd::Ripemd160;
use sha2::{Digest, Sha256};

const OP_0: u8 = 0x00;
const OP_PUSHDATA1: u8 = 0x4c;
const OP_PUSHDATA2: u8 = 0x4d;
const OP_PUSHDATA4: u8 = 0x4e;
const OP_1: u8 = 0x51;
const OP_16: u8 = 0x60;
const OP_DUP: u8 = 0x76;
const OP_EQUAL: u8 = 0x87;
const OP_EQUALVERIFY: u8 = 0x88;
const OP_HASH160: u8 = 0xa9;
const OP_CHECKSIG: u8 = 0xac;
const OP_CHECKMULTISIG: u8 = 0xae;

/// The longest item of a stack.
const MAX_ITEM_SIZE: usize = 520;

/// What `OP_1` to `OP_16` push.
const SMALL_NUMBERS: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// The form of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// A key.
    Key(&'a [u8]),
    /// The hash of a key.
    KeyHash(&'a [u8; 20]),
    /// The hash of a script.
    ScriptHash(&'a [u8; 20]),
    /// This many signatures by different keys of the list.
    Multisig(usize, Vec<&'a [u8]>),
    /// The hash of a key, unlocked by a witness.
    WitnessKeyHash(&'a [u8; 20]),
    /// The hash of a script, unlocked by a witness.
    WitnessScriptHash(&'a [u8; 32]),
    /// A key that may commit to scripts (BIP341), unlocked by a witness.
    Taproot(&'a [u8; 32]),
    /// None of these.
    Other,
}

impl<'a> Form<'a> {
    /// The form of a script.
    pub(super) fn from_script(script: &'a [u8]) -> Self {
        Self::of_hash(script).or_else(|| Self::of_keys(script)).unwrap_or(Self::Other)
    }

    fn of_hash(script: &'a [u8]) -> Option<Self> {
        Some(match script {
            [OP_DUP, OP_HASH160, 20, hash @ .., OP_EQUALVERIFY, OP_CHECKSIG] => Self::KeyHash(hash.try_into().ok()?),
            [OP_HASH160, 20, hash @ .., OP_EQUAL] => Self::ScriptHash(hash.try_into().ok()?),
            [OP_0, 20, hash @ ..] => Self::WitnessKeyHash(hash.try_into().ok()?),
            [OP_0, 32, hash @ ..] => Self::WitnessScriptHash(hash.try_into().ok()?),
            [OP_1, 32, key @ ..] => Self::Taproot(key.try_into().ok()?),
            _ => return None,
        })
    }

    fn of_keys(script: &'a [u8]) -> Option<Self> {
        match script {
            [33, key @ .., OP_CHECKSIG] if key.len() == 33 => Some(Self::Key(key)),
            [65, key @ .., OP_CHECKSIG] if key.len() == 65 => Some(Self::Key(key)),
            [required @ OP_1..=OP_16, keys @ .., count @ OP_1..=OP_16, OP_CHECKMULTISIG] => {
                let (required, count) = (usize::from(required - OP_1) + 1, usize::from(count - OP_1) + 1);
                let keys = pushes(keys)?;
                (keys.len() == count && required <= count).then_some(Self::Multisig(required, keys))
            }
            _ => None,
        }
    }
}

/// What a script pushes; `None` if it does anything else.
pub(super) fn pushes(script: &[u8]) -> Option<Vec<&[u8]>> {
    let mut items = Vec::new();
    let mut rest = script;
    while let [opcode, after @ ..] = rest {
        let (length, after) = match *opcode {
            opcode @ OP_1..=OP_16 => {
                let at = usize::from(opcode - OP_1);
                items.push(&SMALL_NUMBERS[at..=at]);
                rest = after;
                continue;
            }
            length @ ..OP_PUSHDATA1 => (usize::from(length), after),
            OP_PUSHDATA1 => after.split_first().map(|(length, after)| (usize::from(*length), after))?,
            OP_PUSHDATA2 => {
                after.split_first_chunk().map(|(length, after)| (usize::from(u16::from_le_bytes(*length)), after))?
            }
            OP_PUSHDATA4 => {
                let (length, after) = after.split_first_chunk()?;
                (usize::try_from(u32::from_le_bytes(*length)).ok()?, after)
            }
            _ => return None,
        };
        let (item, after) = after.split_at_checked(length).filter(|_| length <= MAX_ITEM_SIZE)?;
        items.push(item);
        rest = after;
    }
    Some(items)
}

/// RIPEMD-160 of SHA-256.
pub(super) fn hash160(bytes: &[u8]) -> [u8; 20] {
    Ripemd160::digest(Sha256::digest(bytes)).into()
}

/// The script that pays to the hash of a key. A signature for a [`Form::WitnessKeyHash`] covers it.
pub(super) fn pay_to_key_hash(hash: &[u8; 20]) -> Vec<u8> {
    [&[OP_DUP, OP_HASH160, 20][..], hash, &[OP_EQUALVERIFY, OP_CHECKSIG]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert_eq!(Form::from_script(&pay_to_key_hash(&[7; 20])), Form::KeyHash(&[7; 20]));
        assert_eq!(Form::from_script(&[&[0xa9, 20][..], &[7; 20], &[0x87]].concat()), Form::ScriptHash(&[7; 20]));
        assert_eq!(Form::from_script(&[&[0, 20][..], &[7; 20]].concat()), Form::WitnessKeyHash(&[7; 20]));
        assert_eq!(Form::from_script(&[&[0, 32][..], &[7; 32]].concat()), Form::WitnessScriptHash(&[7; 32]));
        assert_eq!(Form::from_script(&[&[0x51, 32][..], &[7; 32]].concat()), Form::Taproot(&[7; 32]));
        assert_eq!(Form::from_script(&[&[33][..], &[2; 33], &[0xac]].concat()), Form::Key(&[2; 33]));
        assert_eq!(Form::from_script(&[&[65][..], &[4; 65], &[0xac]].concat()), Form::Key(&[4; 65]));
        let keys = [&[33][..], &[2; 33], &[33], &[3; 33]].concat();
        let multisig = |required, count| [&[required][..], &keys, &[count, 0xae]].concat();
        assert_eq!(Form::from_script(&multisig(0x51, 0x52)), Form::Multisig(1, vec![&[2; 33], &[3; 33]]));
        for script in [&multisig(0x53, 0x52)[..], &multisig(0x51, 0x53), &[], &[0x51], &[0x6a, 1, 2], &[0, 20, 7]] {
            assert_eq!(Form::from_script(script), Form::Other, "{script:02x?}");
        }
    }

    #[test]
    fn pushed_items() {
        assert_eq!(pushes(&[]), Some(vec![]));
        assert_eq!(pushes(&[0, 0x51, 0x60, 2, 8, 9]), Some(vec![&[][..], &[1], &[16], &[8, 9]]));
        assert_eq!(pushes(&[0x4c, 1, 8, 0x4d, 1, 0, 9, 0x4e, 1, 0, 0, 0, 7]), Some(vec![&[8][..], &[9], &[7]]));
        for script in [&[2, 8][..], &[0x4c], &[0x4d, 1], &[0x4e, 0, 0, 1, 0], &[0xac], &[0x61]] {
            assert_eq!(pushes(script), None, "{script:02x?}");
        }
        let long = [&[0x4d, 9, 2][..], &[1; 521]].concat();
        assert_eq!(pushes(&long), None, "an item of more than 520 bytes");
    }
}
