//! What was paid to a script.
use spv::Locator;

/// A number of outputs, and what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
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

/// The sums of a script, as far as its history was read. Whoever reads more of it adds that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Transactions that pay to it or spend from it.
    pub transactions: u64,
    /// Outputs that pay to it.
    pub funded: Sum,
    /// Those of them that are spent.
    pub spent: Sum,
    /// Whether its outputs can never be spent.
    pub is_unspendable: bool,
    /// The last transaction of the history that was read.
    pub last: Option<Locator>,
}
