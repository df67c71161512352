//! JSON-RPC calls to a Bitcoin node.

use std::{fmt, fs, path::PathBuf, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use spv::{Hash, bitcoin::Network};

use crate::{Error, Failure, hex};

/// Bytes of the longest answer: a batch of transactions or the longest block, in hexadecimal digits, with room to
/// spare.
const LONGEST: u64 = 64 << 20;

/// How long to wait for an estimate of fees: a wallet gives up on its server after 30 s.
pub const ESTIMATE_PATIENCE: Duration = Duration::from_secs(10);

/// How to reach a node.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The node's address, such as `http://127.0.0.1:8332`.
    pub url: String,
    /// The node's cookie file, or any other file that holds a user, a colon and a password.
    pub cookie: PathBuf,
    /// How long the node may take to answer.
    pub patience: Duration,
}

/// A client of one node.
#[derive(Clone)]
pub struct Client {
    settings: Settings,
    agent: ureq::Agent,
}

/// What a node says about its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// The node's network; `None` if its name is unknown here.
    pub network: Option<Network>,
    /// Height of the node's last block.
    pub height: u32,
    /// Hash of that block.
    pub best: Hash,
}

/// What a transaction has to pay, in bitcoins per 1,000 virtual bytes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Fees {
    /// For the node to keep it now.
    #[serde(rename = "mempoolminfee")]
    pub mempool: f64,
    /// For the node to relay it.
    #[serde(rename = "minrelaytxfee")]
    pub relay: f64,
    /// On top, to replace another transaction.
    #[serde(rename = "incrementalrelayfee")]
    pub increment: f64,
}

/// What a node says about its mempool. btcd leaves out the fees.
#[derive(Deserialize)]
struct MempoolInfo {
    #[serde(flatten)]
    fees: Option<Fees>,
}

/// Whether a node would accept a transaction.
#[derive(Clone, Debug, Deserialize)]
pub struct TestResult {
    /// The transaction's hash, as Bitcoin displays it.
    pub txid: String,
    /// The hash including the witness.
    pub wtxid: String,
    /// Whether the node would accept it; `None` if the test was not completed.
    pub allowed: Option<bool>,
    /// Why the package is refused.
    #[serde(rename = "package-error")]
    pub package_error: Option<String>,
    /// Why the transaction is refused, in detail.
    #[serde(rename = "reject-details")]
    pub details: Option<String>,
    /// The same in short.
    #[serde(rename = "reject-reason")]
    pub reason: Option<String>,
}

impl TestResult {
    /// The reason for refusal, the most specific one that the node gave.
    pub fn refusal(&self) -> Option<&str> {
        self.package_error.as_deref().or(self.details.as_deref()).or(self.reason.as_deref())
    }
}

/// The result of submitting a package.
#[derive(Clone, Debug)]
pub struct PackageResult {
    /// Whether the node accepted all of it.
    pub is_success: bool,
    /// The transactions that it refused, each with the reason.
    pub errors: Vec<(String, String)>,
    /// The node's whole answer, as JSON.
    pub whole: String,
}

/// An answer, or one of a batch of answers.
#[derive(Deserialize)]
struct Answer<T> {
    #[serde(default = "Option::default")]
    result: Option<T>,
    error: Option<Failure>,
    #[serde(default)]
    id: u64,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client, without calling the node yet.
    pub fn new(settings: Settings) -> Self {
        // A proxy set in the environment is not meant for this. HTTP errors come with bodies that matter. Each call
        // opens its own connection: bitcoind closes those on which it had errors, and a request sent at that moment is
        // reset.
        let config = ureq::Agent::config_builder().proxy(None).http_status_as_error(false);
        let agent = config.max_idle_connections(0).max_idle_connections_per_host(0).build().into();
        Self { settings, agent }
    }

    /// What the node says about its blocks.
    pub fn block_info(&self) -> Result<BlockInfo, Error> {
        #[derive(Deserialize)]
        struct Info {
            chain: String,
            blocks: u32,
            bestblockhash: String,
        }
        let method = "getblockchaininfo";
        let info: Info = self.call(method, json!([]))?;
        let network = match &*info.chain {
            // The names that Bitcoin Core uses, and btcd's.
            "main" | "mainnet" => Some(Network::Mainnet),
            "test" | "testnet3" => Some(Network::Testnet),
            "testnet4" => Some(Network::Testnet4),
            "signet" => Some(Network::Signet),
            "regtest" => Some(Network::Regtest),
            _ => None,
        };
        Ok(BlockInfo { network, height: info.blocks, best: hash(method, &info.bestblockhash)? })
    }

