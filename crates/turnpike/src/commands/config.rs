//! `turnpike config`: checks a configuration, prints the default one, or the one that `serve` would run with.

use std::path::Path;

use node::config::DEFAULT_TOML;
use node::{Config, ConfigError};
use serde_json::json;

use super::serve;
use crate::cli::ConfigCommand;
use crate::error::Error;
use crate::log;
use crate::output::Output;

/// Runs `turnpike config`.
pub fn run(command: &ConfigCommand, output: Output) -> Result<(), Error> {
    match command {
        ConfigCommand::Check { file } => check(file, output),
        ConfigCommand::Default => {
            output.result(&json!({ "toml": DEFAULT_TOML }), |_| DEFAULT_TOML.trim_end().into());
            Ok(())
        }
        ConfigCommand::Show(args) => {
            let config = serve::configuration(args)?;
            output.result(&config, |config| config.to_toml().trim_end().into());
            Ok(())
        }
    }
}

/// Checks a file. Everything that is wrong is in the error, a line each.
fn check(file: &Path, output: Output) -> Result<(), Error> {
    let config = Config::load(file).map_err(|error| found(file, &[error.to_string()]))?;
    let files = config.check_files().err().map(|error: ConfigError| error.to_string());
    let filter = log::check(&config.log).err().map(|error| error.to_string());
    let findings = Vec::from_iter(files.into_iter().chain(filter));
    if !findings.is_empty() {
        return Err(found(file, &findings));
    }
    output.result(&config, |_| format!("{} is a valid configuration", file.display()));
    Ok(())
}

fn found(file: &Path, findings: &[String]) -> Error {
    let lines = findings.iter().flat_map(|finding| finding.lines());
    Error::Input(format!("{}: {}", file.display(), Vec::from_iter(lines).join("\n")))
}
