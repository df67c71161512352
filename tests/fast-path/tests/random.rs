//! Random schedules of a scenario that has too many states to visit them all. `FAST_PATH_STATES` sets the number of
//! states, `FAST_PATH_SEED` the seed.
#![allow(missing_docs, clippy::unwrap_used)]

use stateright::{Checker as _, Model as _, UniformChooser};
use turnpike_fast_path::{FastPath, Scenario};

/// Number of states by default: some ten seconds on one processor.
const STATES: usize = 200_000;

#[test]
fn everything_at_once() {
    let states = std::env::var("FAST_PATH_STATES").map_or(STATES, |text| text.parse().unwrap());
    let seed = std::env::var("FAST_PATH_SEED").map_or(1, |text| text.parse().unwrap());
    // Equivocations in two accounts, a chain of payments through three, and two payments of one.
    let orders = [
        (0, 0, 1, 2),
        (0, 0, 2, 3),
        (0, 1, 2, 1),
        (1, 0, 2, 2),
        (1, 0, 3, 1),
        (1, 1, 3, 1),
        (2, 0, 3, 2),
        (3, 0, 0, 1),
    ];
    let scenario = Scenario::new(&[3, 1, 0, 0], &orders)
        .with_unlocks(&[(0, 0), (0, 1), (1, 0), (2, 0)])
        .with_crashes(3)
        .with_set_change();
    println!("seed {seed}, {states} states");
    let checker =
        FastPath::new(scenario).checker().target_state_count(states).spawn_simulation(seed, UniformChooser).join();
    checker.assert_properties();
    assert!(checker.state_count() >= states);
}
