//! The program. `cli` has the command line, `commands` a file for each command.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod against;
mod capture;
mod checkpoint_file;
mod cli;
mod commands;
mod error;
mod file;
mod header_file;
mod hex;
mod http;
mod log;
mod operation_text;
mod output;
mod process;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::cli::Cli;
use crate::output::Output;

fn main() -> ExitCode {
    let matches = cli::pages::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let output = Output::new(cli.json);
    if let Err(error) = log::start(&cli) {
        output.error(&error);
        return ExitCode::FAILURE;
    }
    // Connections, segments of chains and tables of the index are files; a login's limit is 1,024 of them.
    node::open_files::raise();
    match commands::run(cli.command, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::from(error.exit_status())
        }
    }
}
