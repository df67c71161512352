"""Feeds: journalled operations as a node streams them, each exactly once."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from . import _calls
from . import _protocol as protocol
from ._base import Buffer
from ._core import Options
from ._ids import account_bytes
from ._operations import Operation
from ._protocol import FrameType, Promise, Status
from ._replies import LENGTH, MAX_FRAME, is_transient
from .errors import Closed, NoReply, WrongNetwork, WrongReply

# A connection without a frame for this long counts as lost: five heartbeats.
_SILENCE = 5.0
# Waits between attempts to connect.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_READ_BYTES = 1 << 16
# The ids of the two requests on a connection.
_GREETING, _FEED = 1, 2
_OF_ACCOUNT = 1


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An operation that the node journalled, and its result."""

    sequence: int
    """Position in the node's journal, from 1."""
    operation: Operation
    status: Status
    """Its result: failed operations are in the feed, too."""
    value: int
    """Balance of the source after the operation."""


@dataclass(frozen=True, slots=True)
class FeedPart:
    """Operations of one batch of the journal, or none: a node reports its progress each second."""

    entries: tuple[FeedEntry, ...]
    """The operations, by ascending sequences."""
    timestamp: int
    """Ledger time of the operations, in microseconds since the Unix epoch."""
    promise: Promise
    """The promise of the operations."""
    cursor: int
    """Sequence of the first operation after this part. Store it with the effects of the part, in one transaction."""
    durable: int
    """Sequence of the last durable operation."""
    finalized: int
    """Sequence of the last final operation; 0 if the node is not a replica."""


class _Lost(Exception):
    """The connection ended, or the node refused for now: connect again."""


