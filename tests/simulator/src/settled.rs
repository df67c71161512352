//! Settled transactions, which must stay in blocks: followed from outside, with the headers that a client would have.

use std::collections::BTreeMap;

use chain::own::{Error, OwnReader, TransactionAnswer};
use model::Executed;
use spv::{HeaderChain, IndexProof, Locator, SealedHeader, TransactionProof};
use storage::Random;
use wire::{AccountId, Command, Operation, Reply, SignedOperation, Status};
use zerocopy::IntoBytes;

use crate::model::{Model, hold_id};

/// How often [`Settled::prove`] asks for proofs: several times for each block, and more often would take most of a run.
const PROVE_CHANCE: f64 = 0.3;

/// How often it then looks for an id, which reads a table of each block.
const ID_CHANCE: f64 = 0.05;

/// How often it follows an account's whole history, whose length grows with the run, and how far otherwise.
const HISTORY_CHANCE: f64 = 0.01;
const HISTORY_STEPS: usize = 4;

/// An account as of the last block.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    balance: u64,
    latest: Option<Locator>,
    transactions: usize,
    is_frozen: bool,
    asset: u32,
}

/// Everything ever seen in a block.
pub struct Settled {
    headers: HeaderChain,
    /// The model's last operation that is in a block.
    sequence: u64,
    /// Accounts, and open holds by their ids.
    accounts: BTreeMap<AccountId, Account>,
    /// The hold that ended last, or the account that was closed last.
    ended: Option<AccountId>,
    /// Balances and latest transactions as of the last stated index root.
    stated: BTreeMap<AccountId, (u64, Locator)>,
    /// Accounts in blocks since then.
    unstated: Vec<AccountId>,
    transactions: u64,
    proofs: u64,
}

impl Settled {
    pub fn new(genesis: SealedHeader) -> Self {
        Self {
            headers: HeaderChain::new(&genesis.hash(), genesis).unwrap(),
            sequence: 0,
            accounts: BTreeMap::new(),
            ended: None,
            stated: BTreeMap::new(),
            unstated: Vec::new(),
            transactions: 0,
            proofs: 0,
        }
    }

    /// Number of blocks after genesis, of their transactions, and of verified proofs.
    pub fn figures(&self) -> (u64, u64, u64) {
        (self.headers.height(), self.transactions, self.proofs)
    }

    /// Reads new blocks, and checks that the others are still there.
    pub fn follow(&mut self, chain: &OwnReader, model: &Model) -> Result<(), Error> {
        let known = self.headers.height();
        let headers = chain.headers(known, usize::MAX)?;
        assert_eq!(headers.first().map(SealedHeader::hash).as_ref(), Some(self.headers.tip_hash()), "a block was lost");
        for sealed in &headers[1..] {
            let height = sealed.height();
            let transactions = (0..sealed.header.transactions.get()).map(|position| chain.by_locator(height, position));
            let transactions: Vec<_> = transactions.collect::<Result<_, _>>()?;
            self.headers.append(*sealed).unwrap();
            for transaction in transactions {
                self.take(&transaction.unwrap(), model);
            }
            if sealed.header.states_index() {
                for id in self.unstated.drain(..) {
                    let account = self.accounts.get(&id);
                    match account.and_then(|account| Some((account.balance, account.latest?))) {
                        Some(now) => self.stated.insert(id, now),
                        // The hold has ended, or the account is closed.
                        None => self.stated.remove(&id),
                    };
                }
            }
        }
        // The model's remaining operations up to the tip must have failed, or they would be in a block.
        let end = chain.tip().end_sequence;
        assert!(self.sequence <= end && end <= model.last_sequence());
        let rest = &model.log()[self.sequence as usize..end as usize];
        assert!(rest.iter().all(|executed| executed.status != Status::Ok), "a transaction is in no block");
        assert_eq!(chain.tip().transactions, self.transactions);
        Ok(())
    }

