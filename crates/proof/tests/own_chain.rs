//! Proof frames on a growing chain: cached or not, every reply verifies and is as of the newest block.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{collections::HashMap, sync::Arc};

use chain::merkle::{SignedTail, TAIL_SIZE};
use chain::own::{FileCatalog, Levels, NextBlock, Options, OwnChain};
use spv::{BlockHeader, HeaderChain, IndexProof, SealingKey, TransactionProof};
use storage::{Directory, RealDirectory};
use turnpike_proof::{Cache, Config, OwnSource, Service};
use wire::{
    AccountId, Chain, Command, Operation, ProofRequest, Query, Status, TransactionId, U64, key_of_locator,
    key_of_transaction,
};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

const ACCOUNTS: u32 = 40;

struct Fixture {
    _folder: tempfile::TempDir,
    chain: OwnChain,
    key: SealingKey,
    headers: HeaderChain,
    cache: Arc<Cache>,
    next_id: u32,
    /// For each account, where its latest transaction is.
    latest: HashMap<AccountId, (u64, u32)>,
    /// The latest block's operations.
    operations: Vec<Operation>,
}

impl Fixture {
    fn new(levels: Levels) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory: Arc<dyn Directory> = Arc::new(RealDirectory::create(folder.path()).unwrap());
        let key = SealingKey::from_bytes(&[1; 32]).unwrap();
        let genesis = key.seal(&BlockHeader::genesis("test", &[3; 16], 1000, &key.public()));
        let options = Options { levels, ..Options::default() };
        let catalog = Box::new(FileCatalog::new(Arc::clone(&directory)));
        let chain = OwnChain::open(directory, catalog, options, || Ok(genesis)).unwrap();
        let headers = HeaderChain::new(&genesis.hash(), genesis).unwrap();
        let cache = Arc::new(Cache::new(&Config::for_replies(1000)).unwrap());
        assert_eq!(cache.tip(Chain::Own), None);
        cache.begin_own(&chain.tip());
        assert_eq!(cache.tip(Chain::Own).map(|tip| (tip.hash, tip.height)), Some((chain.tip().hash, 0)));
        let (latest, operations) = (HashMap::new(), Vec::new());
        let mut fixture = Self { _folder: folder, key, chain, headers, cache, next_id: 0, latest, operations };
        let create = |n| (Command::Create, account(n), AccountId::default(), 0);
        let issue = |n| (Command::Issue, account(n), AccountId::default(), 1000);
        fixture.block((0..ACCOUNTS).map(create).chain((0..ACCOUNTS).map(issue)));
        fixture
    }

    fn service(&self) -> Service {
        let source = Arc::new(OwnSource::new(self.chain.reader()));
        Service::new(Some(Arc::clone(&self.cache))).with(Chain::Own, source)
    }

    fn block(&mut self, operations: impl Iterator<Item = (Command, AccountId, AccountId, u64)>) {
        self.operations.clear();
        let height = self.headers.height() + 1;
        for (position, (command, source, destination, amount)) in (0..).zip(operations) {
            self.next_id += 1;
            self.operations.push(Operation {
                command: command.code(),
                transaction: TransactionId::from(self.next_id),
                source,
                destination,
                amount: U64::new(amount),
                ..Operation::new_zeroed()
            });
            self.latest.insert(source, (height, position));
            if command == Command::Transfer {
                self.latest.insert(destination, (height, position));
            }
        }
        let next = NextBlock {
            operations: &self.operations,
            // Some are signed; the signatures were checked before they were put in.
            tails: &self.tails(),
            end_sequence: height * 1000,
            timestamp: 2000 + height,
        };
        let tip = self.chain.append(next, &mut self.key).unwrap();
        self.headers.append(self.key.seal(&tip.header)).unwrap();
        self.cache.announce_own(&tip, &self.operations);
    }

    fn tails(&self) -> Vec<SignedTail> {
        let signed = (0..self.operations.len() as u32).step_by(3);
        signed.map(|position| SignedTail { position, tail: [position as u8; TAIL_SIZE] }).collect()
    }

    /// What every reply must be, from the cache or from the chain.
    fn check_reply(&self, frame: &[u8], locator: (u64, u32)) {
        let proof = TransactionProof::parse(frame).unwrap();
        proof.verify(&self.headers).unwrap();
        assert_eq!((proof.tip_height, &proof.tip_hash), (self.headers.height(), self.headers.tip_hash()));
        assert_eq!((proof.height, proof.position), locator);
    }

    fn check(&self, service: &mut Service) {
        for (account, locator) in &self.latest {
            let frame = answer(service, Query::Latest, (*account).into());
            self.check_reply(&frame, *locator);
            assert!(TransactionProof::parse(&frame).unwrap().involves(&account.0));
            let frame = answer(service, Query::Locator, key_of_locator(locator.0, locator.1));
            self.check_reply(&frame, *locator);
            let frame = answer(service, Query::Index, (*account).into());
            let entry = IndexProof::parse(&frame).unwrap().verify(&account.0, &self.headers).unwrap().unwrap();
            assert_eq!((u64::from(entry.latest().height), entry.latest().position), *locator);
        }
        for (position, operation) in (0..).zip(&self.operations) {
            let key = key_of_transaction(operation.transaction, operation.source);
            let frame = answer(service, Query::Transaction, key);
            self.check_reply(&frame, (self.headers.height(), position));
            let tail: &[u8] = if position % 3 == 0 { &[position as u8; TAIL_SIZE] } else { &[] };
            assert_eq!(TransactionProof::parse(&frame).unwrap().transaction, [operation.as_bytes(), tail].concat());
        }
    }
}

