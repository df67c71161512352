//! The commands against `vectors/ledger`, which drives the other engines as well.
//!
//! `TURNPIKE_WRITE_VECTORS=1 cargo test -p turnpike-ledger --test vectors` writes the file from the plain model.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use common::{account, signed, transaction};
use model::{Model, Outcome};
use turnpike_ledger::{Executable, Ledger, Limits, Now, Secret, retries};
use wire::{AccountId, Command, CompactFrame, Operation, Promise, SignedOperation, Status};
use zerocopy::{FromBytes, IntoBytes};

const ACCOUNTS: usize = 6;
const WINDOW: usize = 1024;

const HEADING: &str = "\
# Operations of one ledger of 6 accounts, in order. A line: the operation as requested (64 bytes), its status (2 bytes)
# and the value of its reply (8 bytes), in hexadecimal, big-endian as on the wire.
";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/ledger")
}

fn path() -> PathBuf {
    folder().join("commands.txt")
}

const DEPOSITS: &str = "\
# Operations of one ledger of 6 accounts, in order, all of them signed: accounts that others pay a deposit for. A line: the
# operation as requested (64 bytes), its status (2 bytes) and the value of its reply (8 bytes), in hexadecimal, big-endian as
# on the wire.
";

fn path_of_deposits() -> PathBuf {
    folder().join("deposits.txt")
}

const LINKED: &str = "\
# The operations of one batch, in order, with linked chains, for an empty ledger. A line: the operation as requested (64
# bytes), its status (2 bytes) and the value of its reply (8 bytes), in hexadecimal, big-endian as on the wire.
";

fn path_of_linked() -> PathBuf {
    folder().join("linked.txt")
}

const HOLDS: &str = "\
# Operations of one ledger of 6 accounts, in order, with holds. A line: when it is executed (4 bytes, seconds since the
# Unix epoch), the operation as requested (64 bytes), its status (2 bytes) and the value of its reply (8 bytes), in
# hexadecimal, big-endian as on the wire.
";

const LIFECYCLE: &str = "\
# Operations of one ledger of 6 accounts, in order: accounts that are frozen and closed. Lines are as in holds.txt.
";

const ASSETS: &str = "\
# Operations of one ledger of 6 accounts, in order: accounts of different assets. Lines are as in holds.txt.
";

fn path_of_holds() -> PathBuf {
    folder().join("holds.txt")
}

/// Every status that making or ending a hold can get from the ledger, around its expiry too, with the times.
fn holds() -> Vec<(u32, Operation)> {
    const EXPIRY: u32 = 1000;
    let [a, b, c, unknown] = [1, 2, 3, 99].map(account);
    let hold = |id, amount, expiry| Operation::hold(transaction(id), a, b, amount, expiry);
    let (all, rest, due, late) = (hold(10, 100, 0), hold(11, 50, 0), hold(12, 200, EXPIRY), hold(13, 300, EXPIRY));
    let refer = |id, account| Operation::refer(transaction(id), account);
    let between = |id, source, destination| Operation::hold(transaction(id), source, destination, 1, 0);
    let mut operations = vec![
        (1, Operation::create(transaction(1), a)),
        (1, Operation::create(transaction(2), b)),
        (1, Operation::create(transaction(3), c)),
        (1, Operation::issue(transaction(4), a, 1000)),
        (1, between(5, unknown, b)),
        (1, between(6, a, unknown)),
        (1, hold(7, 1001, 0)),
        (1, hold(8, 0, 0)),
        (1, between(9, a, a)),
        // Held amounts cannot be spent, and are in no balance.
        (1, all),
        (1, Operation::transfer(transaction(20), a, c, 901)),
        (1, refer(21, b)),
        (1, rest),
        (1, due),
        (1, late),
        // Ends of holds that differ in one field of their name, or do not end any.
        (1, Operation::capture(&hold(10, 100, 1), 100)),
        (1, Operation::capture(&between(10, a, c), 1)),
        (1, Operation::release(&hold(22, 1, 0))),
        (1, Operation::reclaim(&all)),
        (1, Operation::capture(&all, 101)),
        (1, Operation::capture(&all, 0)),
        // In full; and in part, of which the payer gets the rest.
        (1, Operation::capture(&all, 100)),
        (1, Operation::capture(&rest, 20)),
        (1, refer(23, b)),
        // Twice.
        (1, Operation::release(&rest)),
        (1, Operation::capture(&rest, 21)),
        // The last second before the expiry, and the first from it on.
        (EXPIRY - 1, Operation::reclaim(&due)),
        (EXPIRY - 1, Operation::capture(&due, 200)),
        (EXPIRY, Operation::capture(&late, 300)),
        (EXPIRY, hold(24, 1, EXPIRY)),
        (EXPIRY, hold(25, 1, EXPIRY + 1)),
        (EXPIRY, Operation::release(&hold(25, 1, EXPIRY + 1))),
        (EXPIRY, Operation::reclaim(&late)),
        (EXPIRY, refer(26, a)),
        // The receiver's balance has no room; the payer's has none for the rest.
        (EXPIRY, hold(27, 2, 0)),
        (EXPIRY, Operation::issue(transaction(28), b, u64::MAX - 320)),
        (EXPIRY, Operation::capture(&hold(27, 2, 0), 1)),
        (EXPIRY, Operation::release(&hold(27, 2, 0))),
        (EXPIRY, hold(29, 2, 0)),
        (EXPIRY, Operation::issue(transaction(30), a, u64::MAX - 678)),
        (EXPIRY, Operation::release(&hold(29, 2, 0))),
        (EXPIRY, Operation::transfer(transaction(31), a, c, 2)),
        (EXPIRY, Operation::release(&hold(29, 2, 0))),
    ];
    // Until the table of holds is full.
    operations.extend((0..7).map(|number| (EXPIRY, between(40 + number, a, c))));
    // Retries get the first reply, whatever has happened since.
    operations.extend(operations[..30].to_vec());
    operations
}

