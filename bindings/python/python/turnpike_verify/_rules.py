"""The rules of all schemes, with the numbers that the wire and C have for them too."""

from __future__ import annotations

import enum
from typing import Final

from . import _native

_MESSAGES: Final = {number: message for _, number, message in _native.RULES}


class Rule(enum.IntEnum):
    """The code of an item: the rule that it breaks, or none."""

    VALID = 0
    EQUIHASH_LENGTH = 1
    EQUIHASH_COLLISION = 2
    EQUIHASH_ORDER = 3
    EQUIHASH_DUPLICATE = 4
    EQUIHASH_ROOT = 5
    HEADER_SOLUTION_LENGTH = 8
    HEADER_TARGET = 9
    HEADER_DIFFICULTY = 10
    SIGNATURE_RANGE = 16
    SIGNATURE_HIGH_S = 17
    KEY_ENCODING = 18
    KEY_NOT_ON_CURVE = 19
    SIGNATURE_MISMATCH = 20
    SIGNATURE_LENGTH = 21
    SIGNATURE_DER_STRUCTURE = 22
    SIGNATURE_DER_NEGATIVE = 23
    SIGNATURE_DER_PADDING = 24
    KEY_HYBRID = 25
    KEY_RANGE = 26
    KEY_PARITY = 27
    NONCE_NOT_ON_CURVE = 28
    RECOVERY_ID = 29
    NO_KEY = 30
    MERKLE_ROOT = 32
    MERKLE_REPEATED = 33
    POINT_LENGTH = 40
    POINT_FLAGS = 41
    POINT_INFINITY_BITS = 42
    COORDINATE_PADDING = 43
    COORDINATE_RANGE = 44
    POINT_NOT_ON_CURVE = 45
    POINT_NOT_IN_SUBGROUP = 46
    SCALAR_RANGE = 47
    POINT_AT_INFINITY = 48
    KEY_COUNT = 49
    INPUT_COUNT = 50
    BLS_MISMATCH = 51
    GROTH16_MISMATCH = 52
    PAIRING_MISMATCH = 53
    DELAY_FORM = 56
    DELAY_MODULUS = 57
    DELAY_RANGE = 58
    DELAY_INPUT = 59
    DELAY_CANONICAL = 60
    DELAY_MISMATCH = 61
    NOT_VERIFIED = 255

    @property
    def message(self) -> str:
        """The rule that is broken, in words."""
        if self is Rule.VALID:
            return "no rule is broken"
        return _MESSAGES.get(self, "the item was not verified")