@dataclass(slots=True)
class _Stream:
    """The state of a feed, without sockets and clocks."""

    node: str
    cursor: int
    account: int | None
    options: Options
    network: bytes | None = None
    reconnections: int = 0
    refused: Status | None = None
    outgoing: bytes = b""
    _is_greeted: bool = False
    _received: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        _calls.split(self.node)
        if not 0 < self.cursor < 1 << 64:
            raise ValueError(f"cursor {self.cursor} is not a sequence; the first operation has 1")
        if self.account is not None:
            account_bytes(self.account)
        self.network = self.options.network

    def connected(self) -> None:
        self._is_greeted = False
        self._received.clear()
        self._send(protocol.InfoFrame(kind=FrameType.INFO, id=_GREETING).pack())

    def received(self, data: Buffer) -> None:
        self._received += data

    def part(self) -> FeedPart | None:
        """The next part, of the bytes that arrived; None if they end before it."""
        while (frame := self._frame()) is not None:
            if self._is_greeted:
                return self._read(frame)
            self._greeted(frame)
        return None

    def _send(self, frame: bytes) -> None:
        self.outgoing += LENGTH.pack(len(frame)) + frame

    def _frame(self) -> bytes | None:
        if len(self._received) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._received)
        if length > MAX_FRAME:
            raise WrongReply(f"the node sent a frame of {length} bytes; ask another node")
        end = LENGTH.size + length
        if len(self._received) < end:
            return None
        frame = bytes(memoryview(self._received)[LENGTH.size : end])
        del self._received[:end]
        return frame

    def _greeted(self, frame: bytes) -> None:
        if len(frame) != protocol.INFO_FRAME.size or not self._is_reply(frame, FrameType.INFO, _GREETING):
            self._refuse(frame, _GREETING)
        info = protocol.InfoFrame.unpack(frame)
        self._check(Status(info.status), 0)
        if self.network not in (None, info.network):
            expected = (self.network or b"").hex()
            raise WrongNetwork(f"{self.node} is of network {info.network.hex()}, not {expected}; check the address")
        # Sequences of another ledger mean other operations.
        self.network, self._is_greeted = info.network, True
        request = protocol.FeedFrame(kind=FrameType.FEED, id=_FEED, promise=self.options.promise, cursor=self.cursor)
        if self.account is not None:
            request = request._replace(flags=_OF_ACCOUNT, account=account_bytes(self.account))
        self._send(request.pack())

    @staticmethod
    def _is_reply(frame: bytes, kind: FrameType, identifier: int) -> bool:
        header = protocol.FrameHeader.unpack(frame)
        found = (header.magic, header.version, header.kind, header.id)
        return found == (protocol.MAGIC, protocol.VERSION, kind | protocol.REPLY_BIT, identifier)

    def _refuse(self, frame: bytes, identifier: int) -> None:
        """Raises the error of an error frame, or of a frame that is no reply."""
        if len(frame) == protocol.ERROR_FRAME.size:
            error = protocol.ErrorFrame.unpack(frame)
            if (error.kind, error.id) == (protocol.ERROR_TYPE, identifier) and error.status:
                self._check(Status(error.status), 0)
        raise WrongReply(f"{self.node} sent no reply to the feed's request; ask another node")

    def _check(self, status: Status, value: int) -> None:
        if is_transient(status):
            self.refused = status
            raise _Lost(status.name)
        if status:
            raise protocol.STATUS_ERRORS[status](value=value)

    def _read(self, frame: bytes) -> FeedPart:
        size, entry_size = protocol.FEED_FRAME.size, protocol.FEED_ENTRY.size
        if len(frame) < size or not self._is_reply(frame, FrameType.FEED, _FEED):
            self._refuse(frame, _FEED)
        fixed = protocol.FeedFrame.unpack(frame)
        if len(frame) != size + (0 if fixed.status else fixed.count * entry_size) or fixed.signed:
            raise WrongReply("a frame of the feed has another length than its entries; ask another node")
        self._check(Status(fixed.status), fixed.first)
        entries, expected = [], self.cursor
        for at in range(size, len(frame), entry_size):
            entry = protocol.FeedEntry.unpack(frame, at)
            operation = Operation.unpack(entry.operation)
            status = Status(protocol.Operation.unpack(entry.operation).status)
            is_next = entry.sequence == expected
            if self.account is not None:
                is_next = entry.sequence >= expected and self.account in (operation.source, operation.destination)
            if not is_next or entry.sequence >= fixed.cursor:
                raise WrongReply(
                    f"the feed continues with operation {entry.sequence}, not {expected}; ask another node"
                )
            entries.append(FeedEntry(entry.sequence, operation, status, entry.value))
            expected = entry.sequence + 1
        if fixed.cursor < expected or (self.account is None and fixed.cursor != expected):
            raise WrongReply(f"the feed's cursor is {fixed.cursor} after operation {expected - 1}; ask another node")
        self.cursor, self.refused = fixed.cursor, None
        return FeedPart(
            tuple(entries), fixed.timestamp, Promise(fixed.promise), fixed.cursor, fixed.durable, fixed.finalized
        )

    def no_reply(self, reason: str) -> Exception:
        if self.refused:
            return protocol.STATUS_ERRORS[self.refused]()
        return NoReply(f"no part of the feed in time ({reason}); check that a node runs at {self.node}")


class _Retries:
    """Pauses between attempts to get one part."""

    def __init__(self, options: Options) -> None:
        self._deadline = time.monotonic() + options.timeout
        self._pause = _FIRST_PAUSE

    def next(self) -> float | None:
        """The next pause; None if the time is over."""
        pause = self._pause
        self._pause = min(2 * pause, _LONGEST_PAUSE)
        return pause if time.monotonic() + pause < self._deadline else None


