"""What waits at a real bitcoind, by Electrum's protocol of each version: chains of unconfirmed transactions, replacements, blocks,
reorganisations, fees and broadcasts. bitcoind itself says what is right.

usage: protocol.py BITCOIND TURNPIKE FOLDER
"""

import hashlib
import json
import signal
import socket
import struct
import sys
from decimal import Decimal
from pathlib import Path

from programs import Client, RpcError, check, has_all_of, main, script_hash, start_both, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
from blocks import root_of_path, sha256d, shown  # noqa: E402

COIN = 100_000_000


def status(history):
    text = "".join(f"{one['tx_hash']}:{one['height']}:" for one in history)
    return hashlib.sha256(text.encode()).hexdigest() if history else None


class Judge:
    def __init__(self, bitcoind, turnpike):
        self.bitcoind, self.turnpike = bitcoind, turnpike
        self.old, self.new = Client(turnpike.address, "1.4.2"), Client(turnpike.address, "1.7")

    def sync(self):
        wait_until("the node has what bitcoind has", lambda: has_all_of(self.turnpike, self.bitcoind, self.old))

    def new_script(self):
        address = self.bitcoind.rpc("getnewaddress")
        return address, self.bitcoind.rpc("getaddressinfo", address)["scriptPubKey"]

    def send(self, address, amount, **options):
        return self.bitcoind.rpc("send", [{address: amount}], None, "unset", 10, options)["txid"]

    def history(self, script):
        """The history, which all versions and the status agree on."""
        old = self.old.ask("blockchain.scripthash.get_history", script_hash(script))
        new = self.new.ask("blockchain.scriptpubkey.get_history", script)["history"]
        assert old == new, (old, new)
        waiting = [one for one in old if one["height"] <= 0]
        assert waiting == self.old.ask("blockchain.scripthash.get_mempool", script_hash(script))
        assert waiting == self.new.ask("blockchain.scriptpubkey.get_mempool", script)["history"]
        for one in waiting:
            fee = self.bitcoind.rpc("getmempoolentry", one["tx_hash"])["fees"]["base"]
            assert one["fee"] == int(Decimal(str(fee)) * COIN), (one, fee)
        assert self.old.ask("blockchain.scripthash.subscribe", script_hash(script)) == status(old)
        assert self.new.ask("blockchain.scriptpubkey.subscribe", script) == status(old)
        return [(one["tx_hash"], one["height"]) for one in old]

    def balance(self, script):
        balance = self.old.ask("blockchain.scripthash.get_balance", script_hash(script))
        assert balance == self.new.ask("blockchain.scriptpubkey.get_balance", script)
        return balance["confirmed"], balance["unconfirmed"]

    def unspent(self, script):
        old = self.old.ask("blockchain.scripthash.listunspent", script_hash(script))
        assert old == self.new.ask("blockchain.scriptpubkey.listunspent", script)["utxos"]
        return [(one["tx_hash"], one["height"], one["value"]) for one in old]

    def output_of(self, txid, script):
        outputs = self.bitcoind.rpc("getrawtransaction", txid, True)["vout"]
        return next(one["n"] for one in outputs if one["scriptPubKey"]["hex"] == script)


