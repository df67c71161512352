"""The codes of `clients/c` as Rust, of which cbindgen makes the header: statuses of the ledger, failures of the client."""

import tomllib
from pathlib import Path

from words import quoted, text, wrap

FAILURES = Path(__file__).resolve().parent / "c_client.toml"
FIRST_FAILURE = 256
# C has no namespaces.
PREFIX = "Turnpike"
DERIVED = "#[derive(Clone, Copy, Debug, PartialEq, Eq)]"


def statuses(protocol):
    """(code, name, name in C, text, advice) of every status and failure."""
    for status in protocol.statuses:
        if status["code"] >= FIRST_FAILURE:
            raise SystemExit(f"schema: status {status['name']} has a code of the C client's failures")
        meaning, _, advice = status["advice"].partition("; ")
        yield status["code"], status["name"], text(status), meaning, advice
    for failure in tomllib.loads(FAILURES.read_text())["failures"]:
        if failure["code"] < FIRST_FAILURE:
            raise SystemExit(f"schema: failure {failure['name']} has a code of the protocol's statuses")
        yield failure["code"], failure["name"], text({"name": failure["name"]}), failure["text"], failure["advice"]


def strings(name, doc, values):
    lines = [f"/// {doc}", f"pub(crate) const fn {name}(self) -> &'static CStr {{", "match self {"]
    return lines + [f"Self::{PREFIX}{variant} => c{quoted(words)}," for variant, words in values] + ["}", "}", ""]


def status(protocol):
    values = list(statuses(protocol))
    for column in (0, 1):
        if len({value[column] for value in values}) != len(values):
            raise SystemExit("schema: a status or a failure of the C client occurs more than once")
    lines = ["/// Result of a call or of an operation: below 256 a status of the ledger, from 256 on a failure of the client.",
             "/// turnpike_status_text and turnpike_status_advice describe it.", "/// cbindgen:rename-all=ScreamingSnakeCase",
             DERIVED, "#[repr(u16)]", '#[allow(clippy::enum_variant_names, reason = "C has no namespaces")]', "pub enum ClientStatus {"]
    for code, name, _, meaning, advice in values:
        sentence = f"{meaning[0].upper()}{meaning[1:]}{advice and '; '}{advice}."
        lines += [wrap("///", sentence), f"{PREFIX}{name} = {code},"]
    lines += ["}", "", "impl ClientStatus {", "/// All of them, in the order of their codes.", "///", "/// cbindgen:ignore",
              f"pub(crate) const ALL: [Self; {len(values)}] = ["]
    lines += [f"Self::{PREFIX}{value[1]}," for value in values] + ["];", ""]
    lines += strings("name", "The name, such as `INSUFFICIENT_BALANCE`.", [(value[1], value[2]) for value in values])
    lines += strings("text", "What happened.", [(value[1], value[3]) for value in values])
    return lines + strings("advice", "What to do; empty without advice.", [(value[1], value[4]) for value in values]) + ["}", ""]


def code(codes):
    lines = [f"/// {codes['doc']}", DERIVED, f"#[repr({codes['type']})]", f"pub enum {codes['name']} {{"]
    for value in codes["values"]:
        lines += [wrap("///", value["doc"]), f"{value['name']} = {value['code']},"]
    return lines + ["}", ""]


def body(protocol):
    lines = ["use std::ffi::CStr;", "", *status(protocol)]
    for name in ("Command", "Promise"):
        lines += code(protocol.of(name))
    return "\n".join(lines)
