#!/usr/bin/env python3
"""Makes of csr.yml the registers, codes and structures in SystemVerilog, their headers for C and Rust, and their documentation: `rtl/nic/csr.py [--check]`.

Run it with the Python of target/rtl-venv, which has PyYAML and the formatter; `make rtl-csr` does. `--check` writes nothing and fails where a file is not what it would be.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

NIC = Path(__file__).resolve().parent
ROOT = NIC.parent.parent
MADE = "Made by rtl/nic/csr.py of rtl/nic/csr.yml; change that."
WORD = 4
# Same options as in rtl.py.
VERIBLE_FORMAT = ["--column_limit=120", "--named_port_alignment=preserve", "--port_declarations_alignment=preserve",
                  "--assignment_statement_alignment=preserve", "--named_parameter_alignment=preserve",
                  "--formal_parameters_alignment=preserve", "--struct_union_members_alignment=preserve"]
# Integers in Rust.
RUST = {"u8": "u8", "u64": "U64<BigEndian>"}
# A page: the unit that a board maps.
ADDRESS_WIDTH = 12
# Registers that are constants of the hardware: parameters of the module, or the value here.
CONSTANTS = {"id": "32'h54504e49", "version": "32'd4", "ports": "32'(Ports)", "retries": "32'(Retries)",
             "verify_engines": "32'(VerifyEngines)"}


class Register:
    def __init__(self, table):
        self.name, self.offset, self.access = table["name"], table["offset"], table["access"]
        self.count, self.width, self.fields = table.get("count", 1), table.get("width", 32), table.get("fields", [])
        self.doc = table.get("doc", "")
        self.words = self.count * (2 if self.access == "counter" else 1)
        self.end = self.offset + WORD * self.words
        if self.access not in ("ro", "rw", "wo", "counter"):
            raise SystemExit(f"csr.yml: {self.name}: no such access: {self.access}")
        if self.offset % (2 * WORD if self.access == "counter" else WORD):
            raise SystemExit(f"csr.yml: {self.name}: the offset is not aligned")

    @property
    def constant(self):
        return camel(self.name) + "Word"

    @property
    def is_configuration(self):
        return self.access in ("rw", "wo")

    @property
    def bits(self):
        """Of one of the register's words, the bits that there are."""
        return max(field["bit"] for field in self.fields) + 1 if self.fields else self.width


class Field:
    """Of a structure: whole bytes at an offset, and what they are in SystemVerilog and Rust."""

    def __init__(self, table, offset):
        self.name, self.doc, self.offset = table["name"], table["doc"], offset
        kind = table["kind"]
        if kind == "bytes":
            self.bytes, self.rust = table["count"], f"[u8; {table['count']}]"
        elif kind == "compact_frame":
            self.bytes, self.rust = compact_bytes(), "CompactFrame"
        elif kind in RUST:
            self.bytes, self.rust = int(kind[1:]) // 8, RUST[kind]
        else:
            raise SystemExit(f"csr.yml: {self.name}: no such kind: {kind}")
        self.verilog = "frame_pkg::compact_frame_t" if kind == "compact_frame" else f"logic [{8 * self.bytes - 1}:0]"


class Structure:
    def __init__(self, table):
        self.name, self.doc, self.first, self.bytes, self.fields = table["name"], table["doc"], table["first"], 0, []
        if self.first not in ("highest", "lowest"):
            raise SystemExit(f"csr.yml: {self.name}: the first byte is highest or lowest")
        for field in table["fields"]:
            self.fields.append(Field(field, self.bytes))
            self.bytes += self.fields[-1].bytes


def compact_bytes():
    frames = tomllib.loads((ROOT / "schema/frames.toml").read_text())["frames"]
    return next(frame["bytes"] for frame in frames if frame["name"] == "CompactFrame")


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def read():
    tables = yaml.safe_load((NIC / "csr.yml").read_text())
    registers = [Register(table) for table in tables["registers"]]
    for before, after in zip(registers, registers[1:]):
        if after.offset < before.end:
            raise SystemExit(f"csr.yml: {after.name} begins before {before.name} ends")
    if registers[-1].end > 1 << ADDRESS_WIDTH:
        raise SystemExit("csr.yml: registers do not fit in a page")
    for group in tables["codes"]:
        codes = [value["code"] for value in group["values"]]
        if codes != sorted(set(codes)) or not all(0 <= code <= 255 for code in codes):
            raise SystemExit(f"csr.yml: {group['name']}: codes are bytes, in their order and once each")
    return registers, tables["codes"], [Structure(table) for table in tables["structures"]]