/// Chains of all outcomes, and their retries.
fn linked() -> Vec<Operation> {
    let [a, b, c] = [1, 2, 3].map(account);
    let create = |id, account| Operation::create(transaction(id), account);
    let issue = |id, account, amount| Operation::issue(transaction(id), account, amount);
    let transfer = |id, source, destination, amount| Operation::transfer(transaction(id), source, destination, amount);
    let refer = |id, account| Operation::refer(transaction(id), account);
    let long = |first: u64, length: u64| (first..first + length).map(move |id| issue(id, a, 1).linked());
    let mut operations = vec![
        // Each sees the effects of those before it.
        create(1, a).linked(),
        issue(2, a, 100).linked(),
        create(3, b).linked(),
        transfer(4, a, b, 30),
        refer(5, a),
        // The last fails, so an account is not created, and no money is moved.
        create(6, c).linked(),
        transfer(7, a, b, 10).linked(),
        transfer(8, b, c, 41),
        refer(9, b),
        refer(10, c),
        // The first fails.
        transfer(11, a, c, 1).linked(),
        issue(12, a, 1),
        // Refused by its form.
        issue(13, a, 1).linked(),
        issue(14, a, 0).linked(),
        issue(15, a, 1),
        // Money that comes back, as two legs of an exchange.
        transfer(16, a, b, 70).linked(),
        transfer(17, b, a, 100).linked(),
        transfer(18, a, b, 100),
        // A name used twice, and a REFER.
        issue(19, a, 1).linked(),
        issue(19, a, 2),
        issue(20, a, 1).linked(),
        refer(21, a),
    ];
    operations.extend(operations.clone());
    // A part of a chain with other operations, and a part that is linked otherwise.
    operations.extend([issue(22, a, 1).linked(), issue(23, a, 1).linked(), transfer(18, a, b, 100)]);
    operations.extend([transfer(16, a, b, 70), issue(22, a, 1)]);
    operations.extend(long(100, 63).chain([issue(163, a, 1)]));
    operations.extend(long(200, 64).chain([issue(264, a, 1)]));
    // The batch ends inside it.
    operations.extend(long(300, 2));
    operations
}

/// The text of a file of vectors, which must be what the model renders. Writes it first, if the environment says so.
fn up_to_date(path: &Path, rendered: &str) -> String {
    if std::env::var_os("TURNPIKE_WRITE_VECTORS").is_some() {
        fs::write(path, rendered).unwrap();
    }
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text, rendered);
    text
}

fn render_linked() -> String {
    let operations = linked();
    let outcomes = Model::new(ACCOUNTS).execute_batch(&operations);
    let mut text = LINKED.to_owned();
    for (operation, Outcome { status, value, .. }) in operations.iter().zip(outcomes) {
        let _ = writeln!(text, "{} {:04x} {value:016x}", hex(operation.as_bytes()), status.code());
    }
    text
}

