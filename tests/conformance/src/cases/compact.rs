//! Compact transfer frames.

use wire::{Command, CompactFrame, Status, U16, U32};
use zerocopy::IntoBytes;

use super::cases;
use crate::session::{Session, compact_result};
use crate::{Stop, ensure_eq};

cases! {
    "compact: the four commands" => four_commands,
    "compact: a value beyond 32 bits is 0xffffffff" => saturates,
    "compact: ACCOUNT_EXISTS" => account_exists,
    "compact: SOURCE_UNKNOWN" => source_unknown,
    "compact: DESTINATION_UNKNOWN" => destination_unknown,
    "compact: INSUFFICIENT_BALANCE changes nothing" => insufficient_balance,
    "compact: ZERO_AMOUNT" => zero_amount,
    "compact: SELF_TRANSFER" => self_transfer,
    "compact: UNKNOWN_COMMAND" => unknown_command,
    "compact: MALFORMED where a field must be zero" => must_be_zero,
    "compact: MALFORMED where a status is set, and silence to MALFORMED itself" => status_set,
    "compact: a retry gets the first result" => retry,
    "compact: a retry of a failure gets the first failure" => retry_of_failure,
    "compact: TRANSACTION_ID_REUSED" => id_reused,
    "compact: the same transaction id from two sources names two operations" => id_of_two_sources,
    "compact: NOT_TRUSTED" => not_trusted,
    "compact: zero is an account like any other" => account_zero,
}

fn four_commands(session: &mut Session) -> Result<(), Stop> {
    let (sender, receiver) = (session.funded(100)?, session.funded(0)?);
    ensure_eq!(session.command(Command::Transfer, sender, receiver, 30)?, (Status::Ok, 70), "TRANSFER");
    ensure_eq!(session.balance(sender)?, 70, "the sender's balance");
    ensure_eq!(session.balance(receiver)?, 30, "the receiver's balance");
    ensure_eq!(session.command(Command::Transfer, receiver, sender, 30)?, (Status::Ok, 0), "TRANSFER of all");
    Ok(())
}

fn saturates(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded(u32::MAX)?;
    let reply = session.command(Command::Issue, account, 0, u32::MAX)?;
    ensure_eq!(reply, (Status::Ok, u32::MAX), "ISSUE beyond 32 bits");
    let other = session.funded(0)?;
    let reply = session.command(Command::Transfer, account, other, u32::MAX)?;
    ensure_eq!(reply, (Status::Ok, u32::MAX), "TRANSFER that leaves exactly the largest value");
    ensure_eq!(session.command(Command::Transfer, account, other, 1)?, (Status::Ok, u32::MAX - 1), "one less");
    Ok(())
}

fn account_exists(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded(7)?;
    ensure_eq!(session.command(Command::Create, account, 0, 0)?, (Status::AccountExists, 7), "second CREATE");
    ensure_eq!(session.balance(account)?, 7, "balance");
    Ok(())
}

fn source_unknown(session: &mut Session) -> Result<(), Stop> {
    let (nobody, somebody) = (session.fresh(), session.funded(1)?);
    for (command, destination, amount) in
        [(Command::Issue, 0, 5), (Command::Transfer, somebody, 5), (Command::Refer, 0, 0)]
    {
        let reply = session.command(command, nobody, destination, amount)?;
        ensure_eq!(reply, (Status::SourceUnknown, 0), "{command} of an unknown account");
    }
    ensure_eq!(session.balance(somebody)?, 1, "balance");
    Ok(())
}

fn destination_unknown(session: &mut Session) -> Result<(), Stop> {
    let (sender, nobody) = (session.funded(9)?, session.fresh());
    let reply = session.command(Command::Transfer, sender, nobody, 5)?;
    ensure_eq!(reply, (Status::DestinationUnknown, 9), "TRANSFER to an unknown account");
    ensure_eq!(session.command(Command::Refer, nobody, 0, 0)?, (Status::SourceUnknown, 0), "REFER to it");
    Ok(())
}

