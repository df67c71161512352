/** The golden vectors that concern a client. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readBatch } from "../src/batch.js";
import { viewOf } from "../src/bytes.js";
import { HeaderChain, decodeHeader, hasSealed } from "../src/chain.js";
import { statusName } from "../src/errors.js";
import { isKey } from "../src/finality.js";
import { readAssets, readHistory } from "../src/history.js";
import * as hash from "../src/hash.js";
import {
  ADVICE,
  Certificate,
  IndexProof,
  type PathStep,
  ProofError,
  Reconfiguration,
  ReplicaSet,
  Signer,
  Status,
  TransactionProof,
  Vouched,
  accountId,
  fromHex,
  keyedAccount,
  toHex,
  verifySignature,
} from "../src/index.js";
import { readGeneration } from "../src/light.js";
import * as protocol from "../src/protocol.js";
import { readError, readInfo } from "../src/requests.js";
import { vectors } from "./support.js";

/** Whether the check passes; only `ProofError` may say that it does not. */
function holds(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch (error) {
    assert(error instanceof ProofError, String(error));
    assert.match(error.message, /; ask another node$/);
    return false;
  }
}

/** Runs a check for each record: it must hold for the good ones only. */
function checkEach(file: string, check: (...fields: Uint8Array[]) => unknown): void {
  for (const [name, verdict, ...fields] of vectors(file)) {
    assert.equal(
      holds(() => check(...fields.map(fromHex))),
      verdict === "good",
      `${file}: ${name}`,
    );
  }
}

function keysOf(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length / 32 }, (_, at) => bytes.subarray(32 * at, 32 * at + 32));
}

function assertTrue(value: boolean): void {
  if (!value) throw new ProofError("signature", "not valid");
}

test("statuses have the codes of the protocol, and advice", () => {
  const expected = Object.fromEntries(vectors("wire/status.txt").map(([name, code]) => [name, Number(code)]));
  assert.deepEqual(Status, expected);
  for (const [name, code] of Object.entries(Status)) {
    assert.equal(statusName(code), name);
    assert(ADVICE[name as keyof typeof ADVICE].length > 10);
  }
  assert.equal(statusName(15), undefined);
});

/** A request that the reply may answer: its fixed part, with a large count. */
function questionOf(reply: Uint8Array, layout: { LENGTH: number; at: { count: number } }): Uint8Array {
  const request = new Uint8Array(layout.LENGTH);
  request.set(reply.subarray(0, layout.LENGTH));
  viewOf(request).setUint16(layout.at.count, 0xffff);
  if (layout === protocol.HistoryFrame) request[protocol.HistoryFrame.at.flags] = 0;
  return request;
}

test("replies are read, and anything else is refused", () => {
  const readers: Record<string, (bytes: Uint8Array) => { status: string } | undefined> = {
    batch: (bytes) => {
      const { format, count } = protocol.BatchHeader.decode(viewOf(bytes));
      const size = [24, 64, 184][format] ?? 64;
      const request = new Uint8Array(16 + count * size);
      request.set(bytes.subarray(0, request.length));
      request[protocol.BatchHeader.at.format] = Math.min(format, 2);
      return readBatch(request, bytes, count, size);
    },
    info: readInfo,
    finality: (bytes) => readGeneration(bytes, viewOf(bytes).getUint32(protocol.FinalityFrame.at.generation)),
    history: (bytes) => readHistory(questionOf(bytes, protocol.HistoryFrame), bytes),
    assets: (bytes) => readAssets(questionOf(bytes, protocol.AssetsFrame), bytes),
    error: readError,
  };
  let seen = 0;
  for (const [name, kind, status, frame] of vectors("wire/replies.txt")) {
    const bytes = fromHex(frame!);
    const reader = readers[kind === "bad" ? name!.split("_")[0]! : kind!];
    // Bytes that are no frame at all are refused by all readers.
    const all = reader ? [reader] : kind === "bad" && bytes.length < 16 ? [readInfo, readError] : [];
    for (const read of all) {
      seen++;
      assert.equal(read(bytes)?.status, kind === "bad" ? undefined : status, name);
    }
  }
  assert(seen > 20);
});

test("pages with which a client would not end are refused", () => {
  const reply = fromHex(vectors("wire/replies.txt").find(([name]) => name === "history")![3]!);
  const read = (cursor: readonly [number, number] | undefined, next: readonly [number, number] = [6, 1]): boolean => {
    const [request, hostile] = [questionOf(reply, protocol.HistoryFrame), reply.slice()];
    request[protocol.HistoryFrame.at.flags] = cursor ? 2 : 0;
    for (const [bytes, place] of [
      [request, cursor ?? [0, 0]],
      [hostile, next],
    ] as const) {
      viewOf(bytes).setUint32(protocol.HistoryFrame.at.cursorHeight, place[0]);
      viewOf(bytes).setUint32(protocol.HistoryFrame.at.cursorPosition, place[1]);
    }
    return readHistory(request, hostile) !== undefined;
  };
  assert(read(undefined) && read([7, 4]) && read([8, 0]));
  for (const cursor of [
    [7, 3],
    [7, 2],
    [6, 1],
    [0, 0],
  ] as const)
    assert(!read(cursor), String(cursor));
  for (const next of [
    [6, 2],
    [7, 4],
    [2 ** 32 - 1, 0],
  ] as const)
    assert(!read(undefined, next), String(next));
});

