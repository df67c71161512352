"""Requests that take several frames, as generators: they yield frames and pauses, and a driver sends in the replies."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar, cast

from . import _protocol as protocol
from ._base import Buffer, Entries
from ._chain import HeaderChain
from ._finality import MAX_RECONFIGURATIONS, Certificate, Finality, Reconfiguration, ReplicaSet, Vouched
from ._history import (
    AssetPage,
    HistoryFilter,
    HistoryPage,
    pack_assets,
    pack_history,
    unpack_assets,
    unpack_history,
)
from ._ids import account_bytes
from ._operations import CARRIES_TIME, ENTRY_SIZES, LINKED, Results, columns
from ._proofs import IndexEntry, IndexProof, TransactionProof, asset_id, key_of_locator, key_of_transaction
from ._protocol import BatchFormat, Command, FrameType, Promise, Query
from ._replies import HASH, MAX_FRAME, SEALED_HEADER, Reply
from .errors import (
    AssetChanged,
    Behind,
    InvalidCertificate,
    InvalidProof,
    NotFound,
    ReplyTooLarge,
    UnknownBlock,
    WrongReply,
)

T = TypeVar("T")

# Room for a reply: most proofs and certificates fit, a larger one is requested again.
_ROOM = 1472
# A second's worth of pauses between two questions for progress: a few per block.
_PAUSE = 0.02
# How long to wait for a certificate of a block that was executed; idle replicas order an empty block for it.
_CERTIFICATE_PAUSES = 500
_MAX_HEADERS = 1 << 20
_NO_REPLICA = 255


@dataclass(frozen=True, slots=True)
class Exchange:
    """A frame that a reply answers."""

    frame: bytes
    is_read: bool = True
    is_recognised: bool = True


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause in seconds."""

    seconds: float


Flow = Generator[Exchange | Pause, Reply | None, T]


def _exchange(exchange: Exchange) -> Flow[Reply]:
    reply = yield exchange
    if reply is None:
        raise WrongReply("the driver of the client sent no reply")
    if reply.status:
        raise protocol.STATUS_ERRORS[reply.status](value=reply.detail)
    return reply


def _with_room(pack: Callable[[], bytes]) -> Flow[Reply]:
    """Sends a frame with zeros up to the room for its reply, and again with as much as the reply needs."""
    try:
        return (yield from _exchange(Exchange(pack().ljust(_ROOM, b"\0"))))
    except ReplyTooLarge as error:
        if not _ROOM < error.value <= MAX_FRAME:
            raise
        return (yield from _exchange(Exchange(pack().ljust(error.value, b"\0"))))


def info() -> Flow[protocol.InfoFrame]:
    reply = yield from _exchange(Exchange(protocol.InfoFrame(kind=FrameType.INFO).pack()))
    return protocol.InfoFrame.unpack(reply.frame)


def history(
    account: int, selected: HistoryFilter, cursor: tuple[int, int] | None, count: int, max_frame: int
) -> Flow[HistoryPage]:
    reply = yield from _exchange(Exchange(pack_history(account, selected, cursor, count, max_frame)))
    return unpack_history(reply.frame, cursor)


def assets(first: int, count: int, max_frame: int) -> Flow[AssetPage]:
    reply = yield from _exchange(Exchange(pack_assets(first, count, max_frame)))
    return unpack_assets(reply.frame)


def wait_for_height(height: int, seconds: float) -> Flow[protocol.InfoFrame]:
    pauses = 0
    while True:
        found = yield from info()
        if found.tip_height >= height:
            return found
        if pauses * _PAUSE >= seconds:
            raise Behind(f"the node has executed up to block {found.tip_height}, not {height}; ask another node")
        pauses += 1
        yield Pause(_PAUSE)