fn insufficient_balance(session: &mut Session) -> Result<(), Stop> {
    let (sender, receiver) = (session.funded(10)?, session.funded(1)?);
    let reply = session.command(Command::Transfer, sender, receiver, 11)?;
    ensure_eq!(reply, (Status::InsufficientBalance, 10), "TRANSFER of more than there is");
    ensure_eq!((session.balance(sender)?, session.balance(receiver)?), (10, 1), "balances");
    Ok(())
}

fn zero_amount(session: &mut Session) -> Result<(), Stop> {
    let (sender, receiver) = (session.funded(10)?, session.funded(0)?);
    ensure_eq!(session.command(Command::Issue, sender, 0, 0)?, (Status::ZeroAmount, 0), "ISSUE of 0");
    ensure_eq!(session.command(Command::Transfer, sender, receiver, 0)?, (Status::ZeroAmount, 0), "TRANSFER of 0");
    ensure_eq!(session.balance(sender)?, 10, "balance");
    Ok(())
}

fn self_transfer(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded(10)?;
    let reply = session.command(Command::Transfer, account, account, 5)?;
    ensure_eq!(reply, (Status::SelfTransfer, 0), "TRANSFER to the sender");
    ensure_eq!(session.balance(account)?, 10, "balance");
    Ok(())
}

fn unknown_command(session: &mut Session) -> Result<(), Stop> {
    // One of them is CREATE in its lower 16 bits.
    for code in [0, 5, 0xff, 0xffff, 0x0001_0001, 0x4000_0003, u32::MAX] {
        let account = session.fresh();
        let mut frame = CompactFrame::new(Command::Create, session.fresh(), account, 0, 0);
        frame.command = U32::new(code);
        ensure_eq!(session.compact(&frame)?.0, Status::UnknownCommand, "command {code:#x}");
        let reply = session.command(Command::Refer, account, 0, 0)?;
        ensure_eq!(reply.0, Status::SourceUnknown, "the account after command {code:#x}");
    }
    Ok(())
}

fn must_be_zero(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded(10)?;
    let new = session.fresh();
    for (command, source, destination, amount) in [
        (Command::Create, new, 0, 1),
        (Command::Create, new, 1, 0),
        (Command::Issue, account, 1, 5),
        (Command::Refer, account, 1, 0),
        (Command::Refer, account, 0, 1),
    ] {
        let reply = session.command(command, source, destination, amount)?;
        ensure_eq!(reply.0, Status::Malformed, "{command} with destination {destination} and amount {amount}");
    }
    ensure_eq!(session.command(Command::Refer, new, 0, 0)?.0, Status::SourceUnknown, "the account");
    ensure_eq!(session.balance(account)?, 10, "balance");
    Ok(())
}

fn status_set(session: &mut Session) -> Result<(), Stop> {
    let account = session.fresh();
    let mut frame = CompactFrame::new(Command::Create, session.fresh(), account, 0, 0);
    for status in [1, 32, 0x100, u16::MAX] {
        frame.status = U16::new(status);
        ensure_eq!(session.compact(&frame)?.0, Status::Malformed, "a request with status {status}");
    }
    frame.status = U16::new(Status::Malformed.code());
    session.link.expect_silence(frame.as_bytes())?;
    ensure_eq!(session.command(Command::Refer, account, 0, 0)?.0, Status::SourceUnknown, "the account");
    Ok(())
}

fn retry(session: &mut Session) -> Result<(), Stop> {
    let (sender, receiver) = (session.funded(100)?, session.funded(0)?);
    let transfer = CompactFrame::new(Command::Transfer, session.fresh(), sender, receiver, 10);
    ensure_eq!(session.compact(&transfer)?, (Status::Ok, 90), "TRANSFER");
    ensure_eq!(session.command(Command::Transfer, sender, receiver, 20)?, (Status::Ok, 70), "another");
    for _ in 0..3 {
        ensure_eq!(session.compact(&transfer)?, (Status::Ok, 90), "retry of the first");
    }
    ensure_eq!((session.balance(sender)?, session.balance(receiver)?), (70, 30), "balances");
    let account = session.fresh();
    let create = CompactFrame::new(Command::Create, session.fresh(), account, 0, 0);
    ensure_eq!(session.compact(&create)?, (Status::Ok, 0), "CREATE");
    ensure_eq!(session.command(Command::Issue, account, 0, 5)?, (Status::Ok, 5), "ISSUE");
    ensure_eq!(session.compact(&create)?, (Status::Ok, 0), "retry of CREATE");
    Ok(())
}

