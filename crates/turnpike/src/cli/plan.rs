//! `turnpike plan`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Options of `plan`.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Number of accounts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub accounts: u64,
    /// Unsigned operations a second, sustained
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=100_000_000))]
    pub rate: u64,
    /// Signed operations a second, sustained
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=100_000_000))]
    pub signed_rate: u64,
    /// Days of growth to hold on disk
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(..=36_500))]
    pub days: u64,
    /// Plan for this configuration instead of the default one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}
