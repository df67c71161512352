"""The README's and the example's code runs as it is."""

import re
import runpy
from pathlib import Path

import pytest

from .programs import Node

HERE = Path(__file__).resolve().parents[1]


def test_the_readme_runs(own_node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)
    first, second, held, linked, fed = blocks
    exec(compile(first.replace("127.0.0.1:7400", own_node.address), "README.md", "exec"), {})
    printed = re.findall(r"# (.+)", first)
    assert capsys.readouterr().out.splitlines() == printed
    exec(compile(second.replace("127.0.0.1:7400", own_node.address), "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("True [0 0 0 0 0 0 0 0 0 0] 695")
    exec(compile(held.replace("127.0.0.1:7400", own_node.address), "README.md", "exec"), {})
    assert capsys.readouterr().out == "held: 670 left\ncaptured: 675 left\n"
    exec(compile(linked.replace("127.0.0.1:7400", own_node.address), "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("True [575, ")
    exec(compile(fed.replace("127.0.0.1:7400", own_node.address), "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[:4] == ["1 CREATE OK 0", "2 CREATE OK 0", "3 ISSUE OK 1000", "4 TRANSFER OK 750"]
    assert printed[4] == "5 TRANSFER INSUFFICIENT_BALANCE 750"
    assert len(printed) == 5 + 10 + 2 + 2


def test_the_example_runs(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(HERE / "examples" / "shop.py"))
    for _ in range(2):
        example["main"](node.address)
        printed = capsys.readouterr().out
        assert "the customer has 380 left" in printed
        assert "refused: transaction" in printed
        assert "1000 suppliers paid, durable: True" in printed
        assert "proved: the shop has 120 in block" in printed
