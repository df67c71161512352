//! Full transfer frames and batches of signed operations.

use client::Signer;
use wire::{AccountId, BatchEntries, BatchFormat, FullFrame, Operation, Promise, Reply, SignedOperation, Status, U16};
use zerocopy::IntoBytes;

use super::cases;
use crate::link::{Link, excerpt};
use crate::session::{Session, batch, full_result, now};
use crate::{Stop, ensure, ensure_eq};

cases! {
    "full: CREATE, TRANSFER and REFER by the account's key" => commands,
    "full: signed operations of strangers" => stranger,
    "full: CREATE of a stranger's own account takes someone who answers for it" => deposit_required,
    "full: CREATE for a deposit" => deposit,
    "full: CREATE for a deposit, refused" => deposit_refused,
    "full: CREATE by an issuer" => sponsored,
    "full: a retry gets the first result" => retry,
    "full: BAD_SIGNATURE" => bad_signature,
    "full: BAD_SIGNATURE for a high s" => high_s,
    "full: BAD_SIGNATURE for another network" => other_network,
    "full: BAD_SIGNATURE for what is no key" => no_key,
    "full: NOT_AUTHORISED for another key's account and for open accounts" => not_authorised,
    "full: NOT_ISSUER" => not_issuer,
    "full: ISSUE by an issuer" => issuer,
    "full: STALE_TIMESTAMP" => stale,
    "full: MALFORMED fields" => malformed,
    "full: MALFORMED length" => malformed_length,
    "full: refused operations keep their statuses" => refused,
    "full: batches of signed operations" => batches,
    "full: signed linked operations" => linked_chain,
}

/// A signer whose account exists.
pub(super) fn created(session: &mut Session) -> Result<Signer, Stop> {
    let mut signer = session.signer()?;
    let create = Operation::create(session.fresh_transaction(), signer.account());
    let (status, value, _) = session.full(sign(&mut signer, create)?)?;
    ensure_eq!((status, value), (Status::Ok, 0), "signed CREATE");
    Ok(signer)
}

/// Gives a keyed account money, which an open one transfers to it.
fn fund(session: &mut Session, account: AccountId, amount: u64) -> Result<(), Stop> {
    let giver = session.funded_account(amount)?;
    let transfer = Operation::transfer(session.fresh_transaction(), giver, account, amount);
    ensure_eq!(session.operation(transfer)?, (Status::Ok, 0), "TRANSFER to a keyed account");
    Ok(())
}

pub(super) fn sign(signer: &mut Signer, operation: Operation) -> Result<SignedOperation, Stop> {
    signer.sign(operation, Promise::Default).map_err(|error| Stop::Failed(error.to_string()))
}

fn commands(session: &mut Session) -> Result<(), Stop> {
    let mut signer = created(session)?;
    let account = signer.account();
    fund(session, account, 50)?;
    let receiver = session.funded_account(0)?;
    let transfer = Operation::transfer(session.fresh_transaction(), account, receiver, 20);
    for promise in [Promise::Accepted, Promise::Durable] {
        let signed = signer.sign(transfer, promise).map_err(|error| Stop::Failed(error.to_string()))?;
        let (status, value, given) = session.full(signed)?;
        ensure_eq!((status, value), (Status::Ok, 30), "signed TRANSFER at {promise}");
        ensure!(given >= promise, "{promise} was asked for, and {given} given");
    }
    let refer = Operation::refer(session.fresh_transaction(), account);
    let (status, value, _) = session.full(sign(&mut signer, refer)?)?;
    ensure_eq!((status, value), (Status::Ok, 30), "signed REFER");
    Ok(())
}

fn stranger(session: &mut Session) -> Result<(), Stop> {
    let mut stranger = session.stranger()?;
    let mut signer = created(session)?;
    fund(session, signer.account(), 5)?;
    let receiver = session.funded_account(0)?;
    let transfer = Operation::transfer(session.fresh_transaction(), signer.account(), receiver, 2);
    let signed = sign(&mut signer, transfer)?;
    ensure_eq!(full_from(session, &mut stranger, signed)?, (Status::Ok, 3), "signed TRANSFER of a stranger");
    Ok(())
}

