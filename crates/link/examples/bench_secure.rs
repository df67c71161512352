//! What encryption costs: round trips and rates of channels in the clear and encrypted, in turns, at each size of message.
//!
//! usage: bench_secure [ADDRESS] [--json]      ADDRESS is tcp://127.0.0.1:0 unless told
//!
//! Each figure is the median of seven rounds. A round of one way is followed by one of the other, so that what else the
//! machine does meets both.
#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing else to tell")]

use std::{
    env,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use turnpike_link::{Address, Channel, Config, Identity, Operations, SecretKey, SelectionKey, Selector, ServerChannel};

/// As the figures of RUBIN's paper have them.
const KILOBYTES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 80, 100];

const ROUNDS: usize = 7;

/// Round trips of a round, and messages of a round in one direction: some milliseconds each.
const ROUND_TRIPS: u32 = 200;
const MESSAGES: u32 = 400;

/// One channel in a selector of its own.
struct End {
    selector: Selector,
    key: SelectionKey,
}

impl End {
    fn new(channel: Channel) -> Self {
        let mut selector = Selector::new().unwrap();
        let key = selector.register(channel, Operations::RECEIVE | Operations::CONNECT).unwrap();
        Self { selector, key }
    }

    fn wait(&mut self, operation: Operations) {
        self.selector.set_interest(self.key, operation).unwrap();
        self.selector.select(None).unwrap();
    }

    /// Fills a message as its user would, in place.
    fn send(&mut self, bytes: usize) {
        loop {
            let channel = self.selector.channel(self.key).unwrap();
            if let Some(mut buffer) = channel.buffer().unwrap() {
                buffer.set_len(bytes);
                return channel.send(buffer).unwrap();
            }
            self.wait(Operations::SEND);
        }
    }

    /// Bytes of the next message, or `None` at the end.
    fn receive(&mut self) -> Option<usize> {
        loop {
            match self.selector.channel(self.key).unwrap().receive() {
                Ok(Some(message)) => return Some(message.len()),
                Ok(None) => self.wait(Operations::RECEIVE),
                Err(_) => return None,
            }
        }
    }
}

/// Two ends: one here, and one on a thread that sends back every message, or one byte for each run of long ones.
fn pair(address: &Address, config: &Config) -> End {
    let mut server = ServerChannel::bind(address, config).unwrap();
    let mut near = Channel::connect(&server.address(), config).unwrap();
    let mut far = None;
    while !near.finish_connect().unwrap() || far.is_none() {
        far = far.or_else(|| server.accept().unwrap());
        thread::sleep(Duration::from_millis(1));
    }
    let far = far.unwrap();
    thread::spawn(move || {
        let mut end = End::new(far);
        let mut silent = 0;
        while let Some(bytes) = end.receive() {
            match (bytes, silent) {
                // No bytes announce messages that only the last of is answered.
                (0, _) => silent = MESSAGES,
                (_, 0) => end.send(bytes),
                (_, 1) => {
                    silent = 0;
                    end.send(1);
                }
                _ => silent -= 1,
            }
        }
    });
    End::new(near)
}

fn round_trip(end: &mut End, bytes: usize) -> f64 {
    let begun = Instant::now();
    for _ in 0..ROUND_TRIPS {
        end.send(bytes);
        assert_eq!(end.receive(), Some(bytes));
    }
    begun.elapsed().as_secs_f64() / f64::from(ROUND_TRIPS) * 1e6
}

/// Megabytes a second in one direction.
fn rate(end: &mut End, bytes: usize) -> f64 {
    end.send(0);
    let begun = Instant::now();
    for _ in 0..MESSAGES {
        end.send(bytes);
    }
    assert_eq!(end.receive(), Some(1));
    f64::from(MESSAGES) * bytes as f64 / begun.elapsed().as_secs_f64() / 1e6
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let (flags, addresses): (Vec<_>, Vec<_>) = env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let as_json = flags.iter().any(|flag| flag == "--json");
    let address: Address = addresses.first().map_or("tcp://127.0.0.1:0", String::as_str).parse().unwrap();
    let secret = SecretKey::generate().unwrap();
    let identity = Identity::new(secret.clone(), [secret.public().unwrap()]).unwrap();
    let ways = [None, Some(Arc::new(identity))];
    let mut ends = ways.map(|identity| pair(&address, &Config { identity, ..Config::default() }));

    if !as_json {
        println!("| KB | round trip us: clear | encrypted | ratio | MB/s: clear | encrypted | ratio |");
        println!("|---|---|---|---|---|---|---|");
    }
    for kilobytes in KILOBYTES {
        let bytes = kilobytes * 1000;
        let (mut trips, mut rates) = ([vec![], vec![]], [vec![], vec![]]);
        for _ in 0..ROUNDS {
            for (way, end) in ends.iter_mut().enumerate() {
                trips[way].push(round_trip(end, bytes));
                rates[way].push(rate(end, bytes));
            }
        }
        let ([clear, sealed], [clear_rate, sealed_rate]) = (trips.map(median), rates.map(median));
        if as_json {
            println!(
                "{{\"bytes\": {bytes}, \"clear_us\": {clear:.1}, \"encrypted_us\": {sealed:.1}, \
                 \"clear_mb_per_s\": {clear_rate:.0}, \"encrypted_mb_per_s\": {sealed_rate:.0}}}"
            );
        } else {
            let (slower, share) = (sealed / clear, clear_rate / sealed_rate);
            println!(
                "| {kilobytes} | {clear:.1} | {sealed:.1} | {slower:.2} | {clear_rate:.0} | {sealed_rate:.0} | {share:.2} |"
            );
        }
    }
}
