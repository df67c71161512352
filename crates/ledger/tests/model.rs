//! The ledger against a plain model, under random operations in random batches, and through recoveries.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{account, transaction};
use model::{Model, Outcome};
use proptest::prelude::*;
use turnpike_ledger::{Error, Ledger, Limits, Now, Recovery, Secret, journal::Newest, retries};
use wire::{Operation, SignedOperation, Status, linked};

const ACCOUNTS: usize = 24;
/// More retries than the tests have operations; time stands still.
const LIMITS: Limits = Limits { accounts: ACCOUNTS, retries: retries::Limits::with_operations(1 << 13) };
const NOW: Now = Now { elapsed: 0, unix: 1_000_000 };

/// A journal as the tests keep it: operations with their statuses, and values.
type Journal = Vec<(Operation, u64)>;

fn ledger() -> Ledger {
    let mut ledger = Ledger::new(LIMITS, Secret::default()).unwrap();
    ledger.allow_freezing(true);
    ledger
}

fn model() -> Model {
    let mut model = Model::new(ACCOUNTS).allow_freezing();
    model.set_time(NOW.unix);
    model
}

/// Amounts around the interesting limits.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 1u64..50,
        1 => Just(0),
        1 => Just(u64::MAX),
        1 => Just(u64::MAX / 2),
        1 => any::<u64>(),
    ]
}

/// Few accounts, some of which never fit in the table, and few transaction ids, so that there are retries and reuses.
fn operation() -> impl Strategy<Value = Operation> {
    let fields = (0u16..62, 0u64..32, 0u64..32, amount(), 0u64..400, 0u32..40);
    fields.prop_map(|(kind, source, destination, amount, id, odd)| {
        let (source, destination, id) = (account(source), account(destination), transaction(id));
        let mut operation = match kind {
            5..8 if source.0[15] % 3 != 0 => Operation::open(id, source, (source.0[15] % 3).into()),
            0..8 => Operation::create(id, source),
            8..14 => Operation::issue(id, source, amount),
            14..18 => Operation::refer(id, source),
            18 => Operation::new(wire::Command::Create, id, source, destination, amount),
            19..40 => Operation::transfer(id, source, destination, amount),
            52..54 => Operation::freeze(id, source),
            54..57 => Operation::unfreeze(id, source),
            57..62 => Operation::close(id, source),
            // Few of them, so that holds are ended. Time stands still at the first second.
            _ => {
                let (id, source, destination) = (transaction(odd.into()), account(odd as u64 % 5), account(7));
                let hold = Operation::hold(id, source, destination, amount % 30, kind as u32 % 3);
                match kind {
                    40..46 => hold,
                    46..48 => Operation::capture(&hold, amount % 12),
                    48..50 => Operation::release(&hold),
                    _ => Operation::reclaim(&hold),
                }
            }
        };
        match odd {
            0 => operation.command = 13,
            1 => operation.status.set(Status::NotAuthorised.code()),
            2 => operation.status.set(0xfff0),
            3 => operation.contract.set(7),
            4 => operation.flags = Operation::BOUND,
            5..24 => operation.flags = Operation::LINKED,
            _ => {}
        }
        operation
    })
}

/// Executes a batch in the ledger and in the model, and compares.
fn execute(ledger: &mut Ledger, model: &mut Model, operations: &[Operation], journal: &mut Journal) {
    let mut batch = operations.to_vec();
    let mut values = vec![0; batch.len()];
    let mut recorded = Vec::new();
    ledger.execute(&mut batch, &mut values, NOW, |operation, value| recorded.push((*operation, value)));
    let mut expected = Vec::new();
    let outcomes = model.execute_batch(operations);
    for (((operation, executed), value), outcome) in operations.iter().zip(&batch).zip(&values).zip(outcomes) {
        let Outcome { status, value: expected_value, is_fresh: fresh } = outcome;
        assert_eq!((executed.status(), *value), (Ok(status), expected_value), "{operation:?}");
        let mut with_status = *operation;
        with_status.status.set(status.code());
        assert_eq!(executed, &with_status);
        if fresh {
            assert!(status.is_journalled());
            expected.push((with_status, expected_value));
        }
    }
    assert_eq!(recorded, expected);
    journal.extend(recorded);
    assert_eq!(ledger.last_sequence(), journal.len() as u64);
    assert_same(ledger, model);
}

