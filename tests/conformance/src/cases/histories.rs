//! Histories of accounts, and the issued amounts of assets.

use wire::{
    AccountId, AssetTotal, AssetsFrame, Command, ErrorFrame, HistoryEntry, HistoryFrame, Operation, Reply, Status, U16,
    U32, U64,
};
use zerocopy::IntoBytes;

use super::cases;
use crate::link::excerpt;
use crate::session::Session;
use crate::{Stop, ensure, ensure_eq};

cases! {
    "history: pages of an account's transactions, the newest first" => pages,
    "history: conditions that select" => conditions,
    "history: open holds" => open_holds,
    "history: NOT_FOUND, and REPLY_TOO_LARGE without room for an entry" => refused,
    "history: MALFORMED where anything else is set" => malformed,
    "assets: the issued amount of each, by code" => issued,
}

/// A page: the fixed part of the reply, and the entries, or the status of the refusal.
fn ask(
    session: &mut Session,
    request: HistoryFrame,
) -> Result<Result<(HistoryFrame, Vec<HistoryEntry>), Status>, Stop> {
    let request = HistoryFrame { header: HistoryFrame::new(session.fresh(), request.account, 1).header, ..request };
    let room = HistoryFrame::LENGTH + usize::from(request.count.get()) * HistoryEntry::LENGTH;
    let mut bytes = request.as_bytes().to_vec();
    bytes.resize(room, 0);
    let reply = session.link.ask(&bytes)?;
    let Ok(Reply::History(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("a history was answered with {}", excerpt(&reply))));
    };
    if !answer.status.is_ok() {
        return Ok(Err(answer.status));
    }
    ensure_eq!(
        (answer.fixed.account, answer.fixed.counterpart),
        (request.account, request.counterpart),
        "the accounts"
    );
    Ok(Ok((*answer.fixed, answer.entries.to_vec())))
}

fn page(session: &mut Session, request: HistoryFrame) -> Result<(HistoryFrame, Vec<HistoryEntry>), Stop> {
    ask(session, request)?.map_err(|status| Stop::Failed(format!("a history was refused with {status}")))
}

/// Two accounts with this many transfers from the first to the second, and then one of 1 back, all in blocks. Returns
/// the history of the first, the newest first.
fn busy(session: &mut Session, transfers: u64) -> Result<(AccountId, AccountId, Vec<Operation>), Stop> {
    let (from, to) = (session.funded_account(1000)?, session.funded_account(1)?);
    let mut sent = Vec::new();
    for amount in 1..=transfers {
        sent.push(Operation::transfer(session.fresh_transaction(), from, to, amount));
    }
    sent.push(Operation::transfer(session.fresh_transaction(), to, from, 1));
    for operation in &sent {
        ensure_eq!(session.operation(*operation)?.0, Status::Ok, "TRANSFER");
    }
    sent.reverse();
    let last = sent[0].transaction;
    session.wait_for("the transfers in a block", |session| {
        let newest = ask(session, HistoryFrame::new(0, from, 1))?.ok();
        Ok(newest.filter(|(_, entries)| entries.first().is_some_and(|entry| entry.operation.transaction == last)))
    })?;
    Ok((from, to, sent))
}

fn pages(session: &mut Session) -> Result<(), Stop> {
    let (from, _, sent) = busy(session, 5)?;
    let mut found = Vec::new();
    let mut request = HistoryFrame::new(0, from, 2);
    loop {
        let (fixed, entries) = page(session, request)?;
        ensure!(entries.len() <= 2, "a page of {} entries, where 2 were requested", entries.len());
        ensure!(
            entries.iter().all(|entry| u64::from(entry.height.get()) <= fixed.tip_height.get()),
            "blocks to the tip"
        );
        found.extend(entries);
        if fixed.flags & HistoryFrame::CURSOR == 0 {
            break;
        }
        request.flags = HistoryFrame::CURSOR;
        (request.cursor_height, request.cursor_position) = (fixed.cursor_height, fixed.cursor_position);
        ensure!(found.len() < 100, "the history does not end");
    }
    let ids: Vec<_> = found.iter().map(|entry| entry.operation.transaction).collect();
    ensure_eq!(ids[..sent.len()], sent.iter().map(|sent| sent.transaction).collect::<Vec<_>>()[..], "the transfers");
    let first = found.last().map(|entry| entry.operation.command());
    ensure_eq!(first, Some(Ok(Command::Create)), "the first transaction");
    let places: Vec<_> = found.iter().map(|entry| (entry.height.get(), entry.position.get())).collect();
    ensure!(places.is_sorted_by(|a, b| a > b), "places descend: {places:?}");
    ensure!(found.is_sorted_by(|a, b| a.time.get() >= b.time.get()), "times do not ascend");
    Ok(())
}

