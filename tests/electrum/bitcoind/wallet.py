"""An Electrum behind a node that follows a real bitcoind: it is paid, the payment is confirmed, reorganised back to unconfirmed and
confirmed again, and it pays back.

usage: wallet.py BITCOIND TURNPIKE FOLDER [ELECTRUM]      the command of an Electrum, by default Debian's
"""

import json
import subprocess
import sys
from decimal import Decimal

from programs import PATIENCE, check, fail, main, start_both, wait_until


class Electrum:
    """Electrum's own program, whose only server is the node."""

    def __init__(self, program, folder, server):
        self.program, self.folder, self.server = program, folder, server
        self.name = "Electrum " + self.run("version", "--offline")
        self.run("create", "--offline")
        for key, value in (("auto_connect", "false"), ("oneserver", "true"), ("check_updates", "false")):
            self.run("setconfig", "--offline", key, value)
        self.start()

    def start(self):
        self.run("daemon", "-d", "--server", f"{self.server}:t")
        self.run("load_wallet")

    def run(self, *arguments):
        command = [self.program, "--regtest", "-D", self.folder, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode:
            fail(f"electrum {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def balance(self):
        """Confirmed and unconfirmed."""
        balance = json.loads(self.run("getbalance"))
        return Decimal(balance.get("confirmed", "0")), Decimal(balance.get("unconfirmed", "0"))

    def wait_balance(self, what, confirmed, unconfirmed):
        expected = (Decimal(confirmed), Decimal(unconfirmed))
        wait_until(f"{self.name}: {what}", lambda: self.balance() == expected)
        print(f"ok: {self.name}: {what}", flush=True)

    def history(self):
        history = json.loads(self.run("onchain_history"))
        # Electrum 4.8 gives a list.
        return history if isinstance(history, list) else history["transactions"]

    def wait_height(self, height):
        def is_there():
            info = json.loads(self.run("getinfo"))
            return info["connected"] and info["blockchain_height"] == height

        wait_until(f"{self.name} is at height {height}", is_there)

    def stop(self):
        self.run("stop")


def run(started, bitcoind_program, turnpike_program, folder, electrum_program="electrum"):
    bitcoind, turnpike = start_both(started, bitcoind_program, turnpike_program, folder, 110)
    electrum = Electrum(electrum_program, f"{folder}/electrum", turnpike.address)
    try:
        judge(bitcoind, electrum)
    finally:
        electrum.stop()
    turnpike.stop()


def judge(bitcoind, electrum):
    electrum.wait_height(110)
    bitcoind.rpc("sendtoaddress", electrum.run("getunusedaddress"), 0.5)
    electrum.wait_balance("it is paid, unconfirmed", "0", "0.5")
    bitcoind.mine()
    electrum.wait_balance("the payment is confirmed", "0.5", "0")
    bitcoind.rpc("invalidateblock", bitcoind.rpc("getbestblockhash"))
    bitcoind.mine_empty()
    bitcoind.mine_empty()
    electrum.wait_height(bitcoind.rpc("getblockcount"))
    electrum.wait_balance("reorganised, it is unconfirmed again", "0", "0.5")
    bitcoind.mine()
    electrum.wait_balance("it is confirmed again", "0.5", "0")
    back = bitcoind.rpc("getnewaddress")
    transaction = electrum.run("payto", back, "0.2", "--feerate", "5")
    txid = electrum.run("broadcast", transaction)
    check(f"{electrum.name}: what it pays back is at bitcoind", txid in bitcoind.rpc("getrawmempool"), True)
    bitcoind.mine()
    check(f"{electrum.name}: and in a block", bitcoind.rpc("getreceivedbyaddress", back), 0.2)
    fee = bitcoind.rpc("gettransaction", txid, True, True)["decoded"]["vout"]
    kept = Decimal("0.5") - sum(Decimal(str(one["value"])) for one in fee)
    electrum.wait_balance("the rest is its own", Decimal("0.3") - kept, "0")
    check(f"{electrum.name}: each is verified", [one["confirmations"] > 0 for one in electrum.history()], [True, True])


if __name__ == "__main__":
    main(run, *sys.argv[1:])
