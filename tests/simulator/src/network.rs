//! A network that loses, duplicates, delays and thereby reorders datagrams.

use storage::Random;

use crate::schedule::SECOND;

/// Quality of the network.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    pub loss: f64,
    pub duplication: f64,
    /// Maximum delay in microseconds; most are much shorter.
    pub delay: u64,
}

/// Good and bad conditions, and no network at all.
const CONDITIONS: [Conditions; 4] = [
    Conditions { loss: 0.0, duplication: 0.0, delay: 500 },
    Conditions { loss: 0.05, duplication: 0.02, delay: 20_000 },
    Conditions { loss: 0.4, duplication: 0.2, delay: 2 * SECOND },
    Conditions { loss: 1.0, duplication: 0.0, delay: 0 },
];

/// The network between the clients and the node.
pub struct Network {
    random: Random,
    conditions: Conditions,
}

impl Network {
    pub fn new(random: Random) -> Self {
        Self { random, conditions: CONDITIONS[0] }
    }

    /// Changes the conditions.
    pub fn change(&mut self) {
        self.conditions = CONDITIONS[self.random.below(CONDITIONS.len() as u64) as usize];
    }

    /// Makes the conditions good permanently.
    pub fn calm(&mut self) {
        self.conditions = CONDITIONS[0];
    }

    /// The delays after which a datagram arrives: none if it is lost, two if it is duplicated.
    pub fn send(&mut self) -> impl Iterator<Item = u64> + use<> {
        let Conditions { loss, duplication, delay } = self.conditions;
        let copies = if self.random.chance(loss) { 0 } else { 1 + usize::from(self.random.chance(duplication)) };
        let mut delays = [0; 2];
        for place in &mut delays {
            let longest = if self.random.chance(0.9) { delay / 20 } else { delay };
            *place = 20 + self.random.below(longest + 1);
        }
        delays.into_iter().take(copies)
    }
}
