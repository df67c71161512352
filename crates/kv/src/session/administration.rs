//! Requests that administer the store.

use super::{Session, Step};
use crate::{
    clock::Seconds,
    execute::walk::{Dump, Walk},
    protocol::{ERROR, Refusal, administration::Administration},
    replies::Replies,
    store::NotReassigned,
    turn::Turn,
};

const OK: &[u8] = b"OK\r\n";

impl Session {
    /// Executes a command.
    pub(super) fn administer(
        &mut self,
        command: Administration,
        quiet: bool,
        after: usize,
        out: &mut Replies,
        turn: &mut Turn,
        now: Seconds,
    ) -> Step {
        let settings = &self.service.settings;
        let refusal = match command {
            Administration::Watch { .. } if self.datagrams => return self.not_by_udp(after, out),
            Administration::Watch { .. } if !settings.watch => "CLIENT_ERROR watch commands not allowed",
            // The replies would arrive among the lines.
            Administration::Watch { .. } if !out.is_empty() => "ERROR cannot pipeline other commands before watch",
            Administration::Watch { interests: Some(interests) } => return Step::Watch(interests),
            Administration::Watch { interests: None } => ERROR.reason,
            Administration::Reassign { from, to } => {
                turn.end();
                match self.service.store.reassign(from, to, now) {
                    Ok(()) => "OK",
                    Err(NotReassigned::BadClass) => "BADCLASS invalid src or dst class id",
                    Err(NotReassigned::NoSpare) => "NOSPARE source class has no spare pages",
                }
            }
            Administration::Crawl(classes) => return self.walk(Some(Walk::reclaim(classes)), after, out),
            Administration::Metadump(_) | Administration::Mgdump(_) if !settings.dump => "ERROR metadump not allowed",
            Administration::Metadump(Some(classes)) => {
                return self.walk(Some(Walk::dump(Dump::Metadata, classes)), after, out);
            }
            Administration::Mgdump(Some(classes)) => {
                return self.walk(Some(Walk::dump(Dump::Requests, classes)), after, out);
            }
            Administration::Metadump(None) | Administration::Mgdump(None) => "BADCLASS invalid class id",
            // All memory is reserved at the start, as with memcached's -L and -e.
            Administration::MemoryLimit => "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust",
            Administration::NoEffect => {
                if !quiet {
                    out.extend_from_slice(OK);
                }
                return Step::Done(after);
            }
        };
        self.refuse_request(Refusal { quiet, ..Refusal::new(refusal) }, after, out)
    }
}
