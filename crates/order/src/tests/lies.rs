//! Replicas that lie: they leave evidence and have no other effect.
use super::cluster::{Cluster, Context, Sender, seeds};
use super::runner;
use crate::engine::{Channels, Replica};
use crate::evidence::Evidence;
use crate::lane::{Lane, Part};
use crate::scheme::Bip340;
use commonware_consensus::simplex::mocks::{conflicter, impersonator, nuller, outdated};
use commonware_consensus::types::ViewDelta;
use commonware_cryptography::{Sha256, ed25519::PublicKey};
use commonware_p2p::simulated::{SplitOrigin, SplitTarget};
use commonware_p2p::utils::mux::SubSender;
use commonware_p2p::{Message, Recipients};
use commonware_runtime::{Clock, IoBuf, Runner, Supervisor};
use spv::finality::VoteKind;
use std::sync::Arc;
use std::time::Duration;

/// A replica that lies about its state never gets a block through, and each lie is stored with its signature.
#[test]
fn a_proposer_that_cheats_is_refused_and_its_evidence_kept() {
    for term in [1, 5] {
        runner(11).start(|context| async move {
            let mut cluster = Cluster::new(context.child("cluster"), 4, term).await;
            cluster.lie(2);
            for number in [0, 1, 3] {
                cluster.start(number).await;
            }
            cluster.start(2).await;
            cluster.reach(20).await;
            cluster.agree();
            let of_liar = |body: &[u8]| body.starts_with(b"replica 2 ");
            assert!(cluster.record(0).chain.iter().all(|found| !of_liar(found.block.body())), "a lie is final");
            for number in [0, 1, 3] {
                let accused = cluster.record(number).accused.clone();
                assert!(!accused.is_empty(), "replica {number} saw nothing");
                for evidence in &accused {
                    assert!(evidence.holds(&cluster.network, &cluster.committee));
                    assert!(!evidence.holds(&[0; 32], &cluster.committee));
                    let Evidence::Refused(refused) = evidence else { panic!("{evidence:?}") };
                    assert_eq!((refused.replica, refused.reason.as_str()), (2, "a wrong state"));
                    assert_eq!(refused.vote.vote.kind(), Some(VoteKind::Notarize));
                    assert!(of_liar(refused.block.body()));
                }
                // The same evidence, read from disk after the replica has ended.
                let config = cluster.config(number);
                cluster.stop(number);
                context.sleep(Duration::from_millis(100)).await;
                let kept = Replica::evidence(&context, &config.partition, config.longest_body).await;
                assert!(kept.len() >= accused.len() && accused.iter().all(|evidence| kept.contains(evidence)));
            }
        });
    }
}

/// Two replicas with the same key, each visible to half of the others. The blocks of both are valid, but only one per
/// view can become final.
async fn twins(cluster: &Cluster, number: usize, both: Option<usize>) {
    let group = |second: bool| -> Vec<PublicKey> {
        let others = (0..cluster.number()).filter(|other| *other != number);
        let sees = |other: &usize| Some(*other) == both || (other % 2 == 1) == second;
        others.filter(sees).map(|other| cluster.identity(other)).collect()
    };
    let groups = Arc::new([group(false), group(true)]);
    let forward = {
        let groups = groups.clone();
        move |origin: SplitOrigin, recipients: &Recipients<PublicKey>, _: &IoBuf| {
            let group = &groups[usize::from(origin == SplitOrigin::Secondary)];
            Some(match recipients {
                Recipients::All => Recipients::Some(group.clone()),
                Recipients::Some(some) => {
                    Recipients::Some(some.iter().filter(|peer| group.contains(peer)).cloned().collect())
                }
                Recipients::One(one) if group.contains(one) => Recipients::One(one.clone()),
                Recipients::One(_) => return None,
            })
        }
    };
    let route =
        move |message: &Message<PublicKey>| match (groups[0].contains(&message.0), groups[1].contains(&message.0)) {
            (true, true) => SplitTarget::Both,
            (true, false) => SplitTarget::Primary,
            (false, true) => SplitTarget::Secondary,
            (false, false) => SplitTarget::None,
        };
    let Channels { votes, certificates, missed, blocks, backfill } = cluster.channels(number).await;
    let mut halves = [Vec::new(), Vec::new()];
    for (sender, receiver) in [votes, certificates, missed, blocks, backfill] {
        let senders: [_; 2] = sender.split_with(forward.clone()).into();
        let receivers: [_; 2] = receiver.split_with(cluster.context.child("split"), route.clone()).into();
        for ((half, sender), receiver) in halves.iter_mut().zip(senders).zip(receivers) {
            half.push((sender, receiver));
        }
    }
    for (twin, half) in ["one", "other"].into_iter().zip(halves) {
        let [votes, certificates, missed, blocks, backfill] = half.try_into().ok().unwrap();
        let mut config = cluster.config(number);
        config.partition = format!("{}-{twin}", config.partition);
        let mut journal = cluster.journal(number);
        (journal.record, journal.name) = (Arc::default(), format!("twin {twin}"));
        cluster.run(number, config, journal, Channels { votes, certificates, missed, blocks, backfill }).await;
    }
}

