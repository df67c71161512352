/**
 * Measures durable transfers in batches, and single transfers one after the other, against a node on this machine:
 * `npm run bench`. TURNPIKE names the program; otherwise it is the one that is built in the repository.
 */

import { accountId, connect } from "../src/index.js";
import { Node } from "../tests/support.js";

const ROUNDS = 5;
const ACCOUNTS = 10_000;
const TRANSFERS = 400_000;
const IN_FLIGHT = 8;
const SINGLE = 2_000;

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]!;
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

const single: number[] = [];
for (let at = 0; at < SINGLE; at++) {
  const start = performance.now();
  await client.transfer(accounts[at]!, accounts[at + 1]!, 1n);
  single.push(performance.now() - start);
}
const start = performance.now();
const callers = 256;
await Promise.all(
  Array.from({ length: callers }, async (_, caller) => {
    for (let at = 0; at < 200; at++) await client.transfer(accounts[caller]!, accounts[caller + 1]!, 1n);
  }),
);
const concurrent = (callers * 200) / ((performance.now() - start) / 1000);

console.log(`
promise durable, node and client on one machine, medians of ${ROUNDS} rounds of ${TRANSFERS.toLocaleString("en")} transfers
batches of 1,023, ${IN_FLIGHT} in flight   ${Math.round(percentile(rates, 0.5)).toLocaleString("en")} transfers/s
processor time of the client   ${percentile(costs, 0.5).toFixed(2)} us a transfer
single transfers, one caller   p50 ${percentile(single, 0.5).toFixed(2)} ms, p99 ${percentile(single, 0.99).toFixed(2)} ms
single transfers, ${callers} callers ${Math.round(concurrent).toLocaleString("en")} transfers/s`);
