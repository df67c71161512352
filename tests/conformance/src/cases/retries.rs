//! Retries while more operations come than the node can remember: money moves once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use wire::{BatchFormat, Command, CompactEntry, CompactFrame, Promise, Reply, Status};
use zerocopy::IntoBytes;

use super::cases;
use crate::session::{Session, batch, entry_results};
use crate::{Link, SmallMemory, Stop, ensure, ensure_eq};

cases! {
    "retries: the retry time is told" => told,
    "retries: a compact frame under load moves money once" => compact,
    "retries: an entry of a batch under load moves money once" => entry,
}

/// Operations that the load has on their way at once: a batch of them fits one packet of Ethernet.
const BURST: usize = 50;

/// How often a retry is sent under load.
const RETRIES: u32 = 5;

fn told(session: &mut Session) -> Result<(), Stop> {
    let memory = small(session)?;
    let told = session.info()?.retry_milliseconds.get();
    ensure_eq!(Duration::from_millis(told.into()), memory.time, "the retry time");
    Ok(())
}

fn compact(session: &mut Session) -> Result<(), Stop> {
    money_moves_once(session, Form::Frame)
}

fn entry(session: &mut Session) -> Result<(), Stop> {
    money_moves_once(session, Form::Entry)
}

fn small(session: &Session) -> Result<SmallMemory, Stop> {
    session.target.retries.ok_or(Stop::Skipped("the node remembers more operations than a case can send"))
}

/// How operations are sent.
#[derive(Clone, Copy)]
enum Form {
    Frame,
    Entry,
}

impl Form {
    fn ask(self, session: &mut Session, frame: &CompactFrame) -> Result<(Status, u32), Stop> {
        if let Self::Frame = self {
            return session.compact(frame);
        }
        let entry = CompactEntry::from(*frame);
        let request = batch(session.fresh(), BatchFormat::Compact, entry.as_bytes(), 1, Promise::Default);
        let results = entry_results(&session.link.ask(&request)?)?;
        results.first().copied().ok_or(Stop::Failed("a batch of one was answered with none".to_owned()))
    }
}

/// Operations of an account of its own, many at once.
struct Load {
    link: Link,
    form: Form,
    account: u32,
    transaction: u32,
    executed: usize,
    busy: usize,
}

impl Load {
    fn new(session: &mut Session, form: Form, time: Duration) -> Result<Self, Stop> {
        let mut link = Link::open(session.target.trusted, session.target.node)?;
        link.set_patience(time / 20)?;
        let account = opened(session, form)?;
        Ok(Self { link, form, account, transaction: session.fresh(), executed: 0, busy: 0 })
    }

    /// Sends some, and takes the answers that come. An answer that is lost is that of an operation less.
    fn burst(&mut self) -> Result<(), Stop> {
        let frames: Vec<_> = (0..BURST)
            .map(|_| {
                self.transaction = self.transaction.wrapping_add(1);
                CompactFrame::new(Command::Issue, self.transaction, self.account, 0, 1)
            })
            .collect();
        match self.form {
            Form::Frame => frames.iter().try_for_each(|frame| self.link.send(frame.as_bytes()))?,
            Form::Entry => {
                let entries: Vec<CompactEntry> = frames.into_iter().map(CompactEntry::from).collect();
                let id = self.transaction;
                self.link.send(&batch(id, BatchFormat::Compact, entries.as_bytes(), BURST, Promise::Default))?;
            }
        }
        let mut missing = if let Form::Frame = self.form { BURST } else { 1 };
        while missing > 0
            && let Some(reply) = self.link.receive()?
        {
            missing -= 1;
            let results = match (self.form, Reply::parse(&reply)) {
                (Form::Frame, Ok(Reply::Compact(frame))) => {
                    vec![(frame.status().unwrap_or(Status::Malformed), frame.value())]
                }
                _ => entry_results(&reply)?,
            };
            for (status, _) in results {
                match status {
                    Status::Ok => self.executed += 1,
                    Status::Busy => self.busy += 1,
                    other => return Err(Stop::Failed(format!("an operation of the load gave {other:?}"))),
                }
            }
        }
        Ok(())
    }
}

