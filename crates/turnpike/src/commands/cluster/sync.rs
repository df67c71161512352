//! The ledger of a replica that runs, fetched over HTTP for one that is to join.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use node::Config;
use node::state_sync::{FetchError, Present, Progress, Source, fetch};
use rustix::fs::Mode;

use crate::cli::ClusterSyncArgs;
use crate::error::Error;
use crate::http;
use crate::output::{Output, thousands};

/// Timeout of a page of some megabytes from the other replica.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum size of a page in bytes: whole blocks of up to a megabyte, up to four megabytes, and some overhead.
const PAGE: u64 = 16 << 20;
/// Maximum number of characters to print of the other replica's reason.
const REASON: usize = 200;
/// Between two lines about how far it is.
const TOLD: Duration = Duration::from_secs(2);

/// A replica at its HTTP address.
struct Http {
    at: SocketAddr,
    agent: ureq::Agent,
}

impl Source for Http {
    fn get(&mut self, path: &str) -> Result<Vec<u8>, FetchError> {
        let at = format!("http://{}{path}", self.at);
        let unreachable = |error: ureq::Error| FetchError::Unreachable { at: at.clone(), reason: error.to_string() };
        let mut response = self.agent.get(&at).call().map_err(unreachable)?;
        let body = response.body_mut().with_config().limit(PAGE).read_to_vec().map_err(unreachable)?;
        if response.status().is_success() {
            return Ok(body);
        }
        Err(FetchError::Refused { what: path.to_owned(), reason: printable(&body) })
    }
}

/// The first line of another machine's text, fit for a terminal: no control characters, and not long.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * REASON)]);
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().filter(|letter| !letter.is_control()).take(REASON).collect()
}

/// Runs `turnpike cluster sync`.
pub fn sync(args: &ClusterSyncArgs, output: Output) -> Result<(), Error> {
    let config = Config::load(&args.config).map_err(Error::other)?;
    let present = if args.replace { Present::Replace } else { Present::Extend };
    let height = run(&config, args.from, present, output)?;
    output.result(&serde_json::json!({ "data": config.data, "height": height }), |_| {
        format!("{} has the ledger of {} blocks: start the replica", config.data.display(), thousands(height))
    });
    Ok(())
}

/// Fetches the ledger of the replica at an HTTP address into the configured data directory. Returns its height.
pub fn run(config: &Config, at: SocketAddr, present: Present, output: Output) -> Result<u64, Error> {
    let mut source = Http { at, agent: http::agent(PATIENCE) };
    let mut told = Instant::now();
    // For the files that the key-value store creates, as in a node.
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let height = fetch(config, present, &mut source, |Progress { height, of }| {
        if told.elapsed() > TOLD {
            output.progress(format!("{} blocks of {}", thousands(height), thousands(of)));
            told = Instant::now();
        }
    });
    rustix::process::umask(before);
    let height = height.map_err(Error::other)?;
    output.progress(format!("received the ledger of {} blocks, and verified a quorum's signatures", thousands(height)));
    Ok(height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_another_machine_does_nothing_to_a_terminal() {
        assert_eq!(printable(b"  pruned already\n"), "pruned already");
        assert_eq!(printable(b"\x1b[2J\x07bell\nmore"), "[2Jbell");
        assert_eq!(printable(&[b'x'; 1 << 20]).len(), REASON);
        assert!(printable(&[0xff; 1 << 20]).chars().count() <= REASON);
    }
}
