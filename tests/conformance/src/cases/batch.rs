//! Batch frames.

use wire::{
    AccountId, BatchEntries, BatchFormat, BatchHeader, Command, CompactEntry, CompactFrame, MAX_DATAGRAM, Operation,
    Promise, Reply, Status, U16,
};
use zerocopy::IntoBytes;

use super::cases;
use crate::link::excerpt;
use crate::model::Model;
use crate::session::{Session, batch, batch_refused, now};
use crate::{Stop, ensure, ensure_eq};

cases! {
    "batch: each operation has its status, in order" => statuses,
    "batch: compact entries" => compact_entries,
    "batch: OVERFLOW of ISSUE and TRANSFER" => overflow,
    "batch: a retry gets the same reply" => retry,
    "batch: an id reused within one batch" => reused_within,
    "batch: random operations agree with a plain model" => model,
    "batch: accepted, durable and default promises" => promises,
    "batch: MALFORMED entries do not touch the others" => malformed_entries,
    "batch: MALFORMED header" => malformed_header,
    "batch: MALFORMED length" => malformed_length,
    "batch: the largest datagram" => largest,
    "batch: NOT_AUTHORISED for keyed accounts" => keyed,
    "batch: NOT_TRUSTED" => not_trusted,
    "batch: linked operations succeed or fail together" => linked_together,
    "batch: a retry of linked operations" => linked_retry,
    "batch: LINKED_INVALID" => linked_invalid,
    "batch: a refusal by form fails the chain" => linked_refused,
    "batch: linked operations agree with a plain model" => linked_model,
    "batch: the contract code is a part of the operation" => contract,
}

fn statuses(session: &mut Session) -> Result<(), Stop> {
    let (a, b, nobody) = (session.fresh_account(), session.fresh_account(), session.fresh_account());
    let mut id = || session.fresh_transaction();
    let operations = [
        Operation::transfer(id(), a, b, 1),
        Operation::create(id(), a),
        Operation::create(id(), a),
        Operation::issue(id(), a, 1 << 40),
        Operation::transfer(id(), a, nobody, 1),
        Operation::create(id(), b),
        Operation::transfer(id(), a, b, 1 << 39),
        Operation::transfer(id(), a, b, 1 << 40),
        Operation::transfer(id(), a, a, 1),
        Operation::transfer(id(), a, b, 0),
        Operation::refer(id(), b),
        Operation::refer(id(), nobody),
    ];
    let half = 1 << 39;
    let expected = [
        (Status::SourceUnknown, 0),
        (Status::Ok, 0),
        (Status::AccountExists, 0),
        (Status::Ok, 1 << 40),
        (Status::DestinationUnknown, 1 << 40),
        (Status::Ok, 0),
        (Status::Ok, half),
        (Status::InsufficientBalance, half),
        (Status::SelfTransfer, half),
        (Status::ZeroAmount, half),
        (Status::Ok, half),
        (Status::SourceUnknown, 0),
    ];
    let (results, _) = session.operations(&operations, Promise::Default)?;
    ensure_eq!(results, expected, "results");
    Ok(())
}

fn compact_entries(session: &mut Session) -> Result<(), Stop> {
    let (a, b) = (session.fresh(), session.fresh());
    let entries: Vec<CompactEntry> = [
        (Command::Create, a, 0, 0),
        (Command::Create, b, 0, 0),
        (Command::Issue, a, 0, 10),
        (Command::Transfer, a, b, 4),
        (Command::Transfer, a, b, 7),
        (Command::Refer, b, 0, 0),
    ]
    .map(|(command, source, destination, amount)| {
        CompactFrame::new(command, session.fresh(), source, destination, amount).into()
    })
    .into();
    let request = batch(session.fresh(), BatchFormat::Compact, entries.as_bytes(), entries.len(), Promise::Default);
    let reply = session.link.ask(&request)?;
    let Ok(Reply::Batch(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("answered with {}", excerpt(&reply))));
    };
    let BatchEntries::Compact(answers) = answer.entries else {
        return Err(Stop::Failed("the reply has another format".to_owned()));
    };
    let results: Vec<_> = answers.iter().map(|entry| (entry.frame.status(), entry.frame.value())).collect();
    let expected = [
        (Ok(Status::Ok), 0),
        (Ok(Status::Ok), 0),
        (Ok(Status::Ok), 10),
        (Ok(Status::Ok), 6),
        (Ok(Status::InsufficientBalance), 6),
        (Ok(Status::Ok), 4),
    ];
    ensure_eq!(results, expected, "results");
    ensure!(answers.iter().all(|entry| entry.reserved.get() == 0), "a reserved field is set in the reply");
    ensure_eq!(session.balance(b)?, 4, "the balance by a compact frame: the same account");
    let wide = Operation::refer(session.fresh_transaction(), AccountId::from(b));
    ensure_eq!(session.operation(wide)?, (Status::Ok, 4), "the balance by its id of 128 bits: the same account");
    Ok(())
}

