//! The verifier: this machine's processor, or a node.

use std::net::SocketAddr;

use client::{Check, Client, Options};
use verify::bls12_381::groth16::{self, Claim};
use verify::bls12_381::{self, eip2537, is_product_one, signature};
use verify::equihash::{Header, Parameters};
use verify::secp256k1::{ecdsa, schnorr};
use verify::vdf::Evaluated;
use verify::{BatchVerifier, RuleCode};

use wire::MAX_PAIRS;

use super::groth16::{Key, ProofRecord};
use crate::error::Error;

/// A verdict: nothing, or the rule that is broken.
pub type Verdict = Result<(), String>;

/// A verifier; one per thread.
pub enum Engine {
    /// This machine.
    Local(ecdsa::Verifier),
    /// A node.
    Remote(Box<Client>),
}

/// A parsed ECDSA signature, and its encoded key.
#[derive(Clone, Copy)]
pub struct EcdsaItem<'a> {
    pub signed: ecdsa::Signed,
    pub key: &'a [u8],
}

impl Engine {
    /// An engine of this machine, or the one of a node.
    pub fn new(server: Option<&(SocketAddr, Options)>) -> Result<Self, Error> {
        let Some((address, options)) = server else { return Ok(Self::Local(ecdsa::Verifier::default())) };
        Ok(Self::Remote(Box::new(Client::connect(*address, options).map_err(Error::other)?)))
    }

    /// Headers of Zcash or one of its relatives.
    pub fn headers(
        &mut self,
        headers: &[Header<'_>],
        parameters: &Parameters,
        personalisation: [u8; 8],
    ) -> Result<Vec<Verdict>, Error> {
        match self {
            Self::Local(_) => {
                let verify = |header: &Header<'_>| header.verify_with(parameters).map_err(|rule| rule.to_string());
                Ok(headers.iter().map(verify).collect())
            }
            Self::Remote(client) => {
                let parameters = (parameters.n() as u16, parameters.k() as u8);
                let checks = headers.iter().map(|header| Check::Equihash {
                    parameters,
                    personalisation,
                    solution_only: false,
                    header: header.bytes(),
                });
                ask(client, &checks.collect::<Vec<_>>())
            }
        }
    }

    /// ECDSA signatures.
    pub fn ecdsa(&mut self, items: &[EcdsaItem<'_>]) -> Result<Vec<Verdict>, Error> {
        match self {
            Self::Local(verifier) => {
                items.iter().for_each(|item| verifier.push(item.signed));
                Ok(verifier.verify_each().iter().map(|verdict| verdict.map_err(|rule| rule.to_string())).collect())
            }
            Self::Remote(client) => {
                let checks = items.iter().map(|item| Check::Ecdsa {
                    // A high s that is not allowed has been found before.
                    low_s: false,
                    digest: item.signed.digest,
                    signature: item.signed.signature.compact(),
                    key: item.key,
                });
                ask(client, &checks.collect::<Vec<_>>())
            }
        }
    }

    /// BIP340 signatures over messages of 32 bytes.
    pub fn schnorr(&mut self, items: &[([u8; 32], schnorr::Signed<'_>)]) -> Result<Vec<Verdict>, Error> {
        match self {
            Self::Local(_) => {
                let mut verifier = schnorr::Verifier::default();
                items.iter().for_each(|(_, item)| verifier.push(*item));
                Ok(verifier.verify_each().iter().map(|verdict| verdict.map_err(|rule| rule.to_string())).collect())
            }
            Self::Remote(client) => {
                let checks = items.iter().map(|(message, item)| Check::Schnorr {
                    message: *message,
                    key: *item.key.bytes(),
                    signature: item.signature.bytes(),
                });
                ask(client, &checks.collect::<Vec<_>>())
            }
        }
    }
}

impl Engine {
    /// BLS signatures.
    pub fn bls(&mut self, items: &[signature::Signed<'_>]) -> Result<Vec<Verdict>, Error> {
        match self {
            Self::Local(_) => {
                let mut verifier = signature::Verifier::default();
                items.iter().for_each(|item| verifier.push(*item));
                Ok(verifier.verify_each().iter().map(|verdict| verdict.map_err(|rule| rule.to_string())).collect())
            }
            Self::Remote(client) => {
                let checks = items.iter().map(|item| Check::Bls {
                    message: item.message,
                    key: item.key.bytes(),
                    signature: item.signature.bytes(),
                });
                ask(client, &checks.collect::<Vec<_>>())
            }
        }
    }

    /// Verifies Groth16 proofs, each with the number of inputs that the key requires; a node must have the key.
    pub fn groth16(&mut self, key: &Key, items: Vec<(Claim, &ProofRecord)>) -> Result<Vec<Verdict>, Error> {
        match (self, key.id) {
            (Self::Remote(client), Some(id)) => {
                let checks = items.iter().map(|(_, record)| Check::Groth16 {
                    key: id,
                    proof: record.proof,
                    inputs: &record.inputs,
                });
                ask(client, &checks.collect::<Vec<_>>())
            }
            _ => {
                let mut verifier = groth16::Verifier::new(&key.key);
                items.into_iter().for_each(|(claim, _)| verifier.push(claim));
                Ok(verifier.verify_each().iter().map(|verdict| verdict.map_err(|rule| rule.to_string())).collect())
            }
        }
    }

    /// Products of pairings in the encoding of EIP-2537.
    pub fn pairings(&mut self, items: &[Vec<u8>]) -> Result<Vec<Verdict>, Error> {
        match self {
            Self::Local(_) => {
                let verify =
                    |item: &Vec<u8>| match is_product_one(&eip2537::pairs(item).map_err(|rule| rule.to_string())?) {
                        true => Ok(()),
                        false => Err(bls12_381::Rule::PairingMismatch.to_string()),
                    };
                Ok(items.iter().map(verify).collect())
            }
            Self::Remote(client) => {
                let too_long =
                    |item: &&Vec<u8>| !(1..=MAX_PAIRS).contains(&item.as_chunks::<{ eip2537::PAIR }>().0.len());
                if items.iter().find(too_long).is_some() {
                    let text = format!("a node accepts 1 to {MAX_PAIRS} pairs at once: omit --server");
                    return Err(Error::Input(text));
                }
                let checks = items.iter().map(|item| Check::Pairing { pairs: item.as_chunks().0 });
                ask(client, &checks.collect::<Vec<_>>())
            }
        }
    }

    /// The proof of a delay, and its bytes.
    pub fn delay(&mut self, evaluated: &Evaluated, bytes: &[u8]) -> Result<Verdict, Error> {
        match self {
            Self::Local(_) => Ok(evaluated.verify().map_err(|rule| rule.to_string())),
            Self::Remote(client) => Ok(ask(client, &[Check::Delay { proof: bytes }])?.into_iter().collect()),
        }
    }
}

/// The verdicts of a node.
fn ask(client: &mut Client, checks: &[Check<'_>]) -> Result<Vec<Verdict>, Error> {
    let verdicts = client.verify(checks).map_err(Error::other)?;
    Ok(verdicts.iter().map(|verdict| read(verdict.result_mask)).collect())
}

/// The verdict of a result mask.
fn read(mask: u64) -> Verdict {
    if mask == 0 {
        return Ok(());
    }
    let rules = RuleCode::ALL.into_iter().filter(|rule| mask & rule.mask() != 0).map(RuleCode::message);
    let text = rules.collect::<Vec<_>>().join("; ");
    Err(if text.is_empty() { format!("unknown rule: result mask {mask:#x}") } else { text })
}
