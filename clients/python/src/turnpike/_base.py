"""The roots of the errors, which the generated module needs."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    # In the standard library from Python 3.12 on; type checkers have it built in.
    from numpy.typing import NDArray
    from typing_extensions import Buffer as Buffer

    from ._protocol import Status

    # Before Python 3.12, type checkers do not know that arrays of numpy are buffers.
    Entries = Buffer | NDArray[Any]
else:
    Buffer = Entries = bytes | bytearray | memoryview


class Error(Exception):
    """Base of all errors of this library."""

    may_be_executed: bool = False
    """Whether the operation may have been executed nevertheless. If so, repeat it with the same transaction id."""

    transaction: uuid.UUID | None = None
    """Transaction id of the operation, if the error is about one."""

    def __str__(self) -> str:
        named = f"transaction {self.transaction}" if self.transaction else "it"
        advice = f"; {named} may have been executed: repeat it with the same id, and it is executed only once"
        return super().__str__() + (advice if self.may_be_executed else "")


class StatusError(Error):
    """A node's status other than `OK`. Each status has a subclass, which the schema generates."""

    status: ClassVar[Status]

    def __init__(self, *, value: int = 0, may_be_executed: bool = False) -> None:
        super().__init__()
        self.value = value
        """The source's balance; `DEPOSIT_REQUIRED`: the minimum deposit, `REPLY_TOO_LARGE`: the length needed,
        `PRUNED`: the first sequence that the node has."""
        self.may_be_executed = may_be_executed

    def __str__(self) -> str:
        deposit = f"; a payer opens it for a deposit of {self.value} or more"
        text = f"{self.status.name}: {self.status.advice}{deposit if self.status.name == 'DEPOSIT_REQUIRED' else ''}"
        return f"transaction {self.transaction}: {text}" if self.transaction else text
