//! Calls of a node.

use std::{fmt, fs, path::PathBuf, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use spv::{Hash, bitcoin::Network};

use crate::{Error, Failure, hex};

/// Bytes of the longest answer: transactions of a batch, or the longest block, in hexadecimal digits, with room to spare.
const LONGEST: u64 = 64 << 20;

/// How long an estimate of fees is waited for: a wallet gives up on its server after 30 s.
pub const ESTIMATE_PATIENCE: Duration = Duration::from_secs(10);

/// How a node is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its address, such as `http://127.0.0.1:8332`.
    pub url: String,
    /// The file in which it leaves what is asked for as a password, or any other with a user, a colon and a password.
    pub cookie: PathBuf,
    /// How long it may take to answer.
    pub patience: Duration,
}

/// A node that is asked.
#[derive(Clone)]
pub struct Client {
    settings: Settings,
    agent: ureq::Agent,
}

/// What a node knows of its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Its network; nothing where that is one that is not known here.
    pub network: Option<Network>,
    /// Height of the last block that it has.
    pub height: u32,
    /// Hash of that block.
    pub best: Hash,
}

/// What a transaction has to pay, in bitcoins for 1,000 virtual bytes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Fees {
    /// To be kept by the node now.
    #[serde(rename = "mempoolminfee")]
    pub mempool: f64,
    /// To be passed on.
    #[serde(rename = "minrelaytxfee")]
    pub relay: f64,
    /// To take the place of another, on top.
    #[serde(rename = "incrementalrelayfee")]
    pub increment: f64,
}

/// What a node tells of what waits. btcd has no fees in it.
#[derive(Deserialize)]
struct MempoolInfo {
    #[serde(flatten)]
    fees: Option<Fees>,
}

/// Whether a node would take a transaction.
#[derive(Clone, Debug, Deserialize)]
pub struct TestResult {
    /// Its hash, as Bitcoin shows it.
    pub txid: String,
    /// The hash with its witness.
    pub wtxid: String,
    /// Whether it would; nothing where it was not tested to the end.
    pub allowed: Option<bool>,
    /// Why the package is refused.
    #[serde(rename = "package-error")]
    pub package_error: Option<String>,
    /// Why the transaction is refused, at length.
    #[serde(rename = "reject-details")]
    pub details: Option<String>,
    /// The same in short.
    #[serde(rename = "reject-reason")]
    pub reason: Option<String>,
}

impl TestResult {
    /// Why it would not.
    pub fn refusal(&self) -> Option<&str> {
        self.package_error.as_deref().or(self.details.as_deref()).or(self.reason.as_deref())
    }
}

/// What became of a package.
#[derive(Clone, Debug)]
pub struct PackageResult {
    /// Whether the node took all of it.
    pub is_success: bool,
    /// Transactions that it did not take, each with the reason.
    pub errors: Vec<(String, String)>,
    /// All that the node said, as JSON.
    pub whole: String,
}

/// An answer, or a part of a batch of answers.
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
    /// A client of a node, which is asked nothing yet.
    pub fn new(settings: Settings) -> Self {
        // A proxy of the environment is not for this. Errors come with bodies. Each call has a connection of its own: bitcoind
        // closes those that it had errors on, and who sends on such a one at that moment has it reset.
        let config = ureq::Agent::config_builder().proxy(None).http_status_as_error(false);
        let agent = config.max_idle_connections(0).max_idle_connections_per_host(0).build().into();
        Self { settings, agent }
    }

    /// What the node knows of its blocks.
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
            // As Bitcoin Core names them, and as btcd does.
            "main" | "mainnet" => Some(Network::Mainnet),
            "test" | "testnet3" => Some(Network::Testnet),
            "testnet4" => Some(Network::Testnet4),
            "signet" => Some(Network::Signet),
            "regtest" => Some(Network::Regtest),
            _ => None,
        };
        Ok(BlockInfo { network, height: info.blocks, best: hash(method, &info.bestblockhash)? })
    }

    /// The hash of the block at a height of the node's branch. Fails with [`Failure`] where there is none.
    pub fn block_hash(&self, height: u32) -> Result<Hash, Error> {
        let method = "getblockhash";
        hash(method, &self.call::<String>(method, json!([height]))?)
    }

    /// The hashes at heights from `first` on, as many as there are up to `count`.
    pub fn block_hashes(&self, first: u32, count: u32) -> Result<Vec<Hash>, Error> {
        let method = "getblockhash";
        let heights = (first..first.saturating_add(count)).map(|height| json!([height]));
        let answers: Vec<Result<String, Failure>> = self.batch(method, heights)?;
        answers.into_iter().map_while(Result::ok).map(|text| hash(method, &text)).collect()
    }

    /// A block.
    pub fn block(&self, block: &Hash) -> Result<Vec<u8>, Error> {
        let method = "getblock";
        bytes(method, &self.call::<String>(method, json!([hex::reversed(block), 0]))?)
    }

    /// Waits until there is another block, or `patience` is over.
    pub fn wait_for_new_block(&self, patience: Duration) -> Result<(), Error> {
        let milliseconds = patience.as_millis() as u64;
        let patience = self.settings.patience + patience;
        self.call_within::<Value>("waitfornewblock", json!([milliseconds]), patience).map(drop)
    }

    /// The hashes of the transactions that wait to be in a block.
    pub fn mempool(&self) -> Result<Vec<Hash>, Error> {
        let method = "getrawmempool";
        self.call::<Vec<String>>(method, json!([]))?.iter().map(|text| hash(method, text)).collect()
    }

    /// Transactions that wait to be in a block. One that has gone meanwhile is left out.
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

    /// What the node tells of a transaction, as JSON.
    pub fn verbose_transaction(&self, transaction: &Hash) -> Result<String, Error> {
        let value: Value = self.call("getrawtransaction", json!([hex::reversed(transaction), 1]))?;
        Ok(value.to_string())
    }

    /// Sends a transaction to the network. Returns its hash as Bitcoin shows it.
    pub fn send(&self, transaction: &[u8]) -> Result<String, Error> {
        self.call("sendrawtransaction", json!([hex::text(transaction)]))
    }

    /// Sends transactions that only together pay enough.
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

    /// Whether the node would take transactions.
    pub fn test<'a>(&self, transactions: impl IntoIterator<Item = &'a str>) -> Result<Vec<TestResult>, Error> {
        let transactions: Vec<&str> = transactions.into_iter().collect();
        self.call("testmempoolaccept", json!([transactions]))
    }

    /// The fee with which a transaction is in one of the next `blocks` blocks, in bitcoins for 1,000 virtual bytes; nothing
    /// where the node cannot tell. Waits for at most [`ESTIMATE_PATIENCE`].
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

    /// What transactions have to pay; nothing where the node does not tell.
    pub fn fees(&self) -> Result<Option<Fees>, Error> {
        Ok(self.call::<MempoolInfo>("getmempoolinfo", json!([]))?.fees)
    }

    fn call<T: DeserializeOwned>(&self, method: &'static str, parameters: Value) -> Result<T, Error> {
        self.call_within(method, parameters, self.settings.patience)
    }

    /// Calls a method, and waits for the answer for at most `patience`.
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

    /// Calls a method once for each of the parameters. Answers come in their order.
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

    /// Sends a body, and reads the answer, all within `patience`.
    fn post<T: DeserializeOwned>(&self, method: &'static str, body: &Value, patience: Duration) -> Result<T, Error> {
        let Settings { url, cookie, .. } = &self.settings;
        let unreachable = |error: ureq::Error| Error::Unreachable { url: url.clone(), reason: error.to_string() };
        // A node that starts again leaves another cookie.
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
