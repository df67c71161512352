//! The operation, which is the unit of batches, of the journal and of blocks; and its signed form.

use crate::{AccountId, Command, Operation, Promise, SignedOperation, Status, TransactionId, UnknownStatus};
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::{U16, U32, U64};

impl Operation {
    /// Flag: the transaction id is a UUIDv7, which contains its creation time.
    pub const TIMED: u8 = 1;

    /// Flag: the operation succeeds or fails with the next entry of its batch.
    pub const LINKED: u8 = 1 << 1;

    /// Flag of signed operations: the transaction id commits to the [linked chain](crate::linked) that the operation is
    /// in, so that its signature is valid in no other one, and not alone.
    pub const BOUND: u8 = 1 << 2;

    /// A requested operation.
    #[inline]
    pub const fn new(
        command: Command,
        transaction: TransactionId,
        source: AccountId,
        destination: AccountId,
        amount: u64,
    ) -> Self {
        Self {
            flags: 0,
            command: command.code(),
            status: U16::ZERO,
            contract: U32::ZERO,
            transaction,
            source,
            destination,
            amount: U64::from_bytes(amount.to_be_bytes()),
        }
    }

    /// CREATE of an account.
    pub const fn create(transaction: TransactionId, account: AccountId) -> Self {
        Self::new(Command::Create, transaction, account, AccountId::ZERO, 0)
    }

    /// CREATE of an account with a deposit, to be signed with the payer's key.
    pub const fn create_for(transaction: TransactionId, account: AccountId, payer: AccountId, deposit: u64) -> Self {
        Self::new(Command::Create, transaction, account, payer, deposit)
    }

    /// OPEN of an account in an asset, which is not 0.
    pub const fn open(transaction: TransactionId, account: AccountId, asset: u32) -> Self {
        let operation = Self::new(Command::Open, transaction, account, AccountId::ZERO, 0);
        Self { contract: U32::from_bytes(asset.to_be_bytes()), ..operation }
    }

    /// This CREATE as an OPEN in an asset; the same in asset 0.
    pub const fn in_asset(self, asset: u32) -> Self {
        if asset == 0 {
            return self;
        }
        Self { command: Command::Open.code(), contract: U32::from_bytes(asset.to_be_bytes()), ..self }
    }

    /// ISSUE of an amount to an account.
    pub const fn issue(transaction: TransactionId, account: AccountId, amount: u64) -> Self {
        Self::new(Command::Issue, transaction, account, AccountId::ZERO, amount)
    }

    /// TRANSFER of an amount from the source to the destination.
    pub const fn transfer(transaction: TransactionId, source: AccountId, destination: AccountId, amount: u64) -> Self {
        Self::new(Command::Transfer, transaction, source, destination, amount)
    }

    /// REFER to an account.
    pub const fn refer(transaction: TransactionId, account: AccountId) -> Self {
        Self::new(Command::Refer, transaction, account, AccountId::ZERO, 0)
    }

    /// FREEZE of an account.
    pub const fn freeze(transaction: TransactionId, account: AccountId) -> Self {
        Self::new(Command::Freeze, transaction, account, AccountId::ZERO, 0)
    }

    /// UNFREEZE of an account.
    pub const fn unfreeze(transaction: TransactionId, account: AccountId) -> Self {
        Self::new(Command::Unfreeze, transaction, account, AccountId::ZERO, 0)
    }

    /// CLOSE of an account.
    pub const fn close(transaction: TransactionId, account: AccountId) -> Self {
        Self::new(Command::Close, transaction, account, AccountId::ZERO, 0)
    }

    /// HOLD of an amount of the source for the destination, until `expiry`, in seconds since the Unix epoch; 0 if it
    /// does not expire.
    pub const fn hold(
        transaction: TransactionId,
        source: AccountId,
        destination: AccountId,
        amount: u64,
        expiry: u32,
    ) -> Self {
        let operation = Self::new(Command::Hold, transaction, source, destination, amount);
        Self { contract: U32::from_bytes(expiry.to_be_bytes()), ..operation }
    }

