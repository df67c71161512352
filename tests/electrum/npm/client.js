// mempool.space's client of Electrum servers, against a node with mainnet's first blocks.
//
// usage: client.js ELECTRUM      an address such as 127.0.0.1:50001
"use strict";
const assert = require("node:assert/strict");
const { createHash } = require("node:crypto");
const ElectrumClient = require("@mempool/electrum-client");

const TIP = 14131;
const GENESIS = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
// The script of 12higDjoCCNXSA95xZMWUdPvXNmkAduhWv, which is paid most in these blocks.
const SCRIPT = "76a91412ab8dc588ca9d5787dde7eb29569da63c3a238c88ac";
const PAID = 2_317_533_000_000;
const TRANSACTIONS = 21;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest();
const reversed = (hex) => Buffer.from(hex, "hex").reverse();

async function check(what, found, expected) {
  assert.deepEqual(await found, expected, what);
  console.log(`ok: @mempool/electrum-client: ${what}`);
}

async function main(address) {
  const [host, port] = address.split(":");
  const client = new ElectrumClient(Number(port), host, "tcp", null, { onError: () => {} });
  await client.initElectrum({ client: "judge", version: "1.4" }, { retryPeriod: 1000, maxRetry: 0, pingPeriod: 120000, callback: null });
  // It passes a parameter that the protocol does not have.
  const tip = await client.blockchainHeaders_subscribe();
  await check("the height", tip.height, TIP);
  await check("the genesis block", (await client.server_features()).genesis_hash, GENESIS);
  // A result that is null comes with its message around it.
  await check("a ping", (await client.server_ping()).result, null);
  await check("fees without a node", client.blockchainEstimatefee(2), -1);
  await check("the histogram of fees", client.mempool_getFeeHistogram(), []);
  const script = sha256(Buffer.from(SCRIPT, "hex")).reverse().toString("hex");
  await check("the balance", client.blockchainScripthash_getBalance(script), { confirmed: PAID, unconfirmed: 0 });
  const history = await client.blockchainScripthash_getHistory(script);
  await check("the history", history.length, TRANSACTIONS);
  const unspent = await client.blockchainScripthash_listunspent(script);
  await check("what is unspent", unspent.reduce((sum, output) => sum + output.value, 0), PAID);
  const ids = history.map((entry) => entry.tx_hash);
  const batch = await client.blockchainTransaction_getBatch(ids);
  await check("a batch", batch.map((one) => sha256(sha256(Buffer.from(one.result, "hex"))).reverse().toString("hex")), ids);
  for (const { tx_hash: id, height } of history) {
    const { merkle, pos, block_height: found } = await client.blockchainTransaction_getMerkle(id, height);
    assert.equal(found, height);
    const root = merkle.reduce((node, beside, level) => {
      const pair = (pos >> level) & 1 ? [reversed(beside), node] : [node, reversed(beside)];
      return sha256(sha256(Buffer.concat(pair)));
    }, reversed(id));
    const header = Buffer.from(await client.request("blockchain.block.header", [height]), "hex");
    assert.deepEqual(root, header.subarray(36, 68), `the path of ${id} leads to the root`);
  }
  await check("all paths lead to their roots", true, true);
  const refusal = client.request("blockchain.no.method", []).catch((error) => error.code);
  await check("an unknown method is an error", refusal, -32601);
  client.close();
}

main(process.argv[2]).then(
  () => process.exit(0),
  (error) => {
    console.error(`error: @mempool/electrum-client: ${error.stack ?? JSON.stringify(error)}`);
    process.exit(1);
  },
);
