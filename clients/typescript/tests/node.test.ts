/** The client against a real node. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AccountId,
  type Client,
  Command,
  HeaderChain,
  IndexProof,
  type Locator,
  type PastTransaction,
  ProofError,
  Signer,
  StatusError,
  TransactionProof,
  UnreachableError,
  WrongNetworkError,
  accountId,
  connect,
  equal,
  hasAsset,
  isFrozen,
  latestPosition,
  newTransactionId,
  operation,
  proveAsset,
  toHex,
  transactionId,
} from "../src/index.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { DEADLINE, Node, freeAddress, needsNode } from "./support.js";

const [alice, bob] = [accountId(1n), accountId(2n)];
/** Long enough that the node recognises retries on a busy machine. */
const RETRIES = "[ledger]\nretry_seconds = 120\n";

function open(node: Node): Promise<Client> {
  return connect(node.address, { timeout: DEADLINE });
}

async function fund(client: Client, accounts: readonly AccountId[], amount: bigint): Promise<void> {
  await Promise.all(accounts.map((account) => client.create(account)));
  await Promise.all(accounts.map((account) => client.issue(account, amount)));
}

async function rejects(promise: Promise<unknown>, status: string): Promise<StatusError> {
  const error = await promise.then(
    () => assert.fail(`expected ${status}`),
    (error: unknown) => error,
  );
  assert(error instanceof StatusError, String(error));
  assert.equal(error.status, status);
  assert(error.message.includes(status) && error.message.length > status.length + 20, error.message);
  return error;
}

test("operations, their results and their errors", needsNode, async () => {
  await using node = await Node.start();
  await using client = await open(node);
  await client.create(alice);
  await client.create(bob);
  assert.equal((await client.issue(alice, 1000n)).balance, 1000n);
  const receipt = await client.transfer(alice, bob, 250n);
  assert.equal(receipt.balance, 750n);
  assert.equal(receipt.promise, "durable");
  assert.equal(await client.balance(bob), 250n);
  assert.equal(await client.balance(accountId(99n)), undefined);
  assert.equal((await client.transfer(alice, bob, 1n, { promise: "accepted" })).promise, "accepted");
  // A node without replicas says what it promises instead.
  assert.equal((await client.transfer(alice, bob, 1n, { promise: "final" })).promise, "durable");

  await rejects(client.create(alice), "ACCOUNT_EXISTS");
  await rejects(client.transfer(accountId(99n), bob, 1n), "SOURCE_UNKNOWN");
  await rejects(client.transfer(alice, accountId(99n), 1n), "DESTINATION_UNKNOWN");
  const short = await rejects(client.transfer(alice, bob, 10_000n), "INSUFFICIENT_BALANCE");
  assert.equal(short.value, 748n);
  assert.equal(toHex(short.operation!.source), toHex(alice));
  await rejects(client.issue(alice, 0xffff_ffff_ffff_ffffn), "OVERFLOW");
  await rejects(client.transfer(alice, bob, 0n), "ZERO_AMOUNT");
  await rejects(client.transfer(alice, alice, 1n), "SELF_TRANSFER");
  await rejects(client.transfer(accountId(1n << 127n), bob, 1n), "NOT_AUTHORISED");
  await assert.rejects(client.transfer(alice, bob, 1n << 64n), RangeError);
  await assert.rejects(client.transfer(alice, bob, -1n), RangeError);
  await assert.rejects(client.transfer(alice, bob.subarray(1) as AccountId, 1n), RangeError);
  await assert.rejects(client.transfer(alice, bob, 1n, { promise: "finally" as "final" }), RangeError);

  const info = await client.info();
  assert.equal(toHex(info.network), toHex(node.network));
});

test("a repetition returns the first result, and changes nothing", needsNode, async () => {
  await using node = await Node.start(RETRIES);
  await using client = await open(node);
  await fund(client, [alice, bob], 1000n);
  for (const transaction of [newTransactionId(), transactionId(77n)]) {
    const before = (await client.balance(alice))!;
    const transfer = operation.transfer(alice, bob, 5n, { transaction });
    const receipts = await Promise.all([1, 2, 3].map(() => client.execute(transfer)));
    receipts.push(await client.execute(transfer));
    assert.deepEqual(new Set(receipts.map((receipt) => receipt.balance)), new Set([before - 5n]));
    assert.equal(await client.balance(alice), before - 5n);
    await rejects(client.transfer(alice, bob, 6n, { transaction }), "TRANSACTION_ID_REUSED");
  }
});

