//! From Python's buffers to slices, without copying.

use std::ffi::CStr;

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use shared::Items;

/// Whether values of more bytes than one have them in the other order than this machine has. A format says so by its first character.
fn is_of_another_byte_order(format: &CStr) -> bool {
    match format.to_bytes() {
        [b'>' | b'!', ..] => cfg!(target_endian = "little"),
        [b'<', ..] => cfg!(target_endian = "big"),
        _ => false,
    }
}

/// Values that a Python object keeps for as long as this lives.
///
/// Whoever calls must not let another thread write to them during a call, which the documentation says. Python's own
/// functions that let go of the interpreter's lock, `hashlib`'s for instance, ask for the same.
pub struct Array<T: Element> {
    name: &'static str,
    buffer: PyBuffer<T>,
}

impl<T: Element> Array<T> {
    /// # Errors
    ///
    /// TypeError if the object is no buffer of this type, ValueError if it has not as many dimensions, or its values do not
    /// lie one after the other.
    pub fn new(name: &'static str, object: &Bound<'_, PyAny>, kind: &str, dimensions: usize) -> PyResult<Self> {
        let wrong_type = || {
            let found = object.getattr("dtype").or_else(|_| object.get_type().name().map(Bound::into_any));
            let found = found.map_or_else(|_| "?".into(), |found| found.to_string());
            PyTypeError::new_err(format!("{name} must be an array of {kind}, not of {found}"))
        };
        let buffer = PyBuffer::<T>::get(object).map_err(|_| wrong_type())?;
        if size_of::<T>() > 1 && is_of_another_byte_order(buffer.format()) {
            return Err(wrong_type());
        }
        if buffer.dimensions() != dimensions {
            return Err(PyValueError::new_err(format!(
                "{name} must have {dimensions} dimensions, not {}",
                buffer.dimensions()
            )));
        }
        if !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err(format!(
                "{name} must be contiguous in C's order: use numpy.ascontiguousarray"
            )));
        }
        Ok(Self { name, buffer })
    }

    pub fn shape(&self) -> &[usize] {
        self.buffer.shape()
    }

    /// All values.
    pub fn values(&self) -> &[T] {
        let count = self.buffer.item_count();
        if count == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, of this type, and stays for as long as it is not released; nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast(), count) }
    }

    /// All values, to be written to.
    ///
    /// # Errors
    ///
    /// BufferError if the values must not be written to.
    pub fn values_mut(&mut self) -> PyResult<&mut [T]> {
        if self.buffer.readonly() {
            return Err(PyBufferError::new_err(format!("{} must be writable", self.name)));
        }
        let count = self.buffer.item_count();
        if count == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as above; the package makes the arrays that are written to, so nobody else knows them.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.buffer.buf_ptr().cast(), count) })
    }
}

/// A table of bytes, an item in each row.
pub struct Rows(Array<u8>);

impl Rows {
    pub fn new(name: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Array::new(name, object, "uint8", 2)?))
    }

    /// A table whose rows have this length.
    pub fn of<const N: usize>(name: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let rows = Self::new(name, object)?;
        if rows.width() != N {
            return Err(PyValueError::new_err(format!(
                "{name} must have the shape (count, {N}), not {:?}",
                rows.0.shape()
            )));
        }
        Ok(rows)
    }

    pub fn count(&self) -> usize {
        self.0.shape()[0]
    }

    pub fn width(&self) -> usize {
        self.0.shape()[1]
    }

    pub fn bytes(&self) -> &[u8] {
        self.0.values()
    }

    /// The rows, whose length was checked.
    pub fn arrays<const N: usize>(&self) -> &[[u8; N]] {
        self.bytes().as_chunks().0
    }

    pub fn arrays_mut<const N: usize>(&mut self) -> PyResult<&mut [[u8; N]]> {
        Ok(self.0.values_mut()?.as_chunks_mut().0)
    }
}

/// Items of one length (a table), or of any lengths (a pair of bytes and offsets).
pub enum Source {
    Rows(Rows),
    Packed(Array<u8>, Array<u64>),
}

impl Source {
    pub fn new(name: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
            Ok((bytes, offsets)) => {
                Ok(Self::Packed(Array::new(name, &bytes, "uint8", 1)?, Array::new(name, &offsets, "uint64", 1)?))
            }
            Err(_) => Ok(Self::Rows(Rows::new(name, object)?)),
        }
    }

    pub fn items(&self) -> Result<Items<'_>, shared::Error> {
        match self {
            Self::Rows(rows) => Items::rows(rows.bytes(), rows.width(), rows.count()),
            Self::Packed(bytes, offsets) => Items::offsets(bytes.values(), offsets.values()),
        }
    }
}
