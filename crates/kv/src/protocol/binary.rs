//! The binary protocol (memcached's protocol_binary.txt): a header of 24 bytes, extras, the key, the value.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::network_endian::{U16, U32, U64},
};

/// The first byte of a request.
pub const REQUEST: u8 = 0x80;

/// The first byte of a reply.
pub const REPLY: u8 = 0x81;

/// The command that begins a login by SASL; the one after it continues.
pub const SASL_START: u8 = 0x21;

/// Numbers of the commands that the host requests of the NIC.
pub mod opcode {
    /// FLUSH.
    pub const FLUSH: u8 = 0x08;
    /// NOOP.
    pub const NOOP: u8 = 0x0a;
    /// SETQ.
    pub const SETQ: u8 = 0x11;
    /// DELETEQ.
    pub const DELETEQ: u8 = 0x14;
}

/// Bytes of a header.
pub const HEADER: usize = size_of::<Header>();

/// The header of a request or a reply.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Request or reply.
    pub magic: u8,
    /// The command.
    pub opcode: u8,
    /// Bytes of the key.
    pub key_len: U16,
    /// Bytes of the extras.
    pub extras_len: u8,
    /// Reserved.
    pub data_type: u8,
    /// In a reply, what became of the request; reserved in a request.
    pub status: U16,
    /// Bytes of extras, key and value.
    pub body_len: U32,
    /// Copied into the reply.
    pub opaque: U32,
    /// The item's number.
    pub cas: U64,
}

/// The status of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// The item is missing.
    NotFound = 1,
    /// There is one, or one with another number.
    Exists = 2,
    /// The value is too large.
    TooLarge = 3,
    /// The request is not one of the protocol's.
    Invalid = 4,
    /// The item is there, or not there, against what the command is for.
    NotStored = 5,
    /// The value is not a number.
    NotNumeric = 6,
    /// The command is not allowed.
    AuthError = 0x20,
    /// The command is unknown.
    Unknown = 0x81,
    /// There is no room.
    NoMemory = 0x82,
}

impl Status {
    /// memcached's text for it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::NotFound => "Not found",
            Self::Exists => "Data exists for key.",
            Self::TooLarge => "Too large.",
            Self::Invalid => "Invalid arguments",
            Self::NotStored => "Not stored.",
            Self::NotNumeric => "Non-numeric server-side value for incr or decr",
            Self::AuthError => "Auth failure.",
            Self::Unknown => "Unknown command",
            Self::NoMemory => "Out of memory",
        }
    }
}

/// The command of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the protocol's")]
pub enum Command {
    Get { with_key: bool, touch: bool },
    Touch,
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Delete,
    Increment,
    Decrement,
    Flush,
    Noop,
    Version,
    Verbosity,
    Stat,
    Quit,
    SaslList,
    Sasl,
}

/// A request, with its parts where they stand.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The header.
    pub header: &'a Header,
    /// The command.
    pub command: Command,
    /// Whether to suppress the usual reply.
    pub quiet: bool,
    /// The extras.
    pub extras: &'a [u8],
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// The first request in the bytes of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Parsed<'a> {
    /// A request.
    Request(Request<'a>),
    /// The start of a request, with the number of bytes needed.
    Partial(usize),
    /// No request of the protocol's; the connection is to be closed.
    BadMagic,
    /// A request that is refused.
    Refused {
        /// Its header.
        header: &'a Header,
        /// Why.
        status: Status,
        /// The number of bytes to skip; `None` closes the connection.
        whole: Option<u64>,
        /// A key whose item goes, as its new value is refused.
        stale: Option<&'a [u8]>,
    },
}

