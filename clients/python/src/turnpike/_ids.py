"""Ids of accounts and of transactions."""

from __future__ import annotations

import os
import time
import uuid

KEYED_BIT = 1 << 127

_VERSION_7 = 0x7 << 76 | 0b10 << 62
_VERSION_AND_VARIANT = 0xF << 76 | 0b11 << 62


def account_bytes(account: int) -> bytes:
    """An account id as in frames. Raises `ValueError` if it does not have 128 bits."""
    if not 0 <= account < 1 << 128:
        raise ValueError(f"account {account} is not a number of 128 bits; use 0 to 2**127 - 1, or a keyed account's id")
    return account.to_bytes(16, "big")


def account_text(account: int) -> str:
    """An account id as people read it: a number, or 32 hexadecimal digits if it is long."""
    return str(account) if account < 1 << 64 else f"{account:032x}"


def transaction_id() -> uuid.UUID:
    """A new transaction id: a UUIDv7 with the present time."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    return uuid.UUID(int=(milliseconds << 80 | random & ~_VERSION_AND_VARIANT | _VERSION_7) & (1 << 128) - 1)


def transaction_ids(count: int) -> bytes:
    """New transaction ids of 16 bytes each, UUIDv7 with the present time, as entries of a batch hold them."""
    milliseconds = time.time_ns() // 1_000_000
    ids = bytearray(os.urandom(16 * count))
    for at, byte in enumerate((milliseconds & (1 << 48) - 1).to_bytes(6, "big")):
        ids[at::16] = bytes([byte]) * count
    ids[6::16] = ids[6::16].translate(_TO_VERSION)
    ids[8::16] = ids[8::16].translate(_TO_VARIANT)
    return bytes(ids)


_TO_VERSION = bytes(byte & 0x0F | 0x70 for byte in range(256))
_TO_VARIANT = bytes(byte & 0x3F | 0x80 for byte in range(256))


def carries_time(transaction: uuid.UUID) -> bool:
    """Whether an id has the form of a UUIDv7."""
    return transaction.int & _VERSION_AND_VARIANT == _VERSION_7
