"""A bitcoind that has a chain of ours, and what is measured of the servers behind it."""

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/electrum/bitcoind"))
from electrumx import ElectrumX  # noqa: E402
from programs import Bitcoind, Turnpike, wait_until  # noqa: E402

# Its limit of a reply by default is 1 MB: some 10,000 transactions of a history.
ELECTRUMX_REPLY = {"MAX_SEND": "20000000"}


class Miner(Bitcoind):
    """It takes what our chains have, and makes blocks that are as full as they may be: Knots limits them to less unless told to."""

    OPTIONS = [*Bitcoind.OPTIONS, "-acceptnonstdtxn=1", "-blockmaxsize=4000000", "-blockmaxweight=4000000"]


def start_all(started, bitcoind_program, turnpike_program, venv, folder, chain):
    """A bitcoind that has the blocks of a chain and one of its own, and the servers behind it by their names."""
    bitcoind = Miner(bitcoind_program, f"{folder}/bitcoind")
    started.append(bitcoind)
    for raw in chain.raws[1:]:
        refused = bitcoind.rpc("submitblock", raw.hex())
        if refused:
            sys.exit(f"error: bitcoind refuses a block: {refused}")
    # The others are old: it would take itself for one that is not done with its first sync.
    bitcoind.mine()
    turnpike = Turnpike(turnpike_program, f"{folder}/turnpike", bitcoind)
    started.append(turnpike)
    electrumx = ElectrumX(venv, f"{folder}/electrumx", bitcoind, **ELECTRUMX_REPLY)
    started.append(electrumx)
    return bitcoind, {"Turnpike": turnpike, "ElectrumX": electrumx}


def wait_for_tip(bitcoind, client):
    wait_until("it follows", lambda: client.ask("blockchain.headers.subscribe")["height"] == bitcoind.rpc("getblockcount"))


@contextmanager
def halted(server):
    """Keeps a server from taking time that the other one is measured in."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def processor_time(process, of=None):
    """Microseconds that its threads have used, or those of a name."""
    used = 0
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        try:
            if of is None or (task / "comm").read_text().strip() == of:
                used += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            # A thread that has ended meanwhile is none that serves.
            continue
    return used / 1000


def figure(name, value, unit, theirs):
    """Tells what was measured, and keeps it for the page of results."""
    print(f"{name}: turnpike {value:.1f} {unit}, ElectrumX {theirs:.1f} {unit}", flush=True)
    if path := os.environ.get("TURNPIKE_FIGURES"):
        with open(path, "a") as file:
            file.write(f"{name}\t{value:.6g}\t{unit}\tElectrumX\t{theirs:.6g}\n")
