//! Transfers between a client's own accounts, so that it knows every expected reply.

use std::time::{SystemTime, UNIX_EPOCH};

use wire::{AccountId, Operation, TransactionId};

/// What each account is given.
pub const ISSUED: u64 = 1_000;

/// The accounts of a client, and its operations: the same in each run, except for the times in transaction ids.
pub struct Load {
    first: u32,
    accounts: u32,
    next: u64,
    random: u64,
}

impl Load {
    /// The load of client `number`, with `accounts` accounts.
    pub fn new(number: u32, accounts: u32) -> Self {
        let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(number) + 1);
        Self { first: 1 + number * accounts, accounts, next: 1, random }
    }

    pub fn random(&mut self, below: u64) -> u64 {
        // xorshift64: any even spread will do.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    pub fn accounts(&self) -> impl Iterator<Item = AccountId> + use<> {
        (self.first..self.first + self.accounts).map(AccountId::from)
    }

    fn account(&self, index: u64) -> AccountId {
        (self.first + index as u32).into()
    }

    fn fresh(&mut self) -> TransactionId {
        self.next += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        TransactionId::timed(now.as_millis() as u64, self.next.into())
    }

    /// CREATE and ISSUE of an account.
    pub fn open(&mut self, account: AccountId) -> [Operation; 2] {
        [Operation::create(self.fresh(), account), Operation::issue(self.fresh(), account, ISSUED)]
            .map(Operation::timed)
    }

    /// A transfer, which may be beyond the balance.
    pub fn transfer(&mut self) -> Operation {
        let (source, destination) = self.pair();
        let amount = 1 + self.random(ISSUED);
        Operation::transfer(self.fresh(), source, destination, amount).timed()
    }

    /// A hold that does not expire, and may be beyond the balance.
    #[allow(dead_code, reason = "not every test needs all of it")]
    pub fn hold(&mut self) -> Operation {
        let (source, destination) = self.pair();
        let amount = 1 + self.random(ISSUED);
        Operation::hold(self.fresh(), source, destination, amount, 0).timed()
    }

    /// REFER of an account.
    #[allow(dead_code, reason = "not every test needs all of it")]
    pub fn refer(&mut self, account: AccountId) -> Operation {
        Operation::refer(self.fresh(), account)
    }

    /// Two accounts.
    fn pair(&mut self) -> (AccountId, AccountId) {
        let accounts = u64::from(self.accounts);
        let source = self.random(accounts);
        let destination = (source + 1 + self.random(accounts - 1)) % accounts;
        (self.account(source), self.account(destination))
    }
}
