//! The life of accounts: FREEZE, UNFREEZE and CLOSE.

use wire::{AccountId, Command, CompactEntry, CompactFrame, Operation, Promise, Status};

use super::{cases, full::sign, queries::index_entry};
use crate::session::Session;
use crate::{Stop, ensure, ensure_eq};

cases! {
    "lifecycle: a frozen account receives, and cannot pay" => freeze,
    "lifecycle: compact frames of a frozen account" => frozen_compact,
    "lifecycle: only an issuer freezes a keyed account" => issuers_freeze,
    "lifecycle: CLOSE of an empty account" => close,
    "lifecycle: only its key closes a keyed account" => owners_close,
    "lifecycle: MALFORMED fields" => malformed,
    "lifecycle: compact frames have none of these commands" => compact,
    "lifecycle: CLOSE is linked, FREEZE is not" => linked,
    "lifecycle: holds outlive the accounts of their parties" => holds,
    "lifecycle: frozen and closed accounts in the index" => index,
}

type Make = fn(wire::TransactionId, AccountId) -> Operation;

/// Executes one of these commands on an account.
fn execute(session: &mut Session, make: Make, account: AccountId) -> Result<(Status, u64), Stop> {
    let operation = make(session.fresh_transaction(), account);
    match session.operation(operation)? {
        (Status::FreezingDisabled, _) => Err(Stop::Skipped("the node does not let accounts be frozen")),
        result => Ok(result),
    }
}

fn transfer(
    session: &mut Session,
    source: AccountId,
    destination: AccountId,
    amount: u64,
) -> Result<(Status, u64), Stop> {
    let transfer = Operation::transfer(session.fresh_transaction(), source, destination, amount);
    session.operation(transfer)
}

fn freeze(session: &mut Session) -> Result<(), Stop> {
    let (account, other) = (session.funded_account(50)?, session.funded_account(9)?);
    ensure_eq!(execute(session, Operation::unfreeze, account)?, (Status::AccountNotFrozen, 50), "UNFREEZE, too early");
    ensure_eq!(execute(session, Operation::freeze, account)?, (Status::Ok, 50), "FREEZE");
    ensure_eq!(execute(session, Operation::freeze, account)?, (Status::AccountFrozen, 50), "FREEZE again");
    ensure_eq!(transfer(session, account, other, 1)?, (Status::AccountFrozen, 50), "TRANSFER from it");
    ensure_eq!(transfer(session, account, other, 51)?, (Status::AccountFrozen, 50), "TRANSFER of more than it has");
    let hold = Operation::hold(session.fresh_transaction(), account, other, 1, 0);
    ensure_eq!(session.operation(hold)?, (Status::AccountFrozen, 50), "HOLD");
    ensure_eq!(transfer(session, other, account, 4)?, (Status::Ok, 5), "TRANSFER to it");
    let issue = Operation::issue(session.fresh_transaction(), account, 6);
    ensure_eq!(session.operation(issue)?, (Status::Ok, 60), "ISSUE to it");
    ensure_eq!(execute(session, Operation::refer, account)?, (Status::Ok, 60), "REFER");
    let create = Operation::create(session.fresh_transaction(), account);
    ensure_eq!(session.operation(create)?, (Status::AccountExists, 60), "CREATE");
    ensure_eq!(execute(session, Operation::unfreeze, account)?, (Status::Ok, 60), "UNFREEZE");
    ensure_eq!(transfer(session, account, other, 60)?, (Status::Ok, 0), "TRANSFER of all of it");
    let nobody = session.fresh_account();
    ensure_eq!(execute(session, Operation::freeze, nobody)?, (Status::SourceUnknown, 0), "FREEZE of nobody");
    Ok(())
}

