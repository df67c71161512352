//! Delay functions.

use std::ops::ControlFlow;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use shared::{Delay, DelayError, EvaluateError};

use crate::verifier::number;

fn raise(error: DelayError) -> PyErr {
    let text = error.to_string();
    match error {
        DelayError::Modulus(_) | DelayError::Zero | DelayError::Evaluate(EvaluateError::Trivial) => {
            PyValueError::new_err(text)
        }
        DelayError::Evaluate(EvaluateError::Foreign { .. } | EvaluateError::Mistake) => PyRuntimeError::new_err(text),
    }
}

fn delay(modulus: &[u8], message: &[u8], squarings: u64) -> PyResult<Delay> {
    shared::delay(modulus, message, squarings).map_err(raise)
}

#[pyfunction]
pub fn evaluate_delay<'py>(
    py: Python<'py>,
    modulus: &[u8],
    message: &[u8],
    squarings: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let delay = delay(modulus, message, number("a number of squarings", squarings)?)?;
    let mut raised = None;
    let made = py.detach(|| {
        shared::evaluate_delay(&delay, |done| {
            // Lets a keyboard interrupt end the evaluation.
            let result = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop))
            });
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    match (made.map_err(raise)?, raised) {
        (Some(proof), None) => Ok(PyBytes::new(py, &proof)),
        (_, Some(error)) => Err(error),
        (None, None) => Err(PyRuntimeError::new_err("the evaluation broke off, though nobody asked for it")),
    }
}

#[pyfunction]
pub fn verify_delay<'py>(
    py: Python<'py>,
    modulus: &[u8],
    message: &[u8],
    squarings: &Bound<'_, PyAny>,
    proof: &[u8],
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let delay = delay(modulus, message, number("a number of squarings", squarings)?)?;
    Ok(py.detach(|| shared::verify_delay(&delay, proof)).map(|result| PyBytes::new(py, &result)))
}
