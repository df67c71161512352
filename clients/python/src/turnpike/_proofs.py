"""Proofs of transactions, and of accounts in the index, with the checks that they must pass."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Self

from . import _hash
from . import _protocol as protocol
from ._chain import BlockHeader, HeaderChain
from ._hash import NO_HASH
from ._ids import account_bytes
from ._operations import ENTRY_SIZES, HOLD_ENDS, Operation
from ._protocol import Command, FrameType, Query
from ._replies import HASH, parse
from .errors import InvalidProof, UnknownBlock

_MAX_LEAF = 16
_MAX_DEPTH = 64
# Marks of an entry beside the position of its latest transaction: of a hold, of a frozen account, both of the asset of
# an account or a hold, and of one that has another asset than 0.
_HOLD_BIT = 1 << 31
_FROZEN_BIT = 1 << 30
_ASSET_ENTRY = _HOLD_BIT | _FROZEN_BIT
_ASSET_BIT = 1 << 29


def asset_id(account: int) -> int:
    """The id under which `prove_index` finds the asset of an account or a hold that has another one than 0."""
    return int.from_bytes(_hash.asset(account_bytes(account))[:16], "big") >> 1


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An account in the index."""

    account: int
    balance: int
    height: int
    """Height of the block of its latest transaction."""
    position: int
    """Position of that transaction in the block."""
    is_frozen: bool = False
    """Whether the account cannot pay."""
    has_asset: bool = False
    """Whether it is of another asset than 0, which `prove_asset` proves. Do not take its balance for one of asset 0."""
    asset: int | None = None
    """The asset that the entry states, if it is that of `asset_id`."""


@dataclass(frozen=True, slots=True)
class IndexProof:
    """A leaf of the index, and its path to the index root of a header."""

    block_hash: bytes
    height: int
    path: list[bytes]
    entries: list[bytes]
    reply: bytes
    """The whole reply, which anybody can verify again."""

    @classmethod
    def parse(cls, reply: bytes) -> Self:
        """Reads the reply to a proof request for an index entry."""
        _check(reply, Query.INDEX)
        fixed = protocol.IndexReply.unpack(reply)
        at, size = protocol.INDEX_REPLY.size + fixed.depth * HASH, protocol.INDEX_ENTRY.size
        path = _slices(reply, protocol.INDEX_REPLY.size, fixed.depth, HASH)
        return cls(fixed.block_hash, fixed.block_height, path, _slices(reply, at, fixed.entry_count, size), reply)

    def verify(self, account: int, chain: HeaderChain) -> IndexEntry | None:
        """The account's entry as of the block; None if the account does not exist there. Raises `InvalidProof`."""
        header = chain.find(self.height, self.block_hash)
        if header is None:
            raise UnknownBlock(self.height)
        return self.verify_in(account, header)

    def verify_in(self, account: int, header: BlockHeader) -> IndexEntry | None:
        """As `verify`, against a header that the caller trusts."""
        if not header.states_index:
            raise InvalidProof("the header states no index root; ask for the proof again, or ask another node")
        key = account_bytes(account)
        route = _hash.account_path(key)
        self._check_leaf(route, header.accounts)
        node = _hash.index_leaf(*self.entries) if self.entries else NO_HASH
        for step, sibling in enumerate(self.path, 64 - len(self.path)):
            node = _hash.index_node(sibling, node) if route >> step & 1 else _hash.index_node(node, sibling)
        if node != header.index_root:
            raise InvalidProof("the path does not lead to the header's index root; ask another node")
        for entry in map(protocol.IndexEntry.unpack, self.entries):
            if entry.account == key:
                kind = entry.position & _ASSET_ENTRY
                return IndexEntry(
                    account,
                    entry.balance,
                    entry.height,
                    entry.position & _ASSET_BIT - 1,
                    kind == _FROZEN_BIT,
                    bool(entry.position & _ASSET_BIT),
                    entry.balance if kind == _ASSET_ENTRY else None,
                )
        return None

    def _check_leaf(self, route: int, accounts: int) -> None:
        """Absence from a leaf proves nothing if its entries may be anywhere."""
        depth, count = len(self.path), len(self.entries)
        is_small = count <= _MAX_LEAF
        fits = accounts > max(_MAX_LEAF, count - 1) if depth else accounts == count
        if depth > _MAX_DEPTH or not (is_small or depth == _MAX_DEPTH) or not fits:
            raise InvalidProof(f"a leaf of {count} accounts cannot be at depth {depth}; ask another node")
        before: tuple[int, bytes] | None = None
        for entry in map(protocol.IndexEntry.unpack, self.entries):
            place = (_hash.account_path(entry.account), entry.account)
            if (place[0] ^ route) >> 64 - depth:
                raise InvalidProof("an account does not belong in the leaf; ask another node")
            if before is not None and before >= place:
                raise InvalidProof("the accounts of the leaf are out of order; ask another node")
            before = place
        if is_small and self.path and self.path[0] == NO_HASH:
            raise InvalidProof("the leaf has no sibling, so it must be its parent; ask another node")


