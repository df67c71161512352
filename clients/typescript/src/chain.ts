/** The chain of block headers that a client trusts: sealed by the chain's key, or certified by its replicas. */

import { Reader, concat, equal } from "./bytes.js";
import { ProofError } from "./errors.js";
import { Vouched, isKey, isSigned } from "./finality.js";
import { type Hash, ZERO_HASH, headerHash, sealHash } from "./hash.js";

/** Bytes of a header, and of a header with its seal. */
const HEADER = 128;
export const SEALED_HEADER = 192;
const SEALED_VERSION = 2;
const ORDERED_VERSION = 3;
/** Added to the version of a header that repeats the previous header's index root. */
const WITHOUT_INDEX = 2;
const MAX_TRANSACTIONS = 2 ** 20;

/** The header of a block. */
export interface BlockHeader {
  /** 2 if a key seals the chain, 3 if replicas order it; 4 and 5 if the header {@link statesIndex no index root}. */
  readonly version: number;
  /** Number of transactions in the block. */
  readonly transactions: number;
  readonly height: bigint;
  /** Microseconds since the Unix epoch. */
  readonly timestamp: bigint;
  /** Number of accounts after the block. */
  readonly accounts: bigint;
  /** Hash of the previous header. */
  readonly previous: Hash;
  /** Root of the transaction tree; in genesis the chain's key, or the hash of its replicas. */
  readonly transactionRoot: Hash;
  /** Root of the index after the block, or after the last one before it that states a root. */
  readonly indexRoot: Hash;
}

/** Whether the index root is that of this block. If not, it repeats the previous header's. */
export function statesIndex({ version }: BlockHeader): boolean {
  return version !== SEALED_VERSION + WITHOUT_INDEX && version !== ORDERED_VERSION + WITHOUT_INDEX;
}

/** Whether a header of this version may be in the chain of this genesis. */
function isOfChain(genesis: BlockHeader, version: number): boolean {
  return version === genesis.version || version === genesis.version + WITHOUT_INDEX;
}

/** Decodes the 128 bytes of a header. */
export function decodeHeader(bytes: Uint8Array): BlockHeader {
  const reader = new Reader(bytes.subarray(0, HEADER));
  return {
    version: reader.u32(),
    transactions: reader.u32(),
    height: reader.u64(),
    timestamp: reader.u64(),
    accounts: reader.u64(),
    previous: reader.bytes(32),
    transactionRoot: reader.bytes(32),
    indexRoot: reader.bytes(32),
  };
}

/** A header with its seal, as they are sent, and its hash. */
class Sealed {
  readonly bytes: Uint8Array;
  readonly header: BlockHeader;
  readonly hash: Hash;

  constructor(bytes: Uint8Array) {
    if (bytes.length !== SEALED_HEADER) throw new ProofError("form", `a header has 192 bytes, not ${bytes.length}`);
    this.bytes = bytes;
    this.header = decodeHeader(bytes);
    this.hash = headerHash(bytes.subarray(0, HEADER));
  }

  /** Whether the key sealed the header; without a key, whether zeros take the place of the seal. */
  isSealed(key: Uint8Array | undefined): boolean {
    const seal = this.bytes.subarray(HEADER);
    return key ? isSigned(sealHash(this.hash), key, seal) : seal.every((byte) => byte === 0);
  }
}

/** Whether the key sealed the header; `sealed` has the header's 128 bytes and the seal's 64. */
export function hasSealed(key: Uint8Array, sealed: Uint8Array): boolean {
  return new Sealed(sealed).isSealed(key);
}

/** Two headers of one height with valid seals: evidence that the chain's key made two chains. */
export class ForkError extends ProofError {
  override readonly name = "ForkError";
  /** The local header with its seal, and the other one. */
  readonly evidence: readonly [Uint8Array, Uint8Array];

  constructor(height: bigint, evidence: readonly [Uint8Array, Uint8Array]) {
    super(
      "fork",
      `the chain's key sealed two headers at height ${height}: its holder made two chains, or it was stolen`,
    );
    this.evidence = evidence;
  }
}

/** Maximum number of single headers that a chain holds; when it is full, they are dropped and fetched again. */
const MAX_SINGLE = 1024;

/**
 * Headers from genesis to the tip. The network id is the hash of genesis, which names the chain's key or its replicas,
 * so a client that knows the network id needs nothing else to check a header.
 *
 * A chain with a key may leave out headers after genesis ({@link skipTo}), because each seal vouches for one header.
 */
export class HeaderChain {
  /** Genesis, then all headers from `#base` on. */
  readonly #headers: Sealed[];
  #base = 1;
  /** Headers between genesis and `#base`, each of them by its seal. */
  readonly #single = new Map<bigint, Sealed>();
  readonly #key: Uint8Array | undefined;
  #certified = 0;
  #vouched: Vouched | undefined;