def package(registers):
    out = [f"// {MADE}", "package nic_csr_pkg;", f"  localparam int unsigned AddressWidth = {ADDRESS_WIDTH};", ""]
    out[3:] = ["  // The number of a register's first word.", "  typedef logic [AddressWidth-3:0] number_t;"]
    out += [f"  localparam number_t {r.constant} = number_t'({r.offset // WORD});" for r in registers]
    control = [r for r in registers if r.fields]
    for r in control:
        out += ["", "  typedef struct packed {"]
        out += [f"    logic {field['name']};" for field in sorted(r.fields, key=lambda field: -field["bit"])]
        out += [f"  }} {r.name}_t;"]
        if sorted(field["bit"] for field in r.fields) != list(range(len(r.fields))):
            raise SystemExit(f"csr.yml: {r.name}: fields have to fill its lowest bits")
    out += ["", "  // What software has written.", "  typedef struct packed {"]
    for r in registers:
        if r.is_configuration:
            kind = f"{r.name}_t" if r.fields else f"logic [{r.bits * r.count - 1}:0]"
            out += [f"    {kind} {r.name};"]
    out += ["  } config_t;", "", "  // What to count in this cycle.", "  typedef struct packed {"]
    out += [f"    logic [{r.count - 1}:0] {r.name};" if r.count > 1 else f"    logic {r.name};" for r in registers if r.access == "counter"]
    out += ["  } events_t;", "endpackage", ""]
    return "\n".join(out)


def host_package(codes, structures):
    out = [f"// Codes and structures of the host's streams. {MADE}", "package host_pkg;"]
    for group in codes:
        out += ["", f"  // {group['doc']}.", "  typedef enum logic [7:0] {"]
        last = group["values"][-1]
        for value in group["values"]:
            out += [f"    // {value['doc']}", f"    {group['prefix']}{camel(value['name'])} = 8'd{value['code']}{'' if value is last else ','}"]
        out += [f"  }} {group['name']}_e;"]
    for structure in structures:
        out += ["", f"  // {structure.doc}, {structure.bytes} bytes, the first one {structure.first}.", "  typedef struct packed {"]
        fields = structure.fields if structure.first == "highest" else reversed(structure.fields)
        for field in fields:
            out += [f"    // {field.doc}", f"    {field.verilog} {field.name};"]
        out += [f"  }} {structure.name}_t;"]
    return "\n".join(out + ["endpackage", ""])


