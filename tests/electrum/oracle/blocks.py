"""Bitcoin blocks of a file as Bitcoin Core writes them, without witnesses: those of mainnet's beginning have none."""

import hashlib
import struct
from dataclasses import dataclass, field


def sha256d(data):
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def shown(hash_):
    """A hash as Bitcoin shows it."""
    return hash_[::-1].hex()


@dataclass
class Transaction:
    raw: bytes
    inputs: list  # hash of the transaction and number of the output
    outputs: list  # value and script
    id: str = field(init=False)

    def __post_init__(self):
        self.id = shown(sha256d(self.raw))


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
        self.take(4)
        inputs, outputs = [], []
        for _ in range(self.size()):
            inputs.append((shown(self.take(32)), self.number("<I")))
            self.take(self.size() + 4)
        for _ in range(self.size()):
            value = self.number("<q")
            outputs.append((value, self.take(self.size())))
        self.take(4)
        return Transaction(self.data[start:self.at], inputs, outputs)


def block(raw):
    reader = Reader(raw)
    reader.take(80)
    return Block(raw, [reader.transaction() for _ in range(reader.size())])


def chain(path):
    """The blocks of a file that has one chain of them, by height."""
    with open(path, "rb") as file:
        data = file.read()
    reader, by_parent = Reader(data), {}
    while reader.at + 8 <= len(data) and reader.take(4) != bytes(4):
        raw = reader.take(reader.number("<I"))
        by_parent[shown(raw[4:36])] = block(raw)
    blocks, parent = [], "00" * 32
    while parent in by_parent:
        blocks.append(by_parent[parent])
        parent = blocks[-1].hash
    return blocks
