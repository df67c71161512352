//! `turnpike config`: checks a configuration, or prints the default one.

use node::Config;
use node::config::DEFAULT_TOML;
use serde_json::json;

use crate::cli::ConfigCommand;
use crate::error::Error;
use crate::output::Output;

/// Runs `turnpike config`.
pub fn run(command: &ConfigCommand, output: Output) -> Result<(), Error> {
    match command {
        ConfigCommand::Check { file } => {
            let config = Config::load(file).map_err(|error| Error::Input(format!("{}: {error}", file.display())))?;
            output.result(&config, |_| format!("{} is a valid configuration", file.display()));
        }
        ConfigCommand::Default => output.result(&json!({ "toml": DEFAULT_TOML }), |_| DEFAULT_TOML.trim_end().into()),
    }
    Ok(())
}