/// What a full transfer frame comes to that is sent by another link.
fn full_from(session: &mut Session, link: &mut Link, signed: SignedOperation) -> Result<(Status, u64), Stop> {
    let frame = FullFrame::new(session.fresh(), signed);
    let (status, value, _) = full_result(&frame, &link.ask(frame.as_bytes())?)?;
    Ok((status, value))
}

fn deposit_required(session: &mut Session) -> Result<(), Stop> {
    let mut stranger = session.stranger()?;
    let mut signer = session.signer()?;
    let create = Operation::create(session.fresh_transaction(), signer.account());
    let signed = sign(&mut signer, create)?;
    for attempt in ["first", "second"] {
        let result = full_from(session, &mut stranger, signed)?;
        let told = (Status::DepositRequired, session.target.deposit);
        ensure_eq!(result, told, "{attempt} signed CREATE of a stranger");
    }
    let refer = Operation::refer(session.fresh_transaction(), signer.account());
    ensure_eq!(session.full(sign(&mut signer, refer)?)?.0, Status::SourceUnknown, "the account");
    // It left no trace.
    let (status, value, _) = session.full(signed)?;
    ensure_eq!((status, value), (Status::Ok, 0), "the same frame from a trusted address");
    Ok(())
}

/// An account of `money` that can pay deposits.
fn payer(session: &mut Session, money: u64) -> Result<Signer, Stop> {
    let payer = created(session)?;
    fund(session, payer.account(), money)?;
    Ok(payer)
}

fn deposit(session: &mut Session) -> Result<(), Stop> {
    let deposit = session.target.deposit;
    let mut payer = payer(session, 2 * deposit + 9)?;
    let balance = |session: &mut Session, signer: &mut Signer| {
        let refer = Operation::refer(session.fresh_transaction(), signer.account());
        session.full(sign(signer, refer)?)
    };
    let mut left = 2 * deposit + 9;
    // Exactly what is asked for, and more; whoever sends it.
    for more in [0, 3] {
        let mut new = session.signer()?;
        let amount = deposit + more;
        let create = Operation::create_for(session.fresh_transaction(), new.account(), payer.account(), amount);
        let signed = sign(&mut payer, create)?;
        let result = match session.stranger() {
            Ok(mut stranger) => full_from(session, &mut stranger, signed)?,
            Err(_) => session.full(signed).map(|(status, value, _)| (status, value))?,
        };
        ensure_eq!(result, (Status::Ok, 0), "CREATE for a deposit of {amount}");
        left -= amount;
        let (status, value, _) = balance(session, &mut payer)?;
        ensure_eq!((status, value), (Status::Ok, left), "the payer's balance");
        let (status, value, _) = balance(session, &mut new)?;
        ensure_eq!((status, value), (Status::Ok, 0), "the new account's balance");
        let again = sign(&mut payer, create)?;
        ensure_eq!(session.full(again)?.0, Status::Ok, "a retry");
        ensure_eq!(balance(session, &mut payer)?.1, left, "the payer's balance after the retry");
    }
    Ok(())
}

