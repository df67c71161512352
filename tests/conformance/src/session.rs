//! What every case starts with: links to the node, fresh accounts and ids, and the shapes of requests and replies.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::Signer;
use secp256k1::SecretKey;
use wire::{
    AccountId, BatchEntries, BatchFormat, BatchHeader, BatchReply, Command, CompactEntry, CompactFrame, ErrorFrame,
    FullFrame, FullReply, InfoFrame, Operation, Promise, Reply, SignedOperation, Status, TransactionId,
};
use zerocopy::{FromBytes, IntoBytes};

use crate::link::excerpt;
use crate::{Link, LinkError, Stop, Target, ensure, ensure_eq};

/// A conversation with the node.
#[derive(Debug)]
pub struct Session {
    /// The node, and what may be assumed of it.
    pub target: Target,
    /// From a trusted address.
    pub link: Link,
    /// The number that was given last: those of the next session follow it.
    pub last_id: u32,
}

/// Status and value of each operation of a batch, and the promise that they were given under.
pub type Results = (Vec<(Status, u64)>, Promise);

impl Session {
    /// Opens a link. The numbers that [`Session::fresh`] gives follow `last_id`.
    pub fn open(target: &Target, last_id: u32) -> Result<Self, LinkError> {
        let link = Link::open(target.trusted, target.node)?;
        Ok(Self { target: target.clone(), link, last_id })
    }

    /// A fresh number: of an account, a transaction or a frame.
    pub fn fresh(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }

    /// A fresh open account of 128 bits.
    pub fn fresh_account(&mut self) -> AccountId {
        AccountId::from(u128::from(self.fresh()) | 0x5e55 << 96)
    }

    /// A fresh transaction id of 128 bits.
    pub fn fresh_transaction(&mut self) -> TransactionId {
        TransactionId::from(u128::from(self.fresh()) | 0x7a45 << 96)
    }

    /// A link from an address that is not trusted.
    pub fn stranger(&self) -> Result<Link, Stop> {
        let local = self.target.stranger.ok_or(Stop::Skipped("no local address outside the trusted prefixes"))?;
        Ok(Link::open(local, self.target.node)?)
    }

    /// What the node says of itself.
    pub fn info(&mut self) -> Result<InfoFrame, Stop> {
        let id = self.fresh();
        let reply = self.link.ask(InfoFrame::new(id).as_bytes())?;
        match Reply::parse(&reply) {
            Ok(Reply::Info(info)) => {
                ensure_eq!(info.header.id.get(), id, "id of an info reply");
                ensure_eq!(info.status(), Ok(Status::Ok), "status of an info reply");
                Ok(*info)
            }
            other => Err(Stop::Failed(format!("info was answered with {other:?}"))),
        }
    }

