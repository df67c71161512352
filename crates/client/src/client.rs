//! A client with one request at a time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use wire::{
    AccountId, BatchEntries, BatchFormat, Command, CompactFrame, FullFrame, InfoFrame, Operation, Promise, Reply,
    SignedOperation, Status, TransactionId, UnknownStatus, linked,
};
use zerocopy::IntoBytes;

use crate::window::{is_recognised_for_ever, refusal};
use crate::{BatchDraft, Draft, Error, Failure, Options, Pipeline, fresh_transaction_id};

/// Maximum wait per turn; the window's own deadlines are earlier.
const TURN: Duration = Duration::from_secs(1);

/// Interval at which a node is asked for its progress: a few times per block.
const POLL: Duration = Duration::from_millis(20);

/// A node's reply to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The operation's command.
    pub command: Command,
    /// The operation's transaction id.
    pub transaction: TransactionId,
    /// Its source account.
    pub source: AccountId,
    /// Its status.
    pub status: Status,
    /// The source's balance after it.
    pub value: u64,
    /// The promise that the node gives.
    pub promise: Promise,
}

impl Receipt {
    /// The receipt, or an error if the operation was not executed.
    pub fn success(self) -> Result<Self, Error> {
        if self.status.is_ok() {
            return Ok(self);
        }
        let Self { command, transaction, source, status, value, .. } = self;
        Err(Error::Operation { command, transaction, source_account: source, status, value })
    }
}

/// A client with one request at a time.
#[derive(Debug)]
pub struct Client {
    pipeline: Pipeline,
    promise: Promise,
    give_up_after: Duration,
    /// The node was asked how long it recognises retries.
    is_limited: bool,
}

impl Client {
    /// A client of a node. Nothing is sent yet.
    pub fn connect(node: SocketAddr, options: &Options) -> Result<Self, Error> {
        let one = Options { window: 1, ..options.clone() };
        let pipeline = Pipeline::connect(node, &one)?;
        Ok(Self { pipeline, promise: options.promise, give_up_after: options.give_up_after, is_limited: false })
    }

    /// The node.
    pub fn node(&self) -> SocketAddr {
        self.pipeline.node()
    }

    /// How often the client switched to another node.
    pub fn turns(&self) -> u64 {
        self.pipeline.turns()
    }

    /// Number of repeated requests.
    pub fn retries(&self) -> u64 {
        self.pipeline.window().retries()
    }

    /// Requests the node's identity and progress.
    pub fn info(&mut self) -> Result<InfoFrame, Error> {
        self.exchange(
            |id, _| Ok(InfoFrame::new(id).as_bytes().to_vec()),
            |reply, _| if let Reply::Info(info) = reply { Ok(*info) } else { Err(Error::WrongReply) },
        )
    }

    /// Creates an account.
    pub fn create(&mut self, account: AccountId) -> Result<Receipt, Error> {
        self.execute(&Operation::create(fresh_transaction_id()?, account).timed())?.success()
    }

    /// Issues new money to an account.
    pub fn issue(&mut self, account: AccountId, amount: u64) -> Result<Receipt, Error> {
        self.execute(&Operation::issue(fresh_transaction_id()?, account, amount).timed())?.success()
    }

    /// Transfers money.
    pub fn transfer(&mut self, source: AccountId, destination: AccountId, amount: u64) -> Result<Receipt, Error> {
        let transfer = Operation::transfer(fresh_transaction_id()?, source, destination, amount);
        self.execute(&transfer.timed())?.success()
    }

    /// Reads the balance of an account.
    pub fn refer(&mut self, account: AccountId) -> Result<Receipt, Error> {
        self.execute(&Operation::refer(fresh_transaction_id()?, account).timed())?.success()
    }

    /// Waits until the node has executed up to a block of its own chain. Later reads are not older.
    ///
    /// A replica may lag behind the one that sent a final reply: take the height of that one's [info](Self::info) after
    /// the reply, and wait for it at the other before a [`refer`](Self::refer) there. Gives up like a request.
    pub fn wait_for_height(&mut self, height: u64) -> Result<InfoFrame, Error> {
        let since = Instant::now();
        loop {
            let info = self.info()?;
            if info.tip_height.get() >= height {
                return Ok(info);
            }
            if since.elapsed() >= self.give_up_after {
                return Err(Error::Behind { node: self.node(), height, executed: info.tip_height.get() });
            }
            std::thread::sleep(POLL);
        }
    }

