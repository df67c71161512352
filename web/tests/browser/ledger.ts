/** Operations for the page to show, sent with the TypeScript client. */

import { type AccountId, accountId } from "turnpike/ids.js";
import { type Client, connect } from "turnpike/index.js";
import { toHex } from "turnpike/bytes.js";
import { create, inAsset } from "turnpike/operation.js";

export const [alice, bob] = [accountId(1n), accountId(2n)];
export const hex = (id: AccountId): string => toHex(id);

/** Creates two accounts, funds one, and transfers. */
export async function fund(client: Client): Promise<void> {
  await client.create(alice);
  await client.create(bob);
  await client.issue(alice, 1_000_000n);
}

/** Transfers 1, 2, 3 … from one to the other, in one batch, and so in few blocks. */
export async function transfer(client: Client, count: number): Promise<void> {
  const batch = client.batch();
  for (let amount = 1; amount <= count; amount++) batch.transfer(alice, bob, BigInt(amount));
  await batch.submit();
}

/** Opens an account in an asset, and funds it. */
export async function open(client: Client, account: AccountId, asset: number): Promise<void> {
  await client.execute(inAsset(create(account), asset));
  await client.issue(account, 500n);
}

/** Waits until everything so far is in blocks, and returns the height. */
export async function settled(client: Client): Promise<number> {
  const { tipHeight } = await client.info();
  // A block closes within a second of its first transaction.
  await client.transfer(alice, bob, 1n);
  return Number((await client.waitForHeight(tipHeight + 1n)).tipHeight);
}

export { type Client, connect };
