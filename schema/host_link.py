"""The host link of a board: its RTL package, layout in Rust, constants of testbenches, and tables of docs/board.md."""

import re
import tomllib
from pathlib import Path

from words import camel, made_by, sentence, wrap

SOURCE = "host_link.toml"
WORD_BYTES = 16
KINDS = {1: "u8", 2: "U16", 4: "U32", 6: "Mac"}


class HostLink:
    """The contents of `host_link.toml`, with every offset."""

    def __init__(self):
        tables = tomllib.loads((Path(__file__).resolve().parent / SOURCE).read_text())
        self.constants, self.words = tables["constants"], tables["words"]
        self.registers = tables["registers"]
        for word in self.words:
            at = 0
            for field in word["fields"]:
                field["at"] = at
                at += field["bytes"]
            if at != WORD_BYTES:
                raise SystemExit(f"schema: {word['name']} has {at} bytes, not {WORD_BYTES}")
        addresses = [register["address"] for register in self.registers]
        if sorted(set(addresses)) != addresses:
            raise SystemExit(f"schema: {SOURCE}: the registers are not in the order of their addresses")

    def with_name(self):
        return [register for register in self.registers if "name" in register]


def plain(doc):
    """A text without links and marks of code."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", doc).replace("`", "")


def rust_body(link):
    lines = ["use wire::{U16, U32};", "use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};\n",
             "use crate::ethernet::Mac;\n"]
    for constant in link.constants:
        value = f"{constant['value']:#06x}" if constant["kind"] == "u16" else f"{constant['value']:_}"
        lines += [wrap("///", sentence(constant["doc"])), f"pub const {constant['name'].upper()}: {constant['kind']} = {value};"]
    for register in link.with_name():
        lines += [wrap("///", f"Register: {plain(register['doc'])}."),
                  f"pub const {register['name'].upper()}_REGISTER: u32 = {register['address']:#06x};"]
    for word in link.words:
        derives = "Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned"
        lines += ["", wrap("///", sentence(word["doc"])), f"#[derive({derives})]", "#[repr(C)]", f"pub struct {word['name']} {{"]
        for field in word["fields"]:
            if "parts" in field:
                lines += [line for part in field["parts"] for line in
                          (f"/// Part of {plain(field['doc'])}.", f"pub {part['name']}: {KINDS[part['bytes']]},")]
            else:
                lines += [wrap("///", sentence(plain(field["doc"]))), f"pub {field['name']}: {KINDS[field['bytes']]},"]
        lines += ["}\n", f"impl {word['name']} {{"]
        for field in word["fields"]:
            for bit, flag in enumerate(field.get("bits", [])):
                lines += [f"/// Flag: {flag['doc']}.", f"pub const {flag['name'].upper()}: u16 = 1 << {bit};"]
        lines += ["}"] if lines[-1] != f"impl {word['name']} {{" else []
        if lines[-1] == f"impl {word['name']} {{":
            lines.pop()
        lines += [f"\nconst _: () = assert!(size_of::<{word['name']}>() == {WORD_BYTES});"]
    return "\n".join(lines) + "\n"


def package(link):
    lines = [f"// Frames of the link between a NIC and its node over an Ethernet cable, see docs/board.md.\n// {made_by(SOURCE)}",
             "package host_link_pkg;"]
    for constant in link.constants:
        is_number = constant["kind"] == "usize"
        kind, value = ("int unsigned", constant["value"]) if is_number else ("logic [15:0]", f"16'h{constant['value']:04x}")
        lines += [wrap("  //", sentence(constant["doc"])), f"  localparam {kind} {camel(constant['name'])} = {value};"]
    lines += [f"\n  localparam int unsigned WordBytes = {WORD_BYTES};", "  localparam int unsigned SegmentWords = SegmentBytes / WordBytes;",
              "\n  // The board's registers."]
    lines += [f"  localparam logic [15:0] {camel(register['name'])}Register = 16'h{register['address']:04x};" for register in link.with_name()]
    lines += ["\n  typedef logic [15:0] sequence_t;"]
    for word in link.words:
        lines += ["", wrap("  //", f"{sentence(word['doc'])[:-1]}, the first byte highest."), "  typedef struct packed {"]
        for field in word["fields"]:
            if "bits" in field:
                width = 8 * field["bytes"] - len(field["bits"])
                lines += [f"    logic [{width - 1}:0] reserved;"]
                lines += [line for bit in reversed(field["bits"]) for line in (wrap("    //", sentence(bit["doc"])), f"    logic {bit['name']};")]
                continue
            kind = field.get("rtl", f"logic [{8 * field['bytes'] - 1}:0]")
            parts = ": " + ", ".join(part["name"] for part in field["parts"]) if "parts" in field else ""
            lines += [wrap("    //", sentence(plain(field["doc"]) + parts)), f"    {kind} {field['name']};"]
        lines += [f"  }} {word['rtl']};"]
    lines += ["""
  // Words of a stream have the first byte lowest.
  function automatic logic [8*WordBytes-1:0] swap_bytes(logic [8*WordBytes-1:0] word);
    for (int unsigned b = 0; b < WordBytes; b++) swap_bytes[8*b+:8] = word[8*(WordBytes-1-b)+:8];
  endfunction"""]
    return "\n".join(lines + ["endpackage\n"])


def header(link):
    """Constants, offsets of fields in a frame, and flags."""
    lines = [f"// The host link, see docs/board.md, for testbenches.\n// {made_by(SOURCE)}", "#pragma once\n", "#include <cstddef>",
             "#include <cstdint>\n", "namespace host_link {\n"]
    for constant in link.constants:
        kind, value = ("size_t", constant["value"]) if constant["kind"] == "usize" else ("uint16_t", f"{constant['value']:#06x}")
        lines.append(f"constexpr {kind} k{camel(constant['name'])} = {value};")
    lines.append(f"constexpr size_t kHeaderBytes = {2 * WORD_BYTES};\n")
    lines += [f"constexpr uint16_t k{camel(register['name'])}Register = {register['address']:#06x};" for register in link.with_name()]
    for number, word in enumerate(link.words):
        lines += ["", f"// {sentence(word['doc'])}", f"namespace {word['name'].removesuffix('Word').lower()}_at {{"]
        for field in word["fields"]:
            lines.append(f"constexpr size_t k{camel(field['name'])} = {WORD_BYTES * min(number, 1) + field['at']};")
        lines.append("}")
        lines += [f"constexpr uint16_t k{camel(flag['name'])} = {1 << bit};" for field in word["fields"] for bit, flag in enumerate(field.get("bits", []))]
    return "\n".join(lines + ["\n}  // namespace host_link\n"])


def tables(link, table):
    values = {constant["name"]: constant for constant in link.constants}
    found = {}
    for word in link.words[1:]:
        rows = []
        for field in link.words[0]["fields"]:
            constant = values.get(word["magic"] if field["name"] == "magic" else field["name"])
            of = f": `{constant['value']:#06x}`, {constant['doc'].rpartition(': ')[2]}" if constant else ""
            rows.append((field["at"], field["bytes"], field["doc"].partition(":")[0] + of))
        for field in word["fields"]:
            doc = field["doc"]
            if "bits" in field:
                flags = reversed(list(enumerate(field["bits"])))
                doc += ": " + ", ".join(f"{1 << bit} {flag['doc'].partition(';')[0]}" for bit, flag in flags) + "; all others 0"
            if "parts" in field:
                doc += ": " + ", ".join(part["name"] for part in field["parts"])
            rows.append((WORD_BYTES + field["at"], field["bytes"], doc))
        found[word["table"]] = table(["offset", "size", "field"], rows)
    found["board_registers"] = table(["register", "value"], [(f"`{register['address']:04x}`", register["doc"]) for register in link.registers])
    return found
