"""Operations, receipts, and the results of many operations at once."""

from __future__ import annotations

import sys
import uuid
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from . import _hash
from . import _protocol as protocol
from ._base import Error
from ._ids import account_bytes, carries_time, transaction_id
from ._protocol import BatchFormat, Command, Promise, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

CARRIES_TIME: Final = 1
"""Bit of an operation's flags: the transaction id is a UUIDv7, so no retry is ever executed a second time."""

HOLD_ENDS: Final = (Command.CAPTURE, Command.RELEASE, Command.RECLAIM)
"""Commands that end a hold. They have the hold's transaction id, which may be old, so it carries no time."""

LINKED: Final = 2
"""Bit of an operation's flags: it succeeds or fails with the next entry of its batch."""

ENTRY_SIZES: Final = {
    BatchFormat.OPERATION: protocol.OPERATION.size,
    BatchFormat.SIGNED: protocol.SIGNED_OPERATION.size,
}
"""Bytes of an entry in the formats that the client sends."""

# Statuses after which the operation may be executed although it was refused now.
_MAYBE = (Status.EXPIRED, Status.NOT_FINAL, Status.STORAGE_FAILED)
_FIRST_WITHOUT_TRACE = 16


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation. Repeating one with its transaction id executes it once.

    A `linked` operation succeeds or fails with the next one that `submit` sends; at most 64 form a chain.
    Accounts are numbers of 128 bits. A `transaction` that is not a UUIDv7 carries no time, so the client repeats such
    an operation only within the node's retry time.
    """

    command: Command
    source: int
    destination: int = 0
    amount: int = 0
    transaction: uuid.UUID = field(default_factory=transaction_id)
    contract: int = 0
    linked: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.amount < 1 << 64:
            raise ValueError(f"amount {self.amount} does not fit in 64 bits; use 0 to 2**64 - 1")
        if not 0 <= self.contract < 1 << 32:
            raise ValueError(f"contract code {self.contract} does not fit in 32 bits; use 0 to 2**32 - 1")

    @classmethod
    def create(cls, account: int, *, payer: int = 0, deposit: int = 0) -> Operation:
        """Creates an account. With a payer, which must sign, the payer pays the deposit."""
        return cls(Command.CREATE, account, payer, deposit)

    @classmethod
    def open(cls, account: int, asset: int, *, payer: int = 0, deposit: int = 0) -> Operation:
        """Creates an account of an asset, as `create` does. Nothing is paid between accounts of different assets."""
        return cls(Command.OPEN, account, payer, deposit, contract=asset)

    @classmethod
    def issue(cls, account: int, amount: int) -> Operation:
        """Issues new money to an account."""
        return cls(Command.ISSUE, account, 0, amount)

    @classmethod
    def transfer(
        cls, source: int, destination: int, amount: int, *, contract: int = 0, linked: bool = False
    ) -> Operation:
        """Transfers money."""
        return cls(Command.TRANSFER, source, destination, amount, contract=contract, linked=linked)

    @classmethod
    def hold(cls, source: int, destination: int, amount: int, *, expiry: int = 0, linked: bool = False) -> Operation:
        """Reserves an amount for the destination.

        The expiry is in seconds since the Unix epoch; 0 for a hold that does not expire. Keep the operation: those that
        end the hold are made from it.
        """
        return cls(Command.HOLD, source, destination, amount, contract=expiry, linked=linked)

    def capture(self, amount: int) -> Operation:
        """Ends this hold: the destination receives the amount, the source gets the rest back."""
        return self._end(Command.CAPTURE, amount)

    def release(self) -> Operation:
        """Ends this hold by its destination, and the source gets all of it back."""
        return self._end(Command.RELEASE, 0)

    def reclaim(self) -> Operation:
        """Ends this hold by its source, after its expiry."""
        return self._end(Command.RECLAIM, 0)

    def _end(self, command: Command, amount: int) -> Operation:
        return Operation(command, self.source, self.destination, amount, self.transaction, self.contract)

    @property
    def hold_id(self) -> int:
        """The id under which `prove_balance` finds the open hold that this operation made."""
        parties = account_bytes(self.source) + account_bytes(self.destination)
        named = parties + self.transaction.bytes + self.contract.to_bytes(4, "big")
        return int.from_bytes(_hash.hold(named)[:16], "big")

    @classmethod
    def freeze(cls, account: int) -> Operation:
        """Freezes an account: it receives, but cannot pay. An issuer signs for a keyed account."""
        return cls(Command.FREEZE, account)

    @classmethod
    def unfreeze(cls, account: int) -> Operation:
        """Lets a frozen account pay again."""
        return cls(Command.UNFREEZE, account)

    @classmethod
    def close(cls, account: int, *, linked: bool = False) -> Operation:
        """Closes an account, whose balance must be 0."""
        return cls(Command.CLOSE, account, linked=linked)

    @classmethod
    def refer(cls, account: int) -> Operation:
        """Reads the balance of an account."""
        return cls(Command.REFER, account)

    def pack(self) -> bytes:
        """The operation as an entry of a batch."""
        return protocol.OPERATION.pack(
            (CARRIES_TIME if carries_time(self.transaction) and self.command not in HOLD_ENDS else 0)
            | (LINKED if self.linked else 0),
            self.command,
            Status.OK,
            self.contract,
            self.transaction.bytes,
            account_bytes(self.source),
            account_bytes(self.destination),
            self.amount,
        )

    @classmethod
    def unpack(cls, entry: bytes) -> Operation:
        """Reads an operation from the start of these bytes, for example of a proved transaction."""
        read = protocol.Operation.unpack(entry)
        source, destination = int.from_bytes(read.source, "big"), int.from_bytes(read.destination, "big")
        transaction = uuid.UUID(bytes=read.transaction)
        linked = bool(read.flags & LINKED)
        return cls(Command(read.command), source, destination, read.amount, transaction, read.contract, linked)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A node's reply to an operation that was executed."""

    transaction: uuid.UUID
    """Id of the operation."""
    source: int
    """Its source account."""
    value: int
    """Balance of the source after the operation."""
    promise: Promise
    """The promise that the node made."""


