//! Four replicas in threads, and clients that try to break the protocol.
#![allow(clippy::unwrap_used)]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fast_path_bench::{
    batch::Batch,
    client::{Client, encode, verify},
    cluster::Transport,
    genesis::{BALANCE, Owner, REPLICAS},
    replica::{Error, Replica},
};
use link::{Address, Waker};
use wire::FastOrder;

const ACCOUNTS: u32 = 8;

/// How long a certificate may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a test waits for a certificate that must not come.
const NEVER: Duration = Duration::from_millis(400);

struct Running {
    is_over: Arc<AtomicBool>,
    waker: Waker,
    thread: JoinHandle<Result<Replica, Error>>,
}

impl Running {
    fn start(mut replica: Replica, addresses: &[Address]) -> Self {
        let (is_over, waker) = (Arc::new(AtomicBool::new(false)), replica.waker());
        let (stop, addresses) = (Arc::clone(&is_over), addresses.to_vec());
        let thread = std::thread::spawn(move || replica.run(&addresses, &stop).map(|()| replica));
        Self { is_over, waker, thread }
    }

    fn stop(self) -> Replica {
        self.is_over.store(true, Relaxed);
        self.waker.wake();
        self.thread.join().unwrap().unwrap()
    }
}

fn open(directory: &Path, number: usize, listen: &Address) -> Replica {
    let directory = directory.join(number.to_string());
    std::fs::create_dir_all(&directory).unwrap();
    Replica::open(number as u8, ACCOUNTS, &directory, listen).unwrap()
}

/// An address of a test. No two tests share a host, so that no replica takes the port of a stopped one of another test.
fn host(test: u8) -> Address {
    Address::Tcp(([127, 77, 0, test], 0).into())
}

/// Starts the replicas with these numbers. The others have an address, at which nothing listens.
fn start(directory: &Path, host: &Address, numbers: &[usize]) -> (Vec<Running>, Vec<Address>) {
    let replicas: Vec<_> = (0..REPLICAS).map(|number| open(directory, number, host)).collect();
    let addresses: Vec<_> = replicas.iter().map(|replica| replica.address().clone()).collect();
    let running = replicas
        .into_iter()
        .enumerate()
        .filter(|(number, _)| numbers.contains(number))
        .map(|(_, replica)| Running::start(replica, &addresses))
        .collect();
    (running, addresses)
}

/// A client of these replicas, once each of them is connected to the others.
fn connect(addresses: &[Address], others: u8) -> Client {
    let mut client = Client::connect(addresses).unwrap();
    (0..addresses.len()).for_each(|collector| assert!(client.wait_for_replicas(collector, others).unwrap()));
    client
}

/// Submits orders to a collector again and again until all are certified.
fn pay(client: &mut Client, collector: usize, orders: &[FastOrder]) {
    let (batch, deadline) = (Batch::new(orders.to_vec()), Instant::now() + PATIENCE);
    loop {
        client.submit(collector, &encode(orders)).unwrap();
        let (until, mut certified) = (Instant::now() + Duration::from_millis(500), Vec::new());
        while certified.len() < orders.len() && Instant::now() < until {
            client.receive(until, |votes| certified = verify(votes, &batch.root, orders.len())).unwrap();
        }
        if certified.len() == orders.len() {
            return;
        }
        assert!(Instant::now() < deadline, "{certified:?} of {} orders are certified", orders.len());
    }
}

/// Submits orders, and returns the positions of those that are certified within a short time.
fn certified(client: &mut Client, collector: usize, orders: &[FastOrder]) -> Vec<usize> {
    client.submit(collector, &encode(orders)).unwrap();
    let (root, until, mut found) = (Batch::new(orders.to_vec()).root, Instant::now() + NEVER, Vec::new());
    while client.receive(until, |votes| found.extend(verify(votes, &root, orders.len()))).unwrap() {}
    found.sort_unstable();
    found.dedup();
    found
}

fn owners() -> Vec<Owner> {
    (0..ACCOUNTS).map(Owner::new).collect()
}

fn orders_are_final_at_all_replicas(host: &Address) {
    let directory = tempfile::tempdir().unwrap();
    let (running, addresses) = start(directory.path(), host, &[0, 1, 2, 3]);
    let (owners, mut client) = (owners(), connect(&addresses, 3));
    for sequence in 0..8 {
        let orders: Vec<_> = (0..owners.len())
            .map(|from| owners[from].order(sequence, owners[(from + 1) % owners.len()].account, 1 + from as u64))
            .collect();
        let (first, second) = orders.split_at(3);
        pay(&mut client, sequence as usize % REPLICAS, first);
        pay(&mut client, (sequence as usize + 1) % REPLICAS, second);
    }
    // One more at each collector, so that each has sent its certificates.
    (0..REPLICAS).for_each(|collector| {
        let [from, to] = [&owners[collector], &owners[collector + 1]];
        pay(&mut client, collector, &[from.order(8, to.account, 1)]);
    });
    std::thread::sleep(NEVER);
    for running in running {
        let replica = running.stop();
        let state = replica.state();
        assert_eq!((state.applied(), state.total()), (68, i128::from(BALANCE) * i128::from(ACCOUNTS)));
        assert_eq!(state.balance(&owners[7].account), Some(i128::from(BALANCE) - 8 * 8 + 8 * 7));
        assert_eq!(state.locks(), []);
    }
}