    /// The hash of the block at a height of the node's active branch.
    ///
    /// Fails with [`Failure`] if there is none.
    pub fn block_hash(&self, height: u32) -> Result<Hash, Error> {
        let method = "getblockhash";
        hash(method, &self.call::<String>(method, json!([height]))?)
    }

    /// The hashes at heights from `first` on, up to `count` of them.
    pub fn block_hashes(&self, first: u32, count: u32) -> Result<Vec<Hash>, Error> {
        let method = "getblockhash";
        let heights = (first..first.saturating_add(count)).map(|height| json!([height]));
        let answers: Vec<Result<String, Failure>> = self.batch(method, heights)?;
        answers.into_iter().map_while(Result::ok).map(|text| hash(method, &text)).collect()
    }

    /// A block in its wire encoding.
    pub fn block(&self, block: &Hash) -> Result<Vec<u8>, Error> {
        let method = "getblock";
        bytes(method, &self.call::<String>(method, json!([hex::reversed(block), 0]))?)
    }

    /// Waits until there is a new block, or until `patience` is over.
    pub fn wait_for_new_block(&self, patience: Duration) -> Result<(), Error> {
        let milliseconds = patience.as_millis() as u64;
        let patience = self.settings.patience + patience;
        self.call_within::<Value>("waitfornewblock", json!([milliseconds]), patience).map(drop)
    }

    /// The hashes of the transactions in the mempool.
    pub fn mempool(&self) -> Result<Vec<Hash>, Error> {
        let method = "getrawmempool";
        self.call::<Vec<String>>(method, json!([]))?.iter().map(|text| hash(method, text)).collect()
    }

    /// Transactions from the mempool. Those that have left it meanwhile are omitted.
    pub fn mempool_transactions(&self, hashes: &[Hash]) -> Result<Vec<Vec<u8>>, Error> {
        let method = "getrawtransaction";
        let asked = hashes.iter().map(|hash| json!([hex::reversed(hash)]));
        let answers: Vec<Result<String, Failure>> = self.batch(method, asked)?;
        let there = answers.into_iter().filter_map(|answer| match answer {
            Ok(text) => Some(bytes(method, &text)),
            Err(failure) if failure.code == Failure::NOT_FOUND => None,
            Err(failure) => Some(Err(failure.into())),
        });
        there.collect()
    }

    /// What the node says about a transaction, as JSON.
    pub fn verbose_transaction(&self, transaction: &Hash) -> Result<String, Error> {
        let value: Value = self.call("getrawtransaction", json!([hex::reversed(transaction), 1]))?;
        Ok(value.to_string())
    }

    /// Sends a transaction to the network. Returns its hash as Bitcoin displays it.
    pub fn send(&self, transaction: &[u8]) -> Result<String, Error> {
        self.call("sendrawtransaction", json!([hex::text(transaction)]))
    }