/// Any tier may execute compact frames.
fn frozen_compact(session: &mut Session) -> Result<(), Stop> {
    let (account, other) = (session.funded(50)?, session.funded(9)?);
    ensure_eq!(execute(session, Operation::freeze, account.into())?, (Status::Ok, 50), "FREEZE");
    for _ in 0..2 {
        let refused = session.command(Command::Transfer, account, other, 1)?;
        ensure_eq!(refused, (Status::AccountFrozen, 50), "TRANSFER from it");
        ensure_eq!(session.command(Command::Refer, account, 0, 0)?, (Status::Ok, 50), "REFER");
    }
    ensure_eq!(session.command(Command::Transfer, other, account, 2)?, (Status::Ok, 7), "TRANSFER to it");
    ensure_eq!(session.command(Command::Refer, account, 0, 0)?, (Status::Ok, 52), "REFER after it");
    ensure_eq!(execute(session, Operation::unfreeze, account.into())?, (Status::Ok, 52), "UNFREEZE");
    ensure_eq!(session.command(Command::Transfer, account, other, 50)?, (Status::Ok, 2), "TRANSFER");
    ensure_eq!(session.command(Command::Transfer, account, other, 2)?, (Status::Ok, 0), "TRANSFER of the rest");
    ensure_eq!(execute(session, Operation::close, account.into())?, (Status::Ok, 0), "CLOSE");
    ensure_eq!(session.command(Command::Refer, account, 0, 0)?, (Status::SourceUnknown, 0), "REFER to nobody");
    ensure_eq!(session.command(Command::Create, account, 0, 0)?, (Status::Ok, 0), "CREATE");
    Ok(())
}

fn issuers_freeze(session: &mut Session) -> Result<(), Stop> {
    let mut issuer = session.issuer()?;
    let mut owner = super::full::created(session)?;
    let (account, other) = (owner.account(), session.funded_account(40)?);
    ensure_eq!(transfer(session, other, account, 30)?, (Status::Ok, 10), "TRANSFER");
    for make in [Operation::freeze as Make, Operation::unfreeze] {
        let unsigned = make(session.fresh_transaction(), account);
        ensure_eq!(session.operation(unsigned)?.0, Status::NotAuthorised, "without a signature");
        let by_owner = make(session.fresh_transaction(), account);
        ensure_eq!(session.full(sign(&mut owner, by_owner)?)?.0, Status::NotIssuer, "by the account's own key");
    }
    let freeze = Operation::freeze(session.fresh_transaction(), account);
    let (status, balance, _) = session.full(sign(&mut issuer, freeze)?)?;
    if status == Status::FreezingDisabled {
        return Err(Stop::Skipped("the node does not let accounts be frozen"));
    }
    ensure_eq!((status, balance), (Status::Ok, 30), "FREEZE by an issuer");
    for operation in [
        Operation::transfer(session.fresh_transaction(), account, other, 1),
        Operation::hold(session.fresh_transaction(), account, other, 1, 0),
        Operation::close(session.fresh_transaction(), account),
    ] {
        let (status, balance, _) = session.full(sign(&mut owner, operation)?)?;
        ensure_eq!((status, balance), (Status::AccountFrozen, 30), "{operation:?}");
    }
    let unfreeze = Operation::unfreeze(session.fresh_transaction(), account);
    ensure_eq!(session.full(sign(&mut issuer, unfreeze)?)?.0, Status::Ok, "UNFREEZE by an issuer");
    let pay = Operation::transfer(session.fresh_transaction(), account, other, 30);
    let (status, balance, _) = session.full(sign(&mut owner, pay)?)?;
    ensure_eq!((status, balance), (Status::Ok, 0), "TRANSFER");
    Ok(())
}