fn overflow(session: &mut Session) -> Result<(), Stop> {
    let (rich, poor) = (session.funded_account(u64::MAX)?, session.funded_account(1)?);
    let issue = Operation::issue(session.fresh_transaction(), rich, 1);
    ensure_eq!(session.operation(issue)?, (Status::Overflow, u64::MAX), "ISSUE beyond 64 bits");
    let transfer = Operation::transfer(session.fresh_transaction(), poor, rich, 1);
    ensure_eq!(session.operation(transfer)?, (Status::Overflow, 1), "TRANSFER beyond 64 bits");
    ensure_eq!(session.operation(transfer)?, (Status::Overflow, 1), "its retry");
    Ok(())
}

fn retry(session: &mut Session) -> Result<(), Stop> {
    let (a, b) = (session.funded_account(100)?, session.funded_account(0)?);
    let operations: Vec<_> = (0..50).map(|_| Operation::transfer(session.fresh_transaction(), a, b, 3)).collect();
    let first = session.operations(&operations, Promise::Durable)?;
    let again = session.operations(&operations, Promise::Durable)?;
    ensure_eq!(again, first, "results of the retry");
    let reversed: Vec<_> = operations.iter().rev().copied().collect();
    let (mut results, _) = session.operations(&reversed, Promise::Durable)?;
    results.reverse();
    ensure_eq!(results, first.0, "results of a retry in another order");
    let refer = Operation::refer(session.fresh_transaction(), b);
    ensure_eq!(session.operation(refer)?, (Status::Ok, 99), "the receiver's balance");
    Ok(())
}

fn reused_within(session: &mut Session) -> Result<(), Stop> {
    let (a, b, id) = (session.funded_account(9)?, session.funded_account(0)?, session.fresh_transaction());
    let operations =
        [Operation::transfer(id, a, b, 4), Operation::transfer(id, a, b, 4), Operation::transfer(id, a, b, 5)];
    let (results, _) = session.operations(&operations, Promise::Default)?;
    let expected = [(Status::Ok, 5), (Status::Ok, 5), (Status::TransactionIdReused, 5)];
    ensure_eq!(results, expected, "results");
    Ok(())
}

/// Few accounts and few ids, so that everything that can go wrong does.
fn model(session: &mut Session) -> Result<(), Stop> {
    let accounts: Vec<_> = (0..6).map(|_| session.fresh_account()).collect();
    let ids: Vec<_> = (0..400).map(|_| session.fresh_transaction()).collect();
    let mut model = Model::default();
    model.set_time(now());
    let mut state = u64::from(session.fresh());
    let mut random = |below: u64| {
        // Numerical Recipes' constants.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..20 {
        let operations: Vec<_> = (0..100)
            .map(|_| {
                let account = accounts[random(6) as usize];
                let id = ids[random(400) as usize];
                let amount = if random(20) == 0 { u64::MAX - random(3) } else { random(4) * random(50) };
                // Without an expiry, and with one that is long past.
                let expiry = random(4) as u32 / 3;
                let hold = Operation::hold(ids[random(9) as usize], accounts[0], accounts[1], amount, expiry);
                match random(14) {
                    10 | 11 => hold,
                    12 => Operation::capture(&hold, amount),
                    13 => Operation::release(&hold),
                    0 => Operation::create(id, account),
                    1 | 2 => Operation::issue(id, account, amount),
                    3 => Operation::refer(id, account),
                    _ => Operation::transfer(id, account, accounts[random(6) as usize], amount),
                }
            })
            .collect();
        let (results, _) = session.operations(&operations, Promise::Default)?;
        for (operation, result) in operations.iter().zip(results) {
            ensure_eq!(result, model.execute(operation), "{operation:?}");
        }
    }
    Ok(())
}