    /// Sends transactions that pay enough only as a package.
    pub fn send_package<'a>(&self, transactions: impl IntoIterator<Item = &'a str>) -> Result<PackageResult, Error> {
        let transactions: Vec<&str> = transactions.into_iter().collect();
        let whole: Value = self.call("submitpackage", json!([transactions]))?;
        let results =
            whole.get("tx-results").and_then(Value::as_object).into_iter().flat_map(|results| results.values());
        let errors = results.filter_map(|result| {
            let field = |name| result.get(name).and_then(Value::as_str).map(str::to_owned);
            Some((field("txid")?, field("error")?))
        });
        Ok(PackageResult {
            is_success: whole.get("package_msg").and_then(Value::as_str) == Some("success"),
            errors: errors.collect(),
            whole: whole.to_string(),
        })
    }

    /// Whether the node would accept each of the transactions.
    pub fn test<'a>(&self, transactions: impl IntoIterator<Item = &'a str>) -> Result<Vec<TestResult>, Error> {
        let transactions: Vec<&str> = transactions.into_iter().collect();
        self.call("testmempoolaccept", json!([transactions]))
    }

    /// The fee that gets a transaction into one of the next `blocks` blocks, in bitcoins per 1,000 virtual bytes.
    ///
    /// `None` if the node cannot tell. Waits for at most [`ESTIMATE_PATIENCE`].
    pub fn estimate_fee(&self, blocks: u64, mode: Option<&str>) -> Result<Option<f64>, Error> {
        #[derive(Deserialize)]
        struct Estimate {
            feerate: Option<f64>,
        }
        let parameters = mode.map_or_else(|| json!([blocks]), |mode| json!([blocks, mode]));
        let patience = self.settings.patience.min(ESTIMATE_PATIENCE);
        match self.call_within::<Estimate>("estimatesmartfee", parameters, patience) {
            Ok(estimate) => Ok(estimate.feerate),
            Err(Error::Refused(Failure { code: Failure::UNKNOWN_METHOD, .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What transactions have to pay; `None` if the node does not say.
    pub fn fees(&self) -> Result<Option<Fees>, Error> {
        Ok(self.call::<MempoolInfo>("getmempoolinfo", json!([]))?.fees)
    }

    fn call<T: DeserializeOwned>(&self, method: &'static str, parameters: Value) -> Result<T, Error> {
        self.call_within(method, parameters, self.settings.patience)
    }

    /// Calls a method and waits for the answer for at most `patience`.
    fn call_within<T: DeserializeOwned>(
        &self,
        method: &'static str,
        parameters: Value,
        patience: Duration,
    ) -> Result<T, Error> {
        let answer: Answer<T> = self.post(method, &request(0, method, &parameters), patience)?;
        match answer {
            Answer { error: Some(failure), .. } => Err(failure.into()),
            Answer { result: Some(result), .. } => Ok(result),
            Answer { .. } => Err(Error::Malformed { method, reason: "there is no result".into() }),
        }
    }

    /// Calls a method once for each set of parameters, and returns the answers in that order.
    fn batch<T: DeserializeOwned>(
        &self,
        method: &'static str,
        parameters: impl Iterator<Item = Value>,
    ) -> Result<Vec<Result<T, Failure>>, Error> {
        let requests: Vec<Value> =
            (0..).zip(parameters).map(|(id, parameters)| request(id, method, &parameters)).collect();
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let count = requests.len();
        let mut answers: Vec<Answer<T>> = self.post(method, &requests.into(), self.settings.patience)?;
        answers.sort_unstable_by_key(|answer| answer.id);
        let malformed = |reason: &str| Error::Malformed { method, reason: reason.into() };
        if !(0..count as u64).eq(answers.iter().map(|answer| answer.id)) {
            return Err(malformed("not all calls of the batch are answered, each once"));
        }
        let results = answers.into_iter().map(|answer| match answer {
            Answer { error: Some(failure), .. } => Ok(Err(failure)),
            Answer { result: Some(result), .. } => Ok(Ok(result)),
            Answer { .. } => Err(malformed("there is no result")),
        });
        results.collect()
    }

    /// Sends a body and reads the answer, all within `patience`.
    fn post<T: DeserializeOwned>(&self, method: &'static str, body: &Value, patience: Duration) -> Result<T, Error> {
        let Settings { url, cookie, .. } = &self.settings;
        let unreachable = |error: ureq::Error| Error::Unreachable { url: url.clone(), reason: error.to_string() };
        // A restarted node writes a new cookie.
        let secret = fs::read(cookie).map_err(|source| Error::Cookie { path: cookie.clone(), source })?;
        let request = self.agent.post(url).config().timeout_global(Some(patience)).build();
        let request = request
            .header("authorization", format!("Basic {}", BASE64_STANDARD.encode(secret.trim_ascii())))
            .header("content-type", "application/json");
        let mut response = request.send(body.to_string()).map_err(unreachable)?;
        if [401, 403].contains(&response.status().as_u16()) {
            return Err(Error::Unauthorized { url: url.clone(), cookie: cookie.clone() });
        }
        let read = response.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(unreachable)?;
        let status = response.status();
        serde_json::from_slice(&read)
            .map_err(|error| Error::Malformed { method, reason: format!("{error} (HTTP {status})") })
    }
}

fn request(id: u64, method: &str, parameters: &Value) -> Value {
    json!({ "jsonrpc": "1.0", "id": id, "method": method, "params": parameters })
}

fn hash(method: &'static str, text: &str) -> Result<Hash, Error> {
    hex::parse_reversed(text).ok_or_else(|| Error::Malformed { method, reason: "a hash is not valid".into() })
}

fn bytes(method: &'static str, text: &str) -> Result<Vec<u8>, Error> {
    hex::parse(text).ok_or_else(|| Error::Malformed { method, reason: "the value is not hexadecimal".into() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn fees_are_what_the_node_tells_or_nothing() {
        let btcd: MempoolInfo = serde_json::from_str(r#"{"size":2,"bytes":500}"#).unwrap();
        assert_eq!(btcd.fees, None);
        let core = r#"{"size":2,"mempoolminfee":0.00002,"minrelaytxfee":0.00001,"incrementalrelayfee":0.000001}"#;
        let core: MempoolInfo = serde_json::from_str(core).unwrap();
        assert_eq!(core.fees, Some(Fees { mempool: 0.00002, relay: 0.00001, increment: 0.000_001 }));
    }
}
