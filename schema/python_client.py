"""The codes, errors and layouts of the Python client library, as one module."""

import re

from words import CLIENT_CODES, CLIENT_FRAMES, made_by, quoted, sentence, snake, text, wrap

SOURCES = "protocol.toml and schema/frames.toml"
# The entries of batches: their columns are read without a Python object per entry.
ENTRIES = ("Operation", "SignedOperation")
LETTERS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
DTYPES = {"u8": "u1", "u16": ">u2", "u32": ">u4", "u64": ">u8"}
ID_DTYPE = '[("high", ">u8"), ("low", ">u8")]'


def docstring(words, indent="    "):
    words = re.sub(r"\[([^]]*)\]\([^)]*\)|\[`(\w+)`\]", r"\1\2", words)
    first, *rest = wrap(f'{indent}"""', words, 118).splitlines()
    first = first.replace('""" ', '"""', 1)
    return "\n".join([first, *(indent + line.replace('"""', "", 1).strip() for line in rest)]) + '"""'


def enum(name, doc, values):
    lines = [f"class {name}(IntEnum):", docstring(doc), ""]
    for value in values:
        lines += [f"    {snake(value['name']).upper()} = {value['code']}", docstring(value.get("doc") or value["meaning"])]
    return lines + ["", ""]


def status(protocol):
    lines = enum("Status", "Outcome of an operation or of a frame.", protocol.statuses)[:-2]
    lines += ["", "    @property", "    def advice(self) -> str:", '        """The text that programs print: the reason, and the remedy."""',
              "        return _ADVICE[self]", "", "", "_ADVICE: Final = {"]
    lines += [f"    Status.{text(value)}: {quoted(value['advice'])}," for value in protocol.statuses]
    lines += ["}", "", ""]
    failures = [value for value in protocol.statuses if value["code"]]
    for value in failures:
        lines += [f"class {value['name']}(StatusError):", docstring(value["meaning"][0].upper() + value["meaning"][1:] + "."), "",
                  f"    status = Status.{text(value)}", "", ""]
    # `errors` exports these.
    lines += ["__all__ = [", *(f'    "{value["name"]}",' for value in failures), "]", ""]
    lines += ["STATUS_ERRORS: Final[dict[Status, type[StatusError]]] = {"]
    return lines + [f"    Status.{text(value)}: {value['name']}," for value in failures] + ["}", ""]


def members(frames, frame):
    """The fields of a frame: the header that precedes all others is part of it, other structures are bytes."""
    for field in frame["fields"]:
        if frames.is_within(field):
            yield from members(frames, frames.frames[field["kind"]])
        else:
            yield field


def layout(frames, frame):
    form, lines = ">", []
    for field in members(frames, frame):
        is_bytes = field["is_array"] or field["kind"] not in LETTERS
        if field["name"].startswith("reserved"):
            form += f"{field['bytes']}x"
            continue
        form += f"{field['bytes']}s" if is_bytes else LETTERS[field["kind"]]
        default = {"magic": "MAGIC", "version": "VERSION"}.get(field["name"], 'b""' if is_bytes else 0)
        # The field hides a method of tuples, which has no use here.
        ignore = "  # type: ignore[assignment]" if field["name"] in ("count", "index") else ""
        lines += [f"    {field['name']}: {'bytes' if is_bytes else 'int'} = {default}{ignore}", docstring(sentence(field["doc"]))]
    name = snake(frame["name"]).upper()
    return [f"{name}: Final = Struct({quoted(form)})", "", "", f"class {frame['name']}(NamedTuple):", docstring(frame["doc"].split("\n\n")[0]), "",
            *lines, "",
            "    def pack(self) -> bytes:", '        """The bytes of the fixed part, reserved ones zero."""',
            f"        return {name}.pack(*self)", "", "    @classmethod", "    def unpack(cls, data: Buffer, offset: int = 0) -> Self:",
            '        """Reads the fixed part at an offset; `struct.error` if the data ends in it."""',
            f"        return cls._make({name}.unpack_from(data, offset))", "", ""]


def columns(frames, name, at=0):
    """Offsets of the fields of an entry; fields of a structure in it come in its place."""
    for field in frames.frames[name]["fields"]:
        if field["kind"] in frames.frames:
            yield from columns(frames, field["kind"], at + field["at"])
        else:
            yield field["name"], at + field["at"], field["bytes"]


def dtype(frames, name):
    def kind(field):
        if field["is_array"]:
            return f'"V{field["bytes"]}"'
        if field["kind"] in frames.frames:
            return f"{snake(field['kind']).upper()}_DTYPE"
        return f'"{DTYPES[field["kind"]]}"' if field["kind"] in DTYPES else ID_DTYPE

    return [f'    ("{field["name"]}", {kind(field)}),' for field in frames.frames[name]["fields"]]


def module(protocol, frames):
    lines = [docstring(f"The codes, errors and layouts of docs/protocol.md. {made_by(SOURCES)}", ""), "",
             "from enum import IntEnum", "from struct import Struct", "from typing import Any, Final, NamedTuple, Self", "",
             "from ._base import Buffer, StatusError", ""]
    for name, constant in protocol.constants.items():
        doc = constant["doc"].replace('"TP"', "`TP`")
        lines += [f"{name.upper()}: Final = {constant['value']:#x}", docstring(doc, "")]
    for name, limit in protocol.limits.items():
        lines += [f"{name.upper()}: Final = {limit['value']}", docstring(limit["doc"], "")]
    lines += ["", ""]
    for name in CLIENT_CODES:
        codes = protocol.of(name)
        lines += enum(name, codes["doc"], codes["values"])
    lines += status(protocol)
    for tag in protocol.tags:
        if "spv" in tag["crates"]:
            lines += [f"{tag['name'].upper()}_TAG: Final = {quoted(tag['text'])}", docstring(f"Tag of {tag['of']}.", "")]
    lines += [""]
    for name in CLIENT_FRAMES:
        lines += layout(frames, frames.frames[name])
    for name in ENTRIES:
        upper = snake(name).upper()
        lines += [f"{upper}_COLUMNS: Final = {{"]
        lines += [f'    "{column}": range({at}, {at + size}),' for column, at, size in columns(frames, name)]
        lines += ["}", docstring(f"Offsets of the bytes of each field of {name}.", ""), "",
                  f"{upper}_DTYPE: Final[list[tuple[str, Any]]] = [", *dtype(frames, name), "]",
                  docstring(f"{name} as a structured type of numpy. Ids are two numbers of 64 bits.", ""), ""]
    return "\n".join(lines).rstrip() + "\n"
