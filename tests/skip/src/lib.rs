//! How a test tells that this machine lacks what it takes: `return skip::lacking(Ability::Root, "...")`.
//!
//! The harness counts such a test as passed, so it is written down: to stderr, and to the file that `TURNPIKE_SKIPS` names, of
//! which `scripts/test` makes its summary. Under `CI=true` a test fails that lacks what a machine of CI has.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};

/// What a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// To mount file systems.
    Root,
    /// To make network namespaces with devices in them.
    Namespaces,
    /// A compiler for BPF.
    Clang,
    /// BPF programs that were built, and a kernel that takes them with their arenas.
    Bpf,
    /// The simulated NIC, which `make rtl` builds.
    RtlLibrary,
    /// The simulated board, which `make rtl-test NAMES=ecpix5_board` builds, or another one with its NIC.
    Board,
    /// The blocks of Bitcoin that `scripts/fetch-blocks` gets.
    Blocks,
    /// Data of Bitcoin that lies beside the repository on some machines.
    Inputs,
    /// Programs of others that a test compares with.
    Peers,
    /// To open many files at once.
    Descriptors,
    /// Instructions of the processor.
    Processor,
    /// Network cards that are nobody else's.
    Cards,
    /// An RDMA device, whose address `TURNPIKE_RDMA` tells.
    Rdma,
}

impl Ability {
    /// Whether the machines of CI have it. They are any machines with any processor, but root, a kernel and the network are theirs.
    pub const fn is_expected_in_ci(self) -> bool {
        match self {
            Self::Root
            | Self::Namespaces
            | Self::Clang
            | Self::Bpf
            | Self::RtlLibrary
            | Self::Board
            | Self::Blocks
            | Self::Peers => true,
            Self::Descriptors | Self::Inputs | Self::Processor | Self::Cards | Self::Rdma => false,
        }
    }
}

/// Writes down that the calling test is left out, or fails it where that may not be.
///
/// # Panics
///
/// Under `CI=true`, if machines of CI have the ability; and if the skip cannot be written down.
#[track_caller]
pub fn lacking(ability: Ability, reason: impl Display) {
    Surroundings::from_variables(|name| std::env::var_os(name)).lacking(&caller(Location::caller()), ability, &reason);
}

/// One of the real Bitcoin blocks' files that `scripts/fetch-blocks` gets, or of the folder that `TURNPIKE_BLOCKS` names. Where it is
/// not there the calling test is left out, as by [`lacking`].
///
/// # Panics
///
/// As [`lacking`].
#[track_caller]
pub fn blocks(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TURNPIKE_BLOCKS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/blocks"));
    let path = folder.join(name);
    if !path.exists() {
        lacking(Ability::Blocks, format_args!("{} is not there; scripts/fetch-blocks gets it", path.display()));
        return None;
    }
    Some(path)
}

/// The test's program and name. A thread has no test's name where tests run one after the other; then the place tells.
fn caller(place: &Location) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Behind the last hyphen is what cargo tells builds apart by.
    let mut program = program.rsplit_once('-').map_or(&*program, |(name, _)| name).to_owned();
    // Files of several packages have the same name.
    if let Ok(package) = std::env::var("CARGO_PKG_NAME") {
        program = format!("{package}/{program}");
    }
    match std::thread::current().name() {
        Some(test) if test != "main" => format!("{program}::{test}"),
        _ => format!("{program} ({place})"),
    }
}

/// What the environment asks for.
struct Surroundings {
    is_ci: bool,
    list: Option<PathBuf>,
}

impl Surroundings {
    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        Self {
            is_ci: variable("CI").is_some_and(|ci| ci == "true"),
            list: variable("TURNPIKE_SKIPS").map(PathBuf::from),
        }
    }

    #[track_caller]
    fn lacking(&self, test: &str, ability: Ability, reason: &dyn Display) {
        // One line, whatever a tool has said.
        let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            !(self.is_ci && ability.is_expected_in_ci()),
            "a machine of CI has to have {ability:?}, but {test} lacks it: {reason}"
        );
        // Not by `eprintln`: the harness keeps that of tests that pass to itself.
        let _ = writeln!(io::stderr(), "skipped: {test} lacks {ability:?}: {reason}");
        if let Some(list) = &self.list {
            append(list, &format!("{test}\t{ability:?}\t{reason}\n"));
        }
    }
}

/// Appends a line in one write, as tests of several threads and programs do so at once.
#[track_caller]
fn append(list: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(list);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        panic!("a skip cannot be written to {} (TURNPIKE_SKIPS): {error}", list.display());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::panic::catch_unwind;

    use super::*;

    fn surroundings(ci: Option<&str>, list: &Path) -> Surroundings {
        Surroundings::from_variables(|name| match name {
            "CI" => ci.map(OsString::from),
            "TURNPIKE_SKIPS" => Some(list.into()),
            other => panic!("{other} is none of ours"),
        })
    }

    #[test]
    fn a_skip_is_a_line_with_test_ability_and_reason() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        let here = caller(Location::caller());
        for ci in [None, Some("false")] {
            surroundings(ci, &list).lacking(&here, Ability::Root, &"mount:\n\tnot permitted");
        }
        assert!(here.ends_with("turnpike_skip::tests::a_skip_is_a_line_with_test_ability_and_reason"), "{here}");
        assert_eq!(fs::read_to_string(list).unwrap(), format!("{here}\tRoot\tmount: not permitted\n").repeat(2));
    }

    #[test]
    fn ci_fails_a_test_that_lacks_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        let ci = surroundings(Some("true"), &list);
        let failure = catch_unwind(|| ci.lacking("suite::test", Ability::Bpf, &"not permitted")).unwrap_err();
        let failure = failure.downcast_ref::<String>().unwrap();
        assert!(failure.contains("Bpf") && failure.contains("suite::test") && failure.contains("not permitted"));
        assert!(!list.exists(), "what fails is not skipped");
        ci.lacking("suite::test", Ability::Processor, &"the processor has no AVX-512");
        assert_eq!(fs::read_to_string(list).unwrap(), "suite::test\tProcessor\tthe processor has no AVX-512\n");
    }

    #[test]
    fn a_skip_that_cannot_be_written_down_fails() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = surroundings(None, &folder.path().join("nowhere/list"));
        assert!(catch_unwind(|| nowhere.lacking("suite::test", Ability::Cards, &"none")).is_err());
    }
}