    /// The next transaction must be the model's next successful operation.
    fn take(&mut self, answer: &TransactionAnswer, model: &Model) {
        let rest = &model.log()[self.sequence as usize..];
        let skipped = rest.iter().position(|executed| executed.status == Status::Ok).unwrap();
        assert_eq!(answer.operation, rest[skipped].operation, "another transaction than the model's");
        let signed = rest[skipped].signed;
        self.sequence += skipped as u64 + 1;
        self.transactions += 1;
        self.verify(answer, &answer.operation, signed);

        let Operation { source, destination, .. } = answer.operation;
        let amount = answer.operation.amount();
        let here = Locator { height: answer.height as u32, position: answer.position };
        let command = answer.operation.command().unwrap();
        let hold = hold_id(&(source, destination, answer.operation.transaction, answer.operation.contract.get()));
        let (held, asset) = self.accounts.get(&hold).map_or((0, 0), |hold| (hold.balance, hold.asset));
        let asset_of_source = self.accounts.get(&source).map(|source| source.asset);
        let (has_source, has_destination) = (asset_of_source.is_some(), self.accounts.contains_key(&destination));
        let mut change = |id, change: &dyn Fn(u64) -> u64| {
            let account = self.accounts.entry(id).or_default();
            self.unstated.push(id);
            account.balance = change(account.balance);
            (account.latest, account.transactions) = (Some(here), account.transactions + 1);
        };
        match command {
            Command::Create | Command::Open => {
                change(source, &|_| 0);
                let asset = if command == Command::Open { answer.operation.contract.get() } else { 0 };
                if let Some(payer) = answer.operation.payer() {
                    change(payer, &|balance| balance - amount);
                }
                self.accounts.get_mut(&source).unwrap().asset = asset;
            }
            Command::Issue => change(source, &|balance| balance + amount),
            Command::Transfer => {
                change(source, &|balance| balance - amount);
                change(destination, &|balance| balance + amount);
            }
            Command::Hold => {
                change(source, &|balance| balance - amount);
                change(destination, &|balance| balance);
                change(hold, &|_| amount);
                self.accounts.get_mut(&hold).unwrap().asset = asset_of_source.unwrap();
            }
            Command::Capture | Command::Release | Command::Reclaim => {
                // Both may have closed their accounts.
                if has_source || held > amount {
                    change(source, &|balance| balance + held - amount);
                }
                if has_destination {
                    change(destination, &|balance| balance + amount);
                }
                if asset_of_source.is_none() && held > amount {
                    self.accounts.get_mut(&source).unwrap().asset = asset;
                }
                self.end(hold);
            }
            Command::Freeze | Command::Unfreeze => {
                change(source, &|balance| balance);
                self.accounts.get_mut(&source).unwrap().is_frozen = command == Command::Freeze;
            }
            Command::Close => self.end(source),
            Command::Refer => panic!("a REFER is in a block"),
        }
    }

    /// An entry of the index disappears.
    fn end(&mut self, id: AccountId) {
        self.accounts.remove(&id).unwrap();
        self.unstated.push(id);
        self.ended = Some(id);
    }

    /// The proof must verify against the headers, and prove the requested operation.
    fn verify(&mut self, answer: &TransactionAnswer, operation: &Operation, signed: Option<SignedOperation>) {
        let transaction = match &signed {
            Some(signed) => signed.as_bytes(),
            None => operation.as_bytes(),
        };
        let proof = TransactionProof {
            tip_hash: answer.tip_hash,
            tip_height: answer.tip_height,
            block_hash: answer.block_hash,
            height: answer.height,
            transactions: answer.transactions,
            position: answer.position,
            leaf: answer.leaf,
            path: &answer.path,
            transaction,
        };
        proof.verify(&self.headers).unwrap();
        self.proofs += 1;
    }

    /// A client's proof must verify, even as of an older tip, and concern the account.
    pub fn verify_frame(&mut self, account: &AccountId, frame: &[u8]) {
        if let Ok(Reply::Index(_)) = Reply::parse(frame) {
            IndexProof::parse(frame).unwrap().verify(&account.0, &self.headers).unwrap();
        } else {
            let proof = TransactionProof::parse(frame).unwrap();
            proof.verify(&self.headers).unwrap();
            assert!(proof.involves(&account.0));
        }
        self.proofs += 1;
    }

