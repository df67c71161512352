//! Keys like those of memcached's users (the paper's section 2, after Atikoglu and others, SIGMETRICS 2012). All are
//! distinct.

use turnpike_table::Hasher;

/// Kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 16 random bytes.
    Random,
    /// User names: a first name, a last name, a number.
    Names,
    /// 32 hexadecimal digits, like the MD5 of a query.
    Digests,
    /// Cookies: four numbers.
    Cookies,
}

impl Kind {
    /// Its name in the figure.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random keys",
            Self::Names => "user names",
            Self::Digests => "digests of queries",
            Self::Cookies => "cookies of four numbers",
        }
    }
}

/// Frequent names of the census of the United States, 1990.
const FIRST: [&str; 32] = [
    "james",
    "john",
    "robert",
    "michael",
    "william",
    "david",
    "richard",
    "charles",
    "joseph",
    "thomas",
    "mary",
    "patricia",
    "linda",
    "barbara",
    "elizabeth",
    "jennifer",
    "maria",
    "susan",
    "margaret",
    "dorothy",
    "lisa",
    "nancy",
    "karen",
    "betty",
    "helen",
    "sandra",
    "donna",
    "carol",
    "ruth",
    "sharon",
    "michelle",
    "laura",
];
const LAST: [&str; 32] = [
    "smith",
    "johnson",
    "williams",
    "jones",
    "brown",
    "davis",
    "miller",
    "wilson",
    "moore",
    "taylor",
    "anderson",
    "thomas",
    "jackson",
    "white",
    "harris",
    "martin",
    "thompson",
    "garcia",
    "martinez",
    "robinson",
    "clark",
    "rodriguez",
    "lewis",
    "lee",
    "walker",
    "hall",
    "allen",
    "young",
    "hernandez",
    "king",
    "wright",
    "lopez",
];

/// `count` keys of a kind, in a repeatable order that is independent of their contents.
pub fn generate(kind: Kind, count: usize) -> Vec<Vec<u8>> {
    let hasher = Hasher::new(b"fedcba9876543210");
    let random =
        |number: usize, part: u64| hasher.hash_bytes(&[number as u64, part].map(u64::to_le_bytes).concat()).to_bits();
    // An odd factor permutes all numbers below a power of two.
    let order = |at: usize| at.wrapping_mul(0x9e37_79b1) & (count.next_power_of_two() - 1);
    (0..count)
        .map(order)
        .map(|number| match kind {
            Kind::Random => [random(number, 0), random(number, 1)].map(u64::to_le_bytes).concat(),
            Kind::Names => {
                let (first, last, rest) = (number % FIRST.len(), number / FIRST.len() % LAST.len(), number / 1024);
                format!("{}.{}{rest}", FIRST[first], LAST[last]).into_bytes()
            }
            Kind::Digests => format!("{:016x}{:016x}", random(number, 0), random(number, 1)).into_bytes(),
            Kind::Cookies => {
                // A user, a visit, a campaign and a shop, numbered by counters.
                let (user, visit) = (100_000 + number / 8, number % 8);
                format!("{user}-{visit}-{}-{}", 1000 + user % 97, 10 + user % 7).into_bytes()
            }
        })
        .collect()
}
