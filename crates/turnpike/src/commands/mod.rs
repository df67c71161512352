//! The commands, a file for each.

mod account;
mod backup;
mod check;
mod cluster;
mod config;
mod coproc;
mod delay;
mod demo;
mod doctor;
mod doctor_data;
mod feed;
mod headers;
mod import;
mod in_nic;
mod info;
mod key;
mod kv;
mod kv_options;
mod kv_process;
mod link;
mod load;
mod manual;
mod plan;
mod proof;
mod replay;
mod serve;
mod top;
mod verify;

use rustix::fs::Mode;

use crate::cli::Command;
use crate::error::Error;
use crate::output::Output;

/// Runs a command.
pub fn run(command: Command, output: Output) -> Result<(), Error> {
    let opens_stores = matches!(
        command,
        Command::Serve(_)
            | Command::InNic(_)
            | Command::Import(_)
            | Command::Check(_)
            | Command::Backup(_)
            | Command::Demo(_)
    );
    if opens_stores {
        // For the files that key-value stores create in a data directory; all others have explicit modes.
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    match command {
        Command::Serve(args) => serve::run(&args, output),
        Command::InNic(args) => in_nic::run(&args, output),
        Command::Doctor(args) => doctor::run(&args, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Cluster(command) => cluster::run(&command, output),
        Command::Account(command) => account::run(&command, output),
        Command::Key(command) => key::run(&command, output),
        Command::Proof(command) => proof::run(&command, output),
        Command::Headers(args) => headers::run(&args, output),
        Command::Load(args) => load::run(&args, output),
        Command::Replay(args) => replay::run(&args, output),
        Command::Feed(args) => feed::run(&args, output),
        Command::Info(args) => info::run(&args, output),
        Command::Top(args) => top::run(&args, output),
        Command::Config(command) => config::run(&command, output),
        Command::Completions { shell } => {
            manual::completions(shell);
            Ok(())
        }
        Command::Man { directory } => manual::man(&directory),
        Command::Import(command) => import::run(&command, output),
        Command::Verify(command) => verify::run(&command, output),
        Command::Check(args) => check::run(&args, output),
        Command::Backup(args) => backup::run(&args, output),
        Command::Delay(command) => delay::run(&command, output),
        Command::Coproc(command) => coproc::run(&command, output),
        Command::Kv(args) => kv::run(&args, output),
        Command::Link(command) => link::run(&command, output),
        Command::Demo(args) => demo::run(&args, output),
    }
}
