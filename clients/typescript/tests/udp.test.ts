/** Over UDP: the same results as over TCP, and each operation is executed once on a path that loses datagrams. */

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import {
  Client,
  type ClientOptions,
  StatusError,
  TimeoutError,
  UnreachableError,
  accountId,
  connect,
  connectNode,
} from "../src/index.js";
import { LossyRelay } from "./lossy.js";
import { DEADLINE, Node, freeAddress, needsNode } from "./support.js";

const [alice, bob] = [accountId(1n), accountId(2n)];
const IMPATIENT: ClientOptions = { timeout: DEADLINE, retryAfter: 50, turnAfter: 2_000 };

test("operations, batches and proofs over UDP", needsNode, async () => {
  await using node = await Node.start("[blocks]\ninterval = 50\n");
  await using client = await connect(`udp://${node.address}`, { timeout: DEADLINE });
  await Promise.all([client.create(alice), client.create(bob)]);
  await client.issue(alice, 1000n);
  const { operation: paid, promise } = await client.transfer(alice, bob, 250n);
  assert.equal(promise, "durable");
  await assert.rejects(client.transfer(alice, bob, 10_000n), (error) => StatusError.is(error, "INSUFFICIENT_BALANCE"));
  const batch = client.batch();
  while (!batch.isFull) batch.transfer(bob, alice, 1n);
  // What fits a datagram of 1,472 bytes.
  assert.equal(batch.length, 22);
  assert.equal((await batch.submit()).failed, 0);
  const long = client.batch({ capacity: 100 });
  while (!long.isFull) long.transfer(bob, alice, 1n);
  assert.equal((await long.submit()).failed, 0);
  const light = await client.light(node.network);
  const end = performance.now() + DEADLINE;
  for (;;) {
    const { entry } = await light.proveBalance(bob);
    if (entry?.balance === 128n) break;
    assert(performance.now() < end);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal((await light.proveTransaction(paid.transaction, alice)).operation.amount, 250n);
});

for (const seed of [1, 2]) {
  test(`a path that loses, repeats and reorders datagrams, seed ${seed}`, needsNode, async () => {
    await using node = await Node.start("[ledger]\nretry_seconds = 600\n");
    const accounts = Array.from({ length: 8 }, (_, at) => accountId(BigInt(at) + 1n));
    const model = accounts.map(() => 1_000_000n);
    {
      await using relay = await LossyRelay.start(node.address, seed);
      await using client = await connect(relay.address, IMPATIENT);
      await Promise.all(accounts.map((account) => client.create(account)));
      await Promise.all(accounts.map((account) => client.issue(account, 1_000_000n)));
      await Promise.all(
        Array.from({ length: 12 }, async (_, worker) => {
          for (let at = worker + 1; at < worker + 300; at += 12) {
            const [source, destination] = [at % 8, (at + 3) % 8];
            await client.transfer(accounts[source]!, accounts[destination]!, BigInt(at));
            model[source]! -= BigInt(at);
            model[destination]! += BigInt(at);
          }
        }),
      );
      for (let round = 0; round < 20; round++) {
        const batch = client.batch();
        while (!batch.isFull) batch.transfer(alice, bob, 1n);
        assert.equal((await batch.submit()).failed, 0);
        model[0]! -= BigInt(batch.length);
        model[1]! += BigInt(batch.length);
      }
      assert(Math.min(relay.lost, relay.repeated, relay.reordered) > 3);
      assert(relay.longest <= 1_472);
      assert(client.counts.retries > 0);
    }
    await using client = await connect(node.address, { timeout: DEADLINE });
    assert.deepEqual(await Promise.all(accounts.map((account) => client.balance(account))), model);
  });
}

test("a silent node times out, and gets nothing but the question for its network", async () => {
  const silent = createSocket("udp4");
  silent.bind(0, "127.0.0.1");
  await once(silent, "listening");
  const asked: Uint8Array[] = [];
  silent.on("message", (bytes) => asked.push(bytes));
  const address = `udp://127.0.0.1:${silent.address().port}`;
  await using client = new Client(address, connectNode, { timeout: 2_000, retryAfter: 100 });
  await assert.rejects(client.transfer(alice, bob, 1n), TimeoutError);
  assert(asked.length >= 3 && asked.every((bytes) => Buffer.compare(bytes, asked[0]!) === 0));
  silent.close();
});

test("a dead node is left at once, and addresses of both kinds mix", needsNode, async () => {
  await using node = await Node.start();
  const dead = `udp://${freeAddress()}`;
  for (const live of [node.address, `udp://${node.address}`]) {
    const began = performance.now();
    await using client = await connect([dead, live], { timeout: DEADLINE, turnAfter: DEADLINE });
    await client.info();
    assert(performance.now() - began < DEADLINE / 2);
  }
  await assert.rejects(connect(dead), UnreachableError);
});

test("a node that restarts is found again", needsNode, async () => {
  await using node = await Node.start("[ledger]\nretry_seconds = 600\n");
  await using client = await connect(`udp://${node.address}`, IMPATIENT);
  await Promise.all([client.create(alice), client.create(bob)]);
  await client.issue(alice, 100n);
  for (let paid = 1n; paid <= 3n; paid++) {
    await node.kill();
    await node.start();
    assert.equal((await client.transfer(alice, bob, 1n)).balance, 100n - paid);
  }
});

test("addresses and limits of UDP are checked", async () => {
  for (const address of ["udp://", "udp://a:b", "udp://a/b", "tcp://a:1"]) {
    await assert.rejects(connect(address), UnreachableError, address);
  }
  for (const datagram of [0, 255, 65_508]) {
    await assert.rejects(connect("udp://localhost", { datagram }), RangeError);
  }
});
