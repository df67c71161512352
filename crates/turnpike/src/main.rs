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
mod http;
mod operation_text;
mod output;
mod process;
mod way_file;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, LogFormat};
use crate::output::Output;

/// Libraries whose events of `info` are about their own files, or make a span of each vote. What `--log` says of them holds.
const LIBRARIES: &str = "fjall=warn,lsm_tree=warn,commonware=warn";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let filter = match EnvFilter::try_new(format!("{LIBRARIES},{}", cli.log)) {
        Ok(filter) => filter,
        Err(error) => {
            output.error(&error::Error::Input(format!("--log {}: {error}; expected a level such as info", cli.log)));
            return ExitCode::FAILURE;
        }
    };
    // Colours are for terminals only, and for those who want them there (no-color.org).
    let is_coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    // Its own errors it would print to standard error, and panic: the log may be on a disk that is full.
    let log = log.log_internal_errors(false);
    let log = log.with_ansi(is_coloured);
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
