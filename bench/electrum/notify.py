"""How long it takes from a new block at bitcoind until a subscribed client of a node that follows it is told.

usage: notify.py BITCOIND TURNPIKE FOLDER [COUNT]

The time begins when bitcoind tells others of the block: when `waitfornewblock` of another connection returns.
"""

import json
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/electrum/bitcoind"))
from programs import Client, main, start_both, wait_until  # noqa: E402


def fill(bitcoind, paid, megabytes):
    """Transactions that wait, of so many bytes in all."""
    while bitcoind.rpc("getmempoolinfo")["bytes"] < megabytes * 1_000_000:
        bitcoind.rpc("sendmany", "", paid)


def block(bitcoind, client):
    """Milliseconds from when bitcoind tells of the next block until the client is told, and the block's transactions."""
    waited = []

    def wait():
        bitcoind.rpc("waitfornewblock", 60_000)
        waited.append(time.perf_counter())

    waiter = threading.Thread(target=wait)
    waiter.start()
    # Until it waits.
    time.sleep(0.2)
    client.told.clear()
    miner = threading.Thread(target=bitcoind.mine)
    miner.start()
    client.wait_told("blockchain.headers.subscribe")
    told = time.perf_counter()
    waiter.join()
    miner.join()
    return (told - waited[0]) * 1000, bitcoind.rpc("getblockheader", bitcoind.rpc("getbestblockhash"))["nTx"]


def run(started, bitcoind_program, turnpike_program, folder, count="20"):
    bitcoind, turnpike = start_both(started, bitcoind_program, turnpike_program, folder, 150)
    client = Client(turnpike.address, "1.4")
    wait_until("it follows", lambda: client.ask("blockchain.headers.subscribe")["height"] == bitcoind.rpc("getblockcount"))
    # 25 KB each.
    paid = {bitcoind.rpc("getnewaddress"): 0.0001 for _ in range(800)}
    kinds = {"empty block": 0, "1 MB of transactions": 1}
    for name, megabytes in kinds.items():
        samples = []
        for _ in range(int(count) if megabytes == 0 else 3):
            if megabytes:
                fill(bitcoind, paid, megabytes)
                time.sleep(1)
            samples.append(block(bitcoind, client))
        told, transactions = (statistics.median(column) for column in zip(*samples))
        print(json.dumps({"what": name, "transactions": transactions, "samples": len(samples), "told_ms": round(told, 1)}), flush=True)
    turnpike.stop()


main(run, *sys.argv[1:])