fn assert_same(ledger: &Ledger, model: &Model) {
    let balances: BTreeMap<_, _> = ledger.iter().collect();
    assert_eq!(balances, *model.balances());
    assert_eq!(ledger.accounts(), model.balances().len());
    let frozen = BTreeSet::from_iter(balances.keys().copied().filter(|account| ledger.is_frozen(account)));
    assert_eq!(frozen, *model.frozen());
    assert_eq!(ledger.frozen(), frozen.len());
    let holds: BTreeMap<_, _> = ledger.iter_holds().collect();
    let id = |(payer, receiver, transaction, expiry): &model::HoldName| {
        wire::AccountId(spv::hash::hold_id(&payer.0, &receiver.0, &transaction.0, *expiry))
    };
    assert_eq!(holds, model.holds().iter().map(|(name, amount)| (id(name), *amount)).collect());
    assert_eq!(ledger.issued(), model.issued());
    balances.keys().for_each(|account| assert_eq!(ledger.asset(account), Some(model.asset(*account))));
    let hold_assets = model.holds().keys().map(|name| (ledger.asset_of_hold(&id(name)), model.asset_of_hold(name)));
    hold_assets.for_each(|(asset, expected)| assert_eq!(asset, Some(expected)));
    let issued = ledger.issued_by_asset().into_iter().filter(|(_, issued)| *issued > 0);
    assert_eq!(issued.collect::<BTreeMap<_, _>>(), model.sums());
    assert_eq!(ledger.issued(), balances.values().chain(holds.values()).copied().map(u128::from).sum::<u128>());
}

/// The start of the linked chain that a position of the journal is in, or else the position: blocks end there.
fn before_chain(journal: &Journal, position: usize) -> usize {
    position - journal[..position].iter().rev().take_while(|(operation, _)| operation.is_linked()).count()
}

/// Recovers from balances after `covered` operations of the journal, with the journal from operation `first` on.
fn recover(limits: Limits, journal: &Journal, covered: usize, first: usize) -> Result<Ledger, Error> {
    let mut balances = Recovery::new(limits, Secret::default(), 0, 1)?;
    journal[..covered].iter().try_for_each(|(operation, value)| balances.operation(operation, *value))?;
    let balances = balances.finish()?;

    let mut recovery = Recovery::new(limits, Secret::default(), covered as u64, first as u64 + 1)?;
    let entry = |(id, amount): (wire::AccountId, u64), position: u32| spv::IndexEntry {
        account: id.0,
        balance: amount.into(),
        height: 1.into(),
        position: position.into(),
    };
    let accounts = balances.iter().map(|account| {
        let mark = if balances.is_frozen(&account.0) { spv::FROZEN_BIT } else { 0 };
        (account, balances.asset(&account.0).unwrap(), mark)
    });
    let holds = balances.iter_holds().map(|hold| (hold, balances.asset_of_hold(&hold.0).unwrap(), spv::HOLD_BIT));
    for (amount, asset, mark) in accounts.chain(holds) {
        if asset != 0 {
            let asset_id = wire::AccountId(spv::asset_id(&amount.0.0));
            recovery.entry(&entry((asset_id, asset.into()), spv::ASSET_ENTRY))?;
        }
        recovery.entry(&entry(amount, mark | if asset != 0 { spv::ASSET_BIT } else { 0 }))?;
    }
    journal[first..].iter().try_for_each(|(operation, value)| recovery.operation(operation, *value))?;
    let mut ledger = recovery.finish()?;
    ledger.allow_freezing(true);
    Ok(ledger)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn does_what_the_model_does(batches in prop::collection::vec(prop::collection::vec(operation(), 1..100), 1..60)) {
        let (mut ledger, mut model, mut journal) = (ledger(), model(), Journal::new());
        for batch in &batches {
            execute(&mut ledger, &mut model, batch, &mut journal);
        }
    }

    #[test]
    fn comes_back_as_it_was(
        before in prop::collection::vec(operation(), 1..2500), after in prop::collection::vec(operation(), 1..500),
        covered in any::<prop::sample::Index>(),
    ) {
        let (mut ledger, mut model, mut journal) = (ledger(), model(), Journal::new());
        execute(&mut ledger, &mut model, &before, &mut journal);
        let covered = before_chain(&journal, covered.index(journal.len() + 1));
        // Everything is remembered, so that every retry is recognised.
        let first = 0;
        let mut recovered = recover(LIMITS, &journal, covered, first).unwrap();
        assert_same(&recovered, &model);
        execute(&mut recovered, &mut model, &before[before.len().saturating_sub(50)..], &mut journal);
        execute(&mut recovered, &mut model, &after, &mut journal);
    }

    #[test]
    fn notices_a_journal_of_another_ledger(operations in prop::collection::vec(operation(), 50..300), at: prop::sample::Index) {
        let (mut ledger, mut model, mut journal) = (ledger(), model(), Journal::new());
        execute(&mut ledger, &mut model, &operations, &mut journal);
        prop_assume!(!journal.is_empty());
        let at = at.index(journal.len());
        journal[at].1 ^= 1 << 40;
        // What failed for a full table is not executed again, nor is the rest of its chain.
        let start = before_chain(&journal, at);
        let length = linked::chain_length(&Vec::from_iter(journal[start..].iter().map(|(operation, _)| *operation)));
        let is_full = |(operation, _): &(Operation, u64)| operation.status() == Ok(Status::TableFull);
        let full = journal[start..start + length].iter().any(is_full);
        let result = recover(LIMITS, &journal, 0, 0);
        match result {
            Err(Error::Diverged { sequence, .. }) => prop_assert_eq!(sequence, at as u64 + 1),
            other => prop_assert!(full, "{:?}", other),
        }
    }
}

