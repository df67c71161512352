//! Assets: OPEN, and what accounts of different assets cannot do.

use spv::{ASSET_BIT, asset_id};
use wire::{AccountId, Command, CompactFrame, Operation, Promise, Status};

use super::{cases, full::sign, queries::index_entry};
use crate::session::Session;
use crate::{Stop, ensure, ensure_eq};

cases! {
    "assets: an amount stays in its asset" => transfer,
    "assets: compact frames of accounts of different assets" => compact,
    "assets: MALFORMED fields of OPEN" => malformed,
    "assets: a hold is of its payer's asset" => holds,
    "assets: an exchange is a linked chain" => exchange,
    "assets: a chain opens no account in another asset than it closed it in" => reopened,
    "assets: an issuer of another asset" => issuers,
    "assets: the index states them" => index,
}

const GOLD: u32 = 959;
const EURO: u32 = 978;

fn open(session: &mut Session, account: AccountId, asset: u32) -> Result<(), Stop> {
    let open = Operation::open(session.fresh_transaction(), account, asset);
    ensure_eq!(session.operation(open)?, (Status::Ok, 0), "OPEN");
    Ok(())
}

/// A new account of an asset with a balance.
fn funded(session: &mut Session, asset: u32, balance: u64) -> Result<AccountId, Stop> {
    let account = session.fresh_account();
    open(session, account, asset)?;
    if balance > 0 {
        let issue = Operation::issue(session.fresh_transaction(), account, balance);
        ensure_eq!(session.operation(issue)?, (Status::Ok, balance), "ISSUE");
    }
    Ok(account)
}

fn pay(session: &mut Session, from: AccountId, to: AccountId, amount: u64) -> Result<(Status, u64), Stop> {
    let transfer = Operation::transfer(session.fresh_transaction(), from, to, amount);
    session.operation(transfer)
}

fn transfer(session: &mut Session) -> Result<(), Stop> {
    let (plain, gold, euro) = (session.funded_account(50)?, funded(session, GOLD, 20)?, funded(session, EURO, 30)?);
    let other = funded(session, GOLD, 0)?;
    for (from, to, balance) in [(plain, gold, 50), (gold, plain, 20), (gold, euro, 20), (euro, gold, 30)] {
        for amount in [1, 1000] {
            ensure_eq!(pay(session, from, to, amount)?, (Status::AssetMismatch, balance), "TRANSFER to another asset");
        }
    }
    ensure_eq!(pay(session, gold, other, 8)?, (Status::Ok, 12), "TRANSFER in an asset");
    ensure_eq!(pay(session, gold, other, 13)?, (Status::InsufficientBalance, 12), "TRANSFER of more");
    ensure_eq!(pay(session, other, gold, 8)?, (Status::Ok, 0), "TRANSFER back");
    for operation in [
        Operation::open(session.fresh_transaction(), gold, GOLD),
        Operation::open(session.fresh_transaction(), gold, EURO),
        Operation::create(session.fresh_transaction(), gold),
    ] {
        ensure_eq!(session.operation(operation)?, (Status::AccountExists, 20), "{operation:?}");
    }
    // Once it is closed, it can be opened in any asset.
    let close = Operation::close(session.fresh_transaction(), other);
    ensure_eq!(session.operation(close)?, (Status::Ok, 0), "CLOSE");
    open(session, other, EURO)?;
    ensure_eq!(pay(session, gold, other, 1)?, (Status::AssetMismatch, 20), "TRANSFER to the former asset");
    ensure_eq!(pay(session, euro, other, 1)?, (Status::Ok, 29), "TRANSFER in the new asset");
    Ok(())
}