fn deposit_refused(session: &mut Session) -> Result<(), Stop> {
    let deposit = session.target.deposit;
    let (payer, thief, nobody) = (payer(session, deposit)?, created(session)?, session.signer()?);
    let (new, open) = (session.signer()?.account(), session.fresh_account());
    let [from, thief_account, nobody_account] = [&payer, &thief, &nobody].map(Signer::account);
    let cases = [
        (0, new, from, deposit - 1, Status::DepositRequired),
        (0, new, from, 0, Status::ZeroAmount),
        (0, new, AccountId::ZERO, deposit, Status::Malformed),
        (0, from, from, deposit, Status::SelfTransfer),
        (0, open, from, deposit, Status::NotAuthorised),
        (0, new, open, deposit, Status::NotAuthorised),
        (1, new, from, deposit, Status::NotAuthorised),
        (1, new, thief_account, deposit, Status::InsufficientBalance),
        (2, new, nobody_account, deposit, Status::DestinationUnknown),
        (0, new, from, deposit + 1, Status::InsufficientBalance),
        (0, thief_account, from, deposit, Status::AccountExists),
    ];
    let mut signers = [payer, thief, nobody];
    for (signer, account, of, amount, status) in cases {
        // A deposit of 1 less is one of nothing where the least is 1.
        let status = if amount == 0 && status == Status::DepositRequired { Status::ZeroAmount } else { status };
        let create = Operation::create_for(session.fresh_transaction(), account, of, amount);
        ensure_eq!(session.full(sign(&mut signers[signer], create)?)?.0, status, "{create:?}");
    }
    let unsigned = Operation::create_for(session.fresh_transaction(), open, from, deposit);
    ensure_eq!(session.operation(unsigned)?.0, Status::Malformed, "CREATE for a deposit without a signature");
    // Whoever pays, or cannot, uses ids of his own: those of the account that he names are still its.
    let id = session.fresh_transaction();
    for (signer, of, status) in [(0, from, Status::AccountExists), (2, nobody_account, Status::DestinationUnknown)] {
        let create = Operation::create_for(id, thief_account, of, deposit);
        ensure_eq!(session.full(sign(&mut signers[signer], create)?)?.0, status, "{create:?}");
    }
    let own = Operation::create(id, thief_account);
    ensure_eq!(session.full(sign(&mut signers[1], own)?)?.0, Status::AccountExists, "an id of the account's own");
    let refer = Operation::refer(session.fresh_transaction(), from);
    ensure_eq!(session.full(sign(&mut signers[0], refer)?)?.1, deposit, "the payer's balance");
    Ok(())
}

fn sponsored(session: &mut Session) -> Result<(), Stop> {
    let mut issuer = session.issuer()?;
    let account = session.signer()?.account();
    let create = Operation::create(session.fresh_transaction(), account);
    let signed = sign(&mut issuer, create)?;
    let result = match session.stranger() {
        Ok(mut stranger) => full_from(session, &mut stranger, signed)?,
        Err(_) => session.full(signed).map(|(status, value, _)| (status, value))?,
    };
    ensure_eq!(result, (Status::Ok, 0), "CREATE by an issuer");
    let again = Operation::create(session.fresh_transaction(), account);
    let (status, value, _) = session.full(sign(&mut issuer, again)?)?;
    ensure_eq!((status, value), (Status::AccountExists, 0), "CREATE of the same account");
    let open = Operation::create(session.fresh_transaction(), session.fresh_account());
    ensure_eq!(session.full(sign(&mut issuer, open)?)?.0, Status::NotAuthorised, "CREATE of an open account");
    Ok(())
}

fn retry(session: &mut Session) -> Result<(), Stop> {
    let mut signer = created(session)?;
    let account = signer.account();
    fund(session, account, 10)?;
    let receiver = session.funded_account(0)?;
    let signed = sign(&mut signer, Operation::transfer(session.fresh_transaction(), account, receiver, 4))?;
    let first = session.full(signed)?;
    ensure_eq!((first.0, first.1), (Status::Ok, 6), "signed TRANSFER");
    let another = sign(&mut signer, Operation::transfer(session.fresh_transaction(), account, receiver, 1))?;
    ensure_eq!(session.full(another)?.0, Status::Ok, "another");
    ensure_eq!(session.full(signed)?, first, "the same frame again");
    let again = sign(&mut signer, signed.operation)?;
    ensure_eq!(session.full(again)?.1, 6, "the same operation signed again");
    let refer = Operation::refer(session.fresh_transaction(), receiver);
    ensure_eq!(session.operation(refer)?, (Status::Ok, 5), "the receiver's balance");
    Ok(())
}

