"""Cost of a script with 100,000 transactions for a server: its status and its history, cold, and a block with one more.

usage: history.py BITCOIND TURNPIKE VENV FOLDER MAINNET [ROUNDS [TRANSACTIONS]]

Cold is the first request after the server starts; its files may be cached. One more is a block whose coinbase pays the script, with
a subscribed client. Its cost is the processor time of the threads that serve clients, minus that for a block that pays no
subscribed script. ElectrumX serves clients in its only thread, so all of its time counts in both blocks.
"""

import hashlib
import json
import statistics
import sys
import time

from behind import figure, halted, processor_time, start_all, wait_for_tip
from chain import LONG, start
from programs import Client, main, script_hash

NOBODY = b"\x00\x20" + bytes(32)
# Time for a server to finish its work on a block after the notification.
SETTLED = 0.4
PIECE = 1 << 20


def restart(server):
    server.process.terminate()
    server.process.wait()
    server.start()
    return Client(server.address, "1.4")


def timed(client, method, *params):
    """Milliseconds until the last byte of a reply has arrived, and the reply."""
    request = json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}).encode() + b"\n"
    pieces = []
    before = time.perf_counter()
    client.socket.sendall(request)
    while not pieces or not pieces[-1].endswith(b"\n"):
        pieces.append(client.socket.recv(PIECE))
    return (time.perf_counter() - before) * 1000, json.loads(b"".join(pieces))["result"]


def cold(server):
    """Milliseconds of the first status and the first history, each after a restart, and their contents."""
    status, first = timed(restart(server), "blockchain.scripthash.subscribe", script_hash(LONG.hex()))
    history, listed = timed(restart(server), "blockchain.scripthash.get_history", script_hash(LONG.hex()))
    text = "".join(f"{one['tx_hash']}:{one['height']}:" for one in listed)
    if hashlib.sha256(text.encode()).hexdigest() != first:
        sys.exit("error: the status is not that of the history")
    return status, history, len(listed)


def used_for_block(bitcoind, server, threads, clients, script):
    """Microseconds of processor time for a block that pays a script. One client is subscribed to headers, one to the long history."""
    address = bitcoind.rpc("decodescript", script.hex())["address"]
    before = processor_time(server.process, threads)
    bitcoind.rpc("generatetoaddress", 1, address)
    clients[0].wait_told("blockchain.headers.subscribe")
    if script == LONG:
        clients[1].wait_told("blockchain.scripthash.subscribe", script_hash(LONG.hex()))
    time.sleep(SETTLED)
    return processor_time(server.process, threads) - before


def one_more(bitcoind, server, threads, count):
    """Microseconds for a block with one more transaction of the script, in excess of a block without."""
    clients = [Client(server.address, "1.4") for _ in range(2)]
    wait_for_tip(bitcoind, clients[0])
    clients[0].told.clear()
    clients[1].ask("blockchain.scripthash.subscribe", script_hash(LONG.hex()))
    used = [[used_for_block(bitcoind, server, threads, clients, script) for script in (LONG, NOBODY)] for _ in range(count)]
    return [paid - nobody for paid, nobody in used]


def run(started, bitcoind_program, turnpike_program, venv, folder, mainnet, rounds="5", transactions="100000"):
    rounds, transactions = int(rounds), int(transactions)
    chain = start(mainnet)
    chain.history(transactions)
    bitcoind, servers = start_all(started, bitcoind_program, turnpike_program, venv, folder, chain)
    for server in servers.values():
        wait_for_tip(bitcoind, Client(server.address, "1.4"))
    times = {name: [] for name in servers}
    for _ in range(rounds):
        for name, server in servers.items():
            *measured, count = cold(server)
            times[name].append(measured)
            if count != transactions:
                sys.exit(f"error: {name} has {count} transactions")
    turnpike, electrumx = servers.values()
    more = {}
    with halted(electrumx):
        more["Turnpike"] = one_more(bitcoind, turnpike, "electrum", 4 * rounds)
    with halted(turnpike):
        more["ElectrumX"] = one_more(bitcoind, electrumx, None, rounds)
    print("cold, ms:", times, flush=True)
    print("one more, us:", more, flush=True)
    for at, what in enumerate(("status", "get_history")):
        ours, theirs = (statistics.median(one[at] for one in times[name]) for name in servers)
        figure(f"history of {transactions:,} transactions, cold: {what}", ours, "ms", theirs)
    ours, theirs = (statistics.median(more[name]) for name in servers)
    figure(f"history of {transactions:,} transactions, one more: processor time", ours, "us", theirs)


main(run, *sys.argv[1:])
