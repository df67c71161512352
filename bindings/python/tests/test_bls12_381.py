from __future__ import annotations

import json
from typing import Final

import numpy as np
import pytest

from conftest import ROOT, table, verifiers
from turnpike_verify import Rule, Scheme, Verifier, pack

VECTORS: Final = ROOT / "vectors/bls12_381"
KEYS: Final = ROOT / "crates/verify/src/bls12_381/groth16/keys"


def test_signatures_of_ethereum() -> None:
    cases = list(json.loads((VECTORS / "ethereum/verify.json").read_text()).values())
    inputs = [case["input"] for case in cases]
    messages = pack([bytes.fromhex(given["message"]) for given in inputs])
    signatures = table([bytes.fromhex(given["signature"]) for given in inputs])
    keys = table([bytes.fromhex(given["pubkey"]) for given in inputs])
    for verifier in verifiers(Scheme.BLS12_381):
        codes = verifier.bls(messages, signatures, keys)
        assert [code == Rule.VALID for code in codes] == [case["output"] for case in cases]
        assert Rule.POINT_AT_INFINITY in codes
        assert Rule.BLS_MISMATCH in codes


def test_proofs_of_sapling() -> None:
    for name, inputs in (("spend", 7), ("output", 5)):
        key = (KEYS / f"sapling-{name}.vk").read_bytes()
        records = np.fromfile(VECTORS / f"sapling/{name}s.bin", np.uint8).reshape(-1, 192 + 32 * inputs)
        proofs, given = records[:, :192].copy(), records[:, 192:].copy()
        for verifier in verifiers(Scheme.BLS12_381):
            assert not verifier.groth16(key, proofs, given).any()
            bad = given.copy()
            bad[3, 0] ^= 1
            bad[5, :32] = 255
            codes = verifier.groth16(key, proofs, bad)
            assert np.flatnonzero(codes).tolist() == [3, 5]
            assert codes[[3, 5]].tolist() == [Rule.GROTH16_MISMATCH, Rule.SCALAR_RANGE]
            assert (verifier.groth16(key, proofs, given[:, 32:].copy()) == Rule.INPUT_COUNT).all()
    with pytest.raises(ValueError, match="verifying key"):
        Verifier().groth16(key[1:], proofs, given)


def test_products_of_pairings() -> None:
    cases = json.loads((VECTORS / "eip2537/pairing_check.json").read_text())
    products = pack([bytes.fromhex(case["Input"]) for case in cases])
    for verifier in verifiers(Scheme.BLS12_381):
        codes = verifier.pairings(products)
        assert [code == Rule.VALID for code in codes] == [case["Expected"].endswith("1") for case in cases]
        assert verifier.pairings(pack([b"", bytes(384)])).tolist() == [Rule.POINT_LENGTH, Rule.VALID]
