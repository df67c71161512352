//! What the in-NIC ledger's program counts. Twin of `enum ledger_counter` in `bpf/ledger.bpf.c`.

/// A number that the program keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerCounter {
    /// Left to the host: malformed, from who is not trusted, of another kind.
    Host,
    /// Left to the host because the checksum was wrong.
    Checksum,
    /// Left to the host because the ring had no room: nothing was done.
    RingFull,
    /// Left to the host because a lock could not be had: nothing was done.
    Locked,
    /// Left to the host because more buckets overflow into each other than are looked at: nothing was done.
    Crowded,
    /// Executed or not, after another processor had held a lock.
    Waited,
    /// Answered `BUSY` because all that is remembered is too young to be forgotten: nothing was done.
    Full,
    /// Executed, and in the ring.
    Executed {
        /// A command of the protocol's.
        command: u8,
        /// A status of the protocol's.
        status: u16,
    },
    /// Answered without a trace: REFER, retries, transaction ids used again.
    Answered {
        /// A command of the protocol's.
        command: u8,
        /// A status of the protocol's.
        status: u16,
    },
}

/// Commands, from 1 on, and more than the largest status that the program answers.
const COMMANDS: u32 = 4;
const STATUSES: u32 = 32;

/// Where the counters of answers begin.
const EXECUTED: u32 = 7;
const ANSWERED: u32 = EXECUTED + COMMANDS * STATUSES;

impl LedgerCounter {
    /// Why something was left to the host.
    pub const PASSED: [Self; 5] = [Self::Host, Self::Checksum, Self::RingFull, Self::Locked, Self::Crowded];

    /// How many there are.
    pub(crate) const COUNT: u32 = ANSWERED + COMMANDS * STATUSES;

    /// Its number, if there is one: there are no others for commands and statuses that the program does not know.
    pub(crate) fn number(self) -> Option<u32> {
        let of = |first: u32, command: u8, status: u16| {
            let command = u32::from(command).checked_sub(1).filter(|command| *command < COMMANDS)?;
            Some(first + command * STATUSES + Some(u32::from(status)).filter(|status| *status < STATUSES)?)
        };
        match self {
            Self::Host => Some(0),
            Self::Checksum => Some(1),
            Self::RingFull => Some(2),
            Self::Locked => Some(3),
            Self::Crowded => Some(4),
            Self::Waited => Some(5),
            Self::Full => Some(6),
            Self::Executed { command, status } => of(EXECUTED, command, status),
            Self::Answered { command, status } => of(ANSWERED, command, status),
        }
    }

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Checksum => "checksum",
            Self::RingFull => "ring_full",
            Self::Locked => "locked",
            Self::Crowded => "crowded",
            Self::Waited => "waited",
            Self::Full => "full",
            Self::Executed { .. } => "executed",
            Self::Answered { .. } => "answered",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_number_of_its_own() {
        let pairs = (1..=4).flat_map(|command| (0..32).map(move |status| (command, status)));
        let answers = pairs.flat_map(|(command, status)| {
            [LedgerCounter::Executed { command, status }, LedgerCounter::Answered { command, status }]
        });
        let all = LedgerCounter::PASSED.into_iter().chain([LedgerCounter::Waited, LedgerCounter::Full]).chain(answers);
        let mut numbers: Vec<_> = all.filter_map(LedgerCounter::number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..LedgerCounter::COUNT).collect::<Vec<_>>());
        assert_eq!(LedgerCounter::Executed { command: 5, status: 0 }.number(), None);
        assert_eq!(LedgerCounter::Answered { command: 1, status: 32 }.number(), None);
    }
}
