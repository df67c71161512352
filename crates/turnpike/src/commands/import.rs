//! `turnpike import`: reads blocks of another chain into a data directory.

use std::path::Path;
use std::time::{Duration, Instant};

use chain::bitcoin::{BlockFiles, Importer, Observer, Options, Progress, Start, Summary, check_files};
use indicatif::{ProgressBar, ProgressStyle};
use node::layout;
use serde::Serialize;
use spv::bitcoin::{Network, display};

use crate::cli::ImportCommand;
use crate::error::Error;
use crate::output::{Output, thousands};

/// Memory for the index while importing: most of it is read once, soon after it was written.
const CACHE: u64 = 64 << 20;

/// The result of `import`.
#[derive(Serialize)]
pub struct Report {
    stored: u64,
    known: u64,
    transactions: u64,
    reorganisations: u64,
    not_provable: u64,
    unresolved_inputs: u64,
    skipped_places: u64,
    skipped_bytes: u64,
    height: u32,
    tip: String,
    seconds: f64,
}

/// Runs `turnpike import`.
pub fn run(command: &ImportCommand, output: Output) -> Result<(), Error> {
    let ImportCommand::Bitcoin { path, data, network, trust_first } = command;
    let report = bitcoin(path, data, (*network).into(), *trust_first, output)?;
    output.result(&report, Report::describe);
    Ok(())
}

/// Imports Bitcoin blocks.
pub fn bitcoin(path: &Path, data: &Path, network: Network, trust_first: bool, output: Output) -> Result<Report, Error> {
    // Before the data directory is made: a wrong path should not leave one.
    let files = BlockFiles::find(path, network).map_err(Error::other)?;
    check_files(&files).map_err(Error::other)?;
    let data = layout::open(data).map_err(Error::other)?;
    let start = trust_first.then(|| Start::first_of(&files)).transpose().map_err(Error::other)?;
    let options = Options { start, cache_size: CACHE, ..Options::new(network) };
    let chain = layout::open_bitcoin(&data, &options).map_err(Error::other)?;
    let started = Instant::now();
    let mut importer = Importer::new(&chain, Bar::new(files.total_bytes(), output)).map_err(Error::other)?;
    let summary = importer.import(&files);
    importer.observer().bar.finish_and_clear();
    let summary = summary.map_err(Error::other)?;
    let tip = chain.view().tip().ok_or_else(|| {
        Error::Input(format!("{} contains no blocks of Bitcoin's {} network", path.display(), network.name()))
    })?;
    Ok(Report::new(&summary, tip.height, display(&tip.hash).to_string(), started.elapsed()))
}

/// A progress bar over the bytes of the files.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new(bytes: u64, output: Output) -> Self {
        let template = "{bar:40} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} block {msg} eta {eta}";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = if output.is_json() { ProgressBar::hidden() } else { ProgressBar::new(bytes).with_style(style) };
        Self { bar }
    }
}

impl Observer for Bar {
    fn progress(&mut self, progress: &Progress) {
        self.bar.set_position(progress.bytes);
        // Text is formatted at the pace at which it can be read, not for every block.
        if progress.blocks.is_multiple_of(256) {
            self.bar.set_message(thousands(progress.height.into()));
        }
    }
}

impl Report {
    fn new(summary: &Summary, height: u32, tip: String, took: Duration) -> Self {
        Self {
            stored: summary.stored,
            known: summary.known,
            transactions: summary.transactions,
            reorganisations: summary.reorganisations,
            not_provable: summary.not_provable,
            unresolved_inputs: summary.unresolved_inputs,
            skipped_places: summary.skipped.places,
            skipped_bytes: summary.skipped.bytes,
            height,
            tip,
            seconds: took.as_secs_f64(),
        }
    }

    /// The report for people.
    pub fn describe(&self) -> String {
        let mut text = format!(
            "{} new blocks, {} known ones, {} transactions in {:.2} s; tip {} {}",
            thousands(self.stored),
            thousands(self.known),
            thousands(self.transactions),
            self.seconds,
            thousands(self.height.into()),
            self.tip
        );
        let notes = [
            (self.reorganisations, "reorganisations"),
            (self.not_provable, "blocks with a transaction of 64 bytes, which are never proved (CVE-2017-12842)"),
            (self.unresolved_inputs, "inputs spend outputs from before the first block, and are in no history"),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!("\n{} {what}", thousands(count)));
        }
        if self.skipped_places > 0 {
            let (places, bytes) = (thousands(self.skipped_places), thousands(self.skipped_bytes));
            text.push_str(&format!("\nskipped {bytes} bytes at {places} places that are not valid blocks"));
        }
        text
    }
}
