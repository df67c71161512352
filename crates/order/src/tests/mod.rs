//! Replicas on the deterministic runtime, with simulated network and storage: a final block stays final under every
//! fault.
mod cluster;
mod idle;
mod lies;
mod patience;
mod schedules;

use crate::epoch::epoch_of;
use cluster::{Change, Cluster, EPOCH, seeds};
use commonware_runtime::{Clock, Runner, Supervisor, deterministic};
use spv::finality::{Certificate, CertificateError, ReplicaSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Simulated time limit of a test. Tests that finish take about ten seconds of it.
const LIMIT: Duration = Duration::from_secs(600);

fn runner(seed: u64) -> deterministic::Runner {
    deterministic::Runner::new(deterministic::Config::new().with_seed(seed).with_timeout(Some(LIMIT)))
}

#[test]
fn replicas_agree_and_anybody_can_check_it() {
    for (seed, term) in [(1, 1), (2, 20)] {
        runner(seed).start(|context| async move {
            let mut cluster = Cluster::new(context, 4, term).await;
            cluster.start_all().await;
            cluster.reach(30).await;
            cluster.agree();
            let certificates = cluster.certificates(0);
            assert!(!certificates.is_empty(), "no block has a certificate of its own");
            let replicas = cluster.committee.replicas();
            for certificate in &certificates {
                certificate.verify(&cluster.network, replicas).unwrap();
                let read = Certificate::decode(&certificate.encode()).unwrap();
                assert_eq!(&read, certificate);
                assert!(matches!(read.verify(&[0; 32], replicas), Err(CertificateError::Signature(_))));
                let others = ReplicaSet::new(replicas.keys()[1..].to_vec()).unwrap();
                assert!(read.verify(&cluster.network, &others).is_err(), "of another set");
            }
            // The replica serves the block that it delivered to its application.
            let height = certificates.last().unwrap().header.height.get();
            let replica = cluster.replica(0);
            assert_eq!(replica.block(height).await.unwrap().hash(), certificates.last().unwrap().header.hash());
            assert!(replica.certificate(height).await.unwrap().verify(&cluster.network, replicas).is_ok());
            let status = replica.status().snapshot();
            assert!(status.height >= 30 && status.epoch >= 3 && status.votes > 90, "{status:?}");
            // Certificates of later epochs verify as well.
            assert!(
                certificates.iter().any(|certificate| certificate.epoch == 3),
                "no block of epoch 3 has a certificate"
            );
        });
    }
}

#[test]
fn a_block_without_an_own_certificate_is_vouched_for_by_a_later_one() {
    runner(3).start(|context| async move {
        let mut cluster = Cluster::new(context, 4, 1).await;
        cluster.start_all().await;
        cluster.reach(20).await;
        let chain = cluster.record(0).chain.clone();
        for pair in chain.windows(2) {
            assert_eq!(pair[1].block.header().parent, pair[0].block.hash());
            assert_eq!(pair[1].block.height(), pair[0].block.height() + 1);
        }
    });
}

/// A set of four becomes five, of which one may be offline; then a founder leaves, and the remaining four continue. The
/// replica that joins gets all blocks from the first on; the one that left follows no longer.
#[test]
fn replicas_join_and_leave() {
    for (seed, term) in [(21, 1), (22, 5), (23, 1)] {
        runner(seed).start(|context| async move {
            let mut cluster = Cluster::with_strangers(context.child("cluster"), 4, 1, term).await;
            for number in 0..4 {
                cluster.start(number).await;
            }
            cluster.reach(20).await;
            // The joining replica already follows the order, without a vote.
            cluster.start(4).await;
            cluster.reach(25).await;
            cluster.wish(Some(Change::Join(4)));
            cluster.change_of_set(5).await;
            cluster.wish(None);
            let of_all = |cluster: &Cluster| {
                let height = cluster.height(0);
                let found = cluster.certificates(4);
                found
                    .into_iter()
                    .filter(|found| found.header.height.get() > height - 2 * EPOCH.get())
                    .collect::<Vec<_>>()
            };
            let height = cluster.height(0);
            cluster.reach(height + 3 * EPOCH.get()).await;
            let epoch = epoch_of(cluster.height(0), EPOCH);
            let set = cluster.committee_at(0, epoch).replicas().clone();
            for certificate in of_all(&cluster) {
                certificate.verify(&cluster.network, &set).unwrap();
                assert!(certificate.signers().count() >= 4, "a quorum of five");
            }
            // One of five may be offline, even a founder.
            cluster.stop(1);
            let height = cluster.height(0);
            cluster.reach(height + 2 * EPOCH.get()).await;
            cluster.start(1).await;
            cluster.reach(cluster.height(0) + 5).await;
            cluster.wish(Some(Change::Leave(2)));
            cluster.change_of_set(4).await;
            cluster.wish(None);
            let left = cluster.height(2);
            let height = cluster.height(0);
            cluster.stop(2);
            cluster.reach(height + 3 * EPOCH.get()).await;
            assert!(cluster.height(2) <= left + 1);
            // All replicas held the same chain throughout.
            cluster.agree();
            assert_eq!(cluster.record(4).chain[0].block, cluster.record(0).chain[0].block);
        });
    }
}

/// A replica catches up after being offline for more than two epochs, one of which changed the set.
#[test]
fn who_was_away_while_the_set_changed_learns_of_it() {
    runner(24).start(|context| async move {
        let mut cluster = Cluster::with_strangers(context.child("cluster"), 4, 1, 1).await;
        for number in [0, 1, 2, 4] {
            cluster.start(number).await;
        }
        cluster.reach(10).await;
        cluster.wish(Some(Change::Join(4)));
        cluster.change_of_set(5).await;
        cluster.wish(None);
        let height = cluster.height(0);
        cluster.reach(height + 4 * EPOCH.get()).await;
        cluster.start(3).await;
        let height = cluster.height(0);
        cluster.reach(height + EPOCH.get()).await;
        // Another replica may stop now that there are five.
        cluster.stop(0);
        cluster.reach(height + 3 * EPOCH.get()).await;
        cluster.agree();
    });
}

/// Old blocks are pruned. A replica that restarts does not need them, and one that lags by less gets the rest.
#[test]
fn old_blocks_are_given_free() {
    runner(25).start(|context| async move {
        let mut cluster = Cluster::new(context.child("cluster"), 4, 1).await;
        cluster.keep = Some(2 * EPOCH.get());
        cluster.start_all().await;
        cluster.reach(6 * EPOCH.get()).await;
        cluster.stop(3);
        let height = cluster.height(0);
        cluster.reach(height + EPOCH.get()).await;
        let replica = cluster.replica(0);
        assert!(replica.block(1).await.is_none() && replica.block(2 * EPOCH.get()).await.is_none());
        let kept = cluster.height(0) - EPOCH.get();
        assert_eq!(replica.block(kept).await.as_ref(), Some(&cluster.record(0).chain[kept as usize - 1].block));
        for number in [0, 1] {
            cluster.stop(number);
            context.sleep(Duration::from_millis(100)).await;
            cluster.start(number).await;
        }
        cluster.start(3).await;
        let height = cluster.height(2);
        cluster.reach(height + 2 * EPOCH.get()).await;
        cluster.agree();
    });
}

/// A replica that received an application snapshot begins on the snapshot's block and needs no earlier ones: the others
/// have pruned them. From there it orders with the others, at any position in an epoch, and continues after a restart.
#[test]
fn who_joins_begins_on_a_floor() {
    for (seed, ahead) in [(41, 1), (42, 4), (43, 7), (44, 8)] {
        runner(seed).start(|context| async move {
            let mut cluster = Cluster::with_strangers(context.child("cluster"), 4, 1, 1).await;
            cluster.keep = Some(EPOCH.get());
            for number in 0..4 {
                cluster.start(number).await;
            }
            cluster.reach(5 * EPOCH.get() + ahead).await;
            let floor = cluster.give(0, 4);
            assert!(cluster.replica(0).block(1).await.is_none(), "the first block is given free");
            cluster.start(4).await;
            assert_eq!(cluster.replica(4).status().snapshot().height, floor.header.height.get());
            cluster.reach(cluster.height(0) + 2).await;
            cluster.wish(Some(Change::Join(4)));
            cluster.change_of_set(5).await;
            cluster.wish(None);
            // In the floor's epoch and in the one after it.
            for _ in 0..2 {
                cluster.stop(4);
                context.sleep(Duration::from_millis(100)).await;
                cluster.start(4).await;
                cluster.reach(cluster.height(0) + EPOCH.get()).await;
            }
            // Its vote counts: one of five may be offline.
            cluster.stop(1);
            cluster.reach(cluster.height(0) + 2 * EPOCH.get()).await;
            cluster.agree();
        });
    }
}

/// A replica that was offline gets a snapshot from another one, of at most `up_to` blocks, and continues from that
/// floor with its own votes.
fn goes_on_from_a_floor(seed: u64, keep: Option<u64>, away: u64, up_to: u64) {
    runner(seed).start(|context| async move {
        let mut cluster = Cluster::new(context.child("cluster"), 4, 1).await;
        cluster.keep = keep;
        cluster.start_all().await;
        cluster.reach(EPOCH.get() + 3).await;
        cluster.stop(3);
        cluster.reach(away).await;
        let floor = cluster.give_up_to(0, 3, up_to).header.height.get();
        assert!(floor == up_to || up_to > away, "the floor is {floor}");
        cluster.start(3).await;
        cluster.reach(cluster.height(0) + 2).await;
        // Its vote counts.
        cluster.stop(0);
        cluster.reach(cluster.height(1) + 2 * EPOCH.get()).await;
        cluster.agree();
    });
}

/// A floor at the last block of an epoch does not end the next epoch.
#[test]
fn a_floor_may_end_an_epoch() {
    goes_on_from_a_floor(46, None, 5 * EPOCH.get(), 5 * EPOCH.get() - 1);
}

/// The others have pruned all blocks that it missed.
#[test]
fn who_was_away_too_long_goes_on_from_a_floor() {
    goes_on_from_a_floor(45, Some(EPOCH.get()), 7 * EPOCH.get() + 3, u64::MAX);
}

/// Authenticated and encrypted, over the runtime's sockets.
#[test]
fn replicas_order_over_connections_of_their_own() {
    runner(6).start(|context| async move {
        let mut cluster = Cluster::new(context, 4, 1).await;
        let replicas: Vec<_> = (7001..=7004).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).collect();
        for number in 0..4 {
            cluster.start_connected(number, &replicas).await;
        }
        cluster.reach(20).await;
        cluster.agree();
    });
}