test("replies with proofs are read, and anything else is refused", () => {
  for (const [name, kind, status, frame] of vectors("wire/replies.txt")) {
    const decoder =
      name!.startsWith("proof_own") || /^proof_(short|cut|depth)/.test(name!) ? TransactionProof : IndexProof;
    if (!/^(index|proof_(own|not|short|cut|depth))/.test(name!)) continue;
    assert.equal(
      holds(() => decoder.decode(fromHex(frame!))),
      kind !== "bad" && status === "OK",
      name,
    );
  }
});

test("every layout encodes what it decodes", () => {
  const layouts = {
    compact: protocol.CompactFrame,
    full: protocol.FullFrame,
    batch: protocol.BatchHeader,
    proof: protocol.ProofRequest,
    headers: protocol.HeadersFrame,
    info: protocol.InfoFrame,
    finality: protocol.FinalityFrame,
    change: protocol.ChangeFrame,
    feed: protocol.FeedFrame,
    history: protocol.HistoryFrame,
    assets: protocol.AssetsFrame,
    verify: protocol.VerifyHeader,
  } as const;
  for (const [name, kind, status, , frame] of vectors("wire/requests.txt")) {
    const layout = layouts[kind as keyof typeof layouts] as typeof protocol.InfoFrame | undefined;
    if (!layout || status !== "OK") continue;
    const bytes = fromHex(frame!).subarray(0, layout.LENGTH);
    const encoded = new Uint8Array(layout.LENGTH);
    layout.encode(viewOf(encoded), 0, layout.decode(viewOf(bytes)));
    assert.equal(toHex(encoded), toHex(bytes), name);
  }
});

test("hashes, paths and account ids", () => {
  const network = fromHex(vectors("chain/signatures.txt")[0]![2]!);
  for (const [name, input, output] of vectors("chain/definitions.txt")) {
    const bytes = fromHex(input!);
    const results: Record<string, () => Uint8Array> = {
      header: () => hash.headerHash(bytes),
      account: () => keyedAccount(bytes),
      transaction: () => hash.transactionLeaf(bytes),
      node: () => hash.transactionNode(bytes),
      index_node: () => hash.indexNode(bytes),
      index_leaf: () => hash.indexLeaf(bytes),
      path: () => fromHex(hash.accountPath(accountId(bytes)).toString(16).padStart(16, "0")),
    };
    if (results[name!]) assert.equal(toHex(results[name!]!()), output, name);
    else assert(["genesis", "sealed"].includes(name!), name);
  }
  assert.equal(toHex(hash.indexLeaf(new Uint8Array())), "00".repeat(32));
  // The reference vector of SipHash-2-4, whose message is no whole number of words.
  const count = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => at);
  assert.equal(hash.sipHash(count(16), count(15)), 0xa129ca6149be45e5n);
  assert.equal(network.length, 32);
});

test("signed operations", () => {
  checkEach("chain/signatures.txt", (network, bytes) => {
    assertTrue(verifySignature(network!, protocol.SignedOperation.decode(viewOf(bytes!))));
  });
});

test("the signer makes the same signatures as the vectors", () => {
  const secret = Uint8Array.from({ length: 32 }, (_, at) => at + 1);
  let made = 0;
  for (const [name, verdict, network, bytes] of vectors("chain/signatures.txt")) {
    if (verdict !== "good") continue;
    const signed = protocol.SignedOperation.decode(viewOf(fromHex(bytes!)));
    const promise = Object.entries(protocol.PromiseLevel).find(([, code]) => code === signed.promise)![0];
    const signer = new Signer(secret, fromHex(network!));
    assert.equal(toHex(signer.publicKey), toHex(signed.publicKey), name);
    const again = signer.signAt(signed.operation, signed.timestamp, signed.nonce, promise as protocol.PromiseLevelName);
    assert.equal(toHex(again.signature), toHex(signed.signature), name);
    made++;
  }
  assert(made > 0);
});

test("seals of headers", () => {
  checkEach("chain/seals.txt", (key, sealed) => assertTrue(isKey(key!) && hasSealed(key!, sealed!)));
});

