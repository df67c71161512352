"""Bitcoin blocks of a file as Bitcoin Core writes them."""

import hashlib
import struct
from dataclasses import dataclass, field


def sha256d(data):
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def root_of_path(leaf, position, path):
    """The Merkle root that a path leads to. The leaf and the path are as Bitcoin shows them, the root is not."""
    node = bytes.fromhex(leaf)[::-1]
    for beside in (bytes.fromhex(beside)[::-1] for beside in path):
        node = sha256d(beside + node if position & 1 else node + beside)
        position >>= 1
    return node


def shown(hash_):
    """A hash as Bitcoin shows it."""
    return hash_[::-1].hex()


@dataclass
class Transaction:
    raw: bytes
    stripped: bytes  # without witnesses
    inputs: list  # hash of the transaction and number of the output
    outputs: list  # value and script
    id: str = field(init=False)

    def __post_init__(self):
        self.id = shown(sha256d(self.stripped))


@dataclass
class Block:
    raw: bytes
    transactions: list
    hash: str = field(init=False)

    def __post_init__(self):
        self.hash = shown(sha256d(self.raw[:80]))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, format_):
        return struct.unpack(format_, self.take(struct.calcsize(format_)))[0]

    def size(self):
        first = self.number("<B")
        return first if first < 253 else self.number({253: "<H", 254: "<I", 255: "<Q"}[first])

    def transaction(self):
        start = self.at
        version = self.take(4)
        has_witnesses = self.data[self.at] == 0
        if has_witnesses:
            self.take(2)
        begin, inputs, outputs = self.at, [], []
        for _ in range(self.size()):
            inputs.append((shown(self.take(32)), self.number("<I")))
            self.take(self.size() + 4)
        for _ in range(self.size()):
            value = self.number("<q")
            outputs.append((value, self.take(self.size())))
        middle = self.data[begin:self.at]
        if has_witnesses:
            for _ in inputs:
                for _ in range(self.size()):
                    self.take(self.size())
        stripped = version + middle + self.take(4)
        return Transaction(self.data[start:self.at], stripped, inputs, outputs)


def block(raw):
    reader = Reader(raw)
    reader.take(80)
    return Block(raw, [reader.transaction() for _ in range(reader.size())])


def chain(path):
    """The blocks of the longest branch of a file, by height: of branches of the same length the one that was first."""
    with open(path, "rb") as file:
        data = file.read()
    reader, known, tip = Reader(data), {}, None
    while reader.at + 8 <= len(data) and reader.take(4) != bytes(4):
        raw = reader.take(reader.number("<I"))
        one, parent = block(raw), shown(raw[4:36])
        height = known[parent][1] + 1 if parent in known else 0
        known[one.hash] = (one, height, parent)
        if tip is None or height > known[tip][1]:
            tip = one.hash
    blocks = []
    while tip in known:
        one, _, tip = known[tip]
        blocks.append(one)
    return blocks[::-1]
