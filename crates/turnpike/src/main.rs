//! The program. `cli` has the command line, `commands` a file for each command.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod against;
mod capture;
mod cli;
mod commands;
mod error;
mod file;
mod header_file;
mod hex;
mod output;
mod process;
mod way_file;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, LogFormat};
use crate::output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let filter = match EnvFilter::try_new(&cli.log) {
        Ok(filter) => filter,
        Err(error) => {
            output.error(&error::Error::Input(format!("--log {}: {error}; expected a level such as info", cli.log)));
            return ExitCode::FAILURE;
        }
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    match cli.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    match commands::run(cli.command, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::from(error.exit_status())
        }
    }
}