#[test]
fn a_full_table_stays_full_in_the_journal() {
    let (mut ledger, mut model, mut journal) = (ledger(), model(), Journal::new());
    let creates: Vec<_> = (0..30).map(|id| Operation::create(transaction(id), account(id))).collect();
    execute(&mut ledger, &mut model, &creates, &mut journal);
    assert_eq!(journal[ACCOUNTS].0.status(), Ok(Status::TableFull));

    // With more room than before, a refused operation is still refused when it is retried.
    let mut larger = recover(Limits { accounts: 100, ..LIMITS }, &journal, 10, 0).unwrap();
    let mut again = [creates[ACCOUNTS], Operation::create(transaction(99), account(29))];
    let mut values = [0; 2];
    larger.execute(&mut again, &mut values, NOW, |_, _| {});
    assert_eq!(again.map(|operation| operation.status()), [Ok(Status::TableFull), Ok(Status::Ok)]);

    // With less room the ledger cannot be recovered.
    for covered in [0, ACCOUNTS] {
        let error = recover(Limits { accounts: 10, ..LIMITS }, &journal, covered, 0).unwrap_err();
        assert!(matches!(error, Error::TooManyAccounts { limit: 10 }), "{error}");
    }
}

/// A ledger fits in the memory that it asks for; a page less of any part is too little.
#[test]
fn a_ledger_lies_in_memory_given() {
    const PAGE: usize = 4096;
    // Larger than in other tests, so that each part takes more than a page.
    let limits = Limits { accounts: 10_000, retries: retries::Limits::with_operations(1 << 14) };
    let within = |sizes: [usize; 4]| {
        let [accounts, header, index, ring] =
            sizes.map(|bytes| table::Region::anonymous(bytes, table::Pages::default(), false).unwrap());
        let memory = turnpike_ledger::Memory { accounts, retries: retries::Memory { header, index, ring } };
        Ledger::within(memory, limits, Secret::default())
    };
    let sizes = limits.memory().unwrap();
    for part in (0..4).filter(|part| sizes[*part] > PAGE) {
        let mut smaller = sizes;
        smaller[part] -= PAGE;
        assert!(matches!(within(smaller), Err(Error::Memory { .. } | Error::RetryMemory { .. })), "part {part}");
    }
    assert!(sizes[0] > PAGE && sizes[2] > PAGE && sizes[3] > PAGE, "{sizes:?}");
    let mut ledger = within(sizes).unwrap();
    let mut creates: Vec<_> = (0..10_001).map(|id| Operation::create(transaction(id), account(id))).collect();
    for batch in creates.chunks_mut(1000) {
        ledger.execute(batch, &mut vec![0; batch.len()], NOW, |_, _| {});
    }
    assert_eq!(creates.pop().map(|full| full.status()), Some(Ok(Status::TableFull)));
    assert!(creates.iter().all(|operation| operation.status() == Ok(Status::Ok)));
}

