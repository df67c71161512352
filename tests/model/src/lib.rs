//! Plain model of the ledger: its required behaviour, in the simplest form. Tests, the simulator, the conformance suite
//! and the kill loops compare against it.
//!
//! It shares no code with the ledger: it checks the form of operations again, and keeps every operation ever executed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wire::{AccountId, Command, Operation, SignedOperation, Status, TransactionId};

/// Result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its status.
    pub status: Status,
    /// The value of its reply.
    pub value: u64,
    /// Whether the operation was executed for the first time, and goes into the journal.
    pub is_fresh: bool,
}

/// An executed operation.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// The requested operation.
    pub operation: Operation,
    /// The same with its signature, if it was signed.
    pub signed: Option<SignedOperation>,
    /// Its status.
    pub status: Status,
    /// The value of its reply.
    pub value: u64,
}

/// Whether the operation was signed, the account that names it, its name, and whether it ends a hold.
type Identity = (bool, AccountId, TransactionId, bool);

/// Payer, receiver, transaction id and expiry of a hold.
pub type HoldName = (AccountId, AccountId, TransactionId, u32);

/// An operation of a batch, and the same with its signature.
type Entry = (Operation, Option<SignedOperation>);

/// What an operation changes, or what takes that back.
#[derive(Clone, Debug, Default)]
struct Changes {
    /// Accounts with their new balances, `None` if they are closed.
    accounts: Vec<(AccountId, Option<u64>)>,
    /// A hold with its amount, `None` if it ends.
    hold: Option<(HoldName, Option<u64>)>,
    /// An account, and whether it is frozen now.
    frozen: Option<(AccountId, bool)>,
    /// An account with its asset, 0 if it is closed.
    asset: Option<(AccountId, u32)>,
    /// A hold with its asset, 0 if it ends.
    hold_asset: Option<(HoldName, u32)>,
}

impl From<Vec<(AccountId, u64)>> for Changes {
    fn from(balances: Vec<(AccountId, u64)>) -> Self {
        let accounts = balances.into_iter().map(|(account, balance)| (account, Some(balance))).collect();
        Self { accounts, ..Self::default() }
    }
}

/// The issued sum before an operation, and what takes back its changes.
type Undo = (u128, Changes);

/// Accounts, and every operation ever executed.
#[derive(Clone, Debug)]
pub struct Model {
    limit: usize,
    balances: BTreeMap<AccountId, u64>,
    holds: BTreeMap<HoldName, u64>,
    frozen: BTreeSet<AccountId>,
    /// Those that are not 0.
    assets: BTreeMap<AccountId, u32>,
    /// Those that are not 0.
    hold_assets: BTreeMap<HoldName, u32>,
    allows_freezing: bool,
    /// Accounts that the linked chain being executed has closed, with their assets: their places are free after it.
    closed_in_chain: Vec<(AccountId, u32)>,
    issued: u128,
    /// When operations are executed, in microseconds since the Unix epoch.
    time: u64,
    /// Indexed by sequence, from 1.
    log: Vec<Executed>,
    /// For each operation in the log.
    undo: Vec<Undo>,
    sequences: HashMap<Identity, u64>,
}

