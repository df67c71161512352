from __future__ import annotations

from hashlib import sha256

import numpy as np

from conftest import COUNTS, table, verifiers
from turnpike_verify import Packed, Policy, Rule, Scheme, Verifier, pack

Block = tuple[list[bytes], list[bytes], list[bytes]]


def test_real_signatures_of_every_count(block: Block) -> None:
    digests = table(block[0])
    for verifier in verifiers(Scheme.SECP256K1):
        for count in COUNTS:
            signatures, keys = pack(block[1][:count]), pack(block[2][:count])
            some = digests[:count].copy()
            codes = verifier.ecdsa(some, signatures, keys, Policy.BITCOIN)
            assert codes.shape == (count,)
            assert codes.dtype == np.uint8
            assert not codes.any()
            if count:
                some[count // 2, 5] ^= 1
                codes = verifier.ecdsa(some, signatures, keys, Policy.BITCOIN)
                assert np.flatnonzero(codes).tolist() == [count // 2]
                assert codes[count // 2] == Rule.SIGNATURE_MISMATCH


def test_wycheproof(wycheproof: list[dict[str, str]]) -> None:
    assert len(wycheproof) > 80
    digests = table([sha256(bytes.fromhex(test["message"])).digest() for test in wycheproof])
    signatures = pack([bytes.fromhex(test["signature"]) for test in wycheproof])
    uncompressed = table([bytes.fromhex(test["key"]) for test in wycheproof])
    compressed = uncompressed[:, :33].copy()
    compressed[:, 0] = 2 + (uncompressed[:, 64] & 1)
    for verifier in verifiers(Scheme.SECP256K1):
        for keys in (uncompressed, compressed):
            codes = verifier.ecdsa(digests, signatures, keys, Policy.DER)
            for test, code in zip(wycheproof, codes, strict=True):
                assert (code == Rule.VALID) == (test["result"] == "valid"), (test, Rule(code))


def test_wycheproof_names_the_rule(wycheproof: list[dict[str, str]]) -> None:
    test = next(test for test in wycheproof if test["comment"].startswith("Signature malleability"))
    arguments = (
        table([sha256(bytes.fromhex(test["message"])).digest()]),
        table([bytes.fromhex(test["signature"])]),
        table([bytes.fromhex(test["key"])]),
    )
    verifier = Verifier()
    assert verifier.ecdsa(*arguments, Policy.DER).tolist() == [Rule.SIGNATURE_HIGH_S]
    assert verifier.ecdsa(*arguments, Policy.DER | Policy.NORMALISE_HIGH_S).tolist() == [Rule.VALID]
    assert verifier.ecdsa(*arguments).tolist() == [Rule.SIGNATURE_LENGTH]


def test_keys_of_real_signatures_are_recovered(block: Block) -> None:
    expected = table([bytes([2 + (key[0] & 1)]) + key[1:33] for key in block[2]])
    short = np.array([len(key) == 33 for key in block[2]])
    digests, signatures = table(block[0]), pack(block[1])
    for verifier in verifiers(Scheme.SECP256K1):
        even, odd, wrong, beyond = (
            verifier.recover_ecdsa(digests, signatures, np.full(1000, number, np.uint8), Policy.BITCOIN)
            for number in (0, 1, 2, 4)
        )
        assert not even[1].any()
        assert not odd[1].any()
        matches = (even[0] == expected).all(axis=1) ^ (odd[0] == expected).all(axis=1)
        assert matches[short].all()
        for keys, codes in (wrong, beyond):
            assert (codes == Rule.RECOVERY_ID).all()
            assert not keys.any()


def test_bip340(bip340: list[dict[str, str]]) -> None:
    assert len(bip340) == 19
    messages = pack([bytes.fromhex(vector["message"]) for vector in bip340])
    signatures = table([bytes.fromhex(vector["signature"]) for vector in bip340])
    keys = table([bytes.fromhex(vector["public key"]) for vector in bip340])
    rules = {
        "public key not on the curve": Rule.KEY_NOT_ON_CURVE,
        "negated message": Rule.SIGNATURE_MISMATCH,
        "sig[0:32] is equal to field size": Rule.SIGNATURE_RANGE,
        "sig[32:64] is equal to curve order": Rule.SIGNATURE_RANGE,
    }
    for verifier in verifiers(Scheme.SECP256K1):
        codes = verifier.schnorr(messages, signatures, keys)
        for vector, code in zip(bip340, codes, strict=True):
            assert (code == Rule.VALID) == (vector["verification result"] == "TRUE"), (vector, Rule(code))
            assert code == rules.get(vector["comment"], code), (vector, Rule(code))
        # Repeat with all lanes and all threads in use.
        many = 53
        packed = pack([bytes.fromhex(vector["message"]) for vector in bip340] * many)
        again = verifier.schnorr(packed, np.tile(signatures, (many, 1)), np.tile(keys, (many, 1)))
        assert again.tolist() == codes.tolist() * many


def test_nothing_is_valid() -> None:
    nothing = pack([])
    for verifier in verifiers(Scheme.SECP256K1):
        assert verifier.ecdsa(np.empty((0, 32), np.uint8), nothing, nothing).shape == (0,)
        empty = np.empty((0, 64), np.uint8)
        assert verifier.schnorr(nothing, empty, np.empty((0, 32), np.uint8)).shape == (0,)


def test_pack() -> None:
    data, offsets = pack([b"ab", b"", b"cde"])
    assert bytes(data) == b"abcde"
    assert np.asarray(offsets).tolist() == [0, 2, 2, 5]
    assert isinstance(pack([]), Packed)