#[test]
fn linked_chains_give_what_the_vectors_say() {
    let text = up_to_date(&path_of_linked(), &render_linked());
    let mut ledger = ledger();
    let lines = Vec::from_iter(text.lines().filter(|line| !line.starts_with('#')));
    let mut batch = Vec::from_iter(lines.iter().map(|line| Operation::read_from_bytes(&bytes(&line[..128])).unwrap()));
    let mut values = vec![0; batch.len()];
    ledger.execute(&mut batch, &mut values, Now::default(), |_, _| {});
    for ((operation, value), line) in batch.iter().zip(values).zip(lines) {
        assert_eq!(format!("{:04x} {value:016x}", operation.status.get()), line[129..]);
    }
    let seen = |status: Status| batch.iter().any(|operation| operation.status() == Ok(status));
    assert!([Status::LinkedFailed, Status::LinkedInvalid, Status::InsufficientBalance].into_iter().all(seen));
}

/// Every status that a CREATE with a payer can get from the ledger, and its effect on the payer.
fn deposits() -> Vec<Operation> {
    let mut id = 100;
    let mut next = || {
        id += 1;
        transaction(id)
    };
    let [payer, poor, unknown] = [1, 2, 99].map(|seed| AccountId::keyed(&[seed; 32]));
    let [a, b, c, d, late] = [11, 12, 13, 14, 15].map(|seed| AccountId::keyed(&[seed; 32]));
    let mut operations = vec![
        Operation::create(next(), payer),
        Operation::create(next(), poor),
        Operation::issue(next(), payer, 1000),
        Operation::create_for(next(), a, payer, 100),
        Operation::refer(next(), payer),
        Operation::refer(next(), a),
        Operation::create_for(next(), a, payer, 100),
        Operation::create_for(next(), payer, a, 100),
        Operation::create_for(next(), b, unknown, 100),
        Operation::create_for(next(), b, poor, 1),
        Operation::create_for(next(), b, payer, 901),
        Operation::create_for(next(), b, payer, 900),
        Operation::refer(next(), payer),
        Operation::create_for(next(), c, payer, 1),
        Operation::create_for(next(), c, payer, 0),
        Operation::create_for(next(), c, c, 1),
        Operation::create_for(next(), payer, payer, 0),
        Operation::new(Command::Create, next(), c, AccountId::ZERO, 1),
        Operation::issue(next(), payer, u64::MAX),
        Operation::issue(next(), payer, 1),
        Operation::create_for(next(), c, payer, u64::MAX),
        Operation::transfer(next(), d, c, 1),
        Operation::issue(next(), b, 7),
        Operation::create_for(next(), d, b, 7),
        Operation::create_for(next(), late, unknown, 7),
        Operation::create_for(next(), late, payer, 7),
        Operation::create_for(next(), b, unknown, 7),
        Operation::refer(next(), late),
    ];
    operations.extend(operations.clone());
    // An id belongs to its payer: used again for a smaller amount, or for another account; used by another payer; and
    // one equal to the account's own.
    operations.push(Operation::create_for(transaction(104), a, payer, 99));
    operations.push(Operation::create_for(transaction(104), d, payer, 100));
    operations.push(Operation::create_for(transaction(104), a, poor, 100));
    operations.push(Operation::create(transaction(104), a));
    operations
}