impl Default for Model {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl Model {
    /// Creates a model with room for `limit` accounts, and for `limit` holds.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            balances: BTreeMap::new(),
            holds: BTreeMap::new(),
            frozen: BTreeSet::new(),
            assets: BTreeMap::new(),
            hold_assets: BTreeMap::new(),
            allows_freezing: false,
            closed_in_chain: Vec::new(),
            issued: 0,
            time: 0,
            log: Vec::new(),
            undo: Vec::new(),
            sequences: HashMap::new(),
        }
    }

    /// Lets operations freeze accounts.
    pub fn allow_freezing(mut self) -> Self {
        self.allows_freezing = true;
        self
    }

    /// The frozen accounts.
    pub fn frozen(&self) -> &BTreeSet<AccountId> {
        &self.frozen
    }

    /// The asset of an account; 0 if it does not exist.
    pub fn asset(&self, account: AccountId) -> u32 {
        self.assets.get(&account).copied().unwrap_or(0)
    }

    /// The asset of an open hold.
    pub fn asset_of_hold(&self, hold: &HoldName) -> u32 {
        self.hold_assets.get(hold).copied().unwrap_or(0)
    }

    /// The sum of all balances and holds of each asset of which there are any.
    pub fn sums(&self) -> BTreeMap<u32, u128> {
        let accounts = self.balances.iter().map(|(account, balance)| (self.asset(*account), *balance));
        let holds = self.holds.iter().map(|(hold, amount)| (self.asset_of_hold(hold), *amount));
        let mut sums = BTreeMap::new();
        for (asset, amount) in accounts.chain(holds).filter(|(_, amount)| *amount > 0) {
            *sums.entry(asset).or_default() += u128::from(amount);
        }
        sums
    }

    /// Sets when the next operations are executed, in microseconds since the Unix epoch.
    pub fn set_time(&mut self, time: u64) {
        self.time = time;
    }

    /// The open holds and their amounts.
    pub fn holds(&self) -> &BTreeMap<HoldName, u64> {
        &self.holds
    }

    /// Sequence of the last executed operation; 0 if none.
    pub fn last_sequence(&self) -> u64 {
        self.log.len() as u64
    }

    /// All accounts and their balances.
    pub fn balances(&self) -> &BTreeMap<AccountId, u64> {
        &self.balances
    }

    /// The balance of an account; 0 if it does not exist.
    pub fn balance(&self, account: AccountId) -> u64 {
        self.balances.get(&account).copied().unwrap_or(0)
    }

    /// Everything executed, from sequence 1 on.
    pub fn log(&self) -> &[Executed] {
        &self.log
    }

    /// The sum of all issues, minus the deposits.
    pub fn issued(&self) -> u128 {
        self.issued
    }

    /// The operations executed under a name, with their sequences: at most one unsigned and one signed, and one each
    /// that ended a hold.
    pub fn named(&self, namer: AccountId, transaction: TransactionId) -> impl Iterator<Item = (u64, &Executed)> {
        let kinds = [(false, false), (true, false), (false, true), (true, true)];
        kinds.into_iter().filter_map(move |(is_signed, ends)| self.known((is_signed, namer, transaction, ends)))
    }

    fn known(&self, identity: Identity) -> Option<(u64, &Executed)> {
        let &sequence = self.sequences.get(&identity)?;
        Some((sequence, &self.log[sequence as usize - 1]))
    }

    /// Executes an unsigned operation. An operation with a status has already been refused.
    pub fn execute(&mut self, operation: &Operation) -> Outcome {
        self.execute_as(operation, None)
    }

    /// Executes a signed operation with a valid signature.
    pub fn execute_signed(&mut self, signed: &SignedOperation) -> Outcome {
        self.execute_as(&signed.operation, Some(*signed))
    }

    /// Executes the operations of a batch, and its linked chains as units.
    pub fn execute_batch(&mut self, operations: &[Operation]) -> Vec<Outcome> {
        self.execute_all(&Vec::from_iter(operations.iter().map(|operation| (*operation, None))))
    }

    /// The same for signed operations, whose signatures are valid and whose ids commit to their chains.
    pub fn execute_signed_batch(&mut self, signed: &[SignedOperation]) -> Vec<Outcome> {
        self.execute_all(&Vec::from_iter(signed.iter().map(|signed| (signed.operation, Some(*signed)))))
    }

    fn execute_all(&mut self, mut entries: &[Entry]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        while let Some((first, signed)) = entries.first() {
            // A refused operation was refused with its chain.
            let length = match first.flags & (Operation::LINKED | Operation::BOUND) != 0 && first.status.get() == 0 {
                true => entries.iter().take_while(|(operation, _)| is_linked(operation)).count() + 1,
                false => 1,
            };
            if length == 1 && first.flags & Operation::BOUND == 0 || first.status.get() != 0 {
                outcomes.push(self.execute_as(first, *signed));
            } else {
                outcomes.extend(self.execute_chain(&entries[..length.min(entries.len())]));
            }
            entries = &entries[length.min(entries.len())..];
        }
        outcomes
    }

    fn execute_chain(&mut self, chain: &[Entry]) -> Vec<Outcome> {
        let balances = Vec::from_iter(chain.iter().map(|(operation, _)| self.balance(operation.source)));
        let untraced = |position: usize, status| Outcome { status, value: balances[position], is_fresh: false };
        let is_bound = |(operation, _): &Entry| operation.flags & Operation::BOUND != 0;
        let is_valid = (2..=64).contains(&chain.len())
            && !is_linked(&chain[chain.len() - 1].0)
            && chain.iter().all(|entry| is_bound(entry) == is_bound(&chain[0]))
            && chain.iter().all(|(operation, _)| {
                !matches!(operation.command(), Ok(Command::Refer | Command::Freeze | Command::Unfreeze))
            });
        if !is_valid {
            return (0..chain.len()).map(|position| untraced(position, Status::LinkedInvalid)).collect();
        }
        let forms = Vec::from_iter(chain.iter().map(|(operation, signed)| form(operation, signed.is_some()).err()));
        if forms.iter().any(Option::is_some) {
            let outcome = |(position, refusal): (usize, &Option<Status>)| {
                untraced(position, refusal.unwrap_or(Status::LinkedFailed))
            };
            return forms.iter().enumerate().map(outcome).collect();
        }
        // Operations that are not new are answered as usual, and nothing is executed.
        let known = Vec::from_iter(chain.iter().enumerate().map(|(position, (operation, signed))| {
            let name = identity(operation, signed.is_some());
            if chain[..position].iter().any(|(before, signed)| identity(before, signed.is_some()) == name) {
                return Some(untraced(position, Status::TransactionIdReused));
            }
            let (_, first) = self.known(name)?;
            Some(match first.operation == *operation {
                true => Outcome { status: first.status, value: first.value, is_fresh: false },
                false => untraced(position, Status::TransactionIdReused),
            })
        }));
        if known.iter().any(Option::is_some) {
            let outcome =
                |(position, known): (usize, Option<Outcome>)| known.unwrap_or(untraced(position, Status::LinkedFailed));
            return known.into_iter().enumerate().map(outcome).collect();
        }
        let before = self.last_sequence();
        let mut outcomes = Vec::new();
        for (operation, signed) in chain {
            let asset = self.asset(operation.source);
            outcomes.push(self.execute_as(operation, *signed));
            if outcomes.last().is_some_and(|outcome| outcome.status != Status::Ok) {
                break;
            }
            if operation.command() == Ok(Command::Close) {
                self.closed_in_chain.push((operation.source, asset));
            }
        }
        self.closed_in_chain.clear();
        let failed = match outcomes.iter().position(|outcome| outcome.status != Status::Ok) {
            None => return outcomes,
            Some(failed) => failed,
        };
        self.revert(before);
        let Outcome { status, is_fresh, .. } = outcomes[failed];
        let outcome = |(position, (operation, signed)): (usize, &Entry)| {
            let status = if position == failed { status } else { Status::LinkedFailed };
            let value = balances[position];
            if is_fresh {
                self.record(
                    Executed { operation: *operation, signed: *signed, status, value },
                    (self.issued, Changes::default()),
                );
            }
            Outcome { status, value, is_fresh }
        };
        chain.iter().enumerate().map(outcome).collect()
    }

    fn record(&mut self, executed: Executed, undo: Undo) {
        let name = identity(&executed.operation, executed.signed.is_some());
        self.log.push(executed);
        self.undo.push(undo);
        self.sequences.insert(name, self.last_sequence());
    }

    fn execute_as(&mut self, operation: &Operation, signed: Option<SignedOperation>) -> Outcome {
        let balance = self.balances.get(&operation.source).copied();
        let untraced = |status| Outcome { status, value: balance.unwrap_or(0), is_fresh: false };
        let command = match form(operation, signed.is_some()) {
            Ok(command) => command,
            Err(status) => return untraced(status),
        };
        if command == Command::Refer {
            return untraced(if balance.is_some() { Status::Ok } else { Status::SourceUnknown });
        }
        if let Some((_, first)) = self.known(identity(operation, signed.is_some())) {
            return if first.operation == *operation {
                Outcome { status: first.status, value: first.value, is_fresh: false }
            } else {
                untraced(Status::TransactionIdReused)
            };
        }
        if command_freezes(command) && !self.allows_freezing {
            return untraced(Status::FreezingDisabled);
        }
        // Anybody can sign for an account that does not exist. If it is a party of an open hold, it has existed.
        let is_receivers = matches!(command, Command::Capture | Command::Release);
        let is_party = ends_hold(operation) && self.holds.contains_key(&hold_name(operation));
        if signed.is_some() && !is_party {
            if is_receivers && !self.balances.contains_key(&operation.destination) {
                return untraced(Status::DestinationUnknown);
            }
            if balance.is_none() && !is_receivers && !command_creates(command) {
                return untraced(Status::SourceUnknown);
            }
        }
        if operation.payer().is_some_and(|payer| !self.balances.contains_key(&payer)) {
            return untraced(Status::DestinationUnknown);
        }
        let changes = self.changes(command, operation, balance);
        let status = changes.as_ref().err().copied().unwrap_or(Status::Ok);
        // What fails to end a hold can be repeated, and the reasons that only holds know are not journalled.
        if status != Status::Ok && (ends_hold(operation) || status.code() >= 16) {
            return untraced(status);
        }
        let issued_before = self.issued;
        let undo = self.apply(changes.unwrap_or_default());
        if status == Status::Ok {
            self.issued = issued(self.issued, command, operation.amount());
        }
        let value = self.balance(operation.source);
        self.record(Executed { operation: *operation, signed, status, value }, (issued_before, undo));
        Outcome { status, value, is_fresh: true }
    }

    /// Makes changes. Returns those that take them back.
    fn apply(&mut self, Changes { accounts, hold, frozen, asset, hold_asset }: Changes) -> Changes {
        let set = |(account, balance)| {
            let before = match balance {
                Some(balance) => self.balances.insert(account, balance),
                None => self.balances.remove(&account),
            };
            (account, before)
        };
        Changes {
            accounts: accounts.into_iter().map(set).collect(),
            hold: hold.map(|(name, amount)| match amount {
                Some(amount) => (name, self.holds.insert(name, amount)),
                None => (name, self.holds.remove(&name)),
            }),
            frozen: frozen.map(|(account, is_frozen)| match is_frozen {
                true => (account, !self.frozen.insert(account)),
                false => (account, self.frozen.remove(&account)),
            }),
            asset: asset.map(|(account, asset)| (account, set_asset(&mut self.assets, account, asset))),
            hold_asset: hold_asset.map(|(hold, asset)| (hold, set_asset(&mut self.hold_assets, hold, asset))),
        }
    }

    fn is_full(&self) -> bool {
        self.balances.len() + self.closed_in_chain.len() >= self.limit
    }

    /// A linked chain that closes an account creates it again in the same asset only.
    fn check_created(&self, account: AccountId, asset: u32) -> Result<(), Status> {
        let before = self.closed_in_chain.iter().rev().find(|(closed, _)| *closed == account);
        if before.is_some_and(|(_, before)| *before != asset) { Err(Status::AssetMismatch) } else { Ok(()) }
    }

    fn changes(&self, command: Command, operation: &Operation, balance: Option<u64>) -> Result<Changes, Status> {
        if command == Command::Hold || ends_hold(operation) {
            return self.hold_changes(command, operation, balance);
        }
        if command_freezes(command) || command == Command::Close {
            return self.lifecycle_changes(command, operation.source, balance);
        }
        let changes = Changes::from(self.account_changes(command, operation, balance)?);
        let asset = (command == Command::Open).then_some((operation.source, operation.contract.get()));
        Ok(Changes { asset, ..changes })
    }

    fn lifecycle_changes(&self, command: Command, account: AccountId, balance: Option<u64>) -> Result<Changes, Status> {
        let balance = balance.ok_or(Status::SourceUnknown)?;
        match (command, self.frozen.contains(&account)) {
            (Command::Unfreeze, true) => Ok(Changes { frozen: Some((account, false)), ..Changes::default() }),
            (Command::Unfreeze, false) => Err(Status::AccountNotFrozen),
            (_, true) => Err(Status::AccountFrozen),
            (Command::Freeze, false) => Ok(Changes { frozen: Some((account, true)), ..Changes::default() }),
            _ if balance > 0 => Err(Status::AccountNotEmpty),
            _ => Ok(Changes { accounts: vec![(account, None)], asset: Some((account, 0)), ..Changes::default() }),
        }
    }

    fn hold_changes(&self, command: Command, operation: &Operation, balance: Option<u64>) -> Result<Changes, Status> {
        let &Operation { source, destination, .. } = operation;
        let (name, expiry) = (hold_name(operation), operation.contract.get());
        let is_expired = expiry != 0 && self.time >= u64::from(expiry) * 1_000_000;
        let receiver = self.balances.get(&destination).copied();
        if command == Command::Hold {
            let balance = balance.ok_or(Status::SourceUnknown)?;
            receiver.ok_or(Status::DestinationUnknown)?;
            let asset = self.same_asset(source, destination)?;
            let left = balance.checked_sub(operation.amount()).ok_or(Status::InsufficientBalance);
            return match left {
                _ if is_expired => Err(Status::HoldExpired),
                _ if self.holds.contains_key(&name) => Err(Status::HoldExists),
                _ if self.frozen.contains(&source) => Err(Status::AccountFrozen),
                Ok(_) if self.holds.len() >= self.limit => Err(Status::TableFull),
                left => Ok(Changes {
                    hold: Some((name, Some(operation.amount()))),
                    hold_asset: Some((name, asset)),
                    ..vec![(source, left?)].into()
                }),
            };
        }
        let asset = self.asset_of_hold(&name);
        let held = *self.holds.get(&name).ok_or(Status::HoldUnknown)?;
        let captured = match command {
            Command::Capture if is_expired => return Err(Status::HoldExpired),
            Command::Reclaim if !is_expired && receiver.is_some() => return Err(Status::HoldNotExpired),
            Command::Capture if operation.amount() > held => return Err(Status::HoldExceeded),
            Command::Capture => operation.amount(),
            _ => 0,
        };
        // Both may have closed their accounts. What the payer gets back opens its account again.
        let add = |balance: u64, amount| balance.checked_add(amount).ok_or(Status::Overflow);
        let returned = held - captured;
        let is_of_another = |account| self.balances.contains_key(&account) && self.asset(account) != asset;
        if returned > 0 && is_of_another(source) || captured > 0 && is_of_another(destination) {
            return Err(Status::AssetMismatch);
        }
        let left = add(balance.unwrap_or(0), returned)?;
        let received = receiver.map(|balance| add(balance, captured)).transpose()?;
        if received.is_none() && captured > 0 {
            return Err(Status::DestinationUnknown);
        }
        let reopens = balance.is_none() && returned > 0;
        if reopens && self.is_full() {
            return Err(Status::TableFull);
        }
        if reopens {
            self.check_created(source, asset)?;
        }
        let payer = (balance.is_some() || returned > 0).then_some((source, left));
        let receiver = received.map(|received| (destination, received));
        Ok(Changes {
            hold: Some((name, None)),
            hold_asset: Some((name, 0)),
            asset: reopens.then_some((source, asset)),
            ..Vec::from_iter(payer.into_iter().chain(receiver)).into()
        })
    }

    /// The asset of two accounts.
    fn same_asset(&self, one: AccountId, other: AccountId) -> Result<u32, Status> {
        let asset = self.asset(one);
        if asset == self.asset(other) { Ok(asset) } else { Err(Status::AssetMismatch) }
    }

    /// The accounts that an operation changes, with their new balances.
    fn account_changes(
        &self,
        command: Command,
        operation: &Operation,
        balance: Option<u64>,
    ) -> Result<Vec<(AccountId, u64)>, Status> {
        let &Operation { source, destination, .. } = operation;
        let known = |account: AccountId| self.balances.get(&account).copied();
        let add = |balance: u64| balance.checked_add(operation.amount()).ok_or(Status::Overflow);
        let take = |balance: u64| balance.checked_sub(operation.amount()).ok_or(Status::InsufficientBalance);
        let can_pay = |account| if self.frozen.contains(&account) { Err(Status::AccountFrozen) } else { Ok(()) };
        match command {
            Command::Create | Command::Open => {
                let mut accounts = match balance {
                    Some(_) => return Err(Status::AccountExists),
                    None if self.is_full() => return Err(Status::TableFull),
                    None => vec![(source, 0)],
                };
                if !destination.is_zero() {
                    let held = known(destination).ok_or(Status::DestinationUnknown)?;
                    // A deposit is paid in asset 0.
                    if self.asset(destination) != 0 {
                        return Err(Status::AssetMismatch);
                    }
                    can_pay(destination)?;
                    accounts.push((destination, take(held)?));
                }
                let asset = if command == Command::Open { operation.contract.get() } else { 0 };
                self.check_created(source, asset)?;
                Ok(accounts)
            }
            Command::Issue => Ok(vec![(source, add(balance.ok_or(Status::SourceUnknown)?)?)]),
            Command::Transfer => {
                let held = balance.ok_or(Status::SourceUnknown)?;
                let received = known(destination).ok_or(Status::DestinationUnknown)?;
                self.same_asset(source, destination)?;
                can_pay(source)?;
                Ok(vec![(source, take(held)?), (destination, add(received)?)])
            }
            Command::Refer => Ok(Vec::new()),
            Command::Hold | Command::Capture | Command::Release | Command::Reclaim => {
                unreachable!("they change a hold")
            }
            Command::Freeze | Command::Unfreeze | Command::Close => unreachable!("they change no balance"),
        }
    }

    /// Reverts to a sequence: later operations were lost in a crash.
    ///
    /// # Panics
    ///
    /// If that sequence has not been executed yet, or is inside a linked chain.
    pub fn go_back(&mut self, sequence: u64) {
        assert!(sequence <= self.last_sequence(), "the journal has operations that were never executed");
        let last = self.log[..sequence as usize].last();
        assert!(!last.is_some_and(|last| is_linked(&last.operation)), "a crash kept a part of a linked chain");
        self.revert(sequence);
        let total: u128 = self.balances.values().chain(self.holds.values()).map(|&amount| u128::from(amount)).sum();
        assert_eq!(total, self.issued, "money was made or lost");
    }

    fn revert(&mut self, sequence: u64) {
        let reverted = self.log.split_off(sequence as usize).into_iter().zip(self.undo.split_off(sequence as usize));
        for (executed, (issued, undo)) in reverted.rev() {
            self.apply(undo);
            self.sequences.remove(&identity(&executed.operation, executed.signed.is_some()));
            self.issued = issued;
        }
    }
}

