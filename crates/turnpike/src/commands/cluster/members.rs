//! Changes of the set of replicas: one joins, or leaves, as a quorum of the others approves.

use std::fs::{self, DirBuilder, File};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use client::{Client, Options};
use node::Config;
use node::config::Cluster;
use order::{Member, Membership, ReplicaKey};
use spv::finality::{MemberAction, MemberChange};
use storage::DataDirectory;
use wire::Status;

use super::home::Home;
use super::init::{places, write};
use super::{NAP, PATIENCE, end, serve, sync};
use crate::cli::{ClusterAddArgs, ClusterApproveArgs, ClusterJoinArgs, ClusterRemoveArgs};
use crate::error::Error;
use crate::output::Output;

/// What the names of votes begin with in a replica's data: who copied them could vote twice with another's key.
const VOTES: &[u8] = b"replica-votes";
/// How many blocks a replica may be behind when it joins: those of some views, which are under way.
const BEHIND: u64 = 16;

/// The sets of replicas, as a node tells them.
struct Sets {
    membership: Membership,
    network: spv::Hash,
}

fn connect(node: SocketAddr) -> Result<Client, Error> {
    let options = Options { give_up_after: PATIENCE, ..Options::default() };
    Client::connect(node, &options).map_err(Error::other)
}

/// The key that a replica's configuration names.
fn key(config: &Config) -> Result<ReplicaKey, Error> {
    let (order, _) = node::replica_engine(config).map_err(Error::other)?;
    Ok(order.key)
}

impl Sets {
    /// Of the network of a configuration, as a node of it tells them.
    fn of(config: &Config, node: SocketAddr) -> Result<Self, Error> {
        let (order, _) = node::replica_engine(config).map_err(Error::other)?;
        let founders = config.cluster.replicas.clone();
        let mut membership = Membership::new(order.network, order.epoch, founders).map_err(Error::other)?;
        let finality = connect(node)?.finality().map_err(Error::other)?;
        for change in finality.vouched.map(|vouched| vouched.reconfigurations).unwrap_or_default() {
            // When it began does not matter for the next one.
            if membership.follow(change, 0).is_none() {
                let text = format!("what {node} tells of changes of the set does not hold: ask another node");
                return Err(Error::Failed(text));
            }
        }
        Ok(Self { membership, network: order.network })
    }

    /// Signs a change of the newest set, and has it ordered by a node. Whether it counts: not where the change, or another one, is
    /// decided already.
    fn approve(&self, change: MemberChange, key: &ReplicaKey, node: SocketAddr) -> Result<bool, Error> {
        let generation = self.membership.generation();
        let before = self.membership.committee_of(generation).expect("it is the newest").replicas();
        let approval = key.approve(change, &self.network, before);
        match connect(node)?.approve(&approval) {
            Ok(()) => Ok(true),
            Err(error) if error.status() == Some(Status::StaleGeneration) => Ok(false),
            Err(error) => Err(Error::other(error)),
        }
    }
}

/// Makes the configuration of a replica that is to join, like that of another one.
fn joining(like: &Config, home: &Home, place: &super::init::Place, contacts: Vec<Member>) -> Result<Member, Error> {
    let sections = Cluster::generate(&[place.others], like.cluster.began).map_err(Error::other)?;
    let (secret, section) = sections.into_iter().next().expect("one was asked for");
    let [member] = <[Member; 1]>::try_from(section.replicas).expect("one was asked for");
    let cluster =
        Cluster { listen: Some(place.others), key: home.folder.join("replica.key"), contacts, ..like.cluster.clone() };
    let config = Config {
        data: home.folder.join("data"),
        listen: place.listen,
        http: Some(place.http),
        cluster,
        ..like.clone()
    };
    config.check().map_err(|error| Error::Input(error.to_string()))?;
    write(home, &config, &secret)?;
    Ok(member)
}

/// Copies the data of a replica that does not run, for one that has never voted: all but the votes of the other one, and its lock.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if DataDirectory::is_held(from).map_err(Error::other)? {
        let text = format!("a replica has {}: stop it, or name the directory of one that does not run", from.display());
        return Err(Error::Input(text));
    }
    copy_below(from, to)
}

