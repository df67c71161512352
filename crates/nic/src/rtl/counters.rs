//! The backend's counters.

use crate::counters::Counter;

/// Counters of the backend of the simulated NIC.
#[derive(Debug, Default)]
pub struct RtlCounters {
    /// Packets that entered through a port.
    pub entered: Counter,
    /// Packets that no engine accepted.
    pub passed: Counter,
    /// Proofs that the NIC answered.
    pub proofs: Counter,
    /// Proofs that it left for the node to fill in.
    pub misses: Counter,
    /// Proofs that were filled in.
    pub fills: Counter,
    /// Signatures in verify frames that the NIC checked.
    pub signatures: Counter,
    /// Merkle roots in verify frames that it computed.
    pub roots: Counter,
    /// Headers with Equihash solutions in verify frames that it checked.
    pub headers: Counter,
    /// Operations that the NIC executed or refused.
    pub executed: Counter,
    /// Operations with the same answer from the node as from the NIC.
    pub same: Counter,
    /// Operations with another answer from the node than from the NIC.
    pub different: Counter,
    /// Requests below UDP that were answered.
    pub answered: Counter,
    /// Replies lost because the queue was full.
    pub lost: Counter,
    /// Cycles of the NIC's clock.
    pub cycles: Counter,
}

impl RtlCounters {
    /// Returns all counters, by name.
    pub fn all(&self) -> [(&'static str, u64); 14] {
        [
            ("entered", self.entered.get()),
            ("passed", self.passed.get()),
            ("proofs", self.proofs.get()),
            ("misses", self.misses.get()),
            ("fills", self.fills.get()),
            ("signatures", self.signatures.get()),
            ("roots", self.roots.get()),
            ("headers", self.headers.get()),
            ("executed", self.executed.get()),
            ("same", self.same.get()),
            ("different", self.different.get()),
            ("answered", self.answered.get()),
            ("lost", self.lost.get()),
            ("cycles", self.cycles.get()),
        ]
    }
}
