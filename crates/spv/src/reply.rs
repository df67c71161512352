//! The common part of replies to proof queries. The protocol's layouts are repeated here, so that this library needs no
//! other.
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// Frame header, batch promise and the request, which every reply repeats.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Head {
    _frame: [u8; 10],
    status: U16,
    _request: [u8; 36],
}

/// Why a frame holds no proof.
pub(crate) enum NoProof {
    /// It ends too early.
    Truncated,
    /// The node refused, with this status.
    Status(u16),
}

/// The fields of a reply after its head, and the remaining bytes.
pub(crate) fn fields<T: FromBytes + KnownLayout + Immutable + Unaligned>(frame: &[u8]) -> Result<(&T, &[u8]), NoProof> {
    let (head, rest) = Head::ref_from_prefix(frame).map_err(|_| NoProof::Truncated)?;
    let fields = T::ref_from_prefix(rest).map_err(|_| NoProof::Truncated)?;
    match head.status.get() {
        0 => Ok(fields),
        status => Err(NoProof::Status(status)),
    }
}

/// `count` elements, and the remaining bytes.
pub(crate) fn elements<T: FromBytes + Immutable + Unaligned>(
    bytes: &[u8],
    count: u8,
) -> Result<(&[T], &[u8]), NoProof> {
    <[T]>::ref_from_prefix_with_elems(bytes, count.into()).map_err(|_| NoProof::Truncated)
}