fn promises(session: &mut Session) -> Result<(), Stop> {
    let default = session.info()?.promise().unwrap_or(Promise::Default);
    ensure!(default != Promise::Default, "the info frame does not tell the promise of compact frames");
    let account = session.funded_account(1)?;
    for asked in [Promise::Default, Promise::Accepted, Promise::Durable] {
        let issue = Operation::issue(session.fresh_transaction(), account, 1);
        let (_, given) = session.operations(&[issue], asked)?;
        let least = if asked == Promise::Default { default } else { asked };
        ensure!(given >= least, "{asked} was asked for, and {given} given");
    }
    // No node gives what it cannot: without replicas nothing is final, and the reply says what it is.
    let issue = Operation::issue(session.fresh_transaction(), account, 1);
    let (_, given) = session.operations(&[issue], Promise::Final)?;
    ensure!(given >= Promise::Durable, "final was asked for, and {given} given");
    let refer = Operation::refer(session.fresh_transaction(), account);
    let (results, given) = session.operations(&[refer], Promise::Durable)?;
    ensure_eq!((results, given >= Promise::Durable), (vec![(Status::Ok, 5)], true), "a durable REFER");
    Ok(())
}

fn malformed_entries(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded_account(5)?;
    let mut operations: Vec<_> = (0..4).map(|_| Operation::issue(session.fresh_transaction(), account, 1)).collect();
    operations[1].destination = account;
    operations[2].command = 13;
    let (results, _) = session.operations(&operations, Promise::Default)?;
    let statuses: Vec<_> = results.iter().map(|(status, _)| *status).collect();
    ensure_eq!(statuses, [Status::Ok, Status::Malformed, Status::UnknownCommand, Status::Ok], "statuses");
    let refer = Operation::refer(session.fresh_transaction(), account);
    ensure_eq!(session.operation(refer)?, (Status::Ok, 7), "balance");
    operations[1].destination = AccountId::ZERO;
    operations[1].status = U16::new(1);
    let (results, _) = session.operations(&operations[1..2], Promise::Default)?;
    ensure_eq!(results[0].0, Status::Malformed, "an entry with a status");

    let mut entry = CompactEntry::from(CompactFrame::new(Command::Create, session.fresh(), session.fresh(), 0, 0));
    entry.reserved = U16::new(1);
    let request = batch(session.fresh(), BatchFormat::Compact, entry.as_bytes(), 1, Promise::Default);
    let reply = session.link.ask(&request)?;
    let Ok(Reply::Batch(answer)) = Reply::parse(&reply) else {
        return Err(Stop::Failed(format!("answered with {}", excerpt(&reply))));
    };
    let BatchEntries::Compact([entry]) = answer.entries else {
        return Err(Stop::Failed("the reply has another number of entries".to_owned()));
    };
    ensure_eq!(entry.frame.status(), Ok(Status::Malformed), "a compact entry with its reserved field set");
    Ok(())
}

fn malformed_header(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded_account(5)?;
    let issue = Operation::issue(session.fresh_transaction(), account, 1);
    let right = batch(session.fresh(), BatchFormat::Operation, issue.as_bytes(), 1, Promise::Default);
    // Format, promise, status, reserved.
    for (offset, value) in [(10, 3), (10, 255), (11, 4), (11, 255), (12, 1), (13, 1), (14, 1), (15, 255)] {
        let mut request = right.clone();
        request[offset] = value;
        session.expect_batch_refused(&request, Status::Malformed)?;
    }
    let empty = BatchHeader::new(session.fresh(), BatchFormat::Operation, 0, Promise::Default);
    session.expect_batch_refused(empty.as_bytes(), Status::Malformed)?;
    let refer = Operation::refer(session.fresh_transaction(), account);
    ensure_eq!(session.operation(refer)?, (Status::Ok, 5), "balance");
    Ok(())
}

