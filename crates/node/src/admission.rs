//! Admission of signed operations: everything that can be checked before the single writer, on any thread.

use std::{
    sync::{Arc, LazyLock},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ledger::Issuers;
use nic::{Held, extractor::signed_operations};
use spv::hash::{account_hash, linked_hash};
use verify::{
    BatchVerifier,
    secp256k1::ecdsa::{Policy, Signed, Verifier},
    transfer,
};
use wire::{AccountId, Command, Operation, SignedOperation, Status, TransactionId, linked};

use crate::{Config, config};

/// Frames to check together: the lanes of two passes if each frame has one operation, and few enough that frames with
/// many operations do not delay the others for long.
pub const FRAMES: usize = 16;

/// The rules for signed operations.
#[derive(Debug)]
pub struct Rules {
    /// The network id, which signatures cover.
    pub network: [u8; 32],
    /// Keys that may sign ISSUE, FREEZE and UNFREEZE, and CREATE or OPEN of others' accounts. The ledger checks that a
    /// key is of the account's asset.
    pub issuers: Issuers,
    /// The least that an account pays for opening another.
    pub deposit: u64,
    /// Maximum age of a signed operation.
    pub replay_window: Duration,
}

/// Applies the rules; one for each thread, for its buffers.
#[derive(Debug)]
pub struct Admission {
    rules: Arc<Rules>,
    verifier: Verifier,
}

impl Admission {
    /// An admission under these rules.
    pub fn new(rules: Arc<Rules>) -> Self {
        Self { rules, verifier: Verifier::default() }
    }

    /// Sets the status of each operation that is refused, unless it has one. Each frame comes with whether its sender
    /// is trusted. `now` is the time in microseconds since the Unix epoch. Returns the number of verified signatures,
    /// which form one batch over all frames, since a single frame may have only one.
    pub fn check<'a>(&mut self, frames: impl Iterator<Item = (bool, &'a mut [SignedOperation])>, now: u64) -> usize {
        let mut frames = Vec::from_iter(frames);
        let mut pushed = Vec::new();
        for (trusted, operations) in &mut frames {
            refuse_unbound(operations);
            for signed in operations.iter_mut().filter(|signed| signed.operation.status.get() == 0) {
                match self.rules.check(signed, *trusted, now).and_then(|()| self.parse(signed)) {
                    Ok(item) => {
                        self.verifier.push(item);
                        pushed.push(signed);
                    }
                    Err(status) => signed.operation.status.set(status.code()),
                }
            }
        }
        for (verdict, signed) in self.verifier.verify_each().iter().zip(&mut pushed) {
            if verdict.is_err() {
                signed.operation.status.set(Status::BadSignature.code());
            }
        }
        let verified = pushed.len();
        frames.into_iter().for_each(|(_, operations)| linked::refuse_broken(operations));
        verified
    }

    fn parse(&self, signed: &SignedOperation) -> Result<Signed, Status> {
        let digest = transfer::digest(&self.rules.network, signed.signed_bytes());
        Signed::parse(Policy::COMPACT, digest, &signed.signature, &signed.public_key).map_err(|_| Status::BadSignature)
    }
}

impl Rules {
    /// The rules that are configured, on a network.
    pub fn from_config(config: &Config, network: [u8; 32]) -> Self {
        let config::Ledger { deposit, replay_window, .. } = config.ledger;
        Self { network, issuers: config.issuers(), deposit, replay_window: Duration::from_secs(replay_window) }
    }

    /// The rules that need no arithmetic on the curve.
    fn check(&self, signed: &SignedOperation, trusted: bool, now: u64) -> Result<(), Status> {
        let oldest = now.saturating_sub(self.replay_window.as_micros() as u64).max(1);
        let newest = now + ledger::CLOCK_TOLERANCE.as_micros() as u64;
        if !(oldest..=newest).contains(&signed.timestamp.get()) {
            return Err(Status::StaleTimestamp);
        }
        let (operation, key) = (&signed.operation, &signed.public_key);
        match operation.command() {
            Ok(Command::Create | Command::Open) => self.check_create(operation, key, trusted),
            Ok(command) if command.is_of_issuer() && !self.issuers.contains_key(key) => Err(Status::NotIssuer),
            Ok(Command::Issue | Command::Freeze | Command::Unfreeze) => Ok(()),
            Ok(_) if operation.signer() != account_of(key) => Err(Status::NotAuthorised),
            // An open hold takes room, as an account does.
            Ok(Command::Hold) if !trusted && operation.amount() < self.deposit => Err(Status::DepositRequired),
            Ok(Command::Hold | Command::Capture | Command::Release | Command::Reclaim) => Ok(()),
            Ok(Command::Transfer | Command::Refer | Command::Close) => Ok(()),
            Err(status) => Err(status),
        }
    }

