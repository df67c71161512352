//! The fast state of a replica: balances, next sequence numbers, and locks.

use std::collections::{BTreeMap, HashMap};

use spv::Hash;
use wire::{AccountId, Command, FastOrder};

use crate::genesis::{BALANCE, Owner};

/// Maximum number of locks that a replica holds.
pub const MAX_LOCKS: usize = 1 << 16;

/// Certified orders of an account that wait for an earlier one. An honest owner has one order at a time.
const MAX_EARLY: usize = 16;

/// The fast state.
#[derive(Debug)]
pub struct State {
    accounts: HashMap<AccountId, Account>,
    /// Number of locks.
    locks: usize,
    /// Number of orders that were applied.
    applied: u64,
}

#[derive(Debug)]
struct Account {
    public_key: [u8; 32],
    /// Negative while a certified credit that pays for a certified debit has not arrived.
    balance: i128,
    next: u64,
    lock: Option<Lock>,
    /// Certified orders above `next`.
    early: BTreeMap<u64, FastOrder>,
}

#[derive(Debug)]
struct Lock {
    order: FastOrder,
    hash: Hash,
}

/// Why a replica does not accept an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no transfer, or a reserved byte is set.
    #[error("the order is not a transfer in its only valid form")]
    Malformed,
    /// There is no such account.
    #[error("the source is not a fast account")]
    UnknownAccount,
    /// Another key signed it.
    #[error("the source is bound to another key")]
    WrongKey,
    /// Its slot is settled, or an earlier one is not.
    #[error("the next sequence number of the source is {next}")]
    Sequence {
        /// The next sequence number.
        next: u64,
    },
    /// The replica voted for another order of the slot.
    #[error("the slot is locked by another order")]
    SlotLocked,
    /// The balance is below the amount.
    #[error("the balance is below the amount")]
    InsufficientBalance,
    /// The replica holds the maximum number of locks.
    #[error("the replica holds its maximum number of locks")]
    Busy,
}

/// Whether the lock of an accepted order must be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is new.
    New,
    /// It was written before.
    Again,
}

impl State {
    /// The state of a genesis with this number of accounts.
    pub fn new(accounts: u32) -> Self {
        let account = |number| {
            let Owner { account, public_key, .. } = Owner::new(number);
            let state = Account { public_key, balance: BALANCE.into(), next: 0, lock: None, early: BTreeMap::new() };
            (account, state)
        };
        Self { accounts: (0..accounts).map(account).collect(), locks: 0, applied: 0 }
    }

    /// Restores a lock after a restart. The newest one of an account counts: earlier slots were settled before.
    pub fn restore(&mut self, order: FastOrder, hash: Hash) {
        let Some(account) = self.accounts.get_mut(&order.operation.source) else { return };
        if order.sequence.get() >= account.next {
            account.next = order.sequence.get();
            self.locks += usize::from(account.lock.is_none());
            account.lock = Some(Lock { order, hash });
        }
    }

    /// Accepts an order and locks its slot, or refuses it: step 3 of the protocol, without the signature. The vote may
    /// leave once the lock is synced.
    pub fn accept(&mut self, order: &FastOrder, hash: &Hash) -> Result<Accepted, Refusal> {
        let operation = &order.operation;
        let is_well_formed = operation.flags == 0
            && operation.command() == Ok(Command::Transfer)
            && operation.status.get() == 0
            && order.reserved == [0; 8]
            && order.reserved_key == [0; 8];
        if !is_well_formed {
            return Err(Refusal::Malformed);
        }
        let account = self.accounts.get_mut(&operation.source).ok_or(Refusal::UnknownAccount)?;
        if account.public_key != order.public_key {
            return Err(Refusal::WrongKey);
        }
        let sequence = order.sequence.get();
        if let Some(lock) = account.lock.as_ref().filter(|lock| lock.order.sequence.get() == sequence) {
            return if lock.hash == *hash { Ok(Accepted::Again) } else { Err(Refusal::SlotLocked) };
        }
        if sequence != account.next {
            return Err(Refusal::Sequence { next: account.next });
        }
        if account.balance < operation.amount().into() {
            return Err(Refusal::InsufficientBalance);
        }
        // A lock of an earlier slot goes with the certificate that settled it.
        assert!(account.lock.is_none(), "an account has one lock at a time");
        if self.locks == MAX_LOCKS {
            return Err(Refusal::Busy);
        }
        account.lock = Some(Lock { order: *order, hash: *hash });
        self.locks += 1;
        Ok(Accepted::New)
    }

    /// Applies a certified order as soon as all earlier debits of its source are applied: step 5 of the protocol.
    pub fn certify(&mut self, order: &FastOrder) {
        let source = order.operation.source;
        let Some(account) = self.accounts.get_mut(&source) else { return };
        if order.sequence.get() < account.next {
            return;
        }
        if order.sequence.get() > account.next {
            if account.early.len() < MAX_EARLY {
                account.early.insert(order.sequence.get(), *order);
            }
            return;
        }
        let mut next = Some(*order);
        while let Some(order) = next {
            let (destination, amount) = (order.operation.destination, i128::from(order.operation.amount()));
            if let Some(credited) = self.accounts.get_mut(&destination) {
                credited.balance += amount;
            }
            let Some(account) = self.accounts.get_mut(&source) else { return };
            account.balance -= amount;
            account.next += 1;
            self.applied += 1;
            // Also the lock of another order, which can no longer be certified.
            if account.lock.take_if(|lock| lock.order.sequence.get() < account.next).is_some() {
                self.locks -= 1;
            }
            next = account.early.remove(&account.next);
        }
    }

