//! `turnpike coproc`: runs, assembles and disassembles programs of the pairing coprocessor.

use std::fs;
use std::path::Path;

use coproc::{Machine, Program, RunState, assemble, disassemble};
use serde::Serialize;

use crate::cli::{CoprocAssembleArgs, CoprocCommand, CoprocDisassembleArgs, CoprocRunArgs};
use crate::error::Error;
use crate::output::Output;

/// The result of a run.
#[derive(Serialize)]
struct RunReport {
    state: String,
    /// The program counter.
    counter: u16,
    interrupts: Vec<SentInterrupt>,
}

#[derive(Serialize)]
struct SentInterrupt {
    index: u16,
    value: String,
}

#[derive(Serialize)]
struct ImageReport {
    instructions: usize,
    slots: usize,
    bytes: usize,
}

/// Runs `turnpike coproc`.
pub fn run(command: &CoprocCommand, output: Output) -> Result<(), Error> {
    match command {
        CoprocCommand::Run(args) => execute(args, output),
        CoprocCommand::Assemble(args) => write_image(args, output),
        CoprocCommand::Disassemble(args) => write_text(args, output),
    }
}

/// A program out of an image or a text, which never begins as images do.
fn read(path: &Path) -> Result<Program, Error> {
    let bytes = fs::read(path).map_err(|source| Error::file("read", path, source))?;
    let wrong = |error: &dyn std::fmt::Display| Error::Input(format!("{}: {error}", path.display()));
    if bytes.starts_with(b"TPCP") {
        return Program::from_image(&bytes).map_err(|error| wrong(&error));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong(&"the file is neither an image nor text"))?;
    assemble(&text).map_err(|error| wrong(&error))
}

fn execute(args: &CoprocRunArgs, output: Output) -> Result<(), Error> {
    let mut machine = Machine::new(&read(&args.file)?);
    let interrupts = machine.run(args.instructions);
    let state = match machine.state() {
        RunState::Waiting => "waiting".to_string(),
        RunState::Running => format!("running after {} instructions", args.instructions),
        RunState::Faulted(fault) => format!("faulted: {fault}"),
    };
    let sent =
        |interrupt: &coproc::Interrupt| SentInterrupt { index: interrupt.index, value: interrupt.value.to_string() };
    let report = RunReport { state, counter: machine.counter(), interrupts: interrupts.iter().map(sent).collect() };
    output.result(&report, |report| {
        let lines = report.interrupts.iter().map(|sent| format!("interrupt {}: {}\n", sent.index, sent.value));
        format!("{}{} at instruction {}", lines.collect::<String>(), report.state, report.counter)
    });
    if machine.state() == RunState::Waiting {
        return Ok(());
    }
    Err(Error::Failed(format!("the program did not reach NOOP_WAIT: {}", report.state)))
}

fn write_image(args: &CoprocAssembleArgs, output: Output) -> Result<(), Error> {
    let program = read(&args.file)?;
    let image = program.image();
    fs::write(&args.out, &image).map_err(|source| Error::file("write", &args.out, source))?;
    let (instructions, slots) = (program.instructions().len(), program.slots().len());
    output.result(&ImageReport { instructions, slots, bytes: image.len() }, |report| {
        format!("{} instructions, {} slots, {} bytes", report.instructions, report.slots, report.bytes)
    });
    Ok(())
}

fn write_text(args: &CoprocDisassembleArgs, output: Output) -> Result<(), Error> {
    output.line(disassemble(&read(&args.file)?).trim_end());
    Ok(())
}
