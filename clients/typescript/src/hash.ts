/** The protocol's hashes: BIP340's tagged SHA-256, and the SipHash of account paths. */

import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concat, viewOf } from "./bytes.js";
import type { AccountId } from "./ids.js";
import { Tag } from "./protocol.js";

/** A SHA-256 digest, 32 bytes. */
export type Hash = Uint8Array;

/** The hash of nothing: an empty tree, or an absent child. */
export const ZERO_HASH: Hash = new Uint8Array(32);

/** Returns the tagged hash for `tag`; hashing a message costs only the message's own blocks. */
function tagged(tag: string): (...parts: readonly Uint8Array[]) => Hash {
  const digest = sha256(utf8ToBytes(tag));
  const prefix = sha256.create().update(digest).update(digest);
  return (...parts) => {
    const state = prefix.clone();
    for (const part of parts) state.update(part);
    return state.digest();
  };
}

export const accountHash = tagged(Tag.account);
export const transferHash = tagged(Tag.transfer);
const assetHash = tagged(Tag.asset);
export const headerHash = tagged(Tag.header);
export const sealHash = tagged(Tag.seal);
export const replicasHash = tagged(Tag.replicas);
export const orderedHash = tagged(Tag.ordered);
export const voteHash = tagged(Tag.vote);
export const memberChangeHash = tagged(Tag.member_change);
export const transactionLeaf = tagged(Tag.transaction);
export const transactionNode = tagged(Tag.node);
export const indexNode = tagged(Tag.index_node);
const nonEmptyLeaf = tagged(Tag.index_leaf);

/** A leaf of the index from its encoded entries. A leaf without entries is the empty subtree. */
export function indexLeaf(entries: Uint8Array): Hash {
  return entries.length === 0 ? ZERO_HASH : nonEmptyLeaf(entries);
}

/** The id of the index entry with the asset of an account or a hold: a 0 bit, then the first 127 bits of its hash. */
export function assetId(account: AccountId): AccountId {
  const hash = assetHash(account);
  return hash.slice(0, 16).map((byte, at) => (byte >> 1) | ((hash[at - 1] ?? 0) << 7)) as AccountId;
}

const PATH_KEY = utf8ToBytes("turnpike/index/p");
const MASK = 0xffff_ffff_ffff_ffffn;

/** The path of an account in the index, its first step in the most significant bit: SipHash-2-4 of its id. */
export function accountPath(account: AccountId): bigint {
  return sipHash(PATH_KEY, account);
}

/** SipHash-2-4 of a message, with a key of 16 bytes. */
export function sipHash(key: Uint8Array, message: Uint8Array): bigint {
  const k0 = viewOf(key).getBigUint64(0, true);
  const k1 = viewOf(key).getBigUint64(8, true);
  let v0 = k0 ^ 0x736f6d6570736575n;
  let v1 = k1 ^ 0x646f72616e646f6dn;
  let v2 = k0 ^ 0x6c7967656e657261n;
  let v3 = k1 ^ 0x7465646279746573n;
  const rotate = (value: bigint, bits: bigint): bigint => ((value << bits) | (value >> (64n - bits))) & MASK;
  const rounds = (count: number): void => {
    for (; count > 0; count--) {
      v0 = (v0 + v1) & MASK;
      v2 = (v2 + v3) & MASK;
      v1 = rotate(v1, 13n) ^ v0;
      v3 = rotate(v3, 16n) ^ v2;
      v0 = (rotate(v0, 32n) + v3) & MASK;
      v2 = (v2 + v1) & MASK;
      v1 = rotate(v1, 17n) ^ v2;
      v3 = rotate(v3, 21n) ^ v0;
      v2 = rotate(v2, 32n);
    }
  };
  // The last word has the remaining bytes, and the length in its highest byte.
  const whole = message.length - (message.length % 8);
  const last = concat(message.subarray(whole), new Uint8Array(8 - (message.length % 8)));
  last[7] = message.length;
  const words = concat(message.subarray(0, whole), last);
  for (let at = 0; at < words.length; at += 8) {
    const word = viewOf(words).getBigUint64(at, true);
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  v2 ^= 0xffn;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}