/// The issued sum after a successful operation: a deposit takes back issued money.
fn issued(before: u128, command: Command, amount: u64) -> u128 {
    match command {
        Command::Issue => before + u128::from(amount),
        Command::Create | Command::Open => before - u128::from(amount),
        Command::Transfer | Command::Refer => before,
        Command::Hold | Command::Capture | Command::Release | Command::Reclaim => before,
        Command::Freeze | Command::Unfreeze | Command::Close => before,
    }
}

fn command_freezes(command: Command) -> bool {
    matches!(command, Command::Freeze | Command::Unfreeze)
}

fn command_creates(command: Command) -> bool {
    matches!(command, Command::Create | Command::Open)
}

/// Sets an asset, 0 for none. Returns the one before.
fn set_asset<K: Ord>(assets: &mut BTreeMap<K, u32>, key: K, asset: u32) -> u32 {
    let before = if asset == 0 { assets.remove(&key) } else { assets.insert(key, asset) };
    before.unwrap_or(0)
}

/// The name of the hold that an operation makes or ends.
fn hold_name(operation: &Operation) -> HoldName {
    (operation.source, operation.destination, operation.transaction, operation.contract.get())
}

fn ends_hold(operation: &Operation) -> bool {
    matches!(operation.command(), Ok(Command::Capture | Command::Release | Command::Reclaim))
}

