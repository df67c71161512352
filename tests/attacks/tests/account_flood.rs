//! Strangers fill the account table, which nobody can empty again.
#![allow(missing_docs, clippy::unwrap_used)]

use std::net::UdpSocket;

use client::Signer;
use secp256k1::SecretKey;
use turnpike_attacks::{ISSUER, STRANGER, Victim, secret};
use wire::{
    AccountId, BatchEntries, BatchFormat, BatchHeader, Operation, Promise, Reply, SignedOperation, Status,
    TransactionId,
};
use zerocopy::IntoBytes;

/// Operations of a datagram: the most that fit.
const BATCH: usize = 350;

/// A flood of new accounts, each with a key of its own, that comes in datagrams from one address.
struct Flood {
    socket: UdpSocket,
    network: [u8; 32],
    sent: u64,
}

impl Flood {
    fn new(victim: &Victim) -> Self {
        Self { socket: victim.socket(STRANGER), network: *victim.node().network(), sent: 0 }
    }

    /// A key that nobody has.
    fn key(&mut self) -> Signer {
        self.sent += 1;
        let mut key = [0x77; 32];
        key[..8].copy_from_slice(&self.sent.to_be_bytes());
        Signer::new(SecretKey::from_byte_array(key).unwrap(), self.network)
    }

    fn id(&self) -> TransactionId {
        TransactionId::from(u128::from(self.sent))
    }

    /// Sends a batch, and counts what it is answered with.
    fn send(&self, operations: &[SignedOperation], status: Status) -> usize {
        let header = BatchHeader::new(1, BatchFormat::Signed, operations.len() as u16, Promise::Accepted);
        self.socket.send(&[header.as_bytes(), operations.as_bytes()].concat()).unwrap();
        let mut answer = [0; 1 << 16];
        let length = self.socket.recv(&mut answer).unwrap();
        let Ok(Reply::Batch(batch)) = Reply::parse(&answer[..length]) else { panic!("no batch") };
        assert_eq!(batch.status, Status::Ok);
        let BatchEntries::Signed(entries) = batch.entries else { panic!("another format") };
        entries.iter().filter(|entry| entry.operation.status() == Ok(status)).count()
    }
}

fn accounts(victim: &Victim) -> u64 {
    victim.client().info().unwrap().accounts.get()
}

/// What an honest account can do meanwhile, signed and from nowhere in particular: it pays, and opens an account for another.
struct Honest {
    signer: Signer,
    socket: Flood,
    receiver: AccountId,
    left: u64,
}

impl Honest {
    const DEPOSIT: u64 = 100;

    fn new(victim: &Victim) -> Self {
        let (mut issuer, signer) = (victim.signer(ISSUER), victim.signer(secret(7)));
        let mut client = victim.client();
        let receiver = AccountId::from(1_u32);
        client.create(receiver).unwrap();
        let left = 1_000_000;
        let open = Operation::create(TransactionId::from(1_u32), signer.account());
        let fund = Operation::issue(TransactionId::from(2_u32), signer.account(), left);
        for operation in [open, fund] {
            // Durable, so that who counts from here on counts what comes after.
            let signed = issuer.sign(operation, Promise::Durable).unwrap();
            assert_eq!(client.execute_signed(&signed).unwrap().status, Status::Ok);
        }
        let socket = Flood { sent: 1 << 40, ..Flood::new(victim) };
        Self { signer, socket, receiver, left }
    }

    fn pays(&mut self) {
        self.socket.sent += 1;
        let transfer = Operation::transfer(self.socket.id(), self.signer.account(), self.receiver, 1);
        let signed = self.signer.sign(transfer, Promise::Accepted).unwrap();
        assert_eq!(self.socket.send(&[signed], Status::Ok), 1, "an honest transfer");
        self.left -= 1;
    }

    /// A new account for a deposit.
    fn opens(&mut self, amount: u64) -> SignedOperation {
        let account = self.socket.key().account();
        let create = Operation::create_for(self.socket.id(), account, self.signer.account(), amount);
        self.signer.sign(create, Promise::Accepted).unwrap()
    }
}

/// Thousands of accounts that nobody answers for take no room, and keep nobody from what he does.
#[test]
fn strangers_open_no_accounts() {
    let victim = Victim::start(|config| config.limits.rate = 0);
    let (mut honest, mut flood) = (Honest::new(&victim), Flood::new(&victim));
    let before = accounts(&victim);
    for _ in 0..12 {
        let creates: Vec<_> = (0..BATCH)
            .map(|_| {
                let mut key = flood.key();
                let create = Operation::create(flood.id(), key.account());
                key.sign(create, Promise::Accepted).unwrap()
            })
            .collect();
        assert_eq!(flood.send(&creates, Status::DepositRequired), BATCH);
        honest.pays();
    }
    // Nor does it help to pay with nothing, too little, or another's money.
    let nothing = {
        let mut key = flood.key();
        let payer = key.account();
        let account = flood.key().account();
        key.sign(Operation::create_for(flood.id(), account, payer, Honest::DEPOSIT), Promise::Accepted).unwrap()
    };
    assert_eq!(flood.send(&[nothing], Status::DestinationUnknown), 1);
    let too_little = honest.opens(Honest::DEPOSIT - 1);
    assert_eq!(flood.send(&[too_little], Status::DepositRequired), 1);
    let stolen = {
        let mut key = flood.key();
        let create = Operation::create_for(flood.id(), key.account(), honest.signer.account(), Honest::DEPOSIT);
        key.sign(create, Promise::Accepted).unwrap()
    };
    assert_eq!(flood.send(&[stolen], Status::NotAuthorised), 1);
    assert_eq!(accounts(&victim), before, "accounts that nobody answers for");

    let paid = honest.opens(Honest::DEPOSIT);
    assert_eq!(honest.socket.send(&[paid], Status::Ok), 1);
    assert_eq!(accounts(&victim), before + 1);
    // The deposit left circulation.
    let refer = Operation::refer(TransactionId::from(9_u32), honest.signer.account());
    let refer = honest.signer.sign(refer, Promise::Accepted).unwrap();
    assert_eq!(victim.client().execute_signed(&refer).unwrap().value, honest.left - Honest::DEPOSIT);
}