    /// Requests various proofs as of the followed tip, or none at most times.
    pub fn prove(&mut self, chain: &OwnReader, model: &Model, random: &mut Random) -> Result<(), Error> {
        if self.sequence == 0 || !random.chance(PROVE_CHANCE) {
            return Ok(());
        }
        if random.chance(ID_CHANCE) {
            self.prove_by_id(chain, model, random)?;
        }
        // Of an account's latest transaction and its balance.
        if self.accounts.is_empty() {
            return Ok(());
        }
        let (&id, &account) = self.accounts.iter().nth(random.below(self.accounts.len() as u64) as usize).unwrap();
        match chain.latest(&id) {
            Err(Error::Pruned { first, .. }) => assert!(account.latest.is_some_and(|at| u64::from(at.height) < first)),
            latest => {
                let latest = latest?.unwrap();
                let mut named = model.named(latest.operation.namer(), latest.operation.transaction);
                let is_latest = |executed: &Executed| {
                    executed.operation == latest.operation && executed.signed.is_some() == latest.tail.is_some()
                };
                let executed = named.find(|(_, executed)| is_latest(executed)).unwrap().1;
                self.verify(&latest, &executed.operation, executed.signed);
                let at = Locator { height: latest.height as u32, position: latest.position };
                assert_eq!(Some(at), account.latest);
            }
        }
        let entry = chain.account(&id)?.unwrap();
        assert_eq!((entry.balance.get(), Some(entry.latest())), (account.balance, account.latest));
        assert_eq!((entry.is_frozen(), entry.has_asset()), (account.is_frozen, account.asset != 0));
        let asset = chain.account(&AccountId(spv::asset_id(&id.0)))?.and_then(|entry| entry.asset());
        assert_eq!(asset, Some(account.asset).filter(|asset| *asset != 0));
        let entry = self.entry(chain, &id)?;
        assert_eq!(entry.map(|entry| (entry.balance.get(), entry.latest())), self.stated.get(&id).copied());
        let steps = if random.chance(HISTORY_CHANCE) { usize::MAX } else { HISTORY_STEPS };
        let mut history = chain.history(&id)?.take(steps).collect::<Vec<_>>();
        let is_cut = history.pop_if(|last| matches!(last, Err(Error::Pruned { .. }))).is_some();
        let walked = history.into_iter().collect::<Result<Vec<_>, _>>()?.len();
        let expected = account.transactions.min(steps);
        assert!(if is_cut { walked < expected } else { walked == expected }, "{walked} of {expected} transactions");
        // Of a nonexistent account.
        if let Some(hold) = self.ended.filter(|hold| !self.accounts.contains_key(hold)) {
            assert_eq!((chain.account(&hold)?, chain.latest(&hold)?), (None, None));
        }
        let absent = AccountId((u128::from(random.number()) << 32 | 1 << 120).to_be_bytes());
        assert!(self.entry(chain, &absent)?.is_none());
        Ok(())
    }

    /// Requests a proof of a transaction by its id, or of its absence.
    fn prove_by_id(&mut self, chain: &OwnReader, model: &Model, random: &mut Random) -> Result<(), Error> {
        let executed = &model.log()[random.below(self.sequence) as usize];
        let found = match chain.by_id(&executed.operation.transaction, &executed.operation.namer()) {
            Err(Error::Pruned { .. }) => return Ok(()),
            found => found?,
        };
        match &found {
            Some(answer) => self.verify(answer, &executed.operation, executed.signed),
            None => {
                let is_pruned = chain.first_retained() > 0;
                let may_be_missing = is_pruned || self.headers.height() > chain::own::EARLIER_BLOCKS as u64;
                let is_known = executed.status == Status::Ok && !may_be_missing;
                assert!(!is_known, "settled, but not found: {executed:?}");
            }
        }
        Ok(())
    }

    fn entry(&mut self, chain: &OwnReader, account: &AccountId) -> Result<Option<spv::IndexEntry>, Error> {
        let answer = chain.index_entry(account)?;
        let proof = IndexProof {
            block_hash: answer.block_hash,
            height: answer.height,
            path: &answer.proof.path,
            entries: &answer.proof.entries,
        };
        self.proofs += 1;
        Ok(proof.verify(&account.0, &self.headers).unwrap())
    }
}
