//! The sets of replicas, as replicas report them.

use std::net::SocketAddr;
use std::time::Duration;

use client::{Client, Finality, Options};
use node::Config;
use order::{Membership, ReplicaKey, ReplicaName};
use spv::Hash;
use spv::finality::MemberChange;
use wire::Status;

use super::ANSWER;
use super::home::Home;
use crate::error::Error;

/// Time for an approval to be ordered before it is sent again.
const ORDERED: Duration = Duration::from_secs(10);

fn connect(node: SocketAddr, give_up_after: Duration) -> Result<Client, client::Error> {
    Client::connect(node, &Options { give_up_after, ..Options::default() })
}

/// Queries a replica for its state.
pub fn ask(node: SocketAddr) -> Result<Finality, client::Error> {
    connect(node, ANSWER)?.finality()
}

/// The key that a replica's configuration names.
pub fn key(config: &Config) -> Result<ReplicaKey, Error> {
    let (order, _) = node::replica_engine(config).map_err(Error::other)?;
    Ok(order.key)
}

/// The outcome of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It was ordered.
    Ordered,
    /// The newest change is decided, or the replica has not executed it yet.
    Stale,
    /// The replica did not answer in time.
    Unanswered,
}

/// The sets of replicas of a network, as one replica reports them and their quorums signed them.
pub struct Sets {
    pub membership: Membership,
    network: Hash,
}

impl Sets {
    /// The sets that a node of a network reports.
    pub fn from_node(config: &Config, node: SocketAddr) -> Result<Self, Error> {
        Self::reported(config, node, &ask(node).map_err(Error::other)?)
    }

    fn reported(config: &Config, node: SocketAddr, finality: &Finality) -> Result<Self, Error> {
        let (order, _) = node::replica_engine(config).map_err(Error::other)?;
        let founders = config.cluster.replicas.clone();
        let mut membership = Membership::new(order.network, order.epoch, founders).map_err(Error::other)?;
        for change in finality.vouched.iter().flat_map(|vouched| &vouched.reconfigurations) {
            // The next change does not depend on when this one took effect.
            if membership.follow(change.clone(), 0).is_none() {
                let text = format!("{node} reports changes of the set that no quorum signed: ask another replica");
                return Err(Error::Failed(text));
            }
        }
        Ok(Self { membership, network: order.network })
    }

    /// Signs a change of the newest set and has a node order it.
    pub fn approve(&self, change: MemberChange, key: &ReplicaKey, node: SocketAddr) -> Result<Approval, Error> {
        let generation = self.membership.generation();
        let before = self.membership.committee_of(generation).expect("it is the newest").replicas();
        let approval = key.approve(change, &self.network, before);
        match connect(node, ORDERED).and_then(|mut client| client.approve(&approval)) {
            Ok(()) => Ok(Approval::Ordered),
            Err(client::Error::NoReply { .. } | client::Error::Socket { .. }) => Ok(Approval::Unanswered),
            Err(error) => match error.status() {
                Some(Status::StaleGeneration) => Ok(Approval::Stale),
                Some(Status::Busy | Status::RateLimited | Status::NotFinal) => Ok(Approval::Unanswered),
                _ => Err(Error::other(error)),
            },
        }
    }

    /// The replicas of the newest set, and how many of them a change needs.
    pub fn size(&self) -> (usize, usize) {
        let members = self.membership.members(u64::MAX).len();
        (members, quorum(members))
    }

    /// Whether the newest set has a replica.
    pub fn contains(&self, name: &ReplicaName) -> bool {
        self.membership.members(u64::MAX).iter().any(|member| member.name == *name)
    }
}

/// The number of replicas of a set that must run for it to order anything, and that must approve a change.
pub fn quorum(replicas: usize) -> usize {
    replicas - replicas.saturating_sub(1) / 3
}

/// A replica of this machine that answers.
pub struct Answering {
    pub folder: usize,
    pub config: Config,
    pub key: ReplicaKey,
    pub finality: Finality,
}

/// The reports of the replicas of this machine.
pub struct Survey {
    /// The newest sets of all.
    pub sets: Sets,
    pub answering: Vec<Answering>,
}

impl Survey {
    /// Queries all running replicas.
    pub fn new(homes: &[Home]) -> Result<Self, Error> {
        let mut answering = Vec::new();
        for home in homes.iter().filter(|home| home.process().is_some()) {
            let config = home.config()?;
            if let Ok(finality) = ask(config.listen) {
                answering.push(Answering { folder: home.number, key: key(&config)?, config, finality });
            }
        }
        let Some(newest) = answering.iter().max_by_key(|replica| replica.finality.generation) else {
            return Err(Error::Input("no replica answers: start them with `turnpike cluster start`".into()));
        };
        let sets = Sets::reported(&newest.config, newest.config.listen, &newest.finality)?;
        Ok(Self { sets, answering })
    }

    /// Replicas of the newest set that answer.
    pub fn members(&self) -> impl Iterator<Item = &Answering> {
        self.answering.iter().filter(|replica| self.sets.contains(&replica.key.name()))
    }

    /// The member that has executed most, if any answers.
    pub fn newest(&self) -> Result<&Answering, Error> {
        let newest = self.members().max_by_key(|replica| (replica.finality.generation, replica.finality.height));
        newest.ok_or_else(|| {
            Error::Input("no replica of the newest set answers: start them with `turnpike cluster start`".into())
        })
    }

    /// The height that the newest one has executed.
    pub fn height(&self) -> u64 {
        self.answering.iter().map(|replica| replica.finality.height).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_quorums_share_an_honest_replica() {
        for replicas in 1..=64 {
            let faulty = (replicas - 1) / 3;
            assert!(2 * quorum(replicas) - replicas > faulty, "of {replicas}");
            assert_eq!(quorum(replicas), replicas - faulty);
        }
    }
}
