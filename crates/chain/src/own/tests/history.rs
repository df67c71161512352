//! Pages of histories against the model: random filters, cursors, and a chain that grows between pages.
use super::*;
use crate::index::hold_id;
use wire::Command;

const ALL: PageLimits = PageLimits { rows: usize::MAX, examined: usize::MAX };

/// Whether the model selects a transaction: the rules of a filter, from its definition.
fn is_selected(filter: &Filter, account: AccountId, open: &[Operation], at: Locator, operation: &Operation) -> bool {
    let command = operation.command().unwrap();
    let pair = match command {
        Command::Issue | Command::Freeze | Command::Unfreeze | Command::Close => vec![operation.source],
        Command::Create if operation.destination.is_zero() => vec![operation.source],
        _ => vec![operation.source, operation.destination],
    };
    let role = if operation.source == account { Role::Source } else { Role::Destination };
    filter.places.start <= at
        && at < filter.places.end
        && (filter.commands.is_empty() || filter.commands.contains(&command))
        && filter.counterpart.is_none_or(|wanted| wanted != account && pair.contains(&wanted))
        && filter.role.is_none_or(|wanted| wanted == role)
        && (!filter.is_open_hold || command == Command::Hold && open.contains(operation))
}

fn random_filter(random: &mut Random, accounts: u64, height: u64) -> Filter {
    let mut filter = Filter::default();
    if random.chance(0.5) {
        filter.commands = Command::ALL.iter().copied().filter(|_| random.chance(0.4)).collect();
    }
    if random.chance(0.3) {
        filter.counterpart = Some(account(random.below(accounts)));
    }
    if random.chance(0.3) {
        filter.role = Some(if random.chance(0.5) { Role::Source } else { Role::Destination });
    }
    filter.is_open_hold = random.chance(0.2);
    let mut place = || Locator { height: random.below(height + 2) as u32, position: random.below(60) as u32 };
    let bounds = [place(), place()];
    if random.chance(0.3) {
        filter.places.start = bounds[0];
    }
    if random.chance(0.3) {
        filter.places.end = bounds[1];
    }
    filter
}

#[test]
fn pages_have_what_a_filter_selects_while_the_chain_grows() {
    let mut found = 0;
    for seed in 1..=6 {
        let (_folder, directory) = real();
        let mut model = Model::new(seed);
        let mut random = Random::new(1000 + seed);
        let mut chain = open(&directory).unwrap();
        let mut grow = |model: &mut Model, size| {
            let block = model.block(size);
            model.built(&chain.append(block.next(model.height() + 1), &mut key()).unwrap());
            chain.reader()
        };
        let mut reader = grow(&mut model, 40);
        'accounts: for _ in 0..150 {
            let account = account(random.below(model.accounts));
            let filter = random_filter(&mut random, model.accounts, model.height());
            let Some(history) = model.history.get(&account) else { continue };
            let (opened, _) = history[0];
            let expected: Vec<_> = history.iter().rev().copied().collect();
            let expected: Vec<_> = expected
                .into_iter()
                .filter(|(at, operation)| is_selected(&filter, account, &model.holds, *at, operation))
                .collect();
            assert_eq!(reader.page(&account, &filter, None, ALL).unwrap().unwrap().transactions, expected);
            found += expected.len();

            let limits = PageLimits { rows: 1 + random.below(7) as usize, examined: 1 + random.below(12) as usize };
            // A hold that ends between two pages is missing from the second.
            let is_growing = !filter.is_open_hold && random.chance(0.3);
            let (mut before, mut paged) = (None, Vec::new());
            loop {
                let page = reader.page(&account, &filter, before, limits).unwrap().unwrap();
                assert!(page.transactions.len() <= limits.rows);
                paged.extend(page.transactions);
                before = page.next;
                if before.is_none() {
                    break;
                }
                if is_growing {
                    reader = grow(&mut model, 3);
                }
                if model.history.get(&account).is_none_or(|history| history[0].0 != opened) {
                    // Its next history begins later.
                    continue 'accounts;
                }
            }
            assert_eq!(paged, expected, "seed {seed}, {filter:?}");
            if random.chance(0.2) {
                let size = random.below(60);
                reader = grow(&mut model, size);
            }
        }
    }
    assert!(found > 1000, "the filters selected only {found} transactions");
}

