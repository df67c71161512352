"""Random requests to ElectrumX and to a node that know the same blocks: both answer with equal JSON, or with the same code of an error.

What is not compared: how the servers name themselves, whatever needs a Bitcoin node's judgement of a new transaction, and where ElectrumX fails
inside. Three differences are meant: here, headers.subscribe takes the parameter too many that a library sends, genesis has its one transaction,
and scripts that can never be spent from have histories.
"""

import hashlib
import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bitcoind"))
from programs import Client  # noqa: E402

VERSIONS = ("1.4", "1.4.2", "1.6", "1.7")
# Requests under way at a time.
DEPTH = 250
INTERNAL_ERROR = -32603


class Requests:
    """Makes requests about blocks, and about what waits where a real Bitcoin node is behind both: most of them make sense."""

    def __init__(self, blocks, waiting, version, generator):
        self.random = generator
        self.is_newest = version == VERSIONS[-1]
        self.has_node = waiting is not None
        self.tip = len(blocks) - 1
        # Genesis's coinbase is in no index.
        self.transactions = [(height, position, one) for height, block in enumerate(blocks) for position, one in enumerate(block.transactions) if height]
        # As many of those that share a block, or are spent, as of all others: most blocks have but a coinbase.
        self.interesting = [entry for entry in self.transactions if entry[1] > 0 or len(blocks[entry[0]].transactions) > 1]
        # What waits is in no block, whichever is asked for.
        self.interesting += [(self.tip, 0, one) for one in waiting or ()]

    def of_this_version(self, is_new):
        """Whether to ask for what the newest version has instead of what those before have; hardly ever what an unknown method is."""
        return (self.is_newest == is_new) != (self.random.random() < 0.03)

    def transaction(self):
        return self.random.choice(self.random.choice((self.transactions, self.interesting)))

    def one_of(self, *makers):
        return self.random.choice(makers)()

    def height(self):
        return self.random.randint(0, self.tip)

    def odd(self):
        """What hardly any method takes."""
        return self.random.choice([None, -1, 2**40, 1.5, True, "", "zz", "00", "7", [], {}, self.tip + 1, "00" * 32, "0" * 63])

    def often(self, value):
        return value if self.random.random() < 0.95 else self.odd()

    def id(self):
        return self.often(self.transaction()[2].id)

    def script(self):
        while True:
            script = self.random.choice(self.transaction()[2].outputs)[1]
            if script[:1] != b"\x6a" and len(script) <= 10_000:
                return script

    def script_hash(self):
        return self.often(hashlib.sha256(self.script()).digest()[::-1].hex())

    def outpoint(self):
        if self.random.random() < 0.5:
            spent = self.random.choice(self.transaction()[2].inputs)
            return [self.often(spent[0]), self.often(spent[1] & 0x7FFFFFFF)]
        one = self.transaction()[2]
        return [self.often(one.id), self.often(self.random.randint(0, len(one.outputs)))]

    def checkpoint(self, height):
        return self.random.choice([[], [0], [self.random.randint(height, self.tip)], [self.random.randint(0, self.tip + 1)], [self.odd()]])

    def merkle(self):
        height, position, one = self.transaction()
        return self.random.choice([
            ("blockchain.transaction.get_merkle", [self.often(one.id), self.often(height)]),
            ("blockchain.transaction.get_merkle", [self.often(one.id), self.height()]),
            ("blockchain.transaction.id_from_pos", [self.often(height), self.often(position)]),
            ("blockchain.transaction.id_from_pos", [self.often(height), position, self.often(self.random.random() < 0.5)]),
            ("blockchain.transaction.id_from_pos", [self.height(), self.random.randint(0, 3), True]),
        ])

    def headers(self):
        height = self.height()
        count = self.random.choice([0, 1, 5, 60, 2016, 5000])
        return self.random.choice([
            ("blockchain.block.header", [self.often(height)] + self.checkpoint(height)),
            ("blockchain.block.header", [self.odd()]),
            ("blockchain.block.headers", [self.often(height), self.often(count)] + self.checkpoint(min(height + count, self.tip))),
            ("blockchain.headers.subscribe", []),
        ])

    def scripts(self):
        if self.of_this_version(True):
            kind, key = "scriptpubkey", self.often(self.script().hex())
        else:
            kind, key = "scripthash", self.script_hash()
        method = self.random.choice(["get_balance", "get_history", "get_mempool", "listunspent", "subscribe", "unsubscribe"])
        return f"blockchain.{kind}.{method}", [key]

    def outpoints(self):
        if not self.of_this_version(True):
            return self.merkle()
        return "blockchain.outpoint." + self.random.choice(["subscribe", "get_status", "unsubscribe"]), self.outpoint()

    def rest(self):
        return self.random.choice([
            ("blockchain.transaction.get", [self.id()]),
            ("blockchain.transaction.get", [self.id(), self.random.random() < 0.5]),
            ("blockchain.estimatefee", [self.often(self.random.randint(1, 1008))]),
            ("blockchain.estimatefee", [self.often(6), self.random.choice(["ECONOMICAL", "CONSERVATIVE", "", 1, None])]),
            ("blockchain.relayfee", []),
            ("mempool.get_fee_histogram", []),
            ("mempool.get_info", []),
            ("mempool.recent", []),
            ("server.ping", []),
            ("server.ping", [self.often(self.random.randint(0, 100))]),
            ("server.ping", [self.random.randint(0, 100), self.often("00ff")]),
            ("server.peers.subscribe", []),
            ("server.version", ["judge", "1.4"]),
            ("blockchain.address.get_balance", ["12higDjoCCNXSA95xZMWUdPvXNmkAduhWv"]),
            ("no.such.method", []),
        ])

    def request(self):
        method, params = self.one_of(self.merkle, self.headers, self.scripts, self.scripts, self.outpoints, self.rest)
        if self.random.random() < 0.03:
            params = params[:-1] if self.random.random() < 0.5 else params + [self.odd()]
        return method, params

    def is_meant_to_differ(self, method, params):
        # ElectrumX takes a text of digits for a number.
        of_genesis = method == "blockchain.transaction.id_from_pos" and str(params[:1]).strip("[]'0") == ""
        # Bitcoin nodes before version 31 do not tell ElectrumX who spends what, and a simulated one has no verbose transactions.
        lacks = method.startswith("blockchain.outpoint.") if self.has_node else method == "blockchain.transaction.get" and params[1:] == [True]
        return of_genesis or lacks or method == "blockchain.headers.subscribe" and params != []

    def some(self, count):
        """Requests that are sent together. Of those that depend on each other, as they change a subscription, there is but one."""
        made, touched = [], set()
        while len(made) < count:
            method, params = self.request()
            if method.endswith("subscribe") and params:
                if str(params) in touched:
                    continue
                touched.add(str(params))
            if not self.is_meant_to_differ(method, params):
                made.append((method, *params))
        return made


