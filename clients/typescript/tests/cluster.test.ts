/** Four replicas, one of which is killed. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { HeaderChain, IndexProof, ProofError, StatusError, accountId, connect, fromHex } from "../src/index.js";
import { DEADLINE, TemporaryFolder, needsNode, turnpike } from "./support.js";

test("final transfers survive the death of a replica, and proofs hold by a certificate", needsNode, async () => {
  using folder = new TemporaryFolder();
  const dir = join(folder.path, "cluster");
  await turnpike("cluster", "init", "--dir", dir, "--replicas", "4", "--port", "0", "--trusted", "127.0.0.0/8");
  try {
    await turnpike("cluster", "start", "--dir", dir);
    const addresses = [0, 1, 2, 3].map((replica) => {
      const config = readFileSync(join(dir, `replica-${replica}`, "turnpike.toml"), "utf8");
      return /^listen = "([^"]+)"/m.exec(config)![1]!;
    });
    await using client = await connect(addresses, { promise: "final", timeout: DEADLINE });
    const accounts = Array.from({ length: 8 }, (_, at) => accountId(BigInt(at) + 1n));
    const model = accounts.map(() => 1000n);
    await Promise.all(accounts.map((account) => client.create(account)));
    await Promise.all(accounts.map((account) => client.issue(account, 1000n)));
    const transferAll = async (): Promise<void> => {
      for (const [at, account] of accounts.entries()) {
        const receipt = await client.transfer(account, accounts[(at + 1) % 8]!, BigInt(at) + 1n);
        assert.equal(receipt.promise, "final");
        model[at]! -= BigInt(at) + 1n;
        model[(at + 1) % 8]! += BigInt(at) + 1n;
      }
    };
    await transferAll();
    // Kills the replica that the client uses while it answers.
    const load = Promise.all([transferAll(), transferAll(), transferAll()]);
    process.kill(Number(readFileSync(join(dir, "replica-0", "pid"), "utf8")), "SIGKILL");
    await load;
    await transferAll();
    assert(client.counts.turns > 0);
    // A replica may lag behind the one that answered before.
    const matches = async (): Promise<boolean> => {
      const balances = await Promise.all(accounts.map((account) => client.balance(account)));
      return balances.every((balance, at) => balance === model[at]);
    };
    while (!(await matches())) await sleep(50);

    const { network, tipHeight } = await client.info();
    await using other = await connect(addresses[2]!, { network, timeout: DEADLINE });
    await other.waitForHeight(tipHeight);
    assert.equal(typeof (await other.balance(accounts[0]!)), "bigint");
    const light = await client.light(network);
    assert(light.chain.isOrdered);
    assert.equal((await light.finality()).report.replicas, 4);
    let proved = await light.proveBalance(accounts[0]!);
    while (proved.entry?.balance !== model[0]) proved = await light.proveBalance(accounts[0]!);
    const { proof } = proved;
    const vouched = light.chain.vouched!;
    // From bytes, without a node; and not with any byte of the certificate changed.
    const headers = light.headers();
    assert.equal(
      IndexProof.decode(proof.reply).verify(accounts[0]!, HeaderChain.decode(network, headers))?.balance,
      model[0],
    );
    for (let at = headers.length - vouched.encode().length; at < headers.length; at += 13) {
      const damaged = headers.with(at, headers[at]! ^ 1);
      assert.throws(() => HeaderChain.decode(network, damaged), ProofError, `byte ${at}`);
    }
    await assert.rejects(client.light(fromHex("00".repeat(32))), ProofError);
    await assert.rejects(client.create(accounts[0]!), (error) => StatusError.is(error, "ACCOUNT_EXISTS"));
  } finally {
    await turnpike("cluster", "stop", "--dir", dir);
  }
});