fn conditions(session: &mut Session) -> Result<(), Stop> {
    let (from, to, sent) = busy(session, 3)?;
    let all = page(session, HistoryFrame::new(0, from, 100))?.1;
    let stranger = session.funded_account(1)?;
    let whole = HistoryFrame::new(0, from, 100);
    let (newest, oldest) = (all[0], all[all.len() - 1]);
    let transfers = HistoryFrame::bits_of(&[Command::Transfer]);
    for (what, request, expected) in [
        ("TRANSFER", HistoryFrame { commands: transfers, ..whole }, sent.len()),
        (
            "ISSUE and CREATE",
            HistoryFrame { commands: HistoryFrame::bits_of(&[Command::Issue, Command::Create]), ..whole },
            2,
        ),
        ("FREEZE", HistoryFrame { commands: HistoryFrame::bits_of(&[Command::Freeze]), ..whole }, 0),
        ("the source", HistoryFrame { role: HistoryFrame::SOURCE, ..whole }, all.len() - 1),
        ("the destination", HistoryFrame { role: HistoryFrame::DESTINATION, ..whole }, 1),
        ("a counterpart", HistoryFrame { counterpart: to, ..whole }, sent.len()),
        ("a stranger", HistoryFrame { counterpart: stranger, ..whole }, 0),
        ("heights before the first", HistoryFrame { end_height: oldest.height, ..whole }, 0),
        ("heights after the last", HistoryFrame { first_height: U32::new(newest.height.get() + 1), ..whole }, 0),
        ("all heights", HistoryFrame { first_height: oldest.height, end_height: U32::MAX_VALUE, ..whole }, all.len()),
        ("times before the first", HistoryFrame { end_time: oldest.time, ..whole }, 0),
        ("times after the last", HistoryFrame { first_time: U64::new(newest.time.get() + 1), ..whole }, 0),
        ("all times", HistoryFrame { first_time: oldest.time, end_time: U64::MAX_VALUE, ..whole }, all.len()),
    ] {
        ensure_eq!(page(session, request)?.1.len(), expected, "number of transactions selected by {what}");
    }
    Ok(())
}

fn open_holds(session: &mut Session) -> Result<(), Stop> {
    let (from, to) = (session.funded_account(100)?, session.funded_account(1)?);
    let holds: Vec<_> = (1..=3).map(|n| Operation::hold(session.fresh_transaction(), from, to, n, 0)).collect();
    for operation in holds.iter().chain([&Operation::release(&holds[1])]) {
        ensure_eq!(session.operation(*operation)?.0, Status::Ok, "HOLD or RELEASE");
    }
    let request = HistoryFrame { flags: HistoryFrame::OPEN_HOLDS, ..HistoryFrame::new(0, to, 10) };
    let expected = [holds[2].transaction, holds[0].transaction];
    session.wait_for("the open holds", |session| {
        let Ok((fixed, entries)) = ask(session, request)? else { return Ok(None) };
        ensure!(fixed.flags & HistoryFrame::OPEN_HOLDS != 0, "the flag of open holds in the reply");
        let found: Vec<_> = entries.iter().map(|entry| entry.operation.transaction).collect();
        Ok((found == expected).then_some(()))
    })
}

