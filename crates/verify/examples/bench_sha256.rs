//! Benchmarks one hash on each backend and in crate `sha2`, alternating in one run.
//!
//! Prints median nanoseconds and their ratio, and wall time on all processors, through a work queue.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use common::{Racer, race_on_all_processors};
use figures::Figure;
use sha2::{Digest as _, Sha256};
use turnpike_verify::sha256::{Backend, Digest, Engine, Tag, sha256d_many_on, sha256d_nodes_on};

const NODE: Tag = Tag::new("turnpike/node");
const ROUNDS: usize = 41;

/// A way of hashing all the inputs, by name.
type Contender<'a> = (String, Box<dyn FnMut() + 'a>);

/// Runs the contenders in turns and prints each median time per hash, beside that of the first.
fn race(title: &str, hashes: usize, mut contenders: Vec<Contender<'_>>) {
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in contenders.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_nanos() as f64 / hashes as f64);
        }
    }
    println!("{title}");
    let peer_name = contenders[0].0.clone();
    let mut peer = None;
    for ((name, _), times) in contenders.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let median = times[ROUNDS / 2];
        let peer = *peer.get_or_insert(median);
        println!("  {name:<24}{median:>9.1} ns {:>7.2}x", peer / median);
        if *name != peer_name {
            let name = format!("{title}, {name}");
            Figure { name: &name, value: median, unit: "ns", peer: Some((&peer_name, peer)) }.record();
        }
    }
}

fn engines() -> Vec<(String, Engine)> {
    Backend::ALL.into_iter().filter_map(|backend| Some((format!("{backend:?}"), Engine::only(backend)?))).collect()
}

fn noise<const N: usize>(count: usize) -> Vec<[u8; N]> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..count).map(|_| std::array::from_fn(|_| next())).collect()
}

/// Messages of one length, each hashed by crate `sha2` and many at once by the engines.
fn many<const N: usize>(
    hash: &str,
    count: usize,
    (peer, theirs): (&str, impl Fn(&[u8; N]) -> Digest),
    ours: impl Fn(&Engine, &[[u8; N]], &mut [Digest]) + Copy,
) {
    let messages = noise::<N>(count);
    let messages = &messages[..];
    let mut digests = vec![[0; 32]; count];
    let mut contenders: Vec<Contender<'_>> = vec![(
        peer.into(),
        Box::new(move || {
            for (message, digest) in messages.iter().zip(&mut digests) {
                *digest = theirs(black_box(message));
            }
            black_box(&digests);
        }),
    )];
    for (name, engine) in engines() {
        let mut digests = vec![[0; 32]; count];
        contenders.push((
            name,
            Box::new(move || {
                ours(&engine, black_box(messages), &mut digests);
                black_box(&digests);
            }),
        ));
    }
    race(&format!("{hash} of {N} bytes, {count} at once"), count, contenders);
}

/// A tagged hash, against crate `sha2` that also starts after the tag.
fn tagged<const N: usize>(count: usize) {
    let tag = Sha256::digest("turnpike/node");
    let midstate = Sha256::new().chain_update(tag).chain_update(tag);
    let theirs = |message: &[u8; N]| midstate.clone().chain_update(message).finalize().into();
    many("tagged hash", count, ("sha2, from midstate", theirs), |engine, messages, digests| {
        NODE.hash_many_on(engine, messages, digests)
    });
}

/// Bitcoin's hash.
fn double<const N: usize>(count: usize) {
    let theirs = |message: &[u8; N]| Sha256::digest(Sha256::digest(message)).into();
    many("SHA256d", count, ("sha2", theirs), sha256d_many_on);
}

/// All levels of a tree.
fn tree(title: &str, leaves: usize, level: impl Fn(&Engine, &[Digest], &mut [Digest]) + Copy) {
    let first = noise::<32>(leaves);
    let first = &first[..];
    let contenders = engines()
        .into_iter()
        .rev()
        .map(|(name, engine)| {
            let mut children = first.to_vec();
            let mut parents = vec![[0; 32]; leaves];
            let run = move || {
                children.clear();
                children.extend_from_slice(first);
                while children.len() > 1 {
                    let half = children.len().div_ceil(2);
                    level(&engine, &children, &mut parents[..half]);
                    children.truncate(half);
                    children.copy_from_slice(&parents[..half]);
                }
                black_box(&children);
            };
            (name, Box::new(run) as Box<dyn FnMut()>)
        })
        .collect();
    race(title, leaves - 1, contenders);
}

/// Bitcoin's hash of 64 bytes on all processors.
fn double_on_all_processors() {
    const COUNT: usize = 1 << 12;
    const PIECES: usize = 64;
    let messages = Arc::new(noise::<64>(COUNT));
    let pieces = vec![messages; PIECES];
    let contenders: [Racer<'_, Arc<Vec<[u8; 64]>>>; 2] = [
        ("sha2", &|| {
            Box::new(|messages| {
                for message in &*messages {
                    black_box::<Digest>(Sha256::digest(Sha256::digest(message)).into());
                }
            })
        }),
        (&format!("{:?}", Engine::fastest().wide()), &|| {
            let mut digests = vec![[0; 32]; COUNT];
            Box::new(move |messages| {
                sha256d_many_on(Engine::fastest(), &messages, &mut digests);
                black_box(&digests);
            })
        }),
    ];
    println!("SHA256d of 64 bytes, {COUNT} at once");
    race_on_all_processors("SHA256d of 64 bytes", PIECES * COUNT, &pieces, contenders);
}

fn main() {
    let engine = Engine::fastest();
    let (narrow, threshold) = engine.narrow();
    println!("chosen: {:?} from {threshold} messages on, else {narrow:?}", engine.wide());
    for count in [1, 2, 4, 8, 16] {
        tagged::<64>(count);
    }
    tagged::<64>(1 << 12);
    tagged::<184>(1 << 12);
    double::<64>(1 << 12);
    double::<80>(1 << 12);
    double_on_all_processors();
    tree("node of an own tree of 2^16 leaves", 1 << 16, |engine, children, parents| {
        NODE.nodes_on(engine, children, parents)
    });
    tree("node of a Bitcoin tree of 2^16 leaves", 1 << 16, sha256d_nodes_on);
}
