"""Certificates of finality, and the changes of the set of replicas that lead to its members (docs/order.md)."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Self

from . import _hash
from ._signer import is_key, is_sealed
from .errors import InvalidCertificate

MAX_RECONFIGURATIONS = 4096
"""Changes that a client follows."""

_MAX_REPLICAS = 64
_FINALIZE = 3
_ADD, _REMOVE = 1, 2
_FIXED = Struct(">Q32s32s32sQQQ")
_ORDERED_HEADER = 104
_VOTE = Struct(">B32sQQQ32s")
_CHANGE = Struct(">BBHI32s32s16s")
_SIGNERS = Struct(">Q")
_SIGNATURE = 64


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """The voting keys of the replicas, by number."""

    keys: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.keys) <= _MAX_REPLICAS:
            raise InvalidCertificate(f"{len(self.keys)} replicas: a set has 1 to {_MAX_REPLICAS}; ask another node")
        if len(set(self.keys)) < len(self.keys) or not all(map(is_key, self.keys)):
            raise InvalidCertificate("two replicas have the same key, or a key is not valid; ask another node")

    @property
    def quorum(self) -> int:
        """Votes that make something final: n - f, where n = 3f + 1."""
        return len(self.keys) - (len(self.keys) - 1) // 3

    def hash(self) -> bytes:
        """The hash that identifies the set."""
        return _hash.replicas(*self.keys)


@dataclass(frozen=True, slots=True)
class _Signatures:
    """Signatures of replicas, with their numbers, ascending."""

    by_number: tuple[tuple[int, bytes], ...]

    @classmethod
    def unpack(cls, data: bytes, at: int) -> tuple[Self, int]:
        """Reads signatures at an offset, and returns where they end."""
        start = at + _SIGNERS.size
        if len(data) < start:
            raise InvalidCertificate(f"the certificate ends after {len(data)} bytes; ask another node")
        (signers,) = _SIGNERS.unpack_from(data, at)
        numbers = [number for number in range(_MAX_REPLICAS) if signers >> number & 1]
        end = start + len(numbers) * _SIGNATURE
        if len(data) < end:
            raise InvalidCertificate(f"the certificate ends after {len(data)} bytes, not {end}; ask another node")
        parts = [data[begin : begin + _SIGNATURE] for begin in range(start, end, _SIGNATURE)]
        return cls(tuple(zip(numbers, parts, strict=True))), end

    def verify(self, replicas: ReplicaSet, message: bytes) -> None:
        """Checks that a quorum of these replicas signed the message."""
        if len(self.by_number) < replicas.quorum:
            raise InvalidCertificate(f"{len(self.by_number)} replicas signed, {replicas.quorum} must; ask another node")
        for number, signature in self.by_number:
            if number >= len(replicas.keys) or not is_sealed(replicas.keys[number], message, signature):
                raise InvalidCertificate(f"the signature of replica {number} is not valid; ask another node")


@dataclass(frozen=True, slots=True)
class Certificate:
    """The header of an ordered block, with the votes that make it final."""

    header: bytes
    height: int
    statement: bytes
    """Hash of the header of the own chain that the replicas vouch for."""
    epoch: int
    view: int
    parent_view: int
    signatures: _Signatures

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Reads a certificate, which has exactly one encoding."""
        signatures, end = _Signatures.unpack(data, _FIXED.size)
        if end != len(data):
            raise InvalidCertificate(f"the certificate has {len(data)} bytes, not {end}; ask another node")
        height, _, statement, _, epoch, view, parent_view = _FIXED.unpack_from(data)
        return cls(data[:_ORDERED_HEADER], height, statement, epoch, view, parent_view, signatures)

    def verify(self, network: bytes, replicas: ReplicaSet) -> None:
        """Checks that a quorum of these replicas voted for the header as final in this network."""
        block = _hash.ordered(self.header)
        vote = _VOTE.pack(_FINALIZE, network, self.epoch, self.view, self.parent_view, block)
        self.signatures.verify(replicas, _hash.vote(vote))


@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """A change of the set of replicas, with the signatures that make it valid."""

    change: bytes
    signatures: _Signatures

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Reads a reconfiguration, which has exactly one encoding."""
        found, end = cls.unpack_at(data, 0)
        if end != len(data):
            raise InvalidCertificate(f"the reconfiguration has {len(data)} bytes, not {end}; ask another node")
        return found

    @classmethod
    def unpack_at(cls, data: bytes, at: int) -> tuple[Self, int]:
        """Reads a reconfiguration at an offset, and returns where it ends."""
        signatures, end = _Signatures.unpack(data, at + _CHANGE.size)
        return cls(data[at : at + _CHANGE.size], signatures), end

    def verify(self, network: bytes, before: ReplicaSet, generation: int) -> ReplicaSet:
        """The set after the change, which a quorum of the set before it must have signed."""
        action, number, port, changed, key, _, address = _CHANGE.unpack(self.change)
        if changed != generation:
            raise InvalidCertificate(f"the change is of generation {changed}, not {generation}; ask another node")
        self.signatures.verify(before, _hash.member_change(network, before.hash(), self.change))
        keys = list(before.keys)
        if action == _ADD and number <= len(keys):
            keys.insert(number, key)
        elif action == _REMOVE and keys[number : number + 1] == [key] and not port and not any(address):
            del keys[number]
        else:
            raise InvalidCertificate(f"the change of generation {generation} does not fit its set; ask another node")
        return ReplicaSet(tuple(keys))


@dataclass(frozen=True, slots=True)
class Vouched:
    """The founding replicas, all changes of their set, and a certificate of the set after them."""

    founders: ReplicaSet
    reconfigurations: list[Reconfiguration]
    certificate: Certificate

    def replicas(self, network: bytes) -> ReplicaSet:
        """The present set. Each set approved the next, so trust in the founders is enough."""
        replicas = self.founders
        for generation, reconfiguration in enumerate(self.reconfigurations):
            replicas = reconfiguration.verify(network, replicas, generation)
        return replicas

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Reads the end of a file of headers."""
        keys_end = 1 + 32 * data[0] if data else 0
        if len(data) < keys_end + 2 or not data:
            raise InvalidCertificate("the keys of the replicas are cut off; ask another node")
        founders = ReplicaSet(tuple(data[at : at + 32] for at in range(1, keys_end, 32)))
        changes, at = int.from_bytes(data[keys_end : keys_end + 2], "big"), keys_end + 2
        if changes > MAX_RECONFIGURATIONS:
            raise InvalidCertificate(
                f"{changes} changes of the set, {MAX_RECONFIGURATIONS} are followed; ask another node"
            )
        reconfigurations = []
        for _ in range(changes):
            found, at = Reconfiguration.unpack_at(data, at)
            reconfigurations.append(found)
        return cls(founders, reconfigurations, Certificate.unpack(data[at:]))


@dataclass(frozen=True, slots=True)
class Finality:
    """A replica's report on the order. Only `vouched` can be verified: with `HeaderChain.certify`."""

    replica: int | None
    """Number of the answering replica in the voting set; None if it is not a member."""
    replicas: int
    leader: int
    view: int
    height: int
    """Height of the last final block that the replica has executed."""
    hash: bytes
    """Hash of its header."""
    generation: int
    """Number of the changes of the set of replicas."""
    vouched: Vouched | None
    """The newest certificate, if any, with all that leads to its replicas."""
