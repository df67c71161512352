"""Reads the golden vectors of the repository."""

from collections.abc import Iterator

from .programs import ROOT


def records(name: str) -> Iterator[list[str]]:
    """The records of a file of vectors, with their fields."""
    for line in (ROOT / "vectors" / name).read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split(" ")


def octets(field: str) -> bytes:
    return bytes.fromhex(field.replace("-", ""))
