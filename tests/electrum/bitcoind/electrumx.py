"""ElectrumX behind a bitcoind on regtest."""

import os
import subprocess

from programs import fail, free_port, wait_until

# It wants a newer bitcoind, for an index that only `outpoint.*` needs: those methods are not compared.
LAUNCHER = """
import runpy, sys
from electrumx.lib.coins import Bitcoin
Bitcoin.MIN_REQUIRED_DAEMON_VERSION = None
Bitcoin.REQUIRED_DAEMON_INDEXES = ("txindex",)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


class ElectrumX:
    """ElectrumX in a virtual environment, with what else its environment is to have."""

    def __init__(self, venv, folder, bitcoind, **more):
        os.makedirs(folder)
        port = free_port()
        self.address, self.log = f"127.0.0.1:{port}", f"{folder}/log"
        user = bitcoind.cookie.read_text()
        self.command = [f"{venv}/bin/python", "-B", "-c", LAUNCHER, f"{venv}/bin/electrumx_server"]
        self.environment = dict(
            os.environ, COIN="Bitcoin", NET="regtest", DB_DIRECTORY=folder, DB_ENGINE="leveldb",
            DAEMON_URL=f"http://{user}@127.0.0.1:{bitcoind.port}/", SERVICES=f"tcp://{self.address}", PEER_DISCOVERY="off", PEER_ANNOUNCE="",
            BLACKLIST_URL="", ALLOW_ROOT="1", COST_SOFT_LIMIT="0", COST_HARD_LIMIT="0", INITIAL_CONCURRENT="1000", REQUEST_SLEEP="0", **more)
        self.start()

    def start(self):
        """Starts it, and waits until it has indexed all blocks and serves."""
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

        def serves():
            text = open(self.log).read()
            if self.process.poll() is not None:
                fail("ElectrumX ended: " + text[-3000:])
            return "TCP server listening" in text

        wait_until("ElectrumX serves", serves)
