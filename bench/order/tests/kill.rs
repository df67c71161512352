//! Replicas as processes, killed and stopped in a loop: what was final stays, and they go on.
#![allow(missing_docs, clippy::unwrap_used)]
use order::Transport;
use order_bench::cluster::{Cluster, Shape};
use order_bench::replica::{Engine, THREADS};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

/// Longest time for some blocks, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);
/// Blocks that are final between one cycle and the next.
const BLOCKS: u64 = 10;

#[test]
fn replicas_are_killed_and_stopped_and_what_was_final_stays_over_tcp() {
    what_was_final_stays(Transport::Tcp);
}

#[test]
fn replicas_are_killed_and_stopped_and_what_was_final_stays_in_shared_memory() {
    what_was_final_stays(Transport::Shm);
}

/// Half a dozen cycles; `ORDER_CYCLES=1000` runs as many as it says.
fn what_was_final_stays(transport: Transport) {
    let cycles = std::env::var("ORDER_CYCLES").map_or(6, |text| text.parse().expect("ORDER_CYCLES: a number"));
    let directory = tempfile::tempdir().unwrap();
    // Patient, as the machine may do much else.
    let shape =
        Shape { replicas: 4, body: 512, term: 1, patience: 500, transport, engine: Engine::Whole, threads: THREADS };
    let mut cluster = Cluster::start(Path::new(env!("CARGO_BIN_EXE_order-bench")), directory.path(), shape).unwrap();
    cluster.reach(BLOCKS, PATIENCE);
    for cycle in 0..cycles {
        let number = cycle % shape.replicas;
        match cycle % 3 {
            // One is killed while the others go on, and catches up.
            0 => {
                cluster.kill(number);
                cluster.reach(cluster.agree() + BLOCKS, PATIENCE);
                cluster.restart(number).unwrap();
            }
            // One stands still, and does not know it.
            1 => {
                cluster.signal(number, Signal::STOP);
                let other = (number + 1) % shape.replicas;
                cluster.reach_at(other, cluster.height(other) + BLOCKS, PATIENCE);
                cluster.signal(number, Signal::CONT);
            }
            // All are killed at once.
            _ => {
                (0..shape.replicas).for_each(|number| cluster.kill(number));
                cluster.agree();
                (0..shape.replicas).for_each(|number| cluster.restart(number).unwrap());
            }
        }
        cluster.reach(cluster.agree() + BLOCKS, PATIENCE);
        cluster.agree();
    }
}
