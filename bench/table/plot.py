#!/usr/bin/env python3
"""Draws the output of crates/table/examples/failed_inserts: standard input to SVG on standard output."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from plot import panels  # noqa: E402

parts = {}
for line in sys.stdin:
    part, curve, fill, failed = line.rstrip("\n").split("\t")
    parts.setdefault(part, {}).setdefault(curve, []).append((float(fill), float(failed)))
made = panels([(part, list(curves.items())) for part, curves in parts.items()], "full, in per cent", "failed, in per cent")
sys.stdout.write(made)
