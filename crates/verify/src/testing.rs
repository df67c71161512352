//! Helpers for the tests of several modules.

use std::{collections::BTreeSet, fmt::Debug, sync::Mutex, thread};

use skip::Ability;

/// Those of `backends` whose instructions this processor has.
///
/// Each of the others is reported as skipped by the calling test, once.
#[track_caller]
pub fn available<B: Copy + Debug>(backends: &[B], is_available: impl Fn(B) -> bool) -> Vec<B> {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let (available, lacking): (Vec<B>, Vec<B>) = backends.iter().partition(|backend| is_available(**backend));
    for backend in lacking {
        let test = format!("{:?} {backend:?}", thread::current().name());
        if TOLD.lock().unwrap().insert(test) {
            skip::lacking(Ability::Processor, format_args!("the processor lacks the instructions of {backend:?}"));
        }
    }
    available
}
