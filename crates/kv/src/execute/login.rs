//! The login of a connection, where the service requires one. Until it succeeds no other request is executed.

use super::binary_reply::{refuse, reply};
use crate::{
    protocol::{
        binary::{Command, Request, SASL_START, Status},
        login,
    },
    service::Service,
};

/// The outcome of a request before the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The reply is made, and this number of bytes consumed.
    Done(usize),
    /// The login is incomplete until this number of bytes has arrived.
    More(usize),
    /// The connection is to be closed.
    Close,
}

/// Executes a request by text, whose line ends before `after`. The second value is true after a login that succeeds.
pub fn text(service: &Service, line: &[u8], input: &[u8], after: usize, out: &mut Vec<u8>) -> (Attempt, bool) {
    if line == b"quit" {
        return (Attempt::Close, false);
    }
    let Some(len) = login::value_len(line) else {
        out.extend_from_slice(b"CLIENT_ERROR unauthenticated\r\n");
        return (Attempt::Done(after), false);
    };
    if len > login::LONGEST {
        out.extend_from_slice(b"CLIENT_ERROR unauthenticated\r\n");
        return (Attempt::Close, false);
    }
    let end = after + len + 2;
    let Some(value) = input.get(after..end) else { return (Attempt::More(end), false) };
    let credentials = value.strip_suffix(b"\r\n").map(login::credentials);
    let (text, is_in): (&[u8], bool) = match credentials {
        None => (b"CLIENT_ERROR bad command line termination\r\n", false),
        Some(credentials) if service.authenticate(credentials) => (b"STORED\r\n", true),
        Some(None) => (b"CLIENT_ERROR bad authentication token format\r\n", false),
        Some(Some(_)) => (b"CLIENT_ERROR authentication failure\r\n", false),
    };
    out.extend_from_slice(text);
    (Attempt::Done(end), is_in)
}

/// Executes a binary request of SASL. Returns true after a login that succeeds.
pub fn sasl(service: &Service, request: &Request<'_>, out: &mut Vec<u8>) -> bool {
    let header = request.header;
    if request.command == Command::SaslList {
        reply(header, Status::Ok, &[], &[], login::MECHANISM, 0, out);
        return false;
    }
    // PLAIN has one step.
    let is_plain = header.opcode == SASL_START && request.key == login::MECHANISM;
    let is_in = service.authenticate(login::plain(request.value).filter(|_| is_plain));
    if is_in {
        reply(header, Status::Ok, &[], &[], b"Authenticated", 0, out);
    } else {
        refuse(header, Status::AuthError, out);
    }
    is_in
}

/// Whether a binary request is executed without a login.
pub fn is_free(command: Command) -> bool {
    matches!(command, Command::SaslList | Command::Sasl | Command::Version)
}
