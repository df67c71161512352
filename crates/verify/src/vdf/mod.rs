//! Verifiable delay functions: repeated squaring modulo a number whose factors nobody knows.
//!
//! Squaring x T times takes T sequential squarings, however many processors there are. So nobody knows the result
//! without having waited, while verifying it takes milliseconds (Wesolowski 2019). The same squarings without a proof
//! are the time-lock puzzle of Rivest, Shamir and Wagner (1996), [`TimeLock`].
//!
//! - [`Modulus`], [`Number`]: the arithmetic.
//! - [`Delay`]: the function to evaluate. [`Delay::evaluate`] keeps intermediate numbers: it can continue from them
//!   after a crash, and computes the proof from them on another thread.
//! - [`Evaluated`]: the result with its proof, as it is sent; [`Evaluated::verify`].

#[cfg(target_arch = "x86_64")]
mod adx;
mod delay;
#[cfg(target_arch = "x86_64")]
mod fma;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod kernel;
mod modulus;
mod prime;
mod ring;
#[cfg(test)]
mod tests;
mod timelock;
mod wesolowski;
mod words;

pub use delay::{Delay, DelayCheckpoint, EvaluateError, Evaluated, FormatError, Invalid};
pub use modulus::{Modulus, Number, NumberError};
pub use timelock::TimeLock;

/// RSA-1024 of the RSA Factoring Challenge, whose creators destroyed the factors. For tests and comparisons only: 1,024
/// bits are within the reach of large attackers.
pub const RSA_1024: &str = "135066410865995223349603216278805969938881475605667027524485143851526510604859533833940287150571909441798207282164471\
    551373680419703964191743046496589274256239341020864383202110372958725762358509643110564073501508187510676594629205563685\
    529475213500852879416377328533906109750544334999811150056977236890927563";

/// RSA-2048 of the RSA Factoring Challenge, whose creators destroyed the factors.
pub const RSA_2048: &str = "2519590847565789349402718324004839857142928212620403202777713783604366202070759555626401852588078440691829064124951508\
    218929855914917618450280848912007284499268739280728777673597141834727026189637501497182469116507761337985909570009733045\
    974880842840179742910064245869181719511874612151517265463228221686998754918242243363725908514186546204357679842338718477\
    444792073993423658482382428119816381501067481045166037730605620161967625613384414360383390441495263443219011465754445417\
    842402092461651572335077870774981712577246796292638635637328991215483143816789988504044536402352738195137863656439121201\
    0397122822120720357";
