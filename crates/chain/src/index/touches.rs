//! The accounts that transactions touch, in roughly the order in which the index keeps accounts.
//!
//! The accounts of a transaction are scattered, so processing transactions one by one means waiting for memory at every
//! step. But the effect of a transaction on one of its accounts does not depend on the other: only transactions that
//! touch the same account must stay in order. So the index is traversed from one end to the other, in parts that stay
//! in the cache.
use super::paths::{account_path, account_paths};
use super::{Effect, EffectError, Index, hold_id};
use spv::{IndexEntry, Locator};
use std::collections::{BTreeMap, HashMap};
use wire::{AccountId, Command, Operation};

/// Operations whose paths are computed together, in the first-level cache.
const PIECE: usize = 64;

/// Accounts per part: their entries take half of a second-level cache. Low in tests, whose blocks are small.
const PART_ACCOUNTS: u64 = if cfg!(test) { 32 } else { 8192 };

/// Minimum number of touches per part that makes sorting worthwhile.
const PART_TOUCHES: usize = 64;

/// At most two to the power of this parts: sorting writes to that many places at once, all of them in the cache.
const MAX_PART_BITS: u32 = 10;

/// The role of an account in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Created,
    Issued,
    Sender,
    Receiver,
    /// Pays the deposit for another account.
    Payer,
    /// The hold that a HOLD makes.
    Held,
    /// The hold that the transaction ends.
    Ended,
    /// Gets back what a hold reserved and nobody captured. If it was closed meanwhile, that opens it again.
    Returned,
    Frozen,
    Unfrozen,
    Closed,
    /// The entry with the asset of an account or a hold that is added, or may be there.
    AssetAdded,
    /// The entry with the asset of an account or a hold that is removed.
    AssetRemoved,
}

impl Role {
    /// Whether the account is the transaction's destination.
    pub(super) fn is_destination(self) -> bool {
        matches!(self, Self::Receiver | Self::Payer)
    }
}

/// A transaction, and one of its accounts.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub(super) path: u64,
    pub(super) account: AccountId,
    pub(super) amount: u64,
    /// Index of the transaction, among those of the same [`Touches`].
    pub(super) number: u32,
    pub(super) role: Role,
    /// Whether the account or hold that it may add is of another asset than 0.
    pub(super) has_asset: bool,
}

impl Touch {
    const NONE: Self =
        Self { path: 0, account: AccountId::ZERO, amount: 0, number: 0, role: Role::Created, has_asset: false };
}

/// The touches of a block's transactions. Those of one account are in block order.
#[derive(Debug, Default)]
pub struct Touches {
    touches: Vec<Touch>,
    paths: Vec<[u64; 2]>,
    pub(super) holds: Vec<TouchedHold>,
    /// Those of assets.
    pub(super) assets: Vec<Touch>,
    /// Amounts that were issued of assets but 0.
    pub(super) issued: BTreeMap<u32, u128>,
}

/// The hold that a transaction makes or ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct TouchedHold {
    /// Index of the transaction.
    number: u32,
    path: u64,
    pub(super) id: AccountId,
    /// The held amount.
    pub(super) amount: u64,
    pub(super) asset: u32,
}

impl Touches {
    /// Number of operations to sort at once: enough to make it likely that neighbours in the index are touched, few
    /// enough for some twenty megabytes.
    pub const MOST: usize = if cfg!(test) { 256 } else { 1 << 18 };

    /// Computes the touches of some operations of a block, the first of which is at `first`, for this index.
    pub fn renew(&mut self, index: &Index, first: Locator, operations: &[Operation]) -> Result<(), EffectError> {
        self.paths.clear();
        self.paths.resize(operations.len(), [0; 2]);
        for (paths, operations) in self.paths.chunks_mut(PIECE).zip(operations.chunks(PIECE)) {
            let mut accounts = [[AccountId::ZERO; 2]; PIECE];
            for (accounts, operation) in accounts.iter_mut().zip(operations) {
                *accounts = [operation.source, operation.destination];
            }
            account_paths(accounts[..operations.len()].as_flattened(), paths.as_flattened_mut());
        }
        let Locator { height, position } = first;
        let error = |(number, effect)| EffectError { height, position: position + number, effect };
        self.find_holds(index, operations).map_err(error)?;
        self.assets.clear();
        self.issued.clear();
        if index.has_assets(operations) {
            self.find_assets(index, operations).map_err(error)?;
        }
        let bits = part_bits(index.accounts(), 2 * operations.len());
        self.sort(bits, operations).map_err(|number| error((number, Effect::NotATransaction)))
    }

