//! What replicas do and store while there is nothing to order.
use super::cluster::{Cluster, Context};
use commonware_runtime::{Clock, Metrics as _, Runner, Storage, Supervisor, deterministic};
use std::num::NonZeroU64;
use std::time::Duration;

const HEARTBEAT: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3600);

fn runner(seed: u64) -> deterministic::Runner {
    deterministic::Runner::new(deterministic::Config::new().with_seed(seed).with_timeout(Some(3 * HOUR)))
}

/// Four replicas that have ordered some blocks and have nothing more to order.
async fn resting(context: Context) -> Cluster {
    let mut cluster = Cluster::new(context, 4, 1).await;
    cluster.epoch = NonZeroU64::new(1024).unwrap();
    cluster.beat(HEARTBEAT);
    cluster.start_all().await;
    cluster.reach(5).await;
    cluster.rest(true);
    cluster
}

/// Files of votes that a replica keeps.
async fn files(context: &Context, number: usize) -> usize {
    context.scan(&format!("replica-{number}-votes-0")).await.unwrap().len()
}

/// Bytes that all replicas have written to their disks so far.
fn written(context: &Context) -> u64 {
    let metrics = context.encode();
    let counted = |line: &&str| !line.starts_with('#') && line.contains("storage_write_bytes");
    let line = metrics.lines().find(counted).and_then(|line| line.split(' ').next_back());
    line.expect("the runtime counts written bytes").parse().unwrap()
}

/// A view without a proposal used to cost the replicas' patience and one file each: 12,000 files in this hour.
#[test]
fn an_idle_hour_leaves_few_files_and_bytes() {
    runner(51).start(|context| async move {
        let cluster = resting(context.child("cluster")).await;
        context.sleep(HEARTBEAT).await;
        let (view, height) = (cluster.replica(0).status().snapshot().view, cluster.height(0));
        let before = written(&context);
        context.sleep(HOUR).await;
        let status = cluster.replica(0).status().snapshot();
        assert!(status.is_resting && status.in_view.is_zero(), "{status:?}");
        let (views, blocks) = (status.view - view, cluster.height(0) - height);
        let bytes = (written(&context) - before) / 4;
        println!(
            "an idle hour: {views} views, each with a file of votes, {blocks} blocks, {bytes} bytes for each replica"
        );
        assert!((100..=125).contains(&blocks), "{blocks} blocks");
        assert!(views <= 2 * blocks, "{views} views for {blocks} blocks");
        assert!(bytes <= 8 << 20, "{bytes} bytes written");
        context.sleep(2 * HOUR - 2 * HEARTBEAT).await;
        let files = files(&context, 0).await;
        println!("three idle hours: {files} files of votes");
        assert!(files <= 300, "votes on blocks that are final are dropped: {files} files");
        cluster.agree();
    });
}

/// Work ends the rest of all replicas at once, and an absent leader is noticed as soon as under load.
#[test]
fn work_ends_the_rest() {
    for (seed, away) in [(52, None), (53, Some(0)), (54, Some(1)), (55, Some(2)), (56, Some(3))] {
        runner(seed).start(|context| async move {
            let mut cluster = resting(context.child("cluster")).await;
            context.sleep(HEARTBEAT / 2).await;
            if let Some(away) = away {
                cluster.stop(away);
            }
            let height = (0..4).map(|number| cluster.height(number)).max().unwrap();
            let since = context.current();
            cluster.rest(false);
            cluster.reach(height + 1).await;
            let passed = context.current().duration_since(since).unwrap();
            // An absent leader costs its patience, plus the delay until the clock is read again.
            assert!(passed < Duration::from_secs(2), "{passed:?}, {away:?} is away");
            cluster.reach(height + 10).await;
            cluster.agree();
        });
    }
}

/// Replicas that restart while the others rest catch up soon, and know that they have.
#[test]
fn who_starts_again_while_others_rest_follows() {
    for (seed, views) in [(57, 0), (58, 1), (59, 5)] {
        runner(seed).start(|context| async move {
            let mut cluster = resting(context.child("cluster")).await;
            context.sleep(HEARTBEAT / 2).await;
            cluster.stop(3);
            context.sleep(views * HEARTBEAT).await;
            cluster.start(3).await;
            let since = context.current();
            let height = cluster.height(0);
            cluster.reach(height).await;
            let in_one_view = || {
                let all = (0..4).map(|number| cluster.replica(number).status().snapshot());
                let views: Vec<_> = all.map(|status| (status.view, status.is_resting)).collect();
                views.iter().all(|view| *view == (views[0].0, true))
            };
            while !in_one_view() {
                context.sleep(Duration::from_millis(100)).await;
            }
            let passed = context.current().duration_since(since).unwrap();
            assert!(passed <= HEARTBEAT + Duration::from_secs(5), "{passed:?} after {views} heartbeats");
            cluster.agree();
        });
    }
}
