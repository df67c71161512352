from __future__ import annotations

import re
import subprocess
import sys

from conftest import ROOT

CHAPTER = ROOT / "docs/bindings.md"


def test_the_program_of_the_chapter_runs() -> None:
    programs = re.findall(r"^```python\n(.*?)^```$", CHAPTER.read_text(), re.MULTILINE | re.DOTALL)
    assert programs, "the chapter has no program"
    for program in programs:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("0 valid\n1 ")
