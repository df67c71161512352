//! `turnpike cluster`: replicas on this machine, each its own process, and changes of their set.

mod change;
mod configure;
mod copy;
mod home;
mod init;
mod members;
mod sets;
mod status;
mod sync;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::cli::{ClusterArgs, ClusterCommand};
use crate::error::Error;
use crate::output::Output;
use home::{Home, Started};
use status::Report;

/// Timeout for replicas to start, and to exit.
const PATIENCE: Duration = Duration::from_secs(60);
/// Timeout of a replica's reply.
const ANSWER: Duration = Duration::from_secs(2);
/// Between two looks at whether it has.
const NAP: Duration = Duration::from_millis(50);

/// Runs `turnpike cluster`.
pub fn run(command: &ClusterCommand, output: Output) -> Result<(), Error> {
    match command {
        ClusterCommand::Init(args) => init::run(args, output),
        ClusterCommand::Start(args) => start(args, output),
        ClusterCommand::Status(args) => status::run(args, output),
        ClusterCommand::Key(args) => configure::key(args, output),
        ClusterCommand::Configure(args) => configure::configure(args, output),
        ClusterCommand::Stop(args) => stop(args, output),
        ClusterCommand::Add(args) => members::add(args, output),
        ClusterCommand::Remove(args) => members::remove(args, output),
        ClusterCommand::Join(args) => members::join(args, output),
        ClusterCommand::Sync(args) => sync::sync(args, output),
        ClusterCommand::Approve(args) => members::approve(args, output),
    }
}

fn dir(args: &ClusterArgs) -> Result<PathBuf, Error> {
    args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))
}

/// A replica that is to serve.
struct Launch {
    home: Home,
    started: Option<Started>,
}

impl Launch {
    /// Starts it as soon as no process is left of it: one that ends is waited for.
    fn go_on(&mut self) -> Result<(), Error> {
        let Self { home, started } = self;
        match started {
            Some(Started { child, .. }) => {
                if let Ok(Some(status)) = child.try_wait() {
                    let log = home.log();
                    let text =
                        format!("replica {} exited before it served, {status}: see {}", home.number, log.display());
                    return Err(Error::Failed(text));
                }
            }
            None if home.process().is_none() => *started = home.start()?,
            None => {}
        }
        Ok(())
    }
}

/// Starts those of these that do not run, and waits until all serve.
fn serve(homes: Vec<Home>, output: Output) -> Result<(), Error> {
    let launches = homes.into_iter().map(|home| Launch { home, started: None });
    let mut launches = VecDeque::from_iter(launches);
    let since = Instant::now();
    loop {
        launches.iter_mut().try_for_each(Launch::go_on)?;
        let Some(Launch { home, .. }) = launches.front() else { return Ok(()) };
        let report = Report::new(home)?;
        if report.height.is_some() {
            report.print(output);
            launches.pop_front();
        } else if since.elapsed() > PATIENCE {
            return home.overdue("serve");
        } else {
            sleep(NAP);
        }
    }
}

fn start(args: &ClusterArgs, output: Output) -> Result<(), Error> {
    let homes = Home::all(&dir(args)?)?.into_iter().filter(|home| !members::awaits_data(home));
    serve(homes.collect(), output)
}

/// Stops the processes of these replicas, and waits until all have exited.
fn end(homes: &[Home], output: Output) -> Result<(), Error> {
    for pid in homes.iter().filter_map(Home::process) {
        // It may have exited since.
        let _ = kill_process(pid, Signal::TERM);
    }
    let since = Instant::now();
    for home in homes {
        while home.process().is_some() || home.is_held()? {
            if since.elapsed() > PATIENCE {
                return home.overdue("end");
            }
            sleep(NAP);
        }
        Report::new(home)?.print(output);
    }
    Ok(())
}

fn stop(args: &ClusterArgs, output: Output) -> Result<(), Error> {
    end(&Home::all(&dir(args)?)?, output)
}
