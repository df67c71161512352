//! Changes of the set of replicas: one joins, or leaves, as a quorum of the set approves.

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use node::Config;
use node::config::Cluster;
use node::state_sync::Present;
use order::Member;
use spv::finality::MemberAction;

use super::change::{Action, Change, check, lock};
use super::copy::copy;
use super::home::Home;
use super::init::{KEY, ReplicaAddresses, replica_addresses, write};
use super::sets::{Approval, Sets, Survey, ask, key};
use super::{NAP, PATIENCE, end, serve, sync};
use crate::cli::{ClusterAddArgs, ClusterApproveArgs, ClusterJoinArgs, ClusterRemoveArgs};
use crate::error::Error;
use crate::output::Output;

/// Maximum lag of a joining replica, in blocks: those of some views, which are in flight.
const BEHIND: u64 = 16;

/// The file in the folder of a replica that `add` has not finished with.
const JOINING: &str = "joining";
/// Content of the mark once the replica has its first data, and may have been started.
const PROVIDED: &str = "has data";

/// Writes the key and the configuration of a joining replica, based on that of another one, into a folder that may be
/// moved to its `home` later.
fn joining(
    like: &Config,
    home: &Home,
    folder: &Path,
    replica: &ReplicaAddresses,
    contacts: Vec<Member>,
) -> Result<Member, Error> {
    let sections = Cluster::generate(&[replica.others], like.cluster.began).map_err(Error::other)?;
    let (secret, section) = sections.into_iter().next().expect("one was asked for");
    let [member] = <[Member; 1]>::try_from(section.replicas).expect("one was asked for");
    let key = home.folder.join(KEY);
    let cluster = Cluster { key, contacts, listen: section.listen, ..like.cluster.clone() };
    let config = Config {
        data: home.folder.join("data"),
        listen: replica.listen,
        http: Some(replica.http),
        cluster,
        ..like.clone()
    };
    config.check().map_err(|error| Error::Input(error.to_string()))?;
    write(&Home { number: home.number, folder: folder.to_owned() }, &config, &secret)?;
    Ok(member)
}

/// The member that a replica's configuration makes.
fn member(config: &Config) -> Result<Member, Error> {
    let name = key(config)?.name();
    let founder = config.cluster.replicas.iter().find(|member| member.name == name).map(|member| member.address);
    let address = config.cluster.listen.or(founder);
    let address = address.ok_or_else(|| Error::Input("`cluster.listen` is empty: set the replica's address".into()))?;
    Ok(Member { name, address })
}

/// Whether `add` has not finished with a replica.
fn is_joining(home: &Home) -> bool {
    home.folder.join(JOINING).exists()
}

/// Whether `add` has not finished with a replica, and has not provided its data yet: it must not start without.
pub fn awaits_data(home: &Home) -> bool {
    fs::read_to_string(home.folder.join(JOINING)).is_ok_and(|state| state != PROVIDED)
}

/// Creates the folder of a joining replica, or finds the one that an earlier command began.
fn prepare(args: &ClusterAddArgs, dir: &Path, homes: &[Home], survey: &Survey, output: Output) -> Result<Home, Error> {
    if let Some(home) = homes.iter().find(|home| is_joining(home)) {
        output.progress(format!("resuming with replica {}, which an earlier `add` began", home.number));
        return Ok(Home::new(dir, home.number));
    }
    let number = homes.last().map_or(0, |home| home.number + 1);
    let home = Home::new(dir, number);
    let mut replica = replica_addresses(1, 0)?.pop().expect("one was asked for");
    replica.listen = args.listen.unwrap_or(replica.listen);
    replica.http = args.http.unwrap_or(replica.http);
    replica.others = args.others.unwrap_or(replica.others);
    let members = survey.sets.membership.members(u64::MAX).to_vec();
    // Made under another name: `start` and `stop` could not read the folder of a replica that an interrupted command
    // left without its configuration, and without its mark it would stay a replica that never joins.
    let folder = dir.join(format!("new-replica-{number}"));
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file("remove", &folder, error)),
        _ => {}
    }
    joining(&survey.newest()?.config, &home, &folder, &replica, members)?;
    let mark = folder.join(JOINING);
    fs::write(&mark, "").map_err(|error| Error::file("write", &mark, error))?;
    fs::rename(&folder, &home.folder).map_err(|error| Error::file("rename", &folder, error))?;
    Ok(home)
}

