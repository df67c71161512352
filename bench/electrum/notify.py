"""Time from a new block at bitcoind until a server notifies a subscribed client.

usage: notify.py BITCOIND TURNPIKE VENV FOLDER MAINNET [ROUNDS]

The time starts when bitcoind announces the block, that is, when `waitfornewblock` on another connection returns. Blocks are empty, or
contain the mempool: 2,500 transactions of 2 inputs and 4 outputs, 1.9 MB, which the server already knows. The servers alternate; the
other one is stopped.
"""

import statistics
import sys
import threading
import time

from behind import figure, halted, start_all, wait_for_tip
from chain import TRANSACTIONS, paid_to, start
from programs import Client, main, script_hash, wait_until

KINDS = {"empty": 0, "full": TRANSACTIONS}


def fill(bitcoind, chain, coins, count):
    """Fills the mempool with `count` transactions. Returns a script that the last one pays."""
    script = None
    for _ in range(count):
        raw, _, paid = chain.spend([coins.pop(), coins.pop()], [chain.script() for _ in range(4)])
        bitcoind.rpc("sendrawtransaction", raw.hex())
        script = paid[0].script
    return script


def told_of_block(bitcoind, client):
    """Milliseconds from bitcoind's announcement of the next block to the client's notification."""
    waited = []

    def wait():
        bitcoind.rpc("waitfornewblock", 60_000)
        waited.append(time.perf_counter())

    waiter = threading.Thread(target=wait)
    waiter.start()
    # Wait until the thread is waiting.
    time.sleep(0.2)
    client.told.clear()
    miner = threading.Thread(target=bitcoind.mine)
    miner.start()
    client.wait_told("blockchain.headers.subscribe")
    told = time.perf_counter()
    waiter.join()
    miner.join()
    return (told - waited[0]) * 1000


def run(started, bitcoind_program, turnpike_program, venv, folder, mainnet, rounds="5"):
    chain = start(mainnet)
    coins = chain.coins(2 * 2 * TRANSACTIONS * int(rounds))
    bitcoind, servers = start_all(started, bitcoind_program, turnpike_program, venv, folder, chain)
    clients = {name: Client(server.address, "1.4") for name, server in servers.items()}
    samples = {(kind, name): [] for kind in KINDS for name in servers}
    for _ in range(int(rounds)):
        for (kind, name), times in samples.items():
            client, (other,) = clients[name], (server for its, server in servers.items() if its != name)
            with halted(other):
                # Wait until it has caught up with what arrived while it was stopped.
                wait_for_tip(bitcoind, client)
                time.sleep(1)
                # ElectrumX takes seconds.
                for _ in range(4 if kind == "empty" and name == "Turnpike" else 1):
                    wait_for_tip(bitcoind, client)
                    script = fill(bitcoind, chain, coins, KINDS[kind])
                    if script:
                        key = script_hash(paid_to(script).hex())
                        wait_until("it knows what waits", lambda: client.ask("blockchain.scripthash.get_mempool", key))
                        time.sleep(1)
                    times.append(told_of_block(bitcoind, client))
                    block = bitcoind.rpc("getblock", bitcoind.rpc("getbestblockhash"))
                    if block["nTx"] != 1 + KINDS[kind]:
                        sys.exit(f"error: the block has {block['nTx']} transactions")
        print(f"blocks of {block['size']} bytes:", {key: [round(one, 1) for one in times] for key, times in samples.items()}, flush=True)
    for kind in KINDS:
        ours, theirs = (statistics.median(samples[kind, name]) for name in servers)
        figure(f"a block to the notification, {kind}", ours, "ms", theirs)


main(run, *sys.argv[1:])
