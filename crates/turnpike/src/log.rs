//! The log on standard error, whose filter can be changed while the program runs.

use std::{
    io::{self, IsTerminal},
    sync::OnceLock,
};

use tracing_subscriber::{EnvFilter, reload};

use crate::{
    cli::{Cli, LogFormat},
    error::Error,
};

/// The filter if neither the command line nor a configuration sets one.
const DEFAULT: &str = "info";

/// Libraries whose events of `info` are about their own files, or make a span of each vote. The filter can override it.
const LIBRARIES: &str = "fjall=warn,lsm_tree=warn,commonware=warn";

type SetFilter = Box<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>;

/// Replaces the filter, unless the command line has set it.
static SET_FILTER: OnceLock<Option<SetFilter>> = OnceLock::new();

/// Starts to log.
pub fn start(cli: &Cli) -> Result<(), Error> {
    let filter = parse("--log", cli.log.as_deref().unwrap_or(DEFAULT))?;
    // Colours are for terminals only, and for those who want them there (no-color.org).
    let is_coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    // It would print its own errors to standard error, and panic: the log may be on a full disk.
    let log = log.log_internal_errors(false).with_ansi(is_coloured);
    let set_filter: SetFilter = match cli.log_format {
        LogFormat::Text => {
            let log = log.with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |filter| handle.reload(filter))
        }
        LogFormat::Json => {
            let log = log.json().with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |filter| handle.reload(filter))
        }
    };
    // Started once.
    let _ = SET_FILTER.set(cli.log.is_none().then_some(set_filter));
    Ok(())
}

/// Logs what the key `log` of a configuration says, unless the command line has said.
pub fn configure(directives: &str) -> Result<(), Error> {
    let filter = check(directives)?;
    match SET_FILTER.get() {
        Some(Some(set_filter)) => set_filter(filter).map_err(Error::other),
        _ => Ok(()),
    }
}

/// Checks the key `log`.
pub fn check(directives: &str) -> Result<EnvFilter, Error> {
    parse("`log`", directives)
}

fn parse(key: &str, directives: &str) -> Result<EnvFilter, Error> {
    EnvFilter::try_new(format!("{LIBRARIES},{directives}")).map_err(|error| {
        Error::Input(format!(
            "{key} is {directives:?}: {error}; set a level such as info, or directives such as node=debug"
        ))
    })
}
