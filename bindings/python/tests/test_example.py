from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

EXAMPLE = Path(__file__).parents[1] / "examples/block.py"
BLOCK = ROOT / "vectors/secp256k1/bitcoin_block_413567.bin"


def run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, EXAMPLE, path], capture_output=True, text=True, check=False)


def test_a_real_block() -> None:
    done = run(BLOCK)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5815 of 5815 signatures are valid\n", "")


def test_a_broken_signature_is_named(tmp_path: Path) -> None:
    data = bytearray(BLOCK.read_bytes())
    data[7] ^= 1
    (tmp_path / "broken").write_bytes(data)
    done = run(tmp_path / "broken")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "signature 0: the signature is not valid for this message and this key",
        "5814 of 5815 signatures are valid",
    ]