def submit(entries: Entries, form: BatchFormat, promise: Promise, max_frame: int) -> Flow[Results]:
    size = ENTRY_SIZES.get(form)
    if size is None:
        raise ValueError(f"format {form.name} is not supported; use OPERATION or SIGNED")
    # Structured arrays have no format that a cast of a memory view accepts, but their bytes can be copied.
    view = memoryview(cast("Buffer", entries))
    items, rest = divmod(view.nbytes, size)
    if rest or not view.contiguous or view.ndim != 1:
        raise ValueError(f"the buffer has {view.nbytes} bytes, which are not contiguous entries of {size} bytes")
    if view.itemsize not in (1, size):
        raise ValueError(f"the buffer has items of {view.itemsize} bytes; use bytes, or entries of {size} bytes")
    per_item = size // view.itemsize
    most, room = ((limit - protocol.BATCH_HEADER.size) // size for limit in (MAX_FRAME, max_frame))
    replies, weakest = [], Promise.FINAL
    at = 0
    while at * per_item < len(view):
        part = _whole_chains(view[at * per_item : (at + room) * per_item].tobytes(), form, at + room < items)
        if not part:
            # A chain that is longer than a datagram of this path travels in a longer one. The node refuses it if it is
            # longer than a frame.
            part = _whole_chains(view[at * per_item : (at + most) * per_item].tobytes(), form, at + most < items)
            part = part or view[at * per_item : (at + most) * per_item].tobytes()
        count = len(part) // size
        at += count
        header = protocol.BatchHeader(kind=FrameType.BATCH, count=count, format=form, promise=promise)
        is_recognised = form is BatchFormat.SIGNED or _all(part, form, "flags", CARRIES_TIME, CARRIES_TIME | LINKED)
        is_read = _all(part, form, "command", Command.REFER)
        reply = yield from _exchange(Exchange(header.pack() + part, is_read, is_recognised or is_read))
        weakest = min(weakest, Promise(protocol.BatchHeader.unpack(reply.frame).promise))
        replies.append(reply.frame[protocol.BATCH_HEADER.size :])
    return Results(b"".join(replies), form, weakest if items else Promise.DEFAULT)


def _whole_chains(entries: bytes, form: BatchFormat, is_followed: bool) -> bytes:
    """Without the start of a linked chain at the end, which goes into the next frame with its other operations."""
    (flags,) = columns(entries, form, "flags")
    count = len(flags)
    while is_followed and count > 0 and flags[count - 1] & LINKED:
        count -= 1
    return entries[: count * ENTRY_SIZES[form]]


def _all(entries: bytes, form: BatchFormat, name: str, *values: int) -> bool:
    (column,) = columns(entries, form, name)
    return sum(column.count(value) for value in values) == len(column)


# Headers


def open_chain(network: bytes, max_frame: int) -> Flow[HeaderChain]:
    headers, _ = yield from _headers(0, max_frame, 1)
    if not headers:
        raise WrongReply("the node sent no genesis header; ask another node")
    return HeaderChain(network, headers[0])


def sync_headers(chain: HeaderChain, max_frame: int) -> Flow[int]:
    if chain.is_ordered:
        return (yield from _sync_vouched(chain, max_frame))
    before = chain.height
    (known, *headers), tip = yield from _headers_from_known(chain, max_frame)
    chain.check_same(known)
    while headers and chain.height - before < _MAX_HEADERS:
        chain.extend(headers)
        if chain.height >= tip:
            break
        headers, tip = yield from _headers(chain.height + 1, max_frame)
    return chain.height - before


def _headers_from_known(chain: HeaderChain, max_frame: int) -> Flow[tuple[list[bytes], int]]:
    """Headers from the local tip on; only that tip if the node lags."""
    headers, tip = yield from _headers(chain.height, max_frame)
    return headers or [chain.headers[-1]], tip


def _headers(first: int, max_frame: int, count: int | None = None) -> Flow[tuple[list[bytes], int]]:
    count = (max_frame - protocol.HEADERS_FRAME.size) // SEALED_HEADER if count is None else count
    request = protocol.HeadersFrame(kind=FrameType.HEADERS, first_height=first, count=count).pack()
    reply = yield from _exchange(Exchange(request.ljust(len(request) + count * SEALED_HEADER, b"\0")))
    fixed, start = protocol.HeadersFrame.unpack(reply.frame), protocol.HEADERS_FRAME.size
    ends = range(start, start + fixed.count * SEALED_HEADER, SEALED_HEADER)
    return [reply.frame[at : at + SEALED_HEADER] for at in ends], fixed.tip_height


def _sync_vouched(chain: HeaderChain, max_frame: int) -> Flow[int]:
    """Fetches the headers that a certificate vouches for, and no others."""
    before = chain.height
    try:
        vouched = (yield from finality(chain.vouched)).vouched
    except NotFound:
        if chain.vouched is None:
            raise
        # This replica may not know of the last change yet.
        vouched = (yield from finality(None)).vouched
    if vouched is None:
        return 0
    # A valid certificate bounds the number of headers to request.
    chain.check_vouched(vouched)
    try:
        while chain.lacks(vouched.certificate.statement) and chain.height + 1 < vouched.certificate.height:
            headers, _ = yield from _headers(chain.height + 1, max_frame)
            if not headers:
                break
            chain.extend(headers)
        chain.certify(vouched)
    finally:
        chain.drop_untrusted()
    return chain.height - before


def finality(known: Vouched | None) -> Flow[Finality]:
    founders = known.founders if known else None
    changes = list(known.reconfigurations) if known else []
    while True:
        asked = len(changes)
        pack = protocol.FinalityFrame(kind=FrameType.FINALITY, generation=asked).pack
        reply = yield from _with_room(pack)
        fixed = protocol.FinalityFrame.unpack(reply.frame)
        keys_end = protocol.FINALITY_FRAME.size + fixed.replicas * HASH
        certificate = reply.frame[keys_end : keys_end + fixed.certificate_size]
        if not asked <= fixed.generations <= MAX_RECONFIGURATIONS:
            raise InvalidCertificate(f"the node names generation {fixed.generations} of replicas; ask another node")
        if founders is None:
            founders = ReplicaSet(
                tuple(reply.frame[at : at + HASH] for at in range(protocol.FINALITY_FRAME.size, keys_end, HASH))
            )
        if asked < fixed.generations:
            changes.append(Reconfiguration.unpack(certificate))
            continue
        vouched = Vouched(founders, changes, Certificate.unpack(certificate)) if certificate else None
        return Finality(
            fixed.replica if fixed.replica != _NO_REPLICA else None,
            fixed.replicas,
            fixed.leader,
            fixed.view,
            fixed.height,
            fixed.hash,
            asked,
            vouched,
        )


# Proofs


def prove_index(chain: HeaderChain, account: int, max_frame: int) -> Flow[tuple[IndexEntry | None, IndexProof]]:
    reply = yield from _proof(Query.INDEX, account_bytes(account))
    proof = IndexProof.parse(reply.frame)
    entry = yield from _sync_until(chain, lambda: proof.verify(account, chain), max_frame)
    return entry, proof


def prove_asset(chain: HeaderChain, entry: IndexEntry, max_frame: int) -> Flow[int]:
    if entry.asset is not None:
        raise InvalidProof("the id is not that of an account: its entry states the asset of another id")
    if not entry.has_asset:
        return 0
    stated, proof = yield from prove_index(chain, asset_id(entry.account), max_frame)
    # An older proof, or an asset that was stated later, may be that of an account that was closed and opened again.
    is_later = stated is not None and (stated.height, stated.position) > (entry.height, entry.position)
    if stated is None or stated.asset is None or is_later or proof.height < entry.height:
        raise AssetChanged
    return stated.asset


def prove_latest(chain: HeaderChain, account: int, max_frame: int) -> Flow[TransactionProof]:
    def is_asked(proof: TransactionProof) -> bool:
        return proof.involves(account)

    return (yield from _prove(chain, Query.LATEST, account_bytes(account), is_asked, max_frame))


def prove_transaction(chain: HeaderChain, transaction: uuid.UUID, namer: int, max_frame: int) -> Flow[TransactionProof]:
    def is_asked(proof: TransactionProof) -> bool:
        return (proof.operation.transaction, proof.namer) == (transaction, namer)

    return (yield from _prove(chain, Query.TRANSACTION, key_of_transaction(transaction, namer), is_asked, max_frame))


def prove_locator(chain: HeaderChain, height: int, position: int, max_frame: int) -> Flow[TransactionProof]:
    def is_asked(proof: TransactionProof) -> bool:
        return (proof.height, proof.position) == (height, position)

    return (yield from _prove(chain, Query.LOCATOR, key_of_locator(height, position), is_asked, max_frame))


def _prove(
    chain: HeaderChain, query: Query, key: bytes, is_asked: Callable[[TransactionProof], bool], max_frame: int
) -> Flow[TransactionProof]:
    reply = yield from _proof(query, key)
    proof = TransactionProof.parse(reply.frame)
    yield from _sync_until(chain, lambda: proof.verify(chain), max_frame)
    if not is_asked(proof):
        raise InvalidProof("the node proved another transaction; ask another node")
    return proof


def _proof(query: Query, key: bytes) -> Flow[Reply]:
    return (yield from _with_room(protocol.ProofRequest(kind=FrameType.PROOF, query=query, key=key).pack))


def _sync_until(chain: HeaderChain, verify: Callable[[], T], max_frame: int) -> Flow[T]:
    """Fetches headers until the block of a proof is among them; on a chain of replicas, waits for its certificate."""
    for _ in range(_CERTIFICATE_PAUSES if chain.is_ordered else 1):
        try:
            return verify()
        except UnknownBlock:
            # The block is newer than the local headers.
            if not (yield from sync_headers(chain, max_frame)) and chain.is_ordered:
                yield Pause(_PAUSE)
    return verify()
