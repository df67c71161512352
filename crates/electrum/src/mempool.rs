//! The mempool: unconfirmed transactions, indexed for clients.
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
};

use bitcoind::Fees;
use chain::bitcoin::{Transaction, TransactionError, script_hash};
use spv::{Hash, bitcoin::Encoding};

/// An output by the hash of its transaction and its number.
pub type Outpoint = (Hash, u32);

/// Number of transactions reported as the most recent ones.
const RECENT: usize = 10;
/// A step of the histogram: fee rate in tenths of a satoshi per virtual byte, and virtual bytes.
type Step = (u64, u64);

/// Minimum number of virtual bytes of the histogram's first step; each further one is a tenth longer. As in ElectrumX.
const HISTOGRAM_STEP: f64 = 30_000.0;

/// A script and an amount: an output without its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coin {
    /// The script's hash, by which it is indexed.
    pub script: Hash,
    /// Satoshis.
    pub value: u64,
}

/// An unconfirmed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Its hash.
    pub hash: Hash,
    /// Its encoding.
    pub bytes: Vec<u8>,
    /// Satoshis.
    pub fee: u64,
    /// Virtual bytes: a quarter of its weight.
    pub size: u64,
    /// The outputs that its inputs spend.
    pub spent: Vec<(Outpoint, Coin)>,
    /// Its outputs.
    pub paid: Vec<Coin>,
}

/// Result of reading a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// All spent outputs are known.
    Whole(Unconfirmed),
    /// This spent output is unknown.
    Misses(Outpoint),
}

impl Unconfirmed {
    /// Reads a transaction. `find` returns the outputs that it spends.
    pub fn read<E: From<TransactionError>>(
        bytes: &[u8],
        mut find: impl FnMut(&Outpoint) -> Result<Option<Coin>, E>,
    ) -> Result<Read, E> {
        let mut encoding = Encoding::new(bytes);
        let transaction = Transaction::read(&mut encoding)?;
        encoding.finish().map_err(TransactionError::from)?;
        let mut spent = Vec::new();
        for outpoint in transaction.inputs().map(|input| input.spent()) {
            match find(&outpoint)? {
                Some(coin) => spent.push((outpoint, coin)),
                None => return Ok(Read::Misses(outpoint)),
            }
        }
        let paid: Vec<Coin> = outputs(&transaction).collect();
        // Unchecked amounts may have any value.
        let sum = |coins: &mut dyn Iterator<Item = u64>| coins.fold(0_u64, u64::saturating_add);
        let fee = sum(&mut spent.iter().map(|(_, coin)| coin.value))
            .saturating_sub(sum(&mut paid.iter().map(|coin| coin.value)));
        let size = (3 * transaction.stripped_size() + bytes.len()).div_ceil(4) as u64;
        Ok(Read::Whole(Self { hash: transaction.hash(), bytes: bytes.to_vec(), fee, size, spent, paid }))
    }

    /// The scripts that it pays or spends from.
    fn scripts(&self) -> impl Iterator<Item = Hash> {
        self.spent.iter().map(|(_, coin)| coin.script).chain(self.paid.iter().map(|coin| coin.script))
    }

    /// Fee rate in tenths of a satoshi per virtual byte, rounded down.
    fn rate(&self) -> u64 {
        10 * self.fee / self.size.max(1)
    }
}

/// The outputs of a transaction.
pub(crate) fn outputs(transaction: &Transaction<'_>) -> impl Iterator<Item = Coin> {
    transaction.outputs().map(|output| Coin { script: script_hash(output.script), value: output.amount })
}

/// A change of the mempool.
#[derive(Debug, Default)]
pub struct Update {
    /// Transactions that left it.
    pub gone: Vec<Hash>,
    /// Transactions that entered it.
    pub come: Vec<Unconfirmed>,
    /// Minimum fees, if they were requested.
    pub fees: Option<Fees>,
}

/// Unconfirmed transactions, with indexes for queries.
#[derive(Debug, Default)]
pub struct Mempool {
    transactions: HashMap<Hash, Unconfirmed>,
    /// For each script, the transactions that pay to it or spend from it.
    scripts: HashMap<Hash, BTreeSet<Hash>>,
    /// The transaction that spends an output.
    spenders: HashMap<Outpoint, Hash>,
    /// Virtual bytes by fee rate in tenths of a satoshi.
    rates: BTreeMap<Reverse<u64>, u64>,
    recent: VecDeque<Hash>,
    /// Total virtual bytes and total fees.
    sums: (u64, u64),
    fees: Option<Fees>,
}

