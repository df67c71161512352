//! The meta protocol's commands.

use super::{Session, Step, Wait, value};
use crate::{
    clock::Seconds,
    execute::{ascii, meta},
    protocol::{Refusal, meta as parser},
    replies::Replies,
    store::MAX_KEY,
};

impl Session {
    /// Executes a command, of which `line` is the start of `input`.
    pub(super) fn meta(
        &mut self,
        verb: parser::Verb,
        line: &[u8],
        input: &[u8],
        after: usize,
        out: &mut Replies,
        now: Seconds,
    ) -> Step {
        if verb == parser::Verb::Noop {
            out.extend_from_slice(b"MN\r\n");
            return Step::Done(after);
        }
        let mut scratch = [0; MAX_KEY];
        let command = match parser::parse(verb, line, &mut scratch) {
            Ok(command) => command,
            Err(refusal) => return self.refuse_request(refusal, after, out),
        };
        if verb != parser::Verb::Set {
            if let Err(reason) = meta::execute(&self.service, verb, &command, out, now) {
                return self.refuse_request(Refusal::new(reason), after, out);
            }
            return Step::Done(after);
        }
        let swallow = command.len as u64 + 2;
        let Some(mode) = command.flags.write_mode() else {
            let refusal = Refusal { swallow, ..Refusal::new("CLIENT_ERROR invalid mode for ms M token") };
            return self.refuse_request(refusal, after, out);
        };
        match value(&self.service, self.refuses, input, after, command.len) {
            Ok(value) => {
                meta::set(&self.service, &command, mode, value, out, now);
                Step::Done(after + command.len + 2)
            }
            Err(Wait::More(wanted)) => Step::More(wanted),
            Err(wait) => {
                if wait == Wait::TooLarge {
                    ascii::forget_key(&self.service, command.key, now);
                }
                self.service.store.log_refusal(command.key, mode, wait.stored());
                self.refuse_request(Refusal { reason: wait.reason(), quiet: false, swallow }, after, out)
            }
        }
    }
}
