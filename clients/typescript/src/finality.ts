/**
 * Certificates of finality: proof that a quorum of replicas ordered a block, and the changes that lead from the
 * founding replicas to those that signed it. Layouts are those of docs/order.md.
 */

import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { Reader, concat, equal } from "./bytes.js";
import { ProofError } from "./errors.js";
import { type Hash, memberChangeHash, orderedHash, replicasHash, voteHash } from "./hash.js";

const MAX_REPLICAS = 64;
/** Maximum number of changes of the set that a client follows. */
export const MAX_RECONFIGURATIONS = 4096;
const KEY = 32;
const SIGNATURE = 64;
const ORDERED_HEADER = 104;
const MEMBER_CHANGE = 88;
const FINALIZE = 3;
const ADD = 1;
const REMOVE = 2;

/** Whether a BIP340 signature is the key's. */
export function isSigned(message: Hash, key: Uint8Array, signature: Uint8Array): boolean {
  try {
    return schnorr.verify(signature, message, key);
  } catch {
    return false;
  }
}

/** Whether 32 bytes are the x coordinate of a point. */
export function isKey(key: Uint8Array): boolean {
  try {
    secp256k1.Point.fromBytes(concat(Uint8Array.of(2), key)).assertValidity();
    return true;
  } catch {
    return false;
  }
}

/** Runs a decoder; bytes that end too early, or continue after it, are a `ProofError`. */
function decodeAll<T>(what: string, bytes: Uint8Array, decode: (reader: Reader) => T): T {
  const reader = new Reader(bytes);
  const damaged = (): ProofError => new ProofError("form", `the ${what} has a wrong length`);
  try {
    const value = decode(reader);
    if (reader.remaining) throw damaged();
    return value;
  } catch (error) {
    throw error instanceof RangeError ? damaged() : error;
  }
}

/** The keys of the replicas, by number. */
export class ReplicaSet {
  readonly keys: readonly Uint8Array[];

  constructor(keys: readonly Uint8Array[]) {
    if (keys.length < 1 || keys.length > MAX_REPLICAS) {
      throw new ProofError("replicas", `a set has 1 to ${MAX_REPLICAS} replicas, not ${keys.length}`);
    }
    for (const [number, key] of keys.entries()) {
      if (!isKey(key)) throw new ProofError("replicas", `the key of replica ${number} is no public key`);
      const first = keys.findIndex((other) => equal(other, key));
      if (first < number) throw new ProofError("replicas", `replicas ${first} and ${number} have the same key`);
    }
    this.keys = keys;
  }

  /** Number of votes that make something final: n - f of n = 3f + 1. */
  get quorum(): number {
    return this.keys.length - Math.floor((this.keys.length - 1) / 3);
  }

  /** The hash of the keys, which identifies the set. */
  get hash(): Hash {
    return replicasHash(...this.keys);
  }
}

type Signatures = readonly (readonly [replica: number, signature: Uint8Array])[];

function readSignatures(reader: Reader): Signatures {
  const signers = reader.u64();
  const signatures: [number, Uint8Array][] = [];
  for (let replica = 0; replica < MAX_REPLICAS; replica++) {
    if ((signers >> BigInt(replica)) & 1n) signatures.push([replica, reader.bytes(SIGNATURE)]);
  }
  return signatures;
}

/** Checks that a quorum of the replicas signed the message, and nobody else. */
function checkQuorum(message: Hash, signatures: Signatures, replicas: ReplicaSet): void {
  if (signatures.length < replicas.quorum) {
    throw new ProofError("quorum", `${signatures.length} replicas signed where ${replicas.quorum} are needed`);
  }
  for (const [replica, signature] of signatures) {
    const key = replicas.keys[replica];
    if (!key) throw new ProofError("replicas", `replica ${replica} is not in the set`);
    if (!isSigned(message, key, signature)) {
      throw new ProofError("signature", `the signature of replica ${replica} is not valid`);
    }
  }
}

/** The header of an ordered block with the votes that make it final. */
export class Certificate {
  /** The encoding. */
  readonly bytes: Uint8Array;
  /** The height of the ordered block. */
  readonly height: bigint;
  /** The hash of the chain's header that the replicas vouch for. */
  readonly statement: Hash;
  readonly #header: Uint8Array;
  readonly #views: Uint8Array;
  readonly #signatures: Signatures;