test("a batch reports each operation", needsNode, async () => {
  await using node = await Node.start(RETRIES);
  await using client = await open(node);
  await fund(client, [alice, bob], 1000n);
  const batch = client.batch();
  batch.transfer(alice, bob, 10n);
  const refused = batch.transfer(alice, bob, 5000n);
  while (batch.length < 1022) batch.transfer(bob, alice, 1n);
  batch.refer(bob);
  assert(batch.isFull);
  assert.throws(() => batch.transfer(bob, alice, 1n), RangeError);
  const result = await batch.submit();
  assert.equal(result.length, 1023);
  assert.equal(result.promise, "durable");
  assert.equal(result.failed, 1 + Math.max(0, 1020 - 1010));
  const [[index, error]] = [...result.failures()] as [[number, StatusError]];
  assert.equal(index, refused);
  assert.equal(error.status, "INSUFFICIENT_BALANCE");
  assert.equal(result.balance(1022), 0n);
  assert.equal(await client.balance(bob), 0n);
  // Submitted again, it returns the same results.
  const again = await batch.submit();
  assert.deepEqual(
    Array.from({ length: again.length }, (_, at) => again.status(at)),
    Array.from({ length: result.length }, (_, at) => result.status(at)),
  );
  assert.equal(await client.balance(bob), 0n);
  assert.throws(() => batch.refer(bob), TypeError);
});

test("linked operations succeed together or change nothing", needsNode, async () => {
  await using node = await Node.start(RETRIES);
  await using client = await open(node);
  await fund(client, [alice, bob], 100n);
  const batch = client.batch();
  assert.throws(() => batch.link(), RangeError);
  batch.transfer(alice, bob, 30n);
  batch.link();
  batch.transfer(bob, alice, 20n);
  batch.transfer(alice, bob, 80n);
  batch.link();
  batch.transfer(alice, bob, 11n);
  batch.transfer(alice, bob, 1n);
  batch.link();
  for (const repetition of ["first", "again"]) {
    const result = await batch.submit();
    const statuses = Array.from({ length: 5 }, (_, at) => result.status(at));
    const failed = ["LINKED_FAILED", "INSUFFICIENT_BALANCE"];
    assert.deepEqual(statuses, ["OK", "OK", ...failed, "LINKED_INVALID"], repetition);
  }
  assert.throws(() => batch.link(), TypeError);
  assert.equal(await client.balance(alice), 90n);
  // Another caller's operation would become a part of the chain.
  const linked = { ...operation.transfer(alice, bob, 1n), flags: 3 };
  await assert.rejects(client.execute(linked), TypeError);
});

test("holds are captured, released and reclaimed", needsNode, async () => {
  await using node = await Node.start();
  await using client = await open(node);
  await fund(client, [alice, bob], 100n);
  const hold = operation.hold(alice, bob, 30n, Math.floor(Date.now() / 1000) + 3600);
  await rejects(client.execute(operation.capture(hold, 30n)), "HOLD_UNKNOWN");
  assert.equal((await client.execute(hold)).balance, 70n);
  await rejects(client.execute(operation.capture(hold, 31n)), "HOLD_EXCEEDED");
  await rejects(client.execute(operation.reclaim(hold)), "HOLD_NOT_EXPIRED");
  for (const repetition of ["first", "again"]) {
    assert.equal((await client.execute(operation.capture(hold, 20n))).balance, 80n, repetition);
  }
  assert.equal(await client.balance(bob), 120n);
  const lasting = operation.hold(alice, bob, 80n);
  assert.equal((await client.execute(lasting)).balance, 0n);
  assert.equal((await client.execute(operation.release(lasting))).balance, 80n);
  await rejects(client.execute(operation.hold(alice, bob, 1n, 1)), "HOLD_EXPIRED");
});

test("an account has an asset that is proved", needsNode, async () => {
  await using node = await Node.start();
  await using client = await open(node);
  await fund(client, [bob], 100n);
  const other = accountId(77n);
  for (const account of [alice, other]) await client.execute(operation.inAsset(operation.create(account), 959));
  await client.issue(alice, 50n);
  await rejects(client.transfer(alice, bob, 1n), "ASSET_MISMATCH");
  const { operation: paid } = await client.transfer(alice, other, 1n);
  const light = await client.light(node.network);
  await settled(() => light.proveTransaction(paid.transaction, alice));
  for (const [account, asset] of [
    [alice, 959],
    [bob, 0],
  ] as const) {
    const { entry } = await light.proveBalance(account);
    assert(entry && !isFrozen(entry));
    assert.equal(hasAsset(entry), asset !== 0);
    assert.equal(await proveAsset(light, entry), asset);
  }
});

