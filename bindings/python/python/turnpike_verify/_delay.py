"""Delay functions: repeated squaring modulo a number whose factors nobody knows."""

from __future__ import annotations

from collections.abc import Callable

from . import _native


def evaluate_delay(
    modulus: bytes, message: bytes, squarings: int, progress: Callable[[int], object] | None = None
) -> bytes:
    """Squares a message's hash ``squarings`` times, and proves the result.

    The modulus is an odd number of up to 512 bytes, most significant byte first and not zero. The proof includes the result,
    which `verify_delay` returns. ``progress`` is called occasionally, by the calling thread, with the number of squarings done;
    an exception that it raises ends the evaluation, and so does a keyboard interrupt. Uses one more thread for part of the time.

    Raises ValueError for an invalid modulus, or for zero squarings.
    """
    return _native.evaluate_delay(modulus, message, squarings, progress)


def verify_delay(modulus: bytes, message: bytes, squarings: int, proof: bytes) -> bytes | None:
    """Returns the result that a proof proves, as long as the modulus, in milliseconds; None if the proof is invalid for this delay.

    Raises ValueError for an invalid modulus.
    """
    return _native.verify_delay(modulus, message, squarings, proof)