    /// Executes one unsigned operation. Repeating the same operation executes it once: forever if its id carries a time
    /// ([`Operation::timed`]), otherwise for as long as the node's info says.
    pub fn execute(&mut self, operation: &Operation) -> Result<Receipt, Error> {
        self.submit(std::slice::from_ref(operation))?.pop().ok_or(Error::WrongReply)
    }

    /// Executes unsigned operations in order, in as few datagrams as possible, and each [linked chain](wire::linked) in
    /// one. After an error some of them may have been executed; submitting them again does not execute those again, see
    /// [`execute`](Self::execute).
    pub fn submit(&mut self, operations: &[Operation]) -> Result<Vec<Receipt>, Error> {
        if !operations.iter().all(is_recognised_for_ever) {
            self.limit_retries()?;
        }
        let most = BatchFormat::Operation.entries_in(self.pipeline.window().datagram()).min(usize::from(u16::MAX));
        let mut receipts = Vec::with_capacity(operations.len());
        for part in linked::parts(operations, most) {
            let done = self.run_batch(
                BatchFormat::Operation,
                part,
                |batch, operation| batch.push(operation),
                |entries, given| {
                    let BatchEntries::Operation(replies) = entries else { return Err(Error::WrongReply) };
                    for (request, reply) in part.iter().zip(replies) {
                        receipts.push(receipt(request, reply, given)?);
                    }
                    Ok(())
                },
            );
            done.map_err(|error| of_operations(error, part))?;
        }
        Ok(receipts)
    }

    /// Executes one signed operation, in a full transfer frame.
    pub fn execute_signed(&mut self, signed: &SignedOperation) -> Result<Receipt, Error> {
        let receipt = self.run(
            |draft, now| {
                let frame = FullFrame::new(draft.id(), *signed);
                draft.submit_frame(frame.as_bytes(), 0, now, now);
                Ok(())
            },
            |reply, _| match reply {
                Reply::Full(reply) => {
                    let promise = Promise::try_from(reply.promise).map_err(|_| Error::WrongReply)?;
                    receipt(&signed.operation, &reply.operation, promise)
                }
                Reply::Error(_, status) => Err(Error::Refused(status)),
                _ => Err(Error::WrongReply),
            },
        );
        receipt.map_err(|error| of_operations(error, std::slice::from_ref(&signed.operation)))
    }

    /// Executes signed operations in order, in one batch: a [linked chain](wire::linked), say.
    pub fn submit_signed(&mut self, operations: &[SignedOperation]) -> Result<Vec<Receipt>, Error> {
        let receipts = self.run_batch(
            BatchFormat::Signed,
            operations,
            |batch, signed| batch.push_signed(signed),
            |entries, given| {
                let BatchEntries::Signed(replies) = entries else { return Err(Error::WrongReply) };
                let entries = operations.iter().zip(replies);
                entries.map(|(request, reply)| receipt(&request.operation, &reply.operation, given)).collect()
            },
        );
        let unsigned = Vec::from_iter(operations.iter().map(|signed| signed.operation));
        receipts.map_err(|error| of_operations(error, &unsigned))
    }

    /// Sends one compact transfer frame as it is, and returns its reply.
    pub fn execute_compact(&mut self, frame: CompactFrame) -> Result<CompactFrame, Error> {
        let operation = frame.to_operation();
        if !is_recognised_for_ever(&operation) {
            self.limit_retries()?;
        }
        let reply = self.run_as(
            Some(frame.transaction.get()),
            |draft, now| {
                draft.submit_compact(frame, 0, now, now);
                Ok(())
            },
            |reply, _| match reply {
                Reply::Compact(reply) => Ok(*reply),
                Reply::Error(_, status) => Err(Error::Refused(status)),
                _ => Err(Error::WrongReply),
            },
        );
        reply.map_err(|error| of_operations(error, &[operation]))
    }

    /// Asks the node, once, how long it recognises retries.
    fn limit_retries(&mut self) -> Result<(), Error> {
        if !self.is_limited {
            let recognised = Duration::from_millis(self.info()?.retry_milliseconds.get().into());
            self.pipeline.limit_retries(recognised);
            self.is_limited = true;
        }
        Ok(())
    }

    /// Maximum length of a datagram in bytes.
    pub(crate) fn datagram(&self) -> usize {
        self.pipeline.window().datagram()
    }

