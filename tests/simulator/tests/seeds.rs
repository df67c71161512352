//! A fixed set of seeds.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use turnpike_simulator::{Report, Settings, run};

fn simulate(seed: u64) -> Report {
    println!("seed {seed}");
    let report = run(Settings { seed, duration: Duration::from_secs(300) });
    println!("{report:?}");
    assert!(report.operations > 1000 && report.crashes > 3 && report.commits > 500, "{report:?}");
    assert!(report.lone_commits > 100, "{report:?}");
    assert!(report.blocks > 50 && report.settled > 500 && report.proofs > 1000, "{report:?}");
    report
}

#[test]
fn fixed_seeds() {
    let pruned = (1..=8).map(simulate).filter(|report| report.pruned > 0).count();
    assert!(pruned >= 4, "blocks were pruned with {pruned} seeds of 8");
}

#[test]
fn the_same_seed_is_the_same_simulation() {
    let settings = Settings { seed: 9, duration: Duration::from_secs(200) };
    assert_eq!(run(settings), run(settings));
}