/// Provides a joining replica's first data, unless it has some.
fn provide(args: &ClusterAddArgs, dir: &Path, home: &Home, survey: &Survey, output: Output) -> Result<(), Error> {
    let (config, mark) = (home.config()?, home.folder.join(JOINING));
    let state = fs::read_to_string(&mark).map_err(|error| Error::file("read", &mark, error))?;
    if state == PROVIDED {
        return Ok(());
    }
    if let Some(number) = args.copy {
        if config.data.exists() {
            // A partial copy of an earlier command. It has never voted.
            fs::remove_dir_all(&config.data).map_err(|error| Error::file("remove", &config.data, error))?;
        }
        let copied = Home::new(dir, number);
        let from = copied.config()?.data;
        end(std::slice::from_ref(&copied), output)?;
        let result = copy(&from, &config.data);
        // Whatever became of the copy.
        serve(vec![copied], output)?;
        result?;
    } else if !args.replay {
        let http = survey.members().find_map(|replica| replica.config.http);
        let http = http.ok_or_else(|| Error::Input("no running replica has an HTTP address: use --replay".into()))?;
        sync::run(&config, http, Present::Extend, output)?;
    }
    fs::write(&mark, PROVIDED).map_err(|error| Error::file("write", &mark, error))
}

/// Runs `turnpike cluster add`.
pub fn add(args: &ClusterAddArgs, output: Output) -> Result<(), Error> {
    let dir = args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))?;
    let _lock = lock(&dir, output)?;
    let homes = Home::all(&dir)?;
    if let Some(copied) = args.copy.filter(|copied| !homes.iter().any(|home| home.number == *copied)) {
        return Err(Error::Input(format!("no replica {copied}: name one listed by `turnpike cluster status`")));
    }
    let survey = Survey::new(&homes)?;
    check(None, &survey)?;
    let home = prepare(args, &dir, &homes, &survey, output)?;
    let (number, config) = (home.number, home.config()?);
    let member = member(&config)?;
    let others = Vec::from_iter(homes.into_iter().filter(|home| home.number != number));
    let change = Change { action: Action::Add, member: &member, homes: &others, output };
    if !survey.sets.contains(&member.name) {
        if let Some(copied) = args.copy {
            output.progress(format!("replica {number} begins with a copy of the data of replica {copied}"));
        }
        // Copying stops a replica meanwhile, so it precedes the step in which all must answer.
        if args.copy.is_some() {
            provide(args, &dir, &home, &survey, output)?;
        }
        let survey = change.make(|survey, approved| approved >= survey.sets.size().1)?;
        output.progress(format!("the others approve that replica {number} joins"));
        if args.copy.is_none() {
            provide(args, &dir, &home, &survey, output)?;
        }
    }
    serve(vec![Home::new(&dir, number)], output)?;
    wait_for_blocks(&others, &config, output)?;
    output.progress(format!("replica {number} has caught up with the others, and approves"));
    let all = Home::all(&dir)?;
    Change { homes: &all, ..change }.make(|_, _| false)?;
    wait("the new replica does not take part", || ask(config.listen).is_ok_and(|finality| finality.replica.is_some()))?;
    let mark = home.folder.join(JOINING);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file("remove", &mark, error)),
        _ => {}
    }
    let text = member.to_string();
    output.result(&serde_json::json!({ "dir": dir, "replica": number, "member": text }), |_| {
        format!("replica {number} is a member of the set of replicas: {text}")
    });
    Ok(())
}

/// Waits until something is so.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), Error> {
    let since = Instant::now();
    while !is_so() {
        if since.elapsed() > PATIENCE {
            let text = format!(
                "{what} within {PATIENCE:?}: see `turnpike cluster status` and the logs, then run the command again"
            );
            return Err(Error::Failed(text));
        }
        sleep(NAP);
    }
    Ok(())
}

/// Waits until a replica has the others' blocks, as long as it gets more.
fn wait_for_blocks(others: &[Home], config: &Config, output: Output) -> Result<(), Error> {
    let (mut height, mut moved, mut told) = (0, Instant::now(), Instant::now());
    loop {
        let of_others = Survey::new(others)?.height();
        let own = ask(config.listen).map_or(0, |finality| finality.height);
        if own + BEHIND >= of_others {
            return Ok(());
        }
        if own > height {
            (height, moved) = (own, Instant::now());
        }
        if moved.elapsed() > PATIENCE {
            return Err(Error::Failed(format!(
                "the new replica received no block within {PATIENCE:?}, and has {own} of {of_others}: see its log, \
                 then run the command again"
            )));
        }
        if told.elapsed() > PATIENCE / 20 {
            output.progress(format!("block {own} of {of_others}"));
            told = Instant::now();
        }
        sleep(NAP);
    }
}