@dataclass(frozen=True, slots=True)
class TransactionProof:
    """A transaction, and its path to the transaction root of a header."""

    tip_height: int
    """Height of the node's tip at the time of the reply."""
    block_hash: bytes
    height: int
    transactions: int
    position: int
    leaf: bytes
    path: list[bytes]
    transaction: bytes
    """The operation, or the signed operation."""
    reply: bytes
    """The whole reply, which anybody can verify again."""

    @classmethod
    def parse(cls, reply: bytes) -> Self:
        """Reads the reply to a proof request for a transaction."""
        _check(reply, Query.LATEST, Query.TRANSACTION, Query.LOCATOR)
        fixed = protocol.ProofReply.unpack(reply)
        at = protocol.PROOF_REPLY.size + fixed.depth * HASH
        return cls(
            fixed.tip_height,
            fixed.block_hash,
            fixed.block_height,
            fixed.transaction_count,
            fixed.position,
            fixed.leaf,
            _slices(reply, protocol.PROOF_REPLY.size, fixed.depth, HASH),
            reply[at : at + fixed.transaction_length],
            reply,
        )

    @property
    def operation(self) -> Operation:
        """The operation, without its signature."""
        return Operation.unpack(self.transaction)

    @property
    def namer(self) -> int:
        """The account that the transaction id belongs to.

        It is the payer of a deposit, the receiver of a hold that ends, otherwise the source.
        """
        operation = self.operation
        has_payer = operation.command in (Command.CREATE, Command.OPEN) and operation.destination
        return operation.destination if has_payer or operation.command in HOLD_ENDS else operation.source

    def involves(self, account: int) -> bool:
        """Whether it created the account, changed its balance, or made or ended a hold of it or for it."""
        operation = self.operation
        return account in (operation.source, self.namer) or (
            operation.command in (Command.TRANSFER, Command.HOLD) and operation.destination == account
        )

    def verify(self, chain: HeaderChain) -> None:
        """Checks the proof against the trusted headers. Raises `InvalidProof`."""
        header = chain.find(self.height, self.block_hash)
        if header is None:
            raise UnknownBlock(self.height)
        self.verify_in(header)

    def verify_in(self, header: BlockHeader) -> None:
        """As `verify`, against a header that the caller trusts."""
        if self.transactions != header.transactions or self.position >= header.transactions:
            raise InvalidProof(f"the block has {header.transactions} transactions; ask another node")
        is_request = (
            len(self.transaction) in ENTRY_SIZES.values() and not protocol.Operation.unpack(self.transaction).status
        )
        if not is_request or _hash.transaction(self.transaction) != self.leaf:
            raise InvalidProof("the leaf is not the hash of the transaction; ask another node")
        depth = (header.transactions - 1).bit_length()
        if len(self.path) != depth:
            raise InvalidProof(f"the path has {len(self.path)} nodes, the tree a depth of {depth}; ask another node")
        node, index, last = self.leaf, self.position, header.transactions - 1
        for sibling in self.path:
            if (index ^ 1 <= last) == (sibling == NO_HASH):
                raise InvalidProof("the path does not fit the shape of the tree; ask another node")
            node = _hash.node(sibling, node) if index & 1 else _hash.node(node, sibling)
            index, last = index >> 1, last >> 1
        if node != header.transaction_root:
            raise InvalidProof("the path does not lead to the header's transaction root; ask another node")


def _check(reply: bytes, *queries: Query) -> None:
    """Checks the lengths of a reply to one of these queries."""
    parsed = parse(reply)
    if parsed is None or parsed.kind is not FrameType.PROOF:
        raise InvalidProof("the bytes are not the reply to a proof request; ask another node")
    if parsed.status:
        raise protocol.STATUS_ERRORS[parsed.status]()
    if protocol.ProofRequest.unpack(reply).query not in queries:
        raise InvalidProof("the reply is about another query; ask another node")


def _slices(data: bytes, at: int, count: int, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(at, at + count * size, size)]


def key_of_transaction(transaction: uuid.UUID, namer: int) -> bytes:
    """Key of a query by transaction id."""
    return transaction.bytes + account_bytes(namer)


def key_of_locator(height: int, position: int) -> bytes:
    """Key of a query by the position in the chain."""
    return height.to_bytes(8, "big") + position.to_bytes(4, "big")
