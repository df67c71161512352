//! `turnpike doctor`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Options of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Also attach the XDP program to this interface for a moment, without answering, to probe its driver
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Also measure syncs on this data directory's disk, and check its space, the clock and the open-file limit
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
}
