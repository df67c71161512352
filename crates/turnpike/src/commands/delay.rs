//! `turnpike delay`: evaluates and verifies delay functions, and opens time-locks.

use std::fs;
use std::ops::ControlFlow;
use std::time::Instant;

use serde::Serialize;
use verify::vdf::{Delay, Evaluated, Modulus, RSA_1024, RSA_2048, TimeLock};

use super::verify::engine::Engine;
use crate::checkpoint_file::CheckpointFile;
use crate::cli::{DelayCommand, DelayEvaluateArgs, DelayUnlockArgs, DelayVerifyArgs, ModulusChoice};
use crate::error::Error;
use crate::file::replace;
use crate::hex;
use crate::output::{Output, thousands};

/// The result of an evaluation.
#[derive(Serialize)]
struct EvaluatedReport {
    iterations: u64,
    modulus_bits: usize,
    output: String,
    proof_bytes: usize,
    /// Squarings that were found in the file of an evaluation before.
    resumed_at: u64,
    /// The squaring backend.
    backend: &'static str,
    seconds: f64,
}

/// The verdict on a proof.
#[derive(Serialize)]
struct VerifiedReport {
    verified: bool,
    iterations: u64,
    modulus_bits: usize,
    output: String,
    milliseconds: f64,
}

/// The result of a time-lock.
#[derive(Serialize)]
struct UnlockedReport {
    iterations: u64,
    modulus_bits: usize,
    number: String,
    message: Option<String>,
    seconds: f64,
}

/// Runs `turnpike delay`.
pub fn run(command: &DelayCommand, output: Output) -> Result<(), Error> {
    match command {
        DelayCommand::Evaluate(args) => evaluate(args, output),
        DelayCommand::Verify(args) => verify(args, output),
        DelayCommand::Unlock(args) => unlock(args, output),
    }
}

impl ModulusChoice {
    fn read(&self) -> Result<Modulus, Error> {
        match self {
            Self::Rsa1024 => Modulus::from_decimal(RSA_1024).map_err(Error::other),
            Self::Rsa2048 => Modulus::from_decimal(RSA_2048).map_err(Error::other),
            Self::File(path) => {
                let text = fs::read_to_string(path).map_err(|source| Error::file("read", path, source))?;
                let digits: String = text.split_whitespace().collect();
                Modulus::from_decimal(&digits).map_err(|error| Error::Input(format!("{}: {error}", path.display())))
            }
        }
    }
}

fn evaluate(args: &DelayEvaluateArgs, output: Output) -> Result<(), Error> {
    let modulus = args.modulus.read()?;
    let input = modulus.hash(args.message.as_bytes());
    let delay = Delay { modulus, input, iterations: args.iterations };
    let mut opened = args.keep.as_deref().map(|path| CheckpointFile::open(path, &delay)).transpose()?;
    let checkpoints = opened.as_mut().map(|(_, checkpoints)| std::mem::take(checkpoints)).unwrap_or_default();
    let resumed_at = checkpoints.last().map_or(0, |checkpoint| checkpoint.at);
    let bar = output.bar("squarings", args.iterations);
    let (start, mut failed) = (Instant::now(), None);
    let evaluated = delay.evaluate(&checkpoints, |checkpoint| {
        bar.set_position(checkpoint.at);
        go_on(opened.as_mut().map_or(Ok(()), |(file, _)| file.append(&checkpoint)), &mut failed)
    });
    bar.finish_and_clear();
    if let Some(error) = failed {
        return Err(error);
    }
    let Some(evaluated) = evaluated.map_err(Error::other)? else {
        return Err(Error::Failed("the evaluation was interrupted".into()));
    };
    let bytes = evaluated.to_bytes();
    fs::write(&args.out, &bytes).map_err(|source| Error::file("write", &args.out, source))?;
    let report = EvaluatedReport {
        iterations: args.iterations,
        modulus_bits: delay.modulus.length() * 8,
        output: hex::encode(&evaluated.output()),
        proof_bytes: bytes.len(),
        resumed_at,
        backend: delay.modulus.backend(),
        seconds: start.elapsed().as_secs_f64(),
    };
    output.result(&report, |report| {
        let from = if resumed_at > 0 { format!(", from {} on", thousands(resumed_at)) } else { String::new() };
        format!(
            "{} squarings modulo {} bits in {:.1} s{from}, with {}; proof of {} bytes in {}\noutput {}",
            thousands(report.iterations),
            report.modulus_bits,
            report.seconds,
            report.backend,
            report.proof_bytes,
            args.out.display(),
            report.output
        )
    });
    Ok(())
}

