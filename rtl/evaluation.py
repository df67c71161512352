"""Plots of the key-value store beside "A hash table for line-rate data processing", of rtl/kv/evaluation.tsv.

`KEEP_CYCLES=1 make rtl-test NAMES=kv_evaluation` measures it in cycles."""

import collections
import sys
from pathlib import Path

RTL = Path(__file__).resolve().parent
DOCS = RTL.parent / "docs"
MEASURED = RTL / "kv" / "evaluation.tsv"

sys.path.insert(0, str(RTL.parent / "bench"))

from plot import panels  # noqa: E402

# The paper's figures, as its text has them (sections 5.1, 6 and 6.1), in millions: requests of the table in simulation,
# bytes that 10 Gbit/s carry in a microsecond, a packet without its key, entries of the concurrency control unit.
TABLE, LINK, OVERHEAD, SECTION = 31.0, 10_000 / 8, 90, 64
# Preamble, check sequence and gap of a packet on the wire, and headers up to memcached's.
WIRE, HEADERS = 24, 42 + 8 + 24


def measured():
    """Cycles by plot and curve: points of a varied and a measured number."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in MEASURED.read_text().splitlines():
        plot, curve, across, up = line.split("\t")
        found[plot][curve].append((float(across), float(up)))
    return found


def collides(percent, working_set):
    """The paper's probability, in per cent, that an operation waits for a write."""
    return 100 * (1 - (1 - percent / 100 / working_set) ** SECTION)


def plots(mhz):
    """Paths and plots, at a clock."""
    found = measured()
    rate = lambda points: [(across, mhz / cycles) for across, cycles in points]
    keys, values = found["keys"], found["values"]
    link = lambda points, size: [(across, LINK / size(across)) for across, _ in points]
    paper = lambda points: [(across, TABLE) for across, _ in points if across <= 168]
    by_key = [
        ("reads by key size", [("GET", rate(keys["GET"])), ("get", rate(keys["get"])),
                               ("paper: 10 Gbit/s", link(keys["GET"], lambda key: OVERHEAD + key)), ("paper: table, most", paper(keys["GET"]))]),
        ("writes by key size", [("SET", rate(keys["SET"])), ("paper: 10 Gbit/s", link(keys["SET"], lambda key: OVERHEAD + key)),
                                ("paper: table, most", paper(keys["SET"]))])]
    # The replies to reads have flags, requests that write have flags, expiration and a key of 16 bytes.
    by_value = [
        ("reads by value size", [("GET", rate(values["GET"])), ("get", rate(values["get"])),
                                 ("replies at 10 Gbit/s", link(values["GET"], lambda value: WIRE + HEADERS + 4 + value))]),
        ("writes by value size", [("SET", rate(values["SET"])), ("requests at 10 Gbit/s", link(values["SET"], lambda value: WIRE + HEADERS + 8 + 16 + value))])]
    sets = found["mixes"]
    by_mix = [
        ("million requests/s, a quarter of the writes DELETE", [(f"{name} keys" if name != "1" else "one key", rate(points)) for name, points in sets.items()]
         + [("paper: 10 Gbit/s", [(0, LINK / (OVERHEAD + 6)), (100, LINK / (OVERHEAD + 6))])]),
        ("operations that wait, in per cent", [(f"{name} keys" if name != "1" else "one key", points) for name, points in found["waits"].items()]
         + [(f"paper's formula, {name} keys", [(across, collides(across, name)) for across, _ in sets["1"]]) for name in (8, 500)])]
    by_fill = [("rate by fill", [(name, rate(found["fill"][name])) for name in ("GET", "SET")]),
               ("inserts without room, in per cent", [("of those since the point before", found["refused"]["inserts"])])]
    millions = "million requests/s"
    return {DOCS / "kv-keys.svg": panels(by_key, "bytes of the key, value of 1", millions),
            DOCS / "kv-values.svg": panels(by_value, "bytes of the value, key of 16", millions),
            DOCS / "kv-mixes.svg": panels(by_mix, "writes, in per cent", ""),
            DOCS / "kv-fill.svg": panels(by_fill, "full, in per cent", "")}


# What ends with each event of a lone GET, in order.
STAGES = {"operation": "parser and fingerprint", "table": "table", "item": "dispatch, memory, the item's header",
          "reply": "comparison, verdict, first word of the reply", "checksum": "checksum"}


def stages():
    """A table of the cycles of a lone request by stage."""
    found = measured()["stages"]
    columns = [("GET, key of 16 bytes", "", 16.0), ("GET, key of 168 bytes", "", 168.0), ("`get`, key of 16 bytes", "get ", 16.0)]
    made = [f"| stage | {' | '.join(name for name, *_ in columns)} |", f"|---|{'---|' * len(columns)}"]
    before, total = [0] * len(columns), []
    for event, name in STAGES.items():
        at = [int(dict(found[prefix + event])[key]) for _, prefix, key in columns]
        made.append(f"| {name} | {' | '.join(str(now - then) for now, then in zip(at, before))} |")
        before = at
    return made + [f"| all | {' | '.join(str(now) for now in before)} |"]
