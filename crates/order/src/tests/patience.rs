//! The patience of replicas grows while views are lost, and shrinks again.
use super::cluster::Cluster;
use super::runner;
use commonware_runtime::{Clock, Runner, Supervisor};
use commonware_utils::probability;
use std::time::Duration;

/// Three times these replicas' patience with a leader, and longer than they wait for votes.
const SLOW: Duration = Duration::from_millis(900);
/// The message latency that they are configured for.
const FAST: Duration = Duration::from_millis(10);
/// What takes this long is visible in any of these tests.
const LONG: Duration = Duration::from_secs(60);

/// Four running replicas whose messages take `latency`.
async fn running(cluster: &mut Cluster, latency: Duration) {
    travel(cluster, latency).await;
    cluster.start_all().await;
}

async fn travel(cluster: &mut Cluster, latency: Duration) {
    cluster.travel(latency, latency / 10, probability!(1.0)).await;
}

#[test]
fn where_messages_take_longer_than_is_waited_waits_grow_and_shrink_again() {
    for (seed, term) in [(31, 1), (32, 5), (33, 1)] {
        runner(seed).start(|context| async move {
            let mut cluster = Cluster::new(context, 4, term).await;
            running(&mut cluster, SLOW).await;
            cluster.reach(20).await;
            travel(&mut cluster, FAST).await;
            let height = (0..4).map(|number| cluster.height(number)).max().unwrap();
            cluster.reach(height + 10).await;
            assert_eq!(cluster.factors(), [1; 4]);
            cluster.agree();
        });
    }
}

#[test]
fn with_waits_that_do_not_grow_nothing_is_final_there() {
    for (seed, term) in [(31, 1), (32, 5)] {
        runner(seed).start(|context| async move {
            let mut cluster = Cluster::new(context.child("cluster"), 4, term).await;
            cluster.longest = Duration::ZERO;
            running(&mut cluster, SLOW).await;
            context.sleep(LONG).await;
            for number in 0..4 {
                assert_eq!(cluster.height(number), 0);
                assert!(cluster.replica(number).status().snapshot().abandoned > 10);
            }
            assert_eq!(cluster.factors(), [1; 4]);
        });
    }
}

/// A killed idle leader is not waited for any longer than one under load.
#[test]
fn where_leaders_are_idle_waits_do_not_grow() {
    runner(34).start(|context| async move {
        let mut cluster = Cluster::new(context.child("cluster"), 4, 1).await;
        running(&mut cluster, FAST).await;
        cluster.reach(5).await;
        cluster.rest(true);
        let before = cluster.replica(0).status().snapshot().abandoned;
        context.sleep(LONG).await;
        assert!(cluster.replica(0).status().snapshot().abandoned > before + 10, "no leader let its turn pass");
        assert_eq!(cluster.factors(), [1; 4]);
        // Nor do they grow if one of the leaders is absent.
        cluster.stop(2);
        context.sleep(LONG).await;
        assert_eq!(cluster.factors(), [1; 3]);
        cluster.rest(false);
        cluster.reach(cluster.height(0) + 5).await;
        cluster.agree();
    });
}
