#!/usr/bin/env python3
"""Results of benchmarks: as JSON, and as the page of results.

  bench/results.py record BENCH FIGURES COMMAND   makes bench/results/MACHINE/BENCH.json from a run's figures, lines with tabs
  bench/results.py names                          prints the names of all benchmarks, in order
  bench/results.py page [--check]                 makes docs/results.md and its plots from all JSON under bench/results

MACHINE is the name in the environment, or the folder whose `machine.json` has this processor's signature, or a name made from that
signature. LOAD states what else ran: `quiet`, the default if the load average is below one, or `busy`. QUICK marks a quick run.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True

from plot import bars, panels  # noqa: E402

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RESULTS = BENCH / "results"
PAGE = ROOT / "docs" / "results.md"
PLOTS = ROOT / "docs" / "results"
BENCHES = tomllib.loads((BENCH / "benches.toml").read_text())
# Units for which more is better; less is better for all others.
RATES = ("/s", "x")


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def machine():
    """A description of this machine, and a file name for it."""
    lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].split("\n")
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    flags = fields.get("flags", "").split()
    kibibytes = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1])
    disk = output("df", "--output=fstype", str(BENCH)).split()[-1]
    signature = " ".join(fields.get(name, "") for name in ("vendor_id", "cpu family", "model", "model name"))
    known = [path.parent.name for path in RESULTS.glob("*/machine.json") if json.loads(path.read_text()).get("signature") == signature]
    name = os.environ.get("MACHINE") or next(iter(known), re.sub(r"[^a-z0-9]+", "-", signature.lower()).strip("-"))
    return name, {
        "signature": signature,
        "processor": fields.get("model name", "unknown"), "processors": os.cpu_count(),
        "extensions": [flag for flag in ("avx2", "fma", "adx", "sha_ni", "avx512f", "avx512ifma") if flag in flags],
        "memory": f"{round(kibibytes / 2**20)} GiB", "system": f"Linux {os.uname().release}, {disk}"}


def set_goals(bench, figures):
    """Applies a goal to the best figure with its name, possibly followed by a backend."""
    for name, goal in BENCHES[bench].get("goals", {}).items():
        named = [entry for entry in figures if entry["figure"] == name or entry["figure"].startswith(name + ",")]
        # Neither wall-clock figures, nor comparisons with the engine itself.
        alone = [entry for entry in named if " threads" not in entry["figure"] and not entry.get("peer", "").startswith("engine")]
        if alone:
            max(alone, key=lambda entry: entry.get("ratio", 0))["goal"] = goal
    return figures


def figure(bench, line):
    name, value, unit, peer, theirs = line.rstrip("\n").split("\t")
    made = {"figure": name, "value": float(value), "unit": unit, "promise": BENCHES[bench]["promise"]}
    if peer:
        ratio = float(value) / float(theirs) if unit in RATES else float(theirs) / float(value)
        made |= {"peer": peer, "peer_value": float(theirs), "ratio": round(ratio, 3)}
    return made


def record(bench, figures, command):
    name, details = machine()
    folder = RESULTS / name
    folder.mkdir(parents=True, exist_ok=True)
    # A hand-written description is better than a generated one.
    if not (folder / "machine.json").exists():
        (folder / "machine.json").write_text(json.dumps(details, indent=1) + "\n")
    changed = output("git", "status", "--porcelain", "--", ":!bench/results", ":!docs")
    load = os.environ.get("LOAD") or ("quiet" if os.getloadavg()[2] < 1 else "busy")
    made = {
        "bench": bench, "machine": name, "command": command, "commit": output("git", "rev-parse", "--short=8", "HEAD") + ("+" if changed else ""),
        "date": datetime.date.today().isoformat(), "load": load, "quick": bool(os.environ.get("QUICK")),
        "figures": set_goals(bench, [figure(bench, line) for line in Path(figures).read_text().splitlines()])}
    # A quick run never replaces a full one.
    path = folder / f"{bench}{'-quick' if made['quick'] else ''}.json"
    path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    print(f"figures: {path.relative_to(ROOT)}")


def number(value, unit):
    """Formats a value for people: about four digits, and the unit, scaled for rates and times."""
    scales = {"ns": (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)), "us": (("s", 1e6), ("ms", 1e3), ("us", 1), ("ns", 1e-3)),
              "ms": (("s", 1e3), ("ms", 1)), "/s": (("million/s", 1e6), ("/s", 1))}
    for name, scale in scales.get(unit, ()):
        if abs(value) >= scale:
            value, unit = value / scale, name
            break
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + f" {unit}".replace(" /s", "/s")


def verdict(entry, goal, is_ratio):
    """Whether a figure reaches a goal, with its whole range."""
    values = [entry.get("ratio", 0)] if is_ratio else entry.get("range", [entry["value"]])
    more = is_ratio or entry["unit"] in RATES
    good = [value >= goal if more else value <= goal for value in values]
    return "reached" if all(good) else "reached in part" if any(good) else "**missed**"


def verdicts(entry):
    """The goal and the stretch goal, if any: the value, and whether it is reached."""
    goal = entry.get("goal", {})
    for key, name, is_ratio in (("value", "", False), ("ratio", "", True), ("stretch", "stretch ", "ratio" in goal)):
        if (value := goal.get(key)) is not None:
            yield f"{name}{number(value, 'x' if is_ratio else entry['unit'])}", verdict(entry, value, is_ratio)


def table(run):
    yield "| figure | measured | peer | ratio | goal |"
    yield "|---|---|---|---|---|"
    for entry in run["figures"]:
        peer = f"{entry['peer']}, {number(entry['peer_value'], entry['unit'])}" if "peer" in entry else ""
        ratio = f"{entry['ratio']:.2f} x" if "ratio" in entry else ""
        measured = " to ".join(dict.fromkeys(number(value, entry["unit"]) for value in entry.get("range", [entry["value"]])))
        yield f"| {entry['figure']} | {measured} | {peer} | {ratio} | {'; '.join(f'{goal}: {met}' for goal, met in verdicts(entry))} |"


def plot(bench, runs):
    """Plots ratios to peers, a group per run. Returns the path of the plot, or None if there is nothing to plot."""
    # Benchmarks over sizes have curves.
    if BENCHES[bench].get("panels"):
        return None
    # All figures would be too many for a plot: those with a goal, or all if none has one.
    chosen = [(run, [entry for entry in run["figures"] if "ratio" in entry]) for run in runs]
    with_goal = [(run, [entry for entry in entries if "goal" in entry]) for run, entries in chosen]
    if any(entries for _, entries in with_goal):
        chosen = with_goal
    row = lambda entry: (entry["figure"], entry["ratio"], entry["peer"], entry.get("goal", {}).get("ratio"))
    heading = lambda run: f"{run['machine']}, {run['date']}, {run['load']}{', a quick run' if run['quick'] else ''}"
    groups = [(heading(run), [row(entry) for entry in entries]) for run, entries in chosen if entries]
    return (PLOTS / f"{bench}.svg", bars(BENCHES[bench]["title"], groups)) if groups else None


def curves(bench, run):
    """A run's figures by size, in the benchmark's panels: figures whose names end with `, N KB`, and their peers."""
    parts = []
    for panel in BENCHES[bench].get("panels", []):
        lines = {}
        for wanted in panel["figures"]:
            for entry in run["figures"]:
                name, _, size = entry["figure"].rpartition(", ")
                if name == wanted and size.endswith(" KB"):
                    kilobytes = int(size.removesuffix(" KB"))
                    # Of several figures with the same name, the first one makes the line.
                    lines.setdefault(name.partition(",")[0], {}).setdefault(kilobytes, entry["value"])
                    lines.setdefault(entry["peer"], {}).setdefault(kilobytes, entry["peer_value"])
        if lines:
            parts.append((panel["title"], [(name, sorted(points.items())) for name, points in lines.items()]))
    if not parts:
        return None
    return PLOTS / f"{bench}-curves.svg", panels(parts, "KB", "")


def wrap(text):
    """Wraps prose at 120 columns."""
    made, line = [], ""
    for word in text.split():
        if len(line) + len(word) + 1 > 120:
            made.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return made + [line]


def page():
    """The files of the page, and their texts."""
    machines = {path.parent.name: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*/machine.json"))}
    runs = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*/*.json")) if path.name != "machine.json"]
    made, files = [], {}
    made += ["<!-- Made by bench/results.py of bench/results and bench/benches.toml; `make bench` measures and makes it again. -->", "# Results", ""]
    made += wrap("""Each figure has its machine, its date, the commit, the command that repeats it, and the promise under which it was taken. Peers
        run on the same machine in the same run, in turns. Virtual machines share their hosts, so ratios mean more than times. *Quiet* means
        that nothing else ran; *busy* that other work did, from which the peer suffered as well.""")
    made += [""] + wrap("""`make bench` measures everything on the machine at hand and adds it to this page; `make bench QUICK=1` takes one round of
        each, some ten minutes. [Limits](limits.md) tells what bounds each engine, [decisions](decisions/README.md) what was compared on the way,
        [RTL results](rtl-results.md) clocks and cells.""")
    made += ["", "## Machines", "", "| name | processor | memory | system |", "|---|---|---|---|"]
    for name, details in machines.items():
        made.append(f"| `{name}` | {details['processors']} processors: {details['processor']} | {details['memory']} | {details['system']} |")
    made += ["", "## Goals", "", "| benchmark | machine | goals and stretch goals reached | missed or in part |", "|---|---|---|---|"]
    for bench, text in BENCHES.items():
        for run in (run for run in runs if run["bench"] == bench):
            all_verdicts = [(met, entry["figure"]) for entry in run["figures"] for _, met in verdicts(entry)]
            if all_verdicts:
                reached = sum(met == "reached" for met, _ in all_verdicts)
                missed = "; ".join(dict.fromkeys(name for met, name in all_verdicts if met != "reached"))
                made.append(f"| [{text['title']}](#{anchor(text['title'])}) | `{run['machine']}`, {run['date']} | "
                            f"{reached} of {len(all_verdicts)} | {missed if len(missed) <= 120 else 'see there'} |")
    for bench, text in BENCHES.items():
        chosen = sorted((run for run in runs if run["bench"] == bench), key=lambda run: (run["date"], run["machine"]), reverse=True)
        made += ["", f"## {text['title']}", ""] + wrap(text["about"])
        if not chosen:
            made += ["", f"Not measured yet: `bench/{bench}/run`."]
        if drawn := plot(bench, chosen):
            path, svg = drawn
            files[path] = svg
            made += ["", f"![{text['title']}: ratios to the peers]({path.relative_to(PAGE.parent)})"]
        if chosen and (drawn := curves(bench, chosen[0])):
            path, svg = drawn
            files[path] = svg
            made += ["", f"![{text['title']} by size on {chosen[0]['machine']}]({path.relative_to(PAGE.parent)})"]
        for run in chosen:
            made += ["", f"### {text['title']} on {run['machine']}, {run['date']}", ""]
            made += wrap(f"`{run['command']}`, promise **{text['promise']}**, {run['load']}, commit `{run['commit']}`"
                         + (", a quick run" if run["quick"] else "") + "." + (f" {run['note']}" if run.get("note") else ""))
            made += [""] + list(table(run))
    return files | {PAGE: "\n".join(made) + "\n"}


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def main():
    match sys.argv[1:]:
        case ["record", bench, figures, *command]:
            record(bench, figures, " ".join(command))
        case ["names"]:
            print("\n".join(BENCHES))
        case ["page"]:
            PLOTS.mkdir(exist_ok=True)
            for path, text in page().items():
                path.write_text(text)
                print(path.relative_to(ROOT))
        case ["page", "--check"]:
            others = [path for path, text in page().items() if not path.exists() or path.read_text() != text]
            for path in others:
                print(f"{path.relative_to(ROOT)} is not what bench/results.py makes; run it: bench/results.py page")
            return len(others) > 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
