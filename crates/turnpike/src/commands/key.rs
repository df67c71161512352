//! `turnpike key`: key files.

use std::path::Path;

use secp256k1::{PublicKey, SecretKey};
use serde::Serialize;
use spv::hash::account_hash;
use storage::key_file;
use wire::AccountId;

use crate::cli::KeyCommand;
use crate::error::Error;
use crate::hex;
use crate::output::Output;

/// The result of `key new` and `key show`.
#[derive(Serialize)]
struct KeyReport {
    account: String,
    public_key: String,
}

/// The part of a key to print as text.
#[derive(Clone, Copy)]
enum Field {
    Account,
    PublicKey,
    Both,
}

/// Runs `turnpike key`.
pub fn run(command: &KeyCommand, output: Output) -> Result<(), Error> {
    let (key, only) = match command {
        KeyCommand::New { file } => {
            let key = generate()?;
            key_file::create(file, &key.secret_bytes()).map_err(Error::other)?;
            (key, Field::Both)
        }
        KeyCommand::Show { file, account: true, .. } => (read(file)?, Field::Account),
        KeyCommand::Show { file, public_key: true, .. } => (read(file)?, Field::PublicKey),
        KeyCommand::Show { file, .. } => (read(file)?, Field::Both),
    };
    let public = PublicKey::from_secret_key_global(&key).serialize();
    let report =
        KeyReport { account: AccountId::keyed(&account_hash(&public)).to_string(), public_key: hex::encode(&public) };
    output.result(&report, |report| match only {
        Field::Account => report.account.clone(),
        Field::PublicKey => report.public_key.clone(),
        Field::Both => format!("account     {}\npublic key  {}", report.account, report.public_key),
    });
    Ok(())
}

/// Reads a key file, which only its owner may be able to read.
pub fn read(file: &Path) -> Result<SecretKey, Error> {
    let bytes = key_file::read(file).map_err(Error::other)?;
    bytes.and_then(|bytes| SecretKey::from_byte_array(bytes).ok()).ok_or_else(|| not_a_key(file))
}

/// The error of a file without a key.
pub fn not_a_key(file: &Path) -> Error {
    Error::Input(format!("{} is not a key file: expected 64 hexadecimal digits", file.display()))
}

fn generate() -> Result<SecretKey, Error> {
    loop {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::Input(format!("the system returned no random bytes: {error}")))?;
        // Fails for zero and for numbers not below the group's order: once in 2^127.
        if let Ok(key) = SecretKey::from_byte_array(bytes) {
            return Ok(key);
        }
    }
}
