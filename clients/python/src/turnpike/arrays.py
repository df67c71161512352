"""Batches as arrays of numpy: `pip install turnpike[numpy]`.

`OPERATION` is the structured type of a batch's entries. Ids have two numbers: `operations["source"]["low"] = ...`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _ids
from . import _protocol as protocol
from ._operations import CARRIES_TIME
from ._protocol import BatchFormat, Command

OPERATION: np.dtype[Any] = np.dtype(protocol.OPERATION_DTYPE)
"""An operation, 64 bytes, big-endian as in frames."""
SIGNED_OPERATION: np.dtype[Any] = np.dtype(protocol.SIGNED_OPERATION_DTYPE)
"""A signed operation, 184 bytes."""


def operations(command: Command, count: int) -> NDArray[Any]:
    """Operations with new transaction ids that carry the present time; all other fields are zero."""
    entries = np.zeros(count, OPERATION)
    entries["flags"] = CARRIES_TIME
    entries["command"] = command
    entries["transaction"] = np.frombuffer(_ids.transaction_ids(count), OPERATION["transaction"])
    return entries


def transfers(source: ArrayLike, destination: ArrayLike, amount: ArrayLike) -> NDArray[Any]:
    """Transfers between open accounts with ids of at most 64 bits. Arguments are broadcast against each other."""
    columns = np.broadcast_arrays(*map(_unsigned, (source, destination, amount)))
    entries = operations(Command.TRANSFER, columns[0].size)
    for field, column in zip(
        (entries["source"]["low"], entries["destination"]["low"], entries["amount"]), columns, strict=True
    ):
        field[:] = column.ravel()
    return entries


def results(entries: bytes, format: BatchFormat) -> NDArray[Any]:
    """The replies of a batch, in place."""
    array: NDArray[Any] = np.frombuffer(entries, SIGNED_OPERATION if format is BatchFormat.SIGNED else OPERATION)
    return array


def _unsigned(numbers: ArrayLike) -> NDArray[Any]:
    """numpy would wrap negative numbers around and cut fractions off."""
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "i" and array.size and array.min() < 0):
        raise ValueError("accounts and amounts must be integers of at least 0; convert them first")
    return array