    /// CAPTURE of an amount of this HOLD.
    pub const fn capture(hold: &Self, amount: u64) -> Self {
        hold.end(Command::Capture, amount)
    }

    /// RELEASE of this HOLD.
    pub const fn release(hold: &Self) -> Self {
        hold.end(Command::Release, 0)
    }

    /// RECLAIM of this HOLD.
    pub const fn reclaim(hold: &Self) -> Self {
        hold.end(Command::Reclaim, 0)
    }

    /// The end of this HOLD. It names the hold by all of its fields but the amount.
    const fn end(&self, command: Command, amount: u64) -> Self {
        let operation = Self::new(command, self.transaction, self.source, self.destination, amount);
        Self { contract: self.contract, ..operation }
    }

    /// The same, marked as having a transaction id with a time: one of [`TransactionId::timed`].
    pub const fn timed(self) -> Self {
        Self { flags: self.flags | Self::TIMED, ..self }
    }

    /// The same, linked with the next entry of its batch.
    pub const fn linked(self) -> Self {
        Self { flags: self.flags | Self::LINKED, ..self }
    }

    /// Whether the next entry of the batch is in the same linked chain.
    #[inline(always)]
    pub const fn is_linked(&self) -> bool {
        self.flags & Self::LINKED != 0
    }

    /// The time in the transaction id, in microseconds since the Unix epoch, if the operation is marked as having one.
    #[inline]
    pub fn time(&self) -> Option<u64> {
        (self.flags & Self::TIMED != 0).then(|| self.transaction.time())
    }

    /// The command, or `UNKNOWN_COMMAND`.
    #[inline]
    pub fn command(&self) -> Result<Command, Status> {
        Command::try_from(self.command)
    }

    /// The status in a reply.
    #[inline]
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// The amount of a request.
    #[inline]
    pub fn amount(&self) -> u64 {
        self.amount.get()
    }

    /// The value of a reply.
    #[inline]
    pub fn value(&self) -> u64 {
        self.amount.get()
    }

    /// Whether it creates an account: a CREATE or an OPEN.
    #[inline]
    pub fn creates(&self) -> bool {
        self.command().is_ok_and(Command::creates)
    }

    /// The asset of the account that it creates, 0 by default.
    #[inline]
    pub fn asset(&self) -> u32 {
        if self.command() == Ok(Command::Open) { self.contract.get() } else { 0 }
    }

    /// The payer of the deposit: the destination of a CREATE or an OPEN, if it has one.
    #[inline]
    pub fn payer(&self) -> Option<AccountId> {
        (self.creates() && !self.destination.is_zero()).then_some(self.destination)
    }

    /// Whether it makes or ends a [hold](crate::holds).
    #[inline]
    pub fn is_of_hold(&self) -> bool {
        self.command().is_ok_and(|command| command == Command::Hold || command.ends_hold())
    }

    /// Whether it ends a [hold](crate::holds).
    #[inline]
    pub fn ends_hold(&self) -> bool {
        self.command().is_ok_and(Command::ends_hold)
    }

    /// When the hold that it makes or ends expires, in seconds since the Unix epoch, if ever.
    #[inline]
    pub fn expiry(&self) -> Option<u32> {
        Some(self.contract.get()).filter(|expiry| *expiry != 0 && self.is_of_hold())
    }

    /// The account besides the source that it changes: the receiver of a transfer or a hold, or the payer of a deposit.
    #[inline]
    pub fn other_account(&self) -> Option<AccountId> {
        match self.command().ok()? {
            Command::Transfer | Command::Hold | Command::Capture | Command::Release | Command::Reclaim => {
                Some(self.destination)
            }
            Command::Create | Command::Open => self.payer(),
            Command::Issue | Command::Refer | Command::Freeze | Command::Unfreeze | Command::Close => None,
        }
    }

