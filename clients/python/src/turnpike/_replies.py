"""Parses replies, and matches them with their requests.

Nothing in a reply is trusted except its lengths, which are checked here.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from . import _protocol as protocol
from ._operations import ENTRY_SIZES, columns
from ._protocol import BatchFormat, Chain, FrameType, Promise, Query, Status

MAX_FRAME = protocol.MAX_DATAGRAM
"""Bytes of the longest frame, also in a stream (docs/protocol.md, streams)."""
LENGTH = struct.Struct(">I")
"""The length that precedes a frame in a stream."""
HASH = 32
SEALED_HEADER = 192
"""Bytes of a header of the own chain and its seal."""

_TRANSIENT = (Status.BUSY, Status.RATE_LIMITED, Status.NOT_FINAL)


def is_transient(status: Status) -> bool:
    """Whether the same request may succeed soon."""
    return status in _TRANSIENT


class Reply(NamedTuple):
    """A reply with known codes and correct lengths."""

    kind: FrameType | None
    """Type of the request; None in an error frame."""
    id: int
    status: Status
    """The status of the frame as a whole."""
    frame: bytes
    detail: int = 0
    """In an error frame: the length needed, if the reply was too large."""


def parse(frame: bytes) -> Reply | None:
    """The reply in a frame; None if the frame is not a reply that this client can have requested."""
    try:
        header = protocol.FrameHeader.unpack(frame)
        if header.magic != protocol.MAGIC or header.version != protocol.VERSION or not header.kind & protocol.REPLY_BIT:
            return None
        if header.kind == protocol.ERROR_TYPE:
            error = protocol.ErrorFrame.unpack(frame)
            is_sound = len(frame) == protocol.ERROR_FRAME.size
            return Reply(None, header.id, Status(error.status), frame, error.detail) if is_sound else None
        kind = FrameType(header.kind & ~protocol.REPLY_BIT)
        check = _CHECKS.get(kind)
        status = check(frame) if check else None
        return None if status is None else Reply(kind, header.id, status, frame)
    except (struct.error, ValueError):
        # The frame ends early, or has an unknown code.
        return None


def _check_batch(frame: bytes) -> Status | None:
    header = protocol.BatchHeader.unpack(frame)
    status = Status(header.status)
    if status:
        return status
    Promise(header.promise)
    size = ENTRY_SIZES.get(BatchFormat(header.format))
    return status if size and len(frame) == protocol.BATCH_HEADER.size + header.count * size else None


def _check_proof(frame: bytes) -> Status | None:
    request = protocol.ProofRequest.unpack(frame)
    status = Status(request.status)
    if status:
        return status
    if Chain(request.chain) is not Chain.OWN:
        return None
    if Query(request.query) is Query.INDEX:
        index = protocol.IndexReply.unpack(frame)
        end = protocol.INDEX_REPLY.size + index.depth * HASH + index.entry_count * protocol.INDEX_ENTRY.size
    else:
        proof = protocol.ProofReply.unpack(frame)
        end = protocol.PROOF_REPLY.size + proof.depth * HASH + proof.transaction_length + proof.coinbase_length
    return status if end <= len(frame) and request.body_length == end - protocol.PROOF_REQUEST.size else None


def _check_headers(frame: bytes) -> Status | None:
    reply = protocol.HeadersFrame.unpack(frame)
    status = Status(reply.status)
    if status:
        return status
    is_own = Chain(reply.chain) is Chain.OWN and reply.header_size == SEALED_HEADER
    return status if is_own and len(frame) >= protocol.HEADERS_FRAME.size + reply.count * SEALED_HEADER else None


def _check_info(frame: bytes) -> Status | None:
    return Status(protocol.InfoFrame.unpack(frame).status) if len(frame) == protocol.INFO_FRAME.size else None


def _check_finality(frame: bytes) -> Status | None:
    reply = protocol.FinalityFrame.unpack(frame)
    status = Status(reply.status)
    end = protocol.FINALITY_FRAME.size + reply.replicas * HASH + reply.certificate_size
    return status if status or len(frame) >= end else None


def _check_history(frame: bytes) -> Status | None:
    reply = protocol.HistoryFrame.unpack(frame)
    end = protocol.HISTORY_FRAME.size + reply.count * protocol.HISTORY_ENTRY.size
    return _refused_without(reply.status, reply.count) if len(frame) == end else None


def _check_assets(frame: bytes) -> Status | None:
    reply = protocol.AssetsFrame.unpack(frame)
    end = protocol.ASSETS_FRAME.size + reply.count * protocol.ASSET_TOTAL.size
    return _refused_without(reply.status, reply.count) if len(frame) == end else None


def _refused_without(code: int, count: int) -> Status | None:
    """The status, if a refusal has no entries."""
    status = Status(code)
    return None if status and count else status


_CHECKS = {
    FrameType.BATCH: _check_batch,
    FrameType.PROOF: _check_proof,
    FrameType.HEADERS: _check_headers,
    FrameType.INFO: _check_info,
    FrameType.FINALITY: _check_finality,
    FrameType.HISTORY: _check_history,
    FrameType.ASSETS: _check_assets,
}


def answers(request: bytes, reply: Reply) -> bool:
    """Whether a reply repeats what its request asked for, beyond the id: a late or garbled one does not."""
    if reply.kind is None:
        return True
    if request[3] != reply.kind:
        return False
    match reply.kind:
        case FrameType.BATCH:
            return _answers_batch(request, reply)
        case FrameType.PROOF:
            asked, told = protocol.ProofRequest.unpack(request), protocol.ProofRequest.unpack(reply.frame)
            return (asked.chain, asked.query, asked.key) == (told.chain, told.query, told.key)
        case FrameType.HEADERS:
            first, last = protocol.HeadersFrame.unpack(request), protocol.HeadersFrame.unpack(reply.frame)
            return (first.chain, first.first_height) == (last.chain, last.first_height) and last.count <= first.count
        case FrameType.FINALITY:
            return (
                protocol.FinalityFrame.unpack(request).generation
                == protocol.FinalityFrame.unpack(reply.frame).generation
            )
        case FrameType.HISTORY:
            # All but status, count, flags, cursor and the heights of the node.
            wanted, page = protocol.HistoryFrame.unpack(request), protocol.HistoryFrame.unpack(reply.frame)
            return page.count <= wanted.count and _conditions(page) == _conditions(wanted)
        case FrameType.ASSETS:
            codes, totals = protocol.AssetsFrame.unpack(request), protocol.AssetsFrame.unpack(reply.frame)
            return totals.count <= codes.count and totals.first_asset == codes.first_asset
    return True


def _conditions(frame: protocol.HistoryFrame) -> tuple[object, ...]:
    heights, times = (frame.first_height, frame.end_height), (frame.first_time, frame.end_time)
    return frame.role, frame.commands, heights, times, frame.account, frame.counterpart


def _answers_batch(request: bytes, reply: Reply) -> bool:
    asked, told = protocol.BatchHeader.unpack(request), protocol.BatchHeader.unpack(reply.frame)
    if (asked.count, asked.format) != (told.count, told.format):
        return False
    if reply.status:
        return True
    form, start = BatchFormat(asked.format), protocol.BATCH_HEADER.size
    sent, came = request[start:], reply.frame[start:]
    names = ("transaction", "source")
    return all(columns(sent, form, name) == columns(came, form, name) for name in names)


def transient_entry(frame: bytes) -> Status | None:
    """The first status of a batch's entries after which the same batch may succeed soon."""
    header = protocol.BatchHeader.unpack(frame)
    high, low = columns(frame[protocol.BATCH_HEADER.size :], BatchFormat(header.format), "status")
    return next((status for status in _TRANSIENT if _has(high, low, status)), None)


def _has(high: bytes, low: bytes, status: Status) -> bool:
    """Whether a status is among many: the search for its low byte is over after a few instructions per entry."""
    at = low.find(status & 0xFF)
    while at >= 0 and high[at] != status >> 8:
        at = low.find(status & 0xFF, at + 1)
    return at >= 0