    /// A signer with a fresh key.
    pub fn signer(&mut self) -> Result<Signer, Stop> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(LinkError::from)?;
        // A valid scalar but for a chance of 2^-128: the top byte is taken away.
        secret[0] = 0;
        self.signer_of(secret)
    }

    /// The issuer's signer.
    pub fn issuer(&mut self) -> Result<Signer, Stop> {
        let secret = self.target.issuer.ok_or(Stop::Skipped("no issuer's key is given"))?;
        self.signer_of(secret)
    }

    fn signer_of(&mut self, secret: [u8; 32]) -> Result<Signer, Stop> {
        let network = self.info()?.network;
        let secret =
            SecretKey::from_byte_array(secret).map_err(|error| Stop::Failed(format!("not a secret key: {error}")))?;
        Ok(Signer::new(secret, network))
    }

    /// Sends a compact frame and returns status and value of the reply, whose other fields have to be the request's.
    pub fn compact(&mut self, frame: &CompactFrame) -> Result<(Status, u32), Stop> {
        let reply = self.link.ask(frame.as_bytes())?;
        compact_result(frame, &reply)
    }

    /// Sends a compact frame of a fresh transaction.
    pub fn command(
        &mut self,
        command: Command,
        source: u32,
        destination: u32,
        amount: u32,
    ) -> Result<(Status, u32), Stop> {
        let transaction = self.fresh();
        self.compact(&CompactFrame::new(command, transaction, source, destination, amount))
    }

    /// A fresh compact account that holds `balance`.
    pub fn funded(&mut self, balance: u32) -> Result<u32, Stop> {
        let account = self.fresh();
        ensure_eq!(self.command(Command::Create, account, 0, 0)?, (Status::Ok, 0), "CREATE");
        if balance > 0 {
            ensure_eq!(self.command(Command::Issue, account, 0, balance)?, (Status::Ok, balance), "ISSUE");
        }
        Ok(account)
    }

    /// The balance of a compact account.
    pub fn balance(&mut self, account: u32) -> Result<u32, Stop> {
        match self.command(Command::Refer, account, 0, 0)? {
            (Status::Ok, balance) => Ok(balance),
            other => Err(Stop::Failed(format!("REFER to account {account} gave {other:?}"))),
        }
    }

    /// Sends a batch of operations and returns their results.
    pub fn operations(&mut self, operations: &[Operation], promise: Promise) -> Result<Results, Stop> {
        let id = self.fresh();
        let request = batch(id, BatchFormat::Operation, operations.as_bytes(), operations.len(), promise);
        let reply = self.link.ask(&request)?;
        operation_results(&request, &reply, operations)
    }

    /// Sends one operation at the node's default promise.
    pub fn operation(&mut self, operation: Operation) -> Result<(Status, u64), Stop> {
        let (results, _) = self.operations(&[operation], Promise::Default)?;
        results.first().copied().ok_or(Stop::Failed("a batch of one was answered with none".to_owned()))
    }

    /// A fresh account of 128 bits that holds `balance`.
    pub fn funded_account(&mut self, balance: u64) -> Result<AccountId, Stop> {
        let account = self.fresh_account();
        let create = Operation::create(self.fresh_transaction(), account);
        ensure_eq!(self.operation(create)?, (Status::Ok, 0), "CREATE");
        if balance > 0 {
            let issue = Operation::issue(self.fresh_transaction(), account, balance);
            ensure_eq!(self.operation(issue)?, (Status::Ok, balance), "ISSUE");
        }
        Ok(account)
    }

    /// Sends a full transfer frame and returns status, value and promise of the reply.
    pub fn full(&mut self, signed: SignedOperation) -> Result<(Status, u64, Promise), Stop> {
        let frame = FullFrame::new(self.fresh(), signed);
        let reply = self.link.ask(frame.as_bytes())?;
        full_result(&frame, &reply)
    }

    /// Sends a frame that has to be refused with an error frame.
    pub fn expect_error(&mut self, request: &[u8], status: Status) -> Result<(), Stop> {
        let reply = self.link.ask(request)?;
        ensure_eq!(reply.len(), ErrorFrame::LENGTH, "length of the error frame for {}", excerpt(request));
        match Reply::parse(&reply) {
            Ok(Reply::Error(frame, found)) => {
                ensure_eq!(found, status, "status of the error frame for {}", excerpt(request));
                ensure_eq!(frame.header.id.as_bytes(), &request[4..8], "id of the error frame");
                ensure_eq!(frame.reserved.get(), 0, "reserved field of the error frame");
                Ok(())
            }
            other => Err(Stop::Failed(format!("{} was answered with {other:?}", excerpt(request)))),
        }
    }

    /// Sends a batch that has to be refused as a whole.
    pub fn expect_batch_refused(&mut self, request: &[u8], status: Status) -> Result<(), Stop> {
        let reply = self.link.ask(request)?;
        batch_refused(request, &reply, status)
    }

    /// Asks again until the answer is there, for as long as a transaction may take until it is in a block.
    pub fn wait_for<T>(
        &mut self,
        what: &str,
        mut ask: impl FnMut(&mut Self) -> Result<Option<T>, Stop>,
    ) -> Result<T, Stop> {
        let start = Instant::now();
        loop {
            if let Some(found) = ask(self)? {
                return Ok(found);
            }
            ensure!(start.elapsed() < self.target.block_patience, "{what} did not come in time");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The time in microseconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

/// A batch frame of entries that are given as bytes.
pub fn batch(id: u32, format: BatchFormat, entries: &[u8], count: usize, promise: Promise) -> Vec<u8> {
    [BatchHeader::new(id, format, count as u16, promise).as_bytes(), entries].concat()
}

/// Status and value of the reply to a compact frame.
pub fn compact_result(frame: &CompactFrame, reply: &[u8]) -> Result<(Status, u32), Stop> {
    let Ok(Reply::Compact(answer)) = Reply::parse(reply) else {
        return Err(Stop::Failed(format!("{frame:?} was answered with {}", excerpt(reply))));
    };
    let echoed = CompactFrame { amount: answer.amount, status: answer.status, ..*frame };
    ensure_eq!(*answer, echoed, "fields of a compact reply");
    Ok((answer.status().unwrap_or(Status::Malformed), answer.value()))
}

/// Status, value and promise of the reply to a full transfer frame.
pub fn full_result(frame: &FullFrame, reply: &[u8]) -> Result<(Status, u64, Promise), Stop> {
    let Ok(answer) = FullReply::ref_from_bytes(reply) else {
        return Err(Stop::Failed(format!("a full transfer frame was answered with {}", excerpt(reply))));
    };
    let (status, promise) = (answer.operation.status(), Promise::try_from(answer.promise));
    let (Ok(status), Ok(promise)) = (status, promise) else {
        return Err(Stop::Failed(format!("unknown status or promise in {}", excerpt(reply))));
    };
    let mut echoed = *frame;
    echoed.set_reply(status, answer.operation.value(), promise);
    ensure_eq!(reply, &echoed.as_bytes()[..FullReply::LENGTH], "fields of a full reply");
    Ok((status, answer.operation.value(), promise))
}

/// The results in a reply to a batch of operations, whose other fields have to be the request's.
pub fn operation_results(request: &[u8], reply: &[u8], operations: &[Operation]) -> Result<Results, Stop> {
    let Ok(Reply::Batch(batch)) = Reply::parse(reply) else {
        return Err(Stop::Failed(format!("a batch was answered with {}", excerpt(reply))));
    };
    ensure_eq!(batch.status, Status::Ok, "status of a batch");
    ensure_eq!(reply.len(), request.len(), "length of the reply to a batch");
    ensure_eq!(&reply[4..11], &request[4..11], "id, count and format of the reply to a batch");
    let BatchEntries::Operation(entries) = batch.entries else {
        return Err(Stop::Failed("the reply to a batch has another format".to_owned()));
    };
    let mut results = Vec::with_capacity(entries.len());
    for (entry, operation) in entries.iter().zip(operations) {
        let echoed = Operation { status: entry.status, amount: entry.amount, ..*operation };
        ensure_eq!(*entry, echoed, "fields of an entry");
        let status = entry.status().map_err(|error| Stop::Failed(error.to_string()))?;
        results.push((status, entry.value()));
    }
    let promise = batch.header.promise().map_err(|_| Stop::Failed("the reply has no known promise".to_owned()))?;
    Ok((results, promise))
}

/// Status and value of each entry in a reply to a batch of compact entries; only its own status where it was refused as a whole.
pub fn entry_results(reply: &[u8]) -> Result<Vec<(Status, u32)>, Stop> {
    match Reply::parse(reply) {
        Ok(Reply::Batch(BatchReply { status: Status::Ok, entries: BatchEntries::Compact(entries), .. })) => {
            let status = |entry: &CompactEntry| entry.frame.status().unwrap_or(Status::Malformed);
            Ok(entries.iter().map(|entry| (status(entry), entry.frame.value())).collect())
        }
        Ok(Reply::Batch(BatchReply { status, .. })) if status != Status::Ok => Ok(vec![(status, 0)]),
        _ => Err(Stop::Failed(format!("a batch of compact entries was answered with {}", excerpt(reply)))),
    }
}

/// Checks that a batch was refused as a whole.
pub fn batch_refused(request: &[u8], reply: &[u8], status: Status) -> Result<(), Stop> {
    ensure_eq!(reply.len(), BatchHeader::LENGTH, "length of the refusal of {}", excerpt(request));
    match Reply::parse(reply) {
        Ok(Reply::Batch(batch)) => {
            ensure_eq!(batch.status, status, "status of the refusal of {}", excerpt(request));
            ensure_eq!(&reply[4..8], &request[4..8], "id of the refusal");
            Ok(())
        }
        other => Err(Stop::Failed(format!("{} was answered with {other:?}", excerpt(request)))),
    }
}
