//! Every state of bounded scenarios. `FAST_PATH_LONG=1` adds those that take minutes.
#![allow(missing_docs)]

use stateright::{Checker as _, Model as _};
use turnpike_fast_path::{FastPath, Scenario};

/// Visits every state of a scenario; none may break a property.
fn holds(name: &str, scenario: Scenario) {
    let checker = FastPath::new(scenario).checker().threads(2).spawn_bfs().join();
    println!("{name}: {} states", checker.unique_state_count());
    checker.assert_properties();
}

/// The same if long runs are asked for.
fn holds_long(name: &str, scenario: Scenario) {
    if std::env::var_os("FAST_PATH_LONG").is_some() {
        holds(name, scenario);
    }
}

/// Account 0 signs two orders of its first slot.
fn equivocation() -> Scenario {
    Scenario::new(&[2, 0, 0], &[(0, 0, 1, 2), (0, 0, 2, 2)])
}

/// Account 1 spends what account 0 pays it.
fn chain() -> Scenario {
    Scenario::new(&[2, 0, 0], &[(0, 0, 1, 2), (1, 0, 2, 2)])
}

/// Account 0 pays twice.
fn sequence() -> Scenario {
    Scenario::new(&[2, 0], &[(0, 0, 1, 1), (0, 1, 1, 1)])
}

#[test]
fn unlocks_race_certificates() {
    holds("one order", Scenario::new(&[1, 0], &[(0, 0, 1, 1)]).with_unlocks(&[(0, 0)]));
    holds("equivocation", equivocation().with_unlocks(&[(0, 0)]));
    holds("overdraft", Scenario::new(&[1, 0], &[(0, 0, 1, 2)]).with_unlocks(&[(0, 0)]));
    holds("the first of two payments", sequence().with_unlocks(&[(0, 0)]));
    holds_long("two payments", sequence().with_unlocks(&[(0, 0), (0, 1)]));
    let orders = [(0, 0, 1, 1), (0, 0, 1, 2), (0, 1, 1, 1)];
    holds_long("a payment after an equivocation", Scenario::new(&[2, 0], &orders).with_unlocks(&[(0, 0)]));
}

#[test]
fn crashes_lose_unsynced_writes() {
    holds("equivocation", equivocation().with_unlocks(&[(0, 0)]).with_crashes(1));
    holds("payments out of payments", chain().with_crashes(1));
    holds_long("equivocation, three crashes", equivocation().with_unlocks(&[(0, 0)]).with_crashes(3));
    holds_long("two payments", sequence().with_unlocks(&[(0, 0)]).with_crashes(1));
}

#[test]
fn payments_out_of_payments() {
    holds("no unlock", chain());
    holds("an unlock of the first", chain().with_unlocks(&[(0, 0)]));
    holds_long("an unlock of the second", chain().with_unlocks(&[(1, 0)]));
    holds_long("unlocks of both", chain().with_unlocks(&[(0, 0), (1, 0)]));
}

#[test]
fn the_set_changes() {
    holds("equivocation", equivocation().with_set_change());
    holds_long("equivocation, an unlock", equivocation().with_unlocks(&[(0, 0)]).with_set_change());
    holds_long("equivocation, a crash", equivocation().with_crashes(1).with_set_change());
    holds_long("payments out of payments", chain().with_set_change());
    holds_long("two payments", sequence().with_set_change());
}