/// Sends an operation until it is not BUSY, which ends with the retry time of what came before. What it gave, and when it was sent.
fn until_taken(session: &mut Session, form: Form, frame: &CompactFrame) -> Result<((Status, u32), Instant), Stop> {
    let start = Instant::now();
    let most = 2 * small(session)?.time + session.target.block_patience;
    loop {
        let sent = Instant::now();
        let result = form.ask(session, frame)?;
        if result.0 != Status::Busy {
            return Ok((result, sent));
        }
        ensure!(start.elapsed() < most, "new operations are BUSY when the retry time is over");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A fresh account.
fn opened(session: &mut Session, form: Form) -> Result<u32, Stop> {
    let account = session.fresh();
    let create = CompactFrame::new(Command::Create, session.fresh(), account, 0, 0);
    ensure_eq!(until_taken(session, form, &create)?.0, (Status::Ok, 0), "CREATE");
    Ok(account)
}

fn money_moves_once(session: &mut Session, form: Form) -> Result<(), Stop> {
    let SmallMemory { operations, time } = small(session)?;
    // What is lost on the way is sent again soon, so that it comes within the retry time.
    session.link.set_patience(time / 20)?;
    let (payer, payee) = (opened(session, form)?, opened(session, form)?);
    let (mut own, mut other) = (Load::new(session, form, time)?, Load::new(session, form, time)?);
    let issue = CompactFrame::new(Command::Issue, session.fresh(), payer, 0, 100);
    ensure_eq!(until_taken(session, form, &issue)?.0, (Status::Ok, 100), "ISSUE");

    let transfer = CompactFrame::new(Command::Transfer, session.fresh(), payer, payee, 10);
    let changed = CompactFrame::new(Command::Transfer, session.last_id, payer, payee, 11);
    let (first, begun) = until_taken(session, form, &transfer)?;
    ensure_eq!(first, (Status::Ok, 90), "TRANSFER");
    let in_time = |what: &str| -> Result<(), Stop> {
        ensure!(begun.elapsed() < time, "{what} came after the retry time: this machine is too slow for the case");
        Ok(())
    };

    while own.busy == 0 {
        own.burst()?;
        in_time("what fills the memory")?;
        ensure!(own.executed <= operations, "{} were executed where {operations} are remembered", own.executed);
    }

    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let load = scope.spawn(|| -> Result<(), Stop> {
            while !stop.load(Relaxed) {
                other.burst()?;
                answered.store(other.executed + other.busy, Relaxed);
            }
            Ok(())
        });
        let retried = (0..RETRIES).try_for_each(|_| {
            let before = answered.load(Relaxed);
            while answered.load(Relaxed) == before && !load.is_finished() {
                in_time("the load")?;
                thread::sleep(Duration::from_millis(1));
            }
            let again = form.ask(session, &transfer)?;
            in_time("a retry")?;
            ensure!(again == first || again.0 == Status::Busy, "a retry under load gave {again:?}");
            let (status, _) = form.ask(session, &changed)?;
            in_time("another operation of the same id")?;
            let allowed = [Status::TransactionIdReused, Status::Busy];
            ensure!(allowed.contains(&status), "another operation of the same id gave {status:?}");
            ensure_eq!([session.balance(payer)?, session.balance(payee)?], [90, 10], "balances after a retry");
            thread::sleep(time / (4 * RETRIES));
            Ok(())
        });
        stop.store(true, Relaxed);
        let load = load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        retried.and(load)
    })?;

    let issue = CompactFrame::new(Command::Issue, session.fresh(), payer, 0, 1);
    ensure_eq!(until_taken(session, form, &issue)?.0, (Status::Ok, 91), "ISSUE when the retry time is over");
    ensure_eq!(session.balance(payee)?, 10, "the receiver's balance");
    Ok(())
}
