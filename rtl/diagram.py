"""Draws a pipeline from a waveform: a line for each stage, and for each cycle a box with the stage's contents.

A stage is `{ name, valid, value, high, low }`: its label, the path of its valid signal, the path of its value, and the
bits of the value to show. Paths begin below the top; times are those of the testbenches, see wave.py.
"""

from pathlib import Path
from xml.sax.saxutils import escape

from wave import samples, variables

CELL, ROW, LABEL, HEAD = 30, 24, 300, 30
# One per operation, so that the eye can follow it; light enough for black text in print.
COLOURS = ["#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#ffff99"]


def paths(lines):
    """Maps paths below the top to the codes of signals."""
    return {".".join([*scopes[2:], name]): code for scopes, name, _, code in variables(lines)}


def contents(found, stages, cycles):
    """Contents of each stage in each cycle: a number, or None."""
    rows = []
    for stage in stages:
        row = []
        for _, values in cycles:
            is_there = values.get(found[stage["valid"]], "0") == "1"
            bits = values.get(found[stage["value"]], "0")
            row.append(int(bits, 2) >> stage["low"] & (1 << stage["high"] - stage["low"] + 1) - 1 if is_there else None)
        rows.append(row)
    return rows


def draw(file, stages, count):
    """The last `count` cycles with any activity, as the text of an SVG."""
    with Path(file).open() as lines:
        found = paths(lines)
        for path in [stage[key] for stage in stages for key in ("valid", "value")]:
            if path not in found:
                raise SystemExit(f"{file}: there is no {path}; there are {', '.join(sorted(found)[:400])}")
        cycles = samples(lines, dict.fromkeys(found.values()), 1000)
    rows = contents(found, stages, cycles)
    last = max(at for row in rows for at, value in enumerate(row) if value is not None)
    first = next(at for at in range(max(0, last + 1 - count), last + 1) if any(row[at] is not None for row in rows))
    width, height = LABEL + CELL * (last + 1 - first) + 1, HEAD + ROW * len(stages) + 6
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for at in range(first, last + 1):
        x = LABEL + CELL * (at - first)
        out.append(f'<text x="{x + CELL / 2}" y="{HEAD - 12}" text-anchor="middle" fill="#555">{at - first + 1}</text>')
        out.append(f'<path d="M{x} {HEAD - 6}V{height}" stroke="#ddd"/>')
    for number, (stage, row) in enumerate(zip(stages, rows)):
        y = HEAD + ROW * number
        out.append(f'<text x="4" y="{y + 16}">{escape(stage["name"])}</text>')
        for at in range(first, last + 1):
            if row[at] is not None:
                x, colour = LABEL + CELL * (at - first), COLOURS[row[at] % len(COLOURS)]
                out.append(f'<rect x="{x + 1}" y="{y + 2}" width="{CELL - 2}" height="{ROW - 4}" rx="4" fill="{colour}" stroke="#666"/>')
                out.append(f'<text x="{x + CELL / 2}" y="{y + 16}" text-anchor="middle">{row[at]}</text>')
    return "\n".join([*out, "</svg>", ""])
