"""Nothing is lost or executed twice: with a faulty network, with kill -9 under load, with a replica that dies."""

from __future__ import annotations

import asyncio
import random
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from turnpike import AsyncClient, Client, Operation, Options, Promise, arrays, errors

from .clients import KINDS, PATIENT, client
from .faults import FaultyRelay
from .programs import PATIENCE, Cluster, Node

IMPATIENT = Options(timeout=PATIENCE, retry_after=0.05, turn_after=0.15)


class Model:
    """Balances of accounts after transfers that were executed once each."""

    FUNDS = 1_000_000

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.balances = dict.fromkeys(range(1, 9), self.FUNDS)
        self.lock = threading.Lock()

    def transfer(self) -> Operation:
        """A transfer, which the model has made already."""
        with self.lock:
            source, destination = self.rng.sample(sorted(self.balances), 2)
            amount = self.rng.randint(1, 100)
            self.balances[source] -= amount
            self.balances[destination] += amount
        return Operation.transfer(source, destination, amount)

    async def fund(self, c: AsyncClient) -> None:
        await asyncio.gather(*map(c.create, self.balances))
        await asyncio.gather(*(c.issue(account, self.FUNDS) for account in self.balances))

    async def check(self, c: AsyncClient) -> None:
        receipts = await asyncio.gather(*map(c.refer, self.balances))
        found = {receipt.source: receipt.value for receipt in receipts}
        assert found == self.balances
        assert sum(found.values()) == self.FUNDS * len(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_faulty_network(own_node: Node, seed: int) -> None:
    model = Model(seed)

    async def run() -> None:
        with FaultyRelay(own_node.address, seed) as relay, FaultyRelay(own_node.address, seed + 100) as other:
            async with AsyncClient(relay.address, other.address, options=IMPATIENT) as c:
                await model.fund(c)

                async def work() -> None:
                    for _ in range(25):
                        operation = model.transfer()
                        receipt = await c.execute(operation)
                        assert receipt.transaction == operation.transaction

                await asyncio.gather(*(work() for _ in range(10)))
                await model.check(c)
            assert relay.faults + other.faults > 5
        async with AsyncClient(own_node.address, options=PATIENT) as c:
            await model.check(c)

    asyncio.run(run())


def test_a_faulty_network_and_threads(own_node: Node) -> None:
    model = Model(7)
    with FaultyRelay(own_node.address, 7) as relay, Client(relay.address, options=IMPATIENT) as c:
        for account in model.balances:
            c.create(account)
            c.issue(account, model.FUNDS)

        def work() -> None:
            for _ in range(10):
                c.execute(model.transfer())

        threads = [threading.Thread(target=work) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {account: c.refer(account).value for account in model.balances} == model.balances


@pytest.mark.parametrize("kind", KINDS)
def test_a_faulty_network_and_batches(own_node: Node, kind: str) -> None:
    with FaultyRelay(own_node.address, 9) as relay, client(kind, relay.address, options=IMPATIENT) as c:
        for account in (1, 2):
            c.create(account)
        c.issue(1, 10**6)
        batch = arrays.transfers(1, 2, np.ones(10_000, np.uint64))
        assert c.submit(batch).is_ok
        assert c.submit(batch).is_ok
        assert (c.refer(1).value, c.refer(2).value) == (990_000, 10_000)


def test_kill_9_under_load(own_node: Node) -> None:
    model = Model(11)

    async def run() -> None:
        async with AsyncClient(own_node.address, options=replace(PATIENT, retry_after=0.2, turn_after=0.5)) as c:
            await model.fund(c)
            executed, is_over = 0, False

            async def work() -> None:
                nonlocal executed
                while not is_over:
                    receipt = await c.execute(model.transfer(), Promise.DURABLE)
                    assert receipt.promise == Promise.DURABLE
                    executed += 1

            workers = [asyncio.create_task(work()) for _ in range(50)]
            for _ in range(3):
                before = executed
                while executed < before + 500:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(own_node.kill)
                await asyncio.to_thread(own_node.start)
            is_over = True
            await asyncio.gather(*workers)
            await model.check(c)

    asyncio.run(run())


def test_kill_9_in_a_large_batch(own_node: Node) -> None:
    with Client(own_node.address, options=PATIENT) as c:
        for account in (1, 2):
            c.create(account)
        c.issue(1, 10**9)
        count, paid = 150_000, 0
        ends: list[bool] = []
        with Client(own_node.address, options=PATIENT) as watch:
            for _ in range(20):
                batch = arrays.transfers(1, 2, np.ones(count, np.uint64))
                thread = threading.Thread(target=lambda: ends.append(c.submit(batch, promise=Promise.DURABLE).is_ok))  # noqa: B023
                thread.start()
                while watch.refer(2).value == paid:
                    pass
                own_node.kill()
                was_interrupted = not ends
                own_node.start()
                thread.join()
                assert ends.pop()
                paid += count
                assert (c.refer(1).value, c.refer(2).value) == (10**9 - paid, paid)
                if was_interrupted:
                    return
    pytest.fail("no batch was interrupted")


def test_four_replicas_of_which_one_dies(tmp_path: Path) -> None:
    model = Model(13)

    async def run(cluster: Cluster) -> None:
        options = replace(PATIENT, promise=Promise.FINAL)
        async with AsyncClient(*cluster.addresses, options=options) as c:
            await model.fund(c)
            executed, is_over = 0, False

            async def work() -> None:
                nonlocal executed
                while not is_over:
                    receipt = await c.execute(model.transfer())
                    assert receipt.promise == Promise.FINAL
                    executed += 1

            workers = [asyncio.create_task(work()) for _ in range(20)]
            for victim in (0, None):
                before = executed
                while executed < before + 100:
                    await asyncio.sleep(0.01)
                if victim is not None:
                    await asyncio.to_thread(cluster.kill, victim)
            is_over = True
            await asyncio.gather(*workers)
            await model.check(c)
            # What the replicas vouch for: a certificate for the block, and a proof in it.
            chain = await c.open_chain()
            assert chain.is_ordered
            entry, proof = await c.prove_index(chain, 1)
            assert entry is not None
            assert chain.trusted >= proof.height
            receipt = await c.execute(model.transfer())
            proved = await c.prove_transaction(chain, receipt.transaction, receipt.source)
            assert proved.operation.transaction == receipt.transaction
            finality = await c.finality()
            assert finality.vouched is not None
            assert (finality.replicas, finality.generation) == (4, 0)
            assert chain.certify(finality.vouched) <= chain.height
            data = bytearray(proved.reply)
            data[-1] ^= 1
            with pytest.raises(errors.InvalidProof):
                type(proved).parse(bytes(data)).verify(chain)
        pinned = replace(options, network=chain.network)
        async with AsyncClient(cluster.addresses[0], *cluster.addresses[1:], options=pinned) as c:
            await model.check(c)

    with Cluster(tmp_path) as cluster:
        asyncio.run(run(cluster))
