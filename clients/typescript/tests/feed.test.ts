/** Feeds over TCP and WebSockets: each journalled operation once and in order, over kills; errors by status. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { viewOf } from "../src/bytes.js";
import { readFeed } from "../src/feed.js";
import {
  type Client,
  ClosedError,
  Feed,
  FeedError,
  type FeedOptions,
  type FeedPart,
  type JournalEntry,
  type StatusName,
  StatusError,
  TimeoutError,
  type Transport,
  UnreachableError,
  WrongNetworkError,
  accountId,
  connect,
  connectWebSocket,
  follow,
  fromHex,
} from "../src/index.js";
import {
  Command,
  FeedEntry,
  FeedFrame,
  FrameType,
  InfoFrame,
  MAGIC,
  REPLY_BIT,
  Status,
  VERSION,
} from "../src/protocol.js";
import { MAX_FRAME } from "../src/transport.js";
import { DEADLINE, Node, needsNode, vectors } from "./support.js";

const [alice, bob, carol] = [accountId(1n), accountId(2n), accountId(3n)];
const RETRIES = "[ledger]\nretry_seconds = 600\n";

/** The address of a node in each way to carry a feed. */
const carriers: [name: string, addressOf: (node: Node) => string][] = [
  ["TCP", (node) => node.address],
  ["a WebSocket", (node) => `ws://${node.http}`],
];

function open(address: string, options: FeedOptions = {}): Feed {
  return follow(address, { timeout: DEADLINE, ...options });
}

/** Waits without a turn of the event loop, so that nothing is read. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** Accounts, and then this many transfers at least; returns the sequence of the last one. */
async function load(client: Client, transfers: bigint): Promise<bigint> {
  for (const account of [alice, bob]) await client.create(account);
  await client.issue(alice, 1_000_000_000n);
  let count = 0n;
  while (count < transfers) {
    const batch = client.batch();
    while (!batch.isFull) batch.transfer(alice, bob, 1n);
    assert.equal((await batch.submit()).failed, 0);
    count += BigInt(batch.length);
  }
  return count + 3n;
}

/** Receives up to an operation, and checks what each part says about itself. */
async function collect(feed: Feed, last: bigint): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  while (feed.cursor <= last) {
    const part = await feed.receive();
    assert.equal(part.cursor, feed.cursor);
    assert.equal(part.promise, "durable");
    assert(part.entries.every(({ sequence }) => sequence <= part.durable));
    entries.push(...part.entries);
  }
  return entries;
}

function isOf(status: StatusName): (error: unknown) => boolean {
  return (error) => StatusError.is(error, status);
}