/// Parses a request; values of more than `longest` bytes are refused.
pub fn parse(bytes: &[u8], longest: usize) -> Parsed<'_> {
    if bytes.first().is_some_and(|magic| *magic != REQUEST) {
        return Parsed::BadMagic;
    }
    let Ok((header, rest)) = Header::ref_from_prefix(bytes) else { return Parsed::Partial(HEADER) };
    let (extras_len, key_len) = (usize::from(header.extras_len), usize::from(header.key_len.get()));
    let body_len = header.body_len.get() as usize;
    let refused = |status, whole| Parsed::Refused { header, status, whole, stale: None };
    let Some(value_len) = body_len.checked_sub(extras_len + key_len) else {
        return refused(Status::Unknown, None);
    };
    if key_len > crate::store::MAX_KEY {
        return refused(Status::Invalid, None);
    }
    let Some((command, quiet)) = command(header.opcode) else {
        return refused(Status::Unknown, Some((HEADER + body_len) as u64));
    };
    if !is_well_formed(command, extras_len, key_len, value_len) {
        return refused(Status::Invalid, None);
    }
    if value_len > longest {
        let status = if command == Command::Sasl { Status::Unknown } else { Status::TooLarge };
        let whole = Some((HEADER + body_len) as u64);
        if command != Command::Set {
            return refused(status, whole);
        }
        let stale = rest.get(extras_len..extras_len + key_len);
        return stale.map_or(Parsed::Partial(HEADER + extras_len + key_len), |key| Parsed::Refused {
            header,
            status,
            whole,
            stale: Some(key),
        });
    }
    let Some(body) = rest.get(..body_len) else { return Parsed::Partial(HEADER + body_len) };
    let (extras, rest) = body.split_at(extras_len);
    let (key, value) = rest.split_at(key_len);
    Parsed::Request(Request { header, command, quiet, extras, key, value })
}

/// The command of a number, and whether it is the quiet one.
fn command(opcode: u8) -> Option<(Command, bool)> {
    let get = |with_key, touch| Command::Get { with_key, touch };
    Some(match opcode {
        0x00 => (get(false, false), false),
        0x01 => (Command::Set, false),
        0x02 => (Command::Add, false),
        0x03 => (Command::Replace, false),
        0x04 => (Command::Delete, false),
        0x05 => (Command::Increment, false),
        0x06 => (Command::Decrement, false),
        0x07 => (Command::Quit, false),
        0x08 => (Command::Flush, false),
        0x09 => (get(false, false), true),
        0x0a => (Command::Noop, false),
        0x0b => (Command::Version, false),
        0x0c => (get(true, false), false),
        0x0d => (get(true, false), true),
        0x0e => (Command::Append, false),
        0x0f => (Command::Prepend, false),
        0x10 => (Command::Stat, false),
        0x11 => (Command::Set, true),
        0x12 => (Command::Add, true),
        0x13 => (Command::Replace, true),
        0x14 => (Command::Delete, true),
        0x15 => (Command::Increment, true),
        0x16 => (Command::Decrement, true),
        0x17 => (Command::Quit, true),
        0x18 => (Command::Flush, true),
        0x19 => (Command::Append, true),
        0x1a => (Command::Prepend, true),
        0x1b => (Command::Verbosity, false),
        0x1c => (Command::Touch, false),
        0x1d => (get(false, true), false),
        0x1e => (get(false, true), true),
        0x20 => (Command::SaslList, false),
        SASL_START | 0x22 => (Command::Sasl, false),
        0x23 => (get(true, true), false),
        0x24 => (get(true, true), true),
        _ => return None,
    })
}

fn is_well_formed(command: Command, extras: usize, key: usize, value: usize) -> bool {
    match command {
        Command::Get { touch: false, .. } | Command::Delete => extras == 0 && key > 0 && value == 0,
        Command::Get { touch: true, .. } | Command::Touch => extras == 4 && key > 0 && value == 0,
        Command::Set | Command::Add | Command::Replace => extras == 8 && key > 0,
        Command::Append | Command::Prepend => extras == 0 && key > 0,
        Command::Increment | Command::Decrement => extras == 20 && key > 0 && value == 0,
        Command::Flush => matches!(extras, 0 | 4) && key == 0 && value == 0,
        Command::Verbosity => extras == 4 && key == 0 && value == 0,
        Command::Noop | Command::Version | Command::Quit | Command::SaslList => extras + key + value == 0,
        Command::Stat => extras == 0,
        Command::Sasl => extras == 0 && key > 0,
    }
}
