//! Holds: amounts that a payer reserves for a receiver.
//!
//! 1. HOLD takes an amount from the source. It is then in no balance, and nobody can spend it.
//! 2. A hold ends once, and all at once. CAPTURE, by the destination, gives the destination an amount and the source
//!    the rest. RELEASE, by the destination, and RECLAIM, by the source, give all of it back.
//! 3. From its expiry on, only RELEASE and RECLAIM are possible; before, and without one, RECLAIM is not. The time is
//!    that of the execution, in whole seconds.
//! 4. A hold is named by its payer, receiver, transaction id and expiry. The operation that ends it repeats all of
//!    them, so nothing but the amount needs to be remembered.
//! 5. Only an operation that ends a hold leaves a trace. Otherwise it can be repeated with another amount.

/// Microseconds of a second, the unit of expiries.
const SECOND: u64 = 1_000_000;

/// Whether a hold with this expiry has expired at a time in microseconds since the Unix epoch.
#[inline]
pub const fn is_expired(expiry: Option<u32>, now: u64) -> bool {
    match expiry {
        Some(expiry) => now / SECOND >= expiry as u64,
        None => false,
    }
}
