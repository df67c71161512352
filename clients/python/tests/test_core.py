"""The state machine in simulated time: no sockets, no clocks."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace

import pytest

from turnpike import BatchFormat, Operation, Options, Promise, Receipt, Status
from turnpike import _protocol as protocol
from turnpike._calls import call_of_operation
from turnpike._core import Call, Core
from turnpike._flows import Exchange, submit
from turnpike._protocol import FrameType
from turnpike._replies import LENGTH, MAX_FRAME, Reply
from turnpike.errors import Busy, Closed, Error, NoReply, NotFinal, QueueFull, StaleTimestamp, WrongNetwork, WrongReply

NETWORK = bytes([7]) * 32


class World:
    """A core with a node that the test plays."""

    def __init__(self, *nodes: str, **options: object) -> None:
        self.now = 1000.0
        self.core = Core(list(nodes or ("a",)), Options(**options), random.Random(1))  # type: ignore[arg-type]
        self.stream = b""

    def submit(self, amount: int = 1, operation: Operation | None = None, timeout: float = 10.0) -> Call:
        operation = operation or Operation.transfer(1, 2, amount)
        call = call_of_operation(operation, Promise.DURABLE, self.now + timeout, lambda _: None)
        self.core.submit(call)
        return call

    def advance(self, seconds: float = 0.0) -> None:
        """Lets time pass as a driver does: the core is called whenever it wants to be."""
        end = self.now + seconds
        while True:
            self.core.advance(self.now)
            self.stream += self.core.outgoing()
            if self.core.dial or self.core.hang_up or self.core.wake_at > end:
                break
            assert self.core.wake_at >= self.now, "the core wants to be called in the past"
            self.now = max(self.core.wake_at, self.now + 1e-6)
        if not (self.core.dial or self.core.hang_up):
            self.now = end

    def connect(self, network: bytes = NETWORK, retry: int = 10_000) -> str:
        """Accepts the connection that the core wants, and greets."""
        for _ in range(100):
            self.advance(0.1)
            if self.core.dial:
                break
        node, self.core.dial, self.core.hang_up, self.stream = self.core.dial, None, False, b""
        assert node
        self.core.connected(self.now)
        self.advance()
        (greeting,) = self.frames()
        info = protocol.InfoFrame.unpack(greeting)._replace(network=network, retry_milliseconds=retry)
        self.reply(info._replace(kind=FrameType.INFO | protocol.REPLY_BIT).pack())
        self.advance()
        return node

    def frames(self) -> list[bytes]:
        """Takes the frames that were sent."""
        found = []
        while self.stream:
            (length,) = LENGTH.unpack_from(self.stream)
            found.append(self.stream[4 : 4 + length])
            self.stream = self.stream[4 + length :]
        return found

    def reply(self, frame: bytes) -> None:
        self.core.received(LENGTH.pack(len(frame)) + frame, self.now)

    def answer(self, frame: bytes, *statuses: Status) -> None:
        """Replies to a batch."""
        self.reply(self.reply_to(frame, *statuses))

    @staticmethod
    def reply_to(frame: bytes, *statuses: Status) -> bytes:
        """The reply to a batch: with these statuses, and OK after them."""
        header = protocol.BatchHeader.unpack(frame)
        reply = header._replace(kind=header.kind | protocol.REPLY_BIT).pack()
        for at in range(header.count):
            entry = protocol.Operation.unpack(frame, 16 + 64 * at)
            reply += entry._replace(status=statuses[at] if at < len(statuses) else Status.OK, amount=5).pack()
        return reply


def test_concurrent_operations_travel_in_one_batch() -> None:
    world = World()
    calls = [world.submit(amount) for amount in range(1, 6)]
    assert world.connect() == "a"
    (frame,) = world.frames()
    assert protocol.BatchHeader.unpack(frame).count == 5
    world.answer(frame, Status.OK, Status.INSUFFICIENT_BALANCE)
    assert isinstance(calls[0].result, Receipt)
    assert isinstance(calls[1].error, Error)
    assert not calls[1].error.may_be_executed
    assert all(call.is_over for call in calls)


def test_what_exceeds_the_window_waits_for_the_next_batch() -> None:
    world = World(window=2)
    world.submit()
    world.connect()
    for _ in range(2):
        world.submit()
        world.advance()
        world.submit()
        world.advance()
    first, second = world.frames()
    world.submit()
    world.advance()
    assert not world.frames()
    world.answer(first)
    world.advance()
    (third,) = world.frames()
    assert protocol.BatchHeader.unpack(third).count == 4
    assert protocol.BatchHeader.unpack(second).count == 1


def test_a_batch_is_not_longer_than_a_frame() -> None:
    world = World()
    for _ in range(1500):
        world.submit()
    world.connect()
    assert [protocol.BatchHeader.unpack(frame).count for frame in world.frames()] == [1023, 477]


def test_a_missing_reply_is_requested_again_with_the_same_bytes() -> None:
    world = World(turn_after=60)
    call = world.submit()
    world.connect()
    (first,) = world.frames()
    world.advance(2)
    (again,) = world.frames()
    assert again == first
    world.answer(again)
    world.answer(first)
    assert isinstance(call.result, Receipt)


def test_only_the_operations_without_room_are_repeated() -> None:
    world = World()
    calls = [world.submit(), world.submit()]
    world.connect()
    (frame,) = world.frames()
    world.answer(frame, Status.BUSY, Status.OK)
    assert [call.is_over for call in calls] == [False, True]
    world.advance(0.1)
    (again,) = world.frames()
    assert protocol.BatchHeader.unpack(again).count == 1
    world.answer(again)
    assert isinstance(calls[0].result, Receipt)


def test_a_refusal_is_reported_only_if_no_attempt_may_have_been_executed() -> None:
    world = World(turn_after=60, timeout=3)
    refused = world.submit(timeout=0.01)
    world.connect()
    world.answer(world.frames()[0], Status.BUSY)
    world.advance(1)
    assert isinstance(refused.error, Busy)
    assert not refused.error.may_be_executed
    # The first attempt has no reply, so the refusal of the second proves nothing.
    lost = world.submit(timeout=2.5)
    world.advance(1.5)
    _, again = world.frames()
    world.answer(again, Status.BUSY)
    world.core.lost(world.now, "reset")
    world.core.dial = None
    world.now += 5
    world.core.advance(world.now)
    assert isinstance(lost.error, NoReply)
    assert lost.error.may_be_executed
    assert "same id" in str(lost.error)


def test_a_status_of_this_attempt_alone_does_not_hide_an_earlier_attempt() -> None:
    world = World(turn_after=60)
    call = world.submit()
    world.connect()
    world.advance(2)
    _, again = world.frames()
    world.answer(again, Status.STALE_TIMESTAMP)
    assert isinstance(call.error, StaleTimestamp)
    assert call.error.may_be_executed


def test_not_final_is_repeated_and_then_reported_as_possibly_executed() -> None:
    world = World(turn_after=60)
    call = world.submit(timeout=5)
    world.connect()
    while not call.is_over:
        for frame in world.frames():
            world.answer(frame, Status.NOT_FINAL)
        world.advance(1)
    assert isinstance(call.error, NotFinal)
    assert call.error.may_be_executed


def test_an_id_without_a_time_is_not_repeated_after_the_retry_time() -> None:
    world = World(turn_after=600)
    untimed = replace(Operation.transfer(1, 2, 3), transaction=uuid.UUID(int=77))
    calls = [world.submit(operation=untimed, timeout=100), world.submit(timeout=100)]
    world.connect(retry=4000)
    began = world.now
    while not calls[0].is_over:
        assert world.now < began + 4
        world.frames()
        world.advance(0.1)
    assert isinstance(calls[0].error, NoReply)
    world.frames()
    for _ in range(20):
        world.advance(1)
    for frame in world.frames():
        assert protocol.Operation.unpack(frame, 16).transaction != untimed.transaction.bytes
    assert not calls[1].is_over


def test_a_request_that_expired_meanwhile_is_not_repeated_after_a_greeting() -> None:
    world = World()
    untimed = replace(Operation.transfer(1, 2, 3), transaction=uuid.UUID(int=78))
    call = world.submit(operation=untimed, timeout=100)
    world.connect(retry=4000)
    world.frames()
    world.core.lost(world.now, "reset")
    world.advance()
    world.core.dial = None
    world.core.connected(world.now)
    world.advance()
    # The machine was suspended: the greeting is the first event after the retry time.
    world.now += 60
    (greeting,) = world.frames()
    info = protocol.InfoFrame.unpack(greeting)._replace(network=NETWORK, retry_milliseconds=4000)
    world.reply(info._replace(kind=FrameType.INFO | protocol.REPLY_BIT).pack())
    world.advance()
    assert not world.frames()
    assert isinstance(call.error, NoReply)
    assert call.error.may_be_executed


def test_a_silent_node_is_replaced_by_the_next() -> None:
    world = World("a", "b", turn_after=1, retry_after=30)
    call = world.submit()
    assert world.connect() == "a"
    (first,) = world.frames()
    assert world.connect() == "b"
    (again,) = world.frames()
    assert again == first
    world.answer(again)
    assert isinstance(call.result, Receipt)
    assert world.core.turns == 1


def test_nodes_that_refuse_connections_are_tried_with_growing_pauses() -> None:
    world = World("a", "b")
    call = world.submit(timeout=60)
    attempts: list[tuple[float, str]] = []
    while len(attempts) < 40:
        world.advance(0.01)
        if world.core.dial:
            attempts.append((world.now, world.core.dial))
            world.core.dial = None
            world.core.lost(world.now, "refused")
    assert {node for _, node in attempts} == {"a", "b"}
    assert attempts[-1][0] - attempts[0][0] > 5
    world.now += 60
    world.core.advance(world.now)
    assert isinstance(call.error, NoReply)
    assert not call.error.may_be_executed, "nothing was sent"


def test_a_node_of_another_network_gets_no_operation() -> None:
    world = World("a", "b", network=NETWORK)
    call = world.submit()
    assert world.connect(bytes(32)) == "a"
    assert not world.frames()
    assert world.connect() == "b"
    assert len(world.frames()) == 1
    wrong = World(network=bytes(32))
    call = wrong.submit()
    wrong.connect()
    assert isinstance(call.error, WrongNetwork)
    assert not wrong.frames()


def test_a_lost_connection_is_made_again_with_all_that_is_in_flight() -> None:
    world = World()
    calls = [world.submit(amount) for amount in (1, 2)]
    world.connect()
    (first,) = world.frames()
    world.core.lost(world.now, "reset")
    world.connect()
    (again,) = world.frames()
    assert again == first
    world.answer(again)
    assert all(isinstance(call.result, Receipt) for call in calls)


def test_cancelled_operations_are_not_repeated() -> None:
    world = World()
    calls = [world.submit(amount) for amount in (1, 2)]
    world.connect()
    world.frames()
    calls[0].is_over = True
    world.core.lost(world.now, "reset")
    world.connect()
    (again,) = world.frames()
    assert protocol.BatchHeader.unpack(again).count == 1
    assert protocol.Operation.unpack(again, 16).amount == 2


def test_the_queue_is_limited_and_closing_ends_all() -> None:
    world = World(queue=10)
    calls = [world.submit() for _ in range(10)]
    with pytest.raises(QueueFull):
        world.submit()
    world.core.close()
    assert all(isinstance(call.error, Closed) for call in calls)
    with pytest.raises(Closed):
        world.submit()


def test_operations_without_room_count_in_the_queue() -> None:
    world = World(queue=10)
    for _ in range(10):
        world.submit()
    world.connect()
    (frame,) = world.frames()
    world.answer(frame, *[Status.BUSY] * 10)
    with pytest.raises(QueueFull):
        world.submit()


def test_an_unknown_status_is_an_error() -> None:
    world = World()
    call = world.submit()
    world.connect()
    (frame,) = world.frames()
    reply = bytearray(World.reply_to(frame))
    reply[18:20] = (999).to_bytes(2, "big")
    world.reply(bytes(reply))
    assert isinstance(call.error, WrongReply)
    assert call.error.may_be_executed


def test_expired_operations_free_the_queue() -> None:
    world = World(queue=10)
    for _ in range(3):
        for _ in range(10):
            world.submit(timeout=1)
        world.now += 2
        world.core.advance(world.now)
        world.core.dial = None


def test_a_stream_that_loses_step_ends() -> None:
    world = World()
    world.submit()
    world.connect()
    world.core.received(b"\xff" * 8, world.now)
    assert world.core.hang_up


def test_replies_may_arrive_in_pieces() -> None:
    world = World()
    call = world.submit()
    world.connect()
    (frame,) = world.frames()
    reply = World.reply_to(frame)
    for byte in LENGTH.pack(len(reply)) + reply:
        assert not call.is_over
        world.core.received(bytes([byte]), world.now)
    assert isinstance(call.result, Receipt)


def test_signed_and_unsigned_operations_and_promises_have_separate_batches() -> None:
    world = World()
    world.submit()
    other = call_of_operation(Operation.transfer(1, 2, 3), Promise.ACCEPTED, world.now + 9, lambda _: None)
    world.core.submit(other)
    world.connect()
    headers = [protocol.BatchHeader.unpack(frame) for frame in world.frames()]
    assert [(header.format, header.promise) for header in headers] == [
        (BatchFormat.OPERATION, Promise.DURABLE),
        (BatchFormat.OPERATION, Promise.ACCEPTED),
    ]


def test_random_faults_never_end_a_call_wrongly() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        world = World("a", "b", retry_after=0.2, turn_after=0.5)
        calls = [world.submit(amount, timeout=1000) for amount in range(1, 30)]
        sent: list[bytes] = []
        world.connect()
        for _ in range(10_000):
            if all(call.is_over for call in calls):
                break
            if world.core.dial or world.core.hang_up:
                world.connect()
            sent += world.frames()
            if sent and rng.random() < 0.5:
                world.answer(
                    rng.choice(sent[-10:]), *(rng.choice([Status.OK, Status.OK, Status.BUSY]) for _ in range(30))
                )
            elif rng.random() < 0.1:
                world.core.lost(world.now, "reset")
            else:
                world.advance(rng.random() * 0.1)
        assert all(isinstance(call.result, Receipt) for call in calls), seed


def test_a_frame_ends_after_a_whole_chain() -> None:
    room = (MAX_FRAME - protocol.BATCH_HEADER.size) // protocol.OPERATION.size
    # The chain would begin with the last entries of the first frame.
    chains = [1] * (room - 2) + [3] + [1] * 5
    operations = [
        Operation.transfer(1, 2, 1, linked=position < length - 1) for length in chains for position in range(length)
    ]
    packed = b"".join(operation.pack() for operation in operations)
    flow = submit(packed, BatchFormat.OPERATION, Promise.DURABLE, MAX_FRAME)
    frames: list[bytes] = []

    def answer(exchange: object) -> None:
        while True:
            assert isinstance(exchange, Exchange)
            assert exchange.is_recognised
            frames.append(exchange.frame)
            exchange = flow.send(Reply(FrameType.BATCH, 0, Status.OK, exchange.frame))

    with pytest.raises(StopIteration) as end:
        answer(next(flow))
    entries = end.value.value.entries
    assert [Operation.unpack(entries[at : at + 64]) for at in range(0, len(entries), 64)] == operations
    assert [protocol.BatchHeader.unpack(frame).count for frame in frames] == [room - 2, 8]