fn close(session: &mut Session) -> Result<(), Stop> {
    let (account, other) = (session.funded_account(3)?, session.funded_account(1)?);
    let early = Operation::close(session.fresh_transaction(), account);
    ensure_eq!(session.operation(early)?, (Status::AccountNotEmpty, 3), "CLOSE with a balance");
    ensure_eq!(transfer(session, account, other, 3)?, (Status::Ok, 0), "TRANSFER of all of it");
    ensure_eq!(session.operation(early)?, (Status::AccountNotEmpty, 3), "the first CLOSE again");
    let close = Operation::close(session.fresh_transaction(), account);
    ensure_eq!(session.operation(close)?, (Status::Ok, 0), "CLOSE");
    ensure_eq!(session.operation(close)?, (Status::Ok, 0), "CLOSE again");
    ensure_eq!(execute(session, Operation::close, account)?, (Status::SourceUnknown, 0), "CLOSE of nobody");
    ensure_eq!(execute(session, Operation::refer, account)?, (Status::SourceUnknown, 0), "REFER to nobody");
    ensure_eq!(transfer(session, other, account, 1)?, (Status::DestinationUnknown, 4), "TRANSFER to nobody");
    ensure_eq!(execute(session, Operation::create, account)?, (Status::Ok, 0), "CREATE");
    ensure_eq!(session.operation(close)?, (Status::Ok, 0), "the executed CLOSE again");
    ensure_eq!(transfer(session, other, account, 1)?, (Status::Ok, 3), "TRANSFER to the new account");
    Ok(())
}

fn owners_close(session: &mut Session) -> Result<(), Stop> {
    let mut signers = [super::full::created(session)?, super::full::created(session)?];
    let account = signers[0].account();
    let close = |session: &mut Session| Operation::close(session.fresh_transaction(), account);
    let unsigned = close(session);
    ensure_eq!(session.operation(unsigned)?.0, Status::NotAuthorised, "without a signature");
    for (signer, expected) in [(1, Status::NotAuthorised), (0, Status::Ok), (0, Status::SourceUnknown)] {
        let operation = close(session);
        let (status, ..) = session.full(sign(&mut signers[signer], operation)?)?;
        ensure_eq!(status, expected, "CLOSE by signer {signer}");
    }
    let create = Operation::create(session.fresh_transaction(), account);
    ensure_eq!(session.full(sign(&mut signers[0], create)?)?.0, Status::Ok, "CREATE");
    Ok(())
}

fn malformed(session: &mut Session) -> Result<(), Stop> {
    let (account, other) = (session.funded_account(0)?, session.funded_account(0)?);
    for make in [Operation::freeze as Make, Operation::unfreeze, Operation::close] {
        let good = make(session.fresh_transaction(), account);
        for bad in [Operation { destination: other, ..good }, Operation { amount: 1.into(), ..good }] {
            ensure_eq!(session.operation(bad)?.0, Status::Malformed, "{bad:?}");
        }
    }
    Ok(())
}

fn compact(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded(0)?;
    for command in [Command::Freeze, Command::Unfreeze, Command::Close] {
        let frame = CompactFrame::new(command, session.fresh(), account, 0, 0);
        ensure_eq!(session.compact(&frame)?.0, Status::UnknownCommand, "{command} in a compact frame");
        ensure_eq!(CompactEntry::from(frame).check(), Status::UnknownCommand, "{command} in a compact entry");
    }
    Ok(())
}

fn linked(session: &mut Session) -> Result<(), Stop> {
    let (account, other) = (session.funded_account(8)?, session.funded_account(0)?);
    let sweep = |session: &mut Session, amount| {
        let id = session.fresh_transaction();
        Operation::transfer(id, account, other, amount).linked()
    };
    let chain = [sweep(session, 7), Operation::close(session.fresh_transaction(), account)];
    let (results, _) = session.operations(&chain, Promise::Default)?;
    let expected = [(Status::LinkedFailed, 8), (Status::AccountNotEmpty, 8)];
    ensure_eq!(results, expected, "CLOSE with a rest");
    let again = Operation::create(session.fresh_transaction(), account);
    let chain = [sweep(session, 8), Operation::close(session.fresh_transaction(), account).linked(), again.linked()];
    let back = Operation::transfer(session.fresh_transaction(), other, account, 2);
    let (results, _) = session.operations(&[&chain[..], &[back]].concat(), Promise::Default)?;
    let expected = [(Status::Ok, 0), (Status::Ok, 0), (Status::Ok, 0), (Status::Ok, 6)];
    ensure_eq!(results, expected, "closed and opened again in a chain");
    let chain = [sweep(session, 2), Operation::close(session.fresh_transaction(), account)];
    let (results, _) = session.operations(&chain, Promise::Default)?;
    ensure_eq!(results, [(Status::Ok, 0), (Status::Ok, 0)], "CLOSE of an account that the chain empties");
    ensure_eq!(execute(session, Operation::refer, account)?, (Status::SourceUnknown, 0), "REFER to nobody");
    for make in [Operation::freeze as Make, Operation::unfreeze] {
        let chain = [sweep(session, 1), make(session.fresh_transaction(), other)];
        let (results, _) = session.operations(&chain, Promise::Default)?;
        ensure_eq!(results, [(Status::LinkedInvalid, 0), (Status::LinkedInvalid, 8)], "FREEZE or UNFREEZE in a chain");
    }
    Ok(())
}