    /// Sends the frame that `write` creates for an id and the maximum length of a datagram, and reads its reply. A
    /// refusal of the whole request is an error.
    pub(crate) fn exchange<T>(
        &mut self,
        write: impl FnOnce(u32, usize) -> Result<Vec<u8>, Error>,
        read: impl FnOnce(Reply<'_>, &[u8]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let datagram = self.datagram();
        self.run(
            |draft, now| {
                let frame = write(draft.id(), datagram)?;
                if frame.len() > datagram {
                    return Err(Error::TooLong(frame.len(), datagram));
                }
                draft.submit_frame(&frame, 0, now, now);
                Ok(())
            },
            |reply, bytes| match refusal(&reply) {
                Some(Status::ReplyTooLarge) => {
                    let Reply::Error(error, _) = reply else { return Err(Error::Refused(Status::ReplyTooLarge)) };
                    Err(Error::ReplyTooLarge { needed: error.detail.get() as usize, limit: datagram })
                }
                Some(status) => Err(Error::Refused(status)),
                None => read(reply, bytes),
            },
        )
    }

    /// Requests with this room for the reply, and again with as much as it takes.
    pub(crate) fn with_room<T>(
        &mut self,
        first: usize,
        mut ask: impl FnMut(&mut Self, usize) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let limit = self.datagram();
        let first = first.min(limit);
        match ask(self, first) {
            Err(Error::ReplyTooLarge { needed, .. }) if (first + 1..=limit).contains(&needed) => ask(self, needed),
            result => result,
        }
    }

    /// Sends one batch of these entries, and reads its reply with the promise that it makes.
    fn run_batch<E, T>(
        &mut self,
        format: BatchFormat,
        entries: &[E],
        push: impl Fn(&mut BatchDraft<'_>, &E) -> bool,
        read: impl FnOnce(BatchEntries<'_>, Promise) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let promise = self.promise;
        self.run(
            |draft, now| {
                let datagram = draft.datagram();
                let mut batch = draft.batch(format, promise);
                if !entries.iter().all(|entry| push(&mut batch, entry)) {
                    return Err(Error::TooLong(size_of_val(entries), datagram));
                }
                batch.submit(0, now, now);
                Ok(())
            },
            |reply, _| {
                if let Some(status) = refusal(&reply) {
                    return Err(Error::Refused(status));
                }
                let Reply::Batch(batch) = reply else { return Err(Error::WrongReply) };
                let given = batch.header.promise().map_err(|_| Error::WrongReply)?;
                read(batch.entries, given)
            },
        )
    }

    fn run<T>(
        &mut self,
        write: impl FnOnce(Draft<'_>, Duration) -> Result<(), Error>,
        read: impl FnOnce(Reply<'_>, &[u8]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run_as(None, write, read)
    }

    /// Sends what `write` submits, and waits until its reply was read or it was given up.
    fn run_as<T>(
        &mut self,
        id: Option<u32>,
        write: impl FnOnce(Draft<'_>, Duration) -> Result<(), Error>,
        read: impl FnOnce(Reply<'_>, &[u8]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (node, waited) = (self.node(), self.give_up_after);
        let now = self.pipeline.now();
        // Requests left in flight by an error no longer matter, so there is always room.
        self.pipeline.abandon();
        let draft = match id {
            Some(id) => self.pipeline.begin_as(id),
            None => self.pipeline.begin(),
        };
        write(draft.ok_or(Error::WrongReply)?, now)?;
        let mut read = Some(read);
        let mut result = None;
        while result.is_none() {
            self.pipeline.turn(TURN, |completion| {
                let Some(read) = read.take() else { return };
                result = Some(match completion.reply {
                    Ok(reply) => read(reply, completion.bytes),
                    Err(Failure::NoReply) => Err(Error::NoReply { node, waited, transaction: None }),
                    Err(Failure::Refused(status)) => Err(Error::Refused(status)),
                });
            })?;
            if self.pipeline.window().in_flight() == 0 && result.is_none() {
                return Err(Error::WrongReply);
            }
        }
        result.ok_or(Error::WrongReply)?
    }
}

/// The error of a request that executes these operations: names the first that changes something.
fn of_operations(error: Error, operations: &[Operation]) -> Error {
    let first = operations.iter().find(|operation| operation.command() != Ok(Command::Refer));
    match first {
        Some(operation) => error.of_operation(operation.transaction),
        None => error,
    }
}

/// The receipt of a request, from the reply's entry.
fn receipt(request: &Operation, reply: &Operation, promise: Promise) -> Result<Receipt, Error> {
    if reply.transaction != request.transaction || reply.source != request.source {
        return Err(Error::WrongReply);
    }
    let status = reply.status().map_err(|UnknownStatus(_)| Error::WrongReply)?;
    let command = request.command().map_err(|_| Error::WrongReply)?;
    let Operation { transaction, source, .. } = *request;
    Ok(Receipt { command, transaction, source, status, value: reply.value(), promise })
}
