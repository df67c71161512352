"""Counts, for each file, words that usually mark prose to rewrite, and comment lines wider than 120 columns.

`prose_budget.tsv` holds what each file may have. A file above its budget fails `scripts/check-prose`; one that is missing there
may have none. `scripts/check-prose --lower` lowers budgets to the present counts and never raises one, so counts only fall.

What counts as prose: Markdown outside of code; elsewhere comments, and in Rust also string literals of three words or more,
which are help texts, errors, log lines and reasons of assertions.
"""

import io
import re
import subprocess
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = Path(__file__).with_name("prose_budget.tsv")
COLUMNS = 120

MARKERS = re.compile(
    r"\b(?:tells?|told|telling|mend(?:s|ed|ing)?|that which|(?:so|as) many|but for|any ?more|is none|behind|has to|"
    r"(?:gives?|given) free|comes? to be|in turns|where there (?:is|are)|for want of|the other one|as it was|"
    r"what (?:is|was|are|has|it)|(?:for|of|by|to|from|than|as|and|or|but) who|who (?:is|has|takes|asks|sends|wants|waits))\b"
    r"|(?:^|[.:;] )who\b",
    re.IGNORECASE)
C_LIKE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.DOTALL)
RUST = re.compile(r'//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'', re.DOTALL)
HASH = re.compile(r"(?:^|\s)#[^\n]*")
# Other files are looked at if they are scripts.
SUFFIXES = {".md", ".rs", ".c", ".h", ".cpp", ".hpp", ".sv", ".svh", ".py", ".sh", ".toml", ".yml"}


def is_prose(literal):
    return len(re.findall(r"[A-Za-z]{2,}", literal)) >= 3


def parts(file, text):
    """The pieces of prose of a file."""
    suffix = file.suffix
    if suffix == ".md":
        yield re.sub(r"^(```.*?^```|    .*?$)|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    elif suffix == ".rs":
        for found in RUST.finditer(text):
            piece = found[0]
            if piece.startswith("/") or (piece[0] in 'r"' and is_prose(piece)):
                yield piece
    elif suffix in {".c", ".h", ".cpp", ".hpp", ".sv", ".svh"}:
        yield from (found[0] for found in C_LIKE.finditer(text) if found[0].startswith("/"))
    elif suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and is_prose(token.string)):
                yield token.string
    else:
        yield from (found[0] for found in HASH.finditer(text))


def counts(file, text):
    """(marker words, comment lines that are too wide)."""
    markers = sum(len(MARKERS.findall(re.sub(r"\s+(?://[/!]?|#|\*)?\s*", " ", part))) for part in parts(file, text))
    comment = re.compile(r"\s*(?://|#|\*)")
    wide = 0 if file.suffix == ".md" else sum(len(line) > COLUMNS and bool(comment.match(line)) for line in text.split("\n"))
    return markers, wide


def measured():
    """Counts of every file that has prose to rewrite."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE, text=True).stdout.split("\n")
    found = {}
    for name in filter(None, names):
        file = ROOT / name
        # The list of marker words is no prose.
        if name.startswith("vectors/") or file == Path(__file__).resolve() or not file.is_file():
            continue
        if file.suffix not in SUFFIXES:
            with file.open("rb") as start:
                if file.suffix or start.read(2) != b"#!":
                    continue
        found[name] = counts(file, file.read_text())
    return {name: pair for name, pair in found.items() if any(pair)}


def allowed():
    rows = (line.split("\t") for line in BUDGET.read_text().splitlines() if not line.startswith("#"))
    return {name: (int(markers), int(wide)) for markers, wide, name in rows}


def write(budget):
    rows = [f"{markers}\t{wide}\t{name}" for name, (markers, wide) in sorted(budget.items())]
    head = "# Made by scripts/check-prose --lower: marker words, wide comment lines, file."
    BUDGET.write_text("\n".join([head, *rows]) + "\n")


def lower():
    """Lowers budgets to the present counts."""
    now, budget = measured(), allowed()
    lowered = {name: tuple(map(min, pair, now.get(name, (0, 0)))) for name, pair in budget.items()}
    write({name: pair for name, pair in lowered.items() if any(pair)})


def problems():
    """(file, text) for each file above its budget."""
    budget = allowed()
    for name, (markers, wide) in sorted(measured().items()):
        may_markers, may_wide = budget.get(name, (0, 0))
        if markers > may_markers:
            yield name, f"{markers} marker words, {may_markers} allowed: {', '.join(words(ROOT / name))}"
        if wide > may_wide:
            yield name, f"{wide} comment lines wider than {COLUMNS} columns, {may_wide} allowed"


def words(file):
    return sorted({found[0].strip(" .:;").lower() for part in parts(file, file.read_text()) for found in MARKERS.finditer(part)})