fn bad_signature(session: &mut Session) -> Result<(), Stop> {
    let mut signer = created(session)?;
    let account = signer.account();
    fund(session, account, 10)?;
    let receiver = session.funded_account(0)?;
    let operation = Operation::transfer(session.fresh_transaction(), account, receiver, 4);
    let right = sign(&mut signer, operation)?;
    let mut changed = right;
    changed.operation.amount = 5.into();
    let mut forged = [right; 4];
    forged[0] = changed;
    forged[1].signature[10] ^= 1;
    forged[2].signature = [0; 64];
    forged[3].signature = [0xff; 64];
    for (index, signed) in forged.into_iter().enumerate() {
        ensure_eq!(session.full(signed)?.0, Status::BadSignature, "forgery {index}");
    }
    let mut later = right;
    later.nonce = (right.nonce.get() + 1).into();
    ensure_eq!(session.full(later)?.0, Status::BadSignature, "another nonce");
    let (status, value, _) = session.full(right)?;
    ensure_eq!((status, value), (Status::Ok, 6), "the right one");
    Ok(())
}

/// s and n - s make the same signature; only the lower one is taken, or a third party could change it.
fn high_s(session: &mut Session) -> Result<(), Stop> {
    const ORDER: [u8; 32] = secp256k1::constants::CURVE_ORDER;
    let mut signer = session.signer()?;
    let create = Operation::create(session.fresh_transaction(), signer.account());
    let mut signed = sign(&mut signer, create)?;
    let mut borrow = false;
    for index in (0..32).rev() {
        let (difference, below) = ORDER[index].overflowing_sub(signed.signature[32 + index]);
        let (difference, again) = difference.overflowing_sub(u8::from(borrow));
        signed.signature[32 + index] = difference;
        borrow = below || again;
    }
    ensure_eq!(session.full(signed)?.0, Status::BadSignature, "a high s");
    Ok(())
}

fn other_network(session: &mut Session) -> Result<(), Stop> {
    let mut network = session.info()?.network;
    network[0] ^= 1;
    let mut secret = [0; 32];
    getrandom::fill(&mut secret[1..]).map_err(crate::LinkError::from)?;
    let secret = secp256k1::SecretKey::from_byte_array(secret).map_err(|error| Stop::Failed(error.to_string()))?;
    let mut signer = Signer::new(secret, network);
    let create = Operation::create(session.fresh_transaction(), signer.account());
    let signed = sign(&mut signer, create)?;
    ensure_eq!(session.full(signed)?.0, Status::BadSignature, "a signature for another network");
    Ok(())
}

fn no_key(session: &mut Session) -> Result<(), Stop> {
    for first in [0, 2, 4] {
        let mut key = [0xff; 33];
        key[0] = first;
        // The account is the one that these bytes would bind, so that nothing but the key is wrong.
        let account = AccountId::keyed(&spv::hash::account_hash(&key));
        let create = Operation::create(session.fresh_transaction(), account);
        let signed = SignedOperation::unsigned(create, now(), 1, Promise::Default, key);
        ensure_eq!(session.full(signed)?.0, Status::BadSignature, "a key that begins with {first}");
    }
    Ok(())
}

fn not_authorised(session: &mut Session) -> Result<(), Stop> {
    let (mut thief, victim) = (created(session)?, created(session)?);
    fund(session, victim.account(), 10)?;
    let open = session.funded_account(10)?;
    for source in [victim.account(), open] {
        let transfer = Operation::transfer(session.fresh_transaction(), source, thief.account(), 10);
        let signed = sign(&mut thief, transfer)?;
        ensure_eq!(session.full(signed)?.0, Status::NotAuthorised, "TRANSFER from an account of another key");
    }
    let refer = Operation::refer(session.fresh_transaction(), thief.account());
    let (status, value, _) = session.full(sign(&mut thief, refer)?)?;
    ensure_eq!((status, value), (Status::Ok, 0), "the thief's balance");
    Ok(())
}

fn not_issuer(session: &mut Session) -> Result<(), Stop> {
    let mut signer = created(session)?;
    let issue = Operation::issue(session.fresh_transaction(), signer.account(), 1_000_000);
    let signed = sign(&mut signer, issue)?;
    let (status, value, _) = session.full(signed)?;
    ensure_eq!((status, value), (Status::NotIssuer, 0), "ISSUE by anyone");
    Ok(())
}