for (const [name, addressOf] of carriers) {
  test(`a feed has operations with their results, over ${name}`, needsNode, async () => {
    await using node = await Node.start();
    await using client = await connect(node.address, { timeout: DEADLINE });
    for (const account of [alice, bob, carol]) await client.create(account);
    await client.issue(alice, 1000n);
    const { operation: paid } = await client.transfer(alice, bob, 250n);
    await assert.rejects(client.transfer(alice, bob, 10_000n), isOf("INSUFFICIENT_BALANCE"));
    await using feed = open(addressOf(node));
    const entries = await collect(feed, 6n);
    assert.deepEqual(
      entries.map(({ sequence, operation, status, balance }) => [sequence, operation.command, status, balance]),
      [
        [1n, Command.CREATE, "OK", 0n],
        [2n, Command.CREATE, "OK", 0n],
        [3n, Command.CREATE, "OK", 0n],
        [4n, Command.ISSUE, "OK", 1000n],
        [5n, Command.TRANSFER, "OK", 750n],
        [6n, Command.TRANSFER, "INSUFFICIENT_BALANCE", 750n],
      ],
    );
    assert.deepEqual(entries[4]!.operation.transaction, paid.transaction);
    // Heartbeats. A call that is aborted loses nothing.
    assert.equal((await feed.receive()).entries.length, 0);
    await assert.rejects(feed.receive(AbortSignal.timeout(20)), { name: "TimeoutError" });
    await client.transfer(alice, bob, 1n);
    assert.deepEqual(
      (await collect(feed, 7n)).map(({ balance }) => balance),
      [749n],
    );
    await using other = open(addressOf(node), { cursor: 2n, account: carol });
    assert.deepEqual(
      (await collect(other, 7n)).map(({ sequence }) => sequence),
      [3n],
    );
    for await (const part of open(addressOf(node), { cursor: 7n })) {
      // The first may be a heartbeat.
      if (part.entries.length === 0) continue;
      assert.equal(part.entries[0]!.sequence, 7n);
      break;
    }
  });

  test(`a feed has each operation once over kills, over ${name}`, needsNode, async () => {
    await using node = await Node.start(RETRIES);
    await using client = await connect(node.address, { timeout: DEADLINE, retryAfter: 100 });
    for (const account of [alice, bob]) await client.create(account);
    await client.issue(alice, 1_000_000_000n);
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        const batch = client.batch({ capacity: 50 });
        while (!batch.isFull) batch.transfer(alice, bob, 1n);
        assert.equal((await batch.submit()).failed, 0);
      }
    })();
    const entries: JournalEntry[] = [];
    let cursor: bigint;
    {
      await using feed = open(addressOf(node));
      for (let kills = 0; kills < 3; kills++) {
        entries.push(...(await collect(feed, feed.cursor + 1000n)));
        await node.kill();
        await node.start();
      }
      entries.push(...(await collect(feed, feed.cursor)));
      assert(feed.reconnections > 0);
      cursor = feed.cursor;
    }
    isOver = true;
    await load;
    // Another process continues at the stored cursor.
    const { durableSequence } = await client.info();
    await using feed = open(addressOf(node), { cursor });
    entries.push(...(await collect(feed, durableSequence)));
    assert.equal(BigInt(entries.length), durableSequence);
    assert(entries.every(({ sequence }, at) => sequence === BigInt(at) + 1n));
    const paid = entries.filter(({ operation }) => operation.command === Command.TRANSFER);
    assert.equal(await client.balance(bob), BigInt(paid.length));
  });

  test(`a slow program learns of it, and continues, over ${name}`, needsNode, async () => {
    await using node = await Node.start("[limits]\nframe_timeout = 1000\nfeeds = 1\n");
    await using client = await connect(node.address, { timeout: DEADLINE });
    {
      // The node serves one feed.
      await using feed = open(addressOf(node));
      await feed.receive();
      await assert.rejects(open(addressOf(node), { timeout: 2_000 }).receive(), isOf("BUSY"));
    }
    // More than the buffers of the kernel and the node hold.
    const last = await load(client, 200_000n);
    // On a busy machine the node may close the connection before its last frame is read; then the feed continues without
    // an error.
    let slow = 0;
    for (let attempt = 0; attempt < 5 && slow === 0; attempt++) {
      await using feed = open(addressOf(node));
      let next = 1n;
      const take = (entries: readonly JournalEntry[]): void => {
        for (const { sequence } of entries) assert.equal(sequence, next++);
      };
      take((await feed.receive()).entries);
      block(1_500);
      while (feed.cursor <= last) {
        try {
          take((await feed.receive()).entries);
        } catch (error) {
          if (!StatusError.is(error, "TOO_SLOW")) throw error;
          slow++;
        }
      }
      assert.equal(next, last + 1n);
    }
    assert(slow > 0);
  });

  test(`a feed ends with the error of its reason, over ${name}`, needsNode, async () => {
    await using node = await Node.start();
    await assert.rejects(open(addressOf(node), { cursor: 2n }).receive(), isOf("NOT_FOUND"));
    await assert.rejects(open(addressOf(node), { network: new Uint8Array(32) }).receive(), WrongNetworkError);
    const feed = open(addressOf(node));
    await feed.receive();
    const waiting = assert.rejects(
      (async () => {
        for (;;) await feed.receive();
      })(),
      ClosedError,
    );
    feed.close();
    await waiting;
    await node.kill();
    await assert.rejects(open(addressOf(node), { timeout: 300 }).receive(), TimeoutError);
    for (const cursor of [0n, -1n, 1n << 64n]) assert.throws(() => follow("localhost", { cursor }), RangeError);
    await assert.rejects(follow("a:b:c").receive(), RangeError);
  });
}

test("the address of UDP names the same node", needsNode, async () => {
  await using node = await Node.start();
  await using client = await connect(node.address, { timeout: DEADLINE });
  await client.create(alice);
  await using feed = open(`udp://${node.address}`);
  assert.equal((await collect(feed, 1n)).length, 1);
});

test("over a WebSocket a slow program holds a part of the feed, and misses nothing", needsNode, async () => {
  await using node = await Node.start();
  await using client = await connect(node.address, { timeout: DEADLINE });
  const last = await load(client, 100_000n);
  let held = 0;
  let ended = (_reason: Error): void => {};
  const end = new Promise<Error>((resolve) => (ended = resolve));
  const counting: Transport = (address, handlers, signal) => {
    const frame = (bytes: Uint8Array): void => {
      held += bytes.length;
      handlers.frame(bytes);
    };
    const closed = (reason: Error): void => {
      ended(reason);
      handlers.closed(reason);
    };
    return connectWebSocket(address, { frame, closed }, signal);
  };
  await using feed = new Feed(`ws://${node.http}`, counting, { timeout: DEADLINE });
  let next = 1n;
  const take = ({ entries }: FeedPart): void => {
    for (const { sequence } of entries) assert.equal(sequence, next++);
  };
  take(await feed.receive());
  // The program runs, but does not read.
  assert.match((await end).message, /read too slowly/);
  // The limit, and a few that came before.
  assert(held > 60 * MAX_FRAME && held < 72 * MAX_FRAME, `${held} bytes are held`);
  while (feed.cursor <= last) take(await feed.receive());
  assert.equal(next, last + 1n);
  assert(feed.reconnections > 0);
});

