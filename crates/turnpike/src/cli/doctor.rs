//! `turnpike doctor`.

use clap::Args;

/// Options of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Also attach the XDP program to this interface for a moment, answering nothing, to see what its driver takes
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}