    /// An account takes room in the table permanently, so it needs a sponsor: an issuer, the payer of a deposit, or the
    /// operator, who trusts the sender.
    fn check_create(&self, operation: &Operation, key: &[u8; 33], trusted: bool) -> Result<(), Status> {
        let is_of = |account: AccountId| account == account_of(key);
        match operation.payer() {
            // Open accounts are the operator's to name.
            _ if !operation.source.is_keyed() => Err(Status::NotAuthorised),
            Some(payer) if !is_of(payer) => Err(Status::NotAuthorised),
            Some(_) if operation.amount() < self.deposit => Err(Status::DepositRequired),
            Some(_) => Ok(()),
            None if self.issuers.contains(operation.asset(), key) => Ok(()),
            None if !is_of(operation.source) => Err(Status::NotAuthorised),
            None if !trusted => Err(Status::DepositRequired),
            None => Ok(()),
        }
    }
}

/// Microseconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64)
}

/// Microseconds of a monotonic clock, for durations.
pub fn monotonic() -> u64 {
    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
    STARTED.elapsed().as_micros() as u64
}

/// The account that a key is bound to.
pub(crate) fn account_of(key: &[u8; 33]) -> AccountId {
    AccountId::keyed(&account_hash(key))
}

/// Refuses linked chains other than those that were signed: the ids of a chain commit to all of it, so nobody can take
/// an operation out of it, or put another one in.
fn refuse_unbound(operations: &mut [SignedOperation]) {
    if operations.iter().all(|signed| signed.operation.flags & Operation::BOUND == 0) {
        return;
    }
    let mut rest = operations;
    while !rest.is_empty() {
        let (chain, after) = rest.split_at_mut(linked::chain_length(rest));
        let is_bound = chain.iter().any(|signed| signed.operation.flags & Operation::BOUND != 0);
        if is_bound && !is_bound_to(chain) {
            chain.iter_mut().for_each(|signed| signed.operation.status.set(Status::LinkedInvalid.code()));
        }
        rest = after;
    }
}

/// Whether the ids of a chain's operations are those that commit to it.
pub(crate) fn is_bound_to(chain: &[SignedOperation]) -> bool {
    // Requests are signed, and a status may be set since.
    let hash = linked_hash(chain.iter().map(|signed| {
        let operation = Operation { status: 0.into(), ..signed.operation };
        SignedOperation { operation, ..*signed }.bytes_in_chain()
    }));
    chain.iter().enumerate().all(|(at, signed)| signed.operation.transaction == TransactionId::bound(&hash, at))
}

/// Refuses operations that would open accounts in the part of the table reserved for trusted senders, which begins
/// after `room` more. Existing accounts are not opened, so a retry gets its first result.
pub fn keep_reserve(held: &mut Held, mut room: u64, exists: impl Fn(&AccountId) -> bool) {
    let operations = signed_operations(held).unwrap_or_default();
    for signed in &mut *operations {
        let operation = &mut signed.operation;
        let opens = operation.creates() && operation.status.get() == 0 && !exists(&operation.source);
        if opens && room == 0 {
            operation.status.set(Status::TableFull.code());
        } else if opens {
            room -= 1;
        }
    }
    linked::refuse_broken(operations);
}

#[cfg(test)]
mod tests {
    use client::Signer;
    use secp256k1::SecretKey;
    use wire::Promise;

    use super::*;

    const NETWORK: [u8; 32] = [5; 32];
    const OWN: u8 = 1;
    const PAYER: u8 = 2;
    const OTHER: u8 = 4;
    const ISSUER: u8 = 9;
    const ISSUER_OF_ASSET: u8 = 10;

    fn signer(seed: u8) -> Signer {
        Signer::new(SecretKey::from_byte_array([seed; 32]).unwrap(), NETWORK)
    }

    /// The statuses for trusted and other senders.
    fn check(seed: u8, operation: Operation) -> [Status; 2] {
        let mut issuers = Issuers::default();
        issuers.add(0, *signer(ISSUER).public_key());
        issuers.add(7, *signer(ISSUER_OF_ASSET).public_key());
        let replay_window = Duration::from_secs(10);
        let mut admission = Admission::new(Arc::new(Rules { network: NETWORK, issuers, deposit: 100, replay_window }));
        let mut entries = [[signer(seed).sign(operation, Promise::Default).unwrap()]; 2];
        let frames = [true, false].into_iter().zip(entries.iter_mut().map(|entry| &mut entry[..]));
        admission.check(frames, now());
        entries.map(|[signed]| signed.operation.status().unwrap())
    }

