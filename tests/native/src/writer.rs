//! A writer that runs between any two loads of a C engine.

use std::{
    cell::RefCell,
    sync::atomic::{Ordering, fence},
};

thread_local! {
    /// Runs before each load from an engine's shared memory.
    static WRITER: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// Called by the C engines before each load.
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

/// Lets an engine answer while a writer takes a step before each of its loads.
pub(crate) fn beside<T>(writer: impl FnMut() + 'static, answer: impl FnOnce() -> T) -> T {
    WRITER.replace(Some(Box::new(writer)));
    let answer = answer();
    WRITER.take();
    answer
}