impl Mempool {
    /// Number of transactions.
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Total virtual bytes and total fees.
    pub fn size_and_fees(&self) -> (u64, u64) {
        self.sums
    }

    /// The hashes of all transactions.
    pub fn hashes(&self) -> impl Iterator<Item = &Hash> {
        self.transactions.keys()
    }

    /// A transaction.
    pub fn get(&self, hash: &Hash) -> Option<&Unconfirmed> {
        self.transactions.get(hash)
    }

    /// An output of one of its transactions.
    pub fn output(&self, (hash, number): &Outpoint) -> Option<Coin> {
        self.get(hash)?.paid.get(*number as usize).copied()
    }

    /// The transaction that spends an output.
    pub fn spender(&self, outpoint: &Outpoint) -> Option<&Unconfirmed> {
        self.get(self.spenders.get(outpoint)?)
    }

    /// The height of a transaction in the protocol: -1 if it spends unconfirmed outputs, otherwise 0.
    pub fn height(&self, waiting: &Unconfirmed) -> i32 {
        let spends_waiting = waiting.spent.iter().any(|((hash, _), _)| self.transactions.contains_key(hash));
        -i32::from(spends_waiting)
    }

    /// The transactions of a script with their heights, in the order of the protocol: 0 before -1, then by hash as
    /// Bitcoin displays it.
    pub fn of_script(&self, script: &Hash) -> Vec<(&Unconfirmed, i32)> {
        let hashes = self.scripts.get(script).into_iter().flatten();
        let mut found: Vec<_> =
            hashes.filter_map(|hash| self.get(hash)).map(|waiting| (waiting, self.height(waiting))).collect();
        found.sort_unstable_by(|(a, a_height), (b, b_height)| {
            b_height.cmp(a_height).then_with(|| a.hash.iter().rev().cmp(b.hash.iter().rev()))
        });
        found
    }

    /// The most recent transactions, newest first.
    pub fn recent(&self) -> impl Iterator<Item = &Unconfirmed> {
        self.recent.iter().rev().filter_map(|hash| self.get(hash))
    }

    /// Minimum fees, if known.
    pub fn fees(&self) -> Option<Fees> {
        self.fees
    }

    /// Fee rates in tenths of a satoshi per virtual byte, descending, each with the virtual bytes that pay at least
    /// that rate and less than the previous one. The lowest rates are left out if they do not fill a step.
    pub fn histogram(&self) -> Vec<Step> {
        self.steps().0
    }

    /// The same including the lowest rates, as Esplora has it.
    pub fn whole_histogram(&self) -> Vec<Step> {
        let (mut histogram, rest) = self.steps();
        histogram.extend(rest);
        histogram
    }

    /// The complete steps of the histogram, and the incomplete one.
    fn steps(&self) -> (Vec<Step>, Option<Step>) {
        let mut histogram = Vec::new();
        let (mut step, mut sum, mut before) = (HISTOGRAM_STEP, 0, None);
        for (Reverse(rate), size) in &self.rates {
            // Separate a lump from the bytes before it.
            if *size as f64 > 2.0 * step
                && sum > 0
                && let Some(before) = before
            {
                histogram.push((before, sum));
                sum = 0;
                step *= 1.1;
            }
            sum += size;
            if sum as f64 > step {
                histogram.push((*rate, sum));
                sum = 0;
                step *= 1.1;
            }
            before = Some(*rate);
        }
        (histogram, before.map(|rate| (rate, sum)).filter(|(_, sum)| *sum > 0))
    }

