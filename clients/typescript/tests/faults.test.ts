/** The client against a node that misbehaves, and its limits. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Client,
  type ClientOptions,
  ClosedError,
  QueueFullError,
  StatusError,
  TimeoutError,
  UnreachableError,
  accountId,
  connect,
  toHex,
} from "../src/index.js";
import { FakeNode, entryRefusal, refusal } from "./fake.js";
import { DEADLINE } from "./support.js";

const [alice, bob] = [accountId(1n), accountId(2n)];

function open(node: FakeNode | readonly FakeNode[], options: ClientOptions = {}): Promise<Client> {
  const nodes = node instanceof FakeNode ? [node] : node;
  const addresses = nodes.map(({ address }) => address);
  return connect(addresses, { timeout: DEADLINE, turnAfter: 200, ...options });
}

test("lost, delayed, duplicated and garbled replies change no result", async () => {
  await using node = await FakeNode.start();
  let reply = 0;
  node.fault = (bytes) => {
    switch (reply++ % 7) {
      case 0:
        return [];
      case 1:
        return [[30, bytes]];
      case 2:
        return [
          [0, bytes],
          [0, bytes],
          [10, bytes],
        ];
      case 3:
        // Another id, another type, a byte less, another operation, an unknown status, no frame at all.
        return [4, 3, 30, 16, 18].map((at) => [0, bytes.with(at, bytes[at]! ^ 0x41)] as const);
      case 4:
        return [
          [0, bytes.subarray(1)],
          [0, Uint8Array.of(1)],
        ];
      case 5:
        return "close";
      default:
        return [[0, bytes]];
    }
  };
  await using client = await open(node);
  for (let at = 0; at < 21; at++) {
    const receipts = await Promise.all([1n, 2n, 3n].map((amount) => client.transfer(alice, bob, amount)));
    assert.deepEqual(
      receipts.map(({ balance }) => balance),
      [1n, 2n, 3n],
      "the fake node returns the amount as the balance",
    );
  }
  // Each operation has one id, whatever happened to its replies.
  assert.equal(node.executed.size, 63);
  assert(client.counts.retries > 0 && client.counts.strays > 0 && client.counts.turns > 0);
});

test("a length that no frame has ends the connection, and the request is repeated", async () => {
  await using node = await FakeNode.start();
  let isFirst = true;
  node.fault = (bytes) => {
    if (!isFirst) return [[0, bytes]];
    isFirst = false;
    return [[0, new Uint8Array(70_000)]];
  };
  await using client = await open(node);
  await client.transfer(alice, bob, 5n);
  assert(node.connections >= 2);
  assert.equal(node.executed.size, 1);
});

test("BUSY, RATE_LIMITED and NOT_FINAL are repeated, for the frame and for an operation", async () => {
  await using node = await FakeNode.start();
  for (const status of ["BUSY", "RATE_LIMITED", "NOT_FINAL"] as const) {
    for (const change of [refusal, entryRefusal]) {
      let refusals = 3;
      node.fault = (bytes) => [[0, refusals-- > 0 ? change(bytes, status) : bytes]];
      await using client = await open(node);
      node.executed.clear();
      await client.transfer(alice, bob, 5n);
      assert.equal(node.executed.size, 1);
      assert(client.counts.retries >= 3, status);
    }
  }
});

test("definite refusals are returned, and name the operation", async () => {
  await using node = await FakeNode.start();
  await using client = await open(node);
  node.fault = (bytes) => [[0, refusal(bytes, "NOT_TRUSTED")]];
  const error = await client.transfer(alice, bob, 5n).catch((error: unknown) => error);
  assert(StatusError.is(error, "NOT_TRUSTED"));
  assert.equal(error.operation?.amount, 5n);
  assert.match(error.message, /sign it, or ask the operator/);
  node.fault = (bytes) => [[0, refusal(bytes, "STORAGE_FAILED")]];
  await assert.rejects(client.transfer(alice, bob, 5n), { status: "STORAGE_FAILED" });
});

test("a refusal until the end is the result, and silence is a timeout that names the operation", async () => {
  await using node = await FakeNode.start();
  await using client = await open(node, { timeout: 300, turnAfter: DEADLINE });
  const fail = (): Promise<unknown> => client.transfer(alice, bob, 5n).catch((error: unknown) => error);
  node.fault = (bytes) => [[0, refusal(bytes, "BUSY")]];
  // If the machine is busy, the last attempt may be on its way.
  while (!StatusError.is(await fail(), "BUSY")) assert(client.counts.retries < 1000);
  node.fault = () => [];
  const error = await fail();
  assert(error instanceof TimeoutError);
  assert.equal(error.operation?.amount, 5n);
  assert.match(error.message, new RegExp(`transaction ${toHex(error.operation.transaction)} may have been executed`));
});

test("silent, failed and lost nodes make the client turn to the next", async () => {
  await using first = await FakeNode.start();
  await using second = await FakeNode.start();
  const failed = [refusal, entryRefusal].map((change) => (bytes: Uint8Array) => [[0, change(bytes, "STORAGE_FAILED")]]);
  const garbled = (bytes: Uint8Array) => [[0, bytes.with(4, bytes[4]! ^ 1)]];
  for (const fault of [() => [], () => "close", garbled, ...failed]) {
    first.fault = fault as FakeNode["fault"];
    await using client = await open([first, second]);
    const before = second.batches;
    await client.transfer(alice, bob, 5n);
    assert(second.batches > before);
    assert(client.counts.turns > 0);
  }
  // A node of another network never gets an operation.
  await using stranger = await FakeNode.start(new Uint8Array(32).fill(8));
  first.fault = () => "close";
  await using client = await open([first, stranger, second]);
  await client.transfer(alice, bob, 5n);
  assert.equal(stranger.batches, 0);
});

test("a node that does not greet is no node", async () => {
  await using node = await FakeNode.start();
  node.isMute = true;
  await assert.rejects(open(node), UnreachableError);
});

test("an aborted operation rejects with the reason, and is not sent if it was waiting", async () => {
  await using node = await FakeNode.start();
  await using client = await open(node, { timeout: DEADLINE, turnAfter: DEADLINE });
  const reason = new Error("enough");
  await assert.rejects(client.transfer(alice, bob, 1n, { signal: AbortSignal.abort(reason) }), reason);
  assert.equal(node.batches, 0);
  const waiting = new AbortController();
  const transfer = client.transfer(alice, bob, 1n, { signal: waiting.signal });
  waiting.abort(reason);
  await assert.rejects(transfer, reason);
  node.fault = () => [];
  const batch = client.batch();
  batch.transfer(alice, bob, 9n);
  const submitted = batch.submit(AbortSignal.timeout(50));
  await assert.rejects(batch.submit(), TypeError);
  await assert.rejects(submitted, { name: "TimeoutError" });
  node.fault = (bytes) => [[0, bytes]];
  assert.equal((await batch.submit()).balance(0), 9n);
  assert.equal(node.executed.size, 1);
});

test("queues have limits", async () => {
  await using node = await FakeNode.start();
  node.fault = () => [];
  const client = await open(node, { turnAfter: DEADLINE, window: 1, maxWaiting: 2, maxOperations: 5 });
  const frames = Array.from({ length: 5 }, () => {
    const batch = client.batch({ capacity: 1 });
    batch.refer(alice);
    return batch.submit();
  });
  const operations = Array.from({ length: 8 }, () => client.transfer(alice, bob, 1n));
  const ends = Promise.allSettled([...frames, ...operations]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  client.destroy();
  const errors = (await ends).map((end) => (end as PromiseRejectedResult).reason as unknown);
  assert.equal(errors.filter((error) => error instanceof ClosedError).length, 3);
  // One in flight and two that wait; beyond that frames are refused, with the operations that would be in them.
  assert.equal(errors.filter((error) => error instanceof QueueFullError).length, 10);
});

test("close waits for what is in flight, and refuses the rest", async () => {
  await using node = await FakeNode.start();
  node.fault = (bytes) => [[100, bytes]];
  const client = await open(node, { turnAfter: DEADLINE });
  const transfers = Array.from({ length: 5000 }, () => client.transfer(alice, bob, 1n));
  const closed = client.close();
  await assert.rejects(client.transfer(alice, bob, 1n), ClosedError);
  await closed;
  assert.equal((await Promise.all(transfers)).length, 5000);
  await client.close();
  await assert.rejects(client.info(), ClosedError);
});
