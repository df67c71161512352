"""All errors: one for every status of the protocol, and those of the client itself.

Every text states the reason and the remedy. `Error` is the base of all.
"""

from . import _protocol
from ._base import Error as Error
from ._base import StatusError as StatusError
from ._protocol import *  # noqa: F403 (the errors of statuses, which the schema generates)


class NoReply(Error):
    """No node answered in time."""


class Behind(Error):
    """A node did not execute up to a block in time."""


class WrongReply(Error):
    """A node's reply contradicts its request or the protocol."""


class WrongNetwork(Error):
    """A node belongs to another network."""


class QueueFull(Error):
    """More operations wait than the client accepts; nothing was sent."""


class Closed(Error):
    """The client was closed."""


class InvalidHeader(Error):
    """A header breaks a rule of the chain."""


class InvalidProof(Error):
    """A proof does not hold."""


class AssetChanged(Error):
    """An account was closed, and perhaps opened in another asset, since its balance was proved."""

    def __init__(self) -> None:
        super().__init__("the account was closed since its balance was proved; prove it again")


class UnknownBlock(InvalidProof):
    """The proof's block is not among the trusted headers."""

    def __init__(self, height: int) -> None:
        super().__init__(
            f"block {height} of the proof is not among the trusted headers; synchronise them, and ask again"
        )


class InvalidCertificate(Error):
    """A certificate, a set of replicas or a change of it does not hold."""


class Fork(Error):
    """The chain's key sealed two different headers of one height."""

    def __init__(self, height: int, known: bytes, other: bytes) -> None:
        super().__init__(
            f"the chain's key sealed two headers of height {height}: its holder reverted blocks, or somebody else has "
            "the key; the local headers are unchanged, ask the operator"
        )
        self.evidence = (known, other)
        """Both headers with their seals. Anybody can verify them with the chain's key."""


__all__ = [
    "Behind",
    "Closed",
    "Error",
    "Fork",
    "InvalidCertificate",
    "InvalidHeader",
    "InvalidProof",
    "NoReply",
    "QueueFull",
    "StatusError",
    "UnknownBlock",
    "WrongNetwork",
    "WrongReply",
]
__all__ += _protocol.__all__