/// A create, an issue and a transfer in one chain.
fn payment(id: u64, amount: u64) -> [Operation; 3] {
    [
        Operation::create(transaction(id), account(id)).linked(),
        Operation::issue(transaction(id + 1), account(id), 100).linked(),
        Operation::transfer(transaction(id + 2), account(id), account(1), amount),
    ]
}

/// The statuses of a chain, and the number of operations that went into the journal.
fn statuses<E: turnpike_ledger::Executable, const N: usize>(
    ledger: &mut Ledger,
    mut chain: [E; N],
) -> ([Status; N], usize) {
    let mut recorded = 0;
    ledger.execute(&mut chain, &mut [0; N], NOW, |_, _| recorded += 1);
    (chain.map(|entry| entry.operation().status().unwrap()), recorded)
}

#[test]
fn a_chain_succeeds_or_fails_as_a_whole() {
    use Status::{InsufficientBalance, LinkedFailed as Failed, Ok, TransactionIdReused};
    let mut ledger = ledger();
    assert_eq!(statuses(&mut ledger, [Operation::create(transaction(1), account(1))]), ([Ok], 1));
    // Each sees the effects of those before it, and none of a failed chain remains.
    let refused = payment(10, 101);
    assert_eq!(statuses(&mut ledger, refused), ([Failed, Failed, InsufficientBalance], 3));
    assert_eq!((ledger.balance(&account(10)), ledger.accounts(), ledger.issued()), (None, 1, 0));
    let paid = payment(20, 99);
    assert_eq!(statuses(&mut ledger, paid), ([Ok; 3], 3));
    assert_eq!((ledger.balance(&account(20)), ledger.balance(&account(1))), (Some(1), Some(99)));
    // A retry gets the first results.
    assert_eq!(statuses(&mut ledger, paid), ([Ok; 3], 0));
    assert_eq!(statuses(&mut ledger, refused), ([Failed, Failed, InsufficientBalance], 0));
    // If a part is known, nothing is executed.
    let [create, issue, _] = payment(30, 5);
    assert_eq!(statuses(&mut ledger, [create, issue, paid[2]]), ([Failed, Failed, Ok], 0));
    let other = Operation::transfer(transaction(22), account(20), account(1), 1);
    assert_eq!(statuses(&mut ledger, [create, issue, other]), ([Failed, Failed, TransactionIdReused], 0));
    let twice = Operation::issue(transaction(31), account(30), 7);
    assert_eq!(statuses(&mut ledger, [create, issue, twice]), ([Failed, Failed, TransactionIdReused], 0));
    // Their names stay free.
    assert_eq!(statuses(&mut ledger, payment(30, 5)), ([Ok; 3], 3));
    assert_eq!(ledger.issued(), 200);
}

/// Anybody can sign for an account that does not exist, in a chain as well: it leaves no trace, unless the chain opens
/// the account first.
#[test]
fn a_signed_chain_of_an_unknown_account_leaves_no_trace() {
    let sign = |operation: Operation, linked: u8| {
        let flags = Operation::BOUND | linked;
        SignedOperation::unsigned(Operation { flags, ..operation }, 5, 0, wire::Promise::Durable, [2; 33])
    };
    let transfer = |id| sign(Operation::transfer(transaction(id), account(2), account(1), 1), 0);
    let create = |id, source| sign(Operation::create(transaction(id), account(source)), Operation::LINKED);
    let mut ledger = ledger();
    let unknown = statuses(&mut ledger, [create(1, 1), transfer(2)]);
    assert_eq!(unknown, ([Status::LinkedFailed, Status::SourceUnknown], 0));
    assert_eq!(statuses(&mut ledger, [create(1, 2), transfer(2)]).1, 2, "the account is opened before it pays");
    assert_eq!(statuses(&mut ledger, [transfer(3)]), ([Status::LinkedInvalid], 0), "it is signed for a chain");
}

#[test]
fn a_chain_that_the_memory_of_retries_has_no_room_for_is_busy() {
    let limits = Limits { accounts: 10, retries: retries::Limits::with_operations(retries::MIN_CAPACITY) };
    let mut ledger = Ledger::new(limits, Secret::default()).unwrap();
    for id in 0..retries::MIN_CAPACITY as u64 - 2 {
        statuses(&mut ledger, [Operation::create(transaction(1000 + id), account(1))]);
    }
    assert_eq!(statuses(&mut ledger, payment(20, 5)), ([Status::Busy; 3], 0));
    assert_eq!(statuses(&mut ledger, [payment(20, 5)[0], payment(20, 5)[2]]).1, 2);
}