#[test]
fn an_equivocating_leader_splits_nobody() {
    for seed in 0..seeds(6) {
        runner(seed).start(|context| async move {
            let mut cluster = Cluster::new(context, 4, if seed % 2 == 0 { 1 } else { 5 }).await;
            let liar = seed as usize % 4;
            let both = (liar + 1) % 4;
            for number in (0..4).filter(|number| *number != liar) {
                cluster.start(number).await;
            }
            twins(&cluster, liar, Some(both)).await;
            cluster.reach(20).await;
            cluster.agree();
            let accused = cluster.record(both).accused.clone();
            assert!(!accused.is_empty(), "seed {seed}: replica {both} saw both twins and kept nothing");
            assert!(cluster.evidence(both) >= accused.len() as u64, "seed {seed}: the metric misses evidence");
            for evidence in accused {
                assert!(matches!(evidence, Evidence::DoubleVote(_)) && evidence.replica() as usize == liar);
                assert!(evidence.holds(&cluster.network, &cluster.committee));
            }
        });
    }
}

/// If nobody sees both users of a key, their votes are compared across certificates.
#[test]
fn two_users_of_a_key_are_convicted_by_certificates() {
    for liar in 0..4 {
        runner(liar as u64).start(|context| async move {
            let mut cluster = Cluster::new(context, 4, 1).await;
            for number in (0..4).filter(|number| *number != liar) {
                cluster.start(number).await;
            }
            twins(&cluster, liar, None).await;
            cluster.reach(30).await;
            cluster.agree();
            let accused =
                (0..4).filter(|number| *number != liar).flat_map(|number| cluster.record(number).accused.clone());
            let accused = Vec::from_iter(accused);
            assert!(!accused.is_empty(), "nobody has evidence against replica {liar}");
            for evidence in accused {
                assert!(matches!(evidence, Evidence::DoubleVote(_)) && evidence.replica() as usize == liar);
                assert!(evidence.holds(&cluster.network, &cluster.committee));
            }
        });
    }
}

/// The liars that the engine's own test mocks provide.
#[derive(Clone, Copy, Debug)]
pub(super) enum Liar {
    Conflicter,
    Impersonator,
    Nuller,
    Outdated,
    Twins,
    Proposer,
}

pub(super) const LIARS: [Liar; 6] =
    [Liar::Conflicter, Liar::Impersonator, Liar::Nuller, Liar::Outdated, Liar::Twins, Liar::Proposer];

/// The voting channel of the first epoch, the only one that the engine's liars know.
async fn first_epoch(cluster: &Cluster, number: usize) -> (SubSender<Sender>, Part) {
    let votes = cluster.channels(number).await.votes;
    Lane::new(cluster.context.child("lane").with_attribute("number", number), votes).open(0).await.unwrap()
}

/// Starts a liar in place of a replica.
pub(super) async fn start(cluster: &mut Cluster, number: usize, liar: Liar) {
    let context: Context = cluster.context.child("liar");
    let committee = Arc::new(cluster.committee.clone());
    let scheme = Bip340::new(cluster.network, committee, &cluster.keys[number]);
    match liar {
        Liar::Twins => twins(cluster, number, None).await,
        Liar::Proposer => {
            cluster.lie(number);
            let (config, journal) = (cluster.config(number), cluster.journal(number));
            let channels = cluster.channels(number).await;
            cluster.run(number, config, journal, channels).await;
        }
        Liar::Conflicter => {
            let votes = first_epoch(cluster, number).await;
            conflicter::Conflicter::<_, _, Sha256>::new(context, conflicter::Config { scheme }).start(votes);
        }
        Liar::Impersonator => {
            let votes = first_epoch(cluster, number).await;
            impersonator::Impersonator::<_, _, Sha256>::new(context, impersonator::Config { scheme }).start(votes);
        }
        Liar::Nuller => {
            let votes = first_epoch(cluster, number).await;
            nuller::Nuller::<_, _, Sha256>::new(context, nuller::Config { scheme }).start(votes);
        }
        Liar::Outdated => {
            let votes = first_epoch(cluster, number).await;
            let config = outdated::Config { scheme, view_delta: ViewDelta::new(5) };
            outdated::Outdated::<_, _, Sha256>::new(context, config).start(votes);
        }
    }
}

#[test]
fn votes_that_contradict_each_other_are_kept_as_evidence() {
    for liar in [Liar::Conflicter, Liar::Nuller] {
        runner(12).start(|context| async move {
            let mut cluster = Cluster::new(context, 4, 1).await;
            for number in 0..3 {
                cluster.start(number).await;
            }
            start(&mut cluster, 3, liar).await;
            cluster.reach(10).await;
            cluster.agree();
            let accused: Vec<_> = (0..3).flat_map(|number| cluster.record(number).accused.clone()).collect();
            assert!(!accused.is_empty(), "{liar:?} left nothing");
            for evidence in accused {
                assert!(matches!(evidence, Evidence::DoubleVote(_)) && evidence.replica() == 3, "{evidence:?}");
                assert!(evidence.holds(&cluster.network, &cluster.committee));
            }
        });
    }
}
