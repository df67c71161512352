from __future__ import annotations

import hashlib
from typing import Final

import pytest

from turnpike_verify import evaluate_delay, verify_delay

MODULUS: Final = bytes((37 * at & 255) | 0x81 for at in range(128))
MESSAGE: Final = b"message"
SQUARINGS: Final = 1000


def squared(modulus: bytes, message: bytes, squarings: int) -> bytes:
    """As in docs/delay.md, with Python's integers."""
    n = int.from_bytes(modulus)
    blocks = -(-(len(modulus) + 16) // 32)
    tag = 2 * hashlib.sha256(b"turnpike/vdf/input").digest()
    wide = b"".join(hashlib.sha256(tag + block.to_bytes(8) + message).digest() for block in range(blocks))
    result = pow(int.from_bytes(wide) % n, 2**squarings, n)
    return min(result, n - result).to_bytes(len(modulus))


def test_results_are_those_of_plain_numbers() -> None:
    for length in (1, 8, 64, 128, 256, 512):
        modulus = (MODULUS * 4)[:length]
        for squarings in (1, 2, 65, SQUARINGS):
            proof = evaluate_delay(modulus, MESSAGE, squarings)
            assert verify_delay(modulus, MESSAGE, squarings, proof) == squared(modulus, MESSAGE, squarings)


def test_what_is_of_another_delay_proves_nothing() -> None:
    proof = evaluate_delay(MODULUS, MESSAGE, SQUARINGS)
    assert verify_delay(MODULUS, b"another", SQUARINGS, proof) is None
    assert verify_delay(MODULUS, MESSAGE, SQUARINGS + 1, proof) is None
    assert verify_delay(MODULUS, MESSAGE, SQUARINGS, proof[:-1]) is None
    assert verify_delay(MODULUS, MESSAGE, SQUARINGS, b"") is None
    for at in range(0, len(proof), 7):
        bad = bytearray(proof)
        bad[at] ^= 1
        assert verify_delay(MODULUS, MESSAGE, SQUARINGS, bytes(bad)) is None


def test_progress_is_seen_and_may_end_it() -> None:
    seen: list[int] = []
    assert evaluate_delay(MODULUS, MESSAGE, SQUARINGS, seen.append) == evaluate_delay(MODULUS, MESSAGE, SQUARINGS)
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert all(done < SQUARINGS for done in seen)

    def interrupt(done: int) -> None:
        if done > SQUARINGS // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_delay(MODULUS, MESSAGE, SQUARINGS, interrupt)


def test_wrong_arguments() -> None:
    for modulus in (b"", b"\x04", b"\x00" + MODULUS, b"\x81" * 513):
        with pytest.raises(ValueError, match="modul"):
            evaluate_delay(modulus, MESSAGE, SQUARINGS)
        with pytest.raises(ValueError, match="modul"):
            verify_delay(modulus, MESSAGE, SQUARINGS, b"")
    with pytest.raises(ValueError, match="at least one squaring"):
        evaluate_delay(MODULUS, MESSAGE, 0)
    with pytest.raises(ValueError, match="is not a number of squarings"):
        evaluate_delay(MODULUS, MESSAGE, -1)
