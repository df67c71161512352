"""Kills a node that follows a real bitcoind, or that bitcoind, at any moment, while blocks come, are reorganised, and transactions are
sent: it goes on where it was, and in the end both know the same.

usage: kills.py BITCOIND TURNPIKE FOLDER [COUNT] [SEED]
"""

import http.client
import random
import sys
import threading
import time

from events import Events
from programs import PATIENCE, Client, RpcError, check, fail, has_all_of, main, start_both, wait_until


class Load(threading.Thread):
    """Sends transactions, mines blocks, and reorganises, for as long as bitcoind is there."""

    def __init__(self, events):
        super().__init__(daemon=True)
        self.events = events
        self.is_over = False
        # Whoever has it stops the load meanwhile.
        self.turn = threading.Lock()

    def run(self):
        while not self.is_over:
            try:
                with self.turn:
                    self.events.step()
                # Others have their turn.
                time.sleep(0.005)
            except (OSError, RpcError, ValueError, http.client.HTTPException):
                # It was killed.
                time.sleep(0.05)


def compare(bitcoind, turnpike):
    """Every coin of the scripts that bitcoind's wallet has coins of, and every block's hash."""
    client = Client(turnpike.address, "1.7")
    scripts = sorted({coin["scriptPubKey"] for coin in bitcoind.rpc("listunspent", 0)})
    expected = {script: set() for script in scripts}
    for coin in bitcoind.rpc("scantxoutset", "start", [f"raw({script})" for script in scripts])["unspents"]:
        expected[coin["scriptPubKey"]].add((coin["txid"], coin["vout"], coin["height"]))
    replies = client.replies([("blockchain.scriptpubkey.listunspent", script) for script in scripts])
    for script, reply in zip(scripts, replies):
        found = {(one["tx_hash"], one["tx_pos"], one["height"]) for one in reply["result"]["utxos"]}
        if found != expected[script]:
            fail(f"of {len(expected[script])} coins of {script} these differ: {sorted(found ^ expected[script])[:9]}")
    heights = range(bitcoind.rpc("getblockcount") + 1)
    replies = client.replies([("blockchain.block.header", height) for height in heights])
    for height, reply in zip(heights, replies):
        if reply["result"] != bitcoind.rpc("getblockheader", bitcoind.rpc("getblockhash", height), False):
            fail(f"the header at height {height} is another")
    return len(scripts), sum(map(len, expected.values()))


def run(started, bitcoind_program, turnpike_program, folder, count="12", seed=None):
    seed = int(seed or random.randrange(2**32))
    print(f"seed {seed}", flush=True)
    generator = random.Random(seed)
    bitcoind, turnpike = start_both(started, bitcoind_program, turnpike_program, folder, 120)
    load = Load(Events(bitcoind, random.Random(generator.random())))
    load.start()
    for _ in range(int(count)):
        time.sleep(generator.random() * 0.8)
        before = turnpike.metric("bitcoin_height")
        if generator.random() < 0.75:
            turnpike.kill()
            # The next heights that it tells begin where it was, but for a reorganisation of 4 blocks.
            wait_until("it follows again", lambda: turnpike.metric("bitcoin_height") > 0)
            after = turnpike.metric("bitcoin_height")
            if after < before - 4:
                fail(f"it was at height {before}, and begins again at {after}")
        else:
            # It writes down what it has, and is given nothing more: it would begin again below, where no peer has its blocks, and its
            # wallet does not bear that.
            with load.turn:
                bitcoind.rpc("gettxoutsetinfo")
                bitcoind.kill()
    load.is_over = True
    load.join(PATIENCE)
    bitcoind.mine(3)
    wait_until("both know the same", lambda: has_all_of(turnpike, bitcoind, Client(turnpike.address, "1.4")))
    check("nothing waits any more", bitcoind.rpc("getrawmempool"), [])
    scripts, coins = compare(bitcoind, turnpike)
    turnpike.stop()
    print(f"ok: {count} kills, {load.events}; "
          f"{coins} coins of {scripts} scripts and all headers are bitcoind's; seed {seed}", flush=True)


main(run, *sys.argv[1:])
