//! Notifications of changes that a client has subscribed to.
use std::time::Instant;

use spv::Hash;

use crate::{
    hex,
    mempool::Outpoint,
    methods,
    rpc::{self, RpcError},
    service::{Announcement, Counts, Snapshot},
    session::Session,
    version::V1_7,
};

impl Session {
    /// Appends the notifications of a change to `output`. After an error they are incomplete.
    pub fn notify(&mut self, announcement: &Announcement, output: &mut Vec<u8>, now: Instant) -> Result<(), RpcError> {
        let snapshot = self.client.service.snapshot();
        let begin = output.len();
        if self.client.headers && announcement.is_of_branch {
            begin_notification(output, "blockchain.headers.subscribe");
            methods::push_tip(&snapshot, output)?;
            end_notification(output);
        }
        // Look up the elements of the smaller set in the larger one.
        let scripts = &self.client.scripts;
        let touched: Vec<Hash> = if scripts.len() < announcement.scripts.len() {
            scripts.iter().filter(|script| announcement.scripts.binary_search(script).is_ok()).copied().collect()
        } else {
            announcement.scripts.iter().filter(|script| scripts.contains(*script)).copied().collect()
        };
        for script in touched {
            self.notify_script(&snapshot, &script, output)?;
        }
        for outpoint in self.touched_outpoints(&snapshot, &announcement.scripts)? {
            self.notify_outpoint(&snapshot, outpoint, output)?;
        }
        self.client.charge_bytes(output.len() - begin, now);
        Ok(())
    }

    fn notify_script(&self, snapshot: &Snapshot, script: &Hash, output: &mut Vec<u8>) -> Result<(), RpcError> {
        let method = match self.client.version() >= V1_7 {
            true => "blockchain.scriptpubkey.subscribe",
            false => "blockchain.scripthash.subscribe",
        };
        let (status, _) = self.client.service.status(snapshot, script).map_err(methods::failed)?;
        begin_notification(output, method);
        output.push(b'"');
        hex::push_reversed(output, script);
        output.extend_from_slice(b"\",");
        methods::push_status(output, status);
        end_notification(output);
        Counts::add(&self.client.service.counts.notifications, 1);
        Ok(())
    }

    /// The outpoints that a change of scripts may affect.
    fn touched_outpoints(&mut self, snapshot: &Snapshot, scripts: &[Hash]) -> Result<Vec<Outpoint>, RpcError> {
        let mempool = self.client.service.mempool();
        let mut touched = Vec::new();
        for (outpoint, script) in &mut self.client.outpoints {
            if script.is_none() {
                *script = methods::outpoint_script(snapshot, &mempool, *outpoint).map_err(methods::failed)?;
            }
            if script.is_some_and(|script| scripts.binary_search(&script).is_ok()) {
                touched.push(*outpoint);
            }
        }
        Ok(touched)
    }

    fn notify_outpoint(&self, snapshot: &Snapshot, outpoint: Outpoint, output: &mut Vec<u8>) -> Result<(), RpcError> {
        begin_notification(output, "blockchain.outpoint.subscribe");
        output.push(b'"');
        hex::push_reversed(output, &outpoint.0);
        rpc::push_format(output, format_args!("\",{},", outpoint.1));
        methods::push_outpoint(snapshot, &self.client.service.mempool(), outpoint, output).map_err(methods::failed)?;
        end_notification(output);
        Counts::add(&self.client.service.counts.notifications, 1);
        Ok(())
    }
}

fn begin_notification(output: &mut Vec<u8>, method: &str) {
    rpc::push_format(output, format_args!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":["));
}

fn end_notification(output: &mut Vec<u8>) {
    output.extend_from_slice(b"]}\n");
}