def verilog(registers):
    counters = [r for r in registers if r.access == "counter"]
    total = sum(r.count for r in counters)
    for before, after in zip(counters, counters[1:]):
        if after.offset != before.end:
            raise SystemExit("csr.yml: counters have to follow each other")
    out = [f"""// {MADE}
//
// An access takes one cycle and is never refused: what was read is there in the next. Words that are no register read 0.

`include "registers.svh"

module nic_csr
  import nic_csr_pkg::*;
#(
    parameter int unsigned Ports         = 4,
    parameter int unsigned Retries       = 1024,
    parameter int unsigned VerifyEngines = 0
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    valid_i,
    input  logic                    write_i,
    input  logic [AddressWidth-1:0] address_i,
    input  logic [            31:0] write_data_i,
    output logic                    read_valid_o,
    output logic [            31:0] read_data_o,
    output config_t                 config_o,
    input  events_t                 events_i
);
  localparam int unsigned Counters = {total};
  localparam int unsigned CounterWidth = $clog2(Counters);

  logic write, read;
  number_t word;
  assign write = valid_i && write_i;
  assign read  = valid_i && !write_i;
  assign word  = address_i[AddressWidth-1:2];
  logic [1:0] unused_byte;
  assign unused_byte = address_i[1:0];
"""]
    for r in registers:
        if not r.is_configuration:
            continue
        for index in range(r.count):
            target = f"config_o.{r.name}" if r.count == 1 else f"config_o.{r.name}[{32 * index}+:32]"
            data = "write_data_i" if r.bits == 32 else f"write_data_i[{r.bits - 1}:0]"
            number = r.constant if r.count == 1 else f"{r.constant} + number_t'({index})"
            out += [f"  `FFE({target}, {data}, write && word == {number}, '0)"]
    out += ["""
  // Counters, and the upper half of the one that was read last.
  logic [Counters-1:0] counts;
  logic [Counters-1:0][63:0] counter_q;
  logic [CounterWidth-1:0] counter;
  logic [31:0] upper_q;
  logic is_counter;"""]
    fields = ",\n".join(f"events_i.{r.name}" for r in reversed(counters))
    out += [f"  assign counts = {{\n{fields}}};",
            "  for (genvar at = 0; at < Counters; at++) begin : gen_counter",
            "    `FFE(counter_q[at], counter_q[at] + 1'b1, counts[at], '0)",
            "  end",
            f"  assign is_counter = word >= {counters[0].constant} && word < {counters[0].constant} + number_t'(2 * Counters);",
            f"  assign counter = CounterWidth'((word - {counters[0].constant}) >> 1);",
            "  `FFNE(upper_q, counter_q[counter][63:32], read && is_counter && !word[0])",
            "",
            "  logic [31:0] value;",
            "  always_comb begin",
            "    value = '0;",
            "    if (is_counter) value = word[0] ? upper_q : counter_q[counter][31:0];",
            "    case (word)"]
    for r in registers:
        if r.access == "ro":
            out += [f"      {r.constant}: value = {CONSTANTS[r.name]};"]
        elif r.access == "rw":
            out += [f"      {r.constant}: value = 32'(config_o.{r.name});"]
    out += ["      default: ;", "    endcase", "  end",
            "  `FF(read_valid_o, read, 1'b0)", "  `FFNE(read_data_o, value, read)", "endmodule", ""]
    return "\n".join(out)


def formatted(text):
    done = subprocess.run([Path(sys.executable).parent / "verible-verilog-format", *VERIBLE_FORMAT, "-"], input=text, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"verible-verilog-format: {done.stderr}")
    return done.stdout


def c_header(registers, codes, structures):
    out = [f"// {MADE}", "#pragma once", ""]
    for r in registers:
        out += [f"// {line}" for line in ([r.doc] if r.doc else [])]
        out += [f"#define TURNPIKE_NIC_{r.name.upper()} 0x{r.offset:03x}u"]
        if r.count > 1:
            out += [f"#define TURNPIKE_NIC_{r.name.upper()}_COUNT {r.count}u"]
        out += [f"#define TURNPIKE_NIC_{r.name.upper()}_{field['name'].upper()} (1u << {field['bit']})  // {field['doc']}" for field in r.fields]
    for group in codes:
        out += ["", f"// {group['doc']}."]
        out += [f"#define TURNPIKE_NIC_{group['name'].upper()}_{value['name'].upper()} {value['code']}u  // {value['doc']}" for value in group["values"]]
    for structure in structures:
        out += ["", f"// {structure.doc}: its bytes, and the offsets of what is in it.",
                f"#define TURNPIKE_NIC_{structure.name.upper()}_BYTES {structure.bytes}u"]
        out += [f"#define TURNPIKE_NIC_{structure.name.upper()}_{field.name.upper()} {field.offset}u  // {field.doc}" for field in structure.fields]
    return "\n".join(out) + "\n"


