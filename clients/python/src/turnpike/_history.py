"""Pages of histories, and the issued amounts of assets. Nothing in them is proved."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass

from . import _protocol as protocol
from ._ids import account_bytes
from ._operations import Operation
from ._protocol import Command, FrameType
from .errors import WrongReply

_OPEN_HOLDS, _CURSOR, _PRUNED = 1, 2, 4
"""Bits of the flags of a history frame."""


class Role(enum.IntEnum):
    """The part of an account in a transaction."""

    SOURCE = 1
    """The account pays, or the transaction is about it alone."""
    DESTINATION = 2
    """The account receives, or pays a deposit."""


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Selects transactions of a history. The default selects all."""

    commands: Collection[Command] = ()
    """The commands; empty for all."""
    role: Role | None = None
    """The part of the account."""
    counterpart: int = 0
    """The other account; 0 for any."""
    is_open_hold: bool = False
    """Select HOLDs whose amount is still held."""
    first_height: int = 0
    """Height of the first block."""
    end_height: int = 0
    """Height of the first block after those to select from; 0 for no end."""
    first_time: int = 0
    """Select from blocks made at this time or later, in microseconds since the Unix epoch."""
    end_time: int = 0
    """Select from blocks made before this time; 0 for no end."""


@dataclass(frozen=True, slots=True)
class PastTransaction:
    """A transaction of a history."""

    height: int
    """Height of its block."""
    position: int
    """Its position in the block. `prove_locator` proves it."""
    time: int
    """When the block was made, in microseconds since the Unix epoch."""
    operation: Operation


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of a history."""

    tip_height: int
    """Height of the node's tip."""
    transactions: tuple[PastTransaction, ...]
    """The transactions, the newest first. A page can be short, or empty, and still have more after it."""
    next: tuple[int, int] | None
    """The cursor of the next page, if there may be more."""
    first_retained: int | None
    """Height of the first block that is not pruned, if earlier transactions are."""


@dataclass(frozen=True, slots=True)
class AssetPage:
    """A part of the issued amounts by asset."""

    height: int
    """Height of the block that the amounts are as of."""
    issued: dict[int, int]
    """Issued amounts by code, ascending; of asset 0 less the deposits that were paid."""
    next: int | None
    """The first asset of the next page, if there are more."""


def pack_history(
    account: int, selected: HistoryFilter, cursor: tuple[int, int] | None, count: int, max_frame: int
) -> bytes:
    """A request, with room for all entries that fit a frame."""
    count = _fitting(count, max_frame, protocol.HISTORY_FRAME.size, protocol.HISTORY_ENTRY.size)
    flags = (_OPEN_HOLDS if selected.is_open_hold else 0) | (0 if cursor is None else _CURSOR)
    height, position = (0, 0) if cursor is None else cursor
    request = protocol.HistoryFrame(
        kind=FrameType.HISTORY,
        count=count,
        role=0 if selected.role is None else selected.role,
        flags=flags,
        commands=sum({1 << command for command in selected.commands}),
        first_height=selected.first_height,
        end_height=selected.end_height,
        first_time=selected.first_time,
        end_time=selected.end_time,
        cursor_height=height,
        cursor_position=position,
        account=account_bytes(account),
        counterpart=account_bytes(selected.counterpart),
    ).pack()
    return request.ljust(len(request) + count * protocol.HISTORY_ENTRY.size, b"\0")


def unpack_history(frame: bytes, cursor: tuple[int, int] | None) -> HistoryPage:
    """The page in a checked reply to a request with this cursor."""
    fixed, size = protocol.HistoryFrame.unpack(frame), protocol.HISTORY_ENTRY.size
    rows = []
    for at in range(protocol.HISTORY_FRAME.size, len(frame), size):
        entry = protocol.HistoryEntry.unpack(frame[at : at + size])
        try:
            operation = Operation.unpack(entry.operation)
        except ValueError as error:
            raise WrongReply("the node sent a transaction with an unknown command; update this library") from error
        rows.append(PastTransaction(entry.height, entry.position, entry.time, operation))
    following = (fixed.cursor_height, fixed.cursor_position) if fixed.flags & _CURSOR else None
    # Otherwise a client that continues at the cursor might not end, or count a transaction twice.
    places = [(row.height, row.position) for row in rows]
    ends = [following] if following else []
    if places != sorted(set(places), reverse=True) or (places and following and following > places[-1]):
        raise WrongReply("the node sent transactions out of order; ask another node")
    if cursor is not None and any(place >= cursor for place in places + ends):
        raise WrongReply("the node sent a page that does not follow its cursor; ask another node")
    first_retained = fixed.first_retained if fixed.flags & _PRUNED else None
    return HistoryPage(fixed.tip_height, tuple(rows), following, first_retained)


def pack_assets(first: int, count: int, max_frame: int) -> bytes:
    """A request, with room for all assets that fit a frame."""
    count = _fitting(count, max_frame, protocol.ASSETS_FRAME.size, protocol.ASSET_TOTAL.size)
    request = protocol.AssetsFrame(kind=FrameType.ASSETS, count=count, first_asset=first).pack()
    return request.ljust(len(request) + count * protocol.ASSET_TOTAL.size, b"\0")


def unpack_assets(frame: bytes) -> AssetPage:
    """The assets in a checked reply."""
    fixed, size = protocol.AssetsFrame.unpack(frame), protocol.ASSET_TOTAL.size
    totals = [
        protocol.AssetTotal.unpack(frame[at : at + size]) for at in range(protocol.ASSETS_FRAME.size, len(frame), size)
    ]
    codes = [total.asset for total in totals]
    # Otherwise a client that continues at `next` might not end, or count an asset twice.
    end = fixed.next_asset or 1 << 32
    if [fixed.first_asset - 1, *codes, end] != sorted({fixed.first_asset - 1, *codes, end}) or end <= fixed.first_asset:
        raise WrongReply("the node sent assets out of order; ask another node")
    issued = {total.asset: int.from_bytes(total.issued, "big") for total in totals}
    return AssetPage(fixed.tip_height, issued, fixed.next_asset or None)


def _fitting(count: int, max_frame: int, fixed: int, size: int) -> int:
    if count < 1:
        raise ValueError(f"a page of {count} entries is empty; ask for at least 1")
    return min(count, (max_frame - fixed) // size)
