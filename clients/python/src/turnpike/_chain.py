"""The light client's chain of headers: nothing in it is trusted without the chain's key, or a certificate."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, Self

from . import _hash
from ._hash import NO_HASH
from ._replies import SEALED_HEADER
from ._signer import is_key, is_sealed
from .errors import Fork, InvalidCertificate, InvalidHeader, WrongNetwork

if TYPE_CHECKING:
    from ._finality import Vouched

_HEADER = Struct(">IIQQQ32s32s32s")
_SEALED_VERSION, _ORDERED_VERSION = 2, 3
_WITHOUT_INDEX = {_SEALED_VERSION: 4, _ORDERED_VERSION: 5}
_MAX_TRANSACTIONS = 1 << 20
_NO_SEAL = bytes(SEALED_HEADER - _HEADER.size)


class BlockHeader(NamedTuple):
    """A header of the own chain, as docs/protocol.md lays it out."""

    version: int
    transactions: int
    height: int
    timestamp: int
    """Microseconds since the Unix epoch."""
    accounts: int
    previous: bytes
    transaction_root: bytes
    index_root: bytes
    """Root of the index after the block, or of the last block before it that states one."""

    @property
    def states_index(self) -> bool:
        """Whether `index_root` is that of this block. If not, it repeats the previous header's."""
        return self.version not in _WITHOUT_INDEX.values()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Reads a header from the start of these bytes; a seal may follow."""
        return cls._make(_HEADER.unpack_from(data))


def hash_of(sealed: bytes) -> bytes:
    """The hash of a header, which its seal may follow."""
    return _hash.header(sealed[: _HEADER.size])


class HeaderChain:
    """Checked headers from genesis to the tip, each with its seal.

    A key seals the headers of a single node's chain. On a chain that replicas order, headers are trusted up to the
    last one for which `certify` has seen a certificate.
    """

    def __init__(self, network: bytes, genesis: bytes) -> None:
        """`genesis` is the first header with its seal. Its hash must be the network id."""
        header, found = BlockHeader.unpack(genesis), hash_of(genesis)
        if found != network:
            raise WrongNetwork(f"the genesis header is of network {found.hex()}, not {network.hex()}; ask another node")
        if header.version not in (_SEALED_VERSION, _ORDERED_VERSION):
            raise InvalidHeader(f"the chain has version {header.version}, which is unknown; use a newer client")
        if header.height or header.transactions or header.accounts or header.index_root != NO_HASH:
            raise InvalidHeader("the genesis header is not of an empty chain; ask another node")
        if header.version == _SEALED_VERSION and not is_key(header.transaction_root):
            raise InvalidHeader("the genesis header names no valid key; ask another node")
        self.network = network
        self.authority = header.transaction_root
        """The chain's key; on a chain that replicas order, the hash of the founding replicas' keys."""
        self.is_ordered = header.version == _ORDERED_VERSION
        """Whether replicas order the chain."""
        self._versions = (header.version, _WITHOUT_INDEX[header.version])
        self.headers: list[bytes] = [genesis]
        """All headers with their seals, by height. `restore` reads them."""
        self.vouched: Vouched | None = None
        """The certificate that vouches for the most headers, if replicas order the chain."""
        self._hashes = [found]
        self._certified = 0
        self._check_seal(0, found, genesis)

    @classmethod
    def restore(cls, network: bytes, headers: Iterable[bytes]) -> Self:
        """Restores stored headers: checks their links and the last seal, which covers all headers before it.

        On a chain that replicas order, none is trusted until the next certificate.
        """
        genesis, *rest = headers
        chain = cls(network, genesis)
        for sealed in rest:
            chain._append(sealed)
        chain._check_seal(chain.height, chain.tip_hash, chain.headers[-1])
        return chain

    @property
    def height(self) -> int:
        """Height of the last header."""
        return len(self.headers) - 1

    @property
    def tip_hash(self) -> bytes:
        """Hash of the last header."""
        return self._hashes[-1]

    @property
    def trusted(self) -> int:
        """Height of the last header that somebody vouches for."""
        return self._certified if self.is_ordered else self.height

    def find(self, height: int, hash: bytes) -> BlockHeader | None:
        """The trusted header at a height, if it has this hash."""
        is_it = height <= self.trusted and self._hashes[height] == hash
        return BlockHeader.unpack(self.headers[height]) if is_it else None

    def extend(self, headers: Iterable[bytes]) -> None:
        """Appends headers with their seals after the tip: all of them, or none if one breaks a rule."""
        before = len(self.headers)
        try:
            for sealed in headers:
                self._append(sealed)
                self._check_seal(self.height, self.tip_hash, sealed)
        except InvalidHeader:
            self._truncate(before)
            raise

    def check_same(self, sealed: bytes) -> None:
        """Compares a node's header with the local one of its height. Raises `Fork` if the key sealed another one."""
        height, found = BlockHeader.unpack(sealed).height, hash_of(sealed)
        if height <= self.height and self._hashes[height] == found:
            return
        if self.is_ordered or height > self.height:
            raise InvalidHeader(f"the node has another header at height {height}; ask another node")
        self._check_seal(height, found, sealed)
        raise Fork(height, self.headers[height], sealed)

    def certify(self, vouched: Vouched) -> int:
        """Makes final the header whose hash a certificate states, and all before it. Returns its height."""
        self.check_vouched(vouched)
        # A block states a header below its own height.
        hashes = self._hashes[: vouched.certificate.height]
        if vouched.certificate.statement not in hashes:
            raise InvalidCertificate("the certificate vouches for no local header; synchronise the headers")
        height = hashes.index(vouched.certificate.statement)
        if height > self._certified:
            self._certified, self.vouched = height, vouched
        return height

    def lacks(self, hash: bytes) -> bool:
        """Whether no header has this hash."""
        return hash not in self._hashes

    def check_vouched(self, vouched: Vouched) -> None:
        """Checks a certificate, and that the founders of this chain lead to its replicas."""
        if not self.is_ordered or vouched.founders.hash() != self.authority:
            raise InvalidCertificate("the founding replicas are not those of the genesis header; ask another node")
        known = self.vouched.reconfigurations if self.vouched else []
        # Keys of replicas that left may have leaked: a change that was followed is never replaced.
        for generation, (old, new) in enumerate(zip(known, vouched.reconfigurations, strict=False)):
            if old.change != new.change:
                raise InvalidCertificate(
                    f"the replicas of generation {generation} changed otherwise before; ask another node"
                )
        vouched.certificate.verify(self.network, vouched.replicas(self.network))

    def drop_untrusted(self) -> None:
        """Drops the headers above the last trusted one: the node may have made them up."""
        self._truncate(self.trusted + 1)

    def _truncate(self, count: int) -> None:
        del self.headers[count:]
        del self._hashes[count:]

    def _append(self, sealed: bytes) -> None:
        """Appends a header that follows the tip; its seal is not checked."""
        last, header = BlockHeader.unpack(self.headers[-1]), BlockHeader.unpack(sealed)
        # Each transaction adds or removes at most an entry of the index and that of its asset.
        changed = abs(header.accounts - last.accounts)
        problem = (
            f"has version {header.version}"
            if header.version not in self._versions
            else "has another height"
            if header.height != last.height + 1
            else "does not link to the one before it"
            if header.previous != self.tip_hash
            else "is older than the one before it"
            if header.timestamp < last.timestamp
            else "has an impossible number of transactions"
            if header.transactions > _MAX_TRANSACTIONS
            or (not header.transactions) != (header.transaction_root == NO_HASH)
            else "has an impossible number of accounts"
            if changed > 2 * header.transactions or (not header.accounts) != (header.index_root == NO_HASH)
            else "repeats another index root than that of the header before it"
            if not header.states_index and header.index_root != last.index_root
            else None
        )
        if problem:
            raise InvalidHeader(f"the header after height {self.height} {problem}; ask another node")
        self.headers.append(sealed)
        self._hashes.append(hash_of(sealed))

    def _check_seal(self, height: int, hash: bytes, sealed: bytes) -> None:
        seal = sealed[_HEADER.size :]
        if not (seal == _NO_SEAL if self.is_ordered else is_sealed(self.authority, _hash.seal(hash), seal)):
            raise InvalidHeader(f"the header at height {height} is not sealed by the chain's key; ask another node")
