//! `turnpike completions` and `turnpike man`: made from the parser, so they can't be out of date.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::pages;
use crate::error::Error;

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) {
    clap_complete::generate(shell, &mut pages::command(), "turnpike", &mut io::stdout());
}

/// Writes the man pages of the program and of every command below it.
pub fn man(directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|error| Error::file("create the folder", directory, error))?;
    let mut command = pages::command().disable_help_subcommand(true);
    command.build();
    write(&command, "", directory)
}

/// Writes the pages of a command and of those below it.
fn write(command: &Command, path: &str, directory: &Path) -> Result<(), Error> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write(sub, format!("{path} {}", sub.get_name()).trim_start(), directory)?;
    }
    let file = directory.join(Man::new(command.clone()).get_filename());
    let page = page(command, path).map_err(|error| Error::file("make the man page", &file, error))?;
    fs::write(&file, page).map_err(|error| Error::file("write the man page", &file, error))
}

/// The page of a command.
fn page(command: &Command, path: &str) -> io::Result<Vec<u8>> {
    let source = format!("turnpike {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual("Turnpike");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(command).to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    definitions(&mut roff, "EXIT STATUS", &pages::exit_status(path));
    definitions(&mut roff, "ENVIRONMENT", pages::ENVIRONMENT);
    definitions(&mut roff, "FILES", pages::files(path));
    let examples = pages::examples(path);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for example in examples {
            roff.text([roman(*example)]);
        }
        roff.control("fi", []);
    }
    see_also(&mut roff, path);
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// The synopsis of a command, with the values of options as in its help.
fn synopsis(command: &Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).text([bold(usage.trim_start_matches("Usage: "))]);
    roff
}

/// A section of terms with their meanings, omitted if there are no terms.
fn definitions(roff: &mut Roff, heading: &str, terms: &[(&str, &str)]) {
    if terms.is_empty() {
        return;
    }
    roff.control("SH", [heading]);
    for (term, meaning) in terms {
        roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}

/// The pages above this one.
fn see_also(roff: &mut Roff, path: &str) {
    let mut words = vec!["turnpike"];
    words.extend(path.split(' ').filter(|word| !word.is_empty()));
    if words.len() > 1 {
        let above = (1..words.len()).map(|length| format!("{}(1)", words[..length].join("-")));
        roff.control("SH", ["SEE ALSO"]).text([roman(above.collect::<Vec<_>>().join(", "))]);
    }
}
