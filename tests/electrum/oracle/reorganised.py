"""Writes a chain of regtest whose blocks came with reorganisations: branches of up to seven blocks that win, and others that lose. Scripts are
paid again and again, in all kinds of outputs, with and without witnesses.

usage: reorganised.py MAINNET FILE BLOCKS SEED      mainnet's first blocks, of which genesis's transaction is taken
"""

import random
import struct
import sys

from blocks import sha256d
from regtest import COIN, block, genesis, size, sized, write

SCRIPTS = 60


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        kinds = [
            lambda: b"\x76\xa9\x14" + self.random.randbytes(20) + b"\x88\xac",
            lambda: b"\x21\x02" + self.random.randbytes(32) + b"\xac",
            lambda: b"\x00\x14" + self.random.randbytes(20),
            lambda: b"\x51\x20" + self.random.randbytes(32),
            lambda: b"\xa9\x14" + self.random.randbytes(20) + b"\x87",
            lambda: self.random.randbytes(self.random.randint(1, 300)),
        ]
        # What can never be spent is in histories all the same; the empty script anybody may spend.
        self.scripts = [b"", b"\x6a\x04" + self.random.randbytes(4), self.random.randbytes(10_001)]
        self.scripts += [self.random.choice(kinds)() for _ in range(SCRIPTS)]
        self.made = 0

    def outputs(self, value, most):
        """Outputs of so much in all, at most so many, and the bytes of them."""
        scripts = [self.script() for _ in range(self.random.randint(1, most))]
        values = [self.random.randint(0, value // len(scripts)) for _ in scripts[1:]]
        values.append(value - sum(values))
        listed = list(zip(values, scripts))
        return listed, size(len(listed)) + b"".join(struct.pack("<q", value) + sized(script) for value, script in listed)

    def script(self):
        # Few are paid often, and the long one seldom.
        one = self.scripts[min(int(self.random.expovariate(0.1)), len(self.scripts) - 1)]
        return one if len(one) < 10_000 or self.random.random() < 0.1 else self.scripts[-1]

    def coinbase(self, height):
        self.made += 1
        outputs, written = self.outputs(50 * COIN, 3)
        script = b"\x04" + struct.pack("<I", height) + b"\x04" + struct.pack("<I", self.made)
        raw = struct.pack("<I", 1) + size(1) + bytes(32) + b"\xff" * 4 + sized(script) + b"\xff" * 4 + written + bytes(4)
        return raw, sha256d(raw), outputs

    def spend(self, coins):
        """A transaction that spends some of these coins, which are taken out."""
        self.random.shuffle(coins)
        spent = [coins.pop() for _ in range(min(len(coins), self.random.randint(1, 3)))]
        outputs, written = self.outputs(sum(value for _, _, value in spent), 4)
        inputs = size(len(spent)) + b"".join(id_ + struct.pack("<I", number) + sized(self.random.randbytes(5)) + b"\xff" * 4 for id_, number, _ in spent)
        version, locktime = struct.pack("<I", 2), bytes(4)
        stripped = version + inputs + written + locktime
        if self.random.random() < 0.5:
            return stripped, stripped, outputs
        witnesses = b"".join(size(1) + sized(self.random.randbytes(7)) for _ in spent)
        return version + b"\x00\x01" + inputs + written + witnesses + locktime, stripped, outputs

    def block(self, parent, height, coins):
        """A block on a parent: its bytes and hash, and the coins that there are behind it."""
        coins = list(coins)
        raw, id_, outputs = self.coinbase(height)
        raws, ids = [raw], [id_]
        self.keep(coins, id_, outputs)
        for _ in range(self.random.choice([0, 0, 1, 2, 5, 12])):
            if not coins:
                break
            raw, stripped, outputs = self.spend(coins)
            raws.append(raw)
            ids.append(sha256d(stripped))
            self.keep(coins, ids[-1], outputs)
        raw, hash_ = block(parent, height, raws, ids)
        return raw, hash_, coins

    @staticmethod
    def keep(coins, id_, outputs):
        coins += [(id_, number, value) for number, (value, script) in enumerate(outputs) if script[:1] != b"\x6a" and len(script) <= 10_000]


def main(mainnet, path, count, seed):
    maker = Maker(seed)
    raw, hash_ = genesis(mainnet)
    # By height: the hash, and the coins behind it.
    branch, written = [(hash_, [])], [raw]

    def extend(branch, count):
        for _ in range(count):
            parent, coins = branch[-1]
            raw, hash_, coins = maker.block(parent, len(branch), coins)
            written.append(raw)
            branch.append((hash_, coins))

    while len(branch) <= count:
        extend(branch, maker.random.randint(1, 12))
        depth = maker.random.randint(1, min(6, len(branch) - 1))
        other = branch[:-depth]
        if maker.random.random() < 0.6:
            extend(other, depth + 1)
            branch = other
        else:
            extend(other, depth - 1)
    extend(branch, 1)
    write(path, written)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
