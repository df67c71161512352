from collections.abc import Iterator
from pathlib import Path

import pytest

from .programs import Node


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that tests share; each uses its own accounts."""
    with Node(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture
def own_node(tmp_path: Path) -> Iterator[Node]:
    """A node that a test may kill."""
    with Node(tmp_path) as running:
        yield running
