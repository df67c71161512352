"""Generates the protocol of the TypeScript client, `clients/typescript/src/protocol.ts`."""

import re

from words import camel, made_by, quoted, sentence, text, wrap

# Names that would hide a global of JavaScript.
RENAMED = {"Promise": "PromiseLevel"}
INTEGERS = {"u8": ("number", "Uint8"), "u16": ("number", "Uint16"), "u32": ("number", "Uint32"), "u64": ("bigint", "BigUint64")}


def doc(words, indent=""):
    """A comment of one line, or a block of wrapped lines."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words.replace("[`", "`").replace("`]", "`"))
    line = f"{indent}/** {words} */"
    return line if len(line) <= 120 else f"{indent}/**\n{wrap(f'{indent} *', words)}\n{indent} */"


def member(name):
    """A field's name: `public_key` as `publicKey`."""
    return name[0] + camel(name)[1:]


def constants(protocol):
    lines = []
    for name, constant in protocol.constants.items():
        lines += [doc(constant["doc"]), f"export const {name.upper()} = {constant['value']:#x};\n"]
    for name, limit in protocol.limits.items():
        lines += [doc(limit["doc"]), f"export const {name.upper()} = {limit['value']};\n"]
    return lines


def codes(table):
    """A table of codes as an object from names to numbers, and the type of its names."""
    name = RENAMED.get(table["name"], table["name"])
    key = lambda value: re.sub(r"\W", "_", text(value))
    lines = [doc(table["doc"]), f"export const {name} = {{"]
    for value in table["values"]:
        number = f"{value['code']:#x}" if table["type"] == "u32" else value["code"]
        lines += [doc(value["doc"], "  "), f"  {key(value)}: {number},"]
    return lines + ["} as const;", doc(f"A name in `{name}`."), f"export type {name}Name = keyof typeof {name};\n"]


def statuses(protocol):
    lines = [doc("The outcome of an operation or of a frame."), "export const Status = {"]
    for status in protocol.statuses:
        lines += [doc(sentence(status["meaning"]), "  "), f"  {text(status)}: {status['code']},"]
    lines += ["} as const;", doc("A name in `Status`."), "export type StatusName = keyof typeof Status;\n",
              doc("The meaning of each status, and what to do next."), "export const ADVICE: Readonly<Record<StatusName, string>> = {"]
    lines += [f"  {text(status)}: {quoted(status['advice'])}," for status in protocol.statuses]
    return lines + ["};\n"]


def tags(protocol):
    lines = [doc("Tags of BIP340's tagged SHA-256, one per purpose."), "export const Tag = {"]
    for tag in protocol.tags:
        lines += [doc(f"Tag of {tag['of']}.", "  "), f"  {tag['name']}: {quoted(tag['text'])},"]
    return lines + ["} as const;\n"]


def codec(frames, frame):
    """An interface of a frame's fixed part, and an object of the same name that decodes and encodes it."""
    name = frame["name"]
    fields = [field for field in frame["fields"] if not field["name"].startswith("reserved")]
    kinds, reads, writes = [], [], []
    for field in fields:
        kind, key, at = field["kind"], member(field["name"]), field["at"]
        if kind in frames.frames:
            form, read, write = kind, f"{kind}.decode(view, at + {at})", f"{kind}.encode(view, at + {at}, value.{key})"
        elif field["is_array"] or kind not in INTEGERS:
            form = "Uint8Array" if field["is_array"] else kind
            cast = "" if field["is_array"] else f" as {kind}"
            read = f"bytesAt(view, at + {at}, {field['bytes']}).slice(){cast}"
            write = f"bytesAt(view, at + {at}, {field['bytes']}).set(value.{key})"
        else:
            form, method = INTEGERS[kind]
            read, write = f"view.get{method}(at + {at})", f"view.set{method}(at + {at}, value.{key})"
        kinds += [doc(sentence(field["doc"]), "  "), f"  {key}: {form};"]
        reads.append(f"      {key}: {read},")
        writes.append(f"    {write};")
    first = frames.first_line(frame)
    return [doc(first), f"export interface {name} {{", *kinds, "}",
            doc(f"Layout of `{name}`: its length, the offsets of its fields, and both directions of its codec."),
            f"export const {name} = {{", f"  LENGTH: {frame['bytes']},", "  at: {",
            *(f"    {member(field['name'])}: {field['at']}," for field in fields), "  },",
            f"  decode(view: DataView, at = 0): {name} {{", "    return {", *reads, "    };", "  },",
            f"  encode(view: DataView, at: number, value: {name}): void {{", *writes, "  },", "} as const;\n"]


def module(protocol, frames):
    """The codes, tags and layouts of docs/protocol.md."""
    lines = [f"// The codes, tags and frames of docs/protocol.md. {made_by('protocol.toml and schema/frames.toml')}",
             'import type { AccountId, TransactionId } from "./ids.js";\n',
             "function bytesAt(view: DataView, at: number, length: number): Uint8Array {",
             "  return new Uint8Array(view.buffer, view.byteOffset + at, length);", "}\n", *constants(protocol)]
    for table in protocol.codes:
        lines += codes(table)
    lines += statuses(protocol) + tags(protocol)
    for frame in frames.frames.values():
        # Other chapters specify frames that no node serves yet.
        if "chapter" not in frame:
            lines += codec(frames, frame)
    return "\n".join(lines)[:-1] + "\n"