    /// Finds what the holds are that these operations make or end. What the end of a hold gives to an account depends
    /// on the held amount, which another part of the index has.
    fn find_holds(&mut self, index: &Index, operations: &[Operation]) -> Result<(), (u32, Effect)> {
        self.holds.clear();
        // Holds that these operations have made, or ended, so far.
        let mut open = HashMap::new();
        for (number, operation) in (0..).zip(operations).filter(|(_, operation)| operation.is_of_hold()) {
            let id = hold_id(operation);
            let amount = if operation.ends_hold() {
                let before = || index.get(&id).filter(IndexEntry::is_hold).map(|entry| entry.balance.get());
                let held = open.insert(id, None).unwrap_or_else(before);
                held.ok_or((number, Effect::HoldUnknown))?
            } else {
                open.insert(id, Some(operation.amount()));
                operation.amount()
            };
            if operation.ends_hold() && operation.amount() > amount {
                return Err((number, Effect::Underflow));
            }
            self.holds.push(TouchedHold { number, path: account_path(&id), id, amount, asset: 0 });
        }
        Ok(())
    }

    /// All of them, in their order.
    pub fn as_slice(&self) -> &[Touch] {
        &self.touches
    }

    /// Sorts the touches of the operations by the first `bits` of their paths. An error is the index of an operation
    /// that is not a transaction.
    fn sort(&mut self, bits: u32, operations: &[Operation]) -> Result<(), u32> {
        // In two steps, because a shift by all 64 bits is undefined.
        let part = |path: u64| (path >> 1 >> (63 - bits)) as usize;
        let mut places = vec![0; 1 << bits];
        self.holds.iter().for_each(|hold| places[part(hold.path)] += 1);
        self.assets.iter().for_each(|asset| places[part(asset.path)] += 1);
        for (number, (operation, [source, destination])) in operations.iter().zip(&self.paths).enumerate() {
            places[part(*source)] += 1;
            match operation.command() {
                Ok(Command::Issue | Command::Freeze | Command::Unfreeze | Command::Close) => {}
                Ok(Command::Create | Command::Open) if operation.destination.is_zero() => {}
                Ok(Command::Create | Command::Open | Command::Transfer)
                | Ok(Command::Hold | Command::Capture | Command::Release | Command::Reclaim)
                    if operation.source != operation.destination =>
                {
                    places[part(*destination)] += 1;
                }
                Ok(Command::Create | Command::Open | Command::Transfer | Command::Refer)
                | Ok(Command::Hold | Command::Capture | Command::Release | Command::Reclaim)
                | Err(_) => return Err(number as u32),
            }
        }
        let mut end = 0;
        for place in &mut places {
            end += std::mem::replace(place, end);
        }
        self.touches.resize(end, Touch::NONE);
        let mut holds = self.holds.iter();
        let mut assets = self.assets.iter().peekable();
        for (number, (operation, [source, destination])) in operations.iter().zip(&self.paths).enumerate() {
            let amount = operation.amount.get();
            let mut has_asset = operation.command() == Ok(Command::Open);
            let hold = if operation.is_of_hold() { holds.next() } else { None };
            has_asset |= hold.is_some_and(|hold| hold.asset != 0);
            let mut put_amount = |path, account, role, amount| {
                let place = &mut places[part(path)];
                self.touches[*place] = Touch { path, account, amount, number: number as u32, role, has_asset };
                *place += 1;
            };
            let mut put = |path, account, role| put_amount(path, account, role, amount);
            match operation.command() {
                Ok(Command::Create | Command::Open) => {
                    put(*source, operation.source, Role::Created);
                    if !operation.destination.is_zero() {
                        put(*destination, operation.destination, Role::Payer);
                    }
                }
                Ok(Command::Issue) => put(*source, operation.source, Role::Issued),
                Ok(Command::Freeze) => put(*source, operation.source, Role::Frozen),
                Ok(Command::Unfreeze) => put(*source, operation.source, Role::Unfrozen),
                Ok(Command::Close) => put(*source, operation.source, Role::Closed),
                Ok(Command::Transfer) => {
                    put(*source, operation.source, Role::Sender);
                    put(*destination, operation.destination, Role::Receiver);
                }
                Ok(command @ (Command::Hold | Command::Capture | Command::Release | Command::Reclaim)) => {
                    let hold = hold.expect("each such operation has one");
                    debug_assert_eq!(hold.number, number as u32);
                    let is_made = command == Command::Hold;
                    // Of the account that a part of the transaction does not change, the history has it all the same.
                    let (payer, received) = if is_made { (Role::Sender, 0) } else { (Role::Returned, amount) };
                    let paid = if is_made { amount } else { hold.amount - amount };
                    put_amount(*source, operation.source, payer, paid);
                    put_amount(*destination, operation.destination, Role::Receiver, received);
                    let role = if is_made { Role::Held } else { Role::Ended };
                    put_amount(hold.path, hold.id, role, hold.amount);
                }
                Ok(Command::Refer) | Err(_) => unreachable!("refused where the places were counted"),
            }
            while let Some(touch) = assets.next_if(|touch| touch.number == number as u32) {
                let place = &mut places[part(touch.path)];
                self.touches[*place] = *touch;
                *place += 1;
            }
        }
        Ok(())
    }
}

