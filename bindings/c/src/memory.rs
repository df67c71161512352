//! Converts pointers to slices.

use crate::Status;

/// Contiguous items. The functions that take them define their number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Items {
    /// The first byte of the first item.
    pub bytes: *const u8,
    /// The length of each item. Ignored if there are offsets.
    pub width: usize,
    /// NULL for items of one length. Otherwise item i extends from `offsets[i]` to `offsets[i + 1]`, so there is one
    /// more offset than items; the last one is the length of `bytes`.
    pub offsets: *const u64,
}

impl Items {
    /// Items of one width.
    pub(crate) fn rows(bytes: *const u8, width: usize) -> Self {
        Self { bytes, width, offsets: std::ptr::null() }
    }

    /// # Safety
    ///
    /// That of [`slice`], for what the fields say and `count` items.
    pub(crate) unsafe fn get<'a>(&self, count: usize) -> Result<shared::Items<'a>, Status> {
        if self.offsets.is_null() {
            let length = self.width.checked_mul(count).ok_or(Status::Length)?;
            // SAFETY: the caller's promise.
            return Ok(shared::Items::rows(unsafe { slice(self.bytes, length) }?, self.width, count)?);
        }
        let offsets_count = count.checked_add(1).ok_or(Status::Length)?;
        // SAFETY: the caller's promise.
        let offsets = unsafe { slice(self.offsets, offsets_count) }?;
        let length = usize::try_from(offsets[count]).map_err(|_| Status::Length)?;
        // SAFETY: the caller's promise.
        Ok(shared::Items::offsets(unsafe { slice(self.bytes, length) }?, offsets)?)
    }
}

fn check<T>(pointer: *const T, count: usize) -> Result<(), Status> {
    if count.checked_mul(size_of::<T>()).is_none_or(|length| length > isize::MAX as usize) {
        return Err(Status::Length);
    }
    if pointer.is_null() || !pointer.is_aligned() { Err(Status::Pointer) } else { Ok(()) }
}

/// # Safety
///
/// The pointer is to `count` values, which nobody writes to until the call that has the pointer returns.
pub(crate) unsafe fn slice<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T], Status> {
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
pub(crate) unsafe fn slice_mut<'a, T>(pointer: *mut T, count: usize) -> Result<&'a mut [T], Status> {
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
pub(crate) unsafe fn reference<'a, T>(pointer: *const T) -> Result<&'a T, Status> {
    check(pointer, 1)?;
    // SAFETY: the caller's promise; the rest was checked.
    Ok(unsafe { &*pointer })
}
