//! The start of a run: accounts, the orders that their owners sign, and the faults that may occur.

/// The index of an order in its scenario.
pub type OrderId = usize;

/// An account and one of its sequence numbers. At most one order may ever be paid for it.
pub type Slot = (usize, u8);

/// A payment that its owner signed. Two orders of one slot are an equivocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The account that pays.
    pub source: usize,
    /// Number of the debit, from 0.
    pub sequence: u8,
    /// The account that is paid.
    pub destination: usize,
    /// The amount. Signed, so that a wrong balance shows as a negative one.
    pub amount: i8,
}

impl Order {
    /// The slot that the order would consume.
    pub fn slot(&self) -> Slot {
        (self.source, self.sequence)
    }
}

/// The start of a run, and the bounds of its faults.
///
/// Loss, duplication and reordering need no bound: a message stays in the network for ever, and may be delivered at any
/// later step, repeatedly, or never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Balance of each account at the start. All accounts have opted in.
    pub balances: Vec<i8>,
    /// All orders that owners ever sign.
    pub orders: Vec<Order>,
    /// Slots that may be unlocked.
    pub unlockable: Vec<Slot>,
    /// Number of crashes of honest replicas, which lose unsynced writes.
    pub crashes: u8,
    /// Whether one honest replica may be replaced by another.
    pub set_change: bool,
}

impl Scenario {
    /// A scenario whose only faults are the Byzantine replica, the network and what owners sign.
    ///
    /// An order is `(source, sequence, destination, amount)`.
    pub fn new(balances: &[i8], orders: &[(usize, u8, usize, i8)]) -> Self {
        let orders = orders.iter().map(|&(source, sequence, destination, amount)| Order {
            source,
            sequence,
            destination,
            amount,
        });
        Self {
            balances: balances.to_vec(),
            orders: orders.collect(),
            unlockable: Vec::new(),
            crashes: 0,
            set_change: false,
        }
    }

    /// The same scenario in which these slots may be unlocked.
    pub fn with_unlocks(self, slots: &[Slot]) -> Self {
        Self { unlockable: slots.to_vec(), ..self }
    }

    /// The same scenario in which honest replicas crash up to `crashes` times.
    pub fn with_crashes(self, crashes: u8) -> Self {
        Self { crashes, ..self }
    }

    /// The same scenario with a change of the replica set.
    pub fn with_set_change(self) -> Self {
        Self { set_change: true, ..self }
    }

    /// All slots that an order exists for, in ascending order.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots: Vec<_> = self.orders.iter().map(Order::slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// The orders of a slot.
    pub fn orders_of(&self, slot: Slot) -> OrderSet {
        OrderSet::from_ids((0..self.orders.len()).filter(|&id| self.orders[id].slot() == slot))
    }
}

/// A set of orders, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderSet(u16);

impl OrderSet {
    /// The set of some orders.
    pub fn from_ids(ids: impl IntoIterator<Item = OrderId>) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }

    /// Adds an order.
    pub fn insert(&mut self, id: OrderId) {
        assert!(id < 16, "a scenario has at most 16 orders");
        self.0 |= 1 << id;
    }

    /// Whether an order is in the set.
    pub fn contains(self, id: OrderId) -> bool {
        self.0 >> id & 1 == 1
    }

    /// The orders that are in either set.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The orders that are in both sets.
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The orders, in ascending order.
    pub fn ids(self) -> impl Iterator<Item = OrderId> {
        (0..16).filter(move |&id| self.contains(id))
    }
}