/// Every status that an operation can get from the ledger, and every edge of the arithmetic.
fn operations() -> Vec<Operation> {
    let mut id = 0;
    let mut next = || {
        id += 1;
        transaction(id)
    };
    let [a, b, c, unknown] = [1, 2, 3, 99].map(account);
    let keyed = AccountId::keyed(&[0xab; 32]);
    let mut operations = vec![
        Operation::refer(next(), a),
        Operation::issue(next(), a, 5),
        Operation::transfer(next(), a, b, 5),
        Operation::create(next(), a),
        Operation::create(next(), a),
        Operation::refer(next(), a),
        Operation::transfer(next(), a, b, 5),
        Operation::create(next(), b),
        Operation::transfer(next(), a, b, 5),
        Operation::issue(next(), a, 1000),
        Operation::transfer(next(), a, b, 400),
        Operation::transfer(next(), a, b, 601),
        Operation::transfer(next(), a, b, 600),
        Operation::transfer(next(), a, b, 1),
        Operation::refer(next(), b),
        Operation::transfer(next(), a, a, 1),
        Operation::transfer(next(), b, a, 0),
        Operation::issue(next(), b, 0),
        Operation::create(next(), c),
        Operation::create(next(), keyed),
        Operation::issue(next(), keyed, 1),
        Operation::issue(next(), c, u64::MAX),
        Operation::issue(next(), c, 1),
        Operation::transfer(next(), b, c, 1),
        Operation::transfer(next(), c, b, u64::MAX - 1000),
        Operation::transfer(next(), c, b, 1),
        Operation::transfer(next(), b, unknown, 1),
        Operation::transfer(next(), unknown, b, 1),
        Operation::create(next(), account(4)),
        Operation::create(next(), AccountId([0; 16])),
        Operation::create(next(), account(5)),
        Operation::new(Command::Create, next(), account(5), b, 0),
        Operation::new(Command::Create, next(), account(5), AccountId::ZERO, 1),
        Operation::new(Command::Issue, next(), a, b, 1),
        Operation::new(Command::Refer, next(), a, b, 0),
        Operation::new(Command::Refer, next(), a, AccountId::ZERO, 1),
    ];
    for code in [0_u16, 13, 0xf9ff] {
        let mut operation = Operation::transfer(next(), b, a, 1);
        [operation.flags, operation.command] = code.to_be_bytes();
        operations.push(operation);
    }
    for status in [Status::NotAuthorised.code(), 0x7777] {
        let mut operation = Operation::transfer(next(), b, a, 1);
        operation.status.set(status);
        operations.push(operation);
    }
    // Retries get the first reply, whatever has happened since.
    let retries: Vec<_> = operations.iter().take(24).copied().collect();
    operations.extend(retries);
    // Identities reused for other operations.
    operations.push(Operation::transfer(transaction(11), a, b, 399));
    operations.push(Operation::transfer(transaction(11), a, c, 400));
    operations.push(Operation::issue(transaction(11), a, 400));
    let mut contract = Operation::transfer(transaction(11), a, b, 400);
    contract.contract.set(1);
    operations.push(contract);
    // The same transaction id of another source is another identity.
    operations.push(Operation::transfer(transaction(11), b, a, 400));
    operations
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn render() -> String {
    render_as(HEADING, operations(), false)
}

fn render_deposits() -> String {
    render_as(DEPOSITS, deposits(), true)
}

fn render_as(heading: &str, operations: Vec<Operation>, is_signed: bool) -> String {
    let mut model = Model::new(ACCOUNTS);
    let mut text = heading.to_owned();
    for operation in operations {
        let outcome = if is_signed { model.execute_signed(&signed(&operation)) } else { model.execute(&operation) };
        let Outcome { status, value, .. } = outcome;
        let _ = writeln!(text, "{} {:04x} {value:016x}", hex(operation.as_bytes()), status.code());
    }
    text
}

#[test]
fn commands_give_what_the_vectors_say() {
    if std::env::var_os("TURNPIKE_WRITE_VECTORS").is_some() {
        fs::create_dir_all(path().parent().unwrap()).unwrap();
        fs::write(path(), render()).unwrap();
    }
    let text = fs::read_to_string(path()).unwrap();
    check(&text, &[0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 32, 33, 35], |operation, _| operation);
}

#[test]
fn deposits_give_what_the_vectors_say() {
    let text = up_to_date(&path_of_deposits(), &render_deposits());
    check(&text, &[0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 33], |operation, number| {
        SignedOperation::unsigned(operation, 1 + number, 0, Promise::Durable, [3; 33])
    });
}

/// Every status that freezing and closing accounts can get from the ledger, for holds of closed accounts too.
fn lifecycle() -> Vec<(u32, Operation)> {
    let [a, b, c, unknown] = [1, 2, 3, 99].map(account);
    let mut id = 100;
    let mut next = || {
        id += 1;
        transaction(id)
    };
    let hold = Operation::hold(next(), a, b, 30, 0);
    let lasting = Operation::hold(next(), a, b, 20, 1000);
    let full = Operation::hold(next(), a, b, 10, 0);
    let operations = [
        Operation::create(next(), a),
        Operation::create(next(), b),
        Operation::issue(next(), a, 100),
        Operation::freeze(next(), unknown),
        Operation::unfreeze(next(), unknown),
        Operation::close(next(), unknown),
        Operation::unfreeze(next(), a),
        hold,
        lasting,
        full,
        Operation::freeze(next(), a),
        Operation::freeze(next(), a),
        Operation::transfer(next(), a, b, 1),
        Operation::transfer(next(), a, b, 1000),
        Operation::hold(next(), a, b, 1, 0),
        Operation::close(next(), a),
        Operation::capture(&hold, 12),
        Operation::issue(next(), a, 1),
        Operation::transfer(next(), b, a, 2),
        Operation::refer(next(), a),
        Operation::unfreeze(next(), a),
        Operation::close(next(), a),
        Operation::transfer(next(), a, b, 61),
        Operation::close(next(), a),
        Operation::refer(next(), a),
        Operation::transfer(next(), b, a, 1),
        Operation::capture(&full, 10),
        Operation::refer(next(), a),
        Operation::reclaim(&lasting),
        Operation::release(&lasting),
        Operation::refer(next(), a),
        Operation::create(next(), a),
        Operation { destination: b, ..Operation::freeze(next(), a) },
        Operation { amount: 1.into(), ..Operation::unfreeze(next(), a) },
        Operation { amount: 1.into(), ..Operation::close(next(), a) },
    ];
    // Of a receiver that closes its account, and of a payer when the table is full.
    let alone = Operation::hold(next(), a, c, 20, 1000);
    let more = [
        Operation::create(next(), c),
        alone,
        Operation::reclaim(&alone),
        Operation::close(next(), c),
        Operation::capture(&alone, 1),
        Operation::close(next(), a),
        Operation::create(next(), account(11)),
        Operation::create(next(), account(12)),
        Operation::create(next(), account(13)),
        Operation::create(next(), account(14)),
        Operation::create(next(), account(15)),
        Operation::reclaim(&alone),
        Operation::close(next(), account(15)),
        Operation::reclaim(&alone),
    ];
    operations.into_iter().chain(more).map(|operation| (1, operation)).collect()
}

#[test]
fn holds_give_what_the_vectors_say() {
    let seen = check_timed(&path_of_holds(), HOLDS, holds());
    // Not HOLD_EXISTS: as long as the first HOLD is remembered, another one of its name is its retry.
    let of_holds = 21..=24;
    assert!(of_holds.chain([0, 2, 3, 4, 5, 6, 16, 17]).all(|code| seen.contains(&code)), "{seen:?}");
}

#[test]
fn frozen_and_closed_accounts_give_what_the_vectors_say() {
    let seen = check_timed(&folder().join("lifecycle.txt"), LIFECYCLE, lifecycle());
    assert!([0, 1, 2, 3, 6, 8, 9, 10, 23, 33].iter().all(|code| seen.contains(code)), "{seen:?}");
}

/// Accounts of several assets, and what they pay to each other and hold.
fn assets() -> Vec<(u32, Operation)> {
    let [plain, gold, other, euro] = [1, 2, 3, 4].map(account);
    let mut id = 0;
    let mut next = || {
        id += 1;
        transaction(id)
    };
    let [part, whole] = [6, 8].map(|amount| Operation::hold(next(), gold, other, amount, 0));
    let operations = [
        Operation::create(next(), plain),
        Operation::open(next(), gold, 959),
        Operation::open(next(), other, 959),
        Operation::open(next(), euro, u32::MAX),
        Operation::open(next(), euro, 959),
        Operation::create(next(), gold),
        Operation::issue(next(), plain, 10),
        Operation::issue(next(), gold, 20),
        Operation::issue(next(), euro, u64::MAX),
        Operation::transfer(next(), plain, gold, 1),
        Operation::transfer(next(), gold, plain, 1),
        Operation::transfer(next(), euro, gold, 1000),
        Operation::transfer(next(), gold, other, 1),
        Operation::transfer(next(), gold, other, 20),
        Operation::transfer(next(), gold, account(9), 1),
        Operation::hold(next(), gold, euro, 1, 0),
        part,
        whole,
        Operation::capture(&part, 4),
        Operation::transfer(next(), gold, other, 7),
        Operation::close(next(), gold),
        Operation::refer(next(), gold),
        Operation::open(next(), gold, 7),
        Operation::capture(&whole, 7),
        Operation::release(&whole),
        Operation::capture(&whole, 8),
        Operation::close(next(), gold),
        Operation::create(next(), gold),
        Operation::transfer(next(), plain, gold, 3),
        Operation::open(next(), account(5), 0),
        Operation { amount: 1.into(), ..Operation::open(next(), account(5), 7) },
        Operation { destination: plain, ..Operation::open(next(), account(5), 7) },
    ];
    operations.into_iter().map(|operation| (1, operation)).collect()
}

#[test]
fn assets_give_what_the_vectors_say() {
    let seen = check_timed(&folder().join("assets.txt"), ASSETS, assets());
    assert!([0, 1, 3, 4, 11, 33].iter().all(|code| seen.contains(code)), "{seen:?}");
}

/// Checks the ledger against a file of operations with their times. Returns the statuses in it.
fn check_timed(path: &Path, heading: &str, operations: Vec<(u32, Operation)>) -> BTreeSet<u16> {
    let mut model = Model::new(ACCOUNTS).allow_freezing();
    let mut rendered = heading.to_owned();
    for (time, operation) in operations {
        model.set_time(u64::from(time) * 1_000_000);
        let Outcome { status, value, .. } = model.execute(&operation);
        let _ = writeln!(rendered, "{time:08x} {} {:04x} {value:016x}", hex(operation.as_bytes()), status.code());
    }
    let text = up_to_date(path, &rendered);
    let mut ledger = ledger();
    ledger.allow_freezing(true);
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (time, line) = line.split_at(9);
        let now = Now { elapsed: 0, unix: u64::from(u32::from_str_radix(time.trim(), 16).unwrap()) * 1_000_000 };
        seen.insert(check_line(&mut ledger, line, now, |operation| operation));
    }
    seen
}

