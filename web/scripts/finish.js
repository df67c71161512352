/** Compresses each text of dist/, prints sizes, and fails if the JavaScript is larger than its budgets. */

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { minify } from "terser";

/** Bytes, compressed: of all scripts that the page starts with, and of the one that it loads to verify proofs. */
const BUDGETS = { page: 60_000, verify: 32_400 };
const DIST = fileURLToPath(new URL("../dist/", import.meta.url));

const sizes = { page: 0, verify: 0 };
for (const name of readdirSync(DIST).sort()) {
  if (name.endsWith(".gz")) continue;
  // A second minifier finds another hundredth.
  if (name.endsWith(".js")) writeFileSync(DIST + name, await smaller(readFileSync(DIST + name, "utf8")));
  const text = readFileSync(DIST + name);
  const compressed = gzipSync(text, { level: 9 });
  // No time, and no operating system: the same text has the same bytes.
  compressed.fill(0, 4, 8);
  compressed[9] = 255;
  writeFileSync(`${DIST + name}.gz`, compressed);
  if (name.endsWith(".js")) sizes[name === "verify.js" ? "verify" : "page"] += compressed.length;
  console.log(
    `${name.padEnd(12)} ${String(text.length).padStart(8)} B ${String(compressed.length).padStart(8)} B gzipped`,
  );
}
for (const [name, size] of Object.entries(sizes)) {
  console.log(`JavaScript, ${name}: ${size} of ${BUDGETS[name]} B gzipped`);
  if (size <= BUDGETS[name]) continue;
  console.error(`that is ${size - BUDGETS[name]} B over its budget; remove code, or a dependency`);
  process.exitCode = 1;
}

async function smaller(code) {
  // Not `pure_getters`: reading a signal of Svelte has an effect, the subscription.
  const compress = { passes: 3, ecma: 2022, unsafe_arrows: true, keep_fargs: false };
  return (await minify(code, { module: true, compress })).code;
}