def rust(registers, codes, structures):
    out = ["//! Control and status registers of the NIC in `rtl/nic`, as byte offsets, codes and structures of its host's streams.", f"//! {MADE}", "",
           "use wire::CompactFrame;", "use zerocopy::{BigEndian, FromBytes, Immutable, IntoBytes, KnownLayout, U64, Unaligned};", ""]
    for r in registers:
        out += [f"/// {(r.doc or 'What the NIC does: the bits below.')}.".replace("..", ".")]
        out += [f"pub const {r.name.upper()}: u32 = 0x{r.offset:03x};"]
        if r.count > 1:
            out += [f"/// How many of [`{r.name.upper()}`] there are.", f"pub const {r.name.upper()}_COUNT: u32 = {r.count};"]
        for field in r.fields:
            out += [f"/// {field['doc']}.", f"pub const {r.name.upper()}_{field['name'].upper()}: u32 = 1 << {field['bit']};"]
    for group in codes:
        out += ["", f"/// {group['doc']}.", f"pub mod {group['name']} {{"]
        for value in group["values"]:
            out += [f"    /// {value['doc'][0].upper()}{value['doc'][1:]}.", f"    pub const {value['name'].upper()}: u8 = {value['code']};"]
        out += ["}"]
    for structure in structures:
        name = camel(structure.name)
        out += ["", f"/// {structure.doc}, {structure.bytes} bytes.",
                "#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]", "#[repr(C)]", f"pub struct {name} {{"]
        for field in structure.fields:
            out += [f"    /// {field.doc[0].upper()}{field.doc[1:]}.", f"    pub {field.name}: {field.rust},"]
        out += ["}", "", f"const _: () = assert!(size_of::<{name}>() == {structure.bytes});"]
    return "\n".join(out) + "\n"


def document(registers, codes, structures):
    access = {"ro": "read", "rw": "read, write", "wo": "write", "counter": "counter"}
    out = [f"<!-- {MADE} -->", "# Registers of the NIC", "",
           "Words of 32 bits at these byte offsets. A counter has 64 bits in two words, the lower one first: reading that keeps",
           "the upper one for the read that follows. [The chapter on the top](rtl-nic.md) tells in which order to write them.", "",
           "| offset | name | access | |", "|---|---|---|---|"]
    for r in registers:
        place = f"0x{r.offset:03x}" if r.count == 1 else f"0x{r.offset:03x} to 0x{r.end - WORD:03x}"
        name = r.name if r.count == 1 else f"{r.name}[{r.count}]"
        out += [f"| {place} | `{name}` | {access[r.access]} | {r.doc or 'the bits below'} |"]
    for r in registers:
        if r.fields:
            out += ["", f"`{r.name}`:", "", "| bit | name | |", "|---|---|---|"]
            out += [f"| {field['bit']} | `{field['name']}` | {field['doc']} |" for field in r.fields]
    out += ["", "## Codes of the host's streams", "", "A byte each: a packet's kind and port in `meta`, and the first byte of an announcement. [The chapter on the",
            "top](rtl-nic.md#ports) tells more of them."]
    for group in codes:
        out += ["", f"| {group['title']} | code | |", "|---|---|---|"]
        out += [f"| {value['name']} | {value['code']} | {value['doc']} |" for value in group["values"]]
    out += ["", "## Structures of the host's streams", "", "A packet each. Integers have their most significant byte first."]
    for structure in structures:
        out += ["", f"`{structure.name}`: {structure.doc[0].lower()}{structure.doc[1:]}, {structure.bytes} bytes.", "", "| offset | size | name | |", "|---|---|---|---|"]
        out += [f"| {field.offset} | {field.bytes} | `{field.name}` | {field.doc} |" for field in structure.fields]
    return "\n".join(out) + "\n"


def main():
    registers, codes, structures = read()
    files = {
        NIC / "src" / "nic_csr_pkg.sv": formatted(package(registers)),
        NIC / "src" / "nic_csr.sv": formatted(verilog(registers)),
        ROOT / "rtl" / "wire" / "src" / "host_pkg.sv": formatted(host_package(codes, structures)),
        NIC / "model" / "turnpike_nic_csr.h": c_header(registers, codes, structures),
        ROOT / "crates" / "nic" / "src" / "csr.rs": rust(registers, codes, structures),
        ROOT / "docs" / "rtl-csr.md": document(registers, codes, structures),
    }
    for path, text in files.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} is not what csr.yml says: run `make rtl-csr`")


main()
