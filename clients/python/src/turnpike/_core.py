"""The state machine that both clients drive: framing, batches, correlation, retries, change of nodes.

It uses no sockets, no clocks and no threads: bytes go in and out, and time is a number of seconds. A driver calls
`advance` after every event, dials when `dial` names a node, sends what `outgoing` or, over UDP, `datagrams` returns,
closes the connection when `hang_up` is set, and returns at `wake_at`.

Every request in flight keeps its bytes until its reply arrives, so a repetition carries the transaction ids of the
first attempt, by which nodes recognise it.
"""

from __future__ import annotations

import heapq
import math
import random
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from . import _protocol as protocol
from ._base import Buffer, Error
from ._operations import ENTRY_SIZES, Receipt, receipt, refused
from ._protocol import BatchFormat, FrameType, Promise, Status
from ._replies import LENGTH, MAX_FRAME, Reply, answers, is_transient, parse, transient_entry
from .errors import Closed, NoReply, QueueFull, WrongNetwork, WrongReply

_MASK = 0xFFFF_FFFF
# Waits after a refusal for lack of room: a node without room soon has some.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.015, 1.0
# Waits between attempts to connect, after every node failed once.
_FIRST_DIAL, _LONGEST_DIAL = 0.05, 1.0
# The last bytes of a request may take this long to arrive.
_TRAVEL = 1.0
UDP = "udp://"
"""Prefix of the address of a node that is asked over UDP."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a client. Times are in seconds."""

    network: bytes | None = None
    """The pinned network id: nodes of another network are refused. By default the first node's is pinned."""
    promise: Promise = Promise.DEFAULT
    """Promise to request; by default the node's."""
    timeout: float = 10.0
    """Time after which a request is given up."""
    retry_after: float = 1.0
    """Wait for a reply before a request is repeated; doubled each time, up to 8 times."""
    turn_after: float = 2.0
    """Silence of a node after which the client turns to the next one; doubled if that is silent, too."""
    window: int = 8
    """Maximum number of frames in flight; operations that exceed it wait for the next batch."""
    queue: int = 65_536
    """Maximum number of waiting requests; more are refused with `QueueFull`."""
    datagram: int = protocol.ETHERNET_DATAGRAM
    """Maximum bytes of a datagram, if a node is `udp://`: batches are divided so that they fit. By default what
    Ethernet carries whole; up to 65,507 on loopback."""

    def __post_init__(self) -> None:
        if self.network is not None and len(self.network) != 32:
            raise ValueError(f"the network id has {len(self.network)} bytes, not 32; take it from `turnpike info`")
        if not protocol.MIN_DATAGRAM <= self.datagram <= MAX_FRAME:
            limits = f"from {protocol.MIN_DATAGRAM} to {MAX_FRAME}"
            raise ValueError(f"option datagram is {self.datagram}, but must be {limits}")
        for name in ("timeout", "retry_after", "turn_after", "window", "queue"):
            if not getattr(self, name) > 0:
                raise ValueError(f"option {name} is {getattr(self, name)}, but must be above 0")


@dataclass(slots=True, eq=False)
class Call:
    """A request that somebody waits for: an operation, or a whole frame."""

    content: bytes
    """The operation's entry, or the frame."""
    format: BatchFormat | None
    """The format of batches that it travels in; None if it is a frame."""
    promise: Promise
    deadline: float
    is_read: bool
    """It changes nothing."""
    is_recognised: bool
    """Nodes recognise its repetitions for ever: a read, a signed operation, an id with a time."""
    on_end: Callable[[Call], None]
    """Called once, when `result` or `error` is set. It must not call the core."""
    result: Receipt | Reply | None = None
    error: Exception | None = None
    is_over: bool = False
    unanswered: int = 0
    """Attempts without a reply that proves that nothing was done."""
    refusals: int = 0
    refused: Status | None = None

    def end(self, result: Receipt | Reply | None, error: Exception | None = None) -> None:
        """Reports the result, unless the call is over."""
        if not self.is_over:
            self.result, self.error, self.is_over = result, error, True
            self.on_end(self)


