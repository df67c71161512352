//! What a benchmark measured, for the page of results: a line for each figure, appended to the file that `TURNPIKE_FIGURES`
//! names. `bench/lib/record` makes JSON of it. Where nothing is named, nothing is written.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// One figure. Names tell it from the others of its benchmark; `bench/benches.toml` may have a goal for it.
#[derive(Clone, Copy, Debug)]
pub struct Figure<'a> {
    /// What was measured.
    pub name: &'a str,
    /// The median.
    pub value: f64,
    /// `ns`, `us`, `ms`, `s`, `bytes`, `MiB`: less is better. `/s` and `x`: more is better.
    pub unit: &'a str,
    /// The peer's name, and its figure in the same unit and the same run.
    pub peer: Option<(&'a str, f64)>,
}

impl Figure<'_> {
    /// Writes it down, where somebody wants it.
    ///
    /// # Panics
    ///
    /// If the file cannot be written: a figure that is lost would look like one that was not measured.
    pub fn record(&self) {
        if let Some(path) = std::env::var_os("TURNPIKE_FIGURES")
            && let Err(error) = self.append(Path::new(&path))
        {
            panic!("{}: {error}", Path::new(&path).display());
        }
    }

    fn append(&self, path: &Path) -> io::Result<()> {
        OpenOptions::new().append(true).create(true).open(path)?.write_all(self.line().as_bytes())
    }

    /// Fields parted by tabs.
    fn line(&self) -> String {
        let Self { name, value, unit, peer } = self;
        let (peer, theirs) =
            peer.map_or((String::new(), String::new()), |(name, value)| (name.into(), value.to_string()));
        assert!(![name, unit, &*peer].iter().any(|text| text.contains(['\t', '\n'])), "{name}: a tab or a line's end");
        format!("{name}\t{value}\t{unit}\t{peer}\t{theirs}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_five_fields() {
        let alone = Figure { name: "a hit", value: 48.5, unit: "ns", peer: None };
        assert_eq!(alone.line(), "a hit\t48.5\tns\t\t\n");
        let beside = Figure { peer: Some(("blst", 2.0)), ..alone };
        assert_eq!(beside.line(), "a hit\t48.5\tns\tblst\t2\n");
    }
}
