//! The claims of a transaction's inputs: that they hold signatures by certain keys over certain digests.
//!
//! This module does not verify the signatures, so that many can be verified at once. It does not run scripts: it
//! understands an input if the script that it spends has one of the forms that wallets use; otherwise the input is
//! [`Unclaimed::Other`].
use super::block::Transaction;
use super::coins::Coin;
use super::script::{Form, hash160, pay_to_key_hash, pushes};
use super::sighash::SignatureHasher;
use sha2::{Digest, Sha256};
use spv::Hash;
use std::cell::LazyCell;
use thiserror::Error;

/// Signature scheme of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// ECDSA: keys as encoded for it, signatures in DER encoding.
    Ecdsa,
    /// BIP340: keys of 32 bytes, signatures of 64.
    Schnorr,
}

/// Signatures and keys of an input. A claim holds if each signature is valid for a different key, with the keys in the
/// order of the signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The scheme of all keys and signatures.
    pub scheme: Scheme,
    /// The keys, as the script or its solution encodes them.
    pub keys: Vec<&'a [u8]>,
    /// The signatures; at most as many as keys.
    pub signatures: Vec<Signature<'a>>,
}

/// A signature of an input and its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    /// The digest.
    pub digest: Hash,
    /// The signature, without the sighash byte after it.
    pub bytes: &'a [u8],
}

/// Why an input has no claim that signatures could satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unclaimed {
    /// The script has no supported form, so nothing is known about the input.
    #[error("unsupported script: not pay to key, key hash, script hash, multisig, witness version 0 or Taproot key")]
    Other,
    /// A Taproot signature covers the coins of all inputs, and not all are known.
    #[error("the signature covers the coins of all inputs, but one of them is unknown")]
    UnknownCoin,
    /// The input breaks a rule: it does not push what the script requires.
    #[error("the input does not provide what the script that it spends requires")]
    Missing,
    /// The key does not have the hash that is paid.
    #[error("the public key does not match the hash that was paid")]
    KeyHash,
    /// The script does not have the hash that is paid.
    #[error("the script does not match the hash that was paid")]
    ScriptHash,
    /// There is a witness although the script takes none, or something else although it takes only a witness.
    #[error("the input has a witness that the script does not take, or data beside the witness that it takes")]
    Witness,
    /// A signature is empty.
    #[error("a signature is empty")]
    EmptySignature,
    /// A Taproot signature has an invalid sighash type.
    #[error("the signature's hash type is unknown, or covers an output that does not exist")]
    Coverage,
}

/// The items that solve a script: the pushes of the input's own script, or the items of its witness.
type Stack<'s, 'a> = &'s [&'a [u8]];

/// Which later rules apply to scripts. An input that needs a rule that does not apply is [`Unclaimed::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Hashes of scripts (BIP16).
    pub script_hashes: bool,
    /// Taproot outputs (BIP341).
    pub taproot: bool,
}

impl Rules {
    /// All rules.
    pub const ALL: Self = Self { script_hashes: true, taproot: true };
}

/// The claims of the inputs of a transaction other than a coinbase. `coins` are the spent coins, in order; an input
/// with `None` has no claim.
pub fn claims<'a>(
    transaction: &Transaction<'a>,
    coins: &'a [Option<Coin>],
    rules: Rules,
) -> Vec<Option<Result<Claim<'a>, Unclaimed>>> {
    let mut hasher = SignatureHasher::new(transaction);
    let all = LazyCell::new(|| coins.iter().map(Option::as_ref).collect::<Option<Vec<&Coin>>>());
    let mut witnesses = transaction.witnesses();
    let claim = |(number, (input, coin)): (usize, (super::block::Input<'a>, &'a Option<Coin>))| {
        let witness = witnesses.next().unwrap_or_default();
        let coin = coin.as_ref()?;
        let mut claimant = Claimant { hasher: &mut hasher, input: number, coin, witness };
        Some(match Form::from_script(&coin.script) {
            Form::ScriptHash(_) if !rules.script_hashes => Err(Unclaimed::Other),
            Form::Taproot(_) if !rules.taproot => Err(Unclaimed::Other),
            Form::Taproot(key) => match &*all {
                Some(coins) => claimant.claim_by_key(input.script, key, coins),
                None => Err(Unclaimed::UnknownCoin),
            },
            form => claimant.claim(form, input.script),
        })
    };
    transaction.inputs().zip(coins).enumerate().map(claim).collect()
}

/// Algorithm of a signature's digest.
#[derive(Clone, Copy)]
enum Algorithm {
    Original,
    Version0,
}

struct Claimant<'h, 't, 'a> {
    hasher: &'h mut SignatureHasher<'t, 'a>,
    input: usize,
    coin: &'a Coin,
    witness: Vec<&'a [u8]>,
}

