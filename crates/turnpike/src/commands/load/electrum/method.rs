//! The methods to request.

use std::{fmt::Write as _, iter};

use crate::error::Error;

use super::{requests::Requests, sample::Sample};

/// A method, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Merkle,
    History,
    Subscribe,
    Balance,
    Unspent,
    Transaction,
    Header,
    HeaderProof,
    Ping,
}

impl Method {
    const ALL: [Self; 9] = [
        Self::Merkle,
        Self::History,
        Self::Subscribe,
        Self::Balance,
        Self::Unspent,
        Self::Transaction,
        Self::Header,
        Self::HeaderProof,
        Self::Ping,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Merkle => "merkle",
            Self::History => "history",
            Self::Subscribe => "subscribe",
            Self::Balance => "balance",
            Self::Unspent => "unspent",
            Self::Transaction => "transaction",
            Self::Header => "header",
            Self::HeaderProof => "header-proof",
            Self::Ping => "ping",
        }
    }

    /// Appends the method and its parameters for one of the sample.
    fn write(self, sample: &Sample, which: usize, out: &mut String) {
        let one = &sample.transactions[which];
        let (id, height, script) = (&one.id, one.height, &one.script);
        let (method, parameters) = match self {
            Self::Merkle => ("blockchain.transaction.get_merkle", format!("\"{id}\",{height}")),
            Self::History => ("blockchain.scripthash.get_history", format!("\"{script}\"")),
            Self::Subscribe => ("blockchain.scripthash.subscribe", format!("\"{script}\"")),
            Self::Balance => ("blockchain.scripthash.get_balance", format!("\"{script}\"")),
            Self::Unspent => ("blockchain.scripthash.listunspent", format!("\"{script}\"")),
            Self::Transaction => ("blockchain.transaction.get", format!("\"{id}\"")),
            Self::Header => ("blockchain.block.header", height.to_string()),
            Self::HeaderProof => ("blockchain.block.header", format!("{height},{}", sample.tip)),
            Self::Ping => ("server.ping", String::new()),
        };
        // Writing to a String never fails.
        let _ = write!(out, "\"method\":\"{method}\",\"params\":[{parameters}]}}");
    }
}

/// Methods, with their weights.
#[derive(Debug)]
pub struct Mix(Vec<(Method, u32)>);

impl Mix {
    /// Reads `METHOD` and `METHOD=WEIGHT`.
    pub fn parse(texts: &[String]) -> Result<Self, Error> {
        let parse = |text: &String| {
            let (name, weight) = text.split_once('=').unwrap_or((text, "1"));
            let names = || Method::ALL.map(Method::name).join(", ");
            let method = Method::ALL.into_iter().find(|method| method.name() == name);
            let method =
                method.ok_or_else(|| Error::Input(format!("--methods: `{name}` is not one of {}", names())))?;
            let weight = weight.parse().ok().filter(|weight| (1..=1000).contains(weight));
            let weight = weight.ok_or_else(|| {
                Error::Input(format!("--methods: the weight of {name} must be a number from 1 to 1000"))
            })?;
            Ok((method, weight))
        };
        texts.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// All requests that there are over a sample, written before the run: the load is to be the server's.
    pub fn write(&self, sample: &Sample) -> Requests {
        let written = self.0.iter().map(|(method, _)| {
            let which = 0..sample.transactions.len();
            let requests = which.map(|which| {
                let mut text = String::new();
                method.write(sample, which, &mut text);
                text
            });
            (method.name(), requests.collect())
        });
        let weights = self.0.iter().enumerate();
        let wheel = weights.flat_map(|(place, (_, weight))| iter::repeat_n(place, *weight as usize)).collect();
        Requests::new(written.collect(), wheel)
    }
}
