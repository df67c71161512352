"""Over UDP: the same results as over TCP, and each operation is executed once on a path that loses datagrams."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import replace

import numpy as np
import pytest

from turnpike import AsyncClient, Client, Operation, Options, Promise, arrays, errors

from .clients import KINDS, PATIENT, client
from .faults import LossyRelay
from .programs import PATIENCE, Node
from .test_faults import Model

IMPATIENT = Options(timeout=PATIENCE, retry_after=0.05, turn_after=2)


@pytest.mark.parametrize("kind", KINDS)
def test_operations_and_proofs(own_node: Node, kind: str) -> None:
    with client(kind, f"udp://{own_node.address}") as c:
        for account in (1, 2):
            assert c.create(account).promise is Promise.DURABLE
        c.issue(1, 10_000)
        receipt = c.transfer(1, 2, 250)
        assert (receipt.value, receipt.promise) == (9_750, Promise.DURABLE)
        with pytest.raises(errors.InsufficientBalance):
            c.transfer(1, 2, 10_000)
        # Several datagrams, one after the other.
        results = c.submit(arrays.transfers(1, 2, np.ones(100, np.uint64)))
        assert results.is_ok
        assert list(results.values) == list(range(9_749, 9_649, -1))
        chain = c.open_chain()
        deadline = time.monotonic() + PATIENCE
        while True:
            entry, _ = c.prove_index(chain, 2)
            if entry is not None and entry.balance == 350:
                break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        proof = c.prove_transaction(chain, receipt.transaction, 1)
        assert proof.operation.amount == 250


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_a_lossy_path(own_node: Node, kind: str, seed: int) -> None:
    model = Model(seed)

    async def run() -> None:
        with LossyRelay(own_node.address, seed) as relay:
            async with AsyncClient(relay.address, options=IMPATIENT) as c:
                await model.fund(c)

                async def work() -> None:
                    for _ in range(25):
                        operation = model.transfer()
                        receipt = await c.execute(operation)
                        assert receipt.transaction == operation.transaction

                await asyncio.gather(*(work() for _ in range(10)))
            # A batch in several datagrams, twice.
            with client(kind, relay.address, options=IMPATIENT) as other:
                batch = arrays.transfers(1, 2, np.ones(300, np.uint64))
                assert other.submit(batch).is_ok
                assert other.submit(batch).is_ok
            model.balances[1] -= 300
            model.balances[2] += 300
            assert min(relay.lost, relay.repeated, relay.reordered) > 3
            assert relay.longest <= IMPATIENT.datagram
        async with AsyncClient(own_node.address, options=PATIENT) as c:
            await model.check(c)

    asyncio.run(run())


@pytest.mark.parametrize("kind", KINDS)
def test_a_linked_chain_that_is_longer_than_a_datagram(own_node: Node, kind: str) -> None:
    with client(kind, f"udp://{own_node.address}") as c:
        for account in (1, 2):
            c.create(account)
        c.issue(1, 1000)
        for last, is_ok in ((1, True), (2000, False)):
            amounts = [1] * 30 + [last]
            chain = [Operation.transfer(1, 2, amount, linked=at < 30) for at, amount in enumerate(amounts)]
            results = c.submit(b"".join(operation.pack() for operation in chain))
            assert results.is_ok is is_ok
            assert len(results) == 31
        assert (c.refer(1).value, c.refer(2).value) == (969, 31)


@pytest.mark.parametrize("kind", KINDS)
def test_a_silent_node_times_out(kind: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"udp://127.0.0.1:{silent.getsockname()[1]}"
        with client(kind, address, options=Options(timeout=2, retry_after=0.1)) as c, pytest.raises(errors.NoReply):
            c.transfer(1, 2, 3)
        silent.setblocking(False)
        # The question for the network is repeated, and nothing else is sent to a node that has not answered it.
        asked = [silent.recv(1 << 16) for _ in range(3)]
        assert len(set(asked)) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["", "udp://"])
def test_a_dead_node_is_left_at_once(own_node: Node, kind: str, scheme: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
        gone.bind(("127.0.0.1", 0))
        dead = f"udp://127.0.0.1:{gone.getsockname()[1]}"
    began = time.monotonic()
    # The kernel reports that nothing listens, so the client need not wait until the node has been silent for long.
    with client(kind, dead, scheme + own_node.address, options=replace(PATIENT, turn_after=PATIENCE)) as c:
        c.create(7)
    assert time.monotonic() - began < PATIENCE / 2


def test_a_node_that_restarts(own_node: Node) -> None:
    with Client(f"udp://{own_node.address}", options=IMPATIENT) as c:
        for account in (1, 2):
            c.create(account)
        c.issue(1, 100)
        for paid in range(1, 4):
            own_node.kill()
            own_node.start()
            assert c.transfer(1, 2, 1).value == 100 - paid


def test_addresses_and_limits() -> None:
    for node in ("udp://", "udp://:1", "udp://a:b", "tcp://a:1", "http://a"):
        with pytest.raises(ValueError, match="udp://"):
            Client(node)
    for datagram in (0, 255, 65_508):
        with pytest.raises(ValueError, match="datagram"):
            Options(datagram=datagram)
    with Client("udp://localhost", "[::1]:7401", options=Options(datagram=256)):
        pass
