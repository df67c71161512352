import { accountId, connect } from "turnpike";

await using client = await connect(process.argv[2]!);
const [alice, bob] = [accountId(1n), accountId(2n)];
await client.create(alice);
await client.create(bob);
await client.issue(alice, 1000n);
const receipt = await client.transfer(alice, bob, 250n);
console.log(`${receipt.promise}: ${receipt.balance} left`);