def in_order(method, result):
    """A result, with an order where ElectrumX's replies have none."""
    if method == "mempool.recent":
        # Of those that ElectrumX found at once it does not know which came first.
        return sorted(result, key=lambda one: one["txid"])
    if method.endswith(".listunspent"):
        if isinstance(result, dict):
            return {**result, "utxos": in_order(method, result["utxos"])}
        # Confirmed coins are in order. ElectrumX keeps unconfirmed transactions in a set.
        confirmed = [coin for coin in result if coin["height"] > 0]
        waiting = [coin for coin in result if coin["height"] <= 0]
        return confirmed + sorted(waiting, key=lambda coin: (coin["tx_hash"], coin["tx_pos"]))
    return result


def outcome(method, reply):
    error = reply.get("error")
    return ("error", error["code"]) if error else ("result", in_order(method, reply["result"]))


def short(value):
    text = json.dumps(value)
    return text if len(text) < 300 else text[:300] + "..."


def compare_version(blocks, waiting, addresses, version, count, seed):
    """What differs, as text, and a summary."""
    requests = Requests(blocks, waiting, version, random.Random(f"{seed} {version}"))
    oracle, node = (Client(address, version) for address in addresses)
    asked = errors = failures = 0
    different = []
    while asked < count:
        some = requests.some(min(DEPTH, count - asked))
        asked += len(some)
        for (method, *params), theirs, ours in zip(some, oracle.replies(some), node.replies(some)):
            errors += "error" in theirs
            if outcome(method, theirs) == ("error", INTERNAL_ERROR):
                failures += 1
            elif outcome(method, theirs) != outcome(method, ours):
                different.append(f"{version}: {method} {short(params)}\n  ElectrumX: {short(theirs)}\n  Turnpike:  {short(ours)}")
    return different, f"version {version}: {asked} replies, {errors} of them errors, {failures} failures of ElectrumX's own; seed {seed}"


def compare(blocks, waiting, addresses, count, seed):
    """Asks for these blocks, and for the transactions that wait, by each version; without a real Bitcoin node, None do."""
    # ElectrumX's tree of headers grows with what is asked for, and gets wrong where several requests make it grow at once.
    Client(addresses[0], VERSIONS[0]).ask("blockchain.block.header", 0, len(blocks) - 1)
    # Its replies take their time.
    with ThreadPoolExecutor(len(VERSIONS)) as pool:
        compared = list(pool.map(lambda version: compare_version(blocks, waiting, addresses, version, count, seed), VERSIONS))
    for different, summary in compared:
        print(*different[:40], sep="\n", end="\n" if different else "")
        print(f"{'error' if different else 'ok'}: {summary}; {len(different)} differ", flush=True)
    if any(different for different, _ in compared):
        sys.exit("error: replies are not ElectrumX's")