  /** A chain that consists of genesis, with its seal. */
  constructor(network: Hash, genesis: Uint8Array) {
    const sealed = new Sealed(genesis);
    const { version, height, transactions, accounts, indexRoot, transactionRoot } = sealed.header;
    if (!equal(sealed.hash, network)) {
      throw new ProofError("network", "the node's genesis does not hash to the network id");
    }
    if (version !== SEALED_VERSION && version !== ORDERED_VERSION) throw unknownVersion(sealed.header);
    if (height !== 0n || transactions !== 0 || accounts !== 0n || !equal(indexRoot, ZERO_HASH)) {
      throw new ProofError("genesis", "the genesis header is not that of an empty chain");
    }
    this.#key = version === SEALED_VERSION ? transactionRoot : undefined;
    if (this.#key && !isKey(this.#key)) throw new ProofError("genesis", "the genesis header names no valid key");
    if (!sealed.isSealed(this.#key)) throw unsealed(0n);
    this.#headers = [sealed];
  }

  /** Restores a chain from {@link encode}, and checks it again. */
  static decode(network: Hash, bytes: Uint8Array): HeaderChain {
    const chain = new HeaderChain(network, bytes.subarray(0, SEALED_HEADER));
    let end = SEALED_HEADER;
    // Each header begins with its version, in four bytes; a certificate begins with the number of founders, in one byte,
    // which is not 0.
    const second = bytes.subarray(SEALED_HEADER, 2 * SEALED_HEADER);
    if (!chain.isOrdered && second.length === SEALED_HEADER && decodeHeader(second).height > 1n) {
      chain.skipTo(second.slice());
      end += SEALED_HEADER;
    }
    const rest = end;
    while (bytes.length >= end + SEALED_HEADER && bytes[end] === 0) end += SEALED_HEADER;
    chain.extend(bytes.subarray(rest, end));
    if (end < bytes.length) chain.certify(Vouched.decode(bytes.subarray(end)));
    chain.forgetUnvouched();
    return chain;
  }

  /** The headers with their seals, then the certificate if replicas order the chain: a file of headers. */
  encode(): Uint8Array {
    const vouched = this.#vouched ? [this.#vouched.encode()] : [];
    return concat(...this.#headers.map((sealed) => sealed.bytes), ...vouched);
  }

  get network(): Hash {
    return this.#headers[0]!.hash;
  }

  /** Whether replicas order the chain, so that certificates vouch for headers. */
  get isOrdered(): boolean {
    return !this.#key;
  }

  /** The height of the last header. */
  get height(): bigint {
    return BigInt(this.#base + this.#headers.length - 2);
  }

  /** The height of the first header after genesis that is here. More than 1 if headers were left out. */
  get base(): bigint {
    return BigInt(this.#base);
  }

  #at(height: bigint): Sealed | undefined {
    return this.#headers[height === 0n ? 0 : height < this.base ? -1 : Number(height) - this.#base + 1];
  }

  /** The height of the last header that the key or the replicas vouch for. */
  get trusted(): bigint {
    return this.#key ? this.height : BigInt(this.#certified);
  }

  /** The certificate that vouches for the most headers, if replicas order the chain. */
  get vouched(): Vouched | undefined {
    return this.#vouched;
  }

  /** The header at a height. */
  header(height: bigint): BlockHeader | undefined {
    return (this.#at(height) ?? this.#single.get(height))?.header;
  }

  /** The hash of the header at a height. */
  hash(height: bigint): Hash | undefined {
    return (this.#at(height) ?? this.#single.get(height))?.hash;
  }

  /** The header at a height, if it has this hash and somebody vouches for it. */
  find(height: bigint, hash: Hash): BlockHeader | undefined {
    const sealed = height <= this.trusted ? (this.#at(height) ?? this.#single.get(height)) : undefined;
    return sealed && equal(sealed.hash, hash) ? sealed.header : undefined;
  }

  /**
   * Appends headers with their seals: all of them, or none if one does not hold. A header's hash covers all headers
   * before it, so the last seal vouches for all.
   */
  extend(bytes: Uint8Array): void {
    const headers: Sealed[] = [];
    let previous = this.#headers.at(-1)!;
    for (let at = 0; at < bytes.length; at += SEALED_HEADER) {
      const next = new Sealed(bytes.slice(at, at + SEALED_HEADER));
      if (!isOfChain(this.#headers[0]!.header, next.header.version)) throw unknownVersion(next.header);
      checkSuccessor(previous, next);
      if (!this.#key && !next.isSealed(undefined)) throw unsealed(next.header.height);
      headers.push((previous = next));
    }
    if (this.#key && headers.length && !previous.isSealed(this.#key)) throw unsealed(previous.header.height);
    for (const sealed of headers) this.#headers.push(sealed);
  }

  /** Compares another node's header at a known height with the local one. Throws `ForkError` if both are sealed. */
  compare(bytes: Uint8Array): void {
    const other = new Sealed(bytes);
    const { height } = other.header;
    const here = this.#at(height);
    if (here && equal(here.hash, other.hash)) return;
    if (here && this.#key && other.isSealed(this.#key)) throw new ForkError(height, [here.bytes, bytes]);
    throw unsealed(height);
  }

  /**
   * Continues from a later header with its seal, and leaves out those before it. The seal vouches for them, but whether
   * the header descends from those that were here is not checked: {@link compare} the last one with the node's first.
   */
  skipTo(bytes: Uint8Array): void {
    const next = this.#sealedAlone(bytes);
    if (next.header.height <= this.height)
      throw new ProofError("height", `height ${next.header.height} is here already`);
    this.#headers.splice(1, Infinity, next);
    this.#base = Number(next.header.height);
  }

  /** Adds a header that was left out. Its seal alone vouches for it. */
  addSingle(bytes: Uint8Array): void {
    const single = this.#sealedAlone(bytes);
    if (this.#single.size >= MAX_SINGLE) this.#single.clear();
    this.#single.set(single.header.height, single);
  }

  #sealedAlone(bytes: Uint8Array): Sealed {
    const sealed = new Sealed(bytes);
    const { version, height } = sealed.header;
    if (!isOfChain(this.#headers[0]!.header, version)) throw unknownVersion(sealed.header);
    if (!this.#key || !sealed.isSealed(this.#key)) throw unsealed(height);
    return sealed;
  }

  /** Makes final the header whose hash a certificate states, and all headers before it. Returns its height. */
  certify(vouched: Vouched): bigint {
    if (this.#key || !equal(vouched.founders.hash, this.#headers[0]!.header.transactionRoot)) {
      throw new ProofError("replicas", "these are not the founding replicas that genesis names");
    }
    // A change that was followed once is never replaced: the keys of replicas that left may have leaked since.
    for (const [generation, held] of (this.#vouched?.reconfigurations ?? []).entries()) {
      const other = vouched.reconfigurations[generation];
      if (other && !equal(held.change, other.change)) {
        throw new ProofError("change", `the replicas of generation ${generation} changed differently before`);
      }
    }
    vouched.certificate.verify(this.network, vouched.replicas(this.network));
    // An ordered block states a header below its own height.
    const limit = vouched.certificate.height < this.height + 1n ? vouched.certificate.height : this.height + 1n;
    let height = Number(limit) - 1;
    while (height >= 0 && !equal(this.#headers[height]!.hash, vouched.certificate.statement)) height--;
    if (height < 0) throw new ProofError("statement", "the certificate vouches for no header that is here");
    if (height > this.#certified) {
      this.#certified = height;
      this.#vouched = vouched;
    }
    return BigInt(height);
  }

  /** Drops the headers that nobody vouches for: the node that sent them may have made them up. */
  forgetUnvouched(): void {
    if (this.isOrdered) this.#headers.length = this.#certified + 1;
  }
}

function unsealed(height: bigint): ProofError {
  return new ProofError("seal", `the header at height ${height} is not sealed by the chain's key`);
}

function unknownVersion({ height, version }: BlockHeader): ProofError {
  return new ProofError("version", `the header at height ${height} has version ${version}, unknown to this client`);
}

/** Checks the rules between a header and the one before it. */
function checkSuccessor({ header: previous, hash }: Sealed, { header }: Sealed): void {
  const { height, transactions, accounts } = header;
  const at = `the header at height ${height}`;
  if (height !== previous.height + 1n) throw new ProofError("height", `${at} follows height ${previous.height}`);
  if (!equal(header.previous, hash)) throw new ProofError("link", `${at} does not link to the one before it`);
  if (header.timestamp < previous.timestamp) throw new ProofError("time", `${at} is older than the one before it`);
  if (transactions > MAX_TRANSACTIONS || (transactions === 0) !== equal(header.transactionRoot, ZERO_HASH)) {
    throw new ProofError("count", `${at} has an impossible number of transactions`);
  }
  // Each transaction adds or removes at most an entry of the index and that of its asset.
  const change = accounts - previous.accounts;
  const isPlausible = change <= BigInt(2 * transactions) && -change <= BigInt(2 * transactions);
  if (!isPlausible || (accounts === 0n) !== equal(header.indexRoot, ZERO_HASH)) {
    throw new ProofError("count", `${at} has an impossible number of accounts`);
  }
  if (!statesIndex(header) && !equal(header.indexRoot, previous.indexRoot)) {
    throw new ProofError("index", `${at} repeats another index root than that of the header before it`);
  }
}