/// Naming somebody's account as the one to open does not use up its ids, nor take room in the memory of retries.
#[test]
fn ids_stay_their_accounts() {
    let victim = Victim::start(|_| {});
    let (mut honest, mut flood) = (Honest::new(&victim), Flood::new(&victim));
    let before = victim.client().info().unwrap().durable_sequence.get();
    let next = honest.socket.sent + 1;
    let burnt: Vec<_> = (next..next + 100)
        .map(|id| {
            let mut nobody = flood.key();
            let id = TransactionId::from(u128::from(id));
            let create = Operation::create_for(id, honest.signer.account(), nobody.account(), Honest::DEPOSIT);
            nobody.sign(create, Promise::Accepted).unwrap()
        })
        .collect();
    assert_eq!(flood.send(&burnt, Status::DestinationUnknown), burnt.len());
    for _ in &burnt {
        honest.pays();
    }
    let executed = victim.client().info().unwrap().durable_sequence.get() - before;
    assert!(executed <= burnt.len() as u64, "{executed}");
}

/// Who has an issuer's key, or money, fills the table up to the share that is for trusted senders, to the account.
#[test]
fn a_sponsored_flood_ends_at_the_reserved_share() {
    const ACCOUNTS: u64 = 4000;
    let mut victim = Victim::start(|config| {
        config.ledger.accounts = ACCOUNTS;
        config.ledger.reserved = 10;
        config.limits.rate = 0;
    });
    let (mut honest, mut flood) = (Honest::new(&victim), Flood::new(&victim));
    let mut issuer = victim.signer(ISSUER);
    let before = accounts(&victim);
    let (mut opened, mut first) = (0, None);
    for _ in 0..12 {
        let creates: Vec<_> = (0..BATCH)
            .map(|_| {
                let account = flood.key().account();
                issuer.sign(Operation::create(flood.id(), account), Promise::Accepted).unwrap()
            })
            .collect();
        let done = flood.send(&creates, Status::Ok);
        opened += done;
        first.get_or_insert(creates);
        if done < BATCH {
            break;
        }
    }
    assert_eq!(before + opened as u64, ACCOUNTS * 9 / 10);
    assert_eq!(accounts(&victim), ACCOUNTS * 9 / 10);
    let paid = honest.opens(Honest::DEPOSIT);
    assert_eq!(honest.socket.send(&[paid], Status::TableFull), 1);
    honest.pays();
    let first = first.unwrap();
    assert_eq!(flood.send(&first, Status::Ok), BATCH, "retries get their first results");

    // Trusted senders go on, with what was refused before, too; and after a restart.
    let mut client = victim.client();
    assert_eq!(client.execute_signed(&paid).unwrap().status, Status::Ok);
    client.create(AccountId::from(2_u32)).unwrap();
    victim.restart();
    let flood = Flood { sent: flood.sent, ..Flood::new(&victim) };
    let another = honest.opens(Honest::DEPOSIT);
    assert_eq!(flood.send(&[another], Status::TableFull), 1);
    victim.client().create(AccountId::from(3_u32)).unwrap();
    assert_eq!(accounts(&victim), ACCOUNTS * 9 / 10 + 3);
}

/// A node that was only told where to listen does not take all that a stranger can send.
#[test]
fn strangers_have_a_rate_by_default() {
    let victim = Victim::start(|_| {});
    let flood = Flood::new(&victim);
    let mut nobody = Flood { sent: 1 << 50, ..Flood::new(&victim) }.key();
    let creates: Vec<_> = (0..BATCH as u32)
        .map(|number| {
            let create = Operation::create(number.into(), nobody.account());
            nobody.sign(create, Promise::Accepted).unwrap()
        })
        .collect();
    let header = BatchHeader::new(1, BatchFormat::Signed, BATCH as u16, Promise::Accepted);
    let datagram = [header.as_bytes(), creates.as_bytes()].concat();
    let mut limited = false;
    for _ in 0..100 {
        flood.socket.send(&datagram).unwrap();
        let mut answer = [0; 1 << 16];
        let length = flood.socket.recv(&mut answer).unwrap();
        let Ok(Reply::Batch(batch)) = Reply::parse(&answer[..length]) else { panic!("no batch") };
        if batch.status == Status::RateLimited {
            limited = true;
            break;
        }
    }
    assert!(limited, "35,000 operations of a stranger in a moment");
}