fn copy_below(from: &Path, to: &Path) -> Result<(), Error> {
    // For its owner alone, as a data directory is.
    DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(|error| Error::file("make", to, error))?;
    let read = |error| Error::file("read", from, error);
    for entry in fs::read_dir(from).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (name, path) = (entry.file_name(), entry.path());
        let is_left_out = name == "LOCK" || name.as_encoded_bytes().starts_with(VOTES);
        if entry.file_type().map_err(read)?.is_dir() {
            if !is_left_out {
                copy_below(&path, &to.join(name))?;
            }
        } else if !is_left_out {
            let copy = to.join(name);
            fs::copy(&path, &copy).map_err(|error| Error::file("write", &copy, error))?;
        }
    }
    File::open(to).and_then(|folder| folder.sync_all()).map_err(|error| Error::file("sync", to, error))
}

/// Waits until something is so.
fn wait(what: &str, mut is_so: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let since = Instant::now();
    while !is_so()? {
        if since.elapsed() > PATIENCE {
            return Err(Error::Failed(format!(
                "{what} within {PATIENCE:?}: see `turnpike cluster status` and the logs"
            )));
        }
        sleep(NAP);
    }
    Ok(())
}

/// The height of what a replica has executed, and its number in the set that votes, if it does; nothing where it does not answer.
fn standing(node: SocketAddr) -> Option<(u64, Option<u8>)> {
    let finality = connect(node).ok()?.finality().ok()?;
    Some((finality.height, finality.replica))
}

/// Those that vote, of these.
fn voting(homes: &[Home]) -> Result<Vec<Config>, Error> {
    let configs = homes.iter().map(Home::config).collect::<Result<Vec<_>, _>>()?;
    let votes = |config: &Config| standing(config.listen).is_some_and(|(_, number)| number.is_some());
    let voting: Vec<_> = configs.into_iter().filter(votes).collect();
    if voting.is_empty() {
        return Err(Error::Input("no replica answers: start them with `turnpike cluster start`".into()));
    }
    Ok(voting)
}

/// Runs `turnpike cluster add`.
pub fn add(args: &ClusterAddArgs, output: Output) -> Result<(), Error> {
    let dir = args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))?;
    let homes = Home::all(&dir)?;
    let find = |number| {
        let found = homes.iter().find(|home| home.number == number);
        found.ok_or_else(|| Error::Input(format!("there is no replica {number}")))
    };
    let copied = args.copy.map(find).transpose()?;
    let copied_data = copied.map(Home::config).transpose()?.map(|config| config.data);
    let voting = voting(&homes)?;
    let like = voting.iter().find(|config| Some(&config.data) != copied_data.as_ref()).unwrap_or(&voting[0]);
    let sets = Sets::of(like, like.listen)?;
    let members = sets.membership.members(u64::MAX).to_vec();
    let number = homes.last().map_or(0, |home| home.number + 1);
    let home = Home::new(&dir, number);
    let place = places(1, 0)?.pop().expect("one was asked for");
    let member = joining(like, &home, &place, members)?;
    let change = sets.membership.addition(&member);
    let change = change.ok_or_else(|| Error::Failed("the set has no room for one more replica".into()))?;
    if let (Some(copied), Some(data)) = (copied, &copied_data) {
        end(std::slice::from_ref(copied), output)?;
        let result = copy(data, &home.config()?.data);
        // Whatever became of the copy.
        serve(vec![Home::new(&dir, copied.number)], output)?;
        result?;
    }
    for config in &voting {
        sets.approve(change, &key(config)?, config.listen)?;
    }
    output.progress(format!("the others approve that replica {number} joins"));
    if copied.is_none() && !args.replay {
        let http =
            like.http.ok_or_else(|| Error::Input("no replica that runs has an HTTP address: use --replay".into()))?;
        sync::run(&home.config()?, http, output)?;
    }
    serve(vec![Home::new(&dir, number)], output)?;
    let heights = || Some((standing(place.listen)?.0, standing(like.listen)?.0));
    wait("the new replica does not get the others' blocks", || {
        Ok(heights().is_some_and(|(own, of_others)| own + BEHIND >= of_others))
    })?;
    output.progress(format!("replica {number} has the blocks of the others, and approves"));
    sets.approve(change, &key(&home.config()?)?, like.listen)?;
    wait("the set does not change", || Ok(standing(place.listen).is_some_and(|(_, number)| number.is_some())))?;
    tell(&dir, number, &member, output);
    Ok(())
}

fn tell(dir: &Path, number: usize, member: &Member, output: Output) {
    let text = member.to_string();
    output.result(&serde_json::json!({ "dir": dir, "replica": number, "member": text }), |_| {
        format!("replica {number} is of the set of replicas: {text}")
    });
}