#[test]
fn the_journal_takes_whole_chains() {
    let chain = payment(10, 5);
    let entries = [Operation::create(transaction(1), account(1)), chain[0], chain[1], chain[2]];
    for (room, busy) in [(0, 4), (1, 3), (2, 3), (3, 3), (4, 0)] {
        let mut entries = entries;
        turnpike_ledger::refuse_beyond(&mut entries, room, Status::Busy);
        assert!(entries[..4 - busy].iter().all(|operation| operation.status() == Ok(Status::Ok)), "room for {room}");
        assert!(entries[4 - busy..].iter().all(|operation| operation.status() == Ok(Status::Busy)), "room for {room}");
    }
}

#[test]
fn a_journal_that_ends_inside_a_chain_is_damaged() {
    let mut recovery = Recovery::new(LIMITS, Secret::default(), 0, 1).unwrap();
    let chain = payment(10, 100);
    recovery.operation(&chain[0], 0).unwrap();
    assert_eq!(recovery.next_sequence(), 2);
    recovery.operation(&chain[1], 100).unwrap();
    assert!(matches!(recovery.finish(), Err(Error::CutChain { sequence: 2 })));
    let mut recovery = Recovery::new(LIMITS, Secret::default(), 0, 1).unwrap();
    let results = (0..64).map(|_| recovery.operation(&chain[0], 0).is_ok());
    assert_eq!(results.filter(|is_ok| *is_ok).count(), 63);
}

#[test]
fn what_the_journal_has_no_room_for_is_refused() {
    let refused =
        Operation { status: Status::NotAuthorised.code().into(), ..Operation::create(transaction(3), account(3)) };
    let entries = [
        Operation::create(transaction(1), account(1)),
        Operation::refer(transaction(2), account(2)),
        refused,
        Operation { command: 13, ..Operation::default() },
        Operation::issue(transaction(4), account(4), 1),
    ];
    for (room, expected) in [
        (0, [Status::Busy, Status::Ok, Status::NotAuthorised, Status::Ok, Status::Busy]),
        (1, [Status::Ok, Status::Ok, Status::NotAuthorised, Status::Ok, Status::Busy]),
        (5, [Status::Ok, Status::Ok, Status::NotAuthorised, Status::Ok, Status::Ok]),
    ] {
        let mut entries = entries;
        turnpike_ledger::refuse_beyond(&mut entries, room, Status::Busy);
        assert_eq!(entries.map(|operation| operation.status().unwrap()), expected, "room for {room}");
    }
}

/// A journal with more operations than can be remembered, plus a quarter, reports which limit to raise.
#[test]
fn a_journal_of_more_retries_than_there_is_memory_for() {
    let limits = Limits { accounts: 10_000, retries: retries::Limits::with_operations(retries::MIN_CAPACITY) };
    let most = retries::MIN_CAPACITY as u64 * 5 / 4;
    for (is_signed, expected) in [(false, "ledger.retry_operations"), (true, "ledger.signed_operations")] {
        let mut recovery = Recovery::new(limits, Secret::default(), 0, 1).unwrap();
        let mut operation = |id| match is_signed {
            false => recovery.operation(&Operation::create(transaction(id), account(id)), 0),
            true => recovery.operation(&signed(id, NOW.unix), 0),
        };
        (0..most).for_each(|id| operation(id).unwrap());
        let error = operation(most).unwrap_err();
        assert!(matches!(&error, Error::TooManyRetries { key, .. } if *key == expected), "{error}");
    }
}

#[test]
fn a_gap_in_the_journal_is_an_error() {
    let recovery = |covered, first| Recovery::new(LIMITS, Secret::default(), covered, first);
    assert!(matches!(recovery(5, 7), Err(Error::Gap { covered: 5, first: 7 })));
    assert!(recovery(5, 6).unwrap().finish().is_ok());
    assert!(matches!(recovery(5, 3).unwrap().finish(), Err(Error::Gap { covered: 5, first: 3 })));
}

