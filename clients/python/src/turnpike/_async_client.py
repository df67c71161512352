"""The asyncio client: tasks of one event loop share one connection."""

from __future__ import annotations

import asyncio
import math
import uuid
from types import TracebackType
from typing import Self, TypeVar, cast

from . import _calls, _flows
from ._base import Entries
from ._chain import HeaderChain
from ._core import UDP, Call, Core, Options
from ._finality import Finality
from ._flows import Flow, Pause
from ._history import AssetPage, HistoryFilter, HistoryPage
from ._operations import Operation, Receipt, Results
from ._proofs import IndexEntry, IndexProof, TransactionProof
from ._protocol import BatchFormat, InfoFrame, Promise
from ._replies import Reply
from ._signer import SignedOperation

T = TypeVar("T")


class AsyncClient:
    """An asyncio client of one or several nodes. Operations of concurrent tasks travel in common batches.

    `nodes` are `HOST:PORT`, over TCP, or `udp://HOST:PORT`: several ones must be replicas of one cluster. The client
    uses one, and turns to the next if it fails. Nothing is sent before the first call. A cancelled operation may be
    executed nevertheless.
    """

    def __init__(self, *nodes: str, options: Options | None = None) -> None:
        self.options = options = options or Options()
        self._core = _calls.make_core(nodes, options)
        self._waiters: dict[Call, asyncio.Future[None]] = {}
        self._connection: _Stream | _Datagrams | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_scheduled = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection. Calls of other tasks raise `Closed`."""
        dialling, connection = self._dialling, self._connection
        self._core.close()
        self._obey()
        if self._timer is not None:
            self._timer.cancel()
        if dialling is not None:
            await asyncio.wait([dialling])
        if connection is not None:
            await connection.closed

    # Operations

    async def create(self, account: int) -> Receipt:
        """Creates an account. Raises the error of the status if the node refuses, here and below."""
        return await self.execute(Operation.create(account))

    async def issue(self, account: int, amount: int) -> Receipt:
        """Issues new money to an account."""
        return await self.execute(Operation.issue(account, amount))

    async def transfer(self, source: int, destination: int, amount: int) -> Receipt:
        """Transfers money."""
        return await self.execute(Operation.transfer(source, destination, amount))

    async def refer(self, account: int) -> Receipt:
        """Reads the balance of an account, the receipt's value."""
        return await self.execute(Operation.refer(account))

    async def execute(self, operation: Operation | SignedOperation, promise: Promise | None = None) -> Receipt:
        """Executes an operation. Repeating the same one, also after an error, executes it once."""
        promise = self.options.promise if promise is None else promise
        result = await self._wait(_calls.call_of_operation(operation, promise, self._deadline(), self._on_end))
        assert isinstance(result, Receipt)
        return result

    async def submit(
        self, entries: Entries, format: BatchFormat = BatchFormat.OPERATION, promise: Promise | None = None
    ) -> Results:
        """Executes a buffer of operations in order, with as few frames as possible, without an object for each.

        `entries` is any contiguous buffer: an array of numpy (`turnpike.arrays`), or joined `Operation.pack()`. The
        timeout holds for each frame, of 1,023 operations or 355 signed ones, over UDP what fits a datagram. After
        an error some may have been executed; submitting the same buffer again executes none of them again.
        """
        promise = self.options.promise if promise is None else promise
        return await self._run(_flows.submit(entries, format, promise, self._core.max_frame))

    # Node

    async def info(self) -> InfoFrame:
        """The node's properties and progress."""
        return await self._run(_flows.info())

    async def wait_for_height(self, height: int) -> InfoFrame:
        """Waits until the node has executed up to a block. Later reads there are not older."""
        return await self._run(_flows.wait_for_height(height, self.options.timeout))

    async def finality(self) -> Finality:
        """The replica's report on the order. `NotFound` if the node is not a replica."""
        return await self._run(_flows.finality(None))

    async def history(
        self,
        account: int,
        selected: HistoryFilter | None = None,
        cursor: tuple[int, int] | None = None,
        count: int = 100,
    ) -> HistoryPage:
        """A page of an account's transactions: from the newest one on, or from the `next` of another page."""
        return await self._run(
            _flows.history(account, selected or HistoryFilter(), cursor, count, self._core.max_frame)
        )

    async def assets(self, first: int = 0, count: int = 100) -> AssetPage:
        """The issued amounts by asset, from a code on."""
        return await self._run(_flows.assets(first, count, self._core.max_frame))

    # Proofs

    async def open_chain(self) -> HeaderChain:
        """The chain of the pinned network id, or of the node's if none is pinned: then the node may have made it up."""
        network = self.options.network or self._core.network or (await self.info()).network
        return await self._run(_flows.open_chain(network, self._core.max_frame))

    async def sync_headers(self, chain: HeaderChain) -> int:
        """Fetches and checks the headers that a chain lacks. Returns their number; call again at 2**20."""
        return await self._run(_flows.sync_headers(chain, self._core.max_frame))

    async def prove_index(self, chain: HeaderChain, account: int) -> tuple[IndexEntry | None, IndexProof]:
        """The proved balance of an account as of a block; None if it is proved not to exist."""
        return await self._run(_flows.prove_index(chain, account, self._core.max_frame))

    async def prove_asset(self, chain: HeaderChain, entry: IndexEntry) -> int:
        """The proved asset of a proved account or hold; 0 without another proof if it has no mark."""
        return await self._run(_flows.prove_asset(chain, entry, self._core.max_frame))

    async def prove_latest(self, chain: HeaderChain, account: int) -> TransactionProof:
        """A proved transaction of an account. Only `prove_index` proves that none is later."""
        return await self._run(_flows.prove_latest(chain, account, self._core.max_frame))

    async def prove_transaction(self, chain: HeaderChain, transaction: uuid.UUID, namer: int) -> TransactionProof:
        """The proved transaction with an id, and the account that names it: the source, or the payer of a deposit."""
        return await self._run(_flows.prove_transaction(chain, transaction, namer, self._core.max_frame))

    async def prove_locator(self, chain: HeaderChain, height: int, position: int) -> TransactionProof:
        """The proved transaction at a position in the chain."""
        return await self._run(_flows.prove_locator(chain, height, position, self._core.max_frame))

    # Driver

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.options.timeout

    async def _run(self, flow: Flow[T]) -> T:
        reply: Reply | None = None
        try:
            while True:
                step = flow.send(reply)
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    reply = None
                else:
                    result = await self._wait(_calls.call_of_frame(step, self._deadline(), self._on_end))
                    assert isinstance(result, Reply)
                    reply = result
        except StopIteration as end:
            value: T = end.value
            return value

    async def _wait(self, call: Call) -> Receipt | Reply | None:
        """Submits a call, and waits for its end."""
        self._core.submit(call)
        end = self._waiters[call] = asyncio.get_running_loop().create_future()
        # All that is submitted in this turn of the event loop travels together.
        self._schedule()
        try:
            await end
        finally:
            call.is_over = True
            self._waiters.pop(call, None)
        if call.error is not None:
            raise call.error
        return call.result

    def _on_end(self, call: Call) -> None:
        end = self._waiters.pop(call, None)
        if end is not None and not end.done():
            end.set_result(None)

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._advance)

    def _advance(self) -> None:
        """Advances the state machine, sends its bytes, and sets the timer for its next deadline."""
        self._is_scheduled = False
        loop = asyncio.get_running_loop()
        self._core.advance(loop.time())
        self._obey()
        if self._connection is not None:
            self._connection.send(self._core)
        if self._timer is not None:
            self._timer.cancel()
        is_timed = self._core.wake_at < math.inf
        self._timer = loop.call_at(self._core.wake_at, self._advance) if is_timed else None

    def _obey(self) -> None:
        """Hangs up and dials as the state machine demands."""
        if self._core.hang_up:
            self._core.hang_up = False
            if self._dialling is not None:
                self._dialling.cancel()
            if self._connection is not None:
                self._connection.transport.abort()
            self._dialling = self._connection = None
        node, self._core.dial = self._core.dial, None
        if node is not None:
            self._dialling = asyncio.get_running_loop().create_task(self._dial(node))

    async def _dial(self, node: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            connection: _Stream | _Datagrams
            async with asyncio.timeout(_calls.CONNECT_TIMEOUT):
                if node.startswith(UDP):
                    opened = await loop.run_in_executor(None, _calls.udp_socket, node)
                    _, connection = await loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=opened)
                else:
                    _, connection = await loop.create_connection(lambda: _Stream(self), *_calls.split(node))
                    _calls.refuse_self(connection.transport.get_extra_info("socket"))
        except OSError as error:
            self._dialling = None
            self._core.lost(loop.time(), str(error) or "no connection in time")
        else:
            self._dialling, self._connection = None, connection
            self._core.connected(loop.time())
        self._advance()

    def _receive(self, connection: _Stream | _Datagrams, data: bytes) -> None:
        if connection is self._connection:
            receive = self._core.received_datagram if self._core.is_datagram else self._core.received
            receive(data, asyncio.get_running_loop().time())
            # The replies may have made room for what waits.
            self._schedule()

    def _lose(self, connection: _Stream | _Datagrams, error: Exception | None) -> None:
        if connection is self._connection:
            self._connection = None
            self._core.lost(asyncio.get_running_loop().time(), str(error or "closed the connection"))
            self._schedule()


class _Datagrams(asyncio.DatagramProtocol):
    """Passes datagrams from and to one node."""

    transport: asyncio.DatagramTransport

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self.closed = asyncio.get_running_loop().create_future()

    def send(self, core: Core) -> None:
        for frame in core.datagrams():
            self.transport.sendto(frame)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: object) -> None:
        self._client._receive(self, data)

    def error_received(self, error: Exception) -> None:
        # Nothing listens there, for example.
        self._client._lose(self, error)
        self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed.set_result(None)
        self._client._lose(self, error)


class _Stream(asyncio.Protocol):
    """Passes the events of one connection to its client."""

    transport: asyncio.Transport

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self.closed = asyncio.get_running_loop().create_future()

    def send(self, core: Core) -> None:
        if data := core.outgoing():
            self.transport.write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._client._receive(self, data)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed.set_result(None)
        self._client._lose(self, error)
