"""Both clients against a real node."""

from __future__ import annotations

import asyncio
import itertools
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from turnpike import (
    AsyncClient,
    BatchFormat,
    Client,
    Command,
    HistoryFilter,
    IndexProof,
    Operation,
    Options,
    PastTransaction,
    Promise,
    Results,
    Role,
    Signer,
    Status,
    TransactionProof,
    arrays,
    asset_id,
    errors,
    is_signed,
)
from turnpike._chain import HeaderChain

from .clients import KINDS, PATIENT, client
from .programs import PATIENCE, Node

T = TypeVar("T")
SECRETS = itertools.count(1)
ACCOUNTS = itertools.count(100_000)


def until(function: Callable[[], T], *expected: type[Exception]) -> T:
    """Repeats a call that fails as expected until blocks are made."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return function()
        except expected:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def funded(node: Any, *amounts: int) -> list[int]:
    """New accounts with these balances."""
    accounts = [next(ACCOUNTS) for _ in amounts]
    for account, amount in zip(accounts, amounts, strict=True):
        node.create(account)
        if amount:
            node.issue(account, amount)
    return accounts


@pytest.mark.parametrize("kind", KINDS)
def test_operations_and_their_errors(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        a, b = funded(c, 1000, 0)
        receipt = c.transfer(a, b, 250)
        assert (receipt.source, receipt.value, receipt.promise) == (a, 750, Promise.DURABLE)
        assert c.refer(b).value == 250
        assert c.execute(Operation.transfer(a, b, 50), Promise.ACCEPTED).promise == Promise.ACCEPTED
        with pytest.raises(errors.InsufficientBalance) as caught:
            c.transfer(a, b, 10_000)
        assert caught.value.value == 700
        assert not caught.value.may_be_executed
        with pytest.raises(errors.AccountExists):
            c.create(a)
        with pytest.raises(errors.SourceUnknown):
            c.refer(next(ACCOUNTS))
        with pytest.raises(errors.SelfTransfer):
            c.transfer(a, a, 1)
        with pytest.raises(errors.ZeroAmount):
            c.transfer(a, b, 0)
        with pytest.raises(ValueError, match="64 bits"):
            c.transfer(a, b, -1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_repeated_operation_is_executed_once(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        a, b = funded(c, 1000, 0)
        transfer = Operation.transfer(a, b, 100)
        assert [c.execute(transfer) for _ in range(3)] == [c.execute(transfer)] * 3
        assert c.refer(b).value == 100
        with pytest.raises(errors.TransactionIdReused):
            c.execute(replace(transfer, amount=1))


@pytest.mark.parametrize("kind", KINDS)
def test_batches_from_buffers(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        a, b = funded(c, 10_000_000, 0)
        batch = arrays.transfers(a, b, np.arange(1, 3001))
        poor = [7, 2000]
        batch["amount"][poor] = 10**12
        results: Results = c.submit(batch, promise=Promise.DURABLE)
        assert (len(results), results.promise, results.is_ok) == (3000, Promise.DURABLE, False)
        assert list(results.failures()) == [(at, Status.INSUFFICIENT_BALANCE) for at in poor]
        assert isinstance(results.error(7), errors.InsufficientBalance)
        assert results.error(0) is None
        statuses, values = np.asarray(results.statuses), np.asarray(results.values)
        assert (statuses.dtype.str[1:], values.dtype.str[1:]) == ("u2", "u8")
        assert (results.numpy()["status"] == statuses).all()
        assert (results.numpy()["amount"] == values).all()
        moved = np.where(statuses == 0, batch["amount"], 0)
        assert (values == 10_000_000 - np.cumsum(moved)).all()
        paid = int(moved.sum())
        assert c.refer(b).value == paid
        again = c.submit(batch)
        assert again.entries == results.entries
        assert c.refer(b).value == paid


def test_batches_need_no_numpy(node: Node) -> None:
    with Client(node.address, options=PATIENT) as c:
        a, b = funded(c, 1000, 0)
        entries = b"".join(Operation.transfer(a, b, amount).pack() for amount in (1, 2, 3))
        assert list(c.submit(entries).values) == [999, 997, 994]
        assert len(c.submit(b"")) == 0
        reads = b"".join(Operation.refer(account).pack() for account in (a, b))
        assert list(c.submit(memoryview(bytearray(reads))).values) == [994, 6]
        wrongs: list[Any] = [entries[:-1], memoryview(entries)[::2], np.zeros(8, np.uint64)[::2]]
        for wrong in wrongs:
            with pytest.raises(ValueError, match="entries of 64 bytes"):
                c.submit(wrong)
        with pytest.raises(ValueError, match="not supported"):
            c.submit(b"", BatchFormat.COMPACT)
    with pytest.raises(ValueError, match="integers"):
        arrays.transfers(1, 2, [1.5])
    with pytest.raises(ValueError, match="integers"):
        arrays.transfers(1, 2, [-1])


@pytest.mark.parametrize("kind", KINDS)
def test_linked_operations(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        a, b = funded(c, 100, 0)
        there, back = Operation.transfer(a, b, 60, linked=True), Operation.transfer(b, a, 50)
        entries = there.pack() + back.pack()
        results = c.submit(entries)
        assert (list(results.values), results.is_ok) == ([40, 10], True)
        assert c.submit(entries).entries == results.entries
        poor = Operation.transfer(b, a, 61)
        refused = c.submit(Operation.transfer(a, b, 5, linked=True).pack() + poor.pack())
        assert list(refused.failures()) == [(0, Status.LINKED_FAILED), (1, Status.INSUFFICIENT_BALANCE)]
        assert isinstance(refused.error(0), errors.LinkedFailed)
        assert (c.refer(a).value, c.refer(b).value) == (90, 10)
        with pytest.raises(ValueError, match="submit"):
            c.execute(there)


@pytest.mark.parametrize("kind", KINDS)
def test_holds(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        a, b = funded(c, 100, 0)
        hold = Operation.hold(a, b, 30, expiry=int(time.time()) + 3600)
        with pytest.raises(errors.HoldUnknown):
            c.execute(hold.capture(30))
        assert c.execute(hold).value == 70
        with pytest.raises(errors.HoldExceeded):
            c.execute(hold.capture(31))
        with pytest.raises(errors.HoldNotExpired):
            c.execute(hold.reclaim())
        assert c.execute(hold.capture(20)).value == 80
        assert c.execute(hold.capture(20)).value == 80, "a repetition"
        assert (c.refer(a).value, c.refer(b).value) == (80, 20)
        lasting = Operation.hold(a, b, 80)
        assert (c.execute(lasting).value, c.execute(lasting.release()).value) == (0, 80)
        with pytest.raises(errors.HoldExpired):
            c.execute(Operation.hold(a, b, 1, expiry=1))
        assert Operation.unpack(hold.pack()) == hold
        assert hold.capture(20).transaction == hold.transaction


@pytest.mark.parametrize("kind", KINDS)
def test_an_account_has_an_asset_that_is_proved(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        (plain,) = funded(c, 100)
        gold, other = next(ACCOUNTS), next(ACCOUNTS)
        for account in (gold, other):
            c.execute(Operation.open(account, 959))
        c.execute(Operation.issue(gold, 50))
        with pytest.raises(errors.AssetMismatch):
            c.execute(Operation.transfer(gold, plain, 1))
        paid = c.execute(Operation.transfer(gold, other, 1))
        chain = c.open_chain()
        until(lambda: c.prove_transaction(chain, paid.transaction, gold), errors.NotFound)
        for account, asset in ((gold, 959), (plain, 0)):
            entry, _ = c.prove_index(chain, account)
            assert entry is not None
            assert (entry.has_asset, entry.is_frozen, entry.asset) == (asset != 0, False, None)
            assert c.prove_asset(chain, entry) == asset
        stated, _ = c.prove_index(chain, asset_id(gold))
        assert stated is not None
        assert stated.asset == 959
        with pytest.raises(errors.InvalidProof):
            c.prove_asset(chain, stated)
        # As if the account had been closed, or opened again later.
        gone, _ = c.prove_index(chain, plain)
        old, _ = c.prove_index(chain, gold)
        assert gone is not None
        assert old is not None
        for entry in (replace(gone, has_asset=True), replace(old, height=0)):
            with pytest.raises(errors.AssetChanged):
                c.prove_asset(chain, entry)


@pytest.mark.parametrize("kind", KINDS)
def test_histories_have_pages_and_conditions(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        a, b = funded(c, 1000, 0)
        paid = [c.transfer(a, b, amount).transaction for amount in range(1, 6)]
        hold = Operation.hold(a, b, 7)
        c.execute(hold)
        back = c.transfer(b, a, 1)
        newest = until(lambda: _newest(c, a, back.transaction), LookupError, errors.NotFound)
        assert newest.operation.amount == 1
        found, cursor = [], None
        while True:
            page = c.history(a, cursor=cursor, count=2)
            assert len(page.transactions) <= 2
            found += page.transactions
            if page.next is None:
                break
            cursor = page.next
        expected = [back.transaction, hold.transaction, *reversed(paid)]
        assert [past.operation.transaction for past in found][:7] == expected
        assert [past.operation.command for past in found][7:] == [Command.ISSUE, Command.CREATE]
        assert all(past.height <= page.tip_height and past.time > 0 for past in found)
        first = found[-1]
        for selected, count in (
            (HistoryFilter(commands=(Command.TRANSFER,)), 6),
            (HistoryFilter(commands=(Command.ISSUE, Command.CREATE, Command.CREATE)), 2),
            (HistoryFilter(role=Role.DESTINATION), 1),
            (HistoryFilter(counterpart=b), 7),
            (HistoryFilter(is_open_hold=True), 1),
            (HistoryFilter(end_height=first.height), 0),
            (HistoryFilter(first_height=first.height, first_time=first.time), 9),
            (HistoryFilter(end_time=first.time), 0),
        ):
            assert len(c.history(a, selected).transactions) == count, selected
        with pytest.raises(errors.NotFound):
            c.history(next(ACCOUNTS))
        with pytest.raises(ValueError, match="a page of 0 entries"):
            c.history(a, count=0)


def _newest(c: Any, account: int, transaction: uuid.UUID) -> PastTransaction:
    newest: PastTransaction = c.history(account, count=1).transactions[0]
    if newest.operation.transaction != transaction:
        raise LookupError
    return newest


@pytest.mark.parametrize("kind", KINDS)
def test_issued_amounts_are_listed_by_asset(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        codes = [next(ACCOUNTS) for _ in range(3)]
        for asset in codes:
            account = next(ACCOUNTS)
            c.execute(Operation.open(account, asset))
            c.execute(Operation.issue(account, 2**64 - 1))
        until(lambda: c.assets(codes[-1]).issued[codes[-1]], KeyError)
        page = c.assets(codes[0], 2)
        assert page.issued == dict.fromkeys(codes[:2], 2**64 - 1)
        assert page.next == codes[2]
        assert list(c.assets(count=1).issued) == [0]
        assert (c.assets(2**32 - 1).issued, c.assets(2**32 - 1).next) == ({}, None)


@pytest.mark.parametrize("kind", KINDS)
def test_accounts_are_closed_and_frozen_where_that_is_allowed(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        a, b = funded(c, 100, 0)
        for operation in (Operation.freeze(a), Operation.unfreeze(a)):
            with pytest.raises(errors.FreezingDisabled):
                c.execute(operation)
        with pytest.raises(errors.AccountNotEmpty):
            c.execute(Operation.close(a))
        assert c.execute(Operation.transfer(a, b, 100)).value == 0
        assert c.execute(Operation.close(a)).value == 0
        with pytest.raises(errors.SourceUnknown):
            c.refer(a)
        assert c.refer(b).value == 100


@pytest.mark.parametrize("kind", KINDS)
def test_signed_operations(node: Node, kind: str) -> None:
    with client(kind, node.address) as c:
        signer = Signer(next(SECRETS).to_bytes(32, "big"), c.info().network)
        assert signer.account >> 127 == 1
        (a,) = funded(c, 1000)
        c.execute(signer.sign(Operation.create(signer.account)))
        c.transfer(a, signer.account, 500)
        pay = signer.sign(Operation.transfer(signer.account, a, 200), Promise.DURABLE)
        assert c.execute(pay).value == 300
        assert c.execute(pay).value == 300, "a repetition"
        many = [signer.sign(Operation.transfer(signer.account, a, 1)) for _ in range(400)]
        results = c.submit(b"".join(signed.pack() for signed in many), BatchFormat.SIGNED)
        assert sum(1 for _ in results.failures()) == 100
        with pytest.raises(errors.NotAuthorised):
            c.transfer(signer.account, a, 1)
        thief = Signer(bytes([9]) * 32, signer.network)
        with pytest.raises(errors.NotAuthorised):
            c.execute(thief.sign(Operation.transfer(signer.account, a, 1)))
        with pytest.raises(errors.BadSignature):
            c.execute(Signer(bytes([9]) * 32, bytes(32)).sign(Operation.refer(thief.account)))


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("kind", KINDS)
def test_proofs(node: Node, kind: str) -> None:
    with client(kind, node.address, options=replace(PATIENT, network=None)) as c:
        a, b = funded(c, 1000, 0)
        receipt = c.transfer(a, b, 250)
        chain: HeaderChain = c.open_chain()
        proof = until(lambda: c.prove_transaction(chain, receipt.transaction, a), errors.NotFound)
        assert isinstance(proof, TransactionProof)
        assert proof.operation.transaction == receipt.transaction
        assert chain.height >= proof.height
        assert c.prove_locator(chain, proof.height, proof.position).transaction == proof.transaction
        assert c.prove_latest(chain, b).transaction == proof.transaction
        entry, index = c.prove_index(chain, b)
        assert entry.balance == 250
        assert c.prove_index(chain, next(ACCOUNTS))[0] is None
        start = 176
        for at in range(start, len(proof.reply)):
            with pytest.raises(errors.InvalidProof):
                TransactionProof.parse(flip(proof.reply, at)).verify(chain)
        for at in range(104, len(index.reply)):
            with pytest.raises(errors.InvalidProof):
                IndexProof.parse(flip(index.reply, at)).verify(b, chain)
        assert HeaderChain.restore(chain.network, chain.headers).tip_hash == chain.tip_hash
        assert c.wait_for_height(chain.height).tip_height >= chain.height
        with pytest.raises(errors.NotFound):
            c.finality()


def test_a_proved_signed_transaction_has_its_signature(node: Node) -> None:
    with Client(node.address, options=PATIENT) as c:
        signer = Signer(next(SECRETS).to_bytes(32, "big"), c.info().network)
        receipt = c.execute(signer.sign(Operation.create(signer.account)))
        chain = c.open_chain()
        proof = until(lambda: c.prove_transaction(chain, receipt.transaction, signer.account), errors.NotFound)
        assert is_signed(proof.transaction, chain.network)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pinned_network_is_enforced(node: Node, kind: str) -> None:
    with (
        client(kind, node.address, options=replace(PATIENT, network=bytes(32))) as c,
        pytest.raises(errors.WrongNetwork),
    ):
        c.create(next(ACCOUNTS))


@pytest.mark.parametrize("kind", KINDS)
def test_a_dead_address_is_passed_over(node: Node, kind: str) -> None:
    # Nothing listens at port 1.
    for nodes in (("127.0.0.1:1", node.address), (node.address, "127.0.0.1:1")):
        with client(kind, *nodes) as c:
            (a,) = funded(c, 5)
            assert c.refer(a).value == 5


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_node_the_call_is_given_up(kind: str) -> None:
    with client(kind, "127.0.0.1:1", options=Options(timeout=0.2)) as c:
        with pytest.raises(errors.NoReply, match=r"check that a node runs at 127\.0\.0\.1:1") as caught:
            c.transfer(1, 2, 3)
        assert not caught.value.may_be_executed


def test_an_untrusted_sender_needs_signatures(tmp_path: Path) -> None:
    with Node(tmp_path, trusted="10.0.0.0/8") as untrusting, Client(untrusting.address, options=PATIENT) as c:
        with pytest.raises(errors.NotTrusted):
            c.create(1)
        with pytest.raises(errors.NotTrusted):
            c.submit(Operation.create(1).pack())
        signer = Signer(bytes([7]) * 32, c.info().network)
        with pytest.raises(errors.DepositRequired, match="a deposit of 100 or more"):
            c.execute(signer.sign(Operation.create(signer.account)))


def test_threads_share_a_client(node: Node) -> None:
    with Client(node.address, options=PATIENT) as c:
        a, b = funded(c, 10_000, 0)

        def pay() -> None:
            for _ in range(50):
                c.transfer(a, b, 1)

        threads = [threading.Thread(target=pay) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert c.refer(b).value == 1000


def test_closing_ends_the_calls_of_other_threads() -> None:
    c = Client("127.0.0.1:1", options=PATIENT)
    ends: list[Exception] = []

    def call() -> None:
        try:
            c.refer(1)
        except errors.Error as error:
            ends.append(error)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    c.close()
    for thread in threads:
        thread.join()
    assert [type(end) for end in ends] == [errors.Closed] * 3


def test_an_interrupt_ends_a_call_and_leaves_the_client_usable(node: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_address = f"127.0.0.1:{silent.getsockname()[1]}"
        with Client(silent_address, node.address, options=replace(PATIENT, turn_after=1)) as c:
            interrupt = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
            interrupt.start()
            with pytest.raises(KeyboardInterrupt):
                c.transfer(1, 2, 3)
            interrupt.join()
            assert c.info().network


def test_a_client_can_be_closed_at_any_time(node: Node) -> None:
    async def run(address: str, wait: float) -> None:
        async with AsyncClient(address, options=PATIENT) as c:
            calls = asyncio.gather(*(c.refer(1) for _ in range(10)), return_exceptions=True)
            await asyncio.sleep(wait)
        assert all(isinstance(end, errors.Error) for end in await calls)

    for wait in (0, 0.001, 0.01):
        # Packets to the first address are lost, or refused at once.
        for address in ("240.0.0.1:7400", "127.0.0.1:1"):
            asyncio.run(run(address, wait))
    asyncio.run(run(node.address, 0))


def test_tasks_share_a_client_and_can_be_cancelled(node: Node) -> None:
    async def run() -> None:
        async with AsyncClient(node.address, options=PATIENT) as c:
            a, b = next(ACCOUNTS), next(ACCOUNTS)
            await asyncio.gather(c.create(a), c.create(b))
            await c.issue(a, 10_000)
            receipts = await asyncio.gather(*(c.transfer(a, b, 1) for _ in range(3000)))
            assert min(receipt.value for receipt in receipts) == 7000
            tasks = [asyncio.create_task(c.transfer(a, b, 1)) for _ in range(100)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert sum(isinstance(end, asyncio.CancelledError) for end in ends) == 50
            assert 3050 <= (await c.refer(b)).value <= 3100
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await c.refer(a)
        with pytest.raises(errors.Closed):
            await c.refer(a)

    asyncio.run(run())


def test_an_idle_connection_that_the_node_closed_is_made_again(own_node: Node) -> None:
    for kind in KINDS:
        with client(kind, own_node.address) as c:
            (a,) = funded(c, 1)
            own_node.kill()
            own_node.start()
            assert c.refer(a).value == 1