test("a client has queries and proofs over a WebSocket, but no operations", needsNode, async () => {
  await using node = await Node.start("[blocks]\ninterval = 50\n");
  await using client = await connect(node.address, { timeout: DEADLINE });
  await client.create(alice);
  await client.issue(alice, 7n);
  await using web = await connect(`ws://${node.http}/frames`, { timeout: DEADLINE });
  const { tipHeight } = await web.info();
  await client.issue(alice, 1n);
  await web.waitForHeight(tipHeight + 1n);
  const light = await web.light(node.network);
  assert((await light.proveBalance(alice)).entry!.balance >= 7n);
  assert.equal((await light.proveBalance(carol)).entry, undefined);
  await using other = await connect(`ws://${node.http}`, { timeout: 500 });
  await assert.rejects(other.create(bob), (error) => {
    assert(error instanceof TimeoutError);
    assert.match(String(error.cause), /only info, headers, proof, finality, history and assets/);
    return true;
  });
  // Nothing else listens there.
  await assert.rejects(connect(`ws://${node.http}/health`), UnreachableError);
  await assert.rejects(connect("ws://a b"), /write ws:\/\/HOST:PORT/);
});

/** A frame of a feed with operations of these sequences. */
function frame(cursor: bigint, sequences: readonly bigint[], changes: Partial<FeedFrame> = {}): Uint8Array {
  const bytes = new Uint8Array(FeedFrame.LENGTH + sequences.length * FeedEntry.LENGTH);
  const view = viewOf(bytes);
  FeedFrame.encode(view, 0, {
    ...FeedFrame.decode(view),
    header: { magic: MAGIC, version: VERSION, kind: FrameType.feed | REPLY_BIT, id: 2 },
    promise: 2,
    count: sequences.length,
    cursor,
    ...changes,
  });
  for (const [at, sequence] of sequences.entries()) {
    view.setBigUint64(FeedFrame.LENGTH + at * FeedEntry.LENGTH, sequence);
  }
  return bytes;
}

/** The address of a node that answers the question for the network, and the request of a feed with one frame. */
async function fake(reply: Uint8Array): Promise<{ address: string; close(): void }> {
  const server = createServer((socket) => {
    const replies = [new Uint8Array(InfoFrame.LENGTH), reply];
    viewOf(replies[0]!).setUint32(0, 0x54500185);
    viewOf(replies[0]!).setUint32(4, 1);
    socket.on("error", () => {});
    socket.on("data", () => {
      const next = replies.shift() ?? new Uint8Array();
      const length = new Uint8Array(4);
      viewOf(length).setUint32(0, next.length);
      socket.write(Buffer.concat([length, next]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

test("a feed that does not continue at the cursor is refused", async () => {
  const faulty: Record<string, Uint8Array> = {
    repeats: frame(7n, [5n, 5n]),
    skips: frame(7n, [6n]),
    "stands still": frame(5n, [5n]),
    "skips the next": frame(7n, [5n]),
    "ends early": frame(6n, [5n], { count: 2 }),
    cut: frame(6n, [5n]).subarray(0, 71),
    "another promise": frame(6n, [5n], { promise: 4 }),
    "another status": frame(6n, [], { status: 999 }),
  };
  for (const [name, reply] of Object.entries(faulty)) {
    const node = await fake(reply);
    await using feed = follow(node.address, { cursor: 5n, timeout: DEADLINE });
    await assert.rejects(feed.receive(), FeedError, name);
    assert.equal(feed.cursor, 5n);
    node.close();
  }
  const node = await fake(frame(5n, [], { status: Status.PRUNED, first: 1234n }));
  await using feed = follow(node.address, { cursor: 5n });
  await assert.rejects(feed.receive(), (error) => StatusError.is(error, "PRUNED") && error.value === 1234n);
  node.close();
});

test("golden frames of feeds", () => {
  let count = 0;
  for (const [name, kind, status, hex] of vectors("wire/replies.txt") as [string, string, string, string][]) {
    if (!name.startsWith("feed")) continue;
    const golden = fromHex(hex);
    if (golden.length >= 8) viewOf(golden).setUint32(4, 2);
    const fixed = golden.length >= FeedFrame.LENGTH ? FeedFrame.decode(viewOf(golden)) : undefined;
    const first = golden.length >= 80 ? viewOf(golden).getBigUint64(FeedFrame.LENGTH) : (fixed?.cursor ?? 1n);
    const read = (): ReturnType<typeof readFeed> =>
      readFeed(golden, first, fixed && fixed.flags & 1 ? fixed.account : undefined);
    // Signatures are not requested.
    if (kind === "bad" || fixed?.signed) {
      assert.throws(read, FeedError, name);
    } else {
      const part = read();
      if ("status" in part) assert.deepEqual([part.status, part.first], [status, fixed!.first], name);
      else assert.deepEqual([part.entries.length, part.cursor, status], [fixed!.count, fixed!.cursor, "OK"], name);
    }
    count++;
  }
  assert(count > 8);
});
