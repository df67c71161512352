//! A session over the first blocks of mainnet.
#![allow(dead_code, reason = "each suite uses some of it")]

mod fixture;

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Instant,
};

use serde_json::{Value, json};
use turnpike_electrum::{NextStep, Service, Session, Settings};

pub use fixture::Fixture;

/// An address to which limits apply.
pub const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

impl Fixture {
    pub fn service(&self, settings: Settings) -> Arc<Service> {
        Arc::new(Service::new(self.chain.clone(), Some(self.cache()), settings).unwrap())
    }
}

pub struct Client {
    pub session: Session,
    pub now: Instant,
}

impl Client {
    pub fn new(service: &Arc<Service>, address: IpAddr) -> Self {
        let now = Instant::now();
        let share = service.shares().connect(address, now).unwrap();
        Self { session: Session::new(service, share), now }
    }

    pub fn speaking(service: &Arc<Service>, version: &str) -> Self {
        let mut client = Self::new(service, Ipv4Addr::LOCALHOST.into());
        assert_eq!(client.ask("server.version", json!(["test", version]))[1], version);
        client
    }

    /// Sends text, and returns the answers, line by line.
    pub fn send(&mut self, text: &str) -> (Vec<Value>, NextStep) {
        let mut output = Vec::new();
        let progress = self.session.feed(text.as_bytes(), &mut output, self.now);
        let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        (lines.map(|line| serde_json::from_slice(line).unwrap()).collect(), progress.next)
    }

    fn reply(&mut self, method: &str, parameters: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters});
        let (mut replies, _) = self.send(&format!("{request}\n"));
        assert_eq!((replies.len(), &replies[0]["id"]), (1, &json!(7)));
        replies.remove(0)
    }

    /// The result of a request.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let mut reply = self.reply(method, parameters);
        assert!(reply.get("error").is_none(), "{method}: {reply}");
        reply["result"].take()
    }

    /// The error that a request gets.
    pub fn fail(&mut self, method: &str, parameters: Value) -> (i64, String) {
        let reply = self.reply(method, parameters);
        let error = &reply["error"];
        assert!(error.is_object() && reply.get("result").is_none(), "{method}: {reply}");
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }
}

/// The bytes of a text.
pub fn bytes(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A hash from a text that has its last byte first.
pub fn hash(text: &Value) -> [u8; 32] {
    let mut bytes = bytes(text);
    bytes.reverse();
    bytes.try_into().unwrap()
}

/// Hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The script hash as Electrum displays it.
pub fn script_hash(script: &[u8]) -> String {
    let mut hash = chain::bitcoin::script_hash(script);
    hash.reverse();
    hex(&hash)
}
