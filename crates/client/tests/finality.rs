//! The client follows changes of the set of replicas, and passes approvals of changes to them.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use common::{Faults, Generation, TestNode};
use spv::finality::{Approval, Certificate, MemberAction, MemberChange, OrderedHeader, Reconfiguration, ReplicaSet};
use spv::{Hash, SealingKey};
use turnpike_client::{Client, Error, Options};
use wire::Status;
use zerocopy::IntoBytes;

const FAULTS: Faults = Faults { loss: 40, doubling: 40, reordering: 40, busy: 20 };
const NETWORK: Hash = [9; 32];

fn client(node: &TestNode) -> Client {
    let options = Options {
        retry_after: Duration::from_millis(15),
        retry_at_most: Duration::from_millis(100),
        give_up_after: Duration::from_secs(30),
        ..Options::default()
    };
    Client::connect(node.address, &options).unwrap()
}

fn key(number: u8) -> SealingKey {
    SealingKey::from_bytes(&[number; 32]).unwrap()
}

fn addition(number: u8, generation: u32) -> MemberChange {
    MemberChange {
        action: MemberAction::Add as u8,
        number,
        port: 7400.into(),
        generation: generation.into(),
        votes: key(number + 1).public().to_bytes(),
        identity: [number; 32],
        address: [1; 16],
    }
}

/// The sets from one replica up, each with one more, and a certificate of the last that nobody signed.
fn generations(count: u8) -> (Vec<ReplicaSet>, Vec<Generation>) {
    let mut sets = vec![ReplicaSet::new(vec![key(1).public()]).unwrap()];
    let mut told = Vec::new();
    let bytes = |set: &ReplicaSet| set.keys().iter().map(|key| key.to_bytes()).collect::<Vec<_>>();
    for generation in 0..count - 1 {
        let set = sets.last().unwrap();
        let change = addition(generation + 1, generation.into());
        let sign = |number| (number, Approval::sign(change, &NETWORK, set, &key(number as u8 + 1)).signature);
        let reconfiguration = Reconfiguration::new(change, (0..=u32::from(generation)).map(sign).collect());
        told.push((bytes(set), reconfiguration.encode()));
        sets.push(reconfiguration.verify(&NETWORK, set, generation.into()).unwrap());
    }
    let header = OrderedHeader { height: 7.into(), parent: [1; 32], statement: [2; 32], body: [3; 32] };
    told.push((bytes(sets.last().unwrap()), Certificate::new(header, 0, 5, 4, vec![]).encode()));
    (sets, told)
}

#[test]
fn the_generations_are_followed_to_the_newest() {
    // The last ones need more room than the first request has.
    for count in [1, 2, 20] {
        let node = TestNode::start(FAULTS);
        let (sets, told) = generations(count);
        node.state.lock().unwrap().generations = told;
        let finality = client(&node).finality().unwrap();
        let newest = u32::from(count) - 1;
        assert_eq!((finality.generation, finality.replicas, finality.view), (newest, count, 7));
        let vouched = finality.vouched.unwrap();
        assert_eq!(vouched.founders, sets[0]);
        assert_eq!(vouched.replicas(&NETWORK).as_ref(), Ok(sets.last().unwrap()));
        let mut asked = node.state.lock().unwrap().asked.clone();
        asked.dedup();
        assert!(asked.len() >= usize::from(count) && asked.last() == Some(&newest), "{asked:?}");
    }
}

#[test]
fn before_a_certificate_is_there_nothing_is_vouched_for() {
    let node = TestNode::start(FAULTS);
    let (_, mut told) = generations(3);
    told[2].1.clear();
    node.state.lock().unwrap().generations = told;
    let finality = client(&node).finality().unwrap();
    assert_eq!((finality.generation, finality.vouched), (2, None));
}

#[test]
fn what_is_no_succession_is_an_error() {
    let node = TestNode::start(Faults::default());
    let mut client = client(&node);
    assert_eq!(client.finality().unwrap_err().status(), Some(Status::NotFound));
    let (_, mut told) = generations(3);
    told[1].1.pop();
    node.state.lock().unwrap().generations = told;
    assert!(matches!(client.finality(), Err(Error::Vouched(_))));
    let told = vec![(vec![key(1).public().to_bytes()], vec![]); 4098];
    node.state.lock().unwrap().generations = told;
    let error = client.finality().unwrap_err();
    assert!(matches!(error, Error::Vouched(spv::finality::VouchedError::Reconfigurations(4097))), "{error}");
}

#[test]
fn approvals_come_whole_and_refusals_are_told() {
    let node = TestNode::start(FAULTS);
    let set = ReplicaSet::new(vec![key(1).public()]).unwrap();
    let approval = Approval::sign(addition(1, 0), &NETWORK, &set, &key(1));
    let mut client = client(&node);
    for _ in 0..10 {
        client.approve(&approval).unwrap();
    }
    assert_eq!(node.state.lock().unwrap().approvals, [approval.as_bytes()]);
    let stale = Approval { change: MemberChange { action: 0, ..approval.change }, ..approval };
    assert_eq!(client.approve(&stale).unwrap_err().status(), Some(Status::StaleGeneration));
}