    /// Whether the ledger executes its command.
    #[inline]
    pub fn is_executed(&self) -> bool {
        self.command().is_ok_and(Command::is_executed)
    }

    /// The account whose transaction ids the operation uses: the payer of a deposit, the receiver of a hold that ends,
    /// otherwise the source. If it were always the source, a payer could use up the ids of another account.
    #[inline]
    pub fn namer(&self) -> AccountId {
        if self.ends_hold() { self.destination } else { self.payer().unwrap_or(self.source) }
    }

    /// The name by which its retry is recognised. The end of a hold has the id of the hold, which the payer chose, so
    /// its name differs from that of everything else with this id and namer.
    #[inline]
    pub fn name(&self) -> (AccountId, TransactionId, bool) {
        (self.namer(), self.transaction, self.ends_hold())
    }

    /// The account that it acts for. Its key must sign the operation, unless [an issuer's](Command::is_of_issuer) must,
    /// or it is a CREATE or an OPEN without a deposit.
    #[inline]
    pub fn signer(&self) -> AccountId {
        match self.command() {
            Ok(Command::Capture | Command::Release) => self.destination,
            _ => self.payer().unwrap_or(self.source),
        }
    }

    /// Whether it acts for a keyed account, for which only its key may act. One that creates an account acts for that.
    #[inline]
    pub fn acts_for_key(&self) -> bool {
        let account = if self.creates() { self.source } else { self.signer() };
        account.is_keyed()
    }

    /// Checks a requested operation without the ledger: `OK`, or the status that refuses it.
    #[inline]
    pub fn check(&self) -> Status {
        self.check_form(false)
    }

    /// The same for a signed operation: only a signature can make an account pay a deposit.
    #[inline]
    pub fn check_signed(&self) -> Status {
        self.check_form(true)
    }

    #[inline(always)]
    fn check_form(&self, is_signed: bool) -> Status {
        // First, so that the answer to an answer is always the one that is not answered again in a compact frame.
        if self.status.get() != 0 {
            return Status::Malformed;
        }
        let command = match self.command() {
            Ok(command) => command,
            Err(status) => return status,
        };
        if self.flags != 0 && !self.has_valid_flags(is_signed) {
            return Status::Malformed;
        }
        let amount = self.amount.get() != 0;
        match command {
            Command::Open if self.contract.get() == 0 => Status::Malformed,
            Command::Create | Command::Open if is_signed && !self.destination.is_zero() => self.check_accounts(),
            Command::Transfer | Command::Hold | Command::Capture => self.check_accounts(),
            Command::Release | Command::Reclaim if amount => Status::Malformed,
            Command::Release | Command::Reclaim if self.source == self.destination => Status::SelfTransfer,
            Command::Release | Command::Reclaim => Status::Ok,
            _ if !self.destination.is_zero() => Status::Malformed,
            Command::Issue if !amount => Status::ZeroAmount,
            Command::Issue => Status::Ok,
            Command::Create | Command::Open | Command::Refer if amount => Status::Malformed,
            Command::Freeze | Command::Unfreeze | Command::Close if amount => Status::Malformed,
            Command::Create | Command::Open | Command::Refer => Status::Ok,
            Command::Freeze | Command::Unfreeze | Command::Close => Status::Ok,
        }
    }

    /// Whether only known flags are set, and in this combination: an id marked as a UUIDv7 is one, commits to no chain,
    /// and is not that of a hold that ends, which may be old. A signed operation is linked only if its id commits to
    /// the chain; an unsigned one has nothing to bind.
    fn has_valid_flags(&self, is_signed: bool) -> bool {
        let has = |flag| self.flags & flag != 0;
        let (timed, linked, bound) = (has(Self::TIMED), has(Self::LINKED), has(Self::BOUND));
        let is_known = self.flags & !(Self::TIMED | Self::LINKED | Self::BOUND) == 0;
        is_known
            && (!timed || self.transaction.is_timed() && !bound && !self.ends_hold())
            && (if is_signed { bound || !linked } else { !bound })
    }

