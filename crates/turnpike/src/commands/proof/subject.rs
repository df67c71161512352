//! Subjects of proofs of the own chain, and the advice or the wait while they are not in a block.

use std::thread;
use std::time::{Duration, Instant};

use client::{Client, ProvedEntry, ProvedTransaction};
use spv::HeaderChain;
use wire::{AccountId, Status, TransactionId};

use crate::cli::ProofGetArgs;
use crate::error::Error;
use crate::output::thousands;

/// Pause between requests to the node. Blocks close every second unless the node is configured otherwise.
const PAUSE: Duration = Duration::from_millis(50);

/// Advice for a subject that is not in a block yet.
const ADVICE: &str = "Durable operations get into a block within about a second, unless the node is configured \
                      otherwise: retry, or use --wait SECONDS";

/// The subject of a proof.
#[derive(Clone, Copy)]
pub enum Subject {
    /// The entry of an account in the index.
    Balance(AccountId),
    /// The latest transaction of an account.
    Latest(AccountId),
    /// The transaction that an account named.
    Transaction(TransactionId, AccountId),
    /// The transaction at a position of the block at a height.
    Locator(u64, u32),
}

impl Subject {
    /// The subject named on the command line.
    pub fn parse(args: &ProofGetArgs) -> Result<Self, Error> {
        let subject = &args.subject;
        if let Some(account) = subject.balance {
            return Ok(Self::Balance(account));
        }
        if let Some(account) = subject.latest {
            return Ok(Self::Latest(account));
        }
        if let Some(transaction) = subject.transaction {
            let source = args.source.ok_or_else(|| {
                Error::Input(
                    "an id is unique only among the operations of one account: name the account with --source".into(),
                )
            })?;
            return Ok(Self::Transaction(transaction, source));
        }
        let locator = subject.locator.as_deref().unwrap_or_default();
        let parts = locator.split_once(':');
        let parsed = parts.and_then(|(height, at)| Some(Self::Locator(height.parse().ok()?, at.parse().ok()?)));
        parsed
            .ok_or_else(|| Error::Input(format!("{locator} is not a locator: expected HEIGHT:POSITION, such as 17:3")))
    }

    fn prove(self, client: &mut Client, chain: &mut HeaderChain) -> Result<ProvedTransaction, client::Error> {
        match self {
            // The index has the position of the latest transaction, and proves that it is the latest.
            Self::Balance(account) | Self::Latest(account) => client.prove_latest(chain, account),
            Self::Transaction(transaction, source) => client.prove_transaction(chain, transaction, source),
            Self::Locator(height, position) => client.prove_locator(chain, height, position),
        }
    }

    /// Why the node found nothing, as far as it reports.
    fn why_not_found(self, client: &mut Client) -> String {
        match self {
            Self::Balance(account) | Self::Latest(account) => match client.refer(account) {
                Ok(_) => {
                    format!("account {account} exists, but none of its transactions is in a block yet. {ADVICE}")
                }
                Err(error) if error.status() == Some(Status::SourceUnknown) => {
                    format!("no account {account}, neither in a block nor in the node's ledger")
                }
                // The node may refuse REFER from this address.
                Err(_) => format!("no transaction of account {account} is in a block. {ADVICE}"),
            },
            Self::Transaction(transaction, source) => {
                format!("transaction {transaction} of account {source} is in no block, at least not yet. {ADVICE}")
            }
            Self::Locator(height, position) => match client.info().map(|info| info.tip_height.get()) {
                Ok(tip) if height > tip => {
                    format!("no block {height} yet: the last one is {}. {ADVICE}", thousands(tip))
                }
                _ => format!("block {height} has no transaction at position {position}; positions begin at 0"),
            },
        }
    }
}

/// Deadline of retries for a subject that is not in a block.
#[derive(Clone, Copy)]
pub struct Patience {
    limit: Option<Duration>,
    since: Instant,
}

impl Patience {
    /// A deadline after `limit`; no retries without one.
    pub fn new(limit: Option<Duration>) -> Self {
        Self { limit, since: Instant::now() }
    }

    /// The proof of a transaction, once there is one.
    pub fn transaction(
        self,
        client: &mut Client,
        chain: &mut HeaderChain,
        subject: Subject,
    ) -> Result<ProvedTransaction, Error> {
        loop {
            match subject.prove(client, chain) {
                Err(error) if error.status() == Some(Status::NotFound) => {
                    if !self.pauses() {
                        let waited = self.limit.map(|limit| format!("{limit:?} passed: ")).unwrap_or_default();
                        return Err(Error::Failed(waited + &subject.why_not_found(client)));
                    }
                }
                result => return result.map_err(Error::other),
            }
        }
    }

    /// The proof of an account's entry in the index once it exists, or else of its absence.
    pub fn index(self, client: &mut Client, chain: &mut HeaderChain, account: AccountId) -> Result<ProvedEntry, Error> {
        loop {
            let proved = client.prove_index(chain, account).map_err(Error::other)?;
            if proved.entry.is_some() || !self.pauses() {
                return Ok(proved);
            }
        }
    }

    /// Waits for a pause, unless the deadline has passed. Returns whether it waited.
    fn pauses(self) -> bool {
        let goes_on = self.limit.is_some_and(|limit| self.since.elapsed() < limit);
        if goes_on {
            thread::sleep(PAUSE);
        }
        goes_on
    }
}
