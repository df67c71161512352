import { expect, test } from "vitest";
import { fromHex, toHex } from "turnpike/bytes.js";
import { decodeHeader } from "turnpike/chain.js";
import { accountId } from "turnpike/ids.js";
import { IndexProof, TransactionProof } from "turnpike/proof.js";
import { pathOf, treeOf } from "../../src/lib/tree.js";
import { damage, flippable } from "../../src/verify/damage.js";
import { stepsOf } from "../../src/verify/describe.js";
import type { Proved, Subject } from "../../src/verify/proved.js";
import { type Items, Store } from "../../src/verify/store.js";
import { vectors } from "./vectors.js";

function provedOf(subject: Subject, leaf: string, steps: Proved["steps"], root: string): Proved {
  return {
    subject,
    claim: [],
    leaf,
    steps,
    root,
    rootName: "transaction root",
    header: { height: "7", hash: "00".repeat(32), time: 0 },
    voucher: { kind: "seal", title: "Sealed", text: "by a key" },
    network: "00".repeat(32),
    headers: 8,
    leftOut: 0,
    pinned: undefined,
    isPinned: true,
    isAbsent: false,
    flip: () => {
      throw new Error("not needed");
    },
  };
}

test("each bit that is flipped in a proof of a transaction breaks it, from the right node on", () => {
  const good = vectors("chain/transaction_proofs.txt").filter(([, verdict]) => verdict === "good");
  expect(good.length).toBeGreaterThan(5);
  const subject: Subject = { kind: "transaction", height: "7", position: "0" };
  for (const [, , headerHex, replyHex] of good) {
    const [header, reply] = [decodeHeader(fromHex(headerHex!)), fromHex(replyHex!)];
    const proof = TransactionProof.decode(reply);
    const [leaf, steps] = [toHex(proof.leaf), stepsOf(proof.steps())];
    const root = pathOf({ leaf, steps }).at(-1)!;
    expect(root).toBe(toHex(header.transactionRoot));
    const proved = provedOf(subject, leaf, steps, root);
    for (let offset = 0; offset < flippable(subject, reply, steps.length); offset += 5) {
      const broken = damage(subject, reply, header, { leaf, steps }, offset);
      expect(broken.problem).not.toContain("report");
      const { boxes } = treeOf(proved, broken, 640);
      expect(boxes.filter(({ state }) => state === "changed")).toHaveLength(1);
      expect(boxes.find(({ id }) => id === "header")?.state).toBe("broken");
      if (broken.isSibling) {
        const states = boxes.filter(({ id }) => id.startsWith("node")).map(({ state }) => state);
        expect(states.indexOf("broken")).toBe(broken.level + 1);
      }
    }
    const whole = treeOf(proved, undefined, 320);
    expect(whole.boxes.every(({ state }) => state === "good")).toBe(true);
    expect(whole.boxes.every(({ x, width }) => x >= 0 && x + width <= 320)).toBe(true);
    expect(whole.lines).toHaveLength(2 * steps.length + 2);
  }
});

test("each bit that is flipped in a proof of a balance breaks it", () => {
  const good = vectors("chain/index_proofs.txt").filter(([, verdict]) => verdict === "entry" || verdict === "absent");
  expect(good.length).toBeGreaterThan(5);
  for (const [, , account, headerHex, replyHex] of good) {
    const [header, reply] = [decodeHeader(fromHex(headerHex!)), fromHex(replyHex!)];
    const proof = IndexProof.decode(reply);
    const subject: Subject = { kind: "balance", account: account! };
    const [leaf, steps] = [toHex(proof.leaf), stepsOf(proof.steps(accountId(account!)))];
    expect(pathOf({ leaf, steps }).at(-1)).toBe(toHex(header.indexRoot));
    const end = flippable(subject, reply, steps.length);
    for (let offset = 0; offset < end; offset += 7) {
      expect(damage(subject, reply, header, { leaf, steps }, offset).problem).not.toContain("report");
    }
  }
});

class Memory implements Items {
  readonly items = new Map<string, string>();
  room = Infinity;
  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    if (value.length > this.room) throw new Error("full");
    this.items.set(key, value);
  }
  removeItem(key: string): void {
    this.items.delete(key);
  }
}

test("pins and headers are stored by network, and a full storage keeps the pin", () => {
  const items = new Memory();
  const [store, other] = [new Store(items, "aa"), new Store(items, "bb")];
  const headers = Uint8Array.from({ length: 20_000 }, (_, at) => at);
  const pin = { height: 3, hash: "12".repeat(32), time: 9 };
  expect(store.pin).toBeUndefined();
  expect(store.save(pin, headers)).toBe(true);
  expect(store.pin).toEqual(pin);
  expect(store.headers).toEqual(headers);
  expect(other.pin).toBeUndefined();
  items.room = 200;
  expect(store.save({ ...pin, height: 4 }, headers)).toBe(true);
  expect(store.pin?.height).toBe(4);
  expect(store.headers).toBeUndefined();
  items.room = 0;
  expect(store.save(pin, headers)).toBe(false);
  items.items.set("turnpike.pin.aa", "garbage");
  items.items.set("turnpike.headers.aa", "%");
  expect(store.pin).toBeUndefined();
  expect(store.headers).toBeUndefined();
  store.forget();
  expect(items.items.size).toBe(0);
});