fn holds(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = (session.funded_account(30)?, session.funded_account(0)?);
    let [captured, partly, reclaimed] =
        [10; 3].map(|amount| Operation::hold(session.fresh_transaction(), payer, receiver, amount, 0));
    for (hold, left) in [(captured, 20), (partly, 10), (reclaimed, 0)] {
        ensure_eq!(session.operation(hold)?, (Status::Ok, left), "HOLD");
    }
    ensure_eq!(execute(session, Operation::close, payer)?, (Status::Ok, 0), "CLOSE of the payer");
    ensure_eq!(session.operation(Operation::capture(&captured, 10))?, (Status::Ok, 0), "CAPTURE of all");
    ensure_eq!(execute(session, Operation::refer, payer)?.0, Status::SourceUnknown, "the payer gets nothing back");
    ensure_eq!(session.operation(Operation::capture(&partly, 4))?, (Status::Ok, 6), "CAPTURE of a part");
    ensure_eq!(execute(session, Operation::refer, payer)?, (Status::Ok, 6), "the rest opens the payer's account");
    ensure_eq!(session.operation(Operation::reclaim(&reclaimed))?.0, Status::HoldNotExpired, "RECLAIM");
    ensure_eq!(transfer(session, receiver, payer, 14)?, (Status::Ok, 0), "TRANSFER");
    ensure_eq!(execute(session, Operation::close, receiver)?, (Status::Ok, 0), "CLOSE of the receiver");
    ensure_eq!(
        session.operation(Operation::capture(&reclaimed, 1))?.0,
        Status::DestinationUnknown,
        "CAPTURE by nobody"
    );
    ensure_eq!(session.operation(Operation::reclaim(&reclaimed))?, (Status::Ok, 30), "RECLAIM without a receiver");
    Ok(())
}

fn index(session: &mut Session) -> Result<(), Stop> {
    let (account, other) = (session.funded_account(5)?, session.funded_account(1)?);
    ensure_eq!(execute(session, Operation::freeze, account)?, (Status::Ok, 5), "FREEZE");
    let frozen = |session: &mut Session| Ok(index_entry(session, account)?.filter(spv::IndexEntry::is_frozen));
    let entry = session.wait_for("the frozen account in the index", frozen)?;
    ensure!(!entry.is_hold() && entry.balance.get() == 5, "another entry: {entry:?}");
    ensure_eq!(transfer(session, other, account, 1)?, (Status::Ok, 0), "TRANSFER to it");
    let entry = session.wait_for("the payment in the index", |session| {
        Ok(index_entry(session, account)?.filter(|entry| entry.balance.get() == 6))
    })?;
    ensure!(entry.is_frozen(), "a payment ended the freeze: {entry:?}");
    ensure_eq!(execute(session, Operation::unfreeze, account)?, (Status::Ok, 6), "UNFREEZE");
    ensure_eq!(transfer(session, account, other, 6)?, (Status::Ok, 0), "TRANSFER of all of it");
    ensure_eq!(execute(session, Operation::close, account)?, (Status::Ok, 0), "CLOSE");
    session.wait_for("the closed account", |session| Ok(index_entry(session, account)?.is_none().then_some(())))?;
    Ok(())
}