fn ledger() -> Ledger {
    let limits = Limits { accounts: ACCOUNTS, retries: retries::Limits::with_operations(WINDOW) };
    Ledger::new(limits, Secret::default()).unwrap()
}

/// Executes the operation of a line as the entry that `entry` makes of it, and compares the result. Returns its status.
fn check_line<E: Executable>(ledger: &mut Ledger, line: &str, now: Now, entry: impl Fn(Operation) -> E) -> u16 {
    let [operation, result] = line.splitn(2, ' ').collect::<Vec<_>>().try_into().unwrap();
    let mut batch = [entry(Operation::read_from_bytes(&bytes(operation)).unwrap())];
    let mut values = [0];
    ledger.execute(&mut batch, &mut values, now, |_, _| {});
    let status = batch[0].operation().status.get();
    assert_eq!(format!("{status:04x} {:016x}", values[0]), result, "{line}");
    status
}

/// Executes the lines of a file one by one, as the entry that `entry` makes of the operation and its line number.
fn check<E: Executable>(text: &str, statuses: &[u16], entry: impl Fn(Operation, u64) -> E) {
    let mut ledger = ledger();
    let mut seen = BTreeSet::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        seen.insert(check_line(&mut ledger, line, Now::default(), |operation| entry(operation, number as u64)));
    }
    assert!(statuses.iter().all(|code| seen.contains(code)), "the vectors do not cover every status: {seen:?}");
}

