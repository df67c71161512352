"""Wallets' libraries against a node with mainnet's first blocks: the Bitcoin Development Kit by Electrum and by Esplora, and
electrum-client. What they conclude is compared with each other and with what is known of the blocks.

usage: clients.py ELECTRUM ESPLORA      addresses such as 127.0.0.1:50001 and http://127.0.0.1:7480/api
"""

import asyncio
import hashlib
import struct
import sys
from pathlib import Path

import bdkpython as bdk
import electrum_client

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
from blocks import root_of_path  # noqa: E402

TIP = 14131
GENESIS = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
# The key that the coinbase of block 9 pays to, which made the first payment of all in block 170.
KEY = "0411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3"
PAYMENT = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16"
HEIGHT = 170
# The address that is paid most in these blocks.
BUSIEST = "12higDjoCCNXSA95xZMWUdPvXNmkAduhWv"
PAID, TRANSACTIONS = 2_317_533_000_000, 21


def check(what, found, expected):
    if found != expected:
        sys.exit(f"error: {what}: {found!r}, and not {expected!r}")
    print(f"ok: {what}")


def scanned(client, *options):
    """A wallet of the one key, scanned by a client: its balance and its transactions by height."""
    descriptor = bdk.Descriptor(f"pk({KEY})", bdk.NetworkKind.MAIN)
    wallet = bdk.Wallet.create_single(descriptor, bdk.Network.BITCOIN, bdk.Persister.new_in_memory())
    wallet.apply_update(client.full_scan(wallet.start_full_scan().build(), *options))
    found = [(transaction.transaction.compute_txid(), transaction.chain_position) for transaction in wallet.transactions()]
    if not all(position.is_confirmed() for _, position in found):
        sys.exit("error: a transaction of the wallet is not confirmed")
    heights = sorted((position.confirmation_block_time.block_id.height, str(txid)) for txid, position in found)
    return wallet.balance().total.to_sat(), heights


def by_bdk(electrum, esplora):
    by_electrum = bdk.ElectrumClient(f"tcp://{electrum}")
    by_esplora = bdk.EsploraClient(esplora)
    check("BDK: the genesis block by Electrum", str(by_electrum.server_features().genesis_hash), GENESIS)
    check("BDK: the height by Electrum", by_electrum.block_headers_subscribe().height, TIP)
    check("BDK: the height by Esplora", by_esplora.get_height(), TIP)
    check("BDK: the genesis block by Esplora", str(by_esplora.get_block_hash(0)), GENESIS)
    scan = scanned(by_electrum, 10, 10, True)
    check("BDK: the first payment is in the wallet", (HEIGHT, PAYMENT) in scan[1], True)
    check("BDK: the wallet is the same by Electrum and by Esplora", scanned(by_esplora, 10, 2), scan)
    txid = bdk.Txid.from_string(PAYMENT)
    raw = by_esplora.get_tx(txid).serialize()
    check("BDK: the transaction is the same by both", bytes(by_electrum.fetch_tx(txid).serialize()), bytes(raw))
    info = by_esplora.get_tx_info(txid)
    check("BDK: the transaction's JSON", (str(info.txid), info.fee, info.status.block_height), (PAYMENT, 0, HEIGHT))
    header = by_esplora.get_header_by_hash(by_esplora.get_block_hash(HEIGHT))
    proof = by_esplora.get_merkle_proof(txid)
    check("BDK: where the transaction is", (proof.block_height, proof.pos), (HEIGHT, 1))
    root = root_of_path(PAYMENT, proof.pos, [str(node) for node in proof.merkle])
    check("BDK: the path by Esplora leads to the root", root[::-1].hex(), str(header.merkle_root))
    spent = by_esplora.get_output_status(txid, 1)
    check("BDK: what was left over is spent", (spent.spent, spent.status.block_height), (True, 181))
    pages = [by_esplora.get_address_txs(bdk.Address(BUSIEST, bdk.Network.BITCOIN), None)]
    check("BDK: the busiest address", len(pages[0]), TRANSACTIONS)
    return scan


async def by_electrum_client(electrum):
    client = electrum_client.ElectrumClient(f"tcp://{electrum}")
    await client.connect()
    check("electrum-client: the height", await client.get_height(), TIP)
    check("electrum-client: the genesis block", (await client.server_features()).genesis_hash, GENESIS)
    script = electrum_client.scripthash_from_address(BUSIEST)
    check("electrum-client: the balance", (await client.get_balance(script)).confirmed, PAID)
    history = await client.get_history(script)
    check("electrum-client: the history", len(history), TRANSACTIONS)
    check("electrum-client: what is unspent", sum(output.value for output in await client.listunspent(script)), PAID)
    text = "".join(f"{one.tx_hash}:{one.height}:" for one in history)
    status = await client.subscribe_scripthash(script)
    check("electrum-client: the status", status, hashlib.sha256(text.encode()).hexdigest())
    for one in history:
        proof = await client.get_merkle(one.tx_hash, one.height)
        header = bytes.fromhex(await client.get_block_header(one.height))
        if root_of_path(one.tx_hash, proof.pos, proof.merkle) != header[36:68]:
            sys.exit(f"error: electrum-client: the path of {one.tx_hash} does not lead to the root")
    check("electrum-client: all paths lead to their roots", True, True)
    chunk = await client.get_block_headers(0, 2016)
    headers = bytes.fromhex(chunk.hex)
    times = [struct.unpack_from("<I", headers, 80 * n + 68)[0] for n in range(chunk.count)]
    check("electrum-client: headers", (chunk.count, times[0]), (2016, 1231006505))
    await client.close()


electrum, esplora = sys.argv[1:]
by_bdk(electrum, esplora)
asyncio.run(by_electrum_client(electrum))
