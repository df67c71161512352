//! A client: it submits batches to collectors, and verifies the certificates that it gets.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use link::{Address, Channel, Error, Operations, SelectionKey, Selector};
use spv::Hash;
use wire::{FastBatch, FastOrder};
use zerocopy::IntoBytes;

use crate::{
    genesis::{GENERATION, QUORUM},
    replica::{Kind, channels},
    votes,
};

/// A client with a channel to each replica that it submits to.
#[derive(Debug)]
pub struct Client {
    selector: Selector,
    collectors: Vec<SelectionKey>,
}

/// The encoded batch of some orders.
///
/// # Panics
///
/// If there are no orders, or more than 1,024.
pub fn encode(orders: &[FastOrder]) -> Vec<u8> {
    let header = FastBatch::new(GENERATION, orders.len()).expect("a batch has 1 to 1,024 orders");
    Kind::Batch.message(&[header.as_bytes(), orders.as_bytes()].concat())
}

impl Client {
    /// Connects to replicas.
    pub fn connect(addresses: &[Address]) -> Result<Self, Error> {
        let mut client = Self { selector: Selector::new()?, collectors: Vec::new() };
        for address in addresses {
            let key = client.selector.register(Channel::connect(address, &channels())?, Operations::CONNECT)?;
            while !client.selector.channel(key)?.finish_connect()? {
                client.selector.select(None)?;
            }
            client.selector.set_interest(key, Operations::RECEIVE)?;
            client.collectors.push(key);
            client.submit(client.collectors.len() - 1, &Kind::Client.message(&[]))?;
        }
        Ok(client)
    }

    /// Waits until a collector is connected to this number of other replicas. Certificates that arrive meanwhile are
    /// dropped. Returns false if it takes longer than [`PATIENCE`].
    pub fn wait_for_replicas(&mut self, collector: usize, replicas: u8) -> Result<bool, Error> {
        let (key, deadline) = (self.collectors[collector], Instant::now() + PATIENCE);
        while Instant::now() < deadline {
            self.submit(collector, &Kind::Client.message(&[]))?;
            self.selector.select(Some(CONNECTING))?;
            while let Some(message) = self.selector.channel(key)?.receive()? {
                if matches!(Kind::split(&message), Some((Kind::Client, [connected])) if *connected >= replicas) {
                    return Ok(true);
                }
            }
            std::thread::sleep(CONNECTING);
        }
        Ok(false)
    }

    /// Sends a message to a collector.
    pub fn submit(&mut self, collector: usize, message: &[u8]) -> Result<(), Error> {
        let key = self.collectors[collector];
        loop {
            let channel = self.selector.channel(key)?;
            if channel.send_copy(message)? {
                channel.flush();
                break;
            }
            self.selector.set_interest(key, Operations::SEND)?;
            self.selector.select(None)?;
        }
        self.selector.set_interest(key, Operations::RECEIVE)
    }

    /// Waits for certificates until a deadline, and passes each to `take`. Returns whether there was one.
    pub fn receive(&mut self, deadline: Instant, mut take: impl FnMut(&[u8])) -> Result<bool, Error> {
        loop {
            let mut is_any = false;
            for key in self.collectors.clone() {
                while let Some(message) = self.selector.channel(key)?.receive()? {
                    if let Some((Kind::Certificate, votes)) = Kind::split(&message) {
                        take(votes);
                        is_any = true;
                    }
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if is_any || left == Duration::ZERO {
                return Ok(is_any);
            }
            self.selector.select(Some(left))?;
        }
    }
}

/// Verifies a certificate of a batch as a light client does. Returns the positions of the certified orders.
pub fn verify(certificate: &[u8], root: &Hash, orders: usize) -> Vec<usize> {
    let Some(found) = votes::parse(certificate) else { return Vec::new() };
    let verdicts = votes::verify(&found);
    let valid = found.into_iter().zip(verdicts).filter_map(|(vote, is_valid)| is_valid.then_some(vote));
    votes::certified(&Vec::from_iter(valid), root, orders, QUORUM)
}

/// The root that a certificate is about, without verifying it.
pub fn root_of(certificate: &[u8]) -> Option<Hash> {
    votes::parse(certificate)?.first().map(|vote| vote.header.root)
}

/// Latencies, sorted.
#[derive(Debug)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Sorts latencies.
    pub fn new(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        Self(latencies)
    }

    /// The latency that a share of the others does not exceed, in milliseconds.
    pub fn quantile(&self, share: f64) -> f64 {
        let at = (self.0.len() as f64 * share) as usize;
        self.0.get(at).or(self.0.last()).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    }
}

/// Longest time to wait for a certificate, or for replicas to connect, before the measurement fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval of questions whether replicas are connected.
const CONNECTING: Duration = Duration::from_millis(5);

/// Measures the time from submitting one order to its verified certificate, one order at a time. Signing is not part of
/// it.
pub fn one_at_a_time(client: &mut Client, orders: &[FastOrder]) -> Result<Latencies, Error> {
    let mut latencies = Vec::with_capacity(orders.len());
    for order in orders {
        let batch = crate::batch::Batch::new(vec![*order]);
        let message = encode(&batch.orders);
        let begun = Instant::now();
        client.submit(0, &message)?;
        let mut certified = Vec::new();
        while certified.is_empty() {
            let is_any = client.receive(begun + PATIENCE, |votes| certified = verify(votes, &batch.root, 1))?;
            assert!(is_any, "an order got no certificate within {PATIENCE:?}");
        }
        latencies.push(begun.elapsed());
    }
    Ok(Latencies::new(latencies))
}

/// Measures the rate of batches: `rounds` holds for each window the batches of its accounts, and a window submits the
/// next batch once all orders of the one before are certified. Windows use the collectors in turn. Returns orders per
/// second.
pub fn rate(client: &mut Client, windows: &[Vec<Vec<FastOrder>>]) -> Result<f64, Error> {
    let encoded: Vec<Vec<_>> =
        windows.iter().map(|batches| batches.iter().map(|orders| encode(orders)).collect()).collect();
    let roots: Vec<Vec<Hash>> = windows
        .iter()
        .map(|batches| batches.iter().map(|orders| crate::batch::Batch::new(orders.clone()).root).collect())
        .collect();
    let collectors = client.collectors.len();
    let mut under_way: HashMap<Hash, (usize, usize)> = HashMap::new();
    let begun = Instant::now();
    for (window, batches) in encoded.iter().enumerate() {
        client.submit(window % collectors, &batches[0])?;
        under_way.insert(roots[window][0], (window, 0));
    }
    let (mut certificates, mut last) = (Vec::new(), begun);
    while !under_way.is_empty() {
        let mut arrived = Vec::new();
        let is_any = client.receive(Instant::now() + PATIENCE, |votes| arrived.push(votes.to_vec()))?;
        assert!(is_any, "a batch got no certificate within {PATIENCE:?}");
        for votes in arrived {
            let Some(root) = root_of(&votes) else { continue };
            let Some((window, number)) = under_way.remove(&root) else { continue };
            if let Some(next) = encoded[window].get(number + 1) {
                client.submit(window % collectors, next)?;
                under_way.insert(roots[window][number + 1], (window, number + 1));
            }
            certificates.push((window, number, votes));
        }
        last = Instant::now();
    }
    let mut orders = 0;
    for (window, number, votes) in certificates {
        let expected = windows[window][number].len();
        assert_eq!(verify(&votes, &roots[window][number], expected).len(), expected, "all orders are certified");
        orders += expected;
    }
    Ok(orders as f64 / (last - begun).as_secs_f64())
}
