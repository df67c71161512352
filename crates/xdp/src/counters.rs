//! What the program counts. Twin of `bpf/counters.h`.

/// A number that the program keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Counter {
    /// REFER answered.
    Refer,
    /// Retries answered.
    Retry,
    /// Proofs answered.
    Proof,
    /// Datagrams for the node left to the host: of another kind, from who is not trusted, or not known to the tier.
    Host,
    /// As these, because there was something that was not durable yet.
    NotDurable,
    /// As these, because the writer was at work just there.
    Contended,
    /// As these, because the checksum was wrong: the host drops them.
    Checksum,
    /// Replies lost because the frame could not be shortened.
    Lost,
}

impl Counter {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Refer,
        Self::Retry,
        Self::Proof,
        Self::Host,
        Self::NotDurable,
        Self::Contended,
        Self::Checksum,
        Self::Lost,
    ];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refer => "refer",
            Self::Retry => "retry",
            Self::Proof => "proof",
            Self::Host => "host",
            Self::NotDurable => "not_durable",
            Self::Contended => "contended",
            Self::Checksum => "checksum",
            Self::Lost => "lost",
        }
    }
}