/// A time in seconds.
fn at(seconds: u64) -> Now {
    Now { elapsed: seconds * SECOND, unix: NOW.unix + seconds * SECOND }
}

const SECOND: u64 = 1_000_000;

/// Executes one operation. Returns its status, and whether it goes into the journal.
fn execute_one<E: turnpike_ledger::Executable + Clone>(ledger: &mut Ledger, entry: &E, now: Now) -> (Status, bool) {
    let (mut batch, mut is_fresh) = ([entry.clone()], false);
    ledger.execute(&mut batch, &mut [0], now, |_, _| is_fresh = true);
    (batch[0].operation().status().unwrap(), is_fresh)
}

fn signed(id: u64, timestamp: u64) -> SignedOperation {
    let operation = Operation::create(transaction(id), account(id));
    SignedOperation::unsigned(operation, timestamp, 0, wire::Promise::Accepted, [2; 33])
}

#[test]
fn a_signed_operation_is_remembered_until_its_timestamp_is_too_old() {
    let mut ledger = ledger();
    let replay = LIMITS.retries.replay.as_secs();
    let [first, ahead] = [signed(1, at(0).unix), signed(2, at(2).unix)];
    for entry in [&first, &ahead] {
        assert_eq!(execute_one(&mut ledger, entry, at(0)), (Status::Ok, true));
        assert_eq!(execute_one(&mut ledger, entry, at(replay)), (Status::Ok, false));
    }
    // Once it is forgotten, everything not newer is stale, including the timestamp itself.
    let later = at(replay + 3);
    for (id, timestamp, expected) in [
        (1, at(0).unix, Status::StaleTimestamp),
        (3, at(2).unix - 1, Status::StaleTimestamp),
        (3, at(2).unix, Status::StaleTimestamp),
        (3, at(2).unix + 1, Status::Ok),
    ] {
        let found = execute_one(&mut ledger, &signed(id, timestamp), later);
        assert_eq!(found, (expected, expected == Status::Ok), "{id} of {timestamp}");
    }
    assert_eq!(ledger.signed_horizon(), at(2).unix);
    // The clock is set back by an hour: no executed operation is accepted again.
    let back = Now { unix: at(0).unix, ..later };
    assert_eq!(execute_one(&mut ledger, &first, back), (Status::StaleTimestamp, false));
}

/// Load of the other kind, and clocks that are ahead, make no operation stale.
#[test]
fn nobody_moves_the_horizon_of_others() {
    let mut ledger = ledger();
    for id in 0..30 {
        execute_one(&mut ledger, &signed(id, at(2).unix - 50_000), at(0));
    }
    for id in 0..4000 {
        execute_one(&mut ledger, &Operation::create(transaction(id), account(99)), at(9));
    }
    assert_eq!(ledger.signed_horizon(), 0);
    let honest = signed(5000, at(1).unix);
    assert_eq!(execute_one(&mut ledger, &honest, at(9)).0, Status::TableFull);
}

/// A signed operation for an account that does not exist uses no memory.
#[test]
fn a_signature_of_nobody_leaves_no_trace() {
    let mut ledger = ledger();
    let transfer = Operation::transfer(transaction(1), account(1), account(2), 3);
    let nobody = SignedOperation::unsigned(transfer, at(1).unix, 0, wire::Promise::Accepted, [2; 33]);
    assert_eq!(execute_one(&mut ledger, &nobody, at(1)), (Status::SourceUnknown, false));
    assert_eq!(ledger.retries(at(1))[1].operations, 0);
    for id in [1, 2] {
        execute_one(&mut ledger, &Operation::create(transaction(id), account(id)), at(1));
    }
    assert_eq!(execute_one(&mut ledger, &nobody, at(1)), (Status::InsufficientBalance, true));
}

/// The last operations before a restart are remembered for the full time after it, however long the journal is.
#[test]
fn time_goes_on_behind_a_recovery() {
    let creates = [1, 2].map(|id| Operation::create(transaction(id), account(id)));
    let mut recovery = Recovery::new(LIMITS, Secret::default(), 0, 1).unwrap();
    for (seconds, create) in [(0, &creates[0]), (60, &creates[1])] {
        recovery.batch(at(seconds).unix, Newest::default());
        recovery.operation(create, 0).unwrap();
    }
    let mut ledger = recovery.finish().unwrap();
    let retention = LIMITS.retries.retention.as_secs();
    assert_eq!(execute_one(&mut ledger, &creates[0], at(0)), (Status::AccountExists, true));
    assert_eq!(execute_one(&mut ledger, &creates[1], at(retention - 1)), (Status::Ok, false));
    assert_eq!(execute_one(&mut ledger, &creates[1], at(retention * 3 / 2)), (Status::AccountExists, true));
}