/// Runs `turnpike cluster remove`.
pub fn remove(args: &ClusterRemoveArgs, output: Output) -> Result<(), Error> {
    let dir = args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))?;
    let _lock = lock(&dir, output)?;
    let homes = Home::all(&dir)?;
    let leaving = homes.iter().find(|home| home.number == args.replica);
    let leaving = leaving.ok_or_else(|| {
        Error::Input(format!("no replica {}: name one listed by `turnpike cluster status`", args.replica))
    })?;
    let member = member(&leaving.config()?)?;
    let survey = Survey::new(&homes)?;
    let change = Change { action: Action::Remove, member: &member, homes: &homes, output };
    let survey = if survey.sets.contains(&member.name) {
        check(Some(&member.name), &survey)?;
        change.make(|_, _| false)?
    } else {
        output.progress(format!(
            "replica {} is not a member of the set: stopping it and moving its folder away",
            args.replica
        ));
        survey
    };
    let (left, _) = survey.sets.size();
    output.result(&serde_json::json!({ "dir": dir, "replica": args.replica, "replicas": left }), |_| {
        format!("replica {} is no longer a member of the set of replicas, which has {left}", args.replica)
    });
    end(std::slice::from_ref(leaving), output)?;
    // Neither `start` nor `add` counts it as a replica of the cluster.
    let names = (0..).map(|time| dir.join(format!("removed-{}-{time}", args.replica)));
    let put_away = names.into_iter().find(|path| !path.exists()).expect("some name is free");
    fs::rename(&leaving.folder, &put_away).map_err(|error| Error::file("rename", &leaving.folder, error))
}

/// Runs `turnpike cluster join`.
pub fn join(args: &ClusterJoinArgs, output: Output) -> Result<(), Error> {
    let like = Config::load(&args.like).map_err(Error::other)?;
    let home = Home { number: 0, folder: args.folder.clone() };
    let sets = Sets::from_node(&like, args.node)?;
    let replica = ReplicaAddresses { listen: args.listen, http: args.http, others: args.others };
    let member = joining(&like, &home, &home.folder, &replica, sets.membership.members(u64::MAX).to_vec())?;
    if let Some(from) = &args.copy {
        copy(from, &home.config()?.data)?;
    }
    if let Some(at) = args.sync {
        sync::run(&home.config()?, at, Present::Extend, output)?;
    }
    let (text, file) = (member.to_string(), home.config_file());
    output.result(&serde_json::json!({ "config": file, "member": text }), |_| {
        format!("{text}\nRun `turnpike serve --config {}`, and have a quorum approve it", file.display())
    });
    Ok(())
}

/// Checks that a joining replica has the node's blocks, up to [`BEHIND`].
fn check_blocks(config: &Config, node: SocketAddr) -> Result<(), Error> {
    let of_others = ask(node).map_err(Error::other)?.height;
    let own = ask(config.listen).map_or(0, |finality| finality.height);
    if own + BEHIND < of_others {
        let text = format!("this replica has {own} blocks of {of_others}: approve when it has caught up");
        return Err(Error::Failed(text));
    }
    Ok(())
}

/// Runs `turnpike cluster approve`.
pub fn approve(args: &ClusterApproveArgs, output: Output) -> Result<(), Error> {
    let config = Config::load(&args.config).map_err(Error::other)?;
    let node = args.node.unwrap_or(config.listen);
    let (sets, key) = (Sets::from_node(&config, node)?, key(&config)?);
    let change = match (&args.add, &args.remove) {
        (Some(member), _) => {
            sets.membership.addition(member).ok_or("the replica is already a member of the set, or the set is full")
        }
        (_, Some(member)) => sets.membership.removal(&member.name).ok_or("the replica is not a member of the set"),
        (None, None) => Err("name the replica with --add or --remove"),
    };
    let change = change.map_err(|text| Error::Input(text.into()))?;
    if change.action() == Ok(MemberAction::Add) && change.votes == key.name().votes.to_bytes() {
        check_blocks(&config, node)?;
    }
    let failed = match sets.approve(change, &key, node)? {
        Approval::Ordered => None,
        Approval::Stale => Some(
            "a change of the set is decided and takes effect with the next epoch: wait until `turnpike info` shows the \
             next generation, then approve again if it is needed",
        ),
        Approval::Unanswered => {
            Some("the approval was not ordered in time: check that a quorum runs, then approve again")
        }
    };
    if let Some(text) = failed {
        return Err(Error::Failed(text.into()));
    }
    let generation = change.generation.get();
    output.result(&serde_json::json!({ "generation": generation, "approved": true }), |_| {
        format!("this replica approved the change of generation {generation}")
    });
    Ok(())
}
