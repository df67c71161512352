//! The balances that commands are applied to: the accounts themselves, or a draft of changes to them.

use table::{Full, Hash};
use wire::{AccountId, Operation, Status};

use crate::accounts::{AccountEntry, Accounts};

/// The [id](chain::index::hold_id) of a hold, and its hash in the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoldKey {
    pub id: AccountId,
    pub hash: Hash,
}

/// Balances of accounts.
pub(crate) trait Balances {
    /// An account that was found. It is valid until the account is changed.
    type Entry: Copy;

    fn find(&self, hash: Hash, account: &AccountId) -> Option<Self::Entry>;
    fn balance(&self, entry: Self::Entry) -> u64;
    fn set_balance(&mut self, entry: Self::Entry, balance: u64);
    /// Whether no account can be added.
    fn is_full(&self) -> bool;
    /// Adds an account that does not exist, with a balance of 0.
    fn create(&mut self, account: &AccountId) -> Result<(), Full>;
    fn is_frozen(&self, entry: Self::Entry) -> bool;
    /// The balance of an account after it pays an amount, or the status if it cannot.
    #[inline(always)]
    fn after_payment(&self, entry: Self::Entry, amount: u64) -> Result<u64, Status> {
        if self.is_frozen(entry) {
            return Err(Status::AccountFrozen);
        }
        self.balance(entry).checked_sub(amount).ok_or(Status::InsufficientBalance)
    }
    /// Freezes an account, or ends that.
    fn set_frozen(&mut self, entry: Self::Entry, is_frozen: bool) -> Result<(), Full>;
    /// Removes an account that is not frozen and has a balance of 0.
    fn close(&mut self, entry: Self::Entry);
    /// The key of the hold that an operation makes or ends.
    fn hold_key(&self, operation: &Operation) -> HoldKey;
    /// The amount of an open hold.
    fn held(&self, hold: &HoldKey) -> Option<u64>;
    /// Whether no hold can be added.
    fn is_full_of_holds(&self) -> bool;
    /// Adds a hold that is not open.
    fn add_hold(&mut self, hold: &HoldKey, amount: u64) -> Result<(), Full>;
    /// Removes an open hold.
    fn remove_hold(&mut self, hold: &HoldKey);
    /// Adds an amount to the issued total.
    fn issue(&mut self, amount: u64);
    /// Subtracts a deposit from it.
    fn withdraw(&mut self, amount: u64);
}

impl Balances for Accounts {
    type Entry = AccountEntry;

    #[inline(always)]
    fn find(&self, hash: Hash, account: &AccountId) -> Option<AccountEntry> {
        self.find(hash, account)
    }

    #[inline(always)]
    fn balance(&self, entry: AccountEntry) -> u64 {
        self.balance(entry)
    }

    #[inline(always)]
    fn set_balance(&mut self, entry: AccountEntry, balance: u64) {
        self.set_balance(entry, balance);
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn create(&mut self, account: &AccountId) -> Result<(), Full> {
        self.create(account, 0)
    }

    #[inline(always)]
    fn is_frozen(&self, entry: AccountEntry) -> bool {
        matches!(entry, AccountEntry::Frozen(_))
    }

    fn set_frozen(&mut self, entry: AccountEntry, is_frozen: bool) -> Result<(), Full> {
        self.set_frozen(entry, is_frozen)
    }

    fn close(&mut self, entry: AccountEntry) {
        self.remove(&self.account(entry));
    }

    fn hold_key(&self, operation: &Operation) -> HoldKey {
        self.hold_key(operation)
    }

    fn held(&self, hold: &HoldKey) -> Option<u64> {
        self.held(hold)
    }

    fn is_full_of_holds(&self) -> bool {
        self.holds() >= self.limit()
    }

    fn add_hold(&mut self, hold: &HoldKey, amount: u64) -> Result<(), Full> {
        self.add_hold(hold, amount)
    }

    fn remove_hold(&mut self, hold: &HoldKey) {
        self.remove_hold(hold);
    }

    fn issue(&mut self, amount: u64) {
        self.issue(amount.into());
    }

    fn withdraw(&mut self, amount: u64) {
        self.withdraw(amount.into());
    }
}

/// An account that a draft changes.
#[derive(Clone, Copy, Debug)]
struct Change {
    account: AccountId,
    /// Its entry in the table; `None` if the draft creates it.
    entry: Option<AccountEntry>,
    balance: u64,
    is_closed: bool,
}

/// A hold that a draft adds, or removes.
#[derive(Clone, Copy, Debug)]
struct HoldChange {
    hold: HoldKey,
    amount: u64,
    is_added: bool,
}

impl HoldChange {
    fn apply(&self, accounts: &mut Accounts) -> Result<(), Full> {
        if self.is_added {
            return accounts.add_hold(&self.hold, self.amount);
        }
        accounts.remove_hold(&self.hold);
        Ok(())
    }

    /// Takes the change back, after those that followed it.
    fn revert(&self, accounts: &mut Accounts) {
        let opposite = Self { is_added: !self.is_added, ..*self };
        opposite.apply(accounts).expect("the hold was there before");
    }
}

/// Changes to the accounts that are made together or not at all. Until then no reader of the table sees any of them:
/// the NIC tier reads it at any time, and must not answer with a balance that is taken back.
///
/// A draft changes few accounts, so it is searched from start to end.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    accounts: &'a Accounts,
    changes: Changes,
}

/// The changes of a draft.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    accounts: Vec<Change>,
    created: usize,
    /// In order: a hold may be added and removed again.
    holds: Vec<HoldChange>,
    issued: u128,
    withdrawn: u128,
}

