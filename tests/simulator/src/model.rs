//! The plain model: what the ledger has to do, in the simplest way.

use std::collections::{BTreeMap, HashMap};

use wire::{AccountId, Command, Operation, SignedOperation, Status, TransactionId};

/// What an operation comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: Status,
    pub value: u64,
    /// It is executed for the first time, and goes into the journal.
    pub is_fresh: bool,
}

/// An operation that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// As it was requested.
    pub operation: Operation,
    /// The same with its signature, if it was signed.
    pub signed: Option<SignedOperation>,
    pub status: Status,
    pub value: u64,
}

type Identity = (AccountId, TransactionId);

/// Accounts and everything that was ever executed.
pub struct Model {
    limit: usize,
    balances: BTreeMap<AccountId, u64>,
    /// By sequence, from 1.
    log: Vec<Executed>,
    /// Balances before each operation of the log, of the accounts that it changed.
    undo: Vec<Vec<(AccountId, Option<u64>)>>,
    sequences: HashMap<Identity, u64>,
    /// The last operation that a client was promised to be durable.
    promised: u64,
}

impl Model {
    /// A model with room for so many accounts.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            balances: BTreeMap::new(),
            log: Vec::new(),
            undo: Vec::new(),
            sequences: HashMap::new(),
            promised: 0,
        }
    }

    pub fn last_sequence(&self) -> u64 {
        self.log.len() as u64
    }

    pub fn balances(&self) -> &BTreeMap<AccountId, u64> {
        &self.balances
    }

    /// Everything executed, from sequence 1 on.
    pub fn log(&self) -> &[Executed] {
        &self.log
    }

    /// The sum of everything that was issued, less the deposits.
    pub fn issued(&self) -> u128 {
        let sum = |command| -> u128 {
            let done = self.log.iter().filter(|executed| executed.status == Status::Ok);
            let of_command = done.filter(|executed| executed.operation.command() == Ok(command));
            of_command.map(|executed| u128::from(executed.operation.amount())).sum()
        };
        sum(Command::Issue) - sum(Command::Create)
    }

    /// The sequence under which an operation was executed, and what it came to.
    pub fn find(&self, operation: &Operation) -> Option<(u64, &Executed)> {
        let &sequence = self.sequences.get(&(operation.namer(), operation.transaction))?;
        Some((sequence, &self.log[sequence as usize - 1]))
    }

    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// A reply is on its way that promises an operation to be durable; so it has to be.
    pub fn promise(&mut self, source: AccountId, transaction: TransactionId, durable: u64) {
        if let Some(&sequence) = self.sequences.get(&(source, transaction)) {
            assert!(sequence <= durable, "{transaction} of {source} is promised to be durable, but is not");
            self.promised = self.promised.max(sequence);
        }
    }

    pub fn execute(&mut self, operation: &Operation, signed: Option<SignedOperation>) -> Outcome {
        let balance = self.balances.get(&operation.source).copied();
        let untraced = |status| Outcome { status, value: balance.unwrap_or(0), is_fresh: false };
        let status = if signed.is_some() { operation.check_signed() } else { operation.check() };
        if status != Status::Ok {
            return untraced(status);
        }
        let command = operation.command().unwrap();
        if command == Command::Refer {
            return untraced(if balance.is_some() { Status::Ok } else { Status::SourceUnknown });
        }
        if let Some((_, first)) = self.find(operation) {
            let is_same = first.operation == *operation;
            let Executed { status, value, .. } = *first;
            return if is_same {
                Outcome { status, value, is_fresh: false }
            } else {
                untraced(Status::TransactionIdReused)
            };
        }
        // Anybody can sign for an account that was never created.
        if signed.is_some() && balance.is_none() && command != Command::Create {
            return untraced(Status::SourceUnknown);
        }
        if operation.payer().is_some_and(|payer| !self.balances.contains_key(&payer)) {
            return untraced(Status::DestinationUnknown);
        }
        let changes = self.changes(command, operation, balance);
        let mut undo = Vec::new();
        for &(account, balance) in changes.as_deref().unwrap_or_default() {
            undo.push((account, self.balances.insert(account, balance)));
        }
        let status = changes.err().unwrap_or(Status::Ok);
        let value = self.balances.get(&operation.source).copied().unwrap_or(0);
        self.log.push(Executed { operation: *operation, signed, status, value });
        self.undo.push(undo);
        self.sequences.insert((operation.namer(), operation.transaction), self.last_sequence());
        Outcome { status, value, is_fresh: true }
    }

    /// The accounts that an operation changes and their balances after it.
    fn changes(
        &self,
        command: Command,
        operation: &Operation,
        balance: Option<u64>,
    ) -> Result<Vec<(AccountId, u64)>, Status> {
        let &Operation { source, destination, .. } = operation;
        if command == Command::Create {
            return match balance {
                Some(_) => Err(Status::AccountExists),
                None if self.balances.len() == self.limit => Err(Status::TableFull),
                None if destination.is_zero() => Ok(vec![(source, 0)]),
                None => {
                    let held = *self.balances.get(&destination).ok_or(Status::DestinationUnknown)?;
                    let left = held.checked_sub(operation.amount()).ok_or(Status::InsufficientBalance)?;
                    Ok(vec![(source, 0), (destination, left)])
                }
            };
        }
        let balance = balance.ok_or(Status::SourceUnknown)?;
        let add = |balance: u64| balance.checked_add(operation.amount()).ok_or(Status::Overflow);
        if command == Command::Issue {
            return Ok(vec![(source, add(balance)?)]);
        }
        let other = *self.balances.get(&destination).ok_or(Status::DestinationUnknown)?;
        let left = balance.checked_sub(operation.amount()).ok_or(Status::InsufficientBalance)?;
        Ok(vec![(source, left), (destination, add(other)?)])
    }

    /// Goes back to what was as of a sequence: the node died, and what came later was lost.
    pub fn go_back(&mut self, sequence: u64) {
        assert!(sequence >= self.promised, "durable up to {}, but after the crash up to {sequence}", self.promised);
        assert!(sequence <= self.last_sequence(), "the journal has operations that were never executed");
        while self.last_sequence() > sequence {
            for (account, balance) in self.undo.pop().unwrap() {
                match balance {
                    Some(balance) => self.balances.insert(account, balance),
                    None => self.balances.remove(&account),
                };
            }
            let operation = self.log.pop().unwrap().operation;
            self.sequences.remove(&(operation.namer(), operation.transaction));
        }
        let total: u128 = self.balances.values().map(|&balance| u128::from(balance)).sum();
        assert_eq!(total, self.issued(), "money was made or lost");
    }
}
