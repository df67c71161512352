//! The ledger against a plain model, under random operations in random batches, and through recoveries.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use common::{Model, account, transaction};
use proptest::prelude::*;
use turnpike_ledger::{Error, Ledger, Limits, Recovery, Secret};
use wire::{Operation, Status};

const ACCOUNTS: usize = 24;
const LIMITS: Limits = Limits { accounts: ACCOUNTS, window: 1024 };

/// A journal as the tests keep it: operations with their statuses, and values.
type Journal = Vec<(Operation, u64)>;

fn ledger() -> Ledger {
    Ledger::new(LIMITS, Secret::default()).unwrap()
}

/// Amounts around the edges that matter.
fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 1u64..50,
        1 => Just(0),
        1 => Just(u64::MAX),
        1 => Just(u64::MAX / 2),
        1 => any::<u64>(),
    ]
}

/// Few accounts, of which some never fit in the table, and few transaction ids, so that there are retries and reuses.
fn operation() -> impl Strategy<Value = Operation> {
    let fields = (0u16..40, 0u64..32, 0u64..32, amount(), 0u64..400, 0u32..40);
    fields.prop_map(|(kind, source, destination, amount, id, odd)| {
        let (source, destination, id) = (account(source), account(destination), transaction(id));
        let mut operation = match kind {
            0..8 => Operation::create(id, source),
            8..14 => Operation::issue(id, source, amount),
            14..18 => Operation::refer(id, source),
            18 => Operation::new(wire::Command::Create, id, source, destination, amount),
            _ => Operation::transfer(id, source, destination, amount),
        };
        match odd {
            0 => operation.command.set(9),
            1 => operation.status.set(Status::NotAuthorised.code()),
            2 => operation.status.set(0xfff0),
            3 => operation.contract.set(7),
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
    ledger.execute(&mut batch, &mut values, |operation, value| recorded.push((*operation, value)));
    let mut expected = Vec::new();
    for ((operation, executed), value) in operations.iter().zip(&batch).zip(&values) {
        let (status, expected_value, fresh) = model.execute(operation);
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
    let balances: HashMap<_, _> = ledger.iter().collect();
    assert_eq!(balances, model.balances);
    assert_eq!(ledger.accounts(), model.balances.len());
    assert_eq!(ledger.issued(), model.issued);
    assert_eq!(ledger.issued(), balances.values().copied().map(u128::from).sum::<u128>());
}

/// Recovers from balances after `covered` operations of the journal, with the journal from operation `first` on.
fn recover(limits: Limits, journal: &Journal, covered: usize, first: usize) -> Result<Ledger, Error> {
    let mut balances = Recovery::new(limits, Secret::default(), 0, 1)?;
    journal[..covered].iter().try_for_each(|(operation, value)| balances.operation(operation, *value))?;
    let balances = balances.finish()?;

    let mut recovery = Recovery::new(limits, Secret::default(), covered as u64, first as u64 + 1)?;
    balances.iter().try_for_each(|(account, balance)| recovery.account(&account, balance))?;
    journal[first..].iter().try_for_each(|(operation, value)| recovery.operation(operation, *value))?;
    recovery.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn does_what_the_model_does(batches in prop::collection::vec(prop::collection::vec(operation(), 1..100), 1..60)) {
        let (mut ledger, mut model, mut journal) = (ledger(), Model::new(ACCOUNTS, LIMITS.window), Journal::new());
        for batch in &batches {
            execute(&mut ledger, &mut model, batch, &mut journal);
        }
    }

    #[test]
    fn comes_back_as_it_was(
        before in prop::collection::vec(operation(), 1..2500), after in prop::collection::vec(operation(), 1..500),
        covered in any::<prop::sample::Index>(), first in any::<prop::sample::Index>(),
    ) {
        let (mut ledger, mut model, mut journal) = (ledger(), Model::new(ACCOUNTS, LIMITS.window), Journal::new());
        execute(&mut ledger, &mut model, &before, &mut journal);
        let covered = covered.index(journal.len() + 1);
        // As far back as the window reaches, or further.
        let first = first.index(journal.len().saturating_sub(LIMITS.window).min(covered) + 1);
        let mut recovered = recover(LIMITS, &journal, covered, first).unwrap();
        assert_same(&recovered, &model);
        execute(&mut recovered, &mut model, &before[before.len().saturating_sub(50)..], &mut journal);
        execute(&mut recovered, &mut model, &after, &mut journal);
    }

    #[test]
    fn notices_a_journal_of_another_ledger(operations in prop::collection::vec(operation(), 50..300), at: prop::sample::Index) {
        let (mut ledger, mut model, mut journal) = (ledger(), Model::new(ACCOUNTS, LIMITS.window), Journal::new());
        execute(&mut ledger, &mut model, &operations, &mut journal);
        prop_assume!(!journal.is_empty());
        let at = at.index(journal.len());
        journal[at].1 ^= 1 << 40;
        let full = journal[at].0.status() == Ok(Status::TableFull);
        let result = recover(LIMITS, &journal, 0, 0);
        match result {
            Err(Error::Diverged { sequence, .. }) => prop_assert_eq!(sequence, at as u64 + 1),
            other => prop_assert!(full, "{:?}", other),
        }
    }
}

#[test]
fn a_full_table_stays_full_in_the_journal() {
    let (mut ledger, mut model, mut journal) = (ledger(), Model::new(ACCOUNTS, LIMITS.window), Journal::new());
    let creates: Vec<_> = (0..30).map(|id| Operation::create(transaction(id), account(id))).collect();
    execute(&mut ledger, &mut model, &creates, &mut journal);
    assert_eq!(journal[ACCOUNTS].0.status(), Ok(Status::TableFull));

    // With more room than before, what was refused then is still refused when it is tried again.
    let mut larger = recover(Limits { accounts: 100, ..LIMITS }, &journal, 10, 0).unwrap();
    let mut again = [creates[ACCOUNTS], Operation::create(transaction(99), account(29))];
    let mut values = [0; 2];
    larger.execute(&mut again, &mut values, |_, _| {});
    assert_eq!(again.map(|operation| operation.status()), [Ok(Status::TableFull), Ok(Status::Ok)]);

    // With less, the ledger does not come back at all.
    for covered in [0, ACCOUNTS] {
        let error = recover(Limits { accounts: 10, ..LIMITS }, &journal, covered, 0).unwrap_err();
        assert!(matches!(error, Error::TooManyAccounts { limit: 10 }), "{error}");
    }
}

#[test]
fn a_gap_in_the_journal_is_an_error() {
    let recovery = |covered, first| Recovery::new(LIMITS, Secret::default(), covered, first);
    assert!(matches!(recovery(5, 7), Err(Error::Gap { covered: 5, first: 7 })));
    assert!(recovery(5, 6).unwrap().finish().is_ok());
    assert!(matches!(recovery(5, 3).unwrap().finish(), Err(Error::Gap { covered: 5, first: 3 })));
}

#[test]
fn signed_operations_older_than_the_window_are_stale() {
    let mut ledger = ledger();
    let signed = |id: u64, timestamp: u64| {
        let operation = Operation::create(transaction(id), account(id));
        wire::SignedOperation::unsigned(operation, timestamp, 0, wire::Promise::Accepted, [2; 33])
    };
    let mut execute = |signed: wire::SignedOperation| {
        let (mut batch, mut recorded) = ([signed], 0);
        ledger.execute(&mut batch, &mut [0], |_, _| recorded += 1);
        (batch[0].operation.status().unwrap(), recorded)
    };
    assert_eq!(execute(signed(1, 1000)), (Status::Ok, 1));
    assert_eq!(execute(signed(1, 1000)), (Status::Ok, 0));
    for id in 2..3000 {
        execute(signed(id, 1000 + id));
    }
    // Executed before, forgotten meanwhile: not executed again.
    assert_eq!(execute(signed(1, 1000)), (Status::StaleTimestamp, 0));
    assert_eq!(execute(signed(2999, 3999)), (Status::TableFull, 0));
    assert_eq!(execute(signed(3000, 4000)), (Status::TableFull, 1));
}
