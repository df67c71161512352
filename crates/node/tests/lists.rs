//! Lists over HTTP against a plain model: all transactions of all blocks, filtered one by one.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    net::SocketAddr,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use client::{Client, HistoryFilter, PastTransaction, Role};
use common::{account, config, connect, http::get, id};
use serde_json::Value;
use storage::Random;
use turnpike_node::Node;
use wire::{AccountId, Command, Operation, Promise, Status};

const ACCOUNTS: u64 = 6;

fn list(address: SocketAddr, path: &str) -> Value {
    get(address, path).json()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A node with accounts, and operations of all commands on them.
struct Ledger {
    _node: Node,
    client: Client,
    random: Random,
    address: SocketAddr,
    operations: u32,
    /// HOLDs that were made, and have not ended.
    holds: Vec<Operation>,
    _data: tempfile::TempDir,
}

impl Ledger {
    fn start(seed: u64) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut config = config(data.path());
        config.http = Some("127.0.0.1:0".parse().unwrap());
        let node = Node::start(&config).unwrap();
        let address = node.http_address().unwrap();
        let client = connect(&node, Promise::Durable);
        let random = Random::new(seed);
        let mut ledger = Self { _node: node, client, random, address, operations: 0, holds: Vec::new(), _data: data };
        for number in 1..=ACCOUNTS as u32 {
            let id = ledger.next_id();
            ledger.execute(Operation::create(id, account(number)));
            let id = ledger.next_id();
            ledger.execute(Operation::issue(id, account(number), 1_000_000));
        }
        ledger
    }

    fn next_id(&mut self) -> wire::TransactionId {
        self.operations += 1;
        id(self.operations)
    }

    fn execute(&mut self, operation: Operation) {
        self.client.execute(&operation).unwrap().success().unwrap();
    }

    fn account(&mut self) -> AccountId {
        account(1 + self.random.below(ACCOUNTS) as u32)
    }

    /// Executes a random operation that succeeds.
    fn step(&mut self) {
        let (id, source, destination) = (self.next_id(), self.account(), self.account());
        let amount = 1 + self.random.below(9);
        match self.random.below(8) {
            0 => self.execute(Operation::issue(id, source, amount)),
            1 if self.random.chance(0.3) => {
                self.execute(Operation::create(id, account(100 + self.operations)));
            }
            2 | 3 if source != destination => {
                // Some expire soon, some later, some never.
                let expiry = match self.random.below(3) {
                    0 => 0,
                    1 => now() as u32 + 1,
                    _ => now() as u32 + 10_000,
                };
                let hold = Operation::hold(id, source, destination, amount, expiry);
                self.execute(hold);
                self.holds.push(hold);
            }
            4 if !self.holds.is_empty() => {
                let hold = self.holds.swap_remove(self.random.below(self.holds.len() as u64) as usize);
                let end = match self.random.below(3) {
                    0 => Operation::release(&hold),
                    _ => Operation::capture(&hold, 1 + self.random.below(hold.amount())),
                };
                let expired = !self.client.execute(&end).unwrap().status.is_ok();
                if expired {
                    self.execute(Operation::reclaim(&hold));
                }
            }
            _ if source != destination => self.execute(Operation::transfer(id, source, destination, amount)),
            _ => {}
        }
    }

    /// Waits until all operations are in blocks, and returns the rows of all blocks, oldest first.
    fn rows(&mut self) -> Vec<Value> {
        let id = self.next_id();
        self.execute(Operation::issue(id, account(1), 1));
        let (source, transaction) = (account(1), id.to_string());
        let deadline = Instant::now() + Duration::from_secs(60);
        while get(self.address, &format!("/accounts/{source}/transactions/{transaction}")).status() != "200" {
            assert!(Instant::now() < deadline, "operation {transaction} is in no block");
            std::thread::sleep(Duration::from_millis(10));
        }
        let height = list(self.address, "/blocks?count=1")["height"].as_u64().unwrap();
        let rows = |height| list(self.address, &format!("/blocks/{height}?count=1000"))["transactions"].clone();
        (0..=height).flat_map(|height| rows(height).as_array().unwrap().clone()).collect()
    }
}