fn malformed_length(session: &mut Session) -> Result<(), Stop> {
    let account = session.fresh_account();
    let create = Operation::create(session.fresh_transaction(), account);
    let right = batch(session.fresh(), BatchFormat::Operation, create.as_bytes(), 1, Promise::Default);
    for change in [-1, -64, 1, 64] {
        let mut request = right.clone();
        request.resize((right.len() as isize + change) as usize, 0);
        session.expect_error(&request, Status::Malformed)?;
    }
    for count in [2u16, u16::MAX] {
        let mut request = right.clone();
        request[8..10].copy_from_slice(&count.to_be_bytes());
        session.expect_error(&request, Status::Malformed)?;
    }
    let refer = Operation::refer(session.fresh_transaction(), account);
    ensure_eq!(session.operation(refer)?, (Status::SourceUnknown, 0), "the account");
    Ok(())
}

fn largest(session: &mut Session) -> Result<(), Stop> {
    let most = session.info()?.max_datagram.get() as usize;
    let count = BatchFormat::Operation.entries_in(most.min(MAX_DATAGRAM));
    let (a, b) = (session.funded_account(count as u64)?, session.funded_account(0)?);
    let operations: Vec<_> = (0..count).map(|_| Operation::transfer(session.fresh_transaction(), a, b, 1)).collect();
    let (results, _) = session.operations(&operations, Promise::Durable)?;
    for (index, result) in results.into_iter().enumerate() {
        ensure_eq!(result, (Status::Ok, (count - 1 - index) as u64), "operation {index} of {count}");
    }
    Ok(())
}

fn keyed(session: &mut Session) -> Result<(), Stop> {
    let account = session.signer()?.account();
    let create = Operation::create(session.fresh_transaction(), account);
    ensure_eq!(session.operation(create)?, (Status::NotAuthorised, 0), "unsigned CREATE of a keyed account");
    let issue = Operation::issue(session.fresh_transaction(), account, 1);
    ensure_eq!(session.operation(issue)?.0, Status::NotAuthorised, "unsigned ISSUE to a keyed account");
    Ok(())
}

fn not_trusted(session: &mut Session) -> Result<(), Stop> {
    let mut stranger = session.stranger()?;
    let account = session.fresh_account();
    let create = Operation::create(session.fresh_transaction(), account);
    let request = batch(session.fresh(), BatchFormat::Operation, create.as_bytes(), 1, Promise::Default);
    batch_refused(&request, &stranger.ask(&request)?, Status::NotTrusted)?;
    let entry = CompactEntry::from(CompactFrame::new(Command::Create, session.fresh(), session.fresh(), 0, 0));
    let request = batch(session.fresh(), BatchFormat::Compact, entry.as_bytes(), 1, Promise::Default);
    batch_refused(&request, &stranger.ask(&request)?, Status::NotTrusted)?;
    let refer = Operation::refer(session.fresh_transaction(), account);
    ensure_eq!(session.operation(refer)?, (Status::SourceUnknown, 0), "the account");
    Ok(())
}

fn contract(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded_account(1)?;
    let mut issue = Operation::issue(session.fresh_transaction(), account, 1);
    issue.contract = 7.into();
    ensure_eq!(session.operation(issue)?, (Status::Ok, 2), "ISSUE with a contract code");
    ensure_eq!(session.operation(issue)?, (Status::Ok, 2), "its retry");
    issue.contract = 8.into();
    ensure_eq!(session.operation(issue)?, (Status::TransactionIdReused, 2), "the same id with another contract code");
    Ok(())
}

/// The balance of an account by its id of 128 bits; `None` if there is no such account.
fn balance(session: &mut Session, account: AccountId) -> Result<Option<u64>, Stop> {
    let refer = Operation::refer(session.fresh_transaction(), account);
    let (status, value) = session.operation(refer)?;
    Ok((status == Status::Ok).then_some(value))
}

