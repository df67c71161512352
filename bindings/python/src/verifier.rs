use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use shared::{Backend, Call, Error, Function, Items, Policy, Scheme, Tag};

use crate::BackendError;
use crate::buffer::{Array, Rows, Source};

fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Backend { .. } => BackendError::new_err(text),
        Error::Threads { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// Extracts a number of a small type from a Python integer.
pub fn number<'py, T: FromPyObjectOwned<'py, Error = PyErr>>(what: &str, object: &Bound<'py, PyAny>) -> PyResult<T> {
    object.extract().map_err(|error: PyErr| match error.is_instance_of::<PyOverflowError>(object.py()) {
        true => refused(what, object),
        false => error,
    })
}

fn refused(what: &str, number: &Bound<'_, PyAny>) -> PyErr {
    match number.str() {
        Ok(number) => PyValueError::new_err(format!("{number} is not {what}")),
        Err(error) => error,
    }
}

fn backend(object: &Bound<'_, PyAny>) -> PyResult<Backend> {
    let number: u8 = number("a backend", object)?;
    let found = Backend::ALL.into_iter().find(|backend| *backend as u8 == number);
    found.ok_or_else(|| refused("a backend", object))
}

fn scheme(object: &Bound<'_, PyAny>) -> PyResult<Scheme> {
    let number: u8 = number("a scheme", object)?;
    let found = Scheme::ALL.into_iter().find(|scheme| *scheme as u8 == number);
    found.ok_or_else(|| refused("a scheme", object))
}

fn policy(object: &Bound<'_, PyAny>) -> PyResult<Policy> {
    shared::policy(number("a policy", object)?).ok_or_else(|| refused("a policy", object))
}

/// Interval between checks for a keyboard interrupt, which take the interpreter's lock.
const PATIENCE: Duration = Duration::from_millis(20);

/// Makes a call without the interpreter's lock. A keyboard interrupt, or another exception of a signal handler, stops
/// it.
fn detached<T: Send>(
    py: Python<'_>,
    verifier: &shared::Verifier,
    work: impl FnOnce(&mut Call<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let result = py.detach(|| {
        let mut looked = Instant::now();
        let mut go_on = || {
            if looked.elapsed() < PATIENCE {
                return true;
            }
            raised = Python::attach(|py| py.check_signals()).err();
            looked = Instant::now();
            raised.is_none()
        };
        work(&mut verifier.call_while(&mut go_on))
    });
    raised.map_or_else(|| result.map_err(raise), Err)
}

/// Output array for codes.
fn codes(object: &Bound<'_, PyAny>) -> PyResult<Array<u8>> {
    Array::new("codes", object, "uint8", 1)
}

#[pyclass(frozen, module = "turnpike_verify._native")]
pub struct Verifier(shared::Verifier);

/// Verifies signatures of messages.
type VerifySigned = fn(&mut Call<'_>, Items<'_>, Items<'_>, Items<'_>, &mut [u8]) -> Result<(), Error>;

impl Verifier {
    /// Verifies signatures and keys of these lengths.
    fn signed<const SIGNATURE: usize, const KEY: usize>(
        &self,
        py: Python<'_>,
        verify: VerifySigned,
        messages: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let messages = Source::new("messages", messages)?;
        let signatures = Source::Rows(Rows::with_width::<SIGNATURE>("signatures", signatures)?);
        let keys = Source::Rows(Rows::with_width::<KEY>("keys", keys)?);
        let mut codes = self::codes(codes)?;
        let messages = messages.items().map_err(raise)?;
        let (signatures, keys) = (signatures.items().map_err(raise)?, keys.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        detached(py, &self.0, |call| verify(call, messages, signatures, keys, codes))
    }
}

#[pymethods]
impl Verifier {
    #[new]
    fn new(threads: &Bound<'_, PyAny>, backend: &Bound<'_, PyAny>) -> PyResult<Self> {
        let threads = number("a number of threads", threads)?;
        Ok(Self(shared::Verifier::new(threads, self::backend(backend)?).map_err(raise)?))
    }

    #[staticmethod]
    fn available(scheme: &Bound<'_, PyAny>, backend: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self::backend(backend)?.is_available(self::scheme(scheme)?))
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn backend(&self, scheme: &Bound<'_, PyAny>) -> PyResult<u8> {
        Ok(self.0.backend(self::scheme(scheme)?).map_err(raise)? as u8)
    }

    fn hash(
        &self,
        py: Python<'_>,
        double: bool,
        tag: Option<&str>,
        messages: &Bound<'_, PyAny>,
        digests: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (messages, mut digests) = (Rows::new("messages", messages)?, Rows::with_width::<32>("digests", digests)?);
        let function = match tag {
            Some(tag) => Function::Tagged(Tag::new(tag)),
            None if double => Function::Sha256d,
            None => Function::Sha256,
        };
        let (bytes, width, digests) = (messages.bytes(), messages.width(), digests.arrays_mut()?);
        detached(py, &self.0, |call| call.hash(&function, bytes, width, digests))
    }

    fn merkle_parents(&self, py: Python<'_>, children: &Bound<'_, PyAny>, parents: &Bound<'_, PyAny>) -> PyResult<()> {
        let (children, mut parents) =
            (Rows::with_width::<32>("children", children)?, Rows::with_width::<32>("parents", parents)?);
        let (children, parents) = (children.arrays(), parents.arrays_mut()?);
        detached(py, &self.0, |call| call.merkle_parents(children, parents))
    }

    fn merkle_root(&self, py: Python<'_>, leaves: &Bound<'_, PyAny>) -> PyResult<([u8; 32], bool)> {
        let leaves = Rows::with_width::<32>("leaves", leaves)?;
        let leaves = leaves.arrays();
        let root = detached(py, &self.0, |call| call.merkle_root(leaves))?;
        Ok((root.hash, root.ambiguous))
    }

    #[expect(clippy::too_many_arguments, reason = "the parameters of the scheme are three")]
    fn equihash(
        &self,
        py: Python<'_>,
        n: &Bound<'_, PyAny>,
        k: &Bound<'_, PyAny>,
        personalisation: [u8; 8],
        inputs: &Bound<'_, PyAny>,
        solutions: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (n, k) = (number("an n of Equihash", n)?, number("a k of Equihash", k)?);
        let (inputs, solutions) = (Source::new("inputs", inputs)?, Source::new("solutions", solutions)?);
        let mut codes = self::codes(codes)?;
        let (inputs, solutions) = (inputs.items().map_err(raise)?, solutions.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        detached(py, &self.0, |call| call.equihash((n, k), personalisation, inputs, solutions, codes))
    }

    fn zcash_headers(&self, py: Python<'_>, headers: &Bound<'_, PyAny>, codes: &Bound<'_, PyAny>) -> PyResult<()> {
        let headers = Source::Rows(Rows::with_width::<{ shared::ZCASH_HEADER_LENGTH }>("headers", headers)?);
        let mut codes = self::codes(codes)?;
        let (headers, codes) = (headers.items().map_err(raise)?, codes.values_mut()?);
        detached(py, &self.0, |call| call.zcash_headers(headers, codes))
    }

    fn ecdsa(
        &self,
        py: Python<'_>,
        policy: &Bound<'_, PyAny>,
        digests: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let policy = self::policy(policy)?;
        let digests = Rows::with_width::<32>("digests", digests)?;
        let (signatures, keys) = (Source::new("signatures", signatures)?, Source::new("keys", keys)?);
        let mut codes = self::codes(codes)?;
        let digests = digests.arrays();
        let (signatures, keys) = (signatures.items().map_err(raise)?, keys.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        detached(py, &self.0, |call| call.ecdsa(policy, digests, signatures, keys, codes))
    }

    #[expect(clippy::too_many_arguments, reason = "what comes out is given as well")]
    fn recover_ecdsa(
        &self,
        py: Python<'_>,
        policy: &Bound<'_, PyAny>,
        digests: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        ids: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let policy = self::policy(policy)?;
        let (digests, mut keys) = (Rows::with_width::<32>("digests", digests)?, Rows::with_width::<33>("keys", keys)?);
        let (signatures, ids) = (Source::new("signatures", signatures)?, Array::new("ids", ids, "uint8", 1)?);
        let mut codes = self::codes(codes)?;
        let (digests, signatures) = (digests.arrays(), signatures.items().map_err(raise)?);
        let (ids, keys, codes) = (ids.values(), keys.arrays_mut()?, codes.values_mut()?);
        detached(py, &self.0, |call| call.recover_ecdsa(policy, digests, signatures, ids, keys, codes))
    }

    fn schnorr(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.signed::<64, 32>(
            py,
            |call, messages, signatures, keys, codes| call.schnorr(messages, signatures, keys, codes),
            messages,
            signatures,
            keys,
            codes,
        )
    }

    fn bls(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.signed::<96, 48>(
            py,
            |call, messages, signatures, keys, codes| call.bls(messages, signatures, keys, codes),
            messages,
            signatures,
            keys,
            codes,
        )
    }

    fn groth16(
        &self,
        py: Python<'_>,
        key: &[u8],
        proofs: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let proofs = Source::Rows(Rows::with_width::<192>("proofs", proofs)?);
        let inputs = Source::new("inputs", inputs)?;
        let mut codes = self::codes(codes)?;
        let (proofs, inputs) = (proofs.items().map_err(raise)?, inputs.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        detached(py, &self.0, |call| call.groth16(key, proofs, inputs, codes))
    }

    fn pairings(&self, py: Python<'_>, products: &Bound<'_, PyAny>, codes: &Bound<'_, PyAny>) -> PyResult<()> {
        let products = Source::new("products", products)?;
        let mut codes = self::codes(codes)?;
        let (products, codes) = (products.items().map_err(raise)?, codes.values_mut()?);
        detached(py, &self.0, |call| call.pairings(products, codes))
    }
}
