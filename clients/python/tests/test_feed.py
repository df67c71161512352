"""Feeds: each journalled operation once and in order, over kills of the node; errors by status."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turnpike import AsyncFeed, Client, Command, Feed, FeedEntry, Options, Promise, Status, _feed, arrays, errors
from turnpike import _protocol as protocol

from .clients import PATIENT
from .programs import PATIENCE, Node
from .test_wire_vectors import REPLIES


class FeedOnLoop:
    """Runs the methods of an `AsyncFeed` on an event loop in a thread, so that tests run with both kinds."""

    def __init__(self, node: str, cursor: int = 1, *, account: int | None = None, options: Options = PATIENT) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._feed = AsyncFeed(node, cursor, account=account, options=options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._feed, name)

    def receive(self) -> Any:
        return asyncio.run_coroutine_threadsafe(self._feed.receive(), self._loop).result()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._feed.close(), self._loop).result()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


KINDS = [pytest.param(Feed, id="blocking"), pytest.param(FeedOnLoop, id="asyncio")]


def collect(feed: Any, last: int) -> list[FeedEntry]:
    """Receives up to an operation, and checks what each part says about itself."""
    entries: list[FeedEntry] = []
    while feed.cursor <= last:
        part = feed.receive()
        assert part.cursor == feed.cursor
        assert part.promise is Promise.DURABLE
        assert all(entry.sequence <= part.durable for entry in part.entries)
        entries += part.entries
    return entries


@pytest.mark.parametrize("kind", KINDS)
def test_operations_with_their_results(own_node: Node, kind: Any) -> None:
    with Client(own_node.address, options=PATIENT) as c, kind(f"udp://{own_node.address}", options=PATIENT) as feed:
        for account in (1, 2, 3):
            c.create(account)
        c.issue(1, 1000)
        receipt = c.transfer(1, 2, 250)
        with pytest.raises(errors.InsufficientBalance):
            c.transfer(1, 2, 10_000)
        entries = collect(feed, 6)
        assert [entry.sequence for entry in entries] == [1, 2, 3, 4, 5, 6]
        assert [entry.operation.command for entry in entries] == [Command.CREATE] * 3 + [Command.ISSUE] + [
            Command.TRANSFER
        ] * 2
        assert entries[4].operation.transaction == receipt.transaction
        assert [(entry.status, entry.value) for entry in entries[4:]] == [
            (Status.OK, 750),
            (Status.INSUFFICIENT_BALANCE, 750),
        ]
        assert entries[5].operation.amount == 10_000
        # A heartbeat.
        assert feed.receive().entries == ()
        with kind(own_node.address, 2, account=3, options=PATIENT) as other:
            assert [entry.sequence for entry in collect(other, 6)] == [3]


@pytest.mark.parametrize("kind", KINDS)
def test_each_operation_once_over_kills(own_node: Node, kind: Any) -> None:
    is_over = threading.Event()

    def load() -> None:
        with Client(own_node.address, options=PATIENT) as c:
            for account in (1, 2):
                c.create(account)
            c.issue(1, 10**9)
            while not is_over.is_set():
                assert c.submit(arrays.transfers(1, 2, np.ones(50, np.uint64))).is_ok

    thread = threading.Thread(target=load)
    thread.start()
    entries: list[FeedEntry] = []
    feed = kind(own_node.address, options=PATIENT)
    with feed:
        for _ in range(3):
            entries += collect(feed, feed.cursor + 2000)
            own_node.kill()
            own_node.start()
        assert feed.reconnections >= 1
        cursor = feed.cursor
    # Another process continues at the stored cursor.
    is_over.set()
    thread.join()
    with Client(own_node.address, options=PATIENT) as c:
        last = c.info().durable_sequence
        balance = c.refer(2).value
    with kind(own_node.address, cursor, options=PATIENT) as feed:
        entries += collect(feed, last)
    assert [entry.sequence for entry in entries] == list(range(1, last + 1))
    paid = [entry for entry in entries if entry.operation.command is Command.TRANSFER]
    assert len({entry.operation.transaction for entry in paid}) == len(paid) == balance


@pytest.fixture
def strict_node(tmp_path: Path) -> Iterator[Node]:
    """A node that ends a feed soon."""
    (tmp_path / "turnpike.toml").write_text("[limits]\nframe_timeout = 1000\nfeeds = 1\n")
    with Node(tmp_path, options=["--config", str(tmp_path / "turnpike.toml")]) as running:
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_program_is_told_and_continues(strict_node: Node, kind: Any) -> None:
    # More than the buffers of the kernel and the node hold.
    count = 200_000
    with Client(strict_node.address, options=PATIENT) as c:
        for account in (1, 2):
            c.create(account)
        c.issue(1, 10**9)
        assert c.submit(arrays.transfers(1, 2, np.ones(count, np.uint64))).is_ok
    # On a busy machine the node may close the connection before its last frame is read; then the feed continues
    # without an error.
    for _ in range(5):
        slow = 0
        with kind(strict_node.address, options=PATIENT) as feed:
            entries = list(feed.receive().entries)
            time.sleep(1.5)
            while feed.cursor <= count + 3:
                try:
                    entries += feed.receive().entries
                except errors.TooSlow:
                    slow += 1
        assert [entry.sequence for entry in entries] == list(range(1, count + 4))
        if slow > 0:
            return
    raise AssertionError("the node never reported that the feed is slow")


@pytest.mark.parametrize("kind", KINDS)
def test_refusals(strict_node: Node, kind: Any) -> None:
    with Client(strict_node.address, options=PATIENT) as c:
        c.create(1)
    with kind(strict_node.address, 3, options=PATIENT) as feed, pytest.raises(errors.NotFound):
        feed.receive()
    with kind(strict_node.address, options=PATIENT) as feed:
        feed.receive()
        # The node serves one feed.
        with kind(strict_node.address, options=Options(timeout=2)) as second, pytest.raises(errors.Busy):
            second.receive()
    with kind(strict_node.address, options=Options(network=bytes(32))) as feed, pytest.raises(errors.WrongNetwork):
        feed.receive()
    strict_node.kill()
    with kind(strict_node.address, options=Options(timeout=0.3)) as feed:
        with pytest.raises(errors.NoReply):
            feed.receive()
        feed.close()
        with pytest.raises(errors.Closed):
            feed.receive()


def test_arguments() -> None:
    for cursor in (0, -1, 1 << 64):
        with pytest.raises(ValueError, match="cursor"):
            Feed("127.0.0.1", cursor)
    with pytest.raises(ValueError, match="account"):
        Feed("127.0.0.1", account=1 << 128)
    with pytest.raises(ValueError, match="node"):
        Feed("a:b")


def frame(*operations: bytes, cursor: int, status: Status = Status.OK, first: int = 1, **fields: Any) -> bytes:
    fixed = protocol.FeedFrame(
        kind=protocol.FrameType.FEED | protocol.REPLY_BIT,
        id=fields.pop("id", 2),
        status=status,
        promise=Promise.DURABLE,
        count=fields.pop("count", len(operations)),
        cursor=cursor,
        first=first,
    )
    return fixed.pack() + b"".join(operations)


def entry(sequence: int, command: int = 3) -> bytes:
    operation = protocol.Operation(
        command=command, transaction=bytes(16), source=bytes(15) + b"\1", destination=bytes(16)
    )
    return protocol.FeedEntry(sequence, operation.pack(), 7).pack()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "reply",
    [
        frame(entry(5), entry(5), cursor=7),
        frame(entry(6), cursor=7),
        frame(entry(5), cursor=5),
        frame(entry(5), cursor=7),
        frame(entry(5), cursor=6, count=2),
        frame(entry(5, command=99), cursor=6),
        frame(entry(5), cursor=6, id=9),
        frame(entry(5), cursor=6)[:71],
        b"TP",
        b"",
    ],
)
def test_a_faulty_node_is_found_out(kind: Any, reply: bytes) -> None:
    with FakeNode(reply) as address, kind(address, 5, options=PATIENT) as feed:
        with pytest.raises(errors.WrongReply):
            feed.receive()
        assert feed.cursor == 5


@pytest.mark.parametrize("name", [name for name, (kind, _, _) in REPLIES.items() if name.startswith("feed")])
def test_golden_replies(name: str) -> None:
    kind, status, golden = REPLIES[name]
    # The id of the vectors is another one.
    reply = golden[:4] + (2).to_bytes(4, "big") + golden[8:]
    fixed = protocol.FeedFrame.unpack(reply.ljust(72, b"\0"))
    account = int.from_bytes(fixed.account, "big") if fixed.flags & 1 else None
    first = int.from_bytes(reply[72:80], "big") if len(reply) >= 80 else fixed.cursor
    stream = _feed._Stream("node", first, account, PATIENT)
    # Signatures are not requested.
    if kind == "bad" or fixed.signed:
        with pytest.raises((errors.WrongReply, ValueError)):
            stream._read(reply)
    elif Status[status]:
        with pytest.raises(protocol.STATUS_ERRORS[Status[status]]):
            stream._read(reply)
    else:
        part = stream._read(reply)
        assert (len(part.entries), part.cursor, part.durable) == (fixed.count, fixed.cursor, fixed.durable)
        assert (
            b"".join(
                protocol.FeedEntry(entry.sequence, golden[80 + 80 * at :][:64], entry.value).pack()
                for at, entry in enumerate(part.entries)
            )
            == golden[72:]
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_pruned_journal(kind: Any) -> None:
    with FakeNode(frame(cursor=5, status=Status.PRUNED, first=1234)) as address, kind(address, 5) as feed:
        with pytest.raises(errors.Pruned) as caught:
            feed.receive()
        assert caught.value.value == 1234


class FakeNode:
    """Answers the question for the network, and the request of a feed with one frame."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as stream:
            for reply in (None, self._reply):
                (length,) = struct.unpack(">I", stream.read(4))
                request = protocol.FrameHeader.unpack(stream.read(length))
                if reply is None:
                    reply = protocol.InfoFrame(kind=protocol.FrameType.INFO | protocol.REPLY_BIT, id=request.id).pack()
                connection.sendall(struct.pack(">I", len(reply)) + reply)
            stream.read()

    def __enter__(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._thread.join(PATIENCE)
        self._listener.close()
