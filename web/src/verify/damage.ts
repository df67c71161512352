/** Changes a byte of a proof, and finds the node that no longer fits. */

import { accountId } from "turnpike/ids.js";
import type { BlockHeader } from "turnpike/chain.js";
import { IndexProof, TransactionProof } from "turnpike/proof.js";
import { IndexReply, ProofReply } from "turnpike/protocol.js";
import { toHex } from "turnpike/bytes.js";
import { stepsOf } from "./describe.js";
import type { Damage, Step, Subject } from "./proved.js";

const HASH = 32;

/** Flips one bit of the byte at an offset into the path and the leaf's contents, and verifies what results. */
export function damage(
  subject: Subject,
  reply: Uint8Array,
  header: BlockHeader,
  good: { leaf: string; steps: readonly Step[] },
  offset: number,
): Damage {
  const start = subject.kind === "balance" ? IndexReply.LENGTH : ProofReply.LENGTH;
  const damaged = reply.slice();
  damaged[start + offset]! ^= 1;
  const path = HASH * good.steps.length;
  const isSibling = offset < path;
  const level = isSibling ? Math.floor(offset / HASH) : 0;
  const where = isSibling
    ? `byte ${offset % HASH} of the sibling at level ${level}`
    : subject.kind === "balance"
      ? `byte ${offset - path} of the leaf's accounts`
      : `byte ${offset - path} of the transaction`;
  const result = { where, level, isSibling };
  try {
    if (subject.kind === "balance") {
      const proof = IndexProof.decode(damaged);
      const account = accountId(subject.account);
      const seen = { leaf: toHex(proof.leaf), steps: stepsOf(proof.steps(account)) };
      return { ...result, ...seen, problem: problemOf(() => void proof.verifyIn(account, header)) };
    }
    const proof = TransactionProof.decode(damaged);
    const seen = { leaf: toHex(proof.leaf), steps: stepsOf(proof.steps()) };
    return { ...result, ...seen, problem: problemOf(() => proof.verifyIn(header)) };
  } catch (error) {
    return { ...result, ...good, problem: messageOf(error) };
  }
}

/** Number of bytes of a proof that can be changed: its path, and the contents of its leaf. */
export function flippable(subject: Subject, reply: Uint8Array, depth: number): number {
  const view = new DataView(reply.buffer, reply.byteOffset, reply.byteLength);
  if (subject.kind === "transaction") return HASH * depth + ProofReply.decode(view).transactionLength;
  return HASH * (depth + IndexReply.decode(view).entryCount);
}

function problemOf(verify: () => void): string {
  try {
    verify();
  } catch (error) {
    return messageOf(error);
  }
  // Hashes cover each of these bytes.
  return "the damaged proof holds: please report this defect";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace("; ask another node", "") : String(error);
}
