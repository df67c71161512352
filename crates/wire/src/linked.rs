//! Linked chains: consecutive entries of a batch that succeed or fail together.
//!
//! Every entry of a chain but its last has the flag [`Operation::LINKED`]. A chain is well-formed if all of these hold:
//!
//! 1. It ends within its batch: the last entry has no such flag.
//! 2. It has at most [`LONGEST_CHAIN`] entries.
//! 3. It has no REFER, FREEZE or UNFREEZE, on which no payment depends.
//! 4. If it is signed, all of its transaction ids [commit to it](Operation::BOUND); if not, none.
//!
//! An entry that is not linked is a chain of one, and its id commits to none.

use crate::{Operation, SignedOperation, Status, TransactionId, U16};

/// Maximum number of entries of a chain: enough for the legs and fees of a payment, and few enough that the ledger can
/// execute a chain on a list of changes that it searches from start to end.
pub const LONGEST_CHAIN: usize = 64;

/// Number of leading bytes of a bound transaction id that are the hash of its chain; the last byte is the position.
const HASH_BYTES: usize = 15;

impl AsRef<Operation> for Operation {
    fn as_ref(&self) -> &Operation {
        self
    }
}

impl AsMut<Operation> for Operation {
    fn as_mut(&mut self) -> &mut Operation {
        self
    }
}

impl AsRef<Operation> for SignedOperation {
    fn as_ref(&self) -> &Operation {
        &self.operation
    }
}

impl AsMut<Operation> for SignedOperation {
    fn as_mut(&mut self) -> &mut Operation {
        &mut self.operation
    }
}

impl TransactionId {
    /// The id of the operation at a position of a signed chain with this hash.
    pub fn bound(chain: &[u8; 32], position: usize) -> Self {
        let mut id = [0; 16];
        id[..HASH_BYTES].copy_from_slice(&chain[..HASH_BYTES]);
        // A chain has at most 64 entries.
        id[HASH_BYTES] = position as u8;
        Self(id)
    }
}

/// Number of entries of the chain at the start of `entries`; all of them if it does not end.
#[inline]
pub fn chain_length<E: AsRef<Operation>>(entries: &[E]) -> usize {
    let last = entries.iter().position(|entry| !entry.as_ref().is_linked());
    last.map_or(entries.len(), |last| last + 1)
}

/// The chains of a batch, in order.
pub fn chains<E: AsRef<Operation>>(mut entries: &[E]) -> impl Iterator<Item = &[E]> {
    core::iter::from_fn(move || {
        let (chain, rest) = entries.split_at_checked(chain_length(entries)).filter(|(chain, _)| !chain.is_empty())?;
        entries = rest;
        Some(chain)
    })
}

/// Splits entries into parts of at most `most`, for one batch each, without cutting a chain. A longer chain is a part
/// of its own.
pub fn parts<E: AsRef<Operation>>(mut entries: &[E], most: usize) -> impl Iterator<Item = &[E]> {
    core::iter::from_fn(move || {
        let mut length = 0;
        while length < entries.len() {
            let chain = chain_length(&entries[length..]);
            if length > 0 && length + chain > most {
                break;
            }
            length += chain;
        }
        let (part, rest) = entries.split_at(length);
        entries = rest;
        (!part.is_empty()).then_some(part)
    })
}

/// Whether a chain is well-formed.
pub fn is_well_formed<E: AsRef<Operation>>(chain: &[E]) -> bool {
    let has = |entry: &E, flag| entry.as_ref().flags & flag != 0;
    match chain {
        [] => true,
        [single] => !has(single, Operation::LINKED | Operation::BOUND),
        [first, .., last] => {
            let bound = has(first, Operation::BOUND);
            chain.len() <= LONGEST_CHAIN
                && !has(last, Operation::LINKED)
                && chain.iter().all(|entry| has(entry, Operation::BOUND) == bound)
                && !chain.iter().any(|entry| entry.as_ref().command().is_ok_and(|command| !command.is_linkable()))
        }
    }
}

/// Refuses the entries of each chain of a batch that cannot be executed as a whole: `LINKED_INVALID` if the chain is
/// not well-formed; `LINKED_FAILED` for the others if an entry was refused.
#[inline]
pub fn refuse_broken<E: AsRef<Operation> + AsMut<Operation>>(entries: &mut [E]) {
    let flags = entries.iter().fold(0, |flags, entry| flags | entry.as_ref().flags);
    if flags & (Operation::LINKED | Operation::BOUND) != 0 {
        refuse_broken_chains(entries);
    }
}

#[cold]
fn refuse_broken_chains<E: AsRef<Operation> + AsMut<Operation>>(mut entries: &mut [E]) {
    while !entries.is_empty() {
        let (chain, rest) = entries.split_at_mut(chain_length(entries));
        if !is_well_formed(chain) {
            set_all(chain, Status::LinkedInvalid, |_| true);
        } else if chain.iter().any(|entry| entry.as_ref().status.get() != 0) {
            set_all(chain, Status::LinkedFailed, |operation| operation.status.get() == 0);
        }
        entries = rest;
    }
}