/// Any tier may execute compact frames, and knows no assets.
fn compact(session: &mut Session) -> Result<(), Stop> {
    let (plain, gold) = (session.funded(9)?, session.fresh());
    open(session, gold.into(), GOLD)?;
    for balance in [5, 10] {
        ensure_eq!(session.command(Command::Issue, gold, 0, 5)?, (Status::Ok, balance), "ISSUE");
        ensure_eq!(session.command(Command::Refer, gold, 0, 0)?, (Status::Ok, balance), "REFER");
        let out = session.command(Command::Transfer, gold, plain, 1)?;
        ensure_eq!(out, (Status::AssetMismatch, balance), "TRANSFER to asset 0");
        let into = session.command(Command::Transfer, plain, gold, 1)?;
        ensure_eq!(into, (Status::AssetMismatch, 9), "TRANSFER from asset 0");
    }
    ensure_eq!(session.command(Command::Create, gold, 0, 0)?, (Status::AccountExists, 10), "CREATE");
    let frame = CompactFrame::new(Command::Open, session.fresh(), session.fresh(), 0, 0);
    ensure_eq!(session.compact(&frame)?.0, Status::UnknownCommand, "OPEN in a compact frame");
    Ok(())
}

fn malformed(session: &mut Session) -> Result<(), Stop> {
    let (account, other) = (session.fresh_account(), session.funded_account(7)?);
    for operation in [
        Operation::open(session.fresh_transaction(), account, 0),
        Operation { amount: 1.into(), ..Operation::open(session.fresh_transaction(), account, GOLD) },
        // Only a signature makes an account pay.
        Operation::create_for(session.fresh_transaction(), account, other, 1).in_asset(GOLD),
    ] {
        ensure_eq!(session.operation(operation)?.0, Status::Malformed, "{operation:?}");
    }
    Ok(())
}

fn holds(session: &mut Session) -> Result<(), Stop> {
    let (plain, gold, other) = (session.funded_account(50)?, funded(session, GOLD, 20)?, funded(session, GOLD, 1)?);
    for (payer, receiver, balance) in [(plain, gold, 50), (gold, plain, 20)] {
        let hold = Operation::hold(session.fresh_transaction(), payer, receiver, 5, 0);
        ensure_eq!(session.operation(hold)?, (Status::AssetMismatch, balance), "HOLD for another asset");
    }
    let [part, whole, released] =
        [6, 8, 3].map(|amount| Operation::hold(session.fresh_transaction(), gold, other, amount, 0));
    for (hold, left) in [(part, 14), (whole, 6), (released, 3)] {
        ensure_eq!(session.operation(hold)?, (Status::Ok, left), "HOLD");
    }
    ensure_eq!(session.operation(Operation::capture(&part, 4))?, (Status::Ok, 5), "CAPTURE of a part");
    ensure_eq!(pay(session, gold, other, 5)?, (Status::Ok, 0), "TRANSFER of the rest");
    let close = Operation::close(session.fresh_transaction(), gold);
    ensure_eq!(session.operation(close)?, (Status::Ok, 0), "CLOSE of the payer");
    // The payer gets nothing of one asset in an account of another. The receiver can still take all of it.
    open(session, gold, EURO)?;
    ensure_eq!(session.operation(Operation::capture(&whole, 7))?.0, Status::AssetMismatch, "CAPTURE of a part");
    ensure_eq!(session.operation(Operation::release(&released))?.0, Status::AssetMismatch, "RELEASE");
    ensure_eq!(session.operation(Operation::capture(&whole, 8))?, (Status::Ok, 0), "CAPTURE of all");
    let close = Operation::close(session.fresh_transaction(), gold);
    ensure_eq!(session.operation(close)?, (Status::Ok, 0), "CLOSE again");
    ensure_eq!(session.operation(Operation::release(&released))?, (Status::Ok, 3), "RELEASE to a closed account");
    ensure_eq!(pay(session, gold, plain, 1)?, (Status::AssetMismatch, 3), "TRANSFER of what came back");
    ensure_eq!(pay(session, gold, other, 3)?, (Status::Ok, 0), "TRANSFER in its asset");
    Ok(())
}