#[test]
fn one_of_four_may_be_away_and_two_may_not() {
    for term in [1, 20] {
        runner(4).start(|context| async move {
            let mut cluster = Cluster::new(context.child("cluster"), 4, term).await;
            cluster.start_all().await;
            cluster.reach(5).await;
            cluster.stop(1);
            let height = cluster.height(0);
            cluster.reach(height + 10).await;
            cluster.stop(2);
            // Blocks that already have votes may still become final.
            context.sleep(Duration::from_secs(1)).await;
            let stuck = cluster.height(0);
            context.sleep(Duration::from_secs(20)).await;
            assert_eq!(cluster.height(0), stuck, "two of four are no quorum");
            cluster.start(2).await;
            cluster.reach(stuck + 10).await;
            // The replica that was offline fetches the blocks that it missed.
            cluster.start(1).await;
            // Its status shows the restored height at once, with a certificate.
            let replica = cluster.replica(1);
            let status = replica.status();
            let resumed = status.snapshot().height;
            assert!((1..=cluster.height(1)).contains(&resumed), "{resumed}");
            assert!(status.certificate().is_some_and(|certificate| certificate.header.height.get() <= resumed));
            let height = cluster.height(0);
            cluster.reach(height + 5).await;
            cluster.agree();
        });
    }
}