/// An account in a draft.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// It is as in the table.
    Unchanged(AccountEntry),
    /// The position of its change.
    Changed(usize),
}

impl<'a> Draft<'a> {
    /// A draft without changes. It uses the memory of `changes`.
    pub fn new(accounts: &'a Accounts, mut changes: Changes) -> Self {
        changes.clear();
        Self { accounts, changes }
    }

    /// Returns the changes.
    pub fn finish(self) -> Changes {
        self.changes
    }

    /// The change of an account, new if it is the first one.
    fn change(&mut self, entry: Entry) -> &mut Change {
        let changes = &mut self.changes.accounts;
        let position = match entry {
            Entry::Changed(position) => position,
            Entry::Unchanged(entry) => {
                let (account, balance) = (self.accounts.account(entry), self.accounts.balance(entry));
                changes.push(Change { account, entry: Some(entry), balance, is_closed: false });
                changes.len() - 1
            }
        };
        &mut changes[position]
    }
}

impl Changes {
    fn clear(&mut self) {
        self.accounts.clear();
        self.holds.clear();
        (self.created, self.issued, self.withdrawn) = (0, 0, 0);
    }

    /// Makes the changes. If a table has no place for an account or a hold, makes none and returns its id.
    pub fn apply(&self, accounts: &mut Accounts) -> Result<(), AccountId> {
        let created = || self.accounts.iter().filter(|change| change.entry.is_none()).map(|change| change.account);
        for (number, account) in created().enumerate() {
            if accounts.create(&account, 0).is_err() {
                created().take(number).for_each(|account| accounts.remove(&account));
                return Err(account);
            }
        }
        for (number, change) in self.holds.iter().enumerate() {
            if change.apply(accounts).is_err() {
                self.holds[..number].iter().rev().for_each(|change| change.revert(accounts));
                created().for_each(|account| accounts.remove(&account));
                return Err(change.hold.id);
            }
        }
        for &Change { account, entry, balance, is_closed } in &self.accounts {
            let entry = entry.or_else(|| accounts.find(accounts.hash(&account), &account));
            accounts.set_balance(entry.expect("it was created above"), balance);
            if is_closed {
                accounts.remove(&account);
            }
        }
        accounts.issue(self.issued);
        accounts.withdraw(self.withdrawn);
        Ok(())
    }
}

impl Balances for Draft<'_> {
    type Entry = Entry;

    fn find(&self, hash: Hash, account: &AccountId) -> Option<Entry> {
        match self.changes.accounts.iter().position(|change| change.account == *account) {
            Some(position) if self.changes.accounts[position].is_closed => None,
            Some(position) => Some(Entry::Changed(position)),
            None => self.accounts.find(hash, account).map(Entry::Unchanged),
        }
    }

    fn balance(&self, entry: Entry) -> u64 {
        match entry {
            Entry::Unchanged(entry) => self.accounts.balance(entry),
            Entry::Changed(position) => self.changes.accounts[position].balance,
        }
    }

    fn set_balance(&mut self, entry: Entry, balance: u64) {
        self.change(entry).balance = balance;
    }

    /// The place of an account that the draft closes is free after the draft.
    fn is_full(&self) -> bool {
        self.accounts.len() + self.changes.created >= self.accounts.limit()
    }

    fn create(&mut self, account: &AccountId) -> Result<(), Full> {
        self.changes.created += 1;
        match self.changes.accounts.iter_mut().find(|change| change.account == *account) {
            // One that the draft closes keeps its entry.
            Some(change) => change.is_closed = false,
            None => {
                self.changes.accounts.push(Change { account: *account, entry: None, balance: 0, is_closed: false });
            }
        }
        Ok(())
    }

    fn is_frozen(&self, entry: Entry) -> bool {
        let entry = match entry {
            Entry::Unchanged(entry) => Some(entry),
            Entry::Changed(position) => self.changes.accounts[position].entry,
        };
        entry.is_some_and(|entry| self.accounts.is_frozen(entry))
    }

    fn set_frozen(&mut self, _: Entry, _: bool) -> Result<(), Full> {
        unreachable!("a chain has no FREEZE and no UNFREEZE")
    }

    fn close(&mut self, entry: Entry) {
        self.change(entry).is_closed = true;
    }

    fn hold_key(&self, operation: &Operation) -> HoldKey {
        self.accounts.hold_key(operation)
    }

    fn held(&self, hold: &HoldKey) -> Option<u64> {
        match self.changes.holds.iter().rev().find(|change| change.hold.id == hold.id) {
            Some(change) => change.is_added.then_some(change.amount),
            None => self.accounts.held(hold),
        }
    }

    fn is_full_of_holds(&self) -> bool {
        let holds = &self.changes.holds;
        let added = holds.iter().filter(|change| change.is_added).count();
        self.accounts.holds() + added >= self.accounts.limit() + (holds.len() - added)
    }

    fn add_hold(&mut self, hold: &HoldKey, amount: u64) -> Result<(), Full> {
        self.changes.holds.push(HoldChange { hold: *hold, amount, is_added: true });
        Ok(())
    }

    fn remove_hold(&mut self, hold: &HoldKey) {
        let amount = self.held(hold).expect("the hold is open");
        self.changes.holds.push(HoldChange { hold: *hold, amount, is_added: false });
    }

    fn issue(&mut self, amount: u64) {
        self.changes.issued += u128::from(amount);
    }

    fn withdraw(&mut self, amount: u64) {
        self.changes.withdrawn += u128::from(amount);
    }
}
