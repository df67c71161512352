//! Holds: HOLD, CAPTURE, RELEASE and RECLAIM.

use spv::hash::hold_id;
use wire::{AccountId, CompactEntry, CompactFrame, Operation, Promise, Status};

use super::{cases, full::sign, queries::index_entry};
use crate::session::{Session, now};
use crate::{Stop, ensure, ensure_eq};

cases! {
    "holds: CAPTURE of all and of a part" => capture,
    "holds: RELEASE by the receiver" => release,
    "holds: RECLAIM after the expiry" => reclaim,
    "holds: a held amount cannot be spent" => unspendable,
    "holds: what differs in a field is another hold" => other_holds,
    "holds: repeated operations get their first results" => retries,
    "holds: a failed end can be repeated" => repeated,
    "holds: MALFORMED fields" => malformed,
    "holds: compact frames have no holds" => compact,
    "holds: linked with other operations" => linked,
    "holds: the receiver's key captures, the payer's reclaims" => signed,
    "holds: open ones are in the index" => index,
}

/// Seconds until a hold expires that a case waits for: enough to make it, on a machine that does much else.
const LIFETIME: u32 = 5;

/// Seconds since the Unix epoch.
fn seconds() -> u32 {
    (now() / 1_000_000) as u32
}

/// A payer with this balance, and a receiver.
fn accounts(session: &mut Session, balance: u64) -> Result<(AccountId, AccountId), Stop> {
    Ok((session.funded_account(balance)?, session.funded_account(0)?))
}

fn balance(session: &mut Session, account: AccountId) -> Result<u64, Stop> {
    let refer = Operation::refer(session.fresh_transaction(), account);
    let (status, balance) = session.operation(refer)?;
    ensure_eq!(status, Status::Ok, "REFER");
    Ok(balance)
}

fn capture(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 100)?;
    for (expiry, amount, left) in [(0, 30, 70), (seconds() + 1000, 12, 58)] {
        let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 30, expiry);
        let before = left + amount - 30;
        ensure_eq!(session.operation(hold)?, (Status::Ok, before), "HOLD");
        ensure_eq!(balance(session, payer)?, before, "the payer's balance");
        ensure_eq!(session.operation(Operation::capture(&hold, amount))?, (Status::Ok, left), "CAPTURE");
    }
    ensure_eq!((balance(session, payer)?, balance(session, receiver)?), (58, 42), "the balances");
    Ok(())
}

fn release(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 10)?;
    let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 10, 0);
    ensure_eq!(session.operation(hold)?, (Status::Ok, 0), "HOLD");
    ensure_eq!(session.operation(Operation::reclaim(&hold))?, (Status::HoldNotExpired, 0), "RECLAIM");
    ensure_eq!(session.operation(Operation::release(&hold))?, (Status::Ok, 10), "RELEASE");
    ensure_eq!(balance(session, receiver)?, 0, "the receiver's balance");
    Ok(())
}

fn reclaim(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 10)?;
    let late = Operation::hold(session.fresh_transaction(), payer, receiver, 3, seconds() - 5);
    ensure_eq!(session.operation(late)?, (Status::HoldExpired, 10), "HOLD after its expiry");
    let expiry = seconds() + LIFETIME;
    let [reclaimed, released] =
        [4, 3].map(|amount| Operation::hold(session.fresh_transaction(), payer, receiver, amount, expiry));
    ensure_eq!(session.operation(reclaimed)?, (Status::Ok, 6), "HOLD");
    ensure_eq!(session.operation(released)?, (Status::Ok, 3), "HOLD");
    let result = session.wait_for("the expiry", |session| {
        Ok(match session.operation(Operation::reclaim(&reclaimed))? {
            (Status::HoldNotExpired, 3) => None,
            other => Some(other),
        })
    })?;
    ensure_eq!(result, (Status::Ok, 7), "RECLAIM");
    ensure_eq!(session.operation(Operation::capture(&released, 1))?, (Status::HoldExpired, 7), "CAPTURE, too late");
    ensure_eq!(session.operation(Operation::release(&released))?, (Status::Ok, 10), "RELEASE, at any time");
    ensure_eq!(balance(session, payer)?, 10, "the payer's balance");
    Ok(())
}

