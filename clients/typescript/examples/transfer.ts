/**
 * Creates two accounts on a node, transfers between them, and proves the balance:
 *
 *     turnpike serve --data data --trusted 127.0.0.0/8 &
 *     node dist/examples/transfer.js 127.0.0.1:7400
 */

import { setTimeout as sleep } from "node:timers/promises";
import { StatusError, TimeoutError, accountId, connect, newTransactionId, operation } from "turnpike";

const addresses = process.argv.slice(2);
await using client = await connect(addresses.length > 0 ? addresses : "127.0.0.1:7400");
const [alice, bob] = [accountId(newTransactionId()), accountId(newTransactionId())];

await client.create(alice);
await client.create(bob);
await client.issue(alice, 1000n);
const { balance, promise } = await client.transfer(alice, bob, 250n);
console.log(`transferred, ${promise}: the sender has ${balance}`);

// An operation is data with an id. After a timeout, repeat the same one: it is executed once.
const payment = operation.transfer(alice, bob, 5n);
try {
  await client.execute(payment);
} catch (error) {
  if (error instanceof TimeoutError) await client.execute(payment);
  else throw error;
}

try {
  await client.transfer(alice, bob, 10_000n);
} catch (error) {
  if (!StatusError.is(error, "INSUFFICIENT_BALANCE")) throw error;
  console.log(`refused: the sender has ${error.value}`);
}

// Many at once: one frame, with a result for each operation.
const batch = client.batch();
for (let at = 0; at < 1000; at++) batch.transfer(bob, alice, 1n);
const result = await batch.submit();
console.log(`${result.length - result.failed} of ${result.length} transferred`);

// Take the network id from a source that you trust: it names the key that seals the blocks.
const { network } = await client.info();
const light = await client.light(network);
let proved = await light.proveBalance(alice);
while (proved.entry?.balance !== 1000n) {
  // Within a second the transfers are in a block.
  await sleep(100);
  proved = await light.proveBalance(alice);
}
console.log(`block ${proved.proof.height} proves a balance of ${proved.entry.balance}`);