fn is_linked(operation: &Operation) -> bool {
    operation.flags & Operation::LINKED != 0
}

/// The payer of a deposit or the receiver of a hold that ends names the operation, or else its source.
fn identity(operation: &Operation, is_signed: bool) -> Identity {
    let namer = match operation.command() {
        Ok(Command::Create | Command::Open) if !operation.destination.is_zero() => operation.destination,
        _ if ends_hold(operation) => operation.destination,
        _ => operation.source,
    };
    (is_signed, namer, operation.transaction, ends_hold(operation))
}

/// Checks an operation by form alone: returns its command, or the status that refuses it.
fn form(operation: &Operation, is_signed: bool) -> Result<Command, Status> {
    if operation.status.get() != 0 {
        return Err(operation.status().unwrap_or(Status::Malformed));
    }
    let command = operation.command()?;
    let flags = match is_signed {
        false => [0, 1, 2, 3].as_slice(),
        true => &[0, 1, 4, 6],
    };
    let may_be_timed = operation.transaction.is_timed() && !ends_hold(operation);
    if !flags.contains(&operation.flags) || operation.flags & 1 != 0 && !may_be_timed {
        return Err(Status::Malformed);
    }
    let (amount, has_destination) = (operation.amount(), !operation.destination.is_zero());
    let refusal = match command {
        Command::Release | Command::Reclaim if amount != 0 => Some(Status::Malformed),
        Command::Transfer | Command::Hold | Command::Capture if amount == 0 => Some(Status::ZeroAmount),
        Command::Transfer | Command::Hold | Command::Capture if operation.source == operation.destination => {
            Some(Status::SelfTransfer)
        }
        Command::Release | Command::Reclaim if operation.source == operation.destination => Some(Status::SelfTransfer),
        Command::Open if operation.contract.get() == 0 => Some(Status::Malformed),
        Command::Create | Command::Open if is_signed && has_destination && amount == 0 => Some(Status::ZeroAmount),
        Command::Create | Command::Open
            if is_signed && operation.source == operation.destination && has_destination =>
        {
            Some(Status::SelfTransfer)
        }
        Command::Create | Command::Open if is_signed && has_destination => None,
        Command::Create | Command::Open | Command::Refer | Command::Freeze | Command::Unfreeze | Command::Close
            if has_destination || amount != 0 =>
        {
            Some(Status::Malformed)
        }
        Command::Issue if has_destination => Some(Status::Malformed),
        Command::Issue if amount == 0 => Some(Status::ZeroAmount),
        Command::Create | Command::Open | Command::Issue | Command::Transfer | Command::Refer => None,
        Command::Hold | Command::Capture | Command::Release | Command::Reclaim => None,
        Command::Freeze | Command::Unfreeze | Command::Close => None,
    };
    refusal.map_or(Ok(command), Err)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The wire's own check confirms the model's.
        #[test]
        fn forms_are_those_of_the_wire(
            command in 0u8..14, source in 0u32..3, destination in 0u32..3, amount in 0u64..2, flags in 0u8..9,
            contract in 0u32..2, random in any::<u128>(), is_signed in any::<bool>(),
        ) {
            let id = if flags & 1 != 0 { TransactionId::timed(7, random) } else { TransactionId::from(random) };
            let mut operation = Operation::new(Command::Create, id, source.into(), destination.into(), amount);
            (operation.command, operation.flags, operation.contract) = (command, flags, contract.into());
            let checked = if is_signed { operation.check_signed() } else { operation.check() };
            prop_assert_eq!(form(&operation, is_signed).err().unwrap_or(Status::Ok), checked);
        }
    }

    #[test]
    fn what_was_lost_can_be_done_again() {
        let mut model = Model::default();
        let [a, b] = [1_u32, 2].map(AccountId::from);
        let id = |id: u32| TransactionId::from(id);
        let all = [
            Operation::create(id(1), a),
            Operation::create(id(1), b),
            Operation::issue(id(2), a, 10),
            Operation::transfer(id(3), a, b, 4),
        ];
        all.iter().for_each(|operation| assert!(model.execute(operation).is_fresh));
        model.go_back(2);
        assert_eq!((model.balance(a), model.issued(), model.last_sequence()), (0, 0, 2));
        all[2..].iter().for_each(|operation| assert!(model.execute(operation).is_fresh));
        assert_eq!((model.balance(a), model.balance(b), model.issued()), (6, 4, 10));
        assert_eq!(model.execute(&all[3]), Outcome { status: Status::Ok, value: 6, is_fresh: false });
    }
}
