"""Generates the Go of `clients/go`: codes, statuses, frames and tags.

The result is as gofmt writes it, without running gofmt: machines without Go generate it, too.
"""

import re

from words import CLIENT_CODES, CLIENT_FRAMES, camel, quoted, text

# A field with this name and kind holds one of these codes.
CODES = {("command", "u8"): "Command", ("status", "u16"): "Status", ("promise", "u8"): "Promise", ("chain", "u8"): "Chain",
         ("query", "u8"): "Query", ("format", "u8"): "BatchFormat"}
INTEGERS = {"u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
IDS = {"AccountId": "AccountID", "TransactionId": "TransactionID"}
# The interface of the library. Everything else is private.
PUBLIC = {"Command", "Promise", "Status", "Operation", "SignedOperation", "IndexEntry"}
WIDTH = 116


def lower(name):
    return name[0].lower() + name[1:]


def go_name(name):
    return name if name in PUBLIC else lower(name)


def comment(words, indent=""):
    """Wraps words as a comment, without the links of Rust and Markdown."""
    plain = re.sub(r"\[`?([^]`]*)`?\](\([^)]*\))?", r"\1", words)
    lines, line = [], f"{indent}//"
    for word in plain.split():
        if len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = f"{indent}//"
        line += f" {word}"
    return "\n".join([*lines, line])


def constants(values):
    """A block of constants: documentation, declaration."""
    return "\n".join(["const (", *(f"{comment(doc, chr(9))}\n\t{declaration}" for doc, declaration in values), ")\n"])


def method(doc, receiver, name, cases, otherwise):
    """A method that returns a text for each value."""
    lines = [comment(doc), f"func (code {receiver}) {name}() string {{", "\tswitch code {"]
    lines += [f"\tcase {value}:\n\t\treturn {quoted(result)}" for value, result in cases]
    return "\n".join([*lines, "\t}", f"\treturn {otherwise}", "}\n"])


def code_type(codes):
    name, kind = go_name(codes["name"]), INTEGERS[codes["type"]]
    declared = [(value["doc"], f"{name}{value['name']} {name} = {value['code']}") for value in codes["values"]]
    unknown = f'"{codes["name"]}(" + strconv.Itoa(int(code)) + ")"'
    cases = [(f"{name}{value['name']}", text(value)) for value in codes["values"]]
    return "\n".join([f"// {name} is the {lower(codes['doc'])}", f"type {name} {kind}\n", constants(declared),
                      method("String returns the name in the protocol.", name, "String", cases, unknown)])


def statuses(values):
    doc = "Status is the outcome of an operation or of a frame. Each except StatusOk is an error, for errors.Is."
    declared = [(f"{status['advice'][0].upper()}{status['advice'][1:]}.", f"Status{status['name']} Status = {status['code']}")
                for status in values]
    return "\n".join([
        comment(doc), "type Status uint16\n", constants(declared),
        method("String returns the name in the protocol, such as INSUFFICIENT_BALANCE.", "Status", "String",
               [(f"Status{status['name']}", text(status)) for status in values], '"Status(" + strconv.Itoa(int(code)) + ")"'),
        method("Advice returns the reason and a remedy; empty if this version does not know the status.", "Status", "Advice",
               [(f"Status{status['name']}", status["advice"]) for status in values], '""')])


def type_of(field):
    if field["is_array"]:
        return f"[{field['bytes']}]byte"
    if field["kind"] in INTEGERS:
        return go_name(CODES.get((field["name"], field["kind"]), INTEGERS[field["kind"]]))
    return IDS.get(field["kind"]) or go_name(field["kind"])


def access(field):
    """The statements that write and read a field."""
    at, end, value, kind = field["at"], field["at"] + field["bytes"], f"f.{camel(field['name'])}", type_of(field)
    if field["is_array"] or field["kind"] in IDS:
        return f"copy(b[{at}:{end}], {value}[:])", f"copy({value}[:], b[{at}:{end}])"
    if field["kind"] not in INTEGERS:
        return f"{value}.write(b[{at}:{end}])", f"{value}.read(b[{at}:{end}])"
    integer, bits = INTEGERS[field["kind"]], 8 * field["bytes"]
    written = value if kind == integer else f"{integer}({value})"
    place = f"b[{at}]" if bits == 8 else f"binary.BigEndian.Uint{bits}(b[{at}:{end}])"
    write = f"{place} = {written}" if bits == 8 else f"binary.BigEndian.PutUint{bits}(b[{at}:{end}], {written})"
    return write, f"{value} = {place if kind == integer else f'{kind}({place})'}"


def structure(frame):
    name, size = go_name(frame["name"]), frame["bytes"]
    fields = [field for field in frame["fields"] if not field["name"].startswith("reserved")]
    first = frame["doc"].splitlines()[0]
    verb = " is" if re.match(r"(The|One|An?) ", first) else ":"
    lines = [comment(f"{name}{verb} {lower(first)}"), f"type {name} struct {{"]
    for field in fields:
        doc = field["doc"][0].upper() + field["doc"][1:]
        lines += [comment(f"{doc}.", "\t"), f"\t{camel(field['name'])} {type_of(field)}"]
    writes, reads = zip(*map(access, fields))
    lines += ["}\n", f"// {lower(frame['name'])}Size is the length of the fixed part in bytes.",
              f"const {lower(frame['name'])}Size = {size}\n",
              f"// write encodes the structure in the first {size} bytes of b, except the reserved ones.",
              f"func (f *{name}) write(b []byte) {{", f"\t_ = b[{size - 1}]", *(f"\t{line}" for line in writes), "}\n",
              f"// read decodes the first {size} bytes of b.",
              f"func (f *{name}) read(b []byte) {{", f"\t_ = b[{size - 1}]", *(f"\t{line}" for line in reads), "}\n"]
    return "\n".join(lines)


def module(protocol, frames):
    codes = [protocol.of(name) for name in CLIENT_CODES]
    fixed = [(constant["doc"], f"{lower(camel(name))} = {constant['value']:#x}") for name, constant in protocol.constants.items()]
    fixed += [(limit["doc"], f"{lower(camel(name))} = {limit['value']}") for name, limit in protocol.limits.items()]
    tags = [(f"Tag of {tag['of']}.", f"tag{camel(tag['name'])} = {quoted(tag['text'])}")
            for tag in protocol.tags if "spv" in tag["crates"]]
    parts = ["// Code generated by schema/generate.py from protocol.toml and frames.toml; DO NOT EDIT.\n",
             "package turnpike\n", 'import (\n\t"encoding/binary"\n\t"strconv"\n)\n', constants(fixed),
             *map(code_type, codes), statuses(protocol.statuses),
             "// Tags of BIP340's tagged SHA-256, one per purpose.\n" + constants(tags), *(structure(frames.frames[name]) for name in CLIENT_FRAMES)]
    return "\n".join(parts)
