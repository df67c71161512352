//! `turnpike completions` and `turnpike man`: made from the parser, so they can't be out of date.

use std::fs;
use std::io;
use std::path::Path;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::Error;

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "turnpike", &mut io::stdout());
}

/// Writes the man pages of the program and of every command below it.
pub fn man(directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|error| Error::file("make the folder", directory, error))?;
    clap_mangen::generate_to(Cli::command(), directory)
        .map_err(|error| Error::file("write the man pages to", directory, error))
}
