//! What the backend counts.

use crate::counters::Counter;

/// What the backend counts.
#[derive(Debug, Default)]
pub struct RtlCounters {
    /// Packets that entered through a port.
    pub entered: Counter,
    /// Packets that no engine took.
    pub passed: Counter,
    /// Proofs that the NIC answered.
    pub proofs: Counter,
    /// Proofs that it left to the node, to be filled in.
    pub misses: Counter,
    /// Proofs that were filled in.
    pub fills: Counter,
    /// Messages of verify frames that the NIC answered: signatures,
    pub signatures: Counter,
    /// Merkle roots,
    pub roots: Counter,
    /// and headers with Equihash solutions.
    pub headers: Counter,
    /// Operations that the NIC executed or refused.
    pub executed: Counter,
    /// Operations that the node answered as the NIC did.
    pub same: Counter,
    /// Operations that the node answered otherwise.
    pub different: Counter,
    /// Requests below UDP that were answered.
    pub answered: Counter,
    /// Replies that found the queue full.
    pub lost: Counter,
    /// Cycles of the NIC's clock.
    pub cycles: Counter,
}

impl RtlCounters {
    /// All of them, by name.
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