fn exchange(session: &mut Session) -> Result<(), Stop> {
    let [gold, gold_of_maker] = [funded(session, GOLD, 5)?, funded(session, GOLD, 0)?];
    let [euro, euro_of_maker] = [funded(session, EURO, 0)?, funded(session, EURO, 300)?];
    let chain = |session: &mut Session, price| {
        [
            Operation::transfer(session.fresh_transaction(), gold, gold_of_maker, 5).linked(),
            Operation::transfer(session.fresh_transaction(), euro_of_maker, euro, price),
        ]
    };
    let refused = chain(session, 301);
    let (results, _) = session.operations(&refused, Promise::Default)?;
    ensure_eq!(results, [(Status::LinkedFailed, 5), (Status::InsufficientBalance, 300)], "an exchange that fails");
    let exchanged = chain(session, 290);
    let (results, _) = session.operations(&exchanged, Promise::Default)?;
    ensure_eq!(results, [(Status::Ok, 0), (Status::Ok, 10)], "an exchange");
    Ok(())
}

fn reopened(session: &mut Session) -> Result<(), Stop> {
    let account = funded(session, GOLD, 0)?;
    for (asset, expected) in [(EURO, [Status::LinkedFailed, Status::AssetMismatch]), (GOLD, [Status::Ok, Status::Ok])] {
        let chain = [
            Operation::close(session.fresh_transaction(), account).linked(),
            Operation::open(session.fresh_transaction(), account, asset),
        ];
        let (results, _) = session.operations(&chain, Promise::Default)?;
        ensure_eq!([results[0].0, results[1].0], expected, "CLOSE and OPEN in asset {asset}");
    }
    Ok(())
}

fn issuers(session: &mut Session) -> Result<(), Stop> {
    let mut issuer = session.issuer()?;
    let mut owner = session.signer()?;
    let account = owner.account();
    let by_issuer = Operation::open(session.fresh_transaction(), account, GOLD);
    ensure_eq!(session.full(sign(&mut issuer, by_issuer)?)?.0, Status::NotAuthorised, "OPEN by another asset's issuer");
    let by_owner = Operation::open(session.fresh_transaction(), account, GOLD);
    ensure_eq!(session.full(sign(&mut owner, by_owner)?)?.0, Status::Ok, "OPEN by the owner");
    let issue = Operation::issue(session.fresh_transaction(), account, 5);
    let (status, balance, _) = session.full(sign(&mut issuer, issue)?)?;
    ensure_eq!((status, balance), (Status::NotIssuer, 0), "ISSUE by another asset's issuer");
    let from = funded(session, GOLD, 9)?;
    ensure_eq!(pay(session, from, account, 9)?, (Status::Ok, 0), "TRANSFER to it");
    // A deposit is paid in asset 0.
    let (child, deposit) = (session.signer()?.account(), 9);
    let opened = Operation::create_for(session.fresh_transaction(), child, account, deposit);
    let (status, ..) = session.full(sign(&mut owner, opened)?)?;
    ensure!(matches!(status, Status::AssetMismatch | Status::DepositRequired), "a deposit of gold: {status}");
    Ok(())
}

fn index(session: &mut Session) -> Result<(), Stop> {
    let (gold, other) = (funded(session, GOLD, 5)?, funded(session, GOLD, 0)?);
    let stated = |id: AccountId| AccountId(asset_id(&id.0));
    let entry = session.wait_for("the account in the index", |session| {
        Ok(index_entry(session, gold)?.filter(|entry| entry.balance.get() == 5))
    })?;
    ensure!(entry.has_asset() && entry.position.get() & ASSET_BIT != 0, "it has no asset: {entry:?}");
    let asset = index_entry(session, stated(gold))?.and_then(|entry| entry.asset());
    ensure_eq!(asset, Some(GOLD), "the asset in the index");
    ensure_eq!(pay(session, gold, other, 5)?, (Status::Ok, 0), "TRANSFER of all of it");
    let close = Operation::close(session.fresh_transaction(), gold);
    ensure_eq!(session.operation(close)?, (Status::Ok, 0), "CLOSE");
    session.wait_for("the closed account", |session| Ok(index_entry(session, gold)?.is_none().then_some(())))?;
    ensure!(index_entry(session, stated(gold))?.is_none(), "the asset of a closed account");
    Ok(())
}