    /// Checks an operation that takes money from one of its two accounts.
    #[inline(always)]
    fn check_accounts(&self) -> Status {
        if self.amount.get() == 0 {
            Status::ZeroAmount
        } else if self.source == self.destination {
            Status::SelfTransfer
        } else {
            Status::Ok
        }
    }

    /// Turns the request into its reply, in place.
    #[inline]
    pub fn set_reply(&mut self, status: Status, value: u64) {
        self.status = U16::new(status.code());
        self.amount = U64::new(value);
    }
}

impl SignedOperation {
    /// Bytes that the signature covers, after the network id.
    pub const SIGNED_LENGTH: usize = 120;

    /// A signed operation whose signature is still missing.
    pub const fn unsigned(operation: Operation, timestamp: u64, nonce: u32, promise: Promise, key: [u8; 33]) -> Self {
        Self {
            operation,
            timestamp: U64::from_bytes(timestamp.to_be_bytes()),
            nonce: U32::from_bytes(nonce.to_be_bytes()),
            promise: promise.code(),
            reserved: [0; 3],
            public_key: key,
            reserved_key: [0; 7],
            signature: [0; 64],
        }
    }

    /// Length of the fields after the operation.
    pub const TAIL_LENGTH: usize = Self::LENGTH - Operation::LENGTH;

    /// Joins an operation and the fields after it.
    pub fn join(operation: &Operation, tail: &[u8; Self::TAIL_LENGTH]) -> Self {
        let mut bytes = [0; Self::LENGTH];
        bytes[..Operation::LENGTH].copy_from_slice(operation.as_bytes());
        bytes[Operation::LENGTH..].copy_from_slice(tail);
        zerocopy::transmute!(bytes)
    }

    /// The fields after the operation.
    pub fn tail(&self) -> &[u8; Self::TAIL_LENGTH] {
        let (_, tail): &(Operation, [u8; Self::TAIL_LENGTH]) = zerocopy::transmute_ref!(self);
        tail
    }

    /// The bytes that the signature covers, after the network id.
    pub fn signed_bytes(&self) -> &[u8; Self::SIGNED_LENGTH] {
        let bytes: &[u8; Self::LENGTH] = zerocopy::transmute_ref!(self);
        // Cannot fail: 120 of 184 bytes.
        bytes.first_chunk().unwrap_or(&[0; Self::SIGNED_LENGTH])
    }

    /// The bytes that a chain's hash covers for this operation: those that the signature covers, without the
    /// transaction id, which is made from that hash.
    pub fn bytes_in_chain(&self) -> [u8; Self::SIGNED_LENGTH] {
        let operation = Operation { transaction: TransactionId([0; 16]), ..self.operation };
        *Self { operation, ..*self }.signed_bytes()
    }

    /// The requested or given promise.
    #[inline]
    pub fn promise(&self) -> Result<Promise, Status> {
        Promise::try_from(self.promise)
    }

    /// Checks a request without the ledger and without verifying the signature.
    #[inline]
    pub fn check(&self) -> Status {
        match self.operation.check_signed() {
            Status::Ok if !self.is_well_formed() => Status::Malformed,
            status => status,
        }
    }

    fn is_well_formed(&self) -> bool {
        self.reserved == [0; 3] && self.reserved_key == [0; 7] && self.promise().is_ok()
    }

    /// Turns the request into its reply, in place: key and signature are zeroed.
    #[inline]
    pub fn set_reply(&mut self, status: Status, value: u64, promise: Promise) {
        self.operation.set_reply(status, value);
        self.promise = promise.code();
        self.public_key = [0; 33];
        self.signature = [0; 64];
    }
}