fn account(number: u32) -> AccountId {
    AccountId::from(u128::from(number) << 90 | u128::from(number))
}

fn answer(service: &mut Service, query: Query, key: [u8; 32]) -> Vec<u8> {
    let mut datagram = ProofRequest::new(7, Chain::Own, query, key).as_bytes().to_vec();
    datagram.resize(1400, 0);
    let len = service.answer(&mut datagram);
    datagram.truncate(len);
    datagram
}

fn grow(levels: Levels) {
    let mut fixture = Fixture::new(levels);
    let mut service = fixture.service();
    fixture.check(&mut service);
    for round in 0..20_u32 {
        let transfers = (0..round % 7 + 1).map(|n| {
            let source = (round * 5 + n * 3) % ACCOUNTS;
            (Command::Transfer, account(source), account((source + 1 + n) % ACCOUNTS), 1)
        });
        fixture.block(transfers);
        fixture.check(&mut service);
        let before = fixture.cache.counters();
        fixture.check(&mut service);
        let after = fixture.cache.counters();
        assert_eq!(after.misses, before.misses, "what was just asked for is in the cache");
    }
    assert!(fixture.cache.counters().invalidations >= 20);
    let last = answer(&mut service, Query::Index, account(999).into());
    assert_eq!(IndexProof::parse(&last).unwrap().verify(&account(999).0, &fixture.headers).unwrap(), None);
}

#[test]
fn replies_verify_while_the_chain_grows() {
    grow(Levels::Stored);
}

#[test]
fn replies_verify_without_stored_levels() {
    grow(Levels::Rebuilt);
}

#[test]
fn what_there_is_not_is_told() {
    let fixture = Fixture::new(Levels::Stored);
    let mut service = fixture.service();
    let mut malformed = [1; 32];
    malformed[31] = 9;
    for (query, key, status) in [
        (Query::Latest, account(999).into(), Status::NotFound),
        (Query::Transaction, key_of_transaction(TransactionId::from(9999_u32), account(1)), Status::NotFound),
        (Query::Locator, key_of_locator(1, 80), Status::NotFound),
        (Query::Locator, key_of_locator(2, 0), Status::NotFound),
        (Query::Locator, key_of_locator(u64::MAX, u32::MAX), Status::NotFound),
        (Query::Latest, malformed, Status::Malformed),
        (Query::Locator, malformed, Status::Malformed),
        (Query::Index, malformed, Status::Malformed),
    ] {
        for _ in 0..2 {
            let reply = answer(&mut service, query, key);
            assert_eq!(ProofRequest::ref_from_bytes(&reply).unwrap().status(), Ok(status));
        }
    }
}