fn unspendable(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = (session.funded(50)?, session.funded(0)?);
    let hold = Operation::hold(session.fresh_transaction(), payer.into(), receiver.into(), 45, 0);
    ensure_eq!(session.operation(hold)?, (Status::Ok, 5), "HOLD");
    // By a compact frame, which any tier may execute.
    let transfer = session.command(wire::Command::Transfer, payer, receiver, 6)?;
    ensure_eq!(transfer, (Status::InsufficientBalance, 5), "TRANSFER of a held amount");
    let twice = Operation::hold(session.fresh_transaction(), payer.into(), receiver.into(), 6, 0);
    ensure_eq!(session.operation(twice)?, (Status::InsufficientBalance, 5), "HOLD of a held amount");
    ensure_eq!(session.operation(Operation::release(&hold))?, (Status::Ok, 50), "RELEASE");
    ensure_eq!(session.command(wire::Command::Transfer, payer, receiver, 6)?, (Status::Ok, 44), "TRANSFER");
    Ok(())
}

fn other_holds(session: &mut Session) -> Result<(), Stop> {
    let ((payer, receiver), expiry) = (accounts(session, 9)?, seconds() + 1000);
    let other = session.funded_account(0)?;
    let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 9, expiry);
    ensure_eq!(session.operation(hold)?, (Status::Ok, 0), "HOLD");
    let others = [
        Operation { transaction: session.fresh_transaction(), ..hold },
        Operation { destination: other, ..hold },
        Operation { source: other, ..hold },
        Operation { contract: (expiry + 1).into(), ..hold },
    ];
    for hold in others {
        ensure_eq!(session.operation(Operation::capture(&hold, 1))?, (Status::HoldUnknown, 0), "{hold:?}");
    }
    ensure_eq!(session.operation(Operation::capture(&hold, 9))?, (Status::Ok, 0), "CAPTURE");
    Ok(())
}

fn retries(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 20)?;
    let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 20, 0);
    let capture = Operation::capture(&hold, 5);
    for again in ["", " again"] {
        ensure_eq!(session.operation(hold)?, (Status::Ok, 0), "HOLD{again}");
    }
    for again in ["", " again"] {
        ensure_eq!(session.operation(capture)?, (Status::Ok, 15), "CAPTURE{again}");
    }
    ensure_eq!(session.operation(hold)?, (Status::Ok, 0), "HOLD after its end");
    let other = Operation::capture(&hold, 6);
    ensure_eq!(session.operation(other)?, (Status::TransactionIdReused, 15), "another CAPTURE");
    ensure_eq!(session.operation(Operation::release(&hold))?, (Status::TransactionIdReused, 15), "RELEASE");
    // The end of a hold and another operation of the receiver may have the same id.
    let transfer = Operation::transfer(hold.transaction, receiver, payer, 5);
    ensure_eq!(session.operation(transfer)?, (Status::Ok, 0), "a TRANSFER with the hold's id");
    Ok(())
}

fn repeated(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 20)?;
    let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 8, 0);
    ensure_eq!(session.operation(Operation::capture(&hold, 8))?, (Status::HoldUnknown, 20), "CAPTURE before HOLD");
    ensure_eq!(session.operation(hold)?, (Status::Ok, 12), "HOLD");
    ensure_eq!(session.operation(Operation::capture(&hold, 9))?, (Status::HoldExceeded, 12), "CAPTURE of too much");
    ensure_eq!(session.operation(Operation::capture(&hold, 8))?, (Status::Ok, 12), "CAPTURE");
    Ok(())
}

fn malformed(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 20)?;
    let id = session.fresh_transaction();
    let hold = Operation::hold(id, payer, receiver, 8, 0);
    let cases = [
        (Operation { amount: 0.into(), ..hold }, Status::ZeroAmount),
        (Operation { destination: payer, ..hold }, Status::SelfTransfer),
        (Operation::capture(&hold, 0), Status::ZeroAmount),
        (Operation::release(&Operation { destination: payer, ..hold }), Status::SelfTransfer),
        (Operation { amount: 1.into(), ..Operation::release(&hold) }, Status::Malformed),
        (Operation { amount: 1.into(), ..Operation::reclaim(&hold) }, Status::Malformed),
        (Operation { destination: session.fresh_account(), ..hold }, Status::DestinationUnknown),
    ];
    for (operation, status) in cases {
        ensure_eq!(session.operation(operation)?, (status, 20), "{operation:?}");
    }
    Ok(())
}

fn compact(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = (session.funded(5)?, session.funded(5)?);
    for command in [wire::Command::Hold, wire::Command::Capture, wire::Command::Release, wire::Command::Reclaim] {
        let frame = CompactFrame::new(command, session.fresh(), payer, receiver, 1);
        ensure_eq!(session.compact(&frame)?.0, Status::UnknownCommand, "{command} in a compact frame");
        ensure_eq!(CompactEntry::from(frame).check(), Status::UnknownCommand, "{command} in a compact entry");
    }
    ensure_eq!((session.balance(payer)?, session.balance(receiver)?), (5, 5), "the balances");
    Ok(())
}

