"""The blocking client: callers in any number of threads share one connection.

There is no thread of its own. One of the waiting callers drives the connection for all of them until its own reply
arrives, and then passes that on to another one. Callers that submit meanwhile send by themselves.
"""

from __future__ import annotations

import math
import selectors
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from . import _calls, _flows
from ._base import Entries
from ._chain import HeaderChain
from ._core import UDP, Call, Options
from ._finality import Finality
from ._flows import Flow, Pause
from ._history import AssetPage, HistoryFilter, HistoryPage
from ._operations import Operation, Receipt, Results
from ._proofs import IndexEntry, IndexProof, TransactionProof
from ._protocol import BatchFormat, InfoFrame, Promise
from ._replies import Reply
from ._signer import SignedOperation

T = TypeVar("T")
R = TypeVar("R")


class Client:
    """A blocking client of one or several nodes. Threads can share it; their operations travel in common batches.

    `nodes` are `HOST:PORT`, over TCP, or `udp://HOST:PORT`: several ones must be replicas of one cluster. The client
    uses one, and turns to the next if it fails. Nothing is sent before the first call.
    """

    def __init__(self, *nodes: str, options: Options | None = None) -> None:
        self.options = options = options or Options()
        self._core = _calls.make_core(nodes, options)
        self._lock = threading.Lock()
        self._is_driven = False
        # Callers that wait, and the lock that wakes each of them.
        self._waiters: dict[Call, threading.Lock] = {}
        self._socket: socket.socket | None = None
        self._unsent = b""
        self._datagrams: deque[bytes] = deque()
        self._buffer = memoryview(bytearray(_calls.READ_BYTES))
        self._selector = selectors.DefaultSelector()
        self._driver_wakes_at = math.inf
        # Wakes the driver.
        self._waker, self._alarm = socket.socketpair()
        self._waker.setblocking(False)
        self._alarm.setblocking(False)
        self._selector.register(self._alarm, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Calls in other threads raise `Closed`."""
        with self._lock:
            self._core.close()
            if self._is_driven:
                self._wake_driver()
            else:
                self._release()

    # Operations

    def create(self, account: int) -> Receipt:
        """Creates an account. Raises the error of the status if the node refuses, here and below."""
        return self.execute(Operation.create(account))

    def issue(self, account: int, amount: int) -> Receipt:
        """Issues new money to an account."""
        return self.execute(Operation.issue(account, amount))

    def transfer(self, source: int, destination: int, amount: int) -> Receipt:
        """Transfers money."""
        return self.execute(Operation.transfer(source, destination, amount))

    def refer(self, account: int) -> Receipt:
        """Reads the balance of an account, the receipt's value."""
        return self.execute(Operation.refer(account))

    def execute(self, operation: Operation | SignedOperation, promise: Promise | None = None) -> Receipt:
        """Executes an operation. Repeating the same one, also after an error, executes it once."""
        promise = self.options.promise if promise is None else promise
        result = self._wait(_calls.call_of_operation(operation, promise, self._deadline(), self._on_end))
        assert isinstance(result, Receipt)
        return result

    def submit(
        self, entries: Entries, format: BatchFormat = BatchFormat.OPERATION, promise: Promise | None = None
    ) -> Results:
        """Executes a buffer of operations in order, with as few frames as possible, without an object for each.

        `entries` is any contiguous buffer: an array of numpy (`turnpike.arrays`), or joined `Operation.pack()`. The
        timeout holds for each frame, of 1,023 operations or 355 signed ones, over UDP what fits a datagram. After
        an error some may have been executed; submitting the same buffer again executes none of them again.
        """
        promise = self.options.promise if promise is None else promise
        return self._run(_flows.submit(entries, format, promise, self._core.max_frame))

    # Node

    def info(self) -> InfoFrame:
        """The node's properties and progress."""
        return self._run(_flows.info())

    def wait_for_height(self, height: int) -> InfoFrame:
        """Waits until the node has executed up to a block. Later reads there are not older."""
        return self._run(_flows.wait_for_height(height, self.options.timeout))

    def finality(self) -> Finality:
        """The replica's report on the order. `NotFound` if the node is not a replica."""
        return self._run(_flows.finality(None))

    def history(
        self,
        account: int,
        selected: HistoryFilter | None = None,
        cursor: tuple[int, int] | None = None,
        count: int = 100,
    ) -> HistoryPage:
        """A page of an account's transactions: from the newest one on, or from the `next` of another page."""
        return self._run(_flows.history(account, selected or HistoryFilter(), cursor, count, self._core.max_frame))

    def assets(self, first: int = 0, count: int = 100) -> AssetPage:
        """The issued amounts by asset, from a code on."""
        return self._run(_flows.assets(first, count, self._core.max_frame))

    # Proofs

    def open_chain(self) -> HeaderChain:
        """The chain of the pinned network id, or of the node's if none is pinned: then the node may have made it up."""
        network = self.options.network or self._core.network or self.info().network
        return self._run(_flows.open_chain(network, self._core.max_frame))

    def sync_headers(self, chain: HeaderChain) -> int:
        """Fetches and checks the headers that a chain lacks. Returns their number; call again at 2**20."""
        return self._run(_flows.sync_headers(chain, self._core.max_frame))

    def prove_index(self, chain: HeaderChain, account: int) -> tuple[IndexEntry | None, IndexProof]:
        """The proved balance of an account as of a block; None if it is proved not to exist."""
        return self._run(_flows.prove_index(chain, account, self._core.max_frame))

    def prove_asset(self, chain: HeaderChain, entry: IndexEntry) -> int:
        """The proved asset of a proved account or hold; 0 without another proof if it has no mark."""
        return self._run(_flows.prove_asset(chain, entry, self._core.max_frame))

    def prove_latest(self, chain: HeaderChain, account: int) -> TransactionProof:
        """A proved transaction of an account. Only `prove_index` proves that none is later."""
        return self._run(_flows.prove_latest(chain, account, self._core.max_frame))

    def prove_transaction(self, chain: HeaderChain, transaction: uuid.UUID, namer: int) -> TransactionProof:
        """The proved transaction with an id, and the account that names it: the source, or the payer of a deposit."""
        return self._run(_flows.prove_transaction(chain, transaction, namer, self._core.max_frame))

    def prove_locator(self, chain: HeaderChain, height: int, position: int) -> TransactionProof:
        """The proved transaction at a position in the chain."""
        return self._run(_flows.prove_locator(chain, height, position, self._core.max_frame))

    # Driver

    def _deadline(self) -> float:
        return time.monotonic() + self.options.timeout

    def _run(self, flow: Flow[T]) -> T:
        reply: Reply | None = None
        try:
            while True:
                step = flow.send(reply)
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    reply = None
                else:
                    result = self._wait(_calls.call_of_frame(step, self._deadline(), self._on_end))
                    assert isinstance(result, Reply)
                    reply = result
        except StopIteration as end:
            value: T = end.value
            return value

    def _wait(self, call: Call) -> Receipt | Reply | None:
        """Submits a call, and waits for its end: as the driver, or until the driver wakes this thread."""
        waiter = threading.Lock()
        waiter.acquire()
        with self._lock:
            self._core.submit(call)
            self._waiters[call] = waiter
            try:
                self._advance()
                self._wake_driver()
                while not call.is_over:
                    if self._is_driven:
                        self._unlocked(waiter.acquire)
                    else:
                        self._drive(call)
            finally:
                # Also after an exception, such as the user's interrupt.
                self._waiters.pop(call, None)
                call.is_over = True
                if not self._is_driven and self._waiters:
                    _wake(next(iter(self._waiters.values())))
        if call.error is not None:
            raise call.error
        return call.result

    def _on_end(self, call: Call) -> None:
        waiter = self._waiters.get(call)
        if waiter is not None:
            _wake(waiter)

    def _unlocked(self, function: Callable[[], R]) -> R:
        """Calls a function that may wait, without the lock."""
        self._lock.release()
        try:
            return function()
        finally:
            self._lock.acquire()

    def _drive(self, call: Call) -> None:
        """Drives the connection until a call is over."""
        self._is_driven = True
        try:
            while not call.is_over:
                self._obey()
                now = time.monotonic()
                self._advance()
                if call.is_over or self._core.hang_up or self._core.dial:
                    continue
                self._driver_wakes_at = self._core.wake_at
                wait = _calls.seconds_until(self._core.wake_at, now)
                for key, events in self._unlocked(partial(self._selector.select, wait)):
                    if key.fileobj is self._alarm:
                        self._alarm.recv(4096)
                    elif events & selectors.EVENT_READ:
                        self._receive()
        finally:
            self._driver_wakes_at = math.inf
            self._is_driven = False
            if self._core.is_closed:
                self._release()

    def _advance(self) -> None:
        """Advances the state machine, and sends its bytes."""
        self._core.advance(time.monotonic())
        if self._socket is not None and not self._core.hang_up:
            if self._core.is_datagram:
                self._datagrams.extend(self._core.datagrams())
            else:
                self._unsent += self._core.outgoing()
            self._flush()

    def _wake_driver(self) -> None:
        """Wakes the driver if another thread has made work for it."""
        core = self._core
        has_order = core.is_closed or core.hang_up or core.dial or core.wake_at < self._driver_wakes_at
        if self._is_driven and (has_order or self._unsent or self._datagrams):
            # If the buffer is full, enough bytes wait for it to wake.
            with suppress(BlockingIOError):
                self._waker.send(b"!")

    def _obey(self) -> None:
        """Hangs up and dials as the state machine demands."""
        if self._core.hang_up:
            self._core.hang_up = False
            self._disconnect()
        node, self._core.dial = self._core.dial, None
        if node is None:
            return
        try:
            connection = self._unlocked(lambda: _dial(node))
        except BaseException as error:
            self._core.lost(time.monotonic(), str(error))
            if not isinstance(error, OSError):
                raise  # The user's interrupt: the next caller dials again.
            return
        if self._core.is_closed:
            connection.close()
            return
        self._socket = connection
        self._selector.register(connection, selectors.EVENT_READ)
        self._core.connected(time.monotonic())

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._selector.unregister(self._socket)
            self._socket.close()
        self._socket, self._unsent = None, b""
        self._datagrams.clear()

    def _release(self) -> None:
        """Closes all sockets: the last driver does it, or `close` if nobody drives."""
        self._disconnect()
        self._selector.close()
        self._waker.close()
        self._alarm.close()

    def _lose(self, reason: str) -> None:
        self._disconnect()
        self._core.lost(time.monotonic(), reason)

    def _flush(self) -> None:
        """Sends as much as the connection accepts now."""
        if self._socket is None or not (self._unsent or self._datagrams):
            return
        try:
            while self._datagrams:
                self._socket.send(self._datagrams[0])
                self._datagrams.popleft()
            if self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError as error:
            self._lose(str(error))
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent or self._datagrams else 0)
        if self._selector.get_key(self._socket).events != events:
            self._selector.modify(self._socket, events)

    def _receive(self) -> None:
        """Passes received bytes to the state machine."""
        if self._socket is None:
            return
        if self._core.is_datagram:
            self._receive_datagrams(self._socket)
            return
        try:
            count = self._socket.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(str(error))
            return
        if count:
            self._core.received(self._buffer[:count], time.monotonic())
        else:
            self._lose("closed the connection")

    def _receive_datagrams(self, connection: socket.socket) -> None:
        # The number that may be in flight, so that others get their turn.
        for _ in range(self.options.window):
            try:
                count = connection.recv_into(self._buffer)
            except BlockingIOError:
                return
            except OSError as error:
                self._lose(str(error))
                return
            self._core.received_datagram(self._buffer[:count], time.monotonic())


def _wake(waiter: threading.Lock) -> None:
    if waiter.locked():
        waiter.release()


def _dial(node: str) -> socket.socket:
    if node.startswith(UDP):
        return _calls.udp_socket(node)
    connection = socket.create_connection(_calls.split(node), _calls.CONNECT_TIMEOUT)
    try:
        _calls.refuse_self(connection)
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        connection.close()
        raise
    return connection