fn linked_together(session: &mut Session) -> Result<(), Stop> {
    let (a, b) = (session.funded_account(100)?, session.funded_account(0)?);
    let (new, other) = (session.fresh_account(), session.fresh_account());
    let mut id = || session.fresh_transaction();
    let operations = [
        Operation::create(id(), new).linked(),
        Operation::transfer(id(), a, new, 30).linked(),
        Operation::transfer(id(), new, b, 20),
        // It needs the result of the first chain.
        Operation::transfer(id(), new, b, 1),
        Operation::create(id(), other).linked(),
        Operation::transfer(id(), a, other, 70).linked(),
        Operation::transfer(id(), other, b, 71).linked(),
        Operation::issue(id(), b, 1),
        Operation::transfer(id(), a, b, 1),
    ];
    let (results, _) = session.operations(&operations, Promise::Default)?;
    let expected = [
        (Status::Ok, 0),
        (Status::Ok, 70),
        (Status::Ok, 10),
        (Status::Ok, 9),
        (Status::LinkedFailed, 0),
        (Status::LinkedFailed, 70),
        (Status::InsufficientBalance, 0),
        (Status::LinkedFailed, 21),
        (Status::Ok, 69),
    ];
    ensure_eq!(results, expected, "results");
    ensure_eq!(balance(session, other)?, None, "the account of the failed chain");
    ensure_eq!(balance(session, b)?, Some(22), "the receiver's balance");
    Ok(())
}

fn linked_retry(session: &mut Session) -> Result<(), Stop> {
    let (a, b) = (session.funded_account(10)?, session.funded_account(10)?);
    let mut id = || session.fresh_transaction();
    let done = [Operation::transfer(id(), a, b, 4).linked(), Operation::transfer(id(), b, a, 14)];
    let refused = [Operation::transfer(id(), a, b, 99).linked(), Operation::transfer(id(), b, a, 1)];
    let new = [Operation::issue(id(), a, 1).linked(), Operation::issue(id(), b, 1).linked()];
    let more = Operation::issue(id(), a, 30);
    let first = session.operations(&done, Promise::Default)?.0;
    ensure_eq!(first, [(Status::Ok, 6), (Status::Ok, 0)], "results");
    let second = session.operations(&refused, Promise::Default)?.0;
    ensure_eq!(second, [(Status::InsufficientBalance, 20), (Status::LinkedFailed, 0)], "results of a failed chain");
    ensure_eq!(session.operation(more)?, (Status::Ok, 50), "ISSUE");
    for (chain, first) in [(done, &first), (refused, &second)] {
        ensure_eq!(session.operations(&chain, Promise::Durable)?.0, *first, "results of a retry");
    }
    // If a part is known, nothing is executed.
    let (results, _) = session.operations(&[new[0], new[1], done[1]], Promise::Default)?;
    let expected = [(Status::LinkedFailed, 50), (Status::LinkedFailed, 0), first[1]];
    ensure_eq!(results, expected, "a chain of new operations and a known one");
    let alone = Operation { flags: 0, ..done[0] };
    ensure_eq!(session.operation(alone)?, (Status::TransactionIdReused, 50), "the same operation without its link");
    let (results, _) = session.operations(&[new[0], Operation { flags: 0, ..new[1] }], Promise::Default)?;
    ensure_eq!(results, [(Status::Ok, 51), (Status::Ok, 1)], "the new operations left no trace");
    Ok(())
}