#[test]
fn a_minority_behind_a_partition_orders_nothing_and_follows_when_it_is_over() {
    runner(5).start(|context| async move {
        let mut cluster = Cluster::new(context.child("cluster"), 7, 1).await;
        cluster.start_all().await;
        cluster.reach(5).await;
        cluster.partition(&[0, 1]).await;
        context.sleep(Duration::from_secs(1)).await;
        let (cut, others) = (cluster.height(0), cluster.height(3));
        context.sleep(Duration::from_secs(10)).await;
        assert_eq!(cluster.height(0), cut);
        assert!(cluster.height(3) > others + 10, "five of seven go on");
        cluster.heal().await;
        let height = cluster.height(3);
        cluster.reach(height + 5).await;
        cluster.agree();
    });
}

/// All replicas crash at once and lose unsynced data: none reverts a block that it reported as final.
#[test]
fn all_replicas_crash_at_once() {
    for seed in 0..seeds(8) {
        let mut chains = Vec::new();
        let mut checkpoint = None;
        for round in 1..=4 {
            let runner = match checkpoint.take() {
                Some(checkpoint) => deterministic::Runner::from(checkpoint),
                None => runner(seed),
            };
            let before = std::mem::take(&mut chains);
            let (found, next) = runner.start_and_recover(|context| async move {
                let mut cluster = Cluster::new(context, 4, if seed % 2 == 0 { 1 } else { 20 }).await;
                cluster.recall(before);
                cluster.start_all().await;
                cluster.reach_any(round * 6).await;
                cluster.agree();
                cluster.remember()
            });
            chains = found;
            checkpoint = Some(next);
        }
        assert!(chains.iter().any(|chain| chain.len() >= 24), "seed {seed}");
    }
}

/// The same seed gives the same run, so that a failure can be reproduced.
#[test]
fn runs_repeat() {
    let run = || {
        runner(9).start(|context| async move {
            let mut cluster = Cluster::new(context.child("cluster"), 4, 1).await;
            cluster.start_all().await;
            cluster.reach(10).await;
            context.auditor().state()
        })
    };
    assert_eq!(run(), run());
}