class Feed:
    """The operations that a node journals, in order and each exactly once: an iterator of `FeedPart`.

    `cursor` is the sequence of the first operation; 1 for all. With an account, only its operations. The node must
    trust this machine. The feed uses TCP, reconnects by itself, and continues at its cursor. It ends with an error:
    `NoReply` if the node does not answer for `Options.timeout`, `Pruned` if the journal no longer has the operation at
    the cursor (`value` is the first one that it has), `NotFound` if it ends before the cursor, and `TooSlow` if this
    program read too slowly. After `TooSlow`, or any other error that has passed, `receive` continues at the cursor.
    """

    def __init__(
        self, node: str, cursor: int = 1, *, account: int | None = None, options: Options | None = None
    ) -> None:
        self._stream = _Stream(node, cursor, account, options or Options())
        self._socket: socket.socket | None = None
        self._is_closed = self._is_receiving = False

    @property
    def cursor(self) -> int:
        """Sequence of the first operation that `receive` has not returned yet."""
        return self._stream.cursor

    @property
    def reconnections(self) -> int:
        """Number of connections after the first."""
        return self._stream.reconnections

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> FeedPart:
        return self.receive()

    def close(self) -> None:
        """Ends the feed. `receive` in another thread raises `Closed`."""
        self._is_closed = True
        if (connection := self._socket) is not None:
            with suppress(OSError):  # The node may have been faster.
                connection.shutdown(socket.SHUT_RDWR)
            if not self._is_receiving:
                self._disconnect()

    def receive(self) -> FeedPart:
        """Waits for the next part: a node sends one each second at least."""
        retries = _Retries(self._stream.options)
        while True:
            if self._is_closed:
                raise Closed("the feed is closed; make another one with its cursor")
            self._is_receiving = True
            try:
                return self._receive_once()
            except (OSError, ValueError, _Lost) as error:
                self._disconnect()
                if self._is_closed:
                    continue
                if isinstance(error, ValueError):
                    raise WrongReply("the feed has a code that is unknown to this version") from error
                if (pause := retries.next()) is None:
                    raise self._stream.no_reply(str(error)) from error
                time.sleep(pause)
            except BaseException:
                # The frame was the last one, or the program was interrupted.
                self._disconnect()
                raise
            finally:
                self._is_receiving = False

    def _receive_once(self) -> FeedPart:
        stream = self._stream
        if self._socket is None:
            self._socket = socket.create_connection(_calls.split(stream.node), _calls.CONNECT_TIMEOUT)
            _calls.refuse_self(self._socket)
            self._socket.settimeout(_SILENCE)
            stream.connected()
        while True:
            part = stream.part()
            if part is not None:
                return part
            data, stream.outgoing = stream.outgoing, b""
            self._socket.sendall(data)
            received = self._socket.recv(_READ_BYTES)
            if not received:
                raise _Lost("the node closed the connection")
            stream.received(received)

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._stream.reconnections += 1
        self._socket = None


class AsyncFeed:
    """The operations that a node journals, as `Feed` has them, for asyncio: an asynchronous iterator of `FeedPart`."""

    def __init__(
        self, node: str, cursor: int = 1, *, account: int | None = None, options: Options | None = None
    ) -> None:
        self._stream = _Stream(node, cursor, account, options or Options())
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._is_closed = False

    @property
    def cursor(self) -> int:
        """Sequence of the first operation that `receive` has not returned yet."""
        return self._stream.cursor

    @property
    def reconnections(self) -> int:
        """Number of connections after the first."""
        return self._stream.reconnections

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedPart:
        return await self.receive()

    async def close(self) -> None:
        """Ends the feed. `receive` in another task raises `Closed`."""
        self._is_closed = True
        self._disconnect()

    async def receive(self) -> FeedPart:
        """Waits for the next part: a node sends one each second at least. A cancelled call loses nothing."""
        retries = _Retries(self._stream.options)
        while True:
            if self._is_closed:
                raise Closed("the feed is closed; make another one with its cursor")
            try:
                return await self._receive_once()
            except (OSError, ValueError, _Lost) as error:
                self._disconnect()
                if self._is_closed:
                    continue
                if isinstance(error, ValueError):
                    raise WrongReply("the feed has a code that is unknown to this version") from error
                if (pause := retries.next()) is None:
                    raise self._stream.no_reply(str(error)) from error
                await asyncio.sleep(pause)
            except BaseException:
                self._disconnect()
                raise

    async def _receive_once(self) -> FeedPart:
        stream = self._stream
        if self._reader is None or self._writer is None:
            async with asyncio.timeout(_calls.CONNECT_TIMEOUT):
                self._reader, self._writer = await asyncio.open_connection(*_calls.split(stream.node))
            _calls.refuse_self(self._writer.get_extra_info("socket"))
            stream.connected()
        reader, writer = self._reader, self._writer
        while True:
            part = stream.part()
            if part is not None:
                return part
            data, stream.outgoing = stream.outgoing, b""
            writer.write(data)
            async with asyncio.timeout(_SILENCE):
                received = await reader.read(_READ_BYTES)
            if not received:
                raise _Lost("the node closed the connection")
            stream.received(received)

    def _disconnect(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
            self._stream.reconnections += 1
        self._reader = self._writer = None
