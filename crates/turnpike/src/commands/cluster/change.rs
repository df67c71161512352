//! One change of the set of replicas, approved with the keys of the replicas of this machine.
//!
//! Replicas report a decided change only once it is in effect, and refuse approvals as stale until then. Replicas
//! that lag refuse newer approvals as well. A round therefore begins with the newest sets that any replica reports.
//! It ends early if an approval is stale, and rounds are repeated as long as blocks are executed.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use order::{Member, ReplicaName};
use spv::finality::MemberChange;

use super::home::Home;
use super::sets::{Answering, Approval, Sets, Survey, quorum};
use super::{NAP, PATIENCE};
use crate::error::Error;
use crate::output::Output;

/// Time for a change to take effect before approvals are sent again: someone else may have replaced them.
const REPEAT: Duration = Duration::from_secs(2);

/// The kind of change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Add,
    Remove,
}

/// Holds off other commands that change the set of the same directory: approvals of two changes replace each other.
pub fn lock(dir: &Path, output: Output) -> Result<File, Error> {
    let path = dir.join("members.lock");
    let failed = |error| Error::file("lock", &path, error);
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            output.progress("another command is changing the set of replicas: waiting until it ends");
            file.lock().map_err(failed)?;
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    Ok(file)
}

/// Refuses a change that cannot succeed: too few replicas can approve, or too few would run afterwards. `leaving` is
/// the replica to remove, if the change is a removal.
pub fn check(leaving: Option<&ReplicaName>, survey: &Survey) -> Result<(), Error> {
    let (size, needed) = survey.sets.size();
    if leaving.is_some() && size == 1 {
        let text = "the last replica cannot be removed: stop it with `turnpike cluster stop`";
        return Err(Error::Input(text.into()));
    }
    let running = survey.members().count();
    if running < needed {
        return Err(Error::Input(format!(
            "a change of {size} replicas needs {needed} approvals, but only {running} replicas answer here: start \
             the others with `turnpike cluster start`, or approve on their machines with `turnpike cluster approve`"
        )));
    }
    let (after, left) = match leaving {
        // The new replica is started before it joins.
        None => (size + 1, running + 1),
        Some(name) => (size - 1, survey.members().filter(|replica| replica.key.name() != *name).count()),
    };
    if left < quorum(after) {
        return Err(Error::Input(format!(
            "{after} replicas need {} running, but only {left} would be, so nothing becomes final: start the others \
             first",
            quorum(after)
        )));
    }
    Ok(())
}

/// A change that is being made.
pub struct Change<'a> {
    pub action: Action,
    pub member: &'a Member,
    /// Folders of replicas of this machine, whose keys approve.
    pub homes: &'a [Home],
    pub output: Output,
}

/// The folders whose replicas approved the change of a generation.
#[derive(Default)]
struct Approved {
    generation: u32,
    folders: HashSet<usize>,
}

impl Change<'_> {
    /// Whether the newest set includes the change.
    fn is_made(&self, sets: &Sets) -> bool {
        sets.contains(&self.member.name) == (self.action == Action::Add)
    }

    fn change(&self, sets: &Sets) -> Result<MemberChange, Error> {
        let change = match self.action {
            Action::Add => sets.membership.addition(self.member),
            Action::Remove => sets.membership.removal(&self.member.name),
        };
        change.ok_or_else(|| Error::Input("the set is full: it has 64 replicas".into()))
    }

    /// Sends approvals until the change is in effect, or until `is_done`, which is called before each round with the
    /// number of approvals so far. The replica that joins approves as well if it is among `homes` and answers.
    pub fn make(&self, mut is_done: impl FnMut(&Survey, usize) -> bool) -> Result<Survey, Error> {
        let leaving = (self.action == Action::Remove).then_some(&self.member.name);
        let mut approved = Approved::default();
        let (mut height, mut moved, mut sent) = (0, Instant::now(), None::<Instant>);
        let mut told = String::new();
        loop {
            let survey = Survey::new(self.homes)?;
            if approved.generation != survey.sets.membership.generation() {
                approved = Approved { generation: survey.sets.membership.generation(), ..Approved::default() };
                sent = None;
            }
            if self.is_made(&survey.sets) || is_done(&survey, approved.folders.len()) {
                return Ok(survey);
            }
            if survey.height() > height {
                (height, moved) = (survey.height(), Instant::now());
            }
            if moved.elapsed() > PATIENCE {
                let why =
                    "see `turnpike cluster status` and the logs, then run the command again: it resumes where it ended";
                return Err(Error::Failed(format!(
                    "no block was executed within {PATIENCE:?}, at block {height}: {why}"
                )));
            }
            if sent.is_none_or(|sent| sent.elapsed() > REPEAT) {
                check(leaving, &survey)?;
                let is_stale = self.round(&survey, &mut approved)?;
                sent = Some(Instant::now());
                let state = match is_stale {
                    true => "a change is decided; it takes effect with the next epoch".into(),
                    false => {
                        format!("{} replicas approved, {} needed", approved.folders.len(), survey.sets.size().1)
                    }
                };
                if told != state {
                    self.output.progress(&state);
                    told = state;
                }
            }
            sleep(NAP);
        }
    }

    /// Sends the approvals of all that answer, those of the replica that leaves or joins last. Whether one was stale.
    fn round(&self, survey: &Survey, approved: &mut Approved) -> Result<bool, Error> {
        let (change, newest) = (self.change(&survey.sets)?, survey.newest()?);
        let is_it = |replica: &Answering| replica.key.name() == self.member.name;
        let mut signers = Vec::from_iter(survey.answering.iter().filter(|replica| {
            survey.sets.contains(&replica.key.name()) || (self.action == Action::Add && is_it(replica))
        }));
        signers.sort_by_key(|replica| is_it(replica));
        for replica in signers {
            // A joining replica cannot send an approval to its own node before it has the others' blocks.
            let node = if is_it(replica) { newest } else { replica };
            let mut outcome = survey.sets.approve(change, &replica.key, node.config.listen)?;
            if outcome == Approval::Stale && newest.folder != node.folder {
                outcome = survey.sets.approve(change, &replica.key, newest.config.listen)?;
            }
            match outcome {
                Approval::Ordered => drop(approved.folders.insert(replica.folder)),
                Approval::Stale => return Ok(true),
                Approval::Unanswered => {}
            }
        }
        Ok(false)
    }
}