fn issuer(session: &mut Session) -> Result<(), Stop> {
    let mut issuer = session.issuer()?;
    let account = created(session)?.account();
    let issue = Operation::issue(session.fresh_transaction(), account, 77);
    let (status, value, _) = session.full(sign(&mut issuer, issue)?)?;
    ensure_eq!((status, value), (Status::Ok, 77), "ISSUE by an issuer");
    Ok(())
}

fn stale(session: &mut Session) -> Result<(), Stop> {
    let signer = session.signer()?;
    let create = Operation::create(session.fresh_transaction(), signer.account());
    const DAY: u64 = 86_400_000_000;
    // More than any replay window that can be configured.
    for timestamp in [0, 1, now() - 2 * DAY, now() + 2 * DAY, u64::MAX] {
        let signed = signer.sign_at(create, timestamp, 1, Promise::Default);
        ensure_eq!(session.full(signed)?.0, Status::StaleTimestamp, "timestamp {timestamp}");
    }
    let signed = signer.sign_at(create, now(), 1, Promise::Default);
    ensure_eq!(session.full(signed)?.0, Status::Ok, "a timestamp of now");
    Ok(())
}

fn malformed(session: &mut Session) -> Result<(), Stop> {
    let mut signer = session.signer()?;
    let create = Operation::create(session.fresh_transaction(), signer.account());
    let right = sign(&mut signer, create)?;
    let mut wrong = [right; 4];
    wrong[0].reserved[2] = 1;
    wrong[1].reserved_key[6] = 1;
    wrong[2].promise = 4;
    wrong[3].operation.status = U16::new(9);
    for (index, signed) in wrong.into_iter().enumerate() {
        let frame = FullFrame::new(session.fresh(), signed);
        let reply = session.link.ask(frame.as_bytes())?;
        let Ok(Reply::Full(reply)) = Reply::parse(&reply) else {
            return Err(Stop::Failed(format!("frame {index} was answered with {}", excerpt(&reply))));
        };
        ensure_eq!(reply.operation.status(), Ok(Status::Malformed), "frame {index}");
    }
    Ok(())
}

fn malformed_length(session: &mut Session) -> Result<(), Stop> {
    let mut signer = session.signer()?;
    let create = Operation::create(session.fresh_transaction(), signer.account());
    let frame = FullFrame::new(session.fresh(), sign(&mut signer, create)?);
    session.expect_error(&frame.as_bytes()[..191], Status::Malformed)?;
    session.expect_error(&[frame.as_bytes(), &[0]].concat(), Status::Malformed)?;
    session.expect_error(&frame.as_bytes()[..16], Status::Malformed)?;
    Ok(())
}

fn refused(session: &mut Session) -> Result<(), Stop> {
    let mut signer = session.signer()?;
    let (account, other) = (signer.account(), session.fresh_account());
    let mut unknown = Operation::create(session.fresh_transaction(), account);
    unknown.command = 99;
    for (operation, status) in [
        (Operation::transfer(session.fresh_transaction(), account, other, 0), Status::ZeroAmount),
        (Operation::transfer(session.fresh_transaction(), account, account, 1), Status::SelfTransfer),
        (Operation::transfer(session.fresh_transaction(), account, other, 1), Status::SourceUnknown),
        (Operation::refer(session.fresh_transaction(), account), Status::SourceUnknown),
        (unknown, Status::UnknownCommand),
    ] {
        let signed = sign(&mut signer, operation)?;
        ensure_eq!(session.full(signed)?.0, status, "{operation:?}");
    }
    Ok(())
}

