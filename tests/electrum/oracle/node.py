"""As much of a full node's RPC as ElectrumX asks for, over the blocks of a file: what Bitcoin Core 31 answers that has these blocks, no peers
and nothing in its memory pool. It prints its port.

usage: node.py BLOCKS      a file of blocks, such as blk_0_to_14131.dat
"""

import asyncio
import json
import sys

from aiohttp import web

from blocks import chain

INVALID_ADDRESS_OR_KEY, INVALID_PARAMETER, DESERIALIZATION_ERROR, METHOD_NOT_FOUND = -5, -8, -22, -32601


class RpcError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.message = code, message


class Node:
    def __init__(self, blocks):
        self.blocks = blocks
        self.heights = {block.hash: height for height, block in enumerate(blocks)}
        # What two blocks have is the later one's: BIP 30 came after these blocks. Genesis's coinbase is in no index.
        self.transactions = {one.id: (height, one) for height, block in enumerate(blocks) for one in block.transactions if height > 0}
        self.spenders = {spent: (height, one.id) for height, one in self.transactions.values() for spent in one.inputs}

    def getblockcount(self):
        return len(self.blocks) - 1

    def getblockhash(self, height):
        if not 0 <= height < len(self.blocks):
            raise RpcError(INVALID_PARAMETER, "Block height out of range")
        return self.blocks[height].hash

    def getblock(self, hash_, verbosity=1):
        block = self.blocks[self.heights[hash_]]
        return {"hash": hash_, "tx": [one.id for one in block.transactions]} if verbosity else block.raw.hex()

    def getblockchaininfo(self):
        return {"chain": "main", "blocks": len(self.blocks) - 1, "bestblockhash": self.blocks[-1].hash}

    def getnetworkinfo(self):
        return {"version": 310000, "subversion": "/Satoshi:31.0.0/", "relayfee": 0.00001}

    def getindexinfo(self):
        return {name: {"synced": True, "best_block_height": len(self.blocks) - 1} for name in ("txindex", "txospenderindex")}

    def getmempoolinfo(self):
        return {"mempoolminfee": 0.00001, "minrelaytxfee": 0.00001, "incrementalrelayfee": 0.00001}

    def getrawmempool(self):
        return []

    def estimatesmartfee(self, target, _mode=None):
        return {"errors": ["Insufficient data or no feerate found"], "blocks": target}

    def getrawtransaction(self, id_, verbosity=0):
        if id_ not in self.transactions:
            raise RpcError(INVALID_ADDRESS_OR_KEY, "No such mempool or blockchain transaction. Use gettransaction for wallet transactions.")
        height, one = self.transactions[id_]
        if not verbosity:
            return one.raw.hex()
        outputs = [{"n": number, "scriptPubKey": {"hex": script.hex()}} for number, (_, script) in enumerate(one.outputs)]
        return {"txid": id_, "hex": one.raw.hex(), "blockhash": self.blocks[height].hash, "vout": outputs}

    def gettxspendingprevout(self, outpoints, _options=None):
        found = []
        for outpoint in outpoints:
            height, id_ = self.spenders.get((outpoint["txid"], outpoint["vout"]), (None, None))
            spent = {} if id_ is None else {"spendingtxid": id_, "blockhash": self.blocks[height].hash}
            found.append(outpoint | spent)
        return found

    def sendrawtransaction(self, _raw):
        raise RpcError(DESERIALIZATION_ERROR, "TX decode failed. Make sure the tx has at least one input.")

    submitpackage = testmempoolaccept = sendrawtransaction

    def answer(self, request):
        reply = {"result": None, "error": None, "id": request.get("id")}
        try:
            method = getattr(self, request["method"], None)
            if method is None:
                raise RpcError(METHOD_NOT_FOUND, "Method not found")
            reply["result"] = method(*request.get("params", []))
        except RpcError as error:
            reply["error"] = {"code": error.code, "message": error.message}
        except TypeError as error:
            reply["error"] = {"code": -1, "message": str(error)}
        return reply

    async def serve(self, request):
        asked = await request.json()
        reply = [self.answer(one) for one in asked] if isinstance(asked, list) else self.answer(asked)
        # ElectrumX takes this very type, without a charset.
        return web.Response(body=json.dumps(reply).encode(), headers={"Content-Type": "application/json"})


async def main(path):
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/", Node(chain(path)).serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))
