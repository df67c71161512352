//! `turnpike doctor`: what this machine's kernel, network drivers and privileges allow, and what to change.

use link::probe as link_probe;
use serde::Serialize;
use xdp::{Interface, probe};

use super::doctor_data;
use crate::cli::DoctorArgs;
use crate::error::Error;
use crate::output::Output;

/// A line of the report.
#[derive(Serialize)]
pub struct Line {
    pub what: String,
    pub good: bool,
    pub how: String,
    pub advice: String,
}

/// The findings and the conclusion.
#[derive(Serialize)]
struct Report {
    findings: Vec<Line>,
    best: &'static str,
}

/// Runs `turnpike doctor`.
pub fn run(args: &DoctorArgs, output: Output) -> Result<(), Error> {
    let mut findings = probe::machine();
    let xdp = findings.iter().filter(|finding| ["kernel", "bpf arena", "xdp program"].contains(&finding.what.as_str()));
    let mut best = if xdp.clone().all(|finding| finding.good) { "xdp" } else { "udp" };
    match &args.interface {
        Some(name) => {
            let interface = Interface::named(name).map_err(Error::other)?;
            let found = probe::interface(&interface, true);
            let good = |what: &str| found.iter().any(|finding| finding.what == what && finding.good);
            best = match best {
                _ if !interface.has_device() => "udp",
                "xdp" if good(probe::ATTACH) && good(probe::FRAMES) => "af_xdp",
                "xdp" if good(probe::ATTACH) => "xdp",
                _ => "udp",
            };
            findings.extend(found);
        }
        None => {
            for name in Interface::names().map_err(Error::other)? {
                findings.extend(probe::interface(&Interface::named(&name).map_err(Error::other)?, false));
            }
        }
    }
    let lines = findings.into_iter().map(|probe::Finding { what, good, how, advice }| Line { what, good, how, advice });
    let channels = link_probe::machine().into_iter();
    let channels = channels.map(|link_probe::Finding { what, good, how, advice }| Line { what, good, how, advice });
    let data = args.data.as_deref().map(doctor_data::look).transpose()?.unwrap_or_default();
    output.result(&Report { findings: lines.chain(channels).chain(data).collect(), best }, |report| {
        let lines = report.findings.iter().map(|line| {
            let mark = if line.good { "ok" } else { "--" };
            let advice = if line.advice.is_empty() { String::new() } else { format!("\n   {:16} {}", "", line.advice) };
            format!("{mark} {:16} {}{advice}\n", line.what, line.how)
        });
        format!("{}best backend: {}", lines.collect::<String>(), report.best)
    });
    Ok(())
}
