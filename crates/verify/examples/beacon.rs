//! A randomness beacon for parties that do not trust each other: commit, reveal, delay.
//!
//! Each party commits to a number, then reveals it; the revealed numbers are the input of a delay function. Without the
//! delay the last party to reveal would know the result first, and could withhold its number if it did not like it.
//! With a delay longer than the time to reveal, nobody knows the result before it is too late; a party that withholds
//! its number is left out, and everybody sees that.
//!
//! `cargo run --release -p turnpike-verify --example beacon`
#![allow(missing_docs)]

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use turnpike_verify::sha256::Tag;
use turnpike_verify::vdf::{Delay, Evaluated, Modulus, RSA_2048};

static COMMITMENT: Tag = Tag::new("turnpike/beacon/commitment");
static RESULT: Tag = Tag::new("turnpike/beacon/result");

/// Number of squarings: a second or two here. A real beacon's delay is ten times the reveal period on the fastest
/// hardware.
const ITERATIONS: u64 = 1 << 20;

struct Party {
    name: &'static str,
    secret: [u8; 32],
    reveals: bool,
}

impl Party {
    fn commitment(&self) -> [u8; 32] {
        COMMITMENT.hash_parts(&[self.name.as_bytes(), &self.secret])
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A real beacon takes secrets from the operating system; this example must give the same result each time.
    let parties = [("Ada", true), ("Blaise", true), ("Carl", false), ("Dorothy", true)];
    let parties: Vec<Party> =
        parties.map(|(name, reveals)| Party { name, secret: COMMITMENT.hash(name.as_bytes()), reveals }).into();

    println!("1. All commit; the commitments are published, in a block for example.");
    let commitments: Vec<[u8; 32]> = parties.iter().map(Party::commitment).collect();

    println!("2. Who reveals is checked against the commitment.");
    let mut message = commitments.concat();
    for (party, commitment) in parties.iter().zip(&commitments) {
        if !party.reveals {
            println!("   {} keeps its number back, and is left out.", party.name);
        } else if COMMITMENT.hash_parts(&[party.name.as_bytes(), &party.secret]) == *commitment {
            message.extend(party.secret);
        } else {
            println!("   {} reveals another number, and is left out.", party.name);
        }
    }

    println!("3. Anybody evaluates the delay; one is enough.");
    let modulus = Modulus::from_decimal(RSA_2048)?;
    let delay = Delay { input: modulus.hash(&message), modulus, iterations: ITERATIONS };
    let start = Instant::now();
    let evaluated = delay.evaluate(&[], |_| ControlFlow::Continue(()))?.ok_or("nothing breaks it off")?;
    let proof = evaluated.to_bytes();
    println!("   {ITERATIONS} squarings in {:.2} s; proof of {} bytes", start.elapsed().as_secs_f64(), proof.len());

    println!("4. Everybody verifies it, against what they saw themselves.");
    let start = Instant::now();
    let received = Evaluated::from_bytes(&proof)?;
    if *received.delay() != delay {
        return Err("the proof is one of something else".into());
    }
    received.verify()?;
    println!("   verified in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let random = RESULT.hash(&received.output());
    println!("The random number is {}.", random.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    Ok(())
}
