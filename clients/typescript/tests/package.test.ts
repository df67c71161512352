/** The package: what its documents show runs, and its core needs no Node. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Node, PACKAGE, needsNode } from "./support.js";

function run(file: string, ...args: string[]): Promise<{ stdout: string }> {
  return promisify(execFile)(process.execPath, [join(PACKAGE, "dist", file), ...args], { timeout: 60_000 });
}

test("the example runs", needsNode, async () => {
  await using node = await Node.start("[blocks]\ninterval = 50\n");
  const { stdout } = await run("examples/transfer.js", node.address);
  assert.match(stdout, /^transferred, durable: the sender has 750\n/);
  assert.match(stdout, /refused: the sender has 745\n255 of 1000 transferred\nblock \d+ proves a balance of 1000\n$/);
});

test("the example of the README is a program that runs", needsNode, async () => {
  const program = readFileSync(join(PACKAGE, "examples/readme.ts"), "utf8");
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const [first, second] = Array.from(readme.matchAll(/```ts\n([^]*?)```/g), ([, shown]) => shown);
  assert.equal(program.replace("process.argv[2]!", '"127.0.0.1:7400"'), first);
  const feed = readFileSync(join(PACKAGE, "examples/feed.ts"), "utf8");
  assert.equal(feed.replace("process.argv[2]!", '"127.0.0.1:7400"'), second);
  await using node = await Node.start();
  assert.equal((await run("examples/readme.js", node.address)).stdout, "durable: 750 left\n");
  assert.equal((await run("examples/feed.js", node.address)).stdout, "1 OK 0\n2 OK 0\n3 OK 1000\n4 OK 750\n");
});

test("nothing but the transport imports from Node", () => {
  const seen = new Set<string>();
  const external = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, "utf8");
    assert(!/\b(Buffer|process|setImmediate|require)\b[.(]/.test(text.replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "")), file);
    for (const [, from] of text.matchAll(/^(?:import|export)\b[^;]*?\bfrom "([^"]+)";/gm)) {
      if (from!.startsWith(".")) visit(join(file, "..", from!));
      else external.add(from!);
    }
  };
  visit(join(PACKAGE, "dist/src/core.js"));
  assert(seen.size > 10);
  assert.deepEqual(
    [...external].filter((name) => !name.startsWith("@noble/")),
    [],
  );
});
