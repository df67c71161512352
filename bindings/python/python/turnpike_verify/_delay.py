"""Delay functions: repeated squaring modulo a number whose factors nobody knows."""

from __future__ import annotations

from collections.abc import Callable

from . import _native


def evaluate_delay(
    modulus: bytes, message: bytes, squarings: int, progress: Callable[[int], object] | None = None
) -> bytes:
    """Squares the number that a message is hashed to, so many times, and proves the result.

    The modulus is an odd number of up to 512 bytes, the highest byte, not zero, first. The proof has the result in it, which
    `verify_delay` gives. ``progress`` is called now and then, by the calling thread, with the squarings that are done; an exception
    that it raises ends the evaluation, and so does an interrupt from the keyboard. It takes one more thread for a while.

    Raises ValueError for a number that is no modulus, or if there is nothing to square.
    """
    return _native.evaluate_delay(modulus, message, squarings, progress)


def verify_delay(modulus: bytes, message: bytes, squarings: int, proof: bytes) -> bytes | None:
    """The result that a proof proves, as many bytes as the modulus has, in milliseconds; None if it proves none of this delay.

    Raises ValueError for a number that is no modulus.
    """
    return _native.verify_delay(modulus, message, squarings, proof)
