//! Replies of the binary protocol.

use zerocopy::{IntoBytes, byteorder::network_endian::U64};

use crate::protocol::binary::{Header, REPLY, Status};

/// Writes the reply to a refused request.
pub fn refuse(header: &Header, status: Status, out: &mut Vec<u8>) {
    reply(header, status, &[], &[], status.text().as_bytes(), 0, out);
}

/// Appends a reply.
pub(super) fn reply(
    request: &Header,
    status: Status,
    extras: &[u8],
    key: &[u8],
    value: &[u8],
    cas: u64,
    out: &mut Vec<u8>,
) {
    append_header(request, status, extras.len(), key.len(), value.len(), cas, out);
    out.extend_from_slice(extras);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Appends the header of a reply, whose parts the caller appends.
pub(super) fn append_header(
    request: &Header,
    status: Status,
    extras_len: usize,
    key_len: usize,
    value_len: usize,
    cas: u64,
    out: &mut Vec<u8>,
) {
    let header = Header {
        magic: REPLY,
        opcode: request.opcode,
        key_len: (key_len as u16).into(),
        extras_len: extras_len as u8,
        data_type: 0,
        status: (status as u16).into(),
        body_len: ((extras_len + key_len + value_len) as u32).into(),
        opaque: request.opaque,
        cas: U64::new(cas),
    };
    out.extend_from_slice(header.as_bytes());
}