    /// A chain of two signers is admitted as they signed it, and in no other form.
    #[test]
    fn a_signed_chain_is_the_one_that_was_signed() {
        let signers = [OWN, PAYER].map(signer);
        let [own, payer] = signers.each_ref().map(Signer::account);
        let unsigned = |signer: &Signer, operation, nonce| {
            SignedOperation::unsigned(operation, now(), nonce, Promise::Default, *signer.public_key())
        };
        let swap = |nonce| {
            let id = 1_u32.into();
            let mut chain = [
                unsigned(&signers[0], Operation::transfer(id, own, payer, 5), nonce),
                unsigned(&signers[1], Operation::transfer(id, payer, own, 7), nonce),
                unsigned(&signers[0], Operation::transfer(id, own, 9_u32.into(), 1), nonce),
            ];
            client::bind(&mut chain);
            chain.iter_mut().for_each(|signed| signers.iter().for_each(|signer| signer.sign_bound(signed)));
            chain
        };
        let replay_window = Duration::from_secs(10);
        let rules = Arc::new(Rules { network: NETWORK, issuers: Issuers::default(), deposit: 100, replay_window });
        let check = |entries: &[SignedOperation]| {
            let mut entries = entries.to_vec();
            linked::refuse_broken(&mut entries);
            Admission::new(rules.clone()).check(std::iter::once((false, &mut entries[..])), now());
            Vec::from_iter(entries.iter().map(|entry| entry.operation.status().unwrap()))
        };
        use Status::{BadSignature, LinkedFailed as Failed, LinkedInvalid as Invalid, Ok};
        let ([a, b, c], [d, e, f]) = (swap(1), swap(2));
        assert_eq!(check(&[a, b, c, d, e, f]), [Ok; 6]);
        // None goes alone, in another order, or with operations of another chain.
        assert_eq!([check(&[c]), check(&[b]), check(&[a])], [[Invalid]; 3]);
        assert_eq!(check(&[b, c]), [Invalid; 2]);
        assert_eq!(check(&[b, a, c]), [Invalid; 3]);
        assert_eq!(check(&[a, b, f, a, e, c]), [Invalid; 6]);
        assert_eq!(check(&[a, b, c, d]), [Ok, Ok, Ok, Invalid]);
        let mut forged = [a, b, c];
        forged[1].signature[5] ^= 1;
        assert_eq!(check(&forged), [Failed, BadSignature, Failed]);
        // Whoever takes the flags off breaks the signature.
        let alone = SignedOperation { operation: Operation { flags: 0, ..c.operation }, ..c };
        assert_eq!(check(&[alone]), [BadSignature]);
    }

    #[test]
    fn each_party_of_a_hold_signs_its_part() {
        let [payer, receiver] = [PAYER, OTHER].map(|seed| signer(seed).account());
        let hold = |amount| Operation::hold(1_u32.into(), payer, receiver, amount, 0);
        let (capture, release) = (Operation::capture(&hold(100), 1), Operation::release(&hold(100)));
        for (seed, operation, expected) in [
            (PAYER, hold(100), [Status::Ok; 2]),
            (PAYER, hold(99), [Status::Ok, Status::DepositRequired]),
            (OTHER, hold(100), [Status::NotAuthorised; 2]),
            (ISSUER, hold(100), [Status::NotAuthorised; 2]),
            (OTHER, capture, [Status::Ok; 2]),
            (PAYER, capture, [Status::NotAuthorised; 2]),
            (OTHER, release, [Status::Ok; 2]),
            (PAYER, release, [Status::NotAuthorised; 2]),
            (PAYER, Operation::reclaim(&hold(100)), [Status::Ok; 2]),
            (OTHER, Operation::reclaim(&hold(100)), [Status::NotAuthorised; 2]),
        ] {
            assert_eq!(check(seed, operation), expected, "{operation:?}");
        }
    }

    #[test]
    fn somebody_answers_for_a_new_account() {
        let [account, payer, issuer] = [OWN, PAYER, ISSUER].map(|seed| signer(seed).account());
        let (id, open) = (1_u32.into(), 5_u32.into());
        let plain = Operation::create(id, account);
        let paid = |deposit| Operation::create_for(id, account, payer, deposit);
        for (seed, operation, expected) in [
            (OWN, plain, [Status::Ok, Status::DepositRequired]),
            (ISSUER, plain, [Status::Ok; 2]),
            (ISSUER, Operation::create(id, issuer), [Status::Ok; 2]),
            (OTHER, plain, [Status::NotAuthorised; 2]),
            (PAYER, paid(100), [Status::Ok; 2]),
            (PAYER, paid(u64::MAX), [Status::Ok; 2]),
            (PAYER, paid(99), [Status::DepositRequired; 2]),
            // Not even the new account's own key, or an issuer's, lets another pay.
            (OWN, paid(100), [Status::NotAuthorised; 2]),
            (ISSUER, paid(100), [Status::NotAuthorised; 2]),
            (PAYER, Operation::create_for(id, open, payer, 100), [Status::NotAuthorised; 2]),
            (ISSUER, Operation::create(id, open), [Status::NotAuthorised; 2]),
            // An issuer sponsors the accounts of its asset.
            (ISSUER_OF_ASSET, Operation::open(id, account, 7), [Status::Ok; 2]),
            (ISSUER_OF_ASSET, Operation::open(id, account, 8), [Status::NotAuthorised; 2]),
            (ISSUER_OF_ASSET, plain, [Status::NotAuthorised; 2]),
            (ISSUER, Operation::open(id, account, 7), [Status::NotAuthorised; 2]),
            (OWN, Operation::open(id, account, 7), [Status::Ok, Status::DepositRequired]),
            (PAYER, Operation::create_for(id, account, payer, 100).in_asset(7), [Status::Ok; 2]),
            (PAYER, Operation::create_for(id, account, payer, 99).in_asset(7), [Status::DepositRequired; 2]),
        ] {
            assert_eq!(check(seed, operation), expected, "{operation:?}");
        }
    }
}