    /// All locks.
    pub fn locks(&self) -> Vec<FastOrder> {
        self.accounts.values().filter_map(|account| Some(account.lock.as_ref()?.order)).collect()
    }

    /// Number of orders that were applied.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// The sum of all balances.
    pub fn total(&self) -> i128 {
        self.accounts.values().map(|account| account.balance).sum()
    }

    /// The balance of an account.
    pub fn balance(&self, account: &AccountId) -> Option<i128> {
        self.accounts.get(account).map(|account| account.balance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;

    fn owners() -> [Owner; 2] {
        [Owner::new(0), Owner::new(1)]
    }

    fn accept(state: &mut State, order: FastOrder) -> Result<Accepted, Refusal> {
        state.accept(&order, &Batch::new(vec![order]).hashes[0])
    }

    #[test]
    fn a_slot_takes_one_order() {
        let [a, b] = owners();
        let mut state = State::new(2);
        let order = a.order(0, b.account, 5);
        assert_eq!(accept(&mut state, order), Ok(Accepted::New));
        assert_eq!(accept(&mut state, order), Ok(Accepted::Again));
        assert_eq!(accept(&mut state, a.order(0, b.account, 6)), Err(Refusal::SlotLocked));
        assert_eq!(accept(&mut state, a.order(1, b.account, 5)), Err(Refusal::Sequence { next: 0 }));
        assert_eq!(accept(&mut state, b.order(0, a.account, BALANCE + 1)), Err(Refusal::InsufficientBalance));
        state.certify(&order);
        assert_eq!(accept(&mut state, order), Err(Refusal::Sequence { next: 1 }));
        assert_eq!(accept(&mut state, b.order(0, a.account, BALANCE + 5)), Ok(Accepted::New));
        assert_eq!(state.locks().len(), 1);
        // A replica that was split from the others by an equivocation follows the certificate.
        state.certify(&b.order(0, a.account, 1));
        assert_eq!((state.locks(), state.balance(&a.account)), (Vec::new(), Some(i128::from(BALANCE) - 4)));
    }

    #[test]
    fn orders_in_another_form_are_refused() {
        let [a, b] = owners();
        let good = a.order(0, b.account, 5);
        let mut state = State::new(2);
        let mut changed: [FastOrder; 5] = [good; 5];
        changed[0].operation.flags = 1;
        changed[1].operation.command = Command::Issue.code();
        changed[2].operation.status = 1.into();
        changed[3].reserved[7] = 1;
        changed[4].reserved_key[0] = 1;
        for order in changed {
            assert_eq!(accept(&mut state, order), Err(Refusal::Malformed));
        }
        assert_eq!(accept(&mut state, FastOrder { public_key: b.public_key, ..good }), Err(Refusal::WrongKey));
        assert_eq!(accept(&mut state, Owner::new(2).order(0, b.account, 5)), Err(Refusal::UnknownAccount));
        assert_eq!(state.locks(), []);
    }

    #[test]
    fn certificates_apply_in_order_of_the_sequence() {
        let [a, b] = owners();
        let mut state = State::new(2);
        let orders: Vec<_> = (0..4).map(|sequence| a.order(sequence, b.account, 1 << sequence)).collect();
        for &at in &[2, 1, 1, 3, 2] {
            state.certify(&orders[at]);
            assert_eq!(state.applied(), 0);
        }
        state.certify(&orders[0]);
        assert_eq!((state.applied(), state.balance(&b.account)), (4, Some(i128::from(BALANCE) + 15)));
        state.certify(&orders[3]);
        assert_eq!((state.applied(), state.total()), (4, 2 * i128::from(BALANCE)));
    }

    #[test]
    fn a_debit_may_arrive_before_the_credit_that_pays_for_it() {
        let [a, b] = owners();
        let mut state = State::new(2);
        state.certify(&a.order(0, b.account, BALANCE + 7));
        assert_eq!(state.balance(&a.account), Some(-7));
        assert_eq!(accept(&mut state, a.order(1, b.account, 0)), Err(Refusal::InsufficientBalance));
        state.certify(&b.order(0, a.account, 7));
        assert_eq!(accept(&mut state, a.order(1, b.account, 0)), Ok(Accepted::New));
    }

    #[test]
    fn locks_are_restored() {
        let [a, b] = owners();
        let orders = [a.order(0, b.account, 5), a.order(1, b.account, 5)];
        let mut state = State::new(2);
        for order in orders {
            state.restore(order, Batch::new(vec![order]).hashes[0]);
        }
        assert_eq!(state.locks(), [orders[1]]);
        assert_eq!(accept(&mut state, a.order(1, b.account, 6)), Err(Refusal::SlotLocked));
        assert_eq!(accept(&mut state, orders[0]), Err(Refusal::Sequence { next: 1 }));
    }
}