  private constructor(bytes: Uint8Array, reader: Reader) {
    this.bytes = bytes;
    this.#header = reader.bytes(ORDERED_HEADER);
    // Epoch, view and the parent's view, as votes contain them.
    this.#views = reader.bytes(24);
    this.#signatures = readSignatures(reader);
    const header = new Reader(this.#header);
    this.height = header.u64();
    header.bytes(32);
    this.statement = header.bytes(32);
  }

  static decode(bytes: Uint8Array): Certificate {
    return decodeAll("certificate", bytes, (reader) => new Certificate(bytes, reader));
  }

  /** Checks that a quorum of these replicas voted for the block as final in this network. */
  verify(network: Hash, replicas: ReplicaSet): void {
    const vote = voteHash(Uint8Array.of(FINALIZE), network, this.#views, orderedHash(this.#header));
    checkQuorum(vote, this.#signatures, replicas);
  }
}

/** A change of the set of replicas, with the signatures of a quorum of the set before it. */
export class Reconfiguration {
  /** The encoding. */
  readonly bytes: Uint8Array;
  /** The bytes of the change, without signatures. */
  readonly change: Uint8Array;
  readonly #signatures: Signatures;

  private constructor(change: Uint8Array, signatures: Signatures, bytes: Uint8Array) {
    this.change = change;
    this.#signatures = signatures;
    this.bytes = bytes;
  }

  static decode(bytes: Uint8Array): Reconfiguration {
    return decodeAll("change of the replicas", bytes, (reader) => Reconfiguration.read(reader));
  }

  /** Reads one that more bytes may follow. */
  static read(reader: Reader): Reconfiguration {
    const change = reader.bytes(MEMBER_CHANGE);
    const signatures = readSignatures(reader);
    const signers = new Uint8Array(8);
    const word = signatures.reduce((word, [replica]) => word | (1n << BigInt(replica)), 0n);
    new DataView(signers.buffer).setBigUint64(0, word);
    return new Reconfiguration(change, signatures, concat(change, signers, ...signatures.map(([, bytes]) => bytes)));
  }

  /** Checks that a quorum of the set of this generation approved the change, and returns the next set. */
  verify(network: Hash, before: ReplicaSet, generation: number): ReplicaSet {
    const reader = new Reader(this.change);
    const [action, number, port, found] = [reader.u8(), reader.u8(), reader.u16(), reader.u32()];
    const [key, , address] = [reader.bytes(KEY), reader.bytes(KEY), reader.bytes(16)];
    if (found !== generation) {
      throw new ProofError("change", `the change is of generation ${found}, not ${generation}`);
    }
    checkQuorum(memberChangeHash(network, before.hash, this.change), this.#signatures, before);
    const keys = [...before.keys];
    if (action === ADD && number <= keys.length) {
      keys.splice(number, 0, key);
    } else if (action === REMOVE && number < keys.length && port === 0 && address.every((byte) => byte === 0)) {
      const [removed] = keys.splice(number, 1);
      if (!equal(removed!, key)) throw new ProofError("change", `replica ${number} has another key than the removed`);
    } else {
      throw new ProofError("change", `change ${action} of replica ${number} does not fit ${keys.length} replicas`);
    }
    return new ReplicaSet(keys);
  }
}

/** The founding replicas, all changes of the set, and a certificate by the present set. */
export class Vouched {
  /** Not trusted until their hash has been compared with the one in genesis. */
  readonly founders: ReplicaSet;
  readonly reconfigurations: readonly Reconfiguration[];
  readonly certificate: Certificate;

  constructor(founders: ReplicaSet, reconfigurations: readonly Reconfiguration[], certificate: Certificate) {
    if (reconfigurations.length > MAX_RECONFIGURATIONS) {
      throw new ProofError("count", `the set changed ${reconfigurations.length} times, more than a client follows`);
    }
    this.founders = founders;
    this.reconfigurations = reconfigurations;
    this.certificate = certificate;
  }

  /** The present set: each set approved the next, so whoever trusts the founders can trust it. */
  replicas(network: Hash): ReplicaSet {
    const next = (set: ReplicaSet, change: Reconfiguration, generation: number): ReplicaSet =>
      change.verify(network, set, generation);
    return this.reconfigurations.reduce(next, this.founders);
  }

  /** The encoding in files of headers. */
  encode(): Uint8Array {
    const count = this.reconfigurations.length;
    return concat(
      Uint8Array.of(this.founders.keys.length),
      ...this.founders.keys,
      Uint8Array.of(count >> 8, count),
      ...this.reconfigurations.map((change) => change.bytes),
      this.certificate.bytes,
    );
  }

  static decode(bytes: Uint8Array): Vouched {
    return decodeAll("certificate with its replicas", bytes, (reader) => {
      const founders = new ReplicaSet(Array.from({ length: reader.u8() }, () => reader.bytes(KEY)));
      const count = reader.u16();
      if (count > MAX_RECONFIGURATIONS) throw new ProofError("count", `the set changed ${count} times`);
      const reconfigurations = Array.from({ length: count }, () => Reconfiguration.read(reader));
      return new Vouched(founders, reconfigurations, Certificate.decode(reader.bytes(reader.remaining)));
    });
  }
}