#[test]
fn an_operation_is_remembered_for_the_retention() {
    let mut ledger = ledger();
    let retention = LIMITS.retries.retention.as_secs();
    let create = Operation::create(transaction(1), account(1));
    let issue = Operation::issue(transaction(2), account(1), 5);
    assert_eq!(execute_one(&mut ledger, &create, at(0)), (Status::Ok, true));
    assert_eq!(execute_one(&mut ledger, &issue, at(0)), (Status::Ok, true));
    assert_eq!(execute_one(&mut ledger, &issue, at(retention)), (Status::Ok, false));
    assert_eq!(execute_one(&mut ledger, &create, at(retention + 1)), (Status::AccountExists, true));
    // An id without a time then counts as new.
    assert_eq!(execute_one(&mut ledger, &issue, at(retention + 1)), (Status::Ok, true));
    assert_eq!(ledger.balance(&account(1)), Some(10));
}

#[test]
fn an_id_with_a_time_expires_for_ever() {
    let mut ledger = ledger();
    let id = |milliseconds| wire::TransactionId::timed(milliseconds, 77);
    let now = at(100);
    let milliseconds = now.unix / 1000;
    let create = |milliseconds| Operation::create(id(milliseconds), account(1)).timed();
    assert_eq!(execute_one(&mut ledger, &create(milliseconds), now), (Status::Ok, true));
    // Any age is accepted, as long as no id with a time was forgotten.
    assert_eq!(execute_one(&mut ledger, &create(5), now), (Status::AccountExists, true));
    // Farther ahead than clocks may be.
    assert_eq!(execute_one(&mut ledger, &create(milliseconds + 2001), now), (Status::StaleTimestamp, false));
    assert_eq!(execute_one(&mut ledger, &create(milliseconds + 2000), now), (Status::AccountExists, true));
    let later = at(120);
    for (milliseconds, expected) in [(0, Status::Expired), (2000, Status::Expired), (2001, Status::AccountExists)] {
        let found = execute_one(&mut ledger, &create(now.unix / 1000 + milliseconds), later);
        assert_eq!(found.0, expected, "{milliseconds}");
    }
    let operation = Operation { flags: 9, ..create(1) };
    assert_eq!(execute_one(&mut ledger, &operation, later), (Status::Malformed, false));
    let operation = Operation::create(transaction(8), account(1)).timed();
    assert_eq!(execute_one(&mut ledger, &operation, later), (Status::Malformed, false));
}

/// An operation without room is refused, and nothing is forgotten for it.
#[test]
fn a_full_memory_of_retries_is_busy() {
    let limits = Limits { accounts: ACCOUNTS, retries: retries::Limits::with_operations(1024) };
    let mut ledger = Ledger::new(limits, Secret::default()).unwrap();
    let issue = |id| Operation::issue(transaction(id), account(1), 1);
    execute_one(&mut ledger, &Operation::create(transaction(0), account(1)), at(0));
    for id in 1..1024 {
        assert_eq!(execute_one(&mut ledger, &issue(id), at(id / 200)), (Status::Ok, true));
    }
    for id in 1024..1100 {
        assert_eq!(execute_one(&mut ledger, &issue(id), at(9)), (Status::Busy, false));
    }
    assert_eq!(execute_one(&mut ledger, &issue(1), at(9)), (Status::Ok, false));
    assert_eq!(execute_one(&mut ledger, &signed(5, at(9).unix), at(9)).0, Status::Ok, "signed ones have their own");
    let [fill, signed] = ledger.retries(at(9));
    assert_eq!((fill.operations, fill.capacity, fill.age, signed.operations), (1024, 1024, 9 * SECOND, 1));
    // Time makes room.
    assert_eq!(execute_one(&mut ledger, &issue(1024), at(11)), (Status::Ok, true));
    assert_eq!(execute_one(&mut ledger, &issue(1000), at(11)), (Status::Ok, false));
}