test("histories have pages and conditions", needsNode, async () => {
  await using node = await Node.start("[blocks]\ninterval = 50\n");
  await using client = await open(node);
  await fund(client, [alice], 1000n);
  await client.create(bob);
  for (const amount of [5n, 6n]) await client.transfer(alice, bob, amount);
  await client.execute(operation.hold(alice, bob, 7n, 0));
  const { operation: last } = await client.transfer(bob, alice, 1n);
  await settled(async () => {
    const { transactions } = await client.history(alice, {}, { count: 1 });
    if (!equal(transactions[0]!.operation.transaction, last.transaction)) throw new StatusError("NOT_FOUND");
  });
  const found: PastTransaction[] = [];
  for (let cursor: Locator | undefined, isOver = false; !isOver; isOver = cursor === undefined) {
    const page = await client.history(alice, {}, { cursor, count: 2 });
    assert(page.transactions.length <= 2 && page.firstRetained === undefined);
    found.push(...page.transactions);
    cursor = page.next;
  }
  assert.equal(found.length, 6);
  assert.deepEqual(found[0]!.operation.transaction, last.transaction);
  const first = found[5]!;
  assert.equal(first.operation.command, Command.CREATE);
  for (const [filter, count] of [
    [{ commands: ["TRANSFER"] }, 3],
    [{ role: "destination" }, 1],
    [{ role: "source" }, 5],
    [{ counterpart: bob }, 4],
    [{ isOpenHold: true }, 1],
    [{ endHeight: first.height }, 0],
    [{ firstHeight: first.height, firstTime: first.time }, 6],
    [{ endTime: first.time }, 0],
  ] as const) {
    assert.equal((await client.history(alice, filter)).transactions.length, count, JSON.stringify(Object.keys(filter)));
  }
  await rejects(client.history(accountId(99n)), "NOT_FOUND");
  assert.throws(() => client.history(alice, {}, { count: 0 }), /a page of 0 entries/);
});

test("issued amounts are listed by asset", needsNode, async () => {
  await using node = await Node.start("[blocks]\ninterval = 50\n");
  await using client = await open(node);
  const issued = 2n ** 64n;
  for (const asset of [7, 840]) {
    for (const [number, amount] of [
      [1n, issued - 1n],
      [2n, 1n],
    ] as const) {
      const account = accountId(BigInt(asset) * 10n + number);
      await client.execute(operation.inAsset(operation.create(account), asset));
      await client.issue(account, amount);
    }
  }
  await settled(async () => {
    if ((await client.assets(840)).issued.get(840) !== issued) throw new StatusError("NOT_FOUND");
  });
  const page = await client.assets(0, 2);
  assert.deepEqual(
    [...page.issued],
    [
      [0, 0n],
      [7, issued],
    ],
  );
  assert.equal(page.next, 840);
  const none = await client.assets(2 ** 32 - 1);
  assert.deepEqual([none.issued.size, none.next], [0, undefined]);
});

test("accounts are frozen and closed", needsNode, async () => {
  await using node = await Node.start("[ledger]\nfreezing = true\n[blocks]\ninterval = 50\n");
  await using client = await open(node);
  await fund(client, [alice, bob], 100n);
  assert.equal((await client.execute(operation.freeze(alice))).balance, 100n);
  await rejects(client.transfer(alice, bob, 1n), "ACCOUNT_FROZEN");
  const { operation: paid } = await client.transfer(bob, alice, 5n);
  const light = await client.light(node.network);
  const proof = await settled(() => light.proveTransaction(paid.transaction, bob));
  const { entry } = await light.proveBalance(alice);
  assert(entry && isFrozen(entry) && entry.balance === 105n);
  assert.equal(latestPosition(entry), proof.position);
  await client.execute(operation.unfreeze(alice));
  await rejects(client.execute(operation.unfreeze(alice)), "ACCOUNT_NOT_FROZEN");
  await rejects(client.execute(operation.close(alice)), "ACCOUNT_NOT_EMPTY");
  await client.transfer(alice, bob, 105n);
  assert.equal((await client.execute(operation.close(alice))).balance, 0n);
  assert.equal(await client.balance(alice), undefined);
});

test("concurrent operations share frames", needsNode, async () => {
  await using node = await Node.start();
  await using client = await open(node);
  const accounts = Array.from({ length: 3000 }, (_, at) => accountId(BigInt(at) + 1n));
  await fund(client, accounts, 100n);
  await Promise.all(accounts.map((account, at) => client.transfer(account, accounts[(at + 1) % 3000]!, 7n)));
  const balances = await Promise.all(accounts.map((account) => client.balance(account)));
  assert(balances.every((balance) => balance === 100n));
});