/// Sets the status of the entries that `applies` to.
fn set_all<E: AsMut<Operation>>(chain: &mut [E], status: Status, applies: impl Fn(&Operation) -> bool) {
    for operation in chain.iter_mut().map(AsMut::as_mut).filter(|operation| applies(operation)) {
        operation.status = U16::new(status.code());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccountId, Promise};

    fn transfer(flags: u8) -> Operation {
        let accounts = [1_u32, 2].map(AccountId::from);
        Operation { flags, ..Operation::transfer(1_u32.into(), accounts[0], accounts[1], 5) }
    }

    fn statuses<const N: usize>(mut entries: [Operation; N]) -> [Status; N] {
        refuse_broken(&mut entries);
        entries.map(|operation| operation.status().unwrap())
    }

    const LINKED: u8 = Operation::LINKED;
    const BOUND: u8 = Operation::BOUND;

    #[test]
    fn a_chain_ends_within_its_batch() {
        use Status::{LinkedInvalid as Invalid, Ok};
        for (flags, expected) in [
            ([0, 0, 0, 0], [Ok; 4]),
            ([LINKED, 0, LINKED, 0], [Ok; 4]),
            ([LINKED, LINKED, LINKED, 0], [Ok; 4]),
            ([LINKED, 0, 0, LINKED], [Ok, Ok, Ok, Invalid]),
            ([0, LINKED, LINKED, LINKED], [Ok, Invalid, Invalid, Invalid]),
            ([LINKED; 4], [Invalid; 4]),
            ([0, BOUND, 0, 0], [Ok, Invalid, Ok, Ok]),
            ([LINKED | BOUND, 0, LINKED, BOUND], [Invalid; 4]),
            ([LINKED | BOUND, LINKED | BOUND, BOUND, 0], [Ok; 4]),
        ] {
            let entries = flags.map(transfer);
            assert_eq!(statuses(entries), expected, "{flags:?}");
            let lengths = chains(&entries).map(<[_]>::len);
            assert_eq!(lengths.sum::<usize>(), 4, "{flags:?}");
        }
    }

    #[test]
    fn a_chain_has_up_to_64_entries() {
        let mut entries = [transfer(LINKED); LONGEST_CHAIN + 1];
        entries[LONGEST_CHAIN] = transfer(0);
        assert_eq!(statuses(entries), [Status::LinkedInvalid; LONGEST_CHAIN + 1]);
        entries[0] = transfer(0);
        assert_eq!(statuses(entries), [Status::Ok; LONGEST_CHAIN + 1]);
    }

    #[test]
    fn parts_have_whole_chains() {
        let entries = [0, LINKED, 0, LINKED, LINKED, LINKED, 0, 0, LINKED].map(transfer);
        for (most, expected) in
            [(1, &[1, 2, 4, 1, 1][..]), (2, &[1, 2, 4, 2]), (3, &[3, 4, 2]), (5, &[3, 5, 1]), (8, &[8, 1]), (9, &[9])]
        {
            assert!(parts(&entries, most).map(<[_]>::len).eq(expected.iter().copied()), "{most}");
        }
    }

    #[test]
    fn a_refusal_is_one_of_the_whole_chain() {
        use Status::{LinkedFailed as Failed, LinkedInvalid as Invalid, Malformed, Ok};
        let mut entries = [LINKED, LINKED, 0, 0].map(transfer);
        entries[1].status.set(Malformed.code());
        assert_eq!(statuses(entries), [Failed, Malformed, Failed, Ok]);
        entries[3] = transfer(LINKED);
        entries[3].status.set(Malformed.code());
        assert_eq!(statuses(entries), [Failed, Malformed, Failed, Invalid]);
        let mut entries = [LINKED, 0, 0].map(transfer);
        entries[1] = Operation::refer(1_u32.into(), 1_u32.into());
        assert_eq!(statuses(entries), [Invalid, Invalid, Ok]);
    }

    #[test]
    fn flags_have_valid_combinations() {
        let id = TransactionId::timed(7, 7);
        let timed = |flags| Operation { transaction: id, ..transfer(flags | Operation::TIMED) };
        for (operation, unsigned, signed) in [
            (transfer(LINKED), Status::Ok, Status::Malformed),
            (transfer(LINKED | BOUND), Status::Malformed, Status::Ok),
            (transfer(BOUND), Status::Malformed, Status::Ok),
            (transfer(8), Status::Malformed, Status::Malformed),
            (transfer(Operation::TIMED | LINKED), Status::Malformed, Status::Malformed),
            (timed(0), Status::Ok, Status::Ok),
            (timed(LINKED), Status::Ok, Status::Malformed),
            (timed(LINKED | BOUND), Status::Malformed, Status::Malformed),
        ] {
            assert_eq!((operation.check(), operation.check_signed()), (unsigned, signed), "{:x}", operation.flags);
            let mut entries = [SignedOperation::unsigned(operation, 0, 0, Promise::Default, [0; 33])];
            refuse_broken(&mut entries);
            let refused = operation.flags & (LINKED | BOUND) != 0;
            assert_eq!(entries[0].operation.status() == Ok(Status::LinkedInvalid), refused);
        }
    }

    #[test]
    fn a_bound_id_is_hash_and_position() {
        let hash: [u8; 32] = core::array::from_fn(|at| at as u8 + 1);
        assert_eq!(TransactionId::bound(&hash, 63).0, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 63]);
    }
}