fn batches(session: &mut Session) -> Result<(), Stop> {
    let (mut one, mut two) = (session.signer()?, session.signer()?);
    let receiver = session.funded_account(0)?;
    let mut signed = Vec::new();
    for signer in [&mut one, &mut two] {
        let create = Operation::create(session.fresh_transaction(), signer.account());
        signed.push(sign(signer, create)?);
    }
    let transfer = Operation::transfer(session.fresh_transaction(), one.account(), receiver, 1);
    signed.push(sign(&mut one, transfer)?);
    signed.push(sign(&mut two, transfer)?);
    let again = Operation::create(session.fresh_transaction(), two.account());
    signed.push(sign(&mut two, again)?);
    signed.push(SignedOperation { signature: [1; 64], ..signed[4] });
    let request = batch(session.fresh(), BatchFormat::Signed, signed.as_bytes(), signed.len(), Promise::Durable);
    let reply = session.link.ask(&request)?;
    let Ok(Reply::Batch(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("answered with {}", excerpt(&reply))));
    };
    ensure!(answer.header.promise() >= Ok(Promise::Durable), "durable was asked for");
    let BatchEntries::Signed(entries) = answer.entries else {
        return Err(Stop::Failed("the reply has another format".to_owned()));
    };
    let statuses: Vec<_> = entries.iter().map(|entry| entry.operation.status()).collect();
    let expected = [
        Status::Ok,
        Status::Ok,
        Status::InsufficientBalance,
        Status::NotAuthorised,
        Status::AccountExists,
        Status::BadSignature,
    ];
    ensure_eq!(statuses, expected.map(Ok), "statuses");
    let secret = entries.iter().any(|entry| entry.signature != [0; 64] || entry.public_key != [0; 33]);
    ensure!(!secret, "signatures and keys are not zeroed in the reply");
    Ok(())
}

/// A chain of two signers is executed as they signed it, and in no other form.
fn linked_chain(session: &mut Session) -> Result<(), Stop> {
    let (mut one, mut other) = (created(session)?, created(session)?);
    let (a, b) = (one.account(), other.account());
    fund(session, a, 50)?;
    fund(session, b, 50)?;
    let mut swap = |session: &mut Session, amount: u64| {
        let id = session.fresh_transaction();
        let mut chain = [
            sign(&mut one, Operation::transfer(id, a, b, 20))?,
            sign(&mut other, Operation::transfer(id, b, a, amount))?,
        ];
        client::bind(&mut chain);
        chain.iter_mut().for_each(|signed| {
            one.sign_bound(signed);
            other.sign_bound(signed);
        });
        Ok::<_, Stop>(chain)
    };
    let (good, bad) = (swap(session, 30)?, swap(session, 101)?);
    // Whoever sees the chain can neither send a part of it, nor put another operation in.
    ensure_eq!(session.full(good[1])?.0, Status::LinkedInvalid, "the last operation alone");
    let invalid = (Status::LinkedInvalid, 50);
    ensure_eq!(signed_results(session, &good[1..])?, [invalid], "a batch of the last operation");
    ensure_eq!(signed_results(session, &good[..1])?, [invalid], "a batch of the first operation");
    ensure_eq!(signed_results(session, &[good[0], bad[1]])?, [invalid; 2], "operations of two chains");
    let mut forged = good;
    forged[0].signature[9] ^= 1;
    let expected = [(Status::BadSignature, 50), (Status::LinkedFailed, 50)];
    ensure_eq!(signed_results(session, &forged)?, expected, "a chain with a bad signature");
    for attempt in ["first", "second"] {
        let expected = [(Status::LinkedFailed, 50), (Status::InsufficientBalance, 50)];
        ensure_eq!(signed_results(session, &bad)?, expected, "the failing chain, {attempt} time");
    }
    for attempt in ["first", "second"] {
        let expected = [(Status::Ok, 30), (Status::Ok, 40)];
        ensure_eq!(signed_results(session, &good)?, expected, "the chain, {attempt} time");
    }
    Ok(())
}

/// Sends a batch of signed operations. Returns status and value of each.
fn signed_results(session: &mut Session, signed: &[SignedOperation]) -> Result<Vec<(Status, u64)>, Stop> {
    let request = batch(session.fresh(), BatchFormat::Signed, signed.as_bytes(), signed.len(), Promise::Default);
    let reply = session.link.ask(&request)?;
    let failed = || Stop::Failed(format!("answered with {}", excerpt(&reply)));
    let Ok(Reply::Batch(answer)) = Reply::parse(&reply) else { return Err(failed()) };
    let BatchEntries::Signed(answers) = answer.entries else { return Err(failed()) };
    answers
        .iter()
        .map(|signed| Ok((signed.operation.status().map_err(|_| failed())?, signed.operation.value())))
        .collect()
}
