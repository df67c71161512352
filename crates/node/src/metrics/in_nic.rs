//! The figures of the in-NIC ledger.

use wire::{Command, Status};
use xdp::{InNicLedger, LedgerCounter};

use super::text::Metrics;

/// Writes them. `durable` is the last sequence that is in the journal.
pub fn write(metrics: &mut Metrics, ledger: &InNicLedger, durable: u64) {
    let executed = |command: Command, status: Status| {
        let counter = LedgerCounter::Executed { command, status };
        ([command.name(), status.name()], ledger.count(counter))
    };
    let answered = |command: Command, status: Status| {
        let counter = LedgerCounter::Answered { command, status };
        ([command.name(), status.name()], ledger.count(counter))
    };
    let journalled = || Status::ALL.iter().copied().filter(|status| status.is_journalled());
    let answers = || journalled().chain([Status::TransactionIdReused]);
    metrics.counters(
        "in_nic_executed_total",
        "Operations that the in-NIC ledger executed.",
        ["command", "status"],
        (Command::COMPACT.into_iter().filter(|command| command.is_executed()))
            .flat_map(|command| journalled().map(move |status| executed(command, status))),
    );
    metrics.counters(
        "in_nic_answered_total",
        "REFER, retries and used transaction ids that the in-NIC ledger answered.",
        ["command", "status"],
        Command::COMPACT.into_iter().flat_map(|command| answers().map(move |status| answered(command, status))),
    );
    metrics.counters(
        "in_nic_passed_total",
        "Datagrams passed to the host.",
        ["reason"],
        (LedgerCounter::PLAIN.into_iter().filter(|reason| reason.is_left_to_host()))
            .map(|reason| ([reason.name()], ledger.count(reason))),
    );
    let (held, size) = ledger.ring_bytes();
    // Read after the journal's, so it is not lower.
    let unwritten = ledger.sequence().saturating_sub(durable);
    let waited = ledger.count(LedgerCounter::Waited);
    let help = "Operations answered BUSY, without effect: all remembered operations may still be repeated.";
    metrics.counter("in_nic_full_total", help, ledger.count(LedgerCounter::Full));
    metrics.counter("in_nic_waited_total", "Operations that found a lock held.", waited);
    metrics.gauge("in_nic_ring_bytes", "Unread bytes in the ring.", held);
    metrics.gauge("in_nic_ring_limit_bytes", "Size of the ring in bytes.", size);
    let help = "Operations not yet in the journal, which a crash loses.";
    metrics.gauge("in_nic_unwritten", help, unwritten);
}