/// The frames of a file for $readmemh.
fn compact_frames(name: &str) -> Vec<CompactFrame> {
    let text = fs::read_to_string(folder().join(name)).unwrap();
    let words = text.lines().filter(|line| !line.starts_with("//"));
    words.map(|word| CompactFrame::read_from_bytes(&bytes(word)).unwrap()).collect()
}

#[test]
fn a_talk_in_compact_frames() {
    let (requests, replies) = (compact_frames("compact_requests.hex"), compact_frames("compact_replies.hex"));
    assert_eq!((requests.len(), replies.len()), (500, 500));
    // One by one, and in batches of many sizes.
    for batch in [1, 2, 3, 7, 64, 500] {
        let limits = Limits { accounts: 4096, retries: retries::Limits::with_operations(WINDOW) };
        let mut ledger = Ledger::new(limits, Secret::default()).unwrap();
        let mut answered = Vec::new();
        for requests in requests.chunks(batch) {
            let mut operations: Vec<Operation> = requests.iter().map(CompactFrame::to_operation).collect();
            let mut values = vec![0; operations.len()];
            ledger.execute(&mut operations, &mut values, Now::default(), |_, _| {});
            for ((mut frame, operation), value) in requests.iter().copied().zip(operations).zip(values) {
                frame.set_reply(operation.status().unwrap(), value);
                answered.push(frame);
            }
        }
        assert_eq!(answered, replies, "in batches of {batch}");
    }
}

#[test]
fn the_vectors_are_those_of_the_model() {
    assert_eq!(fs::read_to_string(path()).unwrap(), render());
}
