/**
 * Measures durable transfers in batches, and single transfers one after the other, against a node on this machine:
 * `npm run bench`. TURNPIKE names the program; otherwise it is the one that is built in the repository.
 */

import { appendFileSync } from "node:fs";
import { accountId, connect } from "../src/index.js";
import { Node } from "../tests/support.js";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const ACCOUNTS = 10_000;
const TRANSFERS = 400_000;
const IN_FLIGHT = 8;
const SINGLE = 2_000;
const CALLERS = 256;

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]!;
}

/** Prints a figure, and adds it to those of `bench/clients/run`. */
function report(name: string, value: number, unit: string): void {
  console.log(`${name.padEnd(45)} ${value.toLocaleString("en", { maximumFractionDigits: 2 }).padStart(12)} ${unit}`);
  const path = process.env["TURNPIKE_FIGURES"];
  if (path) appendFileSync(path, `TypeScript, ${name}\t${value}\t${unit}\t\t\n`);
}

await using node = await Node.start();
await using client = await connect(node.address, { promise: "durable" });
const accounts = Array.from({ length: ACCOUNTS }, (_, at) => accountId(BigInt(at) + 1n));
await Promise.all(accounts.map((account) => client.create(account)));
await Promise.all(accounts.map((account) => client.issue(account, 1_000_000n)));

const rates: number[] = [];
const costs: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < TRANSFERS) {
      const batch = client.batch();
      for (; !batch.isFull && sent < TRANSFERS; sent++) {
        batch.transfer(accounts[sent % ACCOUNTS]!, accounts[(sent * 7 + 1) % ACCOUNTS]!, 1n);
      }
      const result = await batch.submit();
      for (const [, error] of result.failures()) if (error.status !== "SELF_TRANSFER") throw error;
    }
  };
  const processor = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(processor);
  rates.push(TRANSFERS / seconds);
  costs.push((user + system) / TRANSFERS);
  console.log(`round ${round + 1}: ${Math.round(TRANSFERS / seconds).toLocaleString("en")} transfers/s`);
}

report("batches of 1023", percentile(rates, 0.5), "/s");
report("processor time of the client for a transfer", percentile(costs, 0.5), "us");
for (const [name, address] of [
  ["one at a time", node.address],
  ["one at a time over UDP", `udp://${node.address}`],
] as const) {
  await using one = await connect(address, { promise: "durable" });
  const times: number[] = [];
  for (let at = 0; at < SINGLE; at++) {
    const start = performance.now();
    await one.transfer(accounts[at]!, accounts[at + 1]!, 1n);
    times.push((performance.now() - start) * 1000);
  }
  report(`${name}, p50`, percentile(times, 0.5), "us");
  report(`${name}, p99`, percentile(times, 0.99), "us");
}
const start = performance.now();
await Promise.all(
  Array.from({ length: CALLERS }, async (_, caller) => {
    for (let at = 0; at < 200; at++) await client.transfer(accounts[caller]!, accounts[caller + 1]!, 1n);
  }),
);
report(`${CALLERS} callers`, (CALLERS * 200) / ((performance.now() - start) / 1000), "/s");
console.log(`durable; medians of ${ROUNDS} rounds of ${TRANSFERS.toLocaleString("en")} transfers`);
