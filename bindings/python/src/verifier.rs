use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use shared::{Backend, Error, Function, Items, Policy, Scheme, Tag};

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

fn backend(number: u8) -> PyResult<Backend> {
    let found = Backend::ALL.into_iter().find(|backend| *backend as u8 == number);
    found.ok_or_else(|| PyValueError::new_err(format!("{number} is not a backend")))
}

fn scheme(number: u8) -> PyResult<Scheme> {
    let found = Scheme::ALL.into_iter().find(|scheme| *scheme as u8 == number);
    found.ok_or_else(|| PyValueError::new_err(format!("{number} is not a scheme")))
}

fn policy(number: u32) -> PyResult<Policy> {
    shared::policy(number).ok_or_else(|| PyValueError::new_err(format!("{number} is not a policy")))
}

/// Where codes are written to.
fn codes(object: &Bound<'_, PyAny>) -> PyResult<Array<u8>> {
    Array::new("codes", object, "uint8", 1)
}

#[pyclass(frozen, module = "turnpike_verify._native")]
pub struct Verifier(shared::Verifier);

/// Verifies signatures of messages.
type VerifySigned = fn(&shared::Verifier, Items<'_>, Items<'_>, Items<'_>, &mut [u8]) -> Result<(), Error>;

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
        let signatures = Source::Rows(Rows::of::<SIGNATURE>("signatures", signatures)?);
        let keys = Source::Rows(Rows::of::<KEY>("keys", keys)?);
        let mut codes = self::codes(codes)?;
        let messages = messages.items().map_err(raise)?;
        let (signatures, keys) = (signatures.items().map_err(raise)?, keys.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        py.detach(|| verify(&self.0, messages, signatures, keys, codes)).map_err(raise)
    }
}

#[pymethods]
impl Verifier {
    #[new]
    fn new(threads: usize, backend: u8) -> PyResult<Self> {
        Ok(Self(shared::Verifier::new(threads, self::backend(backend)?).map_err(raise)?))
    }

    #[staticmethod]
    fn available(scheme: u8, backend: u8) -> PyResult<bool> {
        Ok(self::backend(backend)?.is_available(self::scheme(scheme)?))
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn backend(&self, scheme: u8) -> PyResult<u8> {
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
        let (messages, mut digests) = (Rows::new("messages", messages)?, Rows::of::<32>("digests", digests)?);
        let function = match tag {
            Some(tag) => Function::Tagged(Tag::new(tag)),
            None if double => Function::Sha256d,
            None => Function::Sha256,
        };
        let (bytes, width, digests) = (messages.bytes(), messages.width(), digests.arrays_mut()?);
        py.detach(|| self.0.hash(&function, bytes, width, digests)).map_err(raise)
    }

    fn merkle_parents(&self, py: Python<'_>, children: &Bound<'_, PyAny>, parents: &Bound<'_, PyAny>) -> PyResult<()> {
        let (children, mut parents) = (Rows::of::<32>("children", children)?, Rows::of::<32>("parents", parents)?);
        let (children, parents) = (children.arrays(), parents.arrays_mut()?);
        py.detach(|| self.0.merkle_parents(children, parents)).map_err(raise)
    }

    fn merkle_root(&self, py: Python<'_>, leaves: &Bound<'_, PyAny>) -> PyResult<([u8; 32], bool)> {
        let leaves = Rows::of::<32>("leaves", leaves)?;
        let leaves = leaves.arrays();
        let root = py.detach(|| self.0.merkle_root(leaves)).map_err(raise)?;
        Ok((root.hash, root.ambiguous))
    }

    #[expect(clippy::too_many_arguments, reason = "the parameters of the scheme are three")]
    fn equihash(
        &self,
        py: Python<'_>,
        n: usize,
        k: usize,
        personalisation: [u8; 8],
        inputs: &Bound<'_, PyAny>,
        solutions: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (inputs, solutions) = (Source::new("inputs", inputs)?, Source::new("solutions", solutions)?);
        let mut codes = self::codes(codes)?;
        let (inputs, solutions) = (inputs.items().map_err(raise)?, solutions.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        py.detach(|| self.0.equihash((n, k), personalisation, inputs, solutions, codes)).map_err(raise)
    }

    fn zcash_headers(&self, py: Python<'_>, headers: &Bound<'_, PyAny>, codes: &Bound<'_, PyAny>) -> PyResult<()> {
        let headers = Source::Rows(Rows::of::<{ shared::ZCASH_HEADER_LENGTH }>("headers", headers)?);
        let mut codes = self::codes(codes)?;
        let (headers, codes) = (headers.items().map_err(raise)?, codes.values_mut()?);
        py.detach(|| self.0.zcash_headers(headers, codes)).map_err(raise)
    }

    fn ecdsa(
        &self,
        py: Python<'_>,
        policy: u32,
        digests: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let policy = self::policy(policy)?;
        let digests = Rows::of::<32>("digests", digests)?;
        let (signatures, keys) = (Source::new("signatures", signatures)?, Source::new("keys", keys)?);
        let mut codes = self::codes(codes)?;
        let digests = digests.arrays();
        let (signatures, keys) = (signatures.items().map_err(raise)?, keys.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        py.detach(|| self.0.ecdsa(policy, digests, signatures, keys, codes)).map_err(raise)
    }

    #[expect(clippy::too_many_arguments, reason = "what comes out is given as well")]
    fn recover_ecdsa(
        &self,
        py: Python<'_>,
        policy: u32,
        digests: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        ids: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let policy = self::policy(policy)?;
        let (digests, mut keys) = (Rows::of::<32>("digests", digests)?, Rows::of::<33>("keys", keys)?);
        let (signatures, ids) = (Source::new("signatures", signatures)?, Array::new("ids", ids, "uint8", 1)?);
        let mut codes = self::codes(codes)?;
        let (digests, signatures) = (digests.arrays(), signatures.items().map_err(raise)?);
        let (ids, keys, codes) = (ids.values(), keys.arrays_mut()?, codes.values_mut()?);
        py.detach(|| self.0.recover_ecdsa(policy, digests, signatures, ids, keys, codes)).map_err(raise)
    }

    fn schnorr(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.signed::<64, 32>(py, shared::Verifier::schnorr, messages, signatures, keys, codes)
    }

    fn bls(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.signed::<96, 48>(py, shared::Verifier::bls, messages, signatures, keys, codes)
    }

    fn groth16(
        &self,
        py: Python<'_>,
        key: &[u8],
        proofs: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        codes: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let proofs = Source::Rows(Rows::of::<192>("proofs", proofs)?);
        let inputs = Source::new("inputs", inputs)?;
        let mut codes = self::codes(codes)?;
        let (proofs, inputs) = (proofs.items().map_err(raise)?, inputs.items().map_err(raise)?);
        let codes = codes.values_mut()?;
        py.detach(|| self.0.groth16(key, proofs, inputs, codes)).map_err(raise)
    }

    fn pairings(&self, py: Python<'_>, products: &Bound<'_, PyAny>, codes: &Bound<'_, PyAny>) -> PyResult<()> {
        let products = Source::new("products", products)?;
        let mut codes = self::codes(codes)?;
        let (products, codes) = (products.items().map_err(raise)?, codes.values_mut()?);
        py.detach(|| self.0.pairings(products, codes)).map_err(raise)
    }
}