#[test]
fn a_page_examines_no_more_than_its_limit_and_ends_at_the_first_place() {
    let (_folder, directory) = real();
    let mut chain = open(&directory).unwrap();
    let id = |n: u32| TransactionId::from(n);
    for height in 1..=4_u32 {
        let operations: Vec<_> = (0..10)
            .map(|n| match (height, n) {
                (1, 0) => Operation::create(id(0), account(1)),
                _ => Operation::issue(id(10 * height + n), account(1), 1),
            })
            .collect();
        let block = ModelBlock { operations, tails: Vec::new() };
        chain.append(block.next(height.into()), &mut key()).unwrap();
    }
    let reader = chain.reader();
    let place = |height, position| Locator { height, position };
    let transfers = Filter { commands: vec![Command::Transfer], ..Filter::default() };
    let limits = PageLimits { rows: 5, examined: 12 };
    let page = |filter: &Filter, before| reader.page(&account(1), filter, before, limits).unwrap().unwrap();
    let none = |next| Page { height: 4, next, ..Page::default() };
    assert_eq!(page(&transfers, None), none(Some(place(3, 8))));
    assert_eq!(page(&transfers, Some(place(3, 8))), none(Some(place(2, 6))));
    assert_eq!(page(&transfers, Some(place(1, 3))), none(None));
    // The place before the first one is not read: the page is full and the list ends at once.
    let since = Filter { places: place(4, 5)..Filter::END, ..Filter::default() };
    let full = page(&since, None);
    assert_eq!((full.transactions.len(), full.next), (5, None));
    assert_eq!(page(&since, Some(place(4, 5))), none(None));
    // A cursor is a transaction of the account.
    assert_eq!(reader.page(&account(2), &since, Some(place(4, 5)), limits).unwrap(), None);
    assert_eq!(reader.page(&account(1), &since, Some(place(4, 10)), limits).unwrap(), None);
    assert_eq!(reader.page(&account(1), &since, Some(place(5, 0)), limits).unwrap(), None);
    assert_eq!(reader.page(&account(2), &since, None, limits).unwrap(), Some(none(None)));
}

#[test]
fn blocks_are_found_by_time() {
    let (_folder, directory) = real();
    let mut chain = open(&directory).unwrap();
    // Blocks of one time, and a clock that was set back.
    for (height, time) in (1..).zip([1000, 2000, 2000, 1500, 5000]) {
        let operations = [Operation::create(TransactionId::ZERO, account(height))];
        let next = NextBlock { timestamp: time, operations: &operations, tails: &[], end_sequence: height };
        chain.append(next, &mut key()).unwrap();
    }
    let reader = chain.reader();
    for (time, height) in [(0, 0), (1000, 0), (1001, 2), (2000, 2), (2001, 5), (5000, 5), (5001, 6), (u64::MAX, 6)] {
        assert_eq!(reader.first_since(time).unwrap(), height, "{time}");
    }
}

#[test]
fn a_hold_made_again_with_its_id_is_open_once() {
    let (_folder, directory) = real();
    let mut chain = open(&directory).unwrap();
    let [a, b] = [account(1), account(2)];
    let hold = Operation::hold(TransactionId::from(7_u32), a, b, 5, 0);
    let create = |n| Operation::create(TransactionId::ZERO, account(n));
    let issue = Operation::issue(TransactionId::ZERO, a, 100);
    for (height, operations) in [
        (1, vec![create(1), create(2), issue, hold]),
        (2, vec![Operation::capture(&hold, 2)]),
        (3, vec![Operation { amount: 9.into(), ..hold }]),
    ] {
        let block = ModelBlock { operations, tails: Vec::new() };
        chain.append(block.next(height), &mut key()).unwrap();
    }
    let reader = chain.reader();
    let filter = Filter { is_open_hold: true, ..Filter::default() };
    for account in [a, b] {
        let page = reader.page(&account, &filter, None, ALL).unwrap().unwrap();
        let [(at, operation)] = page.transactions[..] else { panic!("{page:?}") };
        assert_eq!((at, operation.amount()), (Locator { height: 3, position: 0 }, 9));
    }
    assert!(reader.account(&hold_id(&hold)).unwrap().unwrap().is_hold());
}
