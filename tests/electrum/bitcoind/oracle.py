"""ElectrumX behind the same bitcoind: what waits there, and what was reorganised, both tell in the same way. Then both get random requests for
each version of the protocol.

usage: oracle.py BITCOIND TURNPIKE FOLDER ELECTRUMX_VENV COUNT [SEED]      requests for each version
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from electrumx import ElectrumX
from events import Events
from programs import Client, check, fail, main, script_hash, start_both, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
from blocks import Reader, block  # noqa: E402
from random_requests import VERSIONS, compare, in_order  # noqa: E402

# Transactions, blocks and reorganisations before the random requests.
EVENTS = 100


def outcome(method, reply):
    error = reply.get("error")
    return ("error", error["code"], error["message"]) if error else ("result", in_order(method, reply["result"]))


class Compared:
    def __init__(self, bitcoind, electrumx, turnpike):
        self.bitcoind, self.servers = bitcoind, (electrumx, turnpike)
        self.scripts, self.count = set(), 0

    def new_address(self):
        address = self.bitcoind.rpc("getnewaddress")
        self.scripts.add(self.bitcoind.rpc("getaddressinfo", address)["scriptPubKey"])
        return address

    def requests(self, version):
        for script in sorted(self.scripts):
            key = script if version == "1.7" else script_hash(script)
            kind = "scriptpubkey" if version == "1.7" else "scripthash"
            for method in ("get_balance", "get_history", "get_mempool", "listunspent", "subscribe"):
                yield f"blockchain.{kind}.{method}", key
        waiting = sorted(self.bitcoind.rpc("getrawmempool"))
        for txid in waiting[:20]:
            yield "blockchain.transaction.get", txid
            yield "blockchain.transaction.get", txid, True
        yield "blockchain.transaction.get", "11" * 32
        yield "blockchain.relayfee",
        yield "blockchain.estimatefee", 6
        yield "mempool.get_info",
        yield "blockchain.headers.subscribe",
        raw = self.bitcoind.rpc("getrawtransaction", waiting[0]) if waiting else "00"
        nonsense = self.bitcoind.rpc("createrawtransaction", [{"txid": "11" * 32, "vout": 0}], [{self.bitcoind.address: 1}])
        for transaction in ("00", "zz", nonsense, raw):
            yield "blockchain.transaction.broadcast", transaction
            yield "blockchain.transaction.testmempoolaccept", [transaction]
            yield "blockchain.transaction.broadcast_package", [transaction]
            yield "blockchain.transaction.broadcast_package", [nonsense, transaction], True

    def is_settled(self):
        """Both have all that waits."""
        best = self.bitcoind.rpc("getblockheader", self.bitcoind.rpc("getbestblockhash"), False)
        waiting = self.bitcoind.rpc("getrawmempool")
        for address in self.servers:
            # ElectrumX takes a second for each reply that is waited for.
            asked = [("blockchain.scriptpubkey.get_mempool", script) for script in self.scripts]
            tip, *told = Client(address, "1.7").replies([("blockchain.headers.subscribe",), *asked])
            told = {one["tx_hash"] for reply in told for one in reply["result"]["history"]}
            if tip["result"]["hex"] != best or told != set(waiting):
                return False
        return True

    def compare(self, what):
        wait_until(f"both are settled: {what}", self.is_settled)
        # ElectrumX's replies take their time.
        with ThreadPoolExecutor(len(VERSIONS)) as pool:
            self.count += sum(pool.map(lambda version: self.compare_version(what, version), VERSIONS))
        print(f"ok: {what}: {self.count} replies so far are ElectrumX's", flush=True)

    def compare_version(self, what, version):
        theirs, ours = (Client(address, version) for address in self.servers)
        requests = list(self.requests(version))
        for request, *replies in zip(requests, theirs.replies(requests), ours.replies(requests)):
            if outcome(request[0], replies[0]) != outcome(request[0], replies[1]):
                fail(f"{what}: {version}: {request}\n  ElectrumX: {replies[0]}\n  Turnpike:  {replies[1]}")
        return len(requests)

    def compare_random(self, count, seed):
        rpc = self.bitcoind.rpc
        blocks = [block(bytes.fromhex(rpc("getblock", rpc("getblockhash", height), 0))) for height in range(rpc("getblockcount") + 1)]
        waiting = [Reader(bytes.fromhex(rpc("getrawtransaction", txid))).transaction() for txid in sorted(rpc("getrawmempool"))]
        compare(blocks, waiting, self.servers, count, seed)


def run(started, bitcoind_program, turnpike_program, folder, venv, count, seed=None):
    seed = int(seed or random.randrange(2**32))
    print(f"seed {seed}", flush=True)
    generator = random.Random(seed)
    bitcoind, turnpike = start_both(started, bitcoind_program, turnpike_program, folder, 110)
    electrumx = ElectrumX(venv, f"{folder}/electrumx", bitcoind)
    started.append(electrumx)
    compared = Compared(bitcoind, electrumx.address, turnpike.address)
    compared.new_address()
    compared.compare("nothing waits")
    first = compared.new_address()
    bitcoind.rpc("sendtoaddress", first, 1)
    bitcoind.rpc("sendmany", "", {compared.new_address(): 0.1 for _ in range(10)})
    compared.compare("payments wait")
    # Chains: each pays from what waits, to itself and others.
    for _ in range(8):
        coin = generator.choice([coin for coin in bitcoind.rpc("listunspent", 0) if coin["confirmations"] == 0 and coin["amount"] > 0.01])
        inputs = [{"txid": coin["txid"], "vout": coin["vout"]}]
        bitcoind.rpc("send", [{compared.new_address(): coin["amount"]}], None, "unset", generator.randint(2, 50),
                     {"inputs": inputs, "add_inputs": False, "subtract_fee_from_outputs": [0]})
    compared.compare("chains of them wait")
    waited = bitcoind.rpc("getrawmempool")
    bitcoind.mine()
    compared.compare("a block has them")
    check("all of them", bitcoind.rpc("getrawmempool"), [])
    bitcoind.rpc("sendtoaddress", first, 2)
    bitcoind.rpc("invalidateblock", bitcoind.rpc("getbestblockhash"))
    bitcoind.mine_empty()
    bitcoind.mine_empty()
    check("they wait again", len(bitcoind.rpc("getrawmempool")) > len(waited) - 1, True)
    compared.compare("they were reorganised away")
    compared.scripts.add(bitcoind.rpc("getaddressinfo", bitcoind.address)["scriptPubKey"])
    events = Events(bitcoind, generator)
    for _ in range(EVENTS):
        events.step()
    # Fewer than `mempool.recent` tells.
    bitcoind.mine()
    for _ in range(8):
        bitcoind.rpc("sendtoaddress", compared.new_address(), generator.randint(1, 9))
    compared.compare(str(events))
    compared.compare_random(int(count), seed)
    turnpike.stop()


main(run, *sys.argv[1:])
