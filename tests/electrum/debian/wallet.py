"""Electrum against a node with mainnet's first blocks: a wallet that watches the address that is paid most there verifies each of
its transactions, and does not believe a server whose Merkle paths are wrong.

usage: wallet.py honest|lying ELECTRUM DIRECTORY      an address such as 127.0.0.1:50001, and an empty directory for the wallet
"""

import asyncio
import json
import logging
import os
import sys
import time
import traceback

from electrum import constants, util
from electrum.daemon import Daemon
from electrum.simple_config import SimpleConfig
from electrum.version import ELECTRUM_VERSION
from electrum.wallet import restore_wallet_from_text

TIP = 14131
ADDRESS = "12higDjoCCNXSA95xZMWUdPvXNmkAduhWv"
PAID, TRANSACTIONS = 2_317_533_000_000, 21
PATIENCE = 60


def check(what, found, expected):
    if found != expected:
        sys.exit(f"error: {what}: {found!r}, and not {expected!r}")
    print(f"ok: Electrum {ELECTRUM_VERSION}: {what}", flush=True)


class Refusals(logging.Handler):
    """Counts the paths that Electrum says it refuses."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def emit(self, record):
        self.count += "MerkleRootMismatch" in record.getMessage()


class Liar:
    """A server between Electrum and the node that changes one digit of each Merkle path."""

    def __init__(self, node):
        self.node = node
        self.connections = self.lies = 0

    async def start(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 26)
        return "{}:{}".format(*server.sockets[0].getsockname())

    async def serve(self, reader, writer):
        self.connections += 1
        host, port = self.node.split(":")
        node_reader, node_writer = await asyncio.open_connection(host, port, limit=1 << 26)
        try:
            await asyncio.gather(self.copy(reader, node_writer, bytes), self.copy(node_reader, writer, self.lie))
        except ConnectionError:
            pass

    async def copy(self, reader, writer, change):
        while line := await reader.readline():
            writer.write(change(line))
            await writer.drain()
        writer.close()

    def lie(self, line):
        message = json.loads(line)
        result = message.get("result")
        if not isinstance(result, dict) or not result.get("merkle"):
            return line
        self.lies += 1
        path = result["merkle"]
        path[0] = path[0][:-1] + ("1" if path[0][-1] == "0" else "0")
        return json.dumps(message).encode() + b"\n"


class Electrum:
    """One Electrum, whose only server is `server`, with a wallet that watches the address."""

    def __init__(self, server, directory):
        options = {"cwd": directory, "electrum_path": directory, "server": f"{server}:t", "oneserver": True, "auto_connect": False}
        config = SimpleConfig(options, read_user_dir_function=lambda: directory)
        self.daemon = Daemon(config, listen_jsonrpc=False)
        self.wallet = restore_wallet_from_text(ADDRESS, path=os.path.join(directory, "wallet"), config=config)["wallet"]
        self.wallet.start_network(self.daemon.network)

    def verified(self):
        return self.wallet.db.list_verified_tx()

    def close(self, loop):
        asyncio.run_coroutine_threadsafe(self.wallet.stop(), loop).result(PATIENCE)
        asyncio.run_coroutine_threadsafe(self.daemon.stop(), loop).result(PATIENCE)


def wait_until(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"error: {what}: not within {PATIENCE} s")
        time.sleep(0.05)


def honest(loop, server, directory):
    electrum = Electrum(server, directory)
    wait_until("all transactions are verified", lambda: electrum.wallet.is_up_to_date() and len(electrum.verified()) == TRANSACTIONS)
    check("the height", electrum.daemon.network.get_local_height(), TIP)
    check("the balance, all of it confirmed", electrum.wallet.get_balance(), (PAID, 0, 0))
    history = electrum.wallet.get_full_history().values()
    check("the transactions", len(history), TRANSACTIONS)
    check("each has confirmations by a path that was verified", all(one["confirmations"] > 0 for one in history), True)
    electrum.close(loop)


def lying(loop, node, directory):
    # What becomes of the wrong paths would come a second time, as traces.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
    liar = Liar(node)
    refusals = Refusals()
    logging.getLogger("electrum").addHandler(refusals)
    server = asyncio.run_coroutine_threadsafe(liar.start(), loop).result(PATIENCE)
    electrum = Electrum(server, directory)
    wait_until("Electrum asks for the paths of all transactions", lambda: liar.lies >= TRANSACTIONS)
    wait_until("Electrum leaves a server that lies", lambda: refusals.count >= 1 and liar.connections >= 2)
    check("it leaves a server with a wrong path", True, True)
    check("none of them is verified by a wrong path", len(electrum.verified()), 0)
    electrum.close(loop)


def main(case, server, directory):
    # The blocks end below the checkpoints of any release.
    constants.BitcoinMainnet.CHECKPOINTS = []
    logging.getLogger("electrum").setLevel(logging.INFO)
    loop, stop, thread = util.create_and_start_event_loop()
    {"honest": honest, "lying": lying}[case](loop, server, directory)
    loop.call_soon_threadsafe(stop.set_result, 1)
    thread.join(PATIENCE)


code = 1
try:
    main(*sys.argv[1:])
    code = 0
except SystemExit as error:
    print(error)
except Exception:
    traceback.print_exc()
finally:
    sys.stdout.flush()
    # Threads of Electrum's would keep a process that failed.
    os._exit(code)