test("a chain of headers begins with the genesis of its network, and continues with sealed headers", () => {
  const [genesis, header] = vectors("chain/seals.txt").map((record) => fromHex(record[3]!));
  const network = hash.headerHash(genesis!.subarray(0, 128));
  const chain = new HeaderChain(network, genesis!);
  assert(!holds(() => new HeaderChain(new Uint8Array(32), genesis!)));
  for (const [name, verdict, , sealed] of vectors("chain/seals.txt").slice(2)) {
    assert(verdict === "bad");
    // Of another key, the header itself is good.
    if (!["other_key", "no_key"].includes(name!)) assert(!holds(() => chain.extend(fromHex(sealed!))), name);
  }
  assert.equal(chain.height, 0n);
  chain.extend(header!);
  assert(!holds(() => chain.extend(header!)));
  assert.equal(chain.height, 1n);
  assert.equal(HeaderChain.decode(network, chain.encode()).height, 1n);
  for (let at = 0; at < 2 * 192; at++) {
    const damaged = chain.encode();
    damaged[at]! ^= 1;
    // The last seal vouches for all headers, so the seal of genesis is the only other one that is checked.
    assert(!holds(() => HeaderChain.decode(network, damaged)), `byte ${at}`);
  }
});

test("chains of headers, with and without an index root", () => {
  for (const [name, verdict, network, bytes] of vectors("chain/header_chains.txt")) {
    const headers = fromHex(bytes!);
    const extend = (): void => new HeaderChain(fromHex(network!), headers.slice(0, 192)).extend(headers.slice(192));
    assert.equal(holds(extend), verdict === "good", name);
    assert.equal(
      holds(() => HeaderChain.decode(fromHex(network!), headers)),
      verdict === "good",
      name,
    );
  }
});

test("transaction proofs", () => {
  checkEach("chain/transaction_proofs.txt", (header, reply) => {
    TransactionProof.decode(reply!).verifyIn(decodeHeader(header!));
  });
});

test("index proofs, of presence and of absence", () => {
  for (const [name, verdict, account, header, reply] of vectors("chain/index_proofs.txt")) {
    let entry: unknown;
    const isValid = holds(() => {
      const proof = IndexProof.decode(fromHex(reply!));
      entry = proof.verifyIn(accountId(fromHex(account!)), decodeHeader(fromHex(header!)));
    });
    assert.equal(isValid, verdict !== "bad", name);
    assert.equal(entry !== undefined, verdict === "entry", name);
  }
});

test("the steps of a valid proof lead from its leaf to the root in the header", () => {
  let steps = 0;
  const check = (leaf: Uint8Array, path: readonly PathStep[], root: Uint8Array, name: string): void => {
    let node = leaf;
    for (const step of path) {
      assert.deepEqual(step.node, node, name);
      node = step.parent;
      steps++;
    }
    assert.deepEqual(node, root, name);
  };
  for (const [name, verdict, header, reply] of vectors("chain/transaction_proofs.txt")) {
    if (verdict !== "good") continue;
    const proof = TransactionProof.decode(fromHex(reply!));
    check(proof.leaf, proof.steps(), decodeHeader(fromHex(header!)).transactionRoot, name!);
    proof.steps().forEach(({ isRight }, level) => assert.equal(isRight, ((proof.position >>> level) & 1) === 1, name));
  }
  for (const [name, verdict, account, header, reply] of vectors("chain/index_proofs.txt")) {
    if (verdict === "bad") continue;
    const proof = IndexProof.decode(fromHex(reply!));
    const id = accountId(fromHex(account!));
    check(proof.leaf, proof.steps(id), decodeHeader(fromHex(header!)).indexRoot, name!);
    assert.equal(
      proof.entries.some((entry) => toHex(entry.account) === account),
      verdict === "entry",
      name,
    );
  }
  assert(steps > 20);
});

test("certificates of finality", () => {
  checkEach("chain/certificates.txt", (network, keys, bytes) => {
    Certificate.decode(bytes!).verify(network!, new ReplicaSet(keysOf(keys!)));
  });
});

test("changes of the replicas", () => {
  for (const [name, verdict, network, keys, bytes, after] of vectors("chain/reconfigurations.txt")) {
    let next: ReplicaSet | undefined;
    const isValid = holds(() => {
      const change = Reconfiguration.decode(fromHex(bytes!));
      assert.equal(toHex(change.bytes), bytes);
      next = change.verify(fromHex(network!), new ReplicaSet(keysOf(fromHex(keys!))), 0);
    });
    assert.equal(isValid, verdict === "good", name);
    if (next) assert.equal(next.keys.map(toHex).join(""), after, name);
  }
});

test("the founders lead to the present replicas", () => {
  for (const [name, verdict, network, bytes, after] of vectors("chain/vouched.txt")) {
    let replicas: ReplicaSet | undefined;
    const isValid = holds(() => {
      const vouched = Vouched.decode(fromHex(bytes!));
      assert.equal(toHex(vouched.encode()), bytes);
      replicas = vouched.replicas(fromHex(network!));
    });
    assert.equal(isValid, verdict === "good", name);
    if (replicas) assert.equal(replicas.keys.map(toHex).join(""), after, name);
  }
});