def waiting_and_confirmed(judge):
    bitcoind, old, new = judge.bitcoind, judge.old, judge.new
    address, script = judge.new_script()
    key = script_hash(script)
    check("nobody has paid yet", (judge.history(script), judge.balance(script)), ([], (0, 0)))
    parent = judge.send(address, 0.5)
    told = old.wait_told("blockchain.scripthash.subscribe", key)
    check("a payment is told of while it waits", told, [key, status([{"tx_hash": parent, "height": 0}])])
    judge.sync()
    check("it is in the history at height 0", judge.history(script), [(parent, 0)])
    check("it is in the balance", judge.balance(script), (0, COIN // 2))
    check("it can be spent", judge.unspent(script), [(parent, 0, COIN // 2)])
    number = judge.output_of(parent, script)
    check("its outpoint waits", new.ask("blockchain.outpoint.subscribe", parent, number, script), {"funder_height": 0})
    raw = bitcoind.rpc("getrawtransaction", parent)
    check("its bytes are served", old.ask("blockchain.transaction.get", parent), raw)
    check("verbose, too", old.ask("blockchain.transaction.get", parent, True)["txid"], parent)

    other, other_script = judge.new_script()
    child = judge.send(other, 0.4, inputs=[{"txid": parent, "vout": number}], add_inputs=False, subtract_fee_from_outputs=[0])
    told = new.wait_told("blockchain.outpoint.subscribe", parent)
    expected = {"funder_height": 0, "spender_txhash": child, "spender_height": -1}
    check("who spends it is told", told, [parent, number, expected])
    judge.sync()
    check("what spends what waits is at height -1", judge.history(other_script), [(child, -1)])
    check("both are in the history", judge.history(script), [(parent, 0), (child, -1)])
    check("the balance is what is left", judge.balance(script), (0, 0))
    check("nothing is left to spend", judge.unspent(script), [])
    recent = [one["txid"] for one in new.ask("mempool.recent")]
    check("both came last", sorted(recent), sorted([parent, child]))

    old.ask("blockchain.headers.subscribe")
    old.told.clear()
    block = bitcoind.rpc("generateblock", bitcoind.address, [parent])["hash"]
    height = bitcoind.rpc("getblockcount")
    told = old.wait_told("blockchain.headers.subscribe")
    check("a block is told of", told, [{"hex": bitcoind.rpc("getblockheader", block, False), "height": height}])
    judge.sync()
    check("the child's height follows its parent's block", judge.history(other_script), [(child, 0)])
    check("one is in the block", judge.history(script), [(parent, height), (child, 0)])
    bitcoind.mine()
    judge.sync()
    check("then both are", judge.history(script), [(parent, height), (child, height + 1)])
    path = old.ask("blockchain.transaction.get_merkle", child, height + 1)
    check("with a path", (path["block_height"], path["pos"] > 0), (height + 1, True))
    expected = {"funder_height": height, "spender_txhash": child, "spender_height": height + 1}
    check("and the outpoint knows both", new.ask("blockchain.outpoint.get_status", parent, number, script), expected)


def reorganised(judge):
    bitcoind, old = judge.bitcoind, judge.old
    address, script = judge.new_script()
    paid = judge.send(address, 1)
    bitcoind.mine()
    judge.sync()
    height = bitcoind.rpc("getblockcount")
    check("it is in a block", judge.history(script), [(paid, height)])
    path = old.ask("blockchain.transaction.get_merkle", paid, height)
    for depth in (1, 3):
        bitcoind.rpc("invalidateblock", bitcoind.rpc("getblockhash", height))
        for _ in range(depth + 1):
            bitcoind.mine_empty()
        judge.sync()
        check(f"{depth} blocks back, it waits again", judge.history(script), [(paid, 0)])
        error = old.error("blockchain.transaction.get_merkle", paid, height)["code"]
        check("and has no path any more", error, 1)
        bitcoind.mine(3)
        judge.sync()
        height = judge.history(script)[0][1]
        again = old.ask("blockchain.transaction.get_merkle", paid, height)
        check("until it is in another block", (again["block_height"], again != path), (height, True))
        path = again


def broadcasts(judge):
    bitcoind, old, new = judge.bitcoind, judge.old, judge.new
    address, script = judge.new_script()
    made = bitcoind.rpc("send", [{address: 0.25}], None, "unset", 2, {"add_to_wallet": False})["hex"]
    txid = bitcoind.rpc("decoderawtransaction", made)["txid"]
    tested = new.ask("blockchain.transaction.testmempoolaccept", [made])
    check("it would be taken", [(one["txid"], one["allowed"]) for one in tested], [(txid, True)])
    key = script_hash(script)
    old.ask("blockchain.scripthash.subscribe", key)
    check("a broadcast gives its hash", old.ask("blockchain.transaction.broadcast", made), txid)
    told = old.wait_told("blockchain.scripthash.subscribe", key)
    check("who is paid is told", told, [key, status([{"tx_hash": txid, "height": 0}])])
    check("bitcoind has it", txid in bitcoind.rpc("getrawmempool"), True)
    judge.sync()

    # An input that does not exist.
    nonsense = bitcoind.rpc("createrawtransaction", [{"txid": "11" * 32, "vout": 0}], [{address: 1}])
    error = old.error("blockchain.transaction.broadcast", nonsense)
    begin = "the transaction was rejected by network rules.\n\n"
    check("what is refused says why", (error["code"], error["message"][:len(begin)]), (1, begin))
    try:
        bitcoind.rpc("sendrawtransaction", nonsense)
    except RpcError as reason:
        check("in bitcoind's words", error["message"], f"{begin}{reason}\n[{nonsense}]")
    tested = new.ask("blockchain.transaction.testmempoolaccept", [nonsense])
    check("it would not be taken", (tested[0]["allowed"], "reason" in tested[0]), (False, True))
    check("hexadecimal digits that are none", old.error("blockchain.transaction.broadcast", "zz")["code"], 1)

    # Of a package the parent alone pays nothing, which transactions of version 3 may.
    version = lambda transaction: "03" + transaction[2:]
    coin = bitcoind.rpc("listunspent", 1)[0]
    amount = float(Decimal(str(coin["amount"])) - Decimal("0.001"))
    middle, middle_script = judge.new_script()
    parent = bitcoind.rpc("createrawtransaction", [{"txid": coin["txid"], "vout": coin["vout"]}], [{middle: coin["amount"]}])
    parent = bitcoind.rpc("signrawtransactionwithwallet", version(parent))["hex"]
    parent_id = bitcoind.rpc("decoderawtransaction", parent)["txid"]
    child = bitcoind.rpc("createrawtransaction", [{"txid": parent_id, "vout": 0}], [{judge.new_script()[0]: amount}])
    previous = [{"txid": parent_id, "vout": 0, "scriptPubKey": middle_script, "amount": coin["amount"]}]
    child = bitcoind.rpc("signrawtransactionwithwallet", version(child), previous)["hex"]
    check("the parent alone is refused", old.error("blockchain.transaction.broadcast", parent)["code"], 1)
    check("both together are taken", new.ask("blockchain.transaction.broadcast_package", [parent, child]), {"success": True})
    judge.sync()
    check("the one that pays nothing waits", judge.history(middle_script)[0], (parent_id, 0))
    error = new.error("blockchain.transaction.broadcast_package", [nonsense, made])
    check("what is no package is refused", error["message"].startswith("the tx package was rejected"), True)
    alone = new.ask("blockchain.transaction.broadcast_package", [nonsense], True)
    check("of a package that is refused all is told", (alone["package_msg"] != "success", "tx-results" in alone), (True, True))


def replaced(judge):
    address, script = judge.new_script()
    first = judge.send(address, 0.125)
    judge.sync()
    check("it waits", judge.history(script), [(first, 0)])
    second = judge.bitcoind.rpc("bumpfee", first)["txid"]
    waiting = lambda: [one["tx_hash"] for one in judge.old.ask("blockchain.scripthash.get_mempool", script_hash(script))]
    wait_until("the replacement is known", lambda: waiting() == [second])
    check("its replacement waits instead", judge.history(script), [(second, 0)])
    check("the first is gone", judge.old.error("blockchain.transaction.get", first)["code"], 2)


def fees(judge):
    bitcoind, old, new = judge.bitcoind, judge.old, judge.new
    info = bitcoind.rpc("getmempoolinfo")
    names = ("mempoolminfee", "minrelaytxfee", "incrementalrelayfee")
    check("fees are bitcoind's", new.ask("mempool.get_info"), {name: info[name] for name in names})
    check("so is the one to relay", old.ask("blockchain.relayfee"), info["minrelaytxfee"])
    estimate = bitcoind.rpc("estimatesmartfee", 6).get("feerate", -1)
    check("so are estimates", [old.ask("blockchain.estimatefee", 6), new.ask("blockchain.estimatefee", 6, "economical")], [estimate] * 2)
    # More than the first step of a histogram.
    paid = {bitcoind.rpc("getnewaddress"): 0.0001 for _ in range(150)}
    for _ in range(10):
        bitcoind.rpc("sendmany", "", paid)
    judge.sync()
    histogram = old.ask("mempool.get_fee_histogram")
    size = bitcoind.rpc("getmempoolinfo")["bytes"]
    whole = sum(size for _, size in histogram)
    check("the histogram has steps", (len(histogram) > 0, 30_000 < whole <= size), (True, True))
    bitcoind.mine()
    judge.sync()
    check("which a block takes away", old.ask("mempool.get_fee_histogram"), [])


def esplora(judge):
    """The same by Esplora's API."""
    bitcoind, get = judge.bitcoind, judge.turnpike.esplora
    address, script = judge.new_script()
    parent = judge.send(address, 0.5)
    number = judge.output_of(parent, script)
    other, _ = judge.new_script()
    child = judge.send(other, 0.5, inputs=[{"txid": parent, "vout": number}], add_inputs=False, subtract_fee_from_outputs=[0])
    judge.sync()
    waits = {"confirmed": False}
    entry, raw = bitcoind.rpc("getmempoolentry", child), bitcoind.rpc("getrawtransaction", child, True)
    found = get(f"/tx/{child}")
    check("Esplora: what waits has no status", [found["status"], get(f"/tx/{child}/status")], [waits, waits])
    told = (found["txid"], found["fee"], found["weight"], found["vin"][0]["prevout"]["value"])
    check("its fee and weight are bitcoind's", told, (child, int(Decimal(str(entry["fees"]["base"])) * COIN), entry["weight"], COIN // 2))
    check("its bytes", judge.turnpike.get(f"/api/tx/{child}/hex"), raw["hex"])
    spent = {"spent": True, "txid": child, "vin": 0, "status": waits}
    check("who spends its parent", [get(f"/tx/{parent}/outspend/{number}"), get(f"/tx/{parent}/outspends")[number]], [spent, spent])
    check("an address's transactions", {one["txid"] for one in get(f"/address/{address}/txs")}, {parent, child})
    check("those that wait alone", {one["txid"] for one in get(f"/address/{address}/txs/mempool")}, {parent, child})
    expected = {"funded_txo_count": 1, "funded_txo_sum": COIN // 2, "spent_txo_count": 1, "spent_txo_sum": COIN // 2, "tx_count": 2}
    check("an address's sums", get(f"/address/{address}")["mempool_stats"], expected)
    coins = [(one["txid"], one["status"]) for one in get(f"/address/{other}/utxo")]
    check("its coins", [get(f"/address/{address}/utxo"), coins], [[], [(child, waits)]])
    info = bitcoind.rpc("getmempoolinfo")
    whole = get("/mempool")
    check("the mempool", (whole["count"], whole["vsize"]), (info["size"], info["bytes"]))
    check("its hashes", set(get("/mempool/txids")), set(bitcoind.rpc("getrawmempool")))
    check("the last of them", {parent, child} <= {one["txid"] for one in get("/mempool/recent")}, True)
    estimates = {str(blocks): bitcoind.rpc("estimatesmartfee", blocks).get("feerate") for blocks in (1, 6, 1008)}
    told = {blocks: fee for blocks, fee in get("/fee-estimates").items() if blocks in estimates}
    check("fees", told, {blocks: fee * 100_000 for blocks, fee in estimates.items() if fee})
    bitcoind.mine()
    judge.sync()
    height = bitcoind.rpc("getblockcount")
    check("a block has both", [get(f"/tx/{txid}/status")["block_height"] for txid in (parent, child)], [height, height])
    made = bitcoind.rpc("send", [{judge.new_script()[0]: 0.25}], None, "unset", 2, {"add_to_wallet": False})["hex"]
    txid = bitcoind.rpc("decoderawtransaction", made)["txid"]
    post = lambda path, body: judge.turnpike.request("POST", "/api" + path, body)
    check("a transaction that is posted", post("/tx", made), (200, txid))
    check("is at bitcoind", bitcoind.rpc("getrawmempool"), [txid])
    nonsense = bitcoind.rpc("createrawtransaction", [{"txid": "11" * 32, "vout": 0}], [{address: 1}])
    refused = (400, 'sendrawtransaction RPC error: {"code":-25,"message":"bad-txns-inputs-missingorspent"}')
    check("what is refused says why", post("/tx", nonsense), refused)
    check("what is no transaction, too", [post("/tx", "zz")[0], post("/block", "00")[0], post("/txs/package", "[1]")[0]], [400, 404, 400])
    status, text = post("/txs/package", json.dumps([nonsense]))
    check("a package", (status, json.loads(text)["package_msg"] != "success"), (200, True))
    bitcoind.mine()
    judge.sync()
    check("then nothing waits", get("/mempool"), {"count": 0, "vsize": 0, "total_fee": 0, "fee_histogram": []})


def takes_its_time(judge):
    """bitcoind does not answer for a while: who asks what only it knows waits, and nobody else does."""
    bitcoind = judge.bitcoind
    address, script = judge.new_script()
    made = bitcoind.rpc("send", [{address: 0.25}], None, "unset", 2, {"add_to_wallet": False})["hex"]
    txid = bitcoind.rpc("decoderawtransaction", made)["txid"]
    judge.new.ask("blockchain.scriptpubkey.subscribe", script)
    asking = [Client(judge.turnpike.address, "1.7") for _ in range(12)]
    bitcoind.process.send_signal(signal.SIGSTOP)
    try:
        ping, broadcast, estimate = ("server.ping", 3), ("blockchain.transaction.broadcast", made), ("blockchain.estimatefee", 40)
        sent = [client.send([ping, broadcast, ping, estimate, ping]) for client in asking]
        # The first reply is there, the others wait.
        pings = [client.receive(numbers[:1])[0]["result"] for client, numbers in zip(asking, sent)]
        check("what comes before is answered", pings, [{"data": "000"}] * len(asking))
        for client in asking[:4]:
            # As if the client's machine were gone: the answer comes to nobody.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.lines.close()
            client.socket.close()
        served = [Client(judge.turnpike.address, "1.4.2").ask("blockchain.headers.subscribe")["height"] for _ in range(20)]
        check("others are served meanwhile", len(set(served)), 1)
    finally:
        bitcoind.process.send_signal(signal.SIGCONT)
    for client, numbers in zip(asking[4:], sent[4:]):
        broadcast, *pings, last = client.receive(numbers[1:])
        assert broadcast.get("result", txid) == txid and pings[0]["result"] == last["result"] == {"data": "000"}, (broadcast, pings, last)
    print("ok: then who asked is answered, too", flush=True)
    told = judge.new.wait_told("blockchain.scriptpubkey.subscribe", script_hash(script))
    check("what was broadcast is told of", told[1], status([{"tx_hash": txid, "height": 0}]))
    bitcoind.mine()
    judge.sync()


def gone_and_back(judge):
    """bitcoind ends, and comes back with another cookie."""
    bitcoind, old = judge.bitcoind, judge.old
    bitcoind.stop()
    wait_until("the metrics tell that the node is gone", lambda: judge.turnpike.metric("bitcoin_node_up") == 0)
    check("what is known is served", old.ask("blockchain.headers.subscribe")["height"] > 0, True)
    check("a broadcast fails", old.error("blockchain.transaction.broadcast", "00")["code"], 2)
    bitcoind.start()
    bitcoind.rpc("loadwallet", "w")
    bitcoind.mine(2)
    judge.sync()
    check("then it is followed again", judge.turnpike.metric("bitcoin_node_up"), 1)


def witnesses(judge):
    """Proofs of witnesses (protocol 1.8 as drafted) as a client checks them, with bitcoind to take the coinbase apart."""
    bitcoind = judge.bitcoind
    client = Client(judge.turnpike.address, "1.8")
    for amount in (0.1, 0.2, 0.3, 0.4):
        judge.send(judge.new_script()[0], amount)
    block = bitcoind.rpc("getblock", bitcoind.mine()[0], 2)
    judge.sync()
    for position, transaction in enumerate(block["tx"]):
        proof = client.ask("blockchain.transaction.get_merkle_witness", transaction["txid"])
        assert proof == client.ask("blockchain.transaction.get_merkle_witness", transaction["txid"], block["height"])
        told = (proof["wtxid"], proof["block_height"], proof["block_hash"], proof["pos"])
        assert told == (transaction["hash"], block["height"], block["hash"], position), told
        coinbase = bitcoind.rpc("decoderawtransaction", proof["cb_tx"])
        assert shown(root_of_path(coinbase["txid"], 0, proof["cb_proof"])) == block["merkleroot"], proof
        if position == 0:
            assert "wmerkle" not in proof and shown(root_of_path(transaction["txid"], 0, proof["merkle"])) == block["merkleroot"], proof
            continue
        assert "merkle" not in proof and transaction["hash"] != transaction["txid"], proof
        root = root_of_path(proof["wtxid"], position, proof["wmerkle"])
        committed = [one["scriptPubKey"]["hex"][12:76] for one in coinbase["vout"] if one["scriptPubKey"]["hex"].startswith("6a24aa21a9ed")]
        reserved = bytes.fromhex(coinbase["vin"][0]["txinwitness"][0])
        assert sha256d(root + reserved).hex() == committed[-1], proof
        esplora = judge.turnpike.esplora(f"/tx/{transaction['txid']}/witness-merkle-proof")
        expected = {"block_height": block["height"], "merkle": proof["wmerkle"], "pos": position, "witness_root": shown(root)}
        assert esplora == expected, (esplora, expected)
    print(f"ok: the witnesses of {len(block['tx']) - 1} transactions are proved", flush=True)
    waiting = judge.send(judge.new_script()[0], 0.1)
    judge.sync()
    check("what waits is not", client.error("blockchain.transaction.get_merkle_witness", waiting)["code"], 1)
    wrong = client.error("blockchain.transaction.get_merkle_witness", block["tx"][1]["txid"], 1)
    check("nor at another height", "not in block at height 1" in wrong["message"], True)
    check("before 1.8 nobody is told", judge.new.error("blockchain.transaction.get_merkle_witness", waiting)["code"], -32601)


def run(started, bitcoind_program, turnpike_program, folder):
    # Some blocks before, some while the node serves.
    bitcoind, turnpike = start_both(started, bitcoind_program, turnpike_program, folder, 105)
    bitcoind.mine(5)
    judge = Judge(bitcoind, turnpike)
    judge.sync()
    for scene in (waiting_and_confirmed, reorganised, broadcasts, replaced, fees, esplora, witnesses, takes_its_time, gone_and_back):
        scene(judge)
    turnpike.stop()
    turnpike.start()
    judge = Judge(bitcoind, turnpike)
    judge.sync()
    check("it goes on after a restart", judge.old.ask("blockchain.headers.subscribe")["height"], bitcoind.rpc("getblockcount"))
    turnpike.stop()


main(run, *sys.argv[1:])