test("signed operations of keyed accounts", needsNode, async () => {
  const secret = secp256k1.utils.randomSecretKey();
  const issuerSecret = secp256k1.utils.randomSecretKey();
  await using node = await Node.start(`issuers = ["${toHex(secp256k1.getPublicKey(issuerSecret))}"]\n`);
  await using client = await open(node);
  const [signer, issuer] = [secret, issuerSecret].map((key) => new Signer(key, node.network)) as [Signer, Signer];
  await client.create(bob);
  await client.create(signer.account, { signer });
  await client.issue(signer.account, 1000n, { signer: issuer });
  await rejects(client.issue(signer.account, 1000n, { signer }), "NOT_ISSUER");
  await rejects(client.transfer(signer.account, bob, 1n, { signer: issuer }), "NOT_AUTHORISED");
  const other = new Signer(secret, new Uint8Array(32));
  await rejects(client.transfer(signer.account, bob, 1n, { signer: other }), "BAD_SIGNATURE");
  const receipts = await Promise.all(
    Array.from({ length: 50 }, () => client.transfer(signer.account, bob, 2n, { signer })),
  );
  assert.equal(receipts.length, 50);
  assert.equal(receipts[0]!.promise, "durable");
  assert.equal((await client.transfer(signer.account, bob, 1n, { signer, promise: "accepted" })).promise, "accepted");
  await client.transfer(bob, signer.account, 1n);
  assert.equal(await client.balance(signer.account, { signer }), 900n);
  const payee = new Signer(secp256k1.utils.randomSecretKey(), node.network);
  const open_ = operation.createFor(payee.account, signer.account, 10n);
  assert.equal((await rejects(client.execute(open_, { signer }), "DEPOSIT_REQUIRED")).value, 100n);
  await client.execute(operation.createFor(payee.account, signer.account, 100n), { signer });
  assert.equal(await client.balance(signer.account, { signer }), 800n);
});