#[test]
fn orders_are_final_at_all_replicas_over_tcp() {
    orders_are_final_at_all_replicas(&host(1));
}

#[test]
fn orders_are_final_at_all_replicas_over_shared_memory() {
    orders_are_final_at_all_replicas(&Transport::Shm.any());
}

#[test]
fn three_replicas_are_enough_and_two_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let (mut running, addresses) = start(directory.path(), &host(3), &[0, 1, 3]);
    let (owners, mut client) = (owners(), connect(&addresses[..1], 2));
    pay(&mut client, 0, &[owners[0].order(0, owners[1].account, 5)]);
    drop(running.pop().unwrap().stop());
    assert!(certified(&mut client, 0, &[owners[0].order(1, owners[1].account, 5)]).is_empty());
    running.into_iter().for_each(|running| drop(running.stop()));
}

#[test]
fn no_collector_certifies_two_orders_of_a_slot() {
    let directory = tempfile::tempdir().unwrap();
    let (running, addresses) = start(directory.path(), &host(4), &[0, 1, 2, 3]);
    let (owners, mut client) = (owners(), connect(&addresses, 3));
    for slot in 0..4 {
        let both: Vec<_> = [1, 2].map(|to| owners[slot].order(0, owners[(slot + to) % 8].account, 9)).to_vec();
        let roots: Vec<_> = both.iter().map(|order| Batch::new(vec![*order]).root).collect();
        client.submit(slot, &encode(&both[..1])).unwrap();
        client.submit((slot + 1) % REPLICAS, &encode(&both[1..])).unwrap();
        let (until, mut found) = (Instant::now() + NEVER, [false; 2]);
        let mut take = |votes: &[u8]| {
            (0..2).for_each(|at| found[at] |= !verify(votes, &roots[at], 1).is_empty());
        };
        while client.receive(until, &mut take).unwrap() {}
        assert_ne!(found, [true, true], "slot {slot} has two certificates");
    }
    // Others go on.
    pay(&mut client, 0, &[owners[6].order(0, owners[0].account, 1)]);
    for running in running {
        assert_eq!(running.stop().state().total(), i128::from(BALANCE) * i128::from(ACCOUNTS));
    }
}

#[test]
fn an_order_that_breaks_a_rule_does_not_stop_its_batch() {
    let directory = tempfile::tempdir().unwrap();
    let (running, addresses) = start(directory.path(), &host(5), &[0, 1, 2, 3]);
    let (owners, mut client) = (owners(), connect(&addresses, 3));
    pay(&mut client, 0, &[owners[7].order(0, owners[0].account, 1)]);
    let to = owners[0].account;
    let mut forged = owners[2].order(0, to, 1);
    forged.signature[63] ^= 1;
    let orders = [
        owners[1].order(0, to, 1),
        forged,
        owners[3].order(1, to, 1),
        owners[4].order(0, to, BALANCE + 1),
        // Another order of a slot that is settled, or locked where the certificate is still under way.
        owners[7].order(0, to, 2),
        owners[5].order(0, to, BALANCE),
    ];
    assert_eq!(certified(&mut client, 1, &orders), [0, 5]);
    running.into_iter().for_each(|running| drop(running.stop()));
}

#[test]
fn a_restarted_replica_keeps_its_locks() {
    let directory = tempfile::tempdir().unwrap();
    let (mut running, addresses) = start(directory.path(), &host(6), &[0, 3]);
    let (owners, mut client) = (owners(), connect(&addresses[..1], 1));
    // Two replicas lock the order, which gets no certificate.
    let first = owners[0].order(0, owners[1].account, 5);
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(certified(&mut client, 0, &[first]).is_empty());
        let replica = running.pop().unwrap().stop();
        let is_locked = replica.state().locks() == [first];
        drop(replica);
        running.push(Running::start(open(directory.path(), 3, &addresses[3]), &addresses));
        if is_locked {
            break;
        }
        assert!(Instant::now() < until, "the batch never reached the other replica");
    }
    // The other two vote for another order of the slot. With a forgotten lock it would get a certificate.
    let more: Vec<_> = [1, 2]
        .into_iter()
        .map(|number| Running::start(open(directory.path(), number, &addresses[number]), &addresses))
        .collect();
    let second = owners[0].order(0, owners[2].account, 5);
    let mut collector = connect(&addresses[2..3], 3);
    assert!(certified(&mut collector, 0, &[second]).is_empty());
    running.into_iter().chain(more).for_each(|running| drop(running.stop()));
}