def receipt(entry: bytes, value: int, promise: Promise) -> Receipt:
    """The receipt of an executed operation."""
    operation = protocol.Operation.unpack(entry)
    return Receipt(uuid.UUID(bytes=operation.transaction), int.from_bytes(operation.source, "big"), value, promise)


def refused(entry: bytes, status: Status, value: int, was_sent_before: bool) -> Error:
    """The error of a refused operation.

    Statuses with low codes are the result of the first execution. The others are about this attempt only, so an
    earlier attempt without a reply may have been executed.
    """
    operation = protocol.Operation.unpack(entry)
    may = operation.command != Command.REFER and (
        status in _MAYBE or (was_sent_before and status >= _FIRST_WITHOUT_TRACE)
    )
    error = protocol.STATUS_ERRORS[status](value=value, may_be_executed=may)
    error.transaction = uuid.UUID(bytes=operation.transaction)
    return error


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a buffer of operations, in its order, without a Python object per operation."""

    entries: bytes
    """The replies: the operations with their statuses, and values in place of amounts."""
    format: BatchFormat
    promise: Promise
    """The weakest promise that the node made for any of them."""

    def __len__(self) -> int:
        return len(self.entries) // ENTRY_SIZES[self.format]

    @property
    def statuses(self) -> array[int]:
        """Codes of `Status`: an array of unsigned 16-bit numbers, which numpy reads in place."""
        return self._column("status", "H")

    @property
    def values(self) -> array[int]:
        """Balances of the sources after each operation: an array of unsigned 64-bit numbers."""
        return self._column("amount", "Q")

    @property
    def is_ok(self) -> bool:
        """Whether all operations were executed."""
        return not any(any(column) for column in columns(self.entries, self.format, "status"))

    def failures(self) -> Iterator[tuple[int, Status]]:
        """Positions and statuses of the operations that were not executed."""
        if not self.is_ok:
            yield from ((at, Status(code)) for at, code in enumerate(self.statuses) if code)

    def error(self, position: int) -> Error | None:
        """The error of the operation at a position; None if it was executed."""
        size = ENTRY_SIZES[self.format]
        entry = self.entries[position * size :][:size]
        read = protocol.Operation.unpack(entry)
        return refused(entry, Status(read.status), read.amount, False) if read.status else None

    def numpy(self) -> NDArray[Any]:
        """The replies as a structured array in place, `turnpike.arrays.OPERATION` or `SIGNED_OPERATION`."""
        from . import arrays

        return arrays.results(self.entries, self.format)

    def _column(self, name: str, code: str) -> array[int]:
        parts = columns(self.entries, self.format, name)
        numbers = bytearray(len(self) * len(parts))
        for at, part in enumerate(parts):
            numbers[at :: len(parts)] = part
        column = array(code, bytes(numbers))
        if sys.byteorder == "little":
            column.byteswap()
        return column


def columns(entries: bytes, format: BatchFormat, name: str) -> list[bytes]:
    """The bytes of a field of all entries: first bytes, second bytes, and so on."""
    size = ENTRY_SIZES[format]
    column = protocol.OPERATION_COLUMNS[name]
    return [entries[at::size] for at in column]
