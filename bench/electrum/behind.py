"""A bitcoind with one of our chains, and measurements of the servers that index it."""

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/electrum/bitcoind"))
from electrumx import ElectrumX  # noqa: E402
from programs import Bitcoind, Turnpike, wait_until  # noqa: E402

# Its default reply limit is 1 MB: about 10,000 transactions of a history.
ELECTRUMX_REPLY = {"MAX_SEND": "20000000"}


class Miner(Bitcoind):
    """Accepts our chains, and makes blocks that are as full as allowed: by default, Knots limits them further."""

    OPTIONS = [*Bitcoind.OPTIONS, "-acceptnonstdtxn=1", "-blockmaxsize=4000000", "-blockmaxweight=4000000"]


def start_all(started, bitcoind_program, turnpike_program, venv, folder, chain):
    """Starts a bitcoind with the blocks of a chain and one of its own, and the servers that use it, by name."""
    bitcoind = Miner(bitcoind_program, f"{folder}/bitcoind")
    started.append(bitcoind)
    for raw in chain.raws[1:]:
        refused = bitcoind.rpc("submitblock", raw.hex())
        if refused:
            sys.exit(f"error: bitcoind refuses a block: {refused}")
    # The chain's blocks are old: bitcoind would assume that its first sync is not finished.
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
    """Stops a server, so that it takes no time from the one being measured."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def processor_time(process, of=None):
    """Microseconds of processor time of its threads, or of those with a name."""
    used = 0
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        try:
            if of is None or (task / "comm").read_text().strip() == of:
                used += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            # A thread that has just ended does not serve.
            continue
    return used / 1000


def figure(name, value, unit, theirs):
    """Prints a measurement, and stores it for the page of results."""
    print(f"{name}: turnpike {value:.1f} {unit}, ElectrumX {theirs:.1f} {unit}", flush=True)
    if path := os.environ.get("TURNPIKE_FIGURES"):
        with open(path, "a") as file:
            file.write(f"{name}\t{value:.6g}\t{unit}\tElectrumX\t{theirs:.6g}\n")
