//! The binary protocol's requests.

use super::{ALL_SHARDS, LONGEST_LINE, Session, Step};
use crate::{
    clock::Seconds,
    execute::{ascii, binary, binary_reply, login},
    protocol::binary::{Command, HEADER, Parsed, Status, parse},
    replies::Replies,
    turn::Turn,
    watch::CloseReason,
};

impl Session {
    /// Executes a request.
    pub(super) fn binary(&mut self, input: &[u8], out: &mut Replies, turn: &mut Turn, now: Seconds) -> Step {
        match parse(input, self.service.store.config().largest_item) {
            Parsed::BadMagic => Step::Close,
            Parsed::Partial(wanted) if self.locked && wanted > LONGEST_LINE => Step::Close,
            Parsed::Refused { header, .. } if self.locked => {
                binary_reply::refuse(header, Status::AuthError, out);
                Step::Close
            }
            Parsed::Request(request) if self.locked && !login::is_free(request.command) => {
                binary_reply::refuse(request.header, Status::AuthError, out);
                Step::Close
            }
            Parsed::Partial(wanted) if !self.refuses => Step::More(wanted),
            // Refused as if no value were short enough.
            Parsed::Partial(_) => match parse(input, 0) {
                Parsed::Refused { header, whole: Some(whole), .. } => {
                    binary_reply::refuse(header, Status::NoMemory, out);
                    self.pass_over(whole, input)
                }
                _ => Step::Close,
            },
            Parsed::Refused { header, status, whole, stale } => {
                stale.iter().for_each(|key| ascii::forget_key(&self.service, key, now));
                binary_reply::refuse(header, status, out);
                whole.map_or(Step::Close, |whole| self.pass_over(whole, input))
            }
            Parsed::Request(request) => {
                let len = HEADER + request.header.body_len.get() as usize;
                turn.spend_bytes(request.value.len());
                if matches!(request.command, Command::Sasl | Command::SaslList) && self.service.users().is_some() {
                    let is_in = login::sasl(&self.service, &request, out);
                    self.locked = !is_in && (self.locked || request.command == Command::Sasl);
                    return Step::Done(len);
                }
                match request.command {
                    Command::Stat => turn.end(),
                    Command::Flush => turn.spend(ALL_SHARDS),
                    _ => {}
                }
                match binary::execute(&self.service, &request, out, now) {
                    binary::Then::GoOn => Step::Done(len),
                    binary::Then::Walk(_) if self.datagrams => {
                        binary_reply::refuse(request.header, Status::NoMemory, out);
                        Step::Done(len)
                    }
                    binary::Then::Walk(walk) => {
                        self.walk = Some(walk);
                        Step::Done(len)
                    }
                    binary::Then::Close => {
                        self.close_reason = CloseReason::Normal;
                        Step::Close
                    }
                }
            }
        }
    }

    /// Passes over a request, of which not all bytes may be there.
    fn pass_over(&mut self, whole: u64, input: &[u8]) -> Step {
        let here = whole.min(input.len() as u64);
        self.swallow = whole - here;
        Step::Done(here as usize)
    }
}
