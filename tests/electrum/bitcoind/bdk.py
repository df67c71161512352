"""The Bitcoin Development Kit behind a node that follows a real bitcoind, by Electrum and by Esplora: a wallet is paid, the payment is confirmed,
reorganised back to unconfirmed and confirmed again, and it pays back.

usage: bdk.py BITCOIND TURNPIKE FOLDER      by a Python that has bdkpython
"""

import os
import sys

import bdkpython as bdk
from programs import check, main, start_both, wait_until

COIN = 100_000_000


class Electrum:
    name = "BDK by Electrum"

    def __init__(self, turnpike):
        self.client = bdk.ElectrumClient(f"tcp://{turnpike.address}")

    def scan(self, request):
        return self.client.full_scan(request, 10, 10, True)

    def sync(self, request):
        return self.client.sync(request, 10, True)

    def broadcast(self, transaction):
        self.client.transaction_broadcast(transaction)


class Esplora:
    name = "BDK by Esplora"

    def __init__(self, turnpike):
        self.client = bdk.EsploraClient(f"http://{turnpike.http}/api")

    def scan(self, request):
        return self.client.full_scan(request, 10, 2)

    def sync(self, request):
        return self.client.sync(request, 2)

    def broadcast(self, transaction):
        self.client.broadcast(transaction)


class Wallet:
    """A wallet of a new key, which knows of the chain by one of the servers."""

    def __init__(self, server):
        self.server, self.name = server, server.name
        key = bdk.DescriptorSecretKey(bdk.NetworkKind.TEST, bdk.Mnemonic.from_entropy(os.urandom(16)), None)
        descriptors = [bdk.Descriptor.new_bip84(key, kind, bdk.NetworkKind.TEST) for kind in (bdk.KeychainKind.EXTERNAL, bdk.KeychainKind.INTERNAL)]
        self.wallet = bdk.Wallet(*descriptors, bdk.Network.REGTEST, bdk.Persister.new_in_memory())
        self.wallet.apply_update(server.scan(self.wallet.start_full_scan().build()))

    def new_address(self):
        return str(self.wallet.reveal_next_address(bdk.KeychainKind.EXTERNAL).address)

    def balance(self):
        """Confirmed and unconfirmed, in satoshis."""
        self.wallet.apply_update(self.server.sync(self.wallet.start_sync_with_revealed_spks().build()))
        balance = self.wallet.balance()
        return balance.confirmed.to_sat(), balance.trusted_pending.to_sat() + balance.untrusted_pending.to_sat()

    def wait_balance(self, what, confirmed, unconfirmed):
        wait_until(f"{self.name}: {what}", lambda: self.balance() == (confirmed, unconfirmed))
        print(f"ok: {self.name}: {what}", flush=True)

    def pay(self, address, value):
        """Returns the transaction's hash and its fee."""
        script = bdk.Address(address, bdk.Network.REGTEST).script_pubkey()
        builder = bdk.TxBuilder().add_recipient(script, bdk.Amount.from_sat(value)).fee_rate(bdk.FeeRate.from_sat_per_vb(5))
        psbt = builder.finish(self.wallet)
        self.wallet.sign(psbt)
        transaction = psbt.extract_tx()
        self.server.broadcast(transaction)
        return str(transaction.compute_txid()), psbt.fee()


def judge(bitcoind, wallet):
    bitcoind.rpc("sendtoaddress", wallet.new_address(), 0.5)
    wallet.wait_balance("it is paid, unconfirmed", 0, COIN // 2)
    bitcoind.mine()
    wallet.wait_balance("the payment is confirmed", COIN // 2, 0)
    bitcoind.rpc("invalidateblock", bitcoind.rpc("getbestblockhash"))
    bitcoind.mine_empty()
    bitcoind.mine_empty()
    wallet.wait_balance("reorganised, it is unconfirmed again", 0, COIN // 2)
    bitcoind.mine()
    wallet.wait_balance("it is confirmed again", COIN // 2, 0)
    back = bitcoind.rpc("getnewaddress")
    txid, fee = wallet.pay(back, COIN // 5)
    check(f"{wallet.name}: what it pays back is at bitcoind", bitcoind.rpc("getrawmempool"), [txid])
    rest = COIN // 2 - COIN // 5 - fee
    wallet.wait_balance("the rest waits", 0, rest)
    bitcoind.mine()
    check(f"{wallet.name}: a block has what it pays back", bitcoind.rpc("getreceivedbyaddress", back), 0.2)
    wallet.wait_balance("the rest is its own", rest, 0)


def run(started, bitcoind_program, turnpike_program, folder):
    bitcoind, turnpike = start_both(started, bitcoind_program, turnpike_program, folder, 110)
    client = Electrum(turnpike)
    wait_until("the node has all blocks", lambda: client.client.block_headers_subscribe().height == 110)
    for server in (client, Esplora(turnpike)):
        judge(bitcoind, Wallet(server))
    turnpike.stop()


main(run, *sys.argv[1:])
