#!/usr/bin/env python3
"""Writes the golden vectors of the protocol and of delays: `vectors/generate.py`, or `--check` to compare with what is there.

`--seeds DIR` writes the frames and proofs as binary files into a folder of DIR for each fuzz target that takes them.

All is described here a second time, from docs/protocol.md and docs/delay.md and not from the Rust code, so that a mistake in
one of the two shows. The files are plain text with one record a line and fields parted by spaces, for fscanf("%s") in C and
$fscanf in SystemVerilog; the files *.hex hold words of one width, for $readmemh.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True

from chain_vectors import definitions, header_chains, index_proofs, seals, signatures, transaction_proofs
from delay_vectors import proofs
from finality_vectors import approvals, certificates, evidence, reconfigurations, vouched
from frames import STATUS
from ledger_vectors import conversation
from wire_vectors import replies, requests

HERE = Path(__file__).parent


def lines(title, columns, records):
    yield f"# {title}"
    yield "# Fields: " + ", ".join(columns) + ". Bytes are in hexadecimal, none are -. Made by vectors/generate.py."
    for record in records:
        if isinstance(record, str):
            yield ""
            yield record
        else:
            yield " ".join((field.hex() or "-") if isinstance(field, bytes) else field for field in record)


def files():
    yield "wire/requests.txt", lines(
        "Datagrams to a node: what a parser must make of them before the ledger is asked.",
        ("name", "kind", "status", "answer (of refused frames)", "frame"), requests())
    yield "wire/replies.txt", lines(
        "Datagrams to a client: what a parser must make of them.",
        ("name", "kind (bad: no reply)", "status", "frame"), replies())
    yield "wire/status.txt", lines(
        "Status codes.", ("name", "code (decimal)"), ((name, str(code)) for name, code in STATUS.items()))
    yield "chain/definitions.txt", lines(
        "Hashes of the own chain: tagged hashes of their input, the genesis header, headers with their seals, the path of an account. The chain's secret key is 0102..1f20.",
        ("name", "input", "output"), definitions())
    yield "chain/signatures.txt", lines(
        "Signed operations. The good ones are signed with the secret key 0102..1f20 and the nonce of RFC 6979.",
        ("name", "verdict", "network id", "signed operation"), signatures())
    yield "chain/seals.txt", lines(
        "Headers with their seals, by the secret key 0102..1f20 and without auxiliary randomness.",
        ("name", "verdict", "chain key", "header and seal"), seals())
    yield "chain/header_chains.txt", lines(
        "Headers from genesis on: those of the good chains follow each other. Keys as of seals; ordered chains have none.",
        ("name", "verdict", "network id", "headers and seals"), header_chains())
    yield "chain/certificates.txt", lines(
        "Certificates of finality, by replicas with the secret keys 0102..1f20 and those that follow it.",
        ("name", "verdict", "network id", "keys of the replicas", "certificate"), certificates())
    yield "chain/evidence.txt", lines(
        "Two votes by a replica, which contradict each other or not. Keys as of certificates.",
        ("name", "verdict", "network id", "keys of the replicas", "evidence"), evidence())
    yield "chain/approvals.txt", lines(
        "Approvals of changes of the set of replicas: whether the signature is that of the signer. Keys as of certificates.",
        ("name", "verdict", "network id", "keys of the replicas", "approval"), approvals())
    yield "chain/reconfigurations.txt", lines(
        "Changes of the set of replicas of generation 0 with approvals. Keys as of certificates.",
        ("name", "verdict", "network id", "keys of the replicas", "reconfiguration", "keys after it"), reconfigurations())
    yield "chain/vouched.txt", lines(
        "Founders, changes of the set and a certificate: whether the founders lead to the present set. Keys as of certificates.",
        ("name", "verdict", "network id", "what is kept", "keys of the present set"), vouched())
    yield "chain/transaction_proofs.txt", lines(
        "Replies to proof query 3 on the own chain.", ("name", "verdict", "header of the block", "reply"),
        transaction_proofs())
    yield "chain/index_proofs.txt", lines(
        "Replies to proof query 4.", ("name", "verdict", "account", "header of the block", "reply"), index_proofs())
    yield "delay/proofs.txt", lines(
        "Proofs of delay functions, modulo RSA-1024.", ("name", "result mask (decimal)", "proof"), proofs())
    talk = list(conversation())
    for name, part in (("requests", 0), ("replies", 1)):
        yield f"ledger/compact_{name}.hex", [
            f"// {len(talk)} compact frames in order, from an empty ledger: {name}. Words of 176 bits for $readmemh.",
            "// Made by vectors/generate.py.", *(pair[part].hex() for pair in talk)]


def seeds(directory):
    starts = {
        "wire_request": ((record[0], record[4]) for record in requests() if not isinstance(record, str)),
        "wire_reply": ((record[0], record[3]) for record in replies() if not isinstance(record, str)),
        "own_proof": [*((record[0], bytes(16) + record[3]) for record in transaction_proofs()),
                      *((f"index_{record[0]}", record[2] + record[4]) for record in index_proofs())],
        "certificate": [(record[0], record[2] + record[4]) for record in (*certificates(), *evidence())]
        + [(f"change_{record[0]}", record[2] + record[4]) for record in (*approvals(), *reconfigurations())]
        + [(f"vouched_{record[0]}", record[2] + record[3]) for record in vouched()],
        "delay_proof": ((record[0], record[2]) for record in proofs()),
    }
    for target, frames in starts.items():
        path = Path(directory) / target
        path.mkdir(parents=True, exist_ok=True)
        for name, frame in frames:
            (path / name).write_bytes(frame)


def main():
    match sys.argv[1:]:
        case ["--seeds", directory]:
            return seeds(directory)
        case [] | ["--check"]:
            check = len(sys.argv) == 2
        case _:
            sys.exit(f"usage: {sys.argv[0]} [--check | --seeds DIR]")
    for name, content in files():
        path = HERE / name
        text = "\n".join(content) + "\n"
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not what vectors/generate.py writes; run it and look at the difference")


if __name__ == "__main__":
    main()