fn linked_invalid(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded_account(5)?;
    let invalid = (Status::LinkedInvalid, 5);
    let issues = |session: &mut Session, count: usize| {
        Vec::from_iter((0..count).map(|_| Operation::issue(session.fresh_transaction(), account, 1).linked()))
    };
    // The batch ends inside the chain, and the next one does not continue it.
    for length in [1, 2, 64] {
        let chain = issues(session, length);
        ensure_eq!(session.operations(&chain, Promise::Default)?.0, vec![invalid; length], "an open chain of {length}");
        ensure_eq!(balance(session, account)?, Some(5), "balance after an open chain");
    }
    let mut chain = issues(session, 65);
    chain[64].flags = 0;
    ensure_eq!(session.operations(&chain, Promise::Default)?.0, vec![invalid; 65], "a chain of 65");
    // A chain with REFER is refused; other operations of the batch are executed.
    let mut batch = issues(session, 4);
    batch[1] = Operation::refer(session.fresh_transaction(), account).linked();
    (batch[0].flags, batch[2].flags, batch[3].flags) = (0, 0, 0);
    let (results, _) = session.operations(&batch, Promise::Default)?;
    let (first, second) = ((Status::Ok, 6), (Status::Ok, 7));
    ensure_eq!(results, [first, (Status::LinkedInvalid, 6), (Status::LinkedInvalid, 6), second], "a chain with REFER");
    let mut chain = issues(session, 64);
    chain[63].flags = 0;
    let results = session.operations(&chain, Promise::Default)?.0;
    ensure_eq!(results, Vec::from_iter((8..72).map(|balance| (Status::Ok, balance))), "a chain of 64");
    // Unsigned operations are bound to nothing.
    for (flags, expected) in [(4, Status::LinkedInvalid), (6, Status::LinkedInvalid), (8, Status::Malformed)] {
        let issue = Operation { flags, ..Operation::issue(session.fresh_transaction(), account, 1) };
        ensure_eq!(session.operation(issue)?, (expected, 71), "flags {flags}");
    }
    Ok(())
}

fn linked_refused(session: &mut Session) -> Result<(), Stop> {
    let account = session.funded_account(5)?;
    let mut chain: Vec<_> =
        (0..3).map(|_| Operation::issue(session.fresh_transaction(), account, 1).linked()).collect();
    chain[2].flags = 0;
    for (refusal, change) in [
        (Status::Malformed, Operation { destination: account, ..chain[1] }),
        (Status::UnknownCommand, Operation { command: 13, ..chain[1] }),
        (Status::ZeroAmount, Operation { amount: 0.into(), ..chain[1] }),
        (Status::TransactionIdReused, Operation { transaction: chain[0].transaction, ..chain[1] }),
    ] {
        let (results, _) = session.operations(&[chain[0], change, chain[2]], Promise::Default)?;
        let expected = [(Status::LinkedFailed, 5), (refusal, 5), (Status::LinkedFailed, 5)];
        ensure_eq!(results, expected, "a chain with {refusal}");
    }
    let (results, _) = session.operations(&chain, Promise::Default)?;
    ensure_eq!(results, [(Status::Ok, 6), (Status::Ok, 7), (Status::Ok, 8)], "the chain without it");
    Ok(())
}

/// Few accounts, so that many chains fail.
fn linked_model(session: &mut Session) -> Result<(), Stop> {
    let accounts: Vec<_> = (0..4).map(|_| session.fresh_account()).collect();
    let ids: Vec<_> = (0..1000).map(|_| session.fresh_transaction()).collect();
    let mut model = model::Model::default();
    let mut state = u64::from(session.fresh());
    let mut random = |below: u64| {
        // Numerical Recipes' constants.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..20 {
        let mut operations: Vec<_> = (0..100)
            .map(|_| {
                let account = accounts[random(4) as usize];
                let id = ids[random(1000) as usize];
                let operation = match random(10) {
                    0 => Operation::create(id, account),
                    1..4 => Operation::issue(id, account, 1 + random(50)),
                    _ => Operation::transfer(id, account, accounts[random(4) as usize], 1 + random(20)),
                };
                if random(2) == 0 { operation.linked() } else { operation }
            })
            .collect();
        operations[99].flags = 0;
        for attempt in ["first", "second"] {
            let (results, _) = session.operations(&operations, Promise::Default)?;
            let outcomes = model.execute_batch(&operations);
            for ((operation, result), outcome) in operations.iter().zip(results).zip(outcomes) {
                ensure_eq!(result, (outcome.status, outcome.value), "{operation:?}, {attempt} time");
            }
        }
    }
    Ok(())
}
