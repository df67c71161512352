//! The figures of the in-NIC ledger, as Prometheus reads them.

use std::fmt::{self, Write};

use wire::{Command, Status};
use xdp::{InNicLedger, LedgerCounter};

const COMMANDS: [Command; 4] = [Command::Create, Command::Issue, Command::Transfer, Command::Refer];

/// Writes them. `durable` is the last sequence that is in the journal.
pub fn write(text: &mut String, ledger: &InNicLedger, durable: u64) -> fmt::Result {
    head(text, "executed_total", "counter", "Operations that the in-NIC ledger executed.")?;
    for command in COMMANDS.into_iter().filter(|command| *command != Command::Refer) {
        for status in Status::ALL.iter().filter(|status| status.is_journalled()) {
            let count = ledger.count(LedgerCounter::Executed { command: command.code(), status: status.code() });
            let (command, status) = (command.name(), status.name());
            writeln!(text, "turnpike_in_nic_executed_total{{command=\"{command}\",status=\"{status}\"}} {count}")?;
        }
    }
    head(
        text,
        "answered_total",
        "counter",
        "REFER, retries and used transaction ids that the in-NIC ledger answered.",
    )?;
    for command in COMMANDS {
        let answers = |status: &&Status| status.is_journalled() || **status == Status::TransactionIdReused;
        for status in Status::ALL.iter().filter(answers) {
            let count = ledger.count(LedgerCounter::Answered { command: command.code(), status: status.code() });
            let (command, status) = (command.name(), status.name());
            writeln!(text, "turnpike_in_nic_answered_total{{command=\"{command}\",status=\"{status}\"}} {count}")?;
        }
    }
    head(text, "passed_total", "counter", "Datagrams that the in-NIC ledger left to the host.")?;
    for reason in LedgerCounter::PASSED {
        let count = ledger.count(reason);
        writeln!(text, "turnpike_in_nic_passed_total{{reason=\"{}\"}} {count}", reason.name())?;
    }
    let (held, size) = ledger.ring_bytes();
    // Taken after the journal's, so it is not behind it.
    let unwritten = ledger.sequence().saturating_sub(durable);
    for (name, kind, help, value) in [
        ("waited_total", "counter", "Operations that found a lock held.", ledger.count(LedgerCounter::Waited)),
        ("ring_bytes", "gauge", "Bytes of the ring that are not read yet.", held),
        ("ring_limit_bytes", "gauge", "Bytes that the ring holds.", size),
        ("unwritten", "gauge", "Operations that are not in the journal yet: what a crash loses.", unwritten),
    ] {
        head(text, name, kind, help)?;
        writeln!(text, "turnpike_in_nic_{name} {value}")?;
    }
    Ok(())
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(text, "# HELP turnpike_in_nic_{name} {help}\n# TYPE turnpike_in_nic_{name} {kind}")
}