fn verify(args: &DelayVerifyArgs, output: Output) -> Result<(), Error> {
    let in_file = |error: &dyn std::fmt::Display| Error::Failed(format!("{}: {error}", args.proof.display()));
    let bytes = fs::read(&args.proof).map_err(|source| Error::file("read", &args.proof, source))?;
    let evaluated = Evaluated::from_bytes(&bytes).map_err(|error| in_file(&error))?;
    let modulus = args.modulus.read()?;
    let input = modulus.hash(args.message.as_bytes());
    let Delay { modulus: found, input: found_input, iterations } = evaluated.delay();
    if *found != modulus {
        return Err(in_file(&"the proof is for another modulus"));
    }
    if *found_input != input {
        return Err(in_file(&"the proof is for another message"));
    }
    if *iterations != args.iterations {
        return Err(in_file(&format!("the proof is for {} squarings", thousands(*iterations))));
    }
    let start = Instant::now();
    let mut engine = Engine::new(args.server.get()?.as_ref())?;
    engine.delay(&evaluated, &bytes)?.map_err(|error| in_file(&error))?;
    let report = VerifiedReport {
        verified: true,
        iterations: *iterations,
        modulus_bits: modulus.length() * 8,
        output: hex::encode(&evaluated.output()),
        milliseconds: start.elapsed().as_secs_f64() * 1e3,
    };
    output.result(&report, |report| {
        let VerifiedReport { modulus_bits, output, milliseconds, .. } = report;
        let iterations = thousands(report.iterations);
        format!("verified in {milliseconds:.1} ms: {iterations} squarings modulo {modulus_bits} bits\noutput {output}")
    });
    Ok(())
}

fn unlock(args: &DelayUnlockArgs, output: Output) -> Result<(), Error> {
    let modulus = args.modulus.read()?;
    let modulus_bits = modulus.length() * 8;
    let puzzle = TimeLock::new(modulus);
    let state = match args.keep.as_deref().map(|path| (path, fs::read(path))) {
        Some((path, Ok(bytes))) => puzzle.restore(&bytes).ok_or_else(|| {
            Error::Input(format!("{} is not a saved state of this time-lock: name another file", path.display()))
        })?,
        Some((path, Err(source))) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::file("read", path, source));
        }
        _ => puzzle.start(),
    };
    if state.at > args.iterations {
        return Err(Error::Input(format!("the saved state has {} squarings already", thousands(state.at))));
    }
    let bar = output.bar("squarings", args.iterations);
    let (start, mut failed) = (Instant::now(), None);
    let solved = puzzle.solve(state, args.iterations, |state| {
        bar.set_position(state.at);
        let kept = args.keep.as_deref().map_or(Ok(()), |path| replace("write", path, &puzzle.save(state)));
        go_on(kept, &mut failed)
    });
    bar.finish_and_clear();
    if let Some(error) = failed {
        return Err(error);
    }
    let Some(number) = solved.map_err(Error::other)? else {
        return Err(Error::Failed("opening the time-lock was interrupted".into()));
    };
    let message = args.ciphertext.as_ref().map(|ciphertext| decipher(ciphertext, &number)).transpose()?;
    let report = UnlockedReport {
        iterations: args.iterations,
        modulus_bits,
        number: hex::encode(&number),
        message,
        seconds: start.elapsed().as_secs_f64(),
    };
    output.result(&report, |report| {
        let message = report.message.as_ref().map_or(String::new(), |message| format!("\nmessage {message}"));
        format!("2^(2^{}) is {}{message}", report.iterations, report.number)
    });
    Ok(())
}

/// The message of a time-lock, as LCS35 has it: the exclusive or of the ciphertext and the solution.
fn decipher(ciphertext: &str, number: &[u8]) -> Result<String, Error> {
    let ciphertext = hex::decode(ciphertext).ok_or_else(|| Error::Input("the ciphertext is not hexadecimal".into()))?;
    let length = ciphertext.len().max(number.len());
    let padded = |bytes: &[u8]| [vec![0; length - bytes.len()], bytes.to_vec()].concat();
    let text: Vec<u8> =
        padded(&ciphertext).iter().zip(padded(number)).map(|(a, b)| a ^ b).skip_while(|byte| *byte == 0).collect();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns whether to continue; records a failure.
fn go_on(result: Result<(), Error>, failed: &mut Option<Error>) -> ControlFlow<()> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *failed = Some(error);
            ControlFlow::Break(())
        }
    }
}
