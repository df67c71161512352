#!/usr/bin/env python3
"""Generates code and tables from the `.toml` files here: `schema/generate.py [--check]`.

`--check` writes nothing, and fails if a generated file is out of date. Needs Python 3.11 and rustfmt.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import c_client
import go
import host_link
import python_client
import typescript
from words import camel, made_by, quoted, sentence, snake, text, wrap

SCHEMA = Path(__file__).resolve().parent
ROOT = SCHEMA.parent
LICENCE = "// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only\n"
SIZES = {"u16": 2, "u32": 4, "u64": 8}


def unique(what, values):
    seen = set()
    for value in values:
        if value in seen:
            raise SystemExit(f"schema: {what}: {value} occurs more than once")
        seen.add(value)


class Protocol:
    """The contents of `protocol.toml`."""

    def __init__(self):
        tables = tomllib.loads((SCHEMA / "protocol.toml").read_text())
        self.constants, self.limits, self.codes = tables["constants"], tables["limits"], tables["codes"]
        self.statuses, self.rules, self.tags = tables["statuses"], tables["rules"], tables["tags"]
        for codes in self.codes:
            unique(codes["name"], (value["code"] for value in codes["values"]))
            unique(codes["name"], (value["name"] for value in codes["values"]))
        for what in ("statuses", "rules"):
            unique(what, (value["code"] for value in tables[what]))
            unique(what, (value["name"] for value in tables[what]))
        unique("tags", (tag["text"] for tag in self.tags))
        if not all(1 <= rule["code"] <= 63 for rule in self.rules):
            raise SystemExit("schema: numbers of rules must be from 1 to 63")

    def of(self, name):
        return next(codes for codes in self.codes if codes["name"] == name)


def compact(codes):
    """The values of codes that compact frames can carry: the only ones that tiers below the host handle."""
    return [value for value in codes["values"] if not value.get("full_only")]


class Layouts:
    """The contents of `layouts.toml`, with every offset."""

    def __init__(self):
        tables = tomllib.loads((SCHEMA / "layouts.toml").read_text())
        self.constants, self.counters = tables["constants"], tables["counters"]
        self.values = {name: value for group in self.constants for _, name, value, _ in group["values"]}
        self.structs = {}
        for struct in tables["structs"]:
            self.place(struct)

    def size_and_alignment(self, kind):
        if kind in SIZES:
            return SIZES[kind], SIZES[kind]
        return self.structs[kind]["bytes"], self.structs[kind]["alignment"]

    def place(self, struct):
        at, alignment, fields = 0, 1, []
        for kind, name, doc, *length in struct["fields"]:
            length = length[0] if length else None
            size, aligned = self.size_and_alignment(kind)
            if at % aligned:
                raise SystemExit(f"schema: {struct['name']}.{name}: padding before it; reserve the bytes")
            fields.append({"kind": kind, "name": name, "doc": doc, "at": at, "length": length})
            at, alignment = at + size * self.number_of(length or 1), max(alignment, aligned)
        if at != struct["bytes"] or at % alignment:
            raise SystemExit(f"schema: {struct['name']} has {at} bytes, not {struct['bytes']}")
        struct.update(fields=fields, alignment=alignment)
        self.structs[struct["name"]] = struct

    def number_of(self, length):
        """A length may be the name of a constant."""
        return self.values[length] if isinstance(length, str) else length

    def constants_of(self, crate):
        return [value for group in self.constants if group["crate"] == crate for value in group["values"]]


class Frames:
    """The contents of `frames.toml`, with every offset."""

    KINDS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "AccountId": 16, "TransactionId": 16}

    def __init__(self):
        self.frames = {}
        for frame in tomllib.loads((SCHEMA / "frames.toml").read_text())["frames"]:
            at, fields = 0, []
            for kind, name, doc, *number in frame["fields"]:
                size = (self.KINDS.get(kind) or self.frames[kind]["bytes"]) * (number[0] if number else 1)
                fields.append({"kind": kind, "name": name, "doc": doc, "at": at, "bytes": size, "is_array": bool(number)})
                at += size
            if at != frame["bytes"]:
                raise SystemExit(f"schema: {frame['name']} has {at} bytes, not {frame['bytes']}")
            unique(frame["name"], (field["name"] for field in fields))
            self.frames[frame["name"]] = frame | {"fields": fields}
        unique("tables of frames", (frame["table"] for frame in self.frames.values() if "table" in frame))

    @staticmethod
    def first_line(frame):
        """The first line of its documentation, without the links of Rust."""
        return re.sub(r"\[`(\w+)`\]", r"\1", frame["doc"].splitlines()[0])

    def with_key(self, key):
        return [frame for frame in self.frames.values() if key in frame]

    def is_within(self, field):
        """Whether a field is a structure that has a table elsewhere."""
        return field["kind"] in self.frames and field["name"] in ("header", "request", "message")


class Coprocessor:
    """The contents of `coprocessor.toml`."""

    def __init__(self):
        tables = tomllib.loads((SCHEMA / "coprocessor.toml").read_text())
        self.kinds, self.opcodes, self.faults = tables["kinds"], tables["opcodes"], tables["faults"]
        unique("opcodes", (opcode["code"] for opcode in self.opcodes))
        for what in ("kinds", "opcodes", "faults"):
            unique(what, (value["name"] for value in tables[what]))

    @staticmethod
    def mnemonic(opcode):
        return snake(opcode["name"]).upper()


# Rust


def rust_enum(name, doc, values, derives="", all_doc="All values, in numerical order.", methods=()):
    """An enumeration of bytes, `values` with name, number, documentation, attributes; `methods` with name, documentation, type, results."""
    lines = [f"/// {doc}", "#[repr(u8)]", f"#[derive(Clone, Copy, Debug, PartialEq, Eq{derives}, Hash)]", f"pub enum {name} {{"]
    for value, code, about, *attributes in values:
        lines += [wrap("    ///", about), *attributes, f"{value} = {code},"]
    lines += ["}\n", f"impl {name} {{", f"/// {all_doc}", f"pub const ALL: [Self; {len(values)}] = ["]
    lines += [f"Self::{value}," for value, *_ in values] + ["];"]
    for method, about, kind, results in methods:
        lines += [f"\n/// {about}", f"pub const fn {method}(self) -> {kind} {{", "match self {"]
        lines += [f"Self::{value[0]} => {result}," for value, result in zip(values, results)] + ["}", "}"]
    return "\n".join(lines + ["}\n"])


def rust_coprocessor(coprocessor):
    kinds = [(kind["name"], number, sentence(kind["what"])) for number, kind in enumerate(coprocessor.kinds)]
    opcodes = [(opcode["name"], f"0x{opcode['code']:02x}", sentence(opcode["what"])) for opcode in coprocessor.opcodes]
    faults = [(fault["name"], number, sentence(fault["what"]), f"#[error({quoted(fault['says'])})]")
              for number, fault in enumerate(coprocessor.faults, 1)]
    parts = [rust_enum("Kind", "The type of a slot.", kinds, methods=[
                 ("name", "The name in assembly.", "&'static str", [quoted(kind["text"]) for kind in coprocessor.kinds]),
                 ("slots", "Slots of a value.", "usize", [kind["slots"] for kind in coprocessor.kinds])]),
             rust_enum("Opcode", "Opcode of an instruction with operands a, b and c.", opcodes, methods=[
                 ("name", "The name in assembly.", "&'static str", [quoted(coprocessor.mnemonic(opcode)) for opcode in coprocessor.opcodes]),
                 ("operands", "Number of operands.", "usize", [opcode["operands"] for opcode in coprocessor.opcodes])]),
             rust_enum("Fault", "Why the machine stopped at an instruction. The instruction has changed nothing.", faults, ", thiserror::Error")]
    return rust("coprocessor.toml", "The codes of the coprocessor.", "\n".join(parts))


def rust_frames(frames):
    kinds = {"u16": "U16", "u32": "U32", "u64": "U64"}
    parts = ["use crate::{AccountId, TransactionId, U16, U32, U64};",
             "use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};\n"]
    for frame in frames.frames.values():
        default = "Default, " if frame.get("default") else ""
        lines = [f"/// {line}".rstrip() for line in frame["doc"].splitlines()]
        lines += [f"#[derive(Clone, Copy, Debug, {default}PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]",
                  "#[repr(C)]", f"pub struct {frame['name']} {{"]
        for field in frame["fields"]:
            doc = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", field["doc"])
            lines.append(wrap("///", sentence(doc)))
            kind = f"[u8; {field['bytes']}]" if field["is_array"] else kinds.get(field["kind"], field["kind"])
            lines.append(f"pub {field['name']}: {kind},")
        lines += ["}\n", f"impl {frame['name']} {{", "/// Length of the fixed part in bytes.",
                  f"pub const LENGTH: usize = {frame['bytes']};", "}\n"]
        checks = [f"assert!(core::mem::offset_of!({frame['name']}, {field['name']}) == {field['at']});" for field in frame["fields"]]
        lines += ["const _: () = {", f"assert!(size_of::<{frame['name']}>() == {frame['name']}::LENGTH);", *checks, "};\n"]
        parts.append("\n".join(lines))
    return rust("frames.toml", "The fixed parts of the frames, field after field.", "\n".join(parts))


def rust(source, doc, body):
    code = f"//! {doc}\n//!\n//! {made_by(source)}\n\n{body}"
    formatted = subprocess.run(["rustfmt", "--edition", "2024", "--config-path", ROOT / "rustfmt.toml"], input=code,
                               capture_output=True, text=True, check=False)
    if formatted.returncode:
        raise SystemExit(f"schema: rustfmt: {formatted.stderr}")
    return formatted.stdout


def rust_codes(protocol):
    parts = ["use crate::macros::{codes, statuses};\n"]
    for name, constant in protocol.constants.items():
        digits = {"u8": 2, "u16": 4, "u32": 8}[constant["type"]]
        value = constant["value"] if name == "version" else f"0x{constant['value']:0{digits}x}"
        if digits == 8:
            value = f"{value[:6]}_{value[6:]}"
        parts.append(f"/// {constant['doc']}\npub const {name.upper()}: {constant['type']} = {value};\n")
    for name, limit in protocol.limits.items():
        value = f"{limit['value']:_}" if limit["value"] > 9_999 else limit["value"]
        parts.append(f"{wrap('///', limit['doc'])}\npub const {name.upper()}: {limit['type']} = {value};\n")
    for codes in protocol.codes:
        lines = [f"codes! {{\n    /// {codes['doc']}\n    {codes['name']}: {codes['type']}, else {codes['refused_with']} {{"]
        for value in codes["values"]:
            code = f"0x{value['code']:x}" if codes["type"] == "u32" else value["code"]
            lines.append(wrap("        ///", value["doc"]))
            lines.append(f"        {value['name']} = {code} {quoted(text(value))},")
        parts.append("\n".join(lines + ["    }", "}\n"]))
    names = [value["name"] for value in compact(protocol.of("Command"))]
    parts.append("impl Command {\n/// The commands of compact frames, which every tier knows, in the order of their codes.\n"
                 f"pub const COMPACT: [Self; {len(names)}] = [{', '.join(f'Self::{name}' for name in names)}];\n}}\n")
    lines = ["statuses! {"]
    for status in protocol.statuses:
        lines.append(f"    {status['code']} {status['name']} {quoted(text(status))}\n"
                     f"        {quoted(status['advice'])};")
    return rust("protocol.toml", "The codes of the protocol.", "\n".join(parts + lines + ["}\n"]))


def rust_rules(protocol):
    doc = ("The rules of all schemes, each with a number that never changes: its bit in a result mask on the wire, and its code\n"
           "/// in C and Python. Zero means no broken rule, so every number is from 1 to 63.")
    rules = [(rule["name"], rule["code"], rule["doc"]) for rule in protocol.rules]
    all_doc = "All rules.\n///\n/// cbindgen:ignore"
    return rust("protocol.toml", "The numbers of the rules.", rust_enum("RuleCode", doc, rules, ", PartialOrd, Ord", all_doc))


def rust_tags(protocol, crate):
    lines = [f"/// Tag of {tag['of']}.\npub const {tag['name'].upper()}_TAG: &str = {quoted(tag['text'])};"
             for tag in protocol.tags if crate in tag["crates"]]
    return rust("protocol.toml", "Tags of BIP340's tagged SHA-256, one per purpose.", "\n".join(lines) + "\n")


def number(value):
    """Masks in hexadecimal, in groups of four digits."""
    return value if value <= 4096 else "0x" + f"{value:_x}"


def rust_constant(kind, name, value, doc):
    return f"{wrap('///', doc)}\npub const {name}: {kind} = {number(value)};\n"


def rust_is_same(struct):
    """A macro that asserts that a structure of Rust has the layout."""
    checks = [f"assert!(core::mem::offset_of!($structure, {field['name']}) == {field['at']});" for field in struct["fields"]]
    return "\n".join([f"/// Asserts that a structure has the layout of [`{struct['name']}`].", f"macro_rules! is_{struct['name']} {{",
                      "    ($structure:ty) => {", "        const _: () = {",
                      f"            assert!(size_of::<$structure>() == {struct['bytes']});"]
                     + [f"            {check}" for check in checks]
                     + ["        };", "    };", "}", f"pub(crate) use is_{struct['name']};\n"])


def rust_layout(layouts, crate, counters=False):
    parts = [rust_constant(*constant) for constant in layouts.constants_of(crate)]
    for struct in layouts.structs.values():
        if struct["crate"] != crate:
            continue
        lines = [f"/// {struct['doc']}\npub mod {struct['name']} {{", "    /// Length in bytes.",
                 f"    pub const BYTES: usize = {struct['bytes']};"]
        for field in struct["fields"]:
            if not field["name"].startswith("reserved"):
                lines += [wrap("    ///", field["doc"]), f"    pub const {field['name'].upper()}: usize = {field['at']};"]
        parts.append("\n".join(lines + ["}\n"]))
        if struct.get("struct_in_rust"):
            parts.append(rust_is_same(struct))
    if counters:
        parts += [rust_counters(counter) for counter in layouts.counters]
    doc = "Layout of memory shared with programs in the kernel: offsets in bytes."
    return rust("layouts.toml", doc, "#![allow(dead_code, reason = \"the crate may use only part of the layout\")]\n\n" + "\n".join(parts))


def rust_counters(counter):
    name, values, answers = counter["name"], counter["values"], counter.get("by_command_and_status", [])
    lines = [f"/// {counter['doc']}", "#[derive(Clone, Copy, Debug, PartialEq, Eq)]", f"pub enum {name} {{"]
    lines += [f"/// {doc}\n{variant}," for variant, doc in values]
    lines += [f"/// {doc}\n{variant} {{\n/// The command.\ncommand: wire::Command,\n/// The status.\nstatus: wire::Status,\n}},"
              for variant, doc in answers]
    lines += ["}\n", f"impl {name} {{"]
    if answers:
        lines.insert(0, "/// Counters of one kind of reply.\nconst BY_COMMAND: u32 = wire::Command::COMPACT.len() as u32 * STATUSES;\n")
        lines += [f"/// Counters that are not split by command and status.\npub const PLAIN: [Self; {len(values)}] = ["]
    else:
        lines += [f"/// All values, in numerical order.\npub const ALL: [Self; {len(values)}] = ["]
    lines += [f"Self::{variant}," for variant, _ in values]
    lines += ["];\n", "/// Name in metrics.", "pub const fn name(self) -> &'static str {", "match self {"]
    lines += [f"Self::{variant} => {quoted(snake(variant))}," for variant, _ in values]
    lines += [f"Self::{variant} {{ .. }} => {quoted(snake(variant))}," for variant, _ in answers]
    lines += ["}", "}\n"]
    if answers:
        block = "BY_COMMAND"
        plain = "Self::PLAIN.len() as u32"
        firsts = [plain, f"{plain} + {block}", *(f"{plain} + {n} * {block}" for n in range(2, len(answers)))]
        lines += ["/// Number of counters.",
                  f"pub(crate) const COUNT: u32 = {plain} + {len(answers)} * {block};\n",
                  "/// Number of the counter, or `None` for statuses that the program never replies with.",
                  "pub(crate) fn number(self) -> Option<u32> {",
                  "let of = |first: u32, command: wire::Command, status: wire::Status| {",
                  "let command = wire::Command::COMPACT.iter().position(|known| *known == command)? as u32;",
                  "let status = Some(u32::from(status.code())).filter(|status| *status < STATUSES)?;",
                  "Some(first + command * STATUSES + status)", "};", "match self {"]
        lines += [f"Self::{variant} => Some({number})," for number, (variant, _) in enumerate(values)]
        lines += [f"Self::{variant} {{ command, status }} => of({firsts[number]}, command, status),"
                  for number, (variant, _) in enumerate(answers)]
        lines += ["}", "}"]
    return "\n".join(lines + ["}\n"])


# C


def c_enum(name, prefix, values):
    lines = [f"enum {name} {{"]
    for variant, code, doc in values:
        lines += [wrap("\t//", doc, 112), f"\t{prefix}{snake(variant).upper()} = {code},"]
    return "\n".join(lines + ["};\n"])


def c_protocol(protocol):
    parts = [f"{LICENCE}// The codes of the protocol. {made_by('protocol.toml')}",
             "#ifndef TURNPIKE_PROTOCOL_H", "#define TURNPIKE_PROTOCOL_H\n"]
    for name, constant in protocol.constants.items():
        parts.append(f"// {constant['doc']}\n#define {name.upper()} 0x{constant['value']:x}")
    parts.append("")
    for name, kind, prefix in (("FrameType", "frame_type", "TYPE_"), ("Command", "command", "COMMAND_"),
                               ("Chain", "chain", "CHAIN_"), ("Query", "query", "QUERY_")):
        codes = protocol.of(name)
        parts.append(f"// {codes['doc']}")
        parts.append(c_enum(kind, prefix, [(value["name"], value["code"], value["doc"]) for value in compact(codes)]))
    commands = compact(protocol.of("Command"))
    parts.append(f"// Command codes of compact frames start at 1 and have no gaps.\n#define COMMANDS {len(commands)}\n")
    if [value["code"] for value in commands] != list(range(1, len(commands) + 1)):
        raise SystemExit("schema: command codes must start at 1 and have no gaps")
    parts.append("// The outcome of an operation or of a frame.")
    parts.append(c_enum("status", "STATUS_", [(value["name"], value["code"], value["meaning"]) for value in protocol.statuses]))
    return "\n".join(parts + ["#endif\n"])


def c_layout(layouts, crates, guard, includes):
    parts = [f"{LICENCE}// Layout of memory shared with user space. {made_by('layouts.toml')}",
             f"#ifndef {guard}", f"#define {guard}\n", *(f'#include "{name}"' for name in includes), ""]
    for _, name, value, doc in (constant for crate in crates for constant in layouts.constants_of(crate)):
        digits = f"0x{value:x}u" if value > 4096 else value
        parts.append(f"{wrap('//', doc)}\n#define {name} {digits}\n")
    for struct in layouts.structs.values():
        if struct["crate"] not in crates:
            continue
        lines = [wrap("//", struct["doc"]), f"struct {struct['name']} {{"]
        checks = []
        for field in struct["fields"]:
            kind = field["kind"] if field["kind"] in SIZES else f"struct {field['kind']}"
            array = f"[{field['length']}]" if field["length"] else ""
            lines += [wrap("\t//", field["doc"], 112), f"\t{kind} {field['name']}{array};"]
            checks.append(f"_Static_assert(__builtin_offsetof(struct {struct['name']}, {field['name']}) == {field['at']}, "
                          f"\"schema/layouts.toml\");")
        checks.append(f"_Static_assert(sizeof(struct {struct['name']}) == {struct['bytes']}, \"schema/layouts.toml\");")
        parts.append("\n".join(lines + ["};"] + checks + [""]))
    for counter in layouts.counters if "xdp" in crates else []:
        values = [(variant, number, doc) for number, (variant, doc) in enumerate(counter["values"])]
        for number, (variant, doc) in enumerate(counter.get("by_command_and_status", [])):
            first = f"{len(counter['values'])} + {number} * COMMANDS * STATUSES"
            values.append((variant, first, f"By command and status: {doc[0].lower()}{doc[1:]}"))
        count = len(counter["values"])
        total = f"{count} + {len(counter['by_command_and_status'])} * COMMANDS * STATUSES" \
            if "by_command_and_status" in counter else count
        parts.append(f"// {counter['doc']}\n" + c_enum(counter["c"], counter["prefix"], values))
        parts.append(f"#define {counter['c'].upper()}S ({total})\n")
    return "\n".join(parts + ["#endif\n"])


def c_frames(frames):
    """Frames are read in place, at any alignment, so C gets offsets instead of structures."""
    parts = [f"{LICENCE}// Offsets of the fields of frames. {made_by('frames.toml')}", "#ifndef TURNPIKE_FRAMES_H", "#define TURNPIKE_FRAMES_H\n"]
    for frame in frames.with_key("c"):
        values = [(field["name"], field["at"], sentence(field["doc"])) for field in frame["fields"]]
        values.append(("bytes", frame["bytes"], "Length of the fixed part."))
        parts.append(f"// {frames.first_line(frame)}\n" + c_enum(snake(frame["name"]), f"{frame['c']}_", values))
    return "\n".join(parts + ["#endif\n"])


# SystemVerilog


def sv_frames(frames):
    lines = [f"// The fixed parts of frames, most significant byte first. {made_by('frames.toml')}", "package frame_pkg;"]
    for frame in frames.with_key("rtl"):
        part = "" if frame["rtl"] == frame["bytes"] else f" Its first {frame['rtl']} bytes."
        lines += [f"  // {frames.first_line(frame)}{part}", "  typedef struct packed {"]
        fields = [field for field in frame["fields"] if field["at"] < frame["rtl"]]
        if fields[-1]["at"] + fields[-1]["bytes"] != frame["rtl"]:
            raise SystemExit(f"schema: {frame['name']}: rtl cuts a field")
        for field in fields:
            kind = f"{snake(field['kind'])}_t" if field["kind"] in frames.frames else f"logic [{8 * field['bytes'] - 1}:0]"
            lines.append(f"    {kind} {field['name']};")
        lines.append(f"  }} {snake(frame['name'])}_t;\n")
    return "\n".join(lines)[:-1] + "\nendpackage\n"


def sv_package(protocol):
    lines = [f"// The codes of the protocol. {made_by('protocol.toml')}", "package protocol_pkg;"]
    for name, constant in protocol.constants.items():
        width = int(constant["type"][1:])
        lines.append(f"  // {constant['doc']}\n  localparam logic [{width - 1}:0] {camel(name)} = {width}'h{constant['value']:x};")
    for name in ("FrameType", "BatchFormat", "Command", "Promise", "Chain", "Query", "VerifyCommand"):
        codes = protocol.of(name)
        width = int(codes["type"][1:])
        lines.append(f"\n  // {codes['doc']}")
        for value in compact(codes):
            lines.append(f"  localparam logic [{width - 1}:0] {name}{value['name']} = {width}'d{value['code']};")
    lines.append(f"\n  // Command codes of compact frames start at 1 and have no gaps.\n  localparam int unsigned CommandCodes = {len(compact(protocol.of('Command')))};")
    lines.append("\n  // The outcome of an operation or of a frame.")
    for status in protocol.statuses:
        lines.append(f"  localparam logic [15:0] Status{status['name']} = 16'd{status['code']};")
    lines.append("\n  // The rules of verification: bits of a result mask. None: no rule is broken.\n  localparam logic [5:0] RuleNone = 6'd0;")
    lines += [f"  localparam logic [5:0] Rule{rule['name']} = 6'd{rule['code']};" for rule in protocol.rules]
    return "\n".join(lines + ["endpackage\n"])


def sv_coprocessor(coprocessor):
    def enum(name, width, values):
        return [f"  typedef enum logic [{width - 1}:0] {{", ",\n".join(f"    {value} = {width}'{code}" for value, code in values), f"  }} {name};\n"]

    kinds, faults = coprocessor.kinds, coprocessor.faults
    lines = [f"// The codes of the BLS12-381 coprocessor. {made_by('coprocessor.toml')}", "package bls12_381_codes_pkg;",
             *enum("kind_e", 3, [(f"Kind{kind['name']}", f"d{number}") for number, kind in enumerate(kinds)]),
             "  // Slots of a value.", "  function automatic logic [3:0] kind_slots(kind_e kind);", "    unique case (kind)"]
    lines += [f"      Kind{kind['name']}: return 4'd{kind['slots']};" for kind in kinds]
    lines += ["    endcase", "  endfunction\n",
              *enum("opcode_e", 8, [(opcode["name"], f"h{opcode['code']:02x}") for opcode in coprocessor.opcodes]),
              *enum("fault_e", 3, [("FaultNone", "d0")] + [(f"Fault{fault['name']}", f"d{number}") for number, fault in enumerate(faults, 1)])]
    return "\n".join(lines)[:-1] + "\nendpackage\n"


def testbench_header(protocol):
    lines = [f"// Protocol constants of testbenches. {made_by('protocol.toml')}", "#pragma once\n", "#include <cstdint>\n", "namespace protocol {\n",
             "// The outcome of an operation or of a frame."]
    lines += [f"constexpr uint16_t kStatus{status['name']} = {status['code']};" for status in protocol.statuses]
    lines += ["\n// The rules of verification: bits of a result mask. None: no rule is broken.", "constexpr unsigned kRuleNone = 0;"]
    lines += [f"constexpr unsigned kRule{rule['name']} = {rule['code']};" for rule in protocol.rules]
    return "\n".join(lines + ["\n}  // namespace protocol\n"])


# Python


def python_module(protocol):
    lines = [f'"""The codes of docs/protocol.md. {made_by("protocol.toml")}"""', ""]
    for name, constant in protocol.constants.items():
        lines.append(f"{name.upper()} = {constant['value']:#x}")
    for name in ("FrameType", "BatchFormat", "Command", "Promise", "Chain", "Query", "VerifyingKeyId", "VerifyCommand"):
        codes = protocol.of(name)
        prefix = {"FrameType": "", "Command": "", "VerifyCommand": ""}.get(name, snake(name).upper() + "_")
        lines.append("")
        lines += [f"{prefix}{snake(value['name']).upper()} = {value['code']:#x}" if codes["type"] == "u32" else
                  f"{prefix}{snake(value['name']).upper()} = {value['code']}" for value in codes["values"]]
    lines += ["", "STATUS = {"] + [f'    "{text(status)}": {status["code"]},' for status in protocol.statuses] + ["}"]
    lines += ["", "RULE = {"] + [f'    "{text(rule)}": {rule["code"]},' for rule in protocol.rules] + ["}"]
    return "\n".join(lines) + "\n"


# The protocol chapter


def table(columns, rows):
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return "\n".join([line(columns), "|" + "---|" * len(columns)] + [line([str(cell) for cell in row]) for row in rows])


def frame_tables(frames, page):
    tables = {}
    for frame in frames.with_key("table"):
        if frame.get("chapter", "docs/protocol.md") != page:
            continue
        rows = [(field["at"], field["bytes"], field["doc"]) for field in frame["fields"] if not frames.is_within(field)]
        tables[frame["table"] + "_fields"] = table(["offset", "size", "field"], rows + frame.get("tail", []))
    return tables


def doc_tables(protocol):
    def name_of(codes, value):
        if codes["name"] == "Promise":
            return f"`{text(value)}`" if value["code"] else f"({text(value)})"
        return text(value)

    tables = {"statuses": table(["code", "status", "meaning"],
                                [(status["code"], f"`{text(status)}`", status["meaning"]) for status in protocol.statuses]),
              "rules": table(["bit", "rule", "FPGA's bit"],
                             [(rule["code"], rule["wire"], rule.get("fpga", "")) for rule in protocol.rules if "wire" in rule]),
              "tags": table(["tag", "of"], [(f"`{tag['text']}`", tag["of"]) for tag in protocol.tags]),
              "types": table(["type", "frame"], [(f"`0x{value['code']:02x}`", text(value))
                                                 for value in protocol.of("FrameType")["values"]])}
    for codes in protocol.codes:
        if "columns" in codes:
            code = "`0x{:x}`" if codes["type"] == "u32" else "{}"
            rows = [[code.format(value["code"]), name_of(codes, value), *value["row"]] for value in codes["values"]]
            tables[snake(codes["name"])] = table(codes["columns"], rows)
    return tables


def coprocessor_tables(coprocessor):
    opcodes = [(f"`0x{opcode['code']:02x}`", f"`{coprocessor.mnemonic(opcode)}` {', '.join('abc'[:opcode['operands']])}".strip(), opcode["what"])
               for opcode in coprocessor.opcodes]
    return {"kinds": table(["type", "name", "slots", "what"],
                           [(number, f"`{kind['text']}`", kind["slots"], kind["what"]) for number, kind in enumerate(coprocessor.kinds)]),
            "opcodes": table(["opcode", "instruction", "effect"], opcodes),
            "faults": table(["code", "fault", "when"],
                            [(number, snake(fault["name"]), fault["what"]) for number, fault in enumerate(coprocessor.faults, 1)])}


def chapter(name_of_page, tables):
    """A chapter with its tables between their marks."""
    page = (ROOT / name_of_page).read_text()
    for name, rows in tables.items():
        begin, end = f"<!-- schema: {name} -->\n", "\n<!-- end -->"
        if page.count(begin) != 1:
            raise SystemExit(f"{name_of_page}: the mark `{begin.strip()}` must occur once")
        head, tail = page.split(begin)
        page = head + begin + rows + end + tail[tail.index(end) + len(end):]
    return page


def files():

    protocol, frames, layouts, coprocessor = Protocol(), Frames(), Layouts(), Coprocessor()
    link = host_link.HostLink()
    return {
        "crates/wire/src/layouts.rs": rust_frames(frames),
        "crates/wire/src/codes.rs": rust_codes(protocol),
        "crates/verify/src/rule_code.rs": rust_rules(protocol),
        "crates/verify/src/tags.rs": rust_tags(protocol, "verify"),
        "crates/spv/src/tags.rs": rust_tags(protocol, "spv"),
        "crates/table/src/shared_layout.rs": rust_layout(layouts, "table"),
        "crates/ledger/src/retries/shared_layout.rs": rust_layout(layouts, "ledger"),
        "crates/xdp/src/shared_layout.rs": rust_layout(layouts, "xdp", counters=True),
        "crates/kv/src/store/shared_layout.rs": rust_layout(layouts, "kv"),
        "bpf/protocol.h": c_protocol(protocol),
        "bpf/frames.h": c_frames(frames),
        "crates/xdp/tests/common/storm_layout.rs": rust_layout(layouts, "storm"),
        "bpf/layout.h": c_layout(layouts, ["table", "ledger", "xdp", "kv"], "TURNPIKE_LAYOUT_H", ["memory.h", "protocol.h"]),
        "bpf/storm_layout.h": c_layout(layouts, ["storm"], "TURNPIKE_STORM_LAYOUT_H", ["memory.h"]),
        "rtl/wire/src/protocol_pkg.sv": sv_package(protocol),
        "rtl/wire/src/frame_pkg.sv": sv_frames(frames),
        "rtl/common/tb/protocol.hpp": testbench_header(protocol),
        "vectors/protocol.py": python_module(protocol),
        "clients/c/src/codes.rs": rust("protocol.toml and schema/c_client.toml", "The codes of the header.", c_client.body(protocol)),
        "clients/go/protocol.go": go.module(protocol, frames),
        "clients/python/src/turnpike/_protocol.py": python_client.module(protocol, frames),
        "docs/protocol.md": chapter("docs/protocol.md", doc_tables(protocol) | frame_tables(frames, "docs/protocol.md")),
        "docs/fast-path.md": chapter("docs/fast-path.md", frame_tables(frames, "docs/fast-path.md")),
        "crates/coproc/src/codes.rs": rust_coprocessor(coprocessor),
        "rtl/verify/src/bls12_381_codes_pkg.sv": sv_coprocessor(coprocessor),
        "docs/coprocessor.md": chapter("docs/coprocessor.md", coprocessor_tables(coprocessor)),
        "crates/nic/src/cable/layout.rs": rust(host_link.SOURCE, "The layout of frames on the cable.", host_link.rust_body(link)),
        "rtl/host_link/src/host_link_pkg.sv": host_link.package(link),
        "rtl/host_link/tb/host_link.hpp": host_link.header(link),
        "docs/board.md": chapter("docs/board.md", host_link.tables(link, table)),
        "clients/typescript/src/protocol.ts": typescript.module(protocol, frames),
    }


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    stale = []
    for name, content in files().items():
        path = ROOT / name
        if path.exists() and path.read_text() == content:
            continue
        if sys.argv[1:]:
            stale.append(name)
        else:
            path.write_text(content)
    if stale:
        raise SystemExit(f"schema: {', '.join(stale)}: out of date; run schema/generate.py")


if __name__ == "__main__":
    main()
