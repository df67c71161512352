#!/usr/bin/env python3
"""Prints the end of a waveform: `rtl/wave.py FILE.vcd [--cycles 48] [--scope u_fifo] [--signals 'valid|ready']`.

One line per signal: a curve for one bit; for more bits, the values and the cycles in which they appear. Times are those of
the testbenches: the clock rises at odd ones.
"""

import argparse
import re
from collections import deque
from pathlib import Path


def variables(lines):
    """All signals: their scopes, name, width and code. Reads the header and leaves the values in `lines`."""
    scopes = []
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "$scope":
            scopes.append(words[2])
        elif words[0] == "$upscope":
            scopes.pop()
        elif words[0] == "$var":
            yield tuple(scopes), words[4], int(words[2]), words[3]
        elif words[0] == "$enddefinitions":
            return


def signals(lines, scope, pattern):
    """The selected signals by code: names and widths."""
    chosen = {}
    for scopes, name, width, code in variables(lines):
        is_in = scopes[-1] == scope if scope else len(scopes) == 1
        if is_in and re.search(pattern, name):
            chosen.setdefault(code, (name, width))
    return chosen


def samples(lines, chosen, cycles):
    """The last cycles: their numbers, and the values at the rising edge."""
    values, last, time = {}, deque(maxlen=cycles), 0
    for line in lines:
        first = line[:1]
        if first == "#":
            if time % 2:
                last.append((time // 2, dict(values)))
            time = int(line[1:])
        elif first == "b":
            value, code = line[1:].split()
            if code in chosen:
                values[code] = value
        elif first in "01xz" and first:
            code = line[1:].strip()
            if code in chosen:
                values[code] = first
    return list(last)


def curve(column):
    return "".join({"0": "_", "1": "‾"}.get(value, "x") for value in column)


def changes(numbers, column):
    text, before = [], None
    for number, value in zip(numbers, column):
        if value != before:
            text.append(f"{number}:{int(value, 2):x}" if value and set(value) <= {"0", "1"} else f"{number}:x")
            before = value
    return " ".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cycles", type=int, default=48, help="how many, up to the last one")
    parser.add_argument("--scope", help="the instance whose signals to print; the ports of the top if not given")
    parser.add_argument("--signals", default="", help="only those whose names match")
    options = parser.parse_args()
    with options.file.open() as lines:
        chosen = signals(lines, options.scope, options.signals)
        last = samples(lines, chosen, options.cycles)
    if not last or not chosen:
        raise SystemExit(f"{options.file}: no such signals, or no cycles")
    numbers = [number for number, _ in last]
    print(f"{options.file}, cycles {numbers[0]} to {numbers[-1]}")
    width = max(len(name) for name, _ in chosen.values())
    for code, (name, bits) in chosen.items():
        column = [values.get(code, "") for _, values in last]
        print(f"{name:{width}}  {curve(column) if bits == 1 else changes(numbers, column)}")


if __name__ == "__main__":
    main()
