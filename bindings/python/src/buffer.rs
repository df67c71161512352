//! Converts Python buffers to slices, without copying.

use std::ffi::CStr;

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use shared::Items;

/// Whether multi-byte values are in the other byte order than this machine's, according to the format's first
/// character.
fn is_of_another_byte_order(format: &CStr) -> bool {
    match format.to_bytes() {
        [b'>' | b'!', ..] => cfg!(target_endian = "little"),
        [b'<', ..] => cfg!(target_endian = "big"),
        _ => false,
    }
}

/// Values that a Python object keeps alive for as long as this lives.
///
/// The caller must not let another thread write to them during a call; the documentation says so. Python's own
/// functions that release the interpreter's lock, for instance in `hashlib`, require the same.
pub struct Array<T: Element> {
    name: &'static str,
    buffer: PyBuffer<T>,
}

impl<T: Element> Array<T> {
    /// # Errors
    ///
    /// TypeError if the object is not a buffer of this type, ValueError if the number of dimensions is wrong, or its
    /// values are not contiguous.
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
        // SAFETY: the buffer is contiguous, of this type, and valid until it is released; nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast(), count) }
    }

    /// All values, writable.
    ///
    /// # Errors
    ///
    /// BufferError if the buffer is read-only.
    pub fn values_mut(&mut self) -> PyResult<&mut [T]> {
        if self.buffer.readonly() {
            return Err(PyBufferError::new_err(format!("{} must be writable", self.name)));
        }
        let count = self.buffer.item_count();
        if count == 0 {
            return Ok(&mut []);
        }
        // SAFETY: the buffer has `count` values, is contiguous and aligned, and stays while it is borrowed. The package
        // creates the arrays that are written to, so nobody else refers to them.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.buffer.buf_ptr().cast(), count) })
    }
}

/// A table of bytes, one item per row.
pub struct Rows(Array<u8>);

impl Rows {
    pub fn new(name: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Array::new(name, object, "uint8", 2)?))
    }

    /// A table with rows of this length.
    pub fn with_width<const N: usize>(name: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
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

    /// The rows; their length has been checked.
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
