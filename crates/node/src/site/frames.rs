//! Queries of the protocol over HTTP, for clients in a browser: the body of a POST, or a message of a WebSocket, is a
//! frame, and so is the reply.

use nic::{Answer, QueryKind, generator};
use proof::Service;
use wire::{Frame, MAX_DATAGRAM, Status};

use crate::{http::Reply, queries::Queries};

/// Answers queries on threads that may wait for the disk.
pub struct Frames {
    queries: Queries,
    proofs: Service,
}

impl Frames {
    /// Answers like the data path does.
    pub fn new(queries: Queries, proofs: Service) -> Self {
        Self { queries, proofs }
    }

    /// The reply to a frame.
    pub fn answer(&self, frame: &[u8]) -> Reply {
        let query = match Frame::parse(frame) {
            Ok(Frame::Info(_)) => QueryKind::Info,
            Ok(Frame::Headers(_)) => QueryKind::Headers,
            Ok(Frame::Proof(_)) => QueryKind::Proof,
            Ok(Frame::Finality(_)) => QueryKind::Finality,
            Ok(Frame::History(_)) => QueryKind::History,
            Ok(Frame::Assets(_)) => QueryKind::Assets,
            Ok(_) => {
                return refuse(
                    "only info, headers, proof, finality, history and assets frames are answered here, and feeds over a \
                     WebSocket\n",
                );
            }
            Err(_) => return refuse("send a frame of the protocol (docs/protocol.md)\n"),
        };
        // The parser has checked that it is not longer than a datagram.
        debug_assert!(frame.len() <= MAX_DATAGRAM, "{}", frame.len());
        let mut frame = frame.to_vec();
        let length = match self.queries.answer(query, &mut frame) {
            Answer::Reply(length) => length,
            Answer::Refuse(status, detail) => generator::refuse(&mut frame, status, detail),
            Answer::Defer if query == QueryKind::Proof => self.proofs.clone().answer(&mut frame),
            Answer::Defer if matches!(query, QueryKind::History | QueryKind::Assets) => {
                self.queries.of_chain().answer(&mut frame)
            }
            Answer::Defer => generator::refuse(&mut frame, Status::Malformed, 0),
        };
        frame.truncate(length);
        Reply::bytes("application/octet-stream", frame)
    }
}

fn refuse(text: &str) -> Reply {
    Reply::text(text).with_status("400 Bad Request")
}
