//! Inverses modulo a prime, in plain integers: by the division steps of Bernstein and Yang, "Fast constant-time gcd
//! computation and modular inversion", without the constant time.
//!
//! Two numbers f and g, initially the prime and the number to invert, shrink to 1 or -1 and 0: an even g is halved;
//! otherwise f is added to it, possibly after a swap. The choice depends only on their lowest bits. So 62 steps at a
//! time are computed on one word of each, and then applied to the whole numbers as a matrix.

/// Steps at a time, and bits of a limb: the factors of this many steps, and their sums, fit into a signed word.
const STEPS: u32 = 62;
const LIMB: i64 = (1 << STEPS) - 1;

/// A signed number in limbs of 62 bits, the lowest first. The last limb has the sign.
type Signed = [i64; 5];

/// The effect of steps on two numbers (f, g), times 2^62: (a f + b g, c f + d g).
struct Steps {
    a: i64,
    b: i64,
    c: i64,
    d: i64,
}

/// The inverse of a number below the prime; zero for zero.
pub(super) fn invert(number: &[u64; 4], prime: &[u64; 4]) -> [u64; 4] {
    let prime = from_words(prime);
    let inverse = invert_word(prime[0]);
    let (mut f, mut g) = (prime, from_words(number));
    // Invariant: f and g are these factors times the number, modulo the prime.
    let (mut of_f, mut of_g) = ([0; 5], [1, 0, 0, 0, 0]);
    let mut delta = 1;
    while g != [0; 5] {
        let steps = Steps::next(&mut delta, f[0], g[0]);
        (f, g) = steps.apply(&f, &g);
        (of_f, of_g) = steps.apply_modulo(&of_f, &of_g, &prime, inverse);
    }
    // Now f is 1 or -1, or the prime if the number was zero; its factor is between -2 primes and one.
    let sign = f[4] >> 63;
    if sign < 0 {
        of_f = carry(of_f.map(|limb| -limb));
    }
    while of_f[4] < 0 {
        of_f = carry(std::array::from_fn(|at| of_f[at] + prime[at]));
    }
    let less = carry(std::array::from_fn(|at| of_f[at] - prime[at]));
    to_words(&if less[4] < 0 { of_f } else { less })
}

/// 1 / number modulo 2^62, for an odd number.
fn invert_word(number: i64) -> i64 {
    // Correct for three bits; each of Newton's steps doubles that.
    (0..5).fold(number, |inverse, _| inverse.wrapping_mul(2i64.wrapping_sub(number.wrapping_mul(inverse)))) & LIMB
}

impl Steps {
    /// The next 62 steps for numbers that end with these words. Delta decides whether the two swap.
    fn next(delta: &mut i32, f: i64, g: i64) -> Self {
        let (mut f, mut g) = (f as u64, g as u64);
        let mut steps = Self { a: 1, b: 0, c: 0, d: 1 };
        let mut left = STEPS;
        loop {
            let zeros = (g | u64::MAX << left).trailing_zeros();
            g >>= zeros;
            (steps.a, steps.b) = (steps.a << zeros, steps.b << zeros);
            *delta += zeros as i32;
            left -= zeros;
            if left == 0 {
                return steps;
            }
            if *delta > 0 {
                *delta = -*delta;
                (f, g) = (g, f.wrapping_neg());
                steps = Self { a: steps.c, b: steps.d, c: -steps.a, d: -steps.b };
            }
            // The number of steps until the two may swap again. Adding a multiple of f clears as many of the lowest
            // bits of g, up to six, at once.
            let bits = (1 - *delta).cast_unsigned().min(left).min(6);
            // f (f^2 - 2) is -1 / f modulo 64.
            let times = g.wrapping_mul(f).wrapping_mul(f.wrapping_mul(f).wrapping_sub(2)) & ((1 << bits) - 1);
            g = g.wrapping_add(f.wrapping_mul(times));
            steps.c += steps.a * times as i64;
            steps.d += steps.b * times as i64;
        }
    }

    /// (a f + b g, c f + d g) / 2^62, which is exact.
    fn apply(&self, f: &Signed, g: &Signed) -> (Signed, Signed) {
        (combine(f, self.a, g, self.b, &[0; 5], 0), combine(f, self.c, g, self.d, &[0; 5], 0))
    }

    /// The same modulo the prime, for numbers between -2 primes and one: a multiple of the prime makes the division
    /// exact.
    fn apply_modulo(&self, f: &Signed, g: &Signed, prime: &Signed, inverse: i64) -> (Signed, Signed) {
        let row = |a: i64, b: i64| {
            // One prime more if f or g is negative, so that the result is as close to zero as they are.
            let more = (a & f[4] >> 63) + (b & g[4] >> 63);
            let low = a.wrapping_mul(f[0]).wrapping_add(b.wrapping_mul(g[0]));
            let times = more - (low.wrapping_mul(inverse).wrapping_add(more) & LIMB);
            combine(f, a, g, b, prime, times)
        };
        (row(self.a, self.b), row(self.c, self.d))
    }
}

/// (x a + y b + z c) / 2^62, rounded down.
fn combine(x: &Signed, a: i64, y: &Signed, b: i64, z: &Signed, c: i64) -> Signed {
    let wide = |x: i64, a: i64| i128::from(x) * i128::from(a);
    let mut sum = 0i128;
    let mut combined = [0; 5];
    for at in 0..5 {
        sum += wide(x[at], a) + wide(y[at], b) + wide(z[at], c);
        if at > 0 {
            combined[at - 1] = sum as i64 & LIMB;
        }
        sum >>= STEPS;
    }
    combined[4] = sum as i64;
    combined
}

/// Normalises limbs to 62 bits; the last keeps the excess.
fn carry(mut limbs: Signed) -> Signed {
    for at in 0..4 {
        limbs[at + 1] += limbs[at] >> STEPS;
        limbs[at] &= LIMB;
    }
    limbs
}

fn from_words(words: &[u64; 4]) -> Signed {
    let [a, b, c, d] = *words;
    [a, a >> 62 | b << 2, b >> 60 | c << 4, c >> 58 | d << 6, d >> 56].map(|limb| limb as i64 & LIMB)
}

fn to_words(limbs: &Signed) -> [u64; 4] {
    let [a, b, c, d, e] = limbs.map(|limb| limb as u64);
    [a | b << 62, b >> 2 | c << 60, c >> 4 | d << 58, d >> 6 | e << 56]
}
