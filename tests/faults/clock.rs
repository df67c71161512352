//! The system's clock as some processes see it, which a test steps forwards and backwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A clock that the processes started with it see.
pub struct Clock {
    shim: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// A clock that is right, with its files in a folder. None without a C compiler.
    pub fn new(folder: &Path, name: &str) -> Option<Self> {
        let shim = folder.join(format!("{name}.so"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/faults/clock_shim.c");
        let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(&source).status();
        if !built.is_ok_and(|status| status.success()) {
            skip::lacking(skip::Ability::Peers, "the clock is shifted by a library that `cc` builds");
            return None;
        }
        let clock = Self { shim, file: folder.join(format!("{name}.shift")) };
        clock.step(0);
        Some(clock)
    }

    /// Has a command see this clock.
    pub fn attach<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.shim).env("SHIFT_FILE", &self.file)
    }

    /// Sets it this number of seconds ahead of the true time.
    pub fn step(&self, ahead: i64) {
        fs::write(&self.file, ahead.to_string()).unwrap();
    }
}
