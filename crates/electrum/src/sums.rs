//! Totals of a script.
use spv::Locator;

/// A number of outputs, and their total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of outputs.
    pub count: u64,
    /// Satoshis.
    pub value: u64,
}

impl Sum {
    /// Adds an output.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.value = self.value.saturating_add(value);
    }
}

/// The totals of a script, as far as its history was read. A reader of more adds to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Transactions that pay to it or spend from it.
    pub transactions: u64,
    /// Outputs that pay to it.
    pub funded: Sum,
    /// Those that are spent.
    pub spent: Sum,
    /// Whether its outputs can never be spent.
    pub is_unspendable: bool,
    /// The last transaction of the history that was read.
    pub last: Option<Locator>,
}