    /// Applies a change. Returns the scripts whose statuses change, in order, each once.
    pub fn apply(&mut self, update: Update) -> Vec<Hash> {
        let mut touched = Vec::new();
        for hash in &update.gone {
            if let Some(gone) = self.remove(hash) {
                touched.extend(gone.scripts());
                self.touch_spenders(&gone, &mut touched);
            }
        }
        for come in update.come {
            touched.extend(come.scripts());
            self.touch_spenders(&come, &mut touched);
            self.insert(come);
        }
        self.fees = update.fees.or(self.fees);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Transactions that spend outputs of one that enters or leaves change their height.
    fn touch_spenders(&self, waiting: &Unconfirmed, touched: &mut Vec<Hash>) {
        let outpoints = (0..waiting.paid.len() as u32).map(|number| (waiting.hash, number));
        touched.extend(outpoints.filter_map(|outpoint| self.spender(&outpoint)).flat_map(Unconfirmed::scripts));
    }

    fn insert(&mut self, come: Unconfirmed) {
        // A transaction that is already there would be counted twice.
        self.remove(&come.hash);
        for script in come.scripts() {
            self.scripts.entry(script).or_default().insert(come.hash);
        }
        self.spenders.extend(come.spent.iter().map(|(outpoint, _)| (*outpoint, come.hash)));
        *self.rates.entry(Reverse(come.rate())).or_default() += come.size;
        // Unchecked fees may have any value; adding and removing one leaves the sum unchanged.
        self.sums = (self.sums.0 + come.size, self.sums.1.wrapping_add(come.fee));
        self.recent.push_back(come.hash);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.transactions.insert(come.hash, come);
    }

    fn remove(&mut self, hash: &Hash) -> Option<Unconfirmed> {
        let gone = self.transactions.remove(hash)?;
        for script in gone.scripts() {
            if let Some(of_script) = self.scripts.get_mut(&script) {
                of_script.remove(hash);
                if of_script.is_empty() {
                    self.scripts.remove(&script);
                }
            }
        }
        for (outpoint, _) in &gone.spent {
            // Another transaction may spend it by now.
            if self.spenders.get(outpoint) == Some(hash) {
                self.spenders.remove(outpoint);
            }
        }
        self.sums = (self.sums.0 - gone.size, self.sums.1.wrapping_sub(gone.fee));
        let rate = Reverse(gone.rate());
        if let Some(size) = self.rates.get_mut(&rate) {
            *size -= gone.size;
            if *size == 0 {
                self.rates.remove(&rate);
            }
        }
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u8) -> Hash {
        [number; 32]
    }

    /// A transaction that spends outputs, each of 10,000 satoshis to the script of its number, and pays to scripts.
    fn transaction(number: u8, spent: &[(u8, u32)], paid: &[u8], fee: u64) -> Unconfirmed {
        let coin = |script: u8| Coin { script: hash(script), value: 10_000 };
        Unconfirmed {
            hash: hash(number),
            bytes: vec![number],
            fee,
            size: 100,
            spent: spent.iter().map(|(from, output)| ((hash(*from), *output), coin(200 + *output as u8))).collect(),
            paid: paid.iter().map(|script| coin(*script)).collect(),
        }
    }

    fn come(transactions: &[&Unconfirmed]) -> Update {
        Update { come: transactions.iter().map(|&transaction| transaction.clone()).collect(), ..Update::default() }
    }

    fn gone(numbers: &[u8]) -> Update {
        Update { gone: numbers.iter().map(|number| hash(*number)).collect(), ..Update::default() }
    }

    #[test]
    fn chains_have_heights_that_follow_their_parents() {
        let mut mempool = Mempool::default();
        let (parent, child) = (transaction(1, &[(100, 0)], &[50, 51], 1000), transaction(2, &[(1, 0)], &[52], 1000));
        // The child may arrive first.
        assert_eq!(mempool.apply(come(&[&child])), [hash(52), hash(200)]);
        assert_eq!(mempool.of_script(&hash(52)), [(&child, 0)]);
        // Then the child's scripts are touched, although it was there before.
        assert_eq!(mempool.apply(come(&[&parent])), [hash(50), hash(51), hash(52), hash(200)]);
        assert_eq!(mempool.of_script(&hash(52)), [(&child, -1)]);
        assert_eq!(mempool.of_script(&hash(200)), [(&parent, 0), (&child, -1)]);
        assert_eq!(mempool.output(&(hash(1), 1)).unwrap().script, hash(51));
        assert_eq!((mempool.output(&(hash(1), 2)), mempool.output(&(hash(3), 0))), (None, None));
        assert_eq!(mempool.spender(&(hash(1), 0)), Some(&child));
        assert_eq!(mempool.spender(&(hash(1), 1)), None);
        assert_eq!(mempool.recent().map(|waiting| waiting.hash).collect::<Vec<_>>(), [hash(1), hash(2)]);
        assert_eq!(mempool.size_and_fees(), (200, 2000));
        assert_eq!(mempool.apply(gone(&[1, 7])), [hash(50), hash(51), hash(52), hash(200)]);
        assert_eq!(mempool.of_script(&hash(52)), [(&child, 0)]);
        mempool.apply(gone(&[2]));
        assert_eq!(mempool.size_and_fees(), (0, 0));
        assert!(
            mempool.is_empty() && mempool.scripts.is_empty() && mempool.spenders.is_empty() && mempool.rates.is_empty()
        );
    }

    #[test]
    fn a_replacement_keeps_its_spends_when_what_it_replaced_goes_behind_it() {
        let mut mempool = Mempool::default();
        let (first, second) = (transaction(1, &[(100, 0)], &[50], 1000), transaction(2, &[(100, 0)], &[50], 2000));
        mempool.apply(come(&[&first]));
        mempool.apply(come(&[&second]));
        mempool.apply(gone(&[1]));
        assert_eq!(mempool.spender(&(hash(100), 0)), Some(&second));
    }

    #[test]
    fn heights_come_before_hashes_as_they_are_shown() {
        let mut mempool = Mempool::default();
        let mut low = transaction(9, &[(100, 0)], &[50], 0);
        low.hash = std::array::from_fn(|at| if at == 31 { 1 } else { 0xff });
        let (high, child) = (transaction(8, &[(101, 0)], &[50], 0), transaction(1, &[(8, 0)], &[50], 0));
        mempool.apply(come(&[&child, &high, &low]));
        assert_eq!(mempool.of_script(&hash(50)), [(&low, 0), (&high, 0), (&child, -1)]);
    }

    #[test]
    fn the_histogram_has_steps_that_grow() {
        let mut mempool = Mempool::default();
        let mut add = |number: u8, fee: u64, size: u64| {
            let transaction = Unconfirmed { size, ..transaction(number, &[(100, number.into())], &[50], fee) };
            mempool.apply(come(&[&transaction]));
        };
        // Less than a step is not reported.
        add(1, 50 * 10_000, 10_000);
        add(2, 40 * 25_000, 25_000);
        // A lump closes the step before it.
        add(3, 30 * 10_000, 10_000);
        add(4, 20 * 100_000, 100_000);
        add(5, 10_000, 10_000);
        assert_eq!(mempool.histogram(), [(400, 35_000), (300, 10_000), (200, 100_000)]);
        assert_eq!(mempool.whole_histogram(), [(400, 35_000), (300, 10_000), (200, 100_000), (10, 10_000)]);
        assert_eq!((Mempool::default().histogram(), Mempool::default().whole_histogram()), (vec![], vec![]));
    }

    #[test]
    fn transactions_are_read_with_what_they_spend() {
        let block = bitcoin_test_data::blocks::mainnet_702861();
        let block = chain::bitcoin::Block::parse(block).unwrap();
        let transaction = &block.transactions()[1];
        let end = block.offsets().get(2).map_or(block.bytes().len(), |end| *end as usize);
        let bytes = block.bytes()[block.offsets()[1] as usize..end].to_vec();
        let value = 1 + transaction.outputs().map(|output| output.amount).sum::<u64>();
        let mut asked = Vec::new();
        let read = Unconfirmed::read(&bytes, |outpoint| {
            asked.push(*outpoint);
            Ok::<_, TransactionError>(Some(Coin { script: hash(1), value }))
        });
        let Ok(Read::Whole(read)) = read else { panic!("{read:?}") };
        assert_eq!((read.hash, read.spent.len()), (transaction.hash(), transaction.inputs().count()));
        assert_eq!(read.fee, value * (read.spent.len() as u64 - 1) + 1);
        assert_eq!(read.spent.iter().map(|(outpoint, _)| *outpoint).collect::<Vec<_>>(), asked);
        assert_eq!(read.paid.len(), transaction.outputs().count());
        let missing = |_: &Outpoint| Ok::<_, TransactionError>(None);
        assert_eq!(Unconfirmed::read(&bytes, missing), Ok(Read::Misses(asked[0])));
        assert_eq!(Unconfirmed::read(&bytes, |_| Err(TransactionError::NoInputs)), Err(TransactionError::NoInputs));
        assert!(Unconfirmed::read(&bytes[1..], missing).is_err());
    }
}
