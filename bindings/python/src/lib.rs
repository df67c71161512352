//! The native part of the Python package `turnpike_verify`: buffers in, buffers out.
//!
//! `python/turnpike_verify/__init__.py` has the interface, its documentation, and everything about numpy; `_native.pyi`
//! the types of this module. Every method checks the buffers while it holds the interpreter's lock, and releases the
//! lock for the work itself.

mod buffer;
mod delay;
mod verifier;

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use shared::RuleCode;

create_exception!(
    turnpike_verify,
    BackendError,
    PyRuntimeError,
    "This processor or this scheme does not have the backend."
);

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::delay::{evaluate_delay, verify_delay};
    #[pymodule_export]
    use super::verifier::Verifier;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("BackendError", module.py().get_type::<super::BackendError>())?;
        module.add("RULES", super::rules())
    }
}

/// Name, number and message of every rule.
fn rules() -> Vec<(String, u8, String)> {
    RuleCode::ALL.map(|rule| (format!("{rule:?}"), rule as u8, rule.message())).into()
}
