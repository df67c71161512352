/** Feeds and proofs over the node's WebSocket, with the TypeScript client in a real Chromium. */

import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as Core from "turnpike/core.js";
import { Chromium } from "./browser.js";
import { type Client, alice, bob, connect, fund, settled, transfer } from "./ledger.js";
import { Node } from "./node.js";

declare global {
  /** The client in the page, and the feed that a test reads there. */
  var turnpike: typeof Core;
  var feed: Core.Feed;
}

let chromium: Chromium;
/** The client as a script. */
let script: string;

beforeAll(async () => {
  const alias = {
    find: /^@noble\/(curves|hashes)\//,
    replacement: fileURLToPath(new URL("../../node_modules/@noble/$1/", import.meta.url)),
  };
  const entry = fileURLToPath(new URL("../../../clients/typescript/src/core.ts", import.meta.url));
  const lib = { entry, name: "turnpike", formats: ["iife" as const] };
  const options = { configFile: false as const, logLevel: "warn" as const, resolve: { alias: [alias] } };
  const built = await build({ ...options, build: { lib, write: false, target: "es2022" } });
  const [output] = [built].flat();
  if (!output || !("output" in output)) throw new Error("nothing was built");
  script = output.output[0].code;
  chromium = await Chromium.start();
});

afterAll(async () => {
  await chromium[Symbol.asyncDispose]();
});

/** A page of the node with the client in it. */
async function open(node: Node, path = "#/blocks"): Promise<Page> {
  const page = await chromium.open(node.http, path);
  // Through the debugger: the page's own policy refuses scripts from elsewhere.
  await page.evaluate(`${script}; globalThis.turnpike = turnpike;`);
  return page;
}

/** Begins a feed at the first operation. */
async function follow(page: Page, node: Node, timeout = 60_000): Promise<void> {
  await page.evaluate(
    ([address, timeout]) => {
      globalThis.feed = new turnpike.Feed(`ws://${address}`, turnpike.connectWebSocket, { timeout });
    },
    [node.http, timeout] as const,
  );
}

interface Received {
  readonly sequences: number;
  readonly errors: readonly string[];
  readonly reconnections: number;
}

/** Reads the feed up to an operation, and checks that each comes once and in order. */
function receive(page: Page, from: bigint, last: bigint): Promise<Received> {
  return page.evaluate(
    async ([from, last]) => {
      const errors: string[] = [];
      let next = BigInt(from);
      while (feed.cursor <= BigInt(last)) {
        try {
          for (const { sequence } of (await feed.receive()).entries) {
            if (sequence !== next++) throw new RangeError(`${sequence} in place of ${next - 1n}`);
          }
        } catch (error) {
          if (!(error instanceof turnpike.StatusError)) throw error;
          errors.push(error.status);
        }
      }
      return { sequences: Number(next - BigInt(from)), errors, reconnections: feed.reconnections };
    },
    [String(from), String(last)] as const,
  );
}

/** More than the buffers of the kernel, of Chromium and of the node hold; returns the sequence of the last operation. */
async function load(client: Client): Promise<bigint> {
  await fund(client);
  for (let batch = 0; batch < 200; batch++) await transfer(client, 1_000);
  return (await client.info()).durableSequence;
}

test("a page has a feed, over kills of the node, and proofs over the same WebSocket", async () => {
  await using node = await Node.start();
  await using client = await connect(node.address, { timeout: 60_000 });
  await fund(client);
  const page = await open(node);
  await follow(page, node);
  expect(await receive(page, 1n, 3n)).toEqual({ sequences: 3, errors: [], reconnections: 0 });
  const waiting = receive(page, 4n, 5n);
  await node.kill();
  await node.start();
  await settled(client);
  await client.transfer(alice, bob, 1n);
  const { sequences, reconnections } = await waiting;
  expect(sequences).toBe(2);
  expect(reconnections).toBeGreaterThan(0);

  await settled(client);
  const network = [...(await client.info()).network];
  const balance = await page.evaluate(
    async ([address, network]) => {
      const web = new turnpike.Client(`ws://${address}`, turnpike.connectWebSocket, { timeout: 60_000 });
      const light = await web.light(Uint8Array.from(network));
      const { entry } = await light.proveBalance(turnpike.accountId(2n));
      await web.close();
      return String(entry?.balance);
    },
    [node.http, network] as const,
  );
  expect(Number(balance)).toBeGreaterThanOrEqual(2);
  await page.context().close();
});

test("a page that blocks learns that it is too slow, and continues", async () => {
  await using node = await Node.start("[limits]\nframe_timeout = 1000\n");
  await using client = await connect(node.address, { timeout: 60_000 });
  const last = await load(client);
  const page = await open(node);
  // On a busy machine the node may close the connection before its last frame is read; then the feed continues without
  // an error.
  let isTold = false;
  for (let attempt = 0; attempt < 5 && !isTold; attempt++) {
    await follow(page, node);
    const first = await page.evaluate(async () => {
      const { cursor } = await feed.receive();
      const end = performance.now() + 1_500;
      while (performance.now() < end);
      return String(cursor);
    });
    const { sequences, errors } = await receive(page, BigInt(first), last);
    expect(sequences).toBe(Number(last - BigInt(first) + 1n));
    isTold = errors.includes("TOO_SLOW");
    await page.evaluate(() => feed.close());
  }
  expect(isTold).toBe(true);
  await page.context().close();
});

test("a page that reads nothing holds a part of the feed, and misses nothing", async () => {
  await using node = await Node.start();
  await using client = await connect(node.address, { timeout: 60_000 });
  const last = await load(client);
  const page = await open(node);
  const held = await page.evaluate(async (address) => {
    let held = 0;
    const reason = await new Promise<string>((resolve) => {
      const counting: Core.Transport = (address, handlers, signal) => {
        const frame = (bytes: Uint8Array): void => {
          held += bytes.length;
          handlers.frame(bytes);
        };
        const closed = (reason: Error): void => {
          resolve(reason.message);
          handlers.closed(reason);
        };
        return turnpike.connectWebSocket(address, { frame, closed }, signal);
      };
      globalThis.feed = new turnpike.Feed(`ws://${address}`, counting, { timeout: 60_000 });
      void feed.receive();
    });
    return { held, reason, cursor: String(feed.cursor) };
  }, node.http);
  expect(held.reason).toContain("read too slowly");
  expect(held.held).toBeLessThan(72 * 65_507);
  const { sequences, reconnections } = await receive(page, BigInt(held.cursor), last);
  expect(sequences).toBe(Number(last - BigInt(held.cursor) + 1n));
  expect(reconnections).toBeGreaterThan(0);
  await page.context().close();
});

test("a page of another origin gets no WebSocket", async () => {
  await using node = await Node.start();
  await using other = await Node.start();
  // Its answer to programs has no policy, which would refuse the connection before the node does.
  const page = await open(other, "metrics");
  await follow(page, node, 1_000);
  await expect(page.evaluate(() => feed.receive())).rejects.toThrow("TimeoutError");
  await follow(page, other);
  expect(await page.evaluate(async () => (await feed.receive()).entries.length)).toBe(0);
  await page.context().close();
});

test("no page asked another host, broke the policy, or failed", () => {
  expect(chromium.offences).toEqual([]);
});
