//! Converts pointers to slices and references, and writes outputs.

use std::ffi::{CStr, c_char};

use crate::failure::Failure;
use crate::{ClientStatus, Id};

fn check<T>(pointer: *const T, count: usize) -> Result<(), Failure> {
    if count.checked_mul(size_of::<T>()).is_none_or(|length| length > isize::MAX as usize) {
        return Err(Failure::argument(ClientStatus::TurnpikeLength, format!("{count} items do not fit in memory")));
    }
    if pointer.is_null() || !pointer.is_aligned() {
        let state = if pointer.is_null() { "NULL" } else { "not aligned" };
        return Err(Failure::argument(ClientStatus::TurnpikePointer, format!("a required pointer is {state}")));
    }
    Ok(())
}

/// # Safety
///
/// The pointer is to `count` values, which nobody writes to until the call that has the pointer returns.
pub(crate) unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, count)?;
    // SAFETY: the caller's promise; the rest was checked.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// # Safety
///
/// The pointer is to `count` values, which nobody else uses until the call that has the pointer returns. Every bit
/// pattern is a valid value of the type.
pub(crate) unsafe fn slice_mut<'a, T>(pointer: *mut T, count: usize) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, count)?;
    // SAFETY: the caller's promise; the rest was checked.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// # Safety
///
/// The pointer is NULL or to a value that nobody writes to until the call that has the pointer returns.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T) -> Result<&'a T, Failure> {
    check(pointer, 1)?;
    // SAFETY: the caller's promise; the rest was checked.
    Ok(unsafe { &*pointer })
}

/// An output that is written once, when its value is known. Its memory may be uninitialised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output<T>(*mut T);

impl<T> Output<T> {
    /// A required output.
    ///
    /// # Safety
    ///
    /// The pointer is NULL or to memory for a value, which nobody else uses until the call that has the pointer
    /// returns.
    pub(crate) unsafe fn required(pointer: *mut T) -> Result<Self, Failure> {
        check(pointer, 1)?;
        Ok(Self(pointer))
    }

    /// An output that may be NULL.
    ///
    /// # Safety
    ///
    /// As [`Self::required`].
    pub(crate) unsafe fn optional(pointer: *mut T) -> Result<Self, Failure> {
        if !pointer.is_null() {
            check(pointer, 1)?;
        }
        Ok(Self(pointer))
    }

    /// Writes the value.
    pub(crate) fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the constructors checked the pointer, and the rest was their caller's promise.
            unsafe { self.0.write(value) };
        }
    }
}

/// A buffer for bytes whose length the caller cannot know.
#[derive(Debug)]
pub(crate) struct Buffer<'a> {
    bytes: &'a mut [u8],
    length: Output<usize>,
}

impl Buffer<'_> {
    /// # Safety
    ///
    /// `bytes` is to `capacity` bytes and `length` is NULL or to a length, which nobody else uses until the call that
    /// has the pointers returns.
    pub(crate) unsafe fn new(bytes: *mut u8, capacity: usize, length: *mut usize) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        unsafe { Ok(Self { bytes: slice_mut(bytes, capacity)?, length: Output::optional(length)? }) }
    }

    /// Writes the bytes and their length; without room, the length alone.
    pub(crate) fn set(self, value: &[u8]) -> Result<(), Failure> {
        self.length.set(value.len());
        let capacity = self.bytes.len();
        let short = || {
            let message = format!("the buffer has {capacity} bytes, but {} are needed", value.len());
            Failure::argument(ClientStatus::TurnpikeBuffer, message)
        };
        self.bytes.get_mut(..value.len()).ok_or_else(short)?.copy_from_slice(value);
        Ok(())
    }

    /// As [`Self::set`], but a buffer without any room is one that the caller does not need.
    pub(crate) fn set_if_wanted(self, value: &[u8]) -> Result<(), Failure> {
        if self.bytes.is_empty() {
            self.length.set(value.len());
            return Ok(());
        }
        self.set(value)
    }
}

/// # Safety
///
/// The pointer is NULL or to an id that nobody writes to until the call that has the pointer returns.
pub(crate) unsafe fn id(pointer: *const Id) -> Result<Id, Failure> {
    // SAFETY: the caller's promise.
    unsafe { reference(pointer) }.copied()
}

/// # Safety
///
/// The pointer is NULL or to `N` bytes that nobody writes to until the call that has the pointer returns.
pub(crate) unsafe fn bytes<const N: usize>(pointer: *const u8) -> Result<[u8; N], Failure> {
    // SAFETY: the caller's promise.
    unsafe { reference(pointer.cast::<[u8; N]>()) }.copied()
}

/// # Safety
///
/// The pointer is NULL or to a zero-terminated string that nobody writes to until the call that has the pointer
/// returns.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, Failure> {
    check(pointer, 1)?;
    // SAFETY: the caller's promise; NULL was checked.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::argument(ClientStatus::TurnpikeArgument, "a text is not UTF-8".into()))
}