fn refused(session: &mut Session) -> Result<(), Stop> {
    let (from, to, _) = busy(session, 1)?;
    let nobody = session.fresh_account();
    ensure_eq!(ask(session, HistoryFrame::new(0, nobody, 1))?.err(), Some(Status::NotFound), "an unknown account");
    let whole = HistoryFrame::new(0, from, 1);
    let strange = HistoryFrame { flags: HistoryFrame::CURSOR, cursor_height: U32::MAX_VALUE, ..whole };
    ensure_eq!(ask(session, strange)?.err(), Some(Status::NotFound), "a cursor after the tip");
    // The CREATE of another account.
    let create = page(
        session,
        HistoryFrame { commands: HistoryFrame::bits_of(&[Command::Create]), ..HistoryFrame::new(0, to, 9) },
    )?;
    let Some(create) = create.1.first() else { return Err(Stop::Failed("an account without a CREATE".into())) };
    let (cursor_height, cursor_position) = (create.height, create.position);
    let strange = HistoryFrame { flags: HistoryFrame::CURSOR, cursor_height, cursor_position, ..whole };
    ensure_eq!(ask(session, strange)?.err(), Some(Status::NotFound), "a cursor of another account");
    for (request, needed) in [
        (HistoryFrame::new(session.fresh(), from, 5).as_bytes().to_vec(), HistoryFrame::LENGTH + HistoryEntry::LENGTH),
        (AssetsFrame::new(session.fresh(), 0, 5).as_bytes().to_vec(), AssetsFrame::LENGTH + AssetTotal::LENGTH),
    ] {
        let reply = session.link.ask(&request)?;
        let Ok(Reply::Error(ErrorFrame { detail, .. }, status)) = Reply::parse(&reply) else {
            return Err(Stop::Failed(format!("no room was answered with {}", excerpt(&reply))));
        };
        ensure_eq!((status, detail.get() as usize), (Status::ReplyTooLarge, needed), "a request without room");
    }
    Ok(())
}

fn malformed(session: &mut Session) -> Result<(), Stop> {
    let whole = HistoryFrame::new(0, AccountId::from(1_u32), 1);
    for request in [
        HistoryFrame { count: U16::ZERO, ..whole },
        HistoryFrame { role: 3, ..whole },
        HistoryFrame { flags: HistoryFrame::PRUNED, ..whole },
        HistoryFrame { commands: HistoryFrame::bits_of(&[Command::Refer]), ..whole },
        HistoryFrame { cursor_position: U32::new(1), ..whole },
        HistoryFrame { tip_height: U64::new(1), ..whole },
    ] {
        ensure_eq!(ask(session, request)?.err(), Some(Status::Malformed), "a malformed history frame");
    }
    Ok(())
}

/// A part of the issued amounts.
fn assets(session: &mut Session, first: u32, count: u16) -> Result<(AssetsFrame, Vec<(u32, u128)>), Stop> {
    let mut request = AssetsFrame::new(session.fresh(), first, count).as_bytes().to_vec();
    request.resize(AssetsFrame::LENGTH + usize::from(count) * AssetTotal::LENGTH, 0);
    let reply = session.link.ask(&request)?;
    let Ok(Reply::Assets(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("assets were answered with {}", excerpt(&reply))));
    };
    ensure_eq!(answer.status, Status::Ok, "status of an assets reply");
    Ok((*answer.fixed, answer.totals.iter().map(|total| (total.asset.get(), total.issued())).collect()))
}

fn issued(session: &mut Session) -> Result<(), Stop> {
    // A code that no other case uses, nor an earlier run.
    let code = 1 << 31 | session.fresh();
    let account = session.fresh_account();
    for operation in [
        Operation::open(session.fresh_transaction(), account, code),
        Operation::issue(session.fresh_transaction(), account, 7),
        Operation::issue(session.fresh_transaction(), account, 8),
    ] {
        ensure_eq!(session.operation(operation)?.0, Status::Ok, "OPEN and ISSUE");
    }
    session.wait_for("the issued amount in a block", |session| {
        let (_, totals) = assets(session, code, 1)?;
        Ok((totals == [(code, 15)]).then_some(()))
    })?;
    let (fixed, first) = assets(session, 0, 1)?;
    ensure_eq!(first.iter().map(|(asset, _)| *asset).collect::<Vec<_>>(), [0], "the first asset");
    ensure!(fixed.next_asset.get() > 0 && fixed.next_asset.get() <= code, "the next asset");
    let (fixed, _) = assets(session, u32::MAX, 1)?;
    ensure_eq!(fixed.next_asset.get(), 0, "nothing follows the last asset");
    Ok(())
}