/// The rows of all pages of a list, and the number of pages. `grow` runs between pages.
fn pages(address: SocketAddr, path: &str, rows: &str, mut grow: impl FnMut()) -> (Vec<Value>, usize) {
    let (mut all, mut cursor, mut count) = (Vec::new(), None::<String>, 0);
    loop {
        let page = match &cursor {
            Some(cursor) => list(address, &format!("{path}&cursor={cursor}")),
            None => list(address, path),
        };
        all.extend(page[rows].as_array().unwrap().iter().cloned());
        count += 1;
        assert_eq!(page["more"], page.get("next").is_some(), "{page}");
        match page.get("next") {
            Some(next) => cursor = Some(next.as_str().unwrap().replace(':', "%3A")),
            None => return (all, count),
        }
        grow();
    }
}

fn place(row: &Value) -> (u64, u64) {
    (row["height"].as_u64().unwrap(), row["position"].as_u64().unwrap())
}

/// The other account of a row of `account`, if any.
fn counterpart<'a>(row: &'a Value, account: &str) -> Option<&'a str> {
    let [source, destination] = ["source", "destination"].map(|key| row[key].as_str().unwrap());
    match row["command"].as_str().unwrap() {
        "CREATE" | "ISSUE" => None,
        _ if source == account => Some(destination),
        _ => Some(source),
    }
}

/// Whether a row is in the history of an account.
fn is_of(row: &Value, account: &str) -> bool {
    row["source"] == account || row["destination"] == account
}

#[test]
fn filters_of_a_history_select_what_a_model_does() {
    let mut ledger = Ledger::start(1);
    for _ in 0..400 {
        ledger.step();
    }
    let rows = ledger.rows();
    let (first, last) = (rows[0].clone(), rows[rows.len() - 1].clone());
    let kinds = ["CREATE", "ISSUE", "TRANSFER", "HOLD", "CAPTURE", "RELEASE"];
    assert!(kinds.iter().all(|kind| rows.iter().any(|row| row["command"] == *kind)), "the model has all commands");
    let mut found = 0;
    for round in 0..200 {
        let account = ledger.account().to_string();
        let mut path = format!("/accounts/{account}/history?count={}", 1 + ledger.random.below(40));
        let mut expected: Vec<_> = rows.iter().rev().filter(|row| is_of(row, &account)).cloned().collect();
        if ledger.random.chance(0.5) {
            let [one, other] = [(); 2].map(|()| kinds[ledger.random.below(6) as usize]);
            path += &format!("&kind={},{other}", one.to_lowercase());
            expected.retain(|row| row["command"] == one || row["command"] == other);
        }
        if ledger.random.chance(0.4) {
            let wanted = ledger.account().to_string();
            path += &format!("&counterpart={wanted}");
            expected.retain(|row| counterpart(row, &account) == Some(&wanted));
        }
        if ledger.random.chance(0.3) {
            let role = ["source", "destination"][ledger.random.below(2) as usize];
            path += &format!("&role={role}");
            expected.retain(|row| (row["source"] == account) == (role == "source"));
        }
        let middle = rows[ledger.random.below(rows.len() as u64) as usize].clone();
        let (height, position) = place(&middle);
        let second = middle["time"].as_f64().unwrap() as u64;
        match ledger.random.below(4) {
            0 => {
                path += &format!("&after={height}");
                expected.retain(|row| place(row).0 > height);
            }
            1 => {
                path += &format!("&after={height}%3a{position}");
                expected.retain(|row| place(row) > (height, position));
            }
            2 => {
                path += &format!("&after=@{second}");
                expected.retain(|row| row["time"].as_f64().unwrap() >= second as f64);
            }
            _ => {}
        }
        match ledger.random.below(4) {
            0 => {
                path += &format!("&before={height}");
                expected.retain(|row| place(row).0 < height);
            }
            1 => {
                path += &format!("&before=%40{second}");
                expected.retain(|row| row["time"].as_f64().unwrap() < second as f64);
            }
            2 if is_of(&middle, &account) => {
                path += &format!("&before={height}:{position}");
                expected.retain(|row| place(row) < (height, position));
            }
            _ => {}
        }
        // New operations do not move pages: the list is as of its first one.
        let address = ledger.address;
        let grow = || {
            if round % 4 == 0 {
                ledger.step();
            }
        };
        let (paged, _) = pages(address, &path, "transactions", grow);
        let is_known = |row: &Value| place(row) <= place(&last);
        let paged: Vec<_> = paged.into_iter().filter(is_known).collect();
        assert_eq!(paged, expected, "{path}");
        found += expected.len();
    }
    assert!(found > 1000, "the filters selected only {found} rows");
    let none = list(ledger.address, &format!("/accounts/1/history?before={}", first["height"]));
    assert_eq!((none["transactions"].as_array().unwrap().len(), &none["more"]), (0, &false.into()));
}

