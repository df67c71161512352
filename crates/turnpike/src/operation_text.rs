//! An operation as people read it.

use wire::Command;

use crate::output::thousands;

/// An operation of a block, its ids as text.
pub struct OperationText<'a> {
    /// The name of its command.
    pub command: &'a str,
    /// 0 where it has none.
    pub amount: u64,
    /// The source.
    pub source: &'a str,
    /// Zeros where it has none.
    pub destination: &'a str,
    /// The transaction id.
    pub transaction: &'a str,
}

impl OperationText<'_> {
    /// `TRANSFER of 250`; the command alone where it has no amount.
    pub fn title(&self) -> String {
        match self.amount {
            0 => self.command.to_owned(),
            amount => format!("{} of {}", self.command, thousands(amount)),
        }
    }

    /// The accounts that it names, and its id: lines that begin with `indent`, a newline before each.
    pub fn lines(&self, indent: &str) -> String {
        let other = match Command::ALL.iter().find(|command| command.name() == self.command) {
            Some(Command::Create | Command::Open) if self.amount > 0 => Some("payer"),
            Some(Command::Create | Command::Open | Command::Issue | Command::Refer) => None,
            Some(Command::Freeze | Command::Unfreeze | Command::Close) => None,
            // Commands of a newer node are printed in full.
            Some(Command::Transfer | Command::Hold | Command::Capture | Command::Release | Command::Reclaim) | None => {
                Some("destination")
            }
        };
        let other = other.map(|label| (label, self.destination));
        let lines = [Some(("source", self.source)), other, Some(("transaction", self.transaction))];
        lines.into_iter().flatten().map(|(label, id)| format!("\n{indent}{label:<13}{id}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_tell_what_they_have() {
        let text = |command, amount| {
            let operation = OperationText { command, amount, source: "a", destination: "b", transaction: "c" };
            format!("{}{}", operation.title(), operation.lines("  "))
        };
        let (source, transaction) = ("\n  source       a", "\n  transaction  c");
        assert_eq!(text("CREATE", 0), format!("CREATE{source}{transaction}"));
        assert_eq!(text("CREATE", 100), format!("CREATE of 100{source}\n  payer        b{transaction}"));
        assert_eq!(text("ISSUE", 1000), format!("ISSUE of 1,000{source}{transaction}"));
        assert_eq!(text("TRANSFER", 5), format!("TRANSFER of 5{source}\n  destination  b{transaction}"));
        assert_eq!(text("BURN", 5), format!("BURN of 5{source}\n  destination  b{transaction}"));
    }
}
