"""btcd, where no bitcoind can be had: a node follows it, and Debian's Electrum is paid, the payment is confirmed, reorganised back to unconfirmed
and confirmed again, and it pays back.

usage: btcd.py BTCD TURNPIKE FOLDER
"""

import hashlib
import struct
import sys
from decimal import Decimal
from pathlib import Path

from programs import Bitcoind, Client, Turnpike, check, fail, free_port, main, tell_end
from wallet import Electrum

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
import regtest  # noqa: E402
from blocks import block, sha256d  # noqa: E402

REWARD, FEE = 50 * regtest.COIN, 1000
# What anybody may spend, as an output has it and as an address.
TRUE = b"\x51"
SCRIPT = b"\x00\x20" + hashlib.sha256(TRUE).digest()
ADDRESS = "bcrt1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp250x7us7a8qqhrxrxfsqseac85"


def script_of(address):
    """What an output has that pays to an address of witnesses, whose checksum is not looked at."""
    digits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    bits = "".join(f"{digits.index(digit):05b}" for digit in address.partition("1")[2][1:-6])
    program = bytes(int(bits[at:at + 8], 2) for at in range(0, len(bits) - 7, 8))
    return b"\x00" + regtest.sized(program)


class Btcd(Bitcoind):
    """A btcd of its own, which talks to no other. It has no wallet: blocks pay to what anybody may spend."""

    def __init__(self, program, folder):
        self.program, self.folder, self.port = program, Path(folder), free_port()
        self.folder.mkdir(parents=True)
        # It leaves no cookie, but is told a user and a password.
        self.cookie.write_text("judge:password")
        (self.folder / "btcd.conf").touch()
        # Hashes of transactions whose first output was not spent yet, oldest first.
        self.rewards = []
        self.start()

    @property
    def cookie(self):
        return self.folder / "password"

    def start(self):
        user, password = self.cookie.read_text().split(":")
        self.launch(
            [self.program, "--regtest", "--txindex", "--nolisten", "--notls", f"--rpclisten=127.0.0.1:{self.port}", f"--rpcuser={user}",
             f"--rpcpass={password}", f"--miningaddr={ADDRESS}", f"--configfile={self.folder}/btcd.conf", f"--datadir={self.folder}/data",
             f"--logdir={self.folder}/logs"])

    def tell(self):
        tell_end(self.folder / "logs" / "regtest" / "btcd.log")

    def mine(self, count=1):
        for hash_ in self.rpc("generate", count):
            self.rewards.append(block(bytes.fromhex(self.rpc("getblock", hash_, 0))).transactions[0].id)

    def mine_empty(self):
        tip = self.rpc("getblockchaininfo")
        above = tip["blocks"] + 1
        height = above.to_bytes(above.bit_length() // 8 + 1, "little")
        coinbase = struct.pack("<I", 2) + b"\x01" + bytes(32) + b"\xff" * 4 + regtest.sized(regtest.sized(height) + b"empty") + b"\xff" * 4
        coinbase += b"\x01" + struct.pack("<q", REWARD) + regtest.sized(SCRIPT) + bytes(4)
        parent = bytes.fromhex(tip["bestblockhash"])[::-1]
        raw, _ = regtest.block(parent, above, [coinbase], [sha256d(coinbase)], tip["mediantime"] + 1)
        refusal = self.rpc("submitblock", raw.hex())
        if refusal:
            fail(f"btcd does not take a block: {refusal}")

    def pay(self, address, value):
        """In satoshis."""
        reward = bytes.fromhex(self.rewards.pop(0))[::-1]
        outputs = [(value, script_of(address)), (REWARD - value - FEE, SCRIPT)]
        inputs = b"\x01" + reward + bytes(4) + b"\x00" + b"\xff" * 4
        paid = b"\x02" + b"".join(struct.pack("<q", value) + regtest.sized(script) for value, script in outputs)
        witness = b"\x01" + regtest.sized(TRUE)
        raw = struct.pack("<I", 2) + b"\x00\x01" + inputs + paid + witness + bytes(4)
        return self.rpc("sendrawtransaction", raw.hex())



def run(started, btcd_program, turnpike_program, folder):
    btcd = Btcd(btcd_program, f"{folder}/btcd")
    started.append(btcd)
    btcd.mine(110)
    turnpike = Turnpike(turnpike_program, f"{folder}/turnpike", btcd)
    started.append(turnpike)
    electrum = Electrum("electrum", f"{folder}/electrum", turnpike.address)
    try:
        judge(btcd, electrum)
    finally:
        electrum.stop()
    client = Client(turnpike.address, "1.6")
    check("btcd: what it does not tell of fees", [client.ask("blockchain.estimatefee", 6), client.ask("mempool.get_info")["minrelaytxfee"]], [-1, 0.00001])
    check("btcd: what it refuses", client.error("blockchain.transaction.broadcast", "00")["code"], 1)
    turnpike.stop()


def judge(btcd, electrum):
    electrum.wait_height(110)
    btcd.pay(electrum.run("getunusedaddress"), regtest.COIN // 2)
    electrum.wait_balance("it is paid, unconfirmed", "0", "0.5")
    btcd.mine()
    electrum.wait_balance("the payment is confirmed", "0.5", "0")
    btcd.rpc("invalidateblock", btcd.rpc("getbestblockhash"))
    btcd.mine_empty()
    btcd.mine_empty()
    electrum.wait_height(112)
    electrum.wait_balance("reorganised, it is unconfirmed again", "0", "0.5")
    btcd.mine()
    electrum.wait_balance("it is confirmed again", "0.5", "0")
    txid = electrum.run("broadcast", electrum.run("payto", ADDRESS, "0.2", "--feerate", "5"))
    check(f"{electrum.name}: what it pays back is at btcd", btcd.rpc("getrawmempool"), [txid])
    btcd.mine()
    paid = {one["scriptPubKey"]["hex"]: Decimal(str(one["value"])) for one in btcd.rpc("getrawtransaction", txid, 1)["vout"]}
    back = paid.pop(SCRIPT.hex())
    check(f"{electrum.name}: as much as it is to", back, Decimal("0.2"))
    electrum.wait_balance("the rest is its own", sum(paid.values()), "0")
    check(f"{electrum.name}: each is verified", [one["confirmations"] > 0 for one in electrum.history()], [True, True])


main(run, *sys.argv[1:])
