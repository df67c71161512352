//! `turnpike plan`: memory, disk and settings for a number of accounts and a rate.

use indicatif::DecimalBytes;
use node::Config;
use node::plan::{Demand, Plan, Use};
use serde::Serialize;

use crate::cli::PlanArgs;
use crate::error::Error;
use crate::output::Output;

/// The demand, and its plan.
#[derive(Serialize)]
struct Report {
    demand: Demand,
    days: u64,
    #[serde(flatten)]
    plan: Plan,
    memory_bytes: u64,
    /// After that number of days.
    disk_bytes: u64,
}

/// Runs `turnpike plan`.
pub fn run(args: &PlanArgs, output: Output) -> Result<(), Error> {
    let config = args.config.as_deref().map(Config::load).transpose().map_err(Error::other)?.unwrap_or_default();
    let demand = Demand { accounts: args.accounts, unsigned: args.rate, signed: args.signed_rate };
    let plan = node::plan::plan(&config, demand).map_err(Error::other)?;
    let memory_bytes = plan.memory_bytes();
    let disk_bytes = plan.disk_bytes().saturating_add(plan.chain_bytes(args.days));
    output.result(&Report { demand, days: args.days, plan, memory_bytes, disk_bytes }, text);
    Ok(())
}

fn text(report: &Report) -> String {
    let Report { days, plan, memory_bytes, disk_bytes, .. } = report;
    let row = |Use { what, bytes }: &Use| format!("  {what:<20} {:>10}\n", DecimalBytes(*bytes).to_string());
    let rows = |parts: &[Use]| parts.iter().map(row).collect::<String>();
    let growth = Use { what: "chain", bytes: plan.chain_bytes(*days) };
    let settings = &plan.settings;
    format!(
        "memory {}\n{}disk after {days} days {}\n{}{}  {:.1} bytes for each transaction, {} a day\n[ledger]\n\
         accounts = {}\nretry_operations = {}\nsigned_operations = {}",
        DecimalBytes(*memory_bytes),
        rows(&plan.memory),
        DecimalBytes(*disk_bytes),
        rows(&plan.disk),
        row(&growth),
        plan.bytes_per_transaction,
        DecimalBytes(plan.daily),
        settings.accounts,
        settings.retry_operations,
        settings.signed_operations,
    )
}
