//! `turnpike backup`: copies a data directory that a node may be running on.

use node::backup::Backup;
use serde::Serialize;

use crate::cli::BackupArgs;
use crate::error::Error;
use crate::output::{Output, thousands};

/// The result of `backup`.
#[derive(Serialize)]
struct Report {
    directory: String,
    height: u64,
    copied: u64,
    operations: u64,
    has_key: bool,
}

/// Runs `turnpike backup`.
pub fn run(args: &BackupArgs, output: Output) -> Result<(), Error> {
    let backup = node::backup::back_up(&args.data, &args.to).map_err(Error::other)?;
    let directory = args.to.display().to_string();
    let Backup { height, copied, last_sequence: operations, has_key } = backup;
    let report = Report { directory, height, copied, operations, has_key };
    output.result(&report, |report| {
        let Report { directory, height, copied, operations, has_key } = report;
        let key = if *has_key { "with the chain's key: keep it secret" } else { "without the chain's key" };
        let (height, copied, operations) = (thousands(*height), thousands(*copied), thousands(*operations));
        format!("{directory} has blocks to {height} ({copied} of them new) and operations to {operations}, {key}; audit it: turnpike check {directory}")
    });
    Ok(())
}
