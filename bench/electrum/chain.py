"""Makes regtest chains that bitcoind accepts, with blocks as full as mainnet's, or with a script that has a long history.

usage: chain.py MAINNET FILE full BLOCKS            BLOCKS full blocks, each with 2,500 transactions of 2 inputs and 4 outputs
       chain.py MAINNET FILE coins COUNT            COUNT spendable coins, each of its own script
       chain.py MAINNET FILE history COUNT          COUNT transactions of the script LONG, 100 per block

MAINNET is a file with mainnet's first blocks, which supplies genesis's transaction. Coinbase-only blocks come before and after
the blocks of interest.
"""

import hashlib
import random
import struct
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/electrum/oracle"))
from blocks import sha256d  # noqa: E402
from regtest import COIN, block, genesis, root_of, size, sized, write  # noqa: E402

# Blocks until a coinbase is spendable, and blocks between halvings.
MATURITY, HALVING = 100, 150
# With the sizes of `full` about 1.9 MB, and a weight of 3.9 million, of at most 4 million.
TRANSACTIONS = 2500
# Outputs of a transaction that makes coins, and of the one that it spends.
FAN, FANS = 100, 120
FEE = 1000
TRUE = b"\x51"


def paid_to(script):
    """The output script for a witness script."""
    return b"\x00\x20" + hashlib.sha256(script).digest()


# Anybody can spend this.
LONG = paid_to(TRUE)


class Coin(NamedTuple):
    transaction: bytes
    number: int
    value: int
    script: bytes


class Chain:
    def __init__(self, mainnet, seed=7):
        self.random = random.Random(seed)
        raw, self.tip = genesis(mainnet)
        self.raws = [raw]
        # Coinbases, oldest first.
        self.rewards = []

    def script(self):
        """A unique script: it drops data as large as two signatures and two keys, and leaves a key."""
        return b"\x6d\x6d\x21\x02" + self.random.randbytes(32)

    def witness(self, script):
        items = [] if script == TRUE else [self.random.randbytes(length) for length in (72, 72, 33, 33)]
        return size(len(items) + 1) + b"".join(map(sized, [*items, script]))

    def spend(self, coins, scripts):
        """A transaction that spends the coins in equal parts to the scripts: its bytes, both hashes, and its coins."""
        value = (sum(coin.value for coin in coins) - FEE) // len(scripts)
        inputs = size(len(coins)) + b"".join(coin.transaction + struct.pack("<I", coin.number) + b"\x00" + b"\xff" * 4 for coin in coins)
        outputs = size(len(scripts)) + b"".join(struct.pack("<q", value) + sized(paid_to(script)) for script in scripts)
        version, locktime = struct.pack("<I", 2), bytes(4)
        raw = version + b"\x00\x01" + inputs + outputs + b"".join(self.witness(coin.script) for coin in coins) + locktime
        id_ = sha256d(version + inputs + outputs + locktime)
        return raw, (id_, sha256d(raw)), [Coin(id_, number, value, script) for number, script in enumerate(scripts)]

    def coinbase(self, witness_ids):
        height = len(self.raws)
        script = self.script()
        value = 50 * COIN if height < HALVING else 0
        commitment = b"\x6a\x24\xaa\x21\xa9\xed" + sha256d(root_of([bytes(32), *witness_ids]) + bytes(32))
        number = bytes([0x50 + height]) if height <= 16 else sized(height.to_bytes(height.bit_length() // 8 + 1, "little"))
        version, locktime = struct.pack("<I", 2), bytes(4)
        middle = size(1) + bytes(32) + b"\xff" * 4 + sized(number + sized(b"made")) + b"\xff" * 4 + size(2)
        middle += struct.pack("<q", value) + sized(paid_to(script)) + struct.pack("<q", 0) + sized(commitment)
        id_ = sha256d(version + middle + locktime)
        if value:
            self.rewards.append(Coin(id_, 0, value, script))
        return version + b"\x00\x01" + middle + size(1) + sized(bytes(32)) + locktime, id_

    def extend(self, transactions=()):
        """Adds a block with these transactions."""
        raws, ids = zip(*((raw, ids) for raw, ids, _ in transactions)) if transactions else ((), ())
        coinbase, id_ = self.coinbase([witness for _, witness in ids])
        raw, self.tip = block(self.tip, len(self.raws), [coinbase, *raws], [id_, *(plain for plain, _ in ids)])
        self.raws.append(raw)

    def empty(self, count):
        for _ in range(count):
            self.extend()

    def fan(self, scripts):
        """Adds a block that pays these scripts from a coinbase, in transactions of 100 outputs. Returns its coins."""
        pieces = [scripts[first:first + FAN] for first in range(0, len(scripts), FAN)]
        first = self.spend([self.rewards.pop(0)], [self.script() for _ in pieces])
        others = [self.spend([coin], piece) for coin, piece in zip(first[2], pieces)]
        self.extend([first, *others])
        return [coin for _, _, coins in others for coin in coins]

    def take(self, coins, count):
        """Removes random coins."""
        for _ in range(count):
            at = self.random.randrange(len(coins))
            coins[at], coins[-1] = coins[-1], coins[at]
            yield coins.pop()

    def payments(self, coins, count):
        """Transactions that spend any of the coins, including their own outputs, with 2 inputs and 4 outputs like most of mainnet's."""
        made = []
        for _ in range(count):
            made.append(self.spend(list(self.take(coins, 2)), [self.script() for _ in range(4)]))
            coins += made[-1][2]
        return made

    def coins(self, count):
        """Makes `count` spendable coins."""
        coins = []
        for first in range(0, count, FAN * FANS):
            coins += self.fan([self.script() for _ in range(min(FAN * FANS, count - first))])
        return coins

    def full(self, count):
        coins = self.coins(FAN * FANS)
        for _ in range(count):
            self.extend(self.payments(coins, TRANSACTIONS))

    def history(self, count):
        coins = self.fan([TRUE] * FAN)
        for first in range(1, count, FAN):
            made = [self.spend([coin], [TRUE]) for coin in coins[:count - first]]
            self.extend(made)
            coins = [paid for _, _, (paid,) in made]


def start(mainnet):
    """Makes a chain with some spendable coinbases."""
    chain = Chain(mainnet)
    chain.empty(MATURITY + 10)
    return chain


if __name__ == "__main__":
    mainnet, path, kind, count = sys.argv[1:]
    chain = start(mainnet)
    {"full": chain.full, "coins": chain.coins, "history": chain.history}[kind](int(count))
    write(path, chain.raws)