@dataclass(slots=True, eq=False)
class _Frame:
    """A frame in flight."""

    content: bytes
    calls: list[Call]
    retry_at: float = math.inf
    attempts: int = 0


class _State(Enum):
    IDLE = auto()
    """No connection."""
    DIALLING = auto()
    GREETING = auto()
    """Connected; the info frame, which proves that the right node answers, is under way."""
    READY = auto()


@dataclass(slots=True)
class Core:
    """Requests in flight to one of several nodes."""

    nodes: list[str]
    options: Options
    rng: random.Random = field(default_factory=random.Random)
    network: bytes | None = None
    hang_up: bool = False
    """The driver must close the connection, and reset this."""
    dial: str | None = None
    """The driver must connect to this node, and reset this."""
    wake_at: float = math.inf
    turns: int = 0
    """How often the client turned to another node."""
    retries: int = 0
    """Number of repeated frames."""
    is_closed: bool = False
    _state: _State = _State.IDLE
    _node: int = 0
    _failures: int = 0
    _wrong_networks: int = 0
    _silences: int = 0
    _dial_at: float = 0.0
    _heard: float = 0.0
    _has_answered: bool = False
    _trouble: str = "no connection yet"
    _next_id: int = 0
    _retry_limit: float = math.inf
    _frames: deque[Call] = field(default_factory=deque)
    _batches: dict[tuple[BatchFormat, Promise], deque[Call]] = field(default_factory=dict)
    _postponed: list[tuple[float, int, Call]] = field(default_factory=list)
    _postponements: int = 0
    _waiting: int = 0
    _flight: dict[int, _Frame] = field(default_factory=dict)
    _greeting: int = 0
    _greet_at: float = math.inf
    _expire_at: float = math.inf
    _received: bytearray = field(default_factory=bytearray)
    _outgoing: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.network = self.options.network
        self._next_id = self.rng.getrandbits(32)

    @property
    def node(self) -> str:
        """The present node."""
        return self.nodes[self._node]

    @property
    def is_datagram(self) -> bool:
        """Whether the present node is asked over UDP."""
        return self.node.startswith(UDP)

    @property
    def max_frame(self) -> int:
        """Maximum bytes of a frame that can be divided: it must fit whichever node it goes to."""
        return self.options.datagram if any(node.startswith(UDP) for node in self.nodes) else MAX_FRAME

    # Requests

    def submit(self, call: Call) -> None:
        """Accepts a request; it ends with a call of its `on_end`."""
        if self.is_closed:
            raise Closed("the client is closed; make another one")
        waiting = self._waiting + len(self._postponed)
        if waiting >= self.options.queue:
            raise QueueFull(f"{waiting} requests wait; await some of them before you submit more")
        self._expire_at = min(self._expire_at, call.deadline)
        self._enqueue(call)

    def close(self) -> None:
        """Ends all requests and the connection."""
        self.is_closed = True
        for call in self._live():
            self._give_up(call, Closed("the client was closed before the reply arrived"))
        self._drop_connection()

    def _enqueue(self, call: Call) -> None:
        self._waiting += 1
        self._queue_of(call).append(call)

    def _queue_of(self, call: Call) -> deque[Call]:
        if call.format is None:
            return self._frames
        return self._batches.setdefault((call.format, call.promise), deque())

    def _live(self) -> list[Call]:
        """All calls that somebody waits for."""
        queues = [self._frames, *self._batches.values(), *(frame.calls for frame in self._flight.values())]
        calls = [call for queue in queues for call in queue] + [call for _, _, call in self._postponed]
        return [call for call in calls if not call.is_over]

    # Events

    def connected(self, now: float) -> None:
        """The driver has connected to the node."""
        self._state, self._heard, self._has_answered = _State.GREETING, now, False
        self._received.clear()
        self._greeting = self._fresh_id()
        self._greet(now)

    def _greet(self, now: float) -> None:
        self._send(protocol.InfoFrame(kind=FrameType.INFO, id=self._greeting).pack())
        # A stream does not lose it.
        self._greet_at = now + self.options.retry_after if self.is_datagram else math.inf

    def lost(self, now: float, reason: str) -> None:
        """The connection failed or ended."""
        was_good = self._state is _State.READY and self._has_answered
        self._trouble = f"{self.node}: {reason}"
        self._drop_connection()
        self.hang_up = False
        if was_good:
            # A program that restarts is back soon; if it is not, the next attempt fails and the client turns.
            self._dial_at = now
        else:
            self._turn(now)
        self.wake_at = now

    def received_datagram(self, data: Buffer, now: float) -> None:
        """Processes a datagram."""
        if now >= self._expire_at:
            self._expire(now)
        if self._state in (_State.GREETING, _State.READY):
            self._take(bytes(data), now)

    def received(self, data: Buffer, now: float) -> None:
        """Processes bytes of the stream."""
        # A greeting repeats all that is in flight: first give up the requests that must not be repeated by now.
        if now >= self._expire_at:
            self._expire(now)
        self._received += data
        at, end = 0, len(self._received)
        while end - at >= LENGTH.size and self._state in (_State.GREETING, _State.READY):
            (length,) = LENGTH.unpack_from(self._received, at)
            if length > MAX_FRAME:
                self._fail(now, f"sent a frame of {length} bytes")
                return
            if end - at < LENGTH.size + length:
                break
            at += LENGTH.size
            frame = bytes(memoryview(self._received)[at : at + length])
            at += length
            self._take(frame, now)
        del self._received[:at]

    def advance(self, now: float) -> None:
        """Gives up, repeats, connects and sends when due."""
        if now >= self._expire_at:
            self._expire(now)
        while self._postponed and self._postponed[0][0] <= now:
            call = heapq.heappop(self._postponed)[2]
            if not call.is_over:
                self._enqueue(call)
        self._connect(now)
        self._repeat(now)
        if self._state is _State.READY:
            self._fill(now)
        self.wake_at = self._next_time()

    def outgoing(self) -> bytes:
        """Takes the bytes to send over a stream."""
        return b"".join(piece for frame in self.datagrams() for piece in (LENGTH.pack(len(frame)), frame))

    def datagrams(self) -> list[bytes]:
        """Takes the frames to send, each of which is a datagram over UDP."""
        frames, self._outgoing = self._outgoing, []
        return frames

    # Connections

    def _connect(self, now: float) -> None:
        if self._state is _State.IDLE:
            if (self._flight or self._waiting) and now >= self._dial_at:
                self._state, self.dial = _State.DIALLING, self.node
        elif self._silent_at() <= now:
            self._silences += 1
            self._fail(now, "did not answer")
        elif self._state is _State.GREETING and self._greet_at <= now:
            self._greet(now)

    def _silent_at(self) -> float:
        """When the node has been silent for too long; it need not answer before there is a request."""
        is_asked = self._state is _State.GREETING or (self._state is _State.READY and self._flight)
        return self._heard + self.options.turn_after * (1 << min(self._silences, 3)) if is_asked else math.inf

    def _fail(self, now: float, reason: str) -> None:
        """Ends the connection to a node that does not do its work."""
        self._trouble = f"{self.node} {reason}"
        self._drop_connection()
        self._turn(now)

    def _drop_connection(self) -> None:
        self.hang_up = self._state is not _State.IDLE
        self._state, self.dial = _State.IDLE, None
        self._outgoing.clear()
        self._received.clear()

    def _turn(self, now: float) -> None:
        """The next attempt is with the next node."""
        self._node = (self._node + 1) % len(self.nodes)
        self.turns += 1
        self._failures += 1
        rounds, rest = divmod(self._failures, len(self.nodes))
        pause = 0.0 if rest else min(_FIRST_DIAL * 2.0 ** min(rounds - 1, 16), _LONGEST_DIAL)
        self._dial_at = now + pause * self.rng.uniform(0.5, 1.0)

    def _greeted(self, reply: Reply, now: float) -> None:
        if reply.status or reply.kind is not FrameType.INFO:
            self._fail(now, f"refused: {reply.status.name}: {reply.status.advice}")
            return
        info = protocol.InfoFrame.unpack(reply.frame)
        if self.network not in (None, info.network):
            self._wrong_networks += 1
            self._fail(now, f"is of network {info.network.hex()}")
            if self._wrong_networks >= len(self.nodes):
                text = f"{self._trouble}, not {(self.network or b'').hex()}; check the address or the network id"
                for call in self._live():
                    self._give_up(call, WrongNetwork(text))
            return
        self.network = info.network
        recognised = info.retry_milliseconds / 1000
        self._retry_limit = recognised - min(recognised / 4, _TRAVEL) if recognised else math.inf
        self._state, self._failures, self._wrong_networks, self._heard = _State.READY, 0, 0, now
        # The last node may have lost them, or may have executed them without a reply.
        for frame in list(self._flight.values()):
            self._resend(frame, now)

    # Frames

    def _fresh_id(self) -> int:
        while self._next_id in self._flight:
            self._next_id = self._next_id + 1 & _MASK
        fresh, self._next_id = self._next_id, self._next_id + 1 & _MASK
        return fresh

    def _send(self, frame: bytes) -> None:
        self._outgoing.append(frame)

    def _fill(self, now: float) -> None:
        """Sends waiting requests while the window has room, all waiting operations in one batch if they fit."""
        if not self._flight:
            self._heard = now
        while self._frames and len(self._flight) < self.options.window:
            call = self._frames.popleft()
            self._waiting -= 1
            if not call.is_over:
                self._launch(call.content, [call], now)
        for key, queue in list(self._batches.items()):
            while queue and len(self._flight) < self.options.window:
                self._launch_batch(key, queue, now)
            if not queue:
                del self._batches[key]

    def _launch_batch(self, key: tuple[BatchFormat, Promise], queue: deque[Call], now: float) -> None:
        form, promise = key
        room = (self.max_frame - protocol.BATCH_HEADER.size) // ENTRY_SIZES[form]
        calls: list[Call] = []
        while queue and len(calls) < room:
            call = queue.popleft()
            self._waiting -= 1
            if not call.is_over:
                calls.append(call)
        if calls:
            header = protocol.BatchHeader(kind=FrameType.BATCH, count=len(calls), format=form, promise=promise)
            self._launch(header.pack() + b"".join(call.content for call in calls), calls, now)

    def _launch(self, content: bytes, calls: list[Call], now: float) -> None:
        fresh = self._fresh_id()
        header = protocol.FrameHeader(kind=content[3], id=fresh).pack()
        frame = self._flight[fresh] = _Frame(header + content[len(header) :], calls)
        for call in calls:
            if not call.is_recognised and call.deadline > now + self._retry_limit:
                # Repeated later, it would be executed a second time.
                call.deadline = now + self._retry_limit
                self._expire_at = min(self._expire_at, call.deadline)
        self._transmit(frame, now)

    def _transmit(self, frame: _Frame, now: float) -> None:
        for call in frame.calls:
            call.unanswered += 1
            # An operation that may become final later keeps that status, whatever happens to this attempt.
            call.refused = call.refused if call.refused is Status.NOT_FINAL else None
        wait = self.options.retry_after * (1 << min(frame.attempts, 3))
        frame.retry_at = now + wait * self.rng.uniform(0.8, 1.2)
        frame.attempts += 1
        self._send(frame.content)

    def _repeat(self, now: float) -> None:
        if self._state is not _State.READY:
            return
        for frame in [frame for frame in self._flight.values() if frame.retry_at <= now]:
            self._resend(frame, now)

    def _resend(self, frame: _Frame, now: float) -> None:
        """Sends a frame again. Without the operations that were given up, it is a new one."""
        live = [call for call in frame.calls if not call.is_over]
        if len(live) == len(frame.calls):
            self.retries += 1
            self._transmit(frame, now)
            return
        self._release(frame)
        for call in reversed(live):
            self._waiting += 1
            self._queue_of(call).appendleft(call)

    def _release(self, frame: _Frame) -> None:
        del self._flight[protocol.FrameHeader.unpack(frame.content).id]

    # Replies

    def _take(self, data: bytes, now: float) -> None:
        reply = parse(data)
        if reply is None:
            return
        if self._state is _State.GREETING:
            if reply.id == self._greeting:
                self._greeted(reply, now)
            return
        frame = self._flight.get(reply.id)
        if frame is None or not answers(frame.content, reply):
            return
        self._heard, self._silences, self._has_answered = now, 0, True
        if frame.calls[0].format is not None and reply.kind is FrameType.BATCH and not reply.status:
            self._release(frame)
            self._settle(frame.calls, reply, now)
            return
        # The whole frame: refused, or in its caller's own format.
        status = reply.status or (transient_entry(data) if reply.kind is FrameType.BATCH else None) or Status.OK
        self._release(frame)
        for call in frame.calls:
            if is_transient(status):
                self._postpone(call, status, now, has_done_nothing=bool(reply.status))
            elif call.format is None:
                call.end(reply)
            else:
                call.end(None, refused(call.content, status, 0, call.unanswered > 1))

    def _settle(self, calls: list[Call], reply: Reply, now: float) -> None:
        """Ends each operation of a batch, except those for which the node had no room."""
        promise = Promise(protocol.BatchHeader.unpack(reply.frame).promise)
        at, size = protocol.BATCH_HEADER.size, ENTRY_SIZES[calls[0].format or BatchFormat.OPERATION]
        for call in calls:
            entry = protocol.Operation.unpack(reply.frame, at)
            at += size
            try:
                status = Status(entry.status)
            except ValueError:
                self._give_up(call, WrongReply(f"status {entry.status} is unknown; use a client of the node's version"))
                continue
            if is_transient(status):
                self._postpone(call, status, now, has_done_nothing=True)
            elif status is Status.OK:
                call.end(receipt(call.content, entry.amount, promise))
            else:
                call.end(None, refused(call.content, status, entry.amount, call.unanswered > 1))

    def _postpone(self, call: Call, status: Status, now: float, has_done_nothing: bool) -> None:
        """Repeats a request later for which the node had no room now."""
        if call.is_over:
            return
        if has_done_nothing and status is not Status.NOT_FINAL:
            call.unanswered -= 1
        call.refused = call.refused if call.refused is Status.NOT_FINAL else status
        pause = min(_FIRST_PAUSE * 2.0 ** min(call.refusals, 16), _LONGEST_PAUSE)
        call.refusals += 1
        self._postponements += 1
        heapq.heappush(self._postponed, (now + pause * self.rng.uniform(0.5, 1.0), self._postponements, call))

    # Time

    def _expire(self, now: float) -> None:
        for call in self._live():
            if call.deadline <= now:
                self._give_up(call, self._reason(call))
        self._expire_at = min((call.deadline for call in self._live()), default=math.inf)
        for queue in (self._frames, *self._batches.values()):
            live = [call for call in queue if not call.is_over]
            self._waiting -= len(queue) - len(live)
            queue.clear()
            queue.extend(live)
        for frame in list(self._flight.values()):
            if all(call.is_over for call in frame.calls):
                self._release(frame)

    def _reason(self, call: Call) -> Error:
        status = call.refused
        if status and (status is Status.NOT_FINAL or not call.unanswered):
            if call.format is None:
                return protocol.STATUS_ERRORS[status]()
            return refused(call.content, status, 0, False)
        where = f"{self.node} is connected" if self._state is _State.READY else self._trouble
        return NoReply(f"no reply in time ({where}); check that a node runs at {', '.join(self.nodes)}")

    def _give_up(self, call: Call, error: Error) -> None:
        """Ends a call without a result: it may have been executed if an attempt has no reply."""
        if call.format is not None:
            error.transaction = uuid.UUID(bytes=protocol.Operation.unpack(call.content).transaction)
        if call.unanswered and not call.is_read:
            error.may_be_executed = True
        call.end(None, error)

    def _next_time(self) -> float:
        times = [self._expire_at, self._silent_at()]
        if self._postponed:
            times.append(self._postponed[0][0])
        if self._state is _State.GREETING:
            times.append(self._greet_at)
        elif self._state is _State.READY:
            times += [frame.retry_at for frame in self._flight.values()]
        elif self._state is _State.IDLE and (self._flight or self._waiting):
            times.append(self._dial_at)
        return min(times)