fn linked(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 100)?;
    let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 60, 0);
    let fee = Operation::transfer(session.fresh_transaction(), receiver, payer, 50);
    let chain = [hold.linked(), Operation::capture(&hold, 40).linked(), fee];
    let (results, _) = session.operations(&chain, Promise::Default)?;
    let expected = [(Status::LinkedFailed, 100), (Status::LinkedFailed, 100), (Status::InsufficientBalance, 0)];
    ensure_eq!(results, expected, "a chain whose last operation fails");
    let hold = Operation { transaction: session.fresh_transaction(), ..hold };
    let fee = Operation::transfer(session.fresh_transaction(), receiver, payer, 10);
    let chain = [hold.linked(), Operation::capture(&hold, 40).linked(), fee];
    let (results, _) = session.operations(&chain, Promise::Default)?;
    ensure_eq!(results, [(Status::Ok, 40), (Status::Ok, 60), (Status::Ok, 30)], "HOLD, CAPTURE and a fee");
    let transfer = Operation::transfer(session.fresh_transaction(), receiver, payer, 1).linked();
    let (results, _) = session.operations(&[transfer, Operation::capture(&hold, 41)], Promise::Default)?;
    let expected = [(Status::LinkedFailed, 30), (Status::TransactionIdReused, 70)];
    ensure_eq!(results, expected, "a second CAPTURE");
    Ok(())
}

fn signed(session: &mut Session) -> Result<(), Stop> {
    let mut signers = [super::full::created(session)?, super::full::created(session)?];
    let [payer, receiver] = [0, 1].map(|signer: usize| signers[signer].account());
    let funder = session.funded_account(50)?;
    let fund = Operation::transfer(session.fresh_transaction(), funder, payer, 50);
    ensure_eq!(session.operation(fund)?, (Status::Ok, 0), "TRANSFER");
    let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 20, 0);
    let lapsing = Operation::hold(session.fresh_transaction(), payer, receiver, 5, seconds() + LIFETIME);
    let capture = Operation::capture(&hold, 15);
    ensure_eq!(session.operation(hold)?.0, Status::NotAuthorised, "an unsigned HOLD");
    let steps = [
        (1, hold, Status::NotAuthorised),
        (0, hold, Status::Ok),
        (0, lapsing, Status::Ok),
        (0, capture, Status::NotAuthorised),
        (0, Operation::release(&hold), Status::NotAuthorised),
        (1, Operation::reclaim(&lapsing), Status::NotAuthorised),
        (1, capture, Status::Ok),
    ];
    for (signer, operation, expected) in steps {
        let (status, ..) = session.full(sign(&mut signers[signer], operation)?)?;
        ensure_eq!(status, expected, "{operation:?} by signer {signer}");
    }
    ensure_eq!(session.operation(capture)?.0, Status::NotAuthorised, "an unsigned CAPTURE");
    session.wait_for("the expiry", |session| {
        let (status, ..) = session.full(sign(&mut signers[0], Operation::reclaim(&lapsing))?)?;
        Ok((status != Status::HoldNotExpired).then_some(status))
    })?;
    for (signer, expected) in [(0, 35), (1, 15)] {
        let refer = Operation::refer(session.fresh_transaction(), signers[signer].account());
        let (status, balance, _) = session.full(sign(&mut signers[signer], refer)?)?;
        ensure_eq!((status, balance), (Status::Ok, expected), "the balance of signer {signer}");
    }
    Ok(())
}

fn index(session: &mut Session) -> Result<(), Stop> {
    let (payer, receiver) = accounts(session, 20)?;
    let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 8, seconds() + 1000);
    ensure_eq!(session.operation(hold)?, (Status::Ok, 12), "HOLD");
    let id = AccountId(hold_id(&payer.0, &receiver.0, &hold.transaction.0, hold.contract.get()));
    let entry = session.wait_for("the hold in the index", |session| index_entry(session, id))?;
    ensure!(entry.is_hold() && entry.balance.get() == 8, "another entry: {entry:?}");
    let paying = index_entry(session, payer)?.ok_or(Stop::Failed("the payer is not in the index".to_owned()))?;
    ensure!(!paying.is_hold() && paying.balance.get() == 12, "another entry of the payer: {paying:?}");
    ensure_eq!(paying.latest(), entry.latest(), "the place of the HOLD");
    ensure_eq!(session.operation(Operation::capture(&hold, 8))?, (Status::Ok, 12), "CAPTURE");
    session.wait_for("the end of the hold", |session| Ok(index_entry(session, id)?.is_none().then_some(())))?;
    Ok(())
}
