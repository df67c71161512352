use std::ops::ControlFlow;

use thiserror::Error;
use verify::vdf::{Delay, EvaluateError, Evaluated, Modulus, NumberError};

/// Why nothing was evaluated or verified.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DelayError {
    /// Not a modulus.
    #[error(transparent)]
    Modulus(#[from] NumberError),
    /// A modulus must begin with a nonzero byte, so that all other lengths follow from its own.
    #[error("the modulus begins with a zero byte")]
    Zero,
    /// There is no result.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

/// The delay of a message: its hash, squared `iterations` times modulo a big-endian number.
pub fn delay(modulus: &[u8], message: &[u8], iterations: u64) -> Result<Delay, DelayError> {
    let parsed = Modulus::new(modulus)?;
    if parsed.length() != modulus.len() {
        return Err(DelayError::Zero);
    }
    Ok(Delay { input: parsed.hash(message), modulus: parsed, iterations })
}

/// Evaluates a delay and proves the result, in the byte format of docs/delay.md. `progress` is called occasionally with
/// the number of squarings done, and may stop: then there is no result.
pub fn evaluate_delay(
    delay: &Delay,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Option<Vec<u8>>, DelayError> {
    let evaluated = delay.evaluate(&[], |checkpoint| progress(checkpoint.at))?;
    Ok(evaluated.map(|evaluated| evaluated.to_bytes()))
}

/// The result of a delay, if the bytes prove one of this delay.
pub fn verify_delay(delay: &Delay, proof: &[u8]) -> Option<Vec<u8>> {
    let evaluated = Evaluated::from_bytes(proof).ok()?;
    (evaluated.delay() == delay && evaluated.verify().is_ok()).then(|| evaluated.output())
}