/** Waits until what was executed is in a block. */
async function settled<T>(prove: () => Promise<T>): Promise<T> {
  const end = performance.now() + DEADLINE;
  for (;;) {
    try {
      return await prove();
    } catch (error) {
      if (!StatusError.is(error, "NOT_FOUND") || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

test("proofs hold, and with any byte changed they do not", needsNode, async () => {
  await using node = await Node.start("[blocks]\ninterval = 50\n");
  await using client = await open(node);
  const accounts = Array.from({ length: 40 }, (_, at) => accountId(BigInt(at) + 1n));
  await fund(client, accounts, 1000n);
  const { operation: paid } = await client.transfer(alice, bob, 250n);
  const light = await client.light(node.network);
  const proof = await settled(() => light.proveTransaction(paid.transaction, alice));
  assert.equal(proof.operation.amount, 250n);
  assert.equal(proof.signed, undefined);
  assert(proof.involves(bob) && !proof.involves(accountId(3n)));
  assert.equal((await light.proveLocator(proof.height, proof.position)).operation.amount, 250n);
  await rejects(light.proveTransaction(newTransactionId(), alice), "NOT_FOUND");

  assert((await light.claimBalance(alice)).entries.length > 0);
  const proved = await light.proveBalance(alice);
  assert.equal(proved.entry?.balance, 750n);
  assert.equal(proved.entry.height, Number(proof.height));
  assert.equal((await light.proveBalance(accountId(99n))).entry, undefined);

  // Without the node, from the bytes of the proof and the headers.
  const chain = HeaderChain.decode(node.network, light.headers());
  TransactionProof.decode(proof.reply).verify(chain);
  assert.equal(IndexProof.decode(proved.proof.reply).verify(alice, chain)?.balance, 750n);
  const changed = (reply: Uint8Array, at: number): Uint8Array => reply.with(at, reply[at]! ^ 1);
  // The header of the reply, the request, the reserved bytes and the tip are not part of the proof.
  for (let at = 88; at < proof.reply.length; at++) {
    if ([137, 140, 141, 142, 143].includes(at)) continue;
    const isPadding = at >= 176 + 32 * proof.reply[136]! + 64;
    if (isPadding) break;
    assert.throws(() => TransactionProof.decode(changed(proof.reply, at)).verify(chain), ProofError, `byte ${at}`);
  }
  const end = 104 + 32 * proved.proof.reply[96]! + 32 * proved.proof.reply[97]!;
  for (let at = 48; at < end; at++) {
    if ((at >= 88 && at < 96) || (at >= 98 && at < 104)) continue;
    const verify = (): unknown => IndexProof.decode(changed(proved.proof.reply, at)).verify(alice, chain);
    assert.throws(verify, ProofError, `byte ${at}`);
  }

  // A light client continues with the headers that it has kept.
  const kept = await client.light(node.network, light.headers());
  await client.transfer(alice, bob, 50n);
  while ((await kept.proveBalance(alice)).entry?.balance !== 700n) await kept.sync();
  await assert.rejects(client.light(new Uint8Array(32)), ProofError);

  // One that left out headers verifies earlier transactions by the seal of their block's header alone.
  const short = await client.light(node.network);
  const { tipHeight } = await client.info();
  assert(tipHeight > proof.height);
  await short.skip(tipHeight);
  assert.deepEqual([short.chain.base, short.chain.height, short.chain.header(1n)], [tipHeight, tipHeight, undefined]);
  assert.equal((await short.proveLocator(proof.height, proof.position)).operation.amount, 250n);
  assert.equal((await short.proveBalance(alice)).entry?.balance, 700n);
  await assert.rejects(short.skip(1n), ProofError);
  const headers = short.headers();
  const decoded = HeaderChain.decode(node.network, headers);
  assert.deepEqual([decoded.base, decoded.height], [tipHeight, short.chain.height]);
  // The seal of the first header after the gap vouches for it.
  const second = headers.with(192 + 100, headers[192 + 100]! ^ 1);
  assert.throws(() => HeaderChain.decode(node.network, second), ProofError);
  assert.throws(() => decoded.addSingle(headers.slice(192, 384).with(100, 0xaa)), ProofError);
  await client.transfer(alice, bob, 1n);
  while ((await short.proveBalance(alice)).entry?.balance !== 699n) await short.sync();
});

test("kill -9 under load: nothing that was answered is lost, and nothing is executed twice", needsNode, async () => {
  await using node = await Node.start(RETRIES);
  const accounts = Array.from({ length: 64 }, (_, at) => accountId(BigInt(at) + 1n));
  const model = accounts.map(() => 1_000_000n);
  {
    await using client = await open(node);
    await fund(client, accounts, 1_000_000n);
    let isOver = false;
    let done = 0;
    // Callers of single operations, and batches, all of them across the crashes.
    const single = async (from: number): Promise<void> => {
      for (let at = from; !isOver; at++) {
        const [source, destination] = [at % 64, (at * 7 + 1) % 64];
        if (source === destination) continue;
        await client.transfer(accounts[source]!, accounts[destination]!, 3n);
        model[source]! -= 3n;
        model[destination]! += 3n;
        done++;
      }
    };
    const batches = async (from: number): Promise<void> => {
      for (let at = from; !isOver; at++) {
        const [source, destination] = [at % 64, (at + 5) % 64];
        const batch = client.batch({ capacity: 100 });
        while (!batch.isFull) batch.transfer(accounts[source]!, accounts[destination]!, 1n);
        const result = await batch.submit();
        assert.equal(result.failed, 0);
        model[source]! -= 100n;
        model[destination]! += 100n;
        done += 100;
      }
    };
    const load = Promise.all([...Array(32).keys()].map(single).concat([1, 2, 3, 4].map(batches)));
    for (let kills = 0; kills < 3; kills++) {
      const target = done + 2000;
      while (done < target) await new Promise((resolve) => setTimeout(resolve, 5));
      await node.kill();
      await node.start();
    }
    isOver = true;
    await load;
    assert(client.counts.retries > 0 && client.counts.turns >= 3);
  }
  await node.kill();
  await node.start();
  await using client = await open(node);
  const balances = await Promise.all(accounts.map((account) => client.balance(account)));
  assert.deepEqual(balances, model);
  assert.equal(
    balances.reduce((sum, balance) => sum! + balance!, 0n),
    64_000_000n,
  );
});

test("of two addresses one is dead", needsNode, async () => {
  await using node = await Node.start();
  const dead = freeAddress();
  for (const addresses of [
    [dead, node.address],
    [node.address, dead],
  ]) {
    await using client = await connect(addresses, { timeout: DEADLINE });
    assert.equal(toHex((await client.info()).network), toHex(node.network));
  }
  await assert.rejects(connect([dead, dead]), UnreachableError);
  await assert.rejects(connect("no such address:1:2"), UnreachableError);
});

test("a node of another network is refused", needsNode, async () => {
  await using node = await Node.start();
  await assert.rejects(connect(node.address, { network: new Uint8Array(32) }), WrongNetworkError);
  await using other = await Node.start();
  await using client = await connect([other.address, node.address], { network: node.network, timeout: DEADLINE });
  assert.equal(toHex((await client.info()).network), toHex(node.network));
});
