//! A writer that comes between any two loads of a C engine.

use std::{
    cell::RefCell,
    sync::atomic::{Ordering, fence},
};

thread_local! {
    /// What is done before each load from the memory that an engine shares.
    static WRITER: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// What the C engines call before each load.
#[unsafe(no_mangle)]
extern "C" fn native_before_load() {
    fence(Ordering::Acquire);
    WRITER.with_borrow_mut(|writer| {
        if let Some(step) = writer {
            step();
        }
    });
    fence(Ordering::Acquire);
}

/// Has an engine answer while a writer takes a step before each of its loads.
pub(crate) fn beside<T>(writer: impl FnMut() + 'static, answer: impl FnOnce() -> T) -> T {
    WRITER.replace(Some(Box::new(writer)));
    let answer = answer();
    WRITER.take();
    answer
}
