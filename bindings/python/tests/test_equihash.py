from __future__ import annotations

import numpy as np
import pytest

from conftest import table, verifiers
from turnpike_verify import Rule, Scheme, Verifier, pack

Vectors = list[tuple[int, int, str, bytes, bytes]]


def test_published_vectors_fail_for_the_rule_that_they_name(equihash: Vectors) -> None:
    assert equihash
    for verifier in verifiers(Scheme.EQUIHASH):
        for n, k, rule, given, solution in equihash:
            expected = Rule.VALID if rule == "valid" else Rule["EQUIHASH_" + rule.upper()]
            codes = verifier.equihash(n, k, pack([given] * 3), pack([solution, solution[1:], solution]))
            assert codes.tolist() == [expected, Rule.EQUIHASH_LENGTH, expected]
            other = verifier.equihash(n, k, table([given]), table([solution]), personalisation=b"BitcoinZ")
            assert other[0] != Rule.VALID


@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_headers_of_zcash(zcash_header: bytes, count: int) -> None:
    headers = table([zcash_header]).repeat(count, axis=0)
    for verifier in verifiers(Scheme.EQUIHASH):
        assert verifier.zcash_headers(headers).tolist() == [Rule.VALID] * count


def test_broken_headers(zcash_header: bytes) -> None:
    headers = table([zcash_header]).repeat(4, axis=0)
    headers[1, 140] = 0xFC
    headers[2, 107] = 0xFF
    headers[3, 0] ^= 1
    expected = [Rule.VALID, Rule.HEADER_SOLUTION_LENGTH, Rule.HEADER_TARGET, Rule.HEADER_DIFFICULTY]
    for verifier in verifiers(Scheme.EQUIHASH):
        assert verifier.zcash_headers(headers).tolist() == expected


def test_parameters_that_cannot_be_verified() -> None:
    one = np.zeros((1, 4), np.uint8)
    with pytest.raises(ValueError, match=r"\(201,9\) are not parameters of Equihash"):
        Verifier().equihash(201, 9, one, one)
    with pytest.raises(ValueError):
        Verifier().equihash(200, 9, one, one, personalisation=b"short")
