//! The Turnpike side: compact transfer frames, one operation in a datagram.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use client::{Client, Options, Pipeline};
use wire::{Command, CompactFrame, Operation, Promise, Reply, Status, TransactionId};

use crate::sample::{Random, Sample};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A node with its accounts.
pub struct Turnpike {
    node: SocketAddr,
    accounts: u32,
    random: Random,
}

impl Turnpike {
    /// Creates the accounts, each with a balance.
    pub fn prepare(node: SocketAddr, accounts: u32, balance: u32) -> Fallible<Self> {
        let mut client = Client::connect(node, &Options::default())?;
        if client.info()?.promise() != Ok(Promise::Durable) {
            return Err("the node does not answer compact frames durably".into());
        }
        let operations: Vec<_> = (1..=accounts)
            .flat_map(|account| {
                let id = |kind: u128| TransactionId::from(kind << 64 | u128::from(account));
                [Operation::create(id(1), account.into()), Operation::issue(id(2), account.into(), balance.into())]
            })
            .collect();
        for part in operations.chunks(1000) {
            for receipt in client.submit(part)? {
                receipt.success()?;
            }
        }
        Ok(Self { node, accounts, random: Random(1) })
    }

    /// An id that was not used, with many after it.
    pub fn fresh_id(&self) -> Fallible<u32> {
        Ok(client::fresh_transaction_id()?.to_u128() as u32 >> 1)
    }

    /// One transfer: its status and value.
    pub fn transfer(&mut self, id: u32, source: u32, destination: u32, amount: u32) -> Fallible<(i64, i64)> {
        let mut client = Client::connect(self.node, &Options::default())?;
        let operation = Operation::transfer(id.into(), source.into(), destination.into(), amount.into());
        let receipt = client.execute(&operation)?;
        Ok((receipt.status.code().into(), receipt.value as i64))
    }

    /// Keeps `window` datagrams of one transfer in flight.
    pub fn measure(&mut self, window: usize, time: Duration) -> Fallible<Sample> {
        let options = Options { window, datagram: Some(256), ..Options::default() };
        let mut pipeline = Pipeline::connect(self.node, &options)?;
        let mut latencies = Vec::with_capacity(1 << 20);
        let mut wrong = None;
        let start = Instant::now();
        let mut running = true;
        while running || pipeline.window().in_flight() > 0 {
            let now = pipeline.now();
            running = start.elapsed() < time && wrong.is_none();
            while let Some(draft) = if running { pipeline.begin() } else { None } {
                let (source, destination) = self.random.pair(self.accounts);
                draft.submit_compact(CompactFrame::new(Command::Transfer, 0, source, destination, 1), 0, now, now);
            }
            pipeline.turn(Duration::from_millis(100), |completion| match completion.reply {
                Ok(Reply::Compact(reply)) if reply.status() == Ok(Status::Ok) => latencies.push(completion.latency),
                other => wrong = Some(format!("a transfer was answered with {other:?}")),
            })?;
        }
        match wrong {
            Some(wrong) => Err(wrong.into()),
            None => Ok(Sample::new(latencies, start.elapsed())),
        }
    }
}
