//! Consumes a feed up to a sequence as fast as it comes, and prints the lag from journal to client:
//! `bench_feed NODE FROM UNTIL`.
//!
//! The lag of a part is from the time of its batch, which the node takes before it writes the batch, to its receipt. So
//! it includes the sync. Node and client must have the same clock.

use std::time::{SystemTime, UNIX_EPOCH};

use turnpike_client::{Feed, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Vec::from_iter(std::env::args().skip(1));
    let [node, from, until] = &arguments[..] else { return Err("usage: bench_feed NODE FROM UNTIL".into()) };
    let until = until.parse()?;
    let mut feed = Feed::new(node.parse()?, from.parse()?, None, &Options::default());
    let (mut lags, mut operations, mut largest) = (Vec::new(), 0, 0);
    while feed.cursor() <= until {
        let part = feed.receive()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64;
        largest = largest.max(part.durable + 1 - part.cursor);
        operations += part.entries.len();
        lags.extend((!part.entries.is_empty()).then(|| now.saturating_sub(part.timestamp)));
    }
    lags.sort_unstable();
    let at = |share: f64| lags.get((lags.len() as f64 * share) as usize).copied().unwrap_or(0);
    println!("{operations} operations; lag p50 {} us, p99 {} us, at most {largest} operations", at(0.5), at(0.99));
    Ok(())
}