/// Runs `turnpike cluster remove`.
pub fn remove(args: &ClusterRemoveArgs, output: Output) -> Result<(), Error> {
    let dir = args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))?;
    let homes = Home::all(&dir)?;
    let leaving = homes.iter().find(|home| home.number == args.replica);
    let leaving = leaving.ok_or_else(|| Error::Input(format!("there is no replica {}", args.replica)))?;
    let name = key(&leaving.config()?)?.name();
    let others: Vec<_> =
        homes.iter().filter(|home| home.number != args.replica).map(|home| Home::new(&dir, home.number)).collect();
    let voting = voting(&others)?;
    let sets = Sets::of(&voting[0], voting[0].listen)?;
    let change = sets.membership.removal(&name);
    let change =
        change.ok_or_else(|| Error::Input(format!("replica {} is not of the set of replicas", args.replica)))?;
    let count = sets.membership.members(u64::MAX).len();
    for config in &voting {
        if !sets.approve(change, &key(config)?, config.listen)? {
            // A quorum approved before.
            break;
        }
    }
    wait("the set does not change", || {
        let finality = connect(voting[0].listen).ok().and_then(|mut client| client.finality().ok());
        Ok(finality.is_some_and(|finality| usize::from(finality.replicas) < count))
    })?;
    output.result(&serde_json::json!({ "dir": dir, "replica": args.replica, "replicas": count - 1 }), |_| {
        format!("replica {} is not of the set of replicas any more, which has {}", args.replica, count - 1)
    });
    end(std::slice::from_ref(leaving), output)?;
    // Neither `start` nor `add` takes it for a replica of the cluster.
    let names = (0..).map(|time| dir.join(format!("removed-{}-{time}", args.replica)));
    let put_away = names.into_iter().find(|path| !path.exists()).expect("some name is free");
    fs::rename(&leaving.folder, &put_away).map_err(|error| Error::file("rename", &leaving.folder, error))
}

/// Runs `turnpike cluster join`.
pub fn join(args: &ClusterJoinArgs, output: Output) -> Result<(), Error> {
    let like = Config::load(&args.like).map_err(Error::other)?;
    let home = Home { number: 0, folder: args.folder.clone() };
    let sets = Sets::of(&like, args.node)?;
    let place = super::init::Place { listen: args.listen, http: args.http, others: args.others };
    let member = joining(&like, &home, &place, sets.membership.members(u64::MAX).to_vec())?;
    if let Some(from) = &args.copy {
        copy(from, &home.config()?.data)?;
    }
    if let Some(at) = args.sync {
        sync::run(&home.config()?, at, output)?;
    }
    let (text, file) = (member.to_string(), home.config_file());
    output.result(&serde_json::json!({ "config": file, "member": text }), |_| {
        format!("{text}\nRun `turnpike serve --config {}`, and have a quorum approve it", file.display())
    });
    Ok(())
}

/// Runs `turnpike cluster approve`.
pub fn approve(args: &ClusterApproveArgs, output: Output) -> Result<(), Error> {
    let config = Config::load(&args.config).map_err(Error::other)?;
    let node = args.node.unwrap_or(config.listen);
    let (sets, key) = (Sets::of(&config, node)?, key(&config)?);
    let change = match (&args.add, &args.remove) {
        (Some(member), _) => sets.membership.addition(member).ok_or("it is of the set already"),
        (_, Some(member)) => sets.membership.removal(&member.name).ok_or("it is not of the set"),
        (None, None) => Err("name the replica with --add or --remove"),
    };
    let change = change.map_err(|text| Error::Input(text.into()))?;
    let joins = change.action() == Ok(MemberAction::Add) && change.votes == key.name().votes.to_bytes();
    if joins {
        let of_others = connect(node)?.finality().map_err(Error::other)?.height;
        let own = standing(config.listen).map_or(0, |(height, _)| height);
        if own + BEHIND < of_others {
            let text = format!("this replica has {own} blocks of {of_others}: approve when it has the others'");
            return Err(Error::Failed(text));
        }
    }
    if !sets.approve(change, &key, node)? {
        let text =
            "the set changes already, or has changed since: see `turnpike info`, and approve again if it is needed";
        return Err(Error::Failed(text.into()));
    }
    let generation = change.generation.get();
    output.result(&serde_json::json!({ "generation": generation, "approved": true }), |_| {
        format!("the change of generation {generation} is approved by this replica")
    });
    Ok(())
}