fn retry_of_failure(session: &mut Session) -> Result<(), Stop> {
    let (sender, receiver) = (session.funded(5)?, session.fresh());
    let early = CompactFrame::new(Command::Transfer, session.fresh(), sender, receiver, 1);
    ensure_eq!(session.compact(&early)?, (Status::DestinationUnknown, 5), "TRANSFER too early");
    ensure_eq!(session.command(Command::Create, receiver, 0, 0)?, (Status::Ok, 0), "CREATE");
    ensure_eq!(session.compact(&early)?, (Status::DestinationUnknown, 5), "its retry");
    let poor = CompactFrame::new(Command::Transfer, session.fresh(), sender, receiver, 6);
    ensure_eq!(session.compact(&poor)?, (Status::InsufficientBalance, 5), "TRANSFER of too much");
    ensure_eq!(session.command(Command::Issue, sender, 0, 10)?, (Status::Ok, 15), "ISSUE");
    ensure_eq!(session.compact(&poor)?, (Status::InsufficientBalance, 5), "its retry");
    ensure_eq!(session.balance(receiver)?, 0, "balance");
    Ok(())
}

fn id_reused(session: &mut Session) -> Result<(), Stop> {
    let (sender, receiver) = (session.funded(100)?, session.funded(0)?);
    let other = session.funded(0)?;
    let first = CompactFrame::new(Command::Transfer, session.fresh(), sender, receiver, 10);
    ensure_eq!(session.compact(&first)?, (Status::Ok, 90), "TRANSFER");
    let changed = [
        CompactFrame { amount: U32::new(11), ..first },
        CompactFrame { destination: U32::new(other), ..first },
        CompactFrame { command: U32::new(2), destination: U32::ZERO, ..first },
    ];
    for frame in changed {
        ensure_eq!(session.compact(&frame)?, (Status::TransactionIdReused, 90), "another operation of the same id");
    }
    ensure_eq!(session.compact(&first)?, (Status::Ok, 90), "retry of the first");
    ensure_eq!((session.balance(sender)?, session.balance(receiver)?), (90, 10), "balances");
    Ok(())
}

fn id_of_two_sources(session: &mut Session) -> Result<(), Stop> {
    let (one, two, id) = (session.funded(5)?, session.funded(5)?, session.fresh());
    for (source, destination) in [(one, two), (two, one)] {
        let frame = CompactFrame::new(Command::Transfer, id, source, destination, 1);
        ensure_eq!(session.compact(&frame)?.0, Status::Ok, "TRANSFER");
    }
    ensure_eq!((session.balance(one)?, session.balance(two)?), (5, 5), "balances");
    Ok(())
}

fn not_trusted(session: &mut Session) -> Result<(), Stop> {
    let mut stranger = session.stranger()?;
    let (account, new) = (session.funded(10)?, session.fresh());
    for (command, source, amount) in
        [(Command::Create, new, 0), (Command::Issue, account, 5), (Command::Refer, account, 0)]
    {
        let frame = CompactFrame::new(command, session.fresh(), source, 0, amount);
        let reply = compact_result(&frame, &stranger.ask(frame.as_bytes())?)?;
        ensure_eq!(reply, (Status::NotTrusted, 0), "{command} of a stranger");
    }
    ensure_eq!(session.balance(account)?, 10, "balance");
    ensure_eq!(session.command(Command::Refer, new, 0, 0)?.0, Status::SourceUnknown, "the account");
    Ok(())
}

fn account_zero(session: &mut Session) -> Result<(), Stop> {
    // It may exist from an earlier run.
    let (status, _) = session.command(Command::Create, 0, 0, 0)?;
    if status != Status::Ok {
        ensure_eq!(status, Status::AccountExists, "CREATE of account 0");
    }
    let sender = session.funded(3)?;
    let before = session.balance(0)?;
    ensure_eq!(session.command(Command::Transfer, sender, 0, 3)?, (Status::Ok, 0), "TRANSFER to account 0");
    ensure_eq!(session.balance(0)?, before + 3, "balance of account 0");
    Ok(())
}