/// Number of path bits to sort by, for an index of `accounts` accounts.
fn part_bits(accounts: u64, touches: usize) -> u32 {
    let by_accounts = (accounts / PART_ACCOUNTS).checked_ilog2();
    let by_touches = (touches / PART_TOUCHES).checked_ilog2();
    by_accounts.zip(by_touches).map_or(0, |(accounts, touches)| accounts.min(touches).min(MAX_PART_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::TransactionId;

    #[test]
    fn parts_follow_each_other_and_each_is_in_the_order_of_the_block() {
        let account = |n: u32| AccountId::from(1 + n % 97);
        let operation = |n| match n % 6 {
            0 => Operation::create(TransactionId::ZERO, account(n)),
            5 => Operation::create_for(TransactionId::ZERO, account(n), account(n + 1), n.into()),
            1 => Operation::issue(TransactionId::ZERO, account(n), n.into()),
            _ => Operation::transfer(TransactionId::ZERO, account(n), account(n + 1), n.into()),
        };
        let operations: Vec<_> = (0..1000).map(operation).collect();
        let mut expected = Vec::new();
        for (number, operation) in (0..).zip(&operations) {
            let mut put = |account: AccountId, role| expected.push((spv::account_path(&account.0), number, role));
            match number % 6 {
                0 => put(operation.source, Role::Created),
                5 => {
                    put(operation.source, Role::Created);
                    put(operation.destination, Role::Payer);
                }
                1 => put(operation.source, Role::Issued),
                _ => {
                    put(operation.source, Role::Sender);
                    put(operation.destination, Role::Receiver);
                }
            }
        }
        let mut touches = Touches::default();
        let first = Locator { height: 1, position: 0 };
        touches.renew(&Index::new(), first, &operations).unwrap();
        for bits in [0, 1, 3, MAX_PART_BITS] {
            expected.sort_by_key(|(path, number, role)| (path >> 1 >> (63 - bits), *number, role.is_destination()));
            touches.sort(bits, &operations).unwrap();
            assert!(touches.as_slice().iter().map(|touch| (touch.path, touch.number, touch.role)).eq(expected.clone()));
            assert!(touches.as_slice().iter().all(|touch| {
                let operation = operations[touch.number as usize];
                let account = if touch.role.is_destination() { operation.destination } else { operation.source };
                account == touch.account && operation.amount.get() == touch.amount
            }));
        }
    }

    #[test]
    fn what_is_no_transaction_is_named() {
        let id = TransactionId::ZERO;
        let good = Operation::create(id, AccountId::from(1_u32));
        let first = Locator { height: 7, position: 100 };
        for bad in [
            Operation::refer(id, AccountId::from(1_u32)),
            Operation::transfer(id, 1_u32.into(), 1_u32.into(), 1),
            Operation::create_for(id, 1_u32.into(), 1_u32.into(), 1),
        ] {
            let error = Touches::default().renew(&Index::new(), first, &[good, good, bad]).unwrap_err();
            assert_eq!(error, EffectError { height: 7, position: 102, effect: Effect::NotATransaction });
        }
    }

    #[test]
    fn little_is_not_sorted() {
        assert_eq!(part_bits(0, 2_000_000), 0);
        assert_eq!(part_bits(2_000_000, 0), 0);
        assert_eq!(part_bits(2_000_000, 127), 0);
        assert_eq!(part_bits(4 * PART_ACCOUNTS, 2_000_000), 2);
        assert_eq!(part_bits(u64::MAX, usize::MAX), MAX_PART_BITS);
    }
}