impl<'a> Claimant<'_, '_, 'a> {
    /// The claim of a script of the given form.
    fn claim(&mut self, form: Form<'a>, script: &'a [u8]) -> Result<Claim<'a>, Unclaimed> {
        match form {
            Form::WitnessKeyHash(_) | Form::WitnessScriptHash(_) if !script.is_empty() => Err(Unclaimed::Witness),
            form @ (Form::WitnessKeyHash(_) | Form::WitnessScriptHash(_)) => self.claim_by_witness(form),
            Form::Taproot(_) | Form::Other => Err(Unclaimed::Other),
            Form::ScriptHash(hash) => {
                let stack = pushes(script).ok_or(Unclaimed::Missing)?;
                let (redeem, stack) = stack.split_last().ok_or(Unclaimed::Missing)?;
                if hash160(redeem) != *hash {
                    return Err(Unclaimed::ScriptHash);
                }
                match Form::from_script(redeem) {
                    Form::WitnessKeyHash(_) | Form::WitnessScriptHash(_) if !stack.is_empty() => {
                        Err(Unclaimed::Witness)
                    }
                    form @ (Form::WitnessKeyHash(_) | Form::WitnessScriptHash(_)) => self.claim_by_witness(form),
                    form => self.claim_without_witness(form, redeem, stack),
                }
            }
            // A script that does more than push may still solve it.
            form => self.claim_without_witness(form, &self.coin.script, &pushes(script).ok_or(Unclaimed::Other)?),
        }
    }

    fn claim_without_witness(
        &mut self,
        form: Form<'a>,
        script: &[u8],
        stack: Stack<'_, 'a>,
    ) -> Result<Claim<'a>, Unclaimed> {
        if !self.witness.is_empty() {
            return Err(Unclaimed::Witness);
        }
        self.claim_of(form, Algorithm::Original, script, stack)
    }

    fn claim_by_witness(&mut self, form: Form<'a>) -> Result<Claim<'a>, Unclaimed> {
        let witness = std::mem::take(&mut self.witness);
        match form {
            Form::WitnessKeyHash(hash) if witness.len() == 2 => {
                self.claim_of(Form::KeyHash(hash), Algorithm::Version0, &pay_to_key_hash(hash), &witness)
            }
            Form::WitnessScriptHash(hash) => {
                let (script, stack) = witness.split_last().ok_or(Unclaimed::Missing)?;
                if Sha256::digest(script)[..] != hash[..] {
                    return Err(Unclaimed::ScriptHash);
                }
                self.claim_of(Form::from_script(script), Algorithm::Version0, script, stack)
            }
            _ => Err(Unclaimed::Missing),
        }
    }

    /// The claim of a Taproot output that is spent by its key. Scripts that it may hide are not run.
    fn claim_by_key(&mut self, script: &[u8], key: &'a [u8; 32], coins: &[&Coin]) -> Result<Claim<'a>, Unclaimed> {
        /// First byte of an annex, which is the last of at least two items.
        const ANNEX: u8 = 0x50;
        if !script.is_empty() {
            return Err(Unclaimed::Witness);
        }
        let (annex, stack) = match &self.witness[..] {
            [stack @ .., annex] if !stack.is_empty() && annex.first() == Some(&ANNEX) => (Some(*annex), stack),
            stack => (None, stack),
        };
        let signature = match stack {
            [] => return Err(Unclaimed::Missing),
            [signature] => *signature,
            _ => return Err(Unclaimed::Other),
        };
        // 64 bytes cover everything; a further byte is the sighash type, which must not be the default.
        let (hash_type, bytes) = match signature {
            [bytes @ .., 0] if bytes.len() == 64 => return Err(Unclaimed::Coverage),
            [bytes @ .., hash_type] if bytes.len() == 64 => (*hash_type, bytes),
            bytes => (0, bytes),
        };
        let digest = self.hasher.taproot(self.input, coins, annex, hash_type).ok_or(Unclaimed::Coverage)?;
        Ok(Claim { scheme: Scheme::Schnorr, keys: vec![key], signatures: vec![Signature { digest, bytes }] })
    }

    /// The claim of a script whose form needs no other script, solved by the items of `stack`.
    fn claim_of(
        &mut self,
        form: Form<'a>,
        algorithm: Algorithm,
        script: &[u8],
        stack: Stack<'_, 'a>,
    ) -> Result<Claim<'a>, Unclaimed> {
        // Arbitrary items may lie below the required ones, but not in a witness.
        let asked = match &form {
            Form::Key(_) => 1,
            Form::KeyHash(_) => 2,
            // One item more than there are signatures is consumed, by a mistake of the first version that became the
            // rule.
            Form::Multisig(required, _) => required + 1,
            _ => return Err(Unclaimed::Other),
        };
        if stack.len() < asked || matches!(algorithm, Algorithm::Version0) && stack.len() > asked {
            return Err(Unclaimed::Missing);
        }
        let (keys, signatures) = match (form, stack) {
            (Form::Key(key), [.., signature]) => (vec![key], std::slice::from_ref(signature)),
            (Form::KeyHash(hash), [.., signature, key]) => {
                if hash160(key) != *hash {
                    return Err(Unclaimed::KeyHash);
                }
                (vec![*key], std::slice::from_ref(signature))
            }
            (Form::Multisig(required, keys), stack) => (keys, &stack[stack.len() - required..]),
            _ => return Err(Unclaimed::Other),
        };
        let signatures = signatures.iter().map(|signature| {
            let (hash_type, bytes) = signature.split_last().ok_or(Unclaimed::EmptySignature)?;
            let digest = match algorithm {
                Algorithm::Original => self.hasher.original(self.input, script, *hash_type),
                Algorithm::Version0 => self.hasher.version_0(self.input, script, self.coin.amount, *hash_type),
            };
            Ok(Signature { digest, bytes })
        });
        let signatures = signatures.collect::<Result<_, _>>()?;
        Ok(Claim { scheme: Scheme::Ecdsa, keys, signatures })
    }
}

#[cfg(test)]
mod tests;