/// The rows of all pages of a history over the binary protocol.
fn binary_pages(client: &mut Client, account: AccountId, filter: &HistoryFilter, count: u16) -> Vec<PastTransaction> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = client.history(account, filter, cursor, count).unwrap();
        assert!(page.transactions.len() <= usize::from(count) && page.first_retained.is_none());
        all.extend(page.transactions);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return all,
        }
    }
}

#[test]
fn history_frames_select_what_a_model_does() {
    let mut ledger = Ledger::start(5);
    for _ in 0..400 {
        ledger.step();
    }
    let rows = ledger.rows();
    let commands = [Command::Create, Command::Issue, Command::Transfer, Command::Hold, Command::Capture];
    let mut found = 0;
    for _ in 0..200 {
        let id = ledger.account();
        let account = id.to_string();
        let mut filter = HistoryFilter::default();
        let mut expected: Vec<_> = rows.iter().rev().filter(|row| is_of(row, &account)).cloned().collect();
        if ledger.random.chance(0.5) {
            filter.commands = [(); 2].map(|()| commands[ledger.random.below(5) as usize]).to_vec();
            expected.retain(|row| filter.commands.iter().any(|command| row["command"] == command.name()));
        }
        if ledger.random.chance(0.3) {
            let wanted = ledger.account();
            filter.counterpart = Some(wanted);
            expected.retain(|row| counterpart(row, &account) == Some(&wanted.to_string()));
        }
        if ledger.random.chance(0.3) {
            filter.role = Some([Role::Source, Role::Destination][ledger.random.below(2) as usize]);
            expected.retain(|row| (row["source"] == account) == (filter.role == Some(Role::Source)));
        }
        if ledger.random.chance(0.3) {
            filter.is_open_hold = true;
            let open = open_holds(&rows, &account);
            expected.retain(|row| open.contains(row));
        }
        let [first, end] = [(); 2].map(|()| rows[ledger.random.below(rows.len() as u64) as usize].clone());
        if ledger.random.chance(0.4) {
            filter.heights = place(&first).0 as u32..place(&end).0 as u32;
            expected.retain(|row| filter.heights.contains(&(place(row).0 as u32)));
        }
        if ledger.random.chance(0.4) {
            let seconds = [&first, &end].map(|row| row["time"].as_f64().unwrap() as u64);
            filter.times = seconds[0] * 1_000_000..(seconds[1] + 1) * 1_000_000;
            expected.retain(|row| filter.times.contains(&((row["time"].as_f64().unwrap() * 1e6).round() as u64)));
        }
        let count = 1 + ledger.random.below(40) as u16;
        let paged = binary_pages(&mut ledger.client, id, &filter, count);
        let key = |past: &PastTransaction| {
            (u64::from(past.at.height), u64::from(past.at.position), past.operation.transaction.to_string())
        };
        let expected_keys: Vec<_> = expected
            .iter()
            .map(|row| (place(row).0, place(row).1, row["transaction"].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(paged.iter().map(key).collect::<Vec<_>>(), expected_keys, "{account}: {filter:?}");
        found += expected.len();
    }
    assert!(found > 1000, "the filters selected only {found} rows");
}

#[test]
fn a_history_frame_examines_a_bounded_part_of_a_history() {
    let mut ledger = Ledger::start(6);
    let operations: Vec<_> = (0..1000).map(|n| Operation::issue(id(10_000 + n), account(1), 1)).collect();
    for batch in operations.chunks(50) {
        assert!(ledger.client.submit(batch).unwrap().iter().all(|receipt| receipt.status.is_ok()));
    }
    ledger.rows();
    let create = HistoryFilter { commands: vec![Command::Create], ..HistoryFilter::default() };
    let first = ledger.client.history(account(1), &create, None, 1).unwrap();
    assert!(first.transactions.is_empty() && first.next.is_some(), "{first:?}");
    assert_eq!(binary_pages(&mut ledger.client, account(1), &create, 1).len(), 1);
    let error = ledger.client.history(account(9999), &create, None, 1).unwrap_err();
    assert!(matches!(error, client::Error::Refused(Status::NotFound)), "{error}");
}

/// Issued amounts over both protocols, for a ledger with many assets.
#[test]
fn issued_amounts_are_listed_by_asset() {
    let mut ledger = Ledger::start(7);
    let assets = [1, 7, 840, u32::MAX];
    for (number, asset) in (0..).zip(assets) {
        let (owner, other) = (account(1000 + number), account(2000 + number));
        for operation in [
            Operation::open(ledger.next_id(), owner, asset),
            Operation::open(ledger.next_id(), other, asset),
            Operation::issue(ledger.next_id(), owner, u64::MAX),
            Operation::transfer(ledger.next_id(), owner, other, u64::MAX - u64::from(number)),
            // What other accounts hold counts: more than 64 bits in all.
            Operation::issue(ledger.next_id(), owner, 5),
        ] {
            ledger.execute(operation);
        }
        let hold = Operation::hold(ledger.next_id(), owner, other, 1, 0);
        ledger.execute(hold);
    }
    // Nothing is issued of this one.
    let open = Operation::open(ledger.next_id(), account(3000), 99);
    ledger.execute(open);
    let rows = ledger.rows();
    let is_of_0 = |row: &&Value| row["command"] == "ISSUE" && row["amount"] != u64::MAX && row["amount"] != 5;
    let of_0 = rows.iter().filter(is_of_0).map(|row| u128::from(row["amount"].as_u64().unwrap())).sum();
    let mut expected = vec![(0, of_0)];
    expected.extend(assets.map(|asset| (asset, u128::from(u64::MAX) + 5)));
    for count in [1, 2, 100] {
        let (mut found, mut first) = (Vec::new(), Some(0));
        while let Some(asset) = first {
            let page = ledger.client.assets(asset, count).unwrap();
            assert!(page.issued.len() <= usize::from(count));
            found.extend(page.issued);
            first = page.next;
        }
        assert_eq!(found, expected);
        let mut listed = Vec::new();
        let mut after = String::new();
        loop {
            let page = list(ledger.address, &format!("/assets?count={count}{after}"));
            let row =
                |row: &Value| (row["asset"].as_u64().unwrap() as u32, row["issued"].as_str().unwrap().parse().unwrap());
            listed.extend(page["assets"].as_array().unwrap().iter().map(row));
            if page["more"] != true {
                break;
            }
            after = format!("&after={}", listed[listed.len() - 1].0);
        }
        assert_eq!(listed, expected);
    }
    let after_the_last = list(ledger.address, &format!("/assets?after={}", u32::MAX));
    assert_eq!((&after_the_last["assets"], &after_the_last["more"]), (&serde_json::json!([]), &false.into()));
    let refused = get(ledger.address, "/assets?after=gold");
    assert!(refused.status() == "400" && refused.text().contains("`after` is gold, but must be an asset's code"));
}

#[test]
fn a_request_examines_a_bounded_part_of_a_history() {
    let mut ledger = Ledger::start(2);
    let operations: Vec<_> = (0..2500).map(|n| Operation::issue(id(10_000 + n), account(1), 1)).collect();
    for batch in operations.chunks(50) {
        assert!(ledger.client.submit(batch).unwrap().iter().all(|receipt| receipt.status.is_ok()));
    }
    ledger.rows();
    // A CREATE, the first ISSUE, and the one that `rows` waits for.
    let length = operations.len() + 3;
    let first = list(ledger.address, "/accounts/1/history?kind=CREATE&count=1");
    assert_eq!((first["transactions"].as_array().unwrap().len(), &first["more"]), (0, &true.into()));
    let (rows, pages) = pages(ledger.address, "/accounts/1/history?kind=CREATE&count=1", "transactions", || {});
    assert_eq!((rows.len(), &rows[0]["command"]), (1, &"CREATE".into()));
    assert_eq!(pages, length.div_ceil(1000));
    // A bound older than all that the first requests examine.
    let block = list(ledger.address, "/blocks/1?count=1000")["transactions"].as_array().unwrap().clone();
    let expected: Vec<_> = block.into_iter().rev().filter(|row| is_of(row, &account(1).to_string())).collect();
    let path = "/accounts/1/history?before=2&count=1000";
    assert_eq!(list(ledger.address, path)["transactions"], serde_json::json!([]));
    assert_eq!(self::pages(ledger.address, path, "transactions", || {}), (expected, 3));
}

/// Open holds by the model: the HOLDs of an account among the rows that no row ends.
fn open_holds(rows: &[Value], account: &str) -> Vec<Value> {
    let name = |row: &Value| ["transaction", "source", "destination"].map(|key| row[key].clone());
    let is_end = |row: &&Value| ["CAPTURE", "RELEASE", "RECLAIM"].iter().any(|command| row["command"] == *command);
    let ended: Vec<_> = rows.iter().filter(is_end).map(name).collect();
    let is_open = |row: &&Value| row["command"] == "HOLD" && is_of(row, account) && !ended.contains(&name(row));
    rows.iter().rev().filter(is_open).cloned().collect()
}

#[test]
fn open_holds_of_an_account_are_those_of_a_model() {
    let mut ledger = Ledger::start(3);
    let (mut found, mut expired) = (0, 0);
    for _ in 0..6 {
        for _ in 0..60 {
            ledger.step();
        }
        let rows = ledger.rows();
        for number in 1..=ACCOUNTS as u32 {
            let id = account(number).to_string();
            let other = ledger.account().to_string();
            let open = open_holds(&rows, &id);
            assert!(ledger.holds.iter().filter(|hold| hold.source.to_string() == id).count() <= open.len());
            for (query, expected) in [
                ("", open.clone()),
                ("&role=source", open.iter().filter(|row| row["source"] == id).cloned().collect()),
                ("&role=destination", open.iter().filter(|row| row["destination"] == id).cloned().collect()),
                (
                    &*format!("&counterpart={other}"),
                    open.iter().filter(|row| counterpart(row, &id) == Some(&other)).cloned().collect(),
                ),
            ] {
                let since = now();
                let path = format!("/accounts/{id}/holds?count={}{query}", 1 + ledger.random.below(9));
                let (holds, _) = pages(ledger.address, &path, "holds", || {});
                assert_eq!(holds.len(), expected.len(), "{path}: {holds:?} {expected:?}");
                for (hold, row) in holds.iter().zip(&expected) {
                    for key in
                        ["transaction", "height", "position", "time", "source", "destination", "amount", "amount_text"]
                    {
                        assert_eq!(hold[key], row[key], "{path}: {key}");
                    }
                    assert_eq!(hold.get("expiry"), row.get("expiry"));
                    // The clock goes on between the request and this check.
                    if let Some(expiry) = hold.get("expiry").and_then(Value::as_u64) {
                        let is_past = hold["expired"].as_bool().unwrap();
                        assert!(if is_past { expiry <= now() } else { since < expiry }, "{hold}");
                        expired += u32::from(is_past);
                    } else {
                        assert_eq!(hold["expired"], false);
                    }
                    // It is the hold's id in the index: the history of a hold is its HOLD.
                    let of_hold =
                        list(ledger.address, &format!("/accounts/{}/history", hold["hold"].as_str().unwrap()));
                    assert_eq!(of_hold["transactions"], serde_json::json!([row]));
                    found += 1;
                }
            }
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(found > 100 && expired > 0, "{found} open holds, {expired} expired");
    for (path, said) in [
        ("/accounts/1/holds?kind=HOLD", "takes no `kind`"),
        ("/accounts/1/holds?role=payer", "source or destination"),
        ("/accounts/1/holds?before=0:0", "is no transaction of account"),
        ("/accounts/1/holds?cursor=0:0", "is no transaction of account"),
        ("/accounts/1/holds?cursor=1", "`cursor` is 1, but must be HEIGHT:POSITION"),
    ] {
        let reply = get(ledger.address, path);
        assert!(reply.status() == "400" && reply.text().contains(said), "{path}: {} {}", reply.head, reply.text());
    }
    assert_eq!(get(ledger.address, "/accounts/9999/holds").status(), "404");
}

#[test]
fn a_transaction_is_found_by_its_id_with_its_block() {
    let mut ledger = Ledger::start(4);
    for _ in 0..40 {
        ledger.step();
    }
    let rows = ledger.rows();
    for row in &rows {
        // The receiver of a hold ends it, by the id of the hold.
        let is_end = ["CAPTURE", "RELEASE", "RECLAIM"].iter().any(|command| row["command"] == *command);
        let namer = row[if is_end { "destination" } else { "source" }].as_str().unwrap();
        let path = format!("/accounts/{namer}/transactions/{}", row["transaction"].as_str().unwrap());
        let found = list(ledger.address, &path);
        assert_eq!((&found["transaction"], &found["result"]), (row, &"OK".into()), "{path}");
        let block = list(ledger.address, &format!("/blocks/{}?count=1", row["height"]));
        assert_eq!((&found["block"], &found["transaction"]["time"]), (&block["block"], &block["block"]["time"]));
    }
    let reply = get(ledger.address, "/accounts/1/transactions/1?count=1");
    assert!(reply.status() == "400" && reply.text().contains("takes no `count`"), "{} {}", reply.head, reply.text());
    assert_eq!(get(ledger.address, "/accounts/1/transactions/999999").status(), "404");
}
