/** A light client: trusts only the network id, and verifies what any node sends. */

import { equalAt, viewOf } from "./bytes.js";
import { HeaderChain, SEALED_HEADER, decodeHeader } from "./chain.js";
import { ProofError, StatusError, statusName } from "./errors.js";
import { Certificate, MAX_RECONFIGURATIONS, Reconfiguration, ReplicaSet, Vouched } from "./finality.js";
import { type Hash, assetId } from "./hash.js";
import type { AccountId, TransactionId } from "./ids.js";
import { IndexProof, TransactionProof, hasAsset, latestPosition, statedAsset } from "./proof.js";
import {
  Chain,
  FinalityFrame,
  HeadersFrame,
  type IndexEntry,
  ProofRequest,
  Query,
  type QueryName,
} from "./protocol.js";
import { type Answer, type Requests, RoomNeeded, isReply, writeHeader } from "./requests.js";
import { MAX_FRAME } from "./transport.js";

/** Room for a reply at first: most fit. */
const FIRST_ROOM = 1_472;
/** Maximum number of headers per synchronisation, so that a node cannot fill the memory; call again for more. */
const MAX_HEADERS = 1n << 20n;
/** How long to wait for a certificate that covers what is executed already, in milliseconds. */
const CERTIFIED_WITHIN = 5_000;
const POLL = 20;

/** The proved state of an account. */
export interface ProvedBalance {
  /** The account's entry; `undefined` if the account is proved not to exist. */
  readonly entry: IndexEntry | undefined;
  readonly proof: IndexProof;
}

/** A replica's report on the order of blocks. Only the certificate can be verified. */
export interface Finality {
  /** The fixed part of the reply: leader, view, height. */
  readonly report: FinalityFrame;
  /** The newest certificate, with the changes that lead to its replicas. */
  readonly vouched: Vouched | undefined;
}

export class LightClient {
  readonly #requests: Requests;
  readonly #chain: HeaderChain;

  private constructor(requests: Requests, chain: HeaderChain) {
    this.#requests = requests;
    this.#chain = chain;
  }

  /** @internal Use `Client.light`. */
  static async open(requests: Requests, network: Hash, headers?: Uint8Array): Promise<LightClient> {
    if (headers) return new LightClient(requests, HeaderChain.decode(network, headers));
    const { bytes } = await fetchHeaders(requests, 0n, 1);
    return new LightClient(requests, new HeaderChain(network, bytes));
  }

  /** The verified headers. */
  get chain(): HeaderChain {
    return this.#chain;
  }

  /** The verified headers as bytes, to keep for `Client.light`. */
  headers(): Uint8Array {
    return this.#chain.encode();
  }

  /**
   * Fetches and verifies the headers that are missing. Headers are never replaced: if the node has others with valid
   * seals, rejects with `ForkError`.
   */
  async sync(signal?: AbortSignal): Promise<void> {
    const chain = this.#chain;
    if (!chain.isOrdered) {
      const { bytes } = await fetchHeaders(this.#requests, chain.height, 1, signal);
      // A node that is behind has no header there.
      if (bytes.length > 0) chain.compare(bytes);
      await this.#append(MAX_HEADERS, signal);
      return;
    }
    const { vouched } = await this.finality(signal);
    if (!vouched) return;
    try {
      await this.#certify(vouched, signal);
    } finally {
      chain.forgetUnvouched();
    }
  }

  /**
   * Verifies the header at a height by its seal, and continues from there without the headers before it: for chains that
   * are too long to fetch, if a key seals them. Compares the last verified header with the node's, as {@link sync} does.
   */
  async skip(height: bigint, signal?: AbortSignal): Promise<void> {
    const { bytes } = await fetchHeaders(this.#requests, this.#chain.height, 1, signal);
    if (bytes.length > 0) this.#chain.compare(bytes);
    this.#chain.skipTo(await this.#fetchOne(height, signal));
  }

  /** Fetches a header that was left out, and verifies its seal. */
  async fetchSingle(height: bigint, signal?: AbortSignal): Promise<void> {
    this.#chain.addSingle(await this.#fetchOne(height, signal));
  }

  async #fetchOne(height: bigint, signal?: AbortSignal): Promise<Uint8Array> {
    const { bytes } = await fetchHeaders(this.#requests, height, 1, signal);
    const isRequested = bytes.length === SEALED_HEADER && decodeHeader(bytes).height === height;
    if (!isRequested) throw new ProofError("height", `the node sent no header of height ${height}`);
    return bytes.slice();
  }

  /** Fetches the headers that a certificate vouches for, and no others. */
  async #certify(vouched: Vouched, signal?: AbortSignal): Promise<void> {
    for (;;) {
      try {
        this.#chain.certify(vouched);
        return;
      } catch (error) {
        // The certificate is valid, and so bounds the number of headers to fetch.
        const isShort = error instanceof ProofError && error.rule === "statement";
        const missing = vouched.certificate.height - 1n - this.#chain.height;
        if (!isShort || missing <= 0n || (await this.#append(missing, signal)) === 0n) throw error;
      }
    }
  }

  /** Appends the node's headers after the local tip, and returns their number. */
  async #append(limit: bigint, signal?: AbortSignal): Promise<bigint> {
    const first = this.#chain.height;
    const came = (): bigint => this.#chain.height - first;
    while (came() < limit) {
      const rest = limit - came();
      const count = rest < 0xffffn ? Number(rest) : 0xffff;
      const { bytes, tip } = await fetchHeaders(this.#requests, this.#chain.height + 1n, count, signal);
      this.#chain.extend(bytes);
      if (bytes.length === 0 || this.#chain.height >= tip) break;
    }
    return came();
  }

  /** Asks a replica about the order of blocks. A node that is not a replica refuses with `NOT_FOUND`. */
  async finality(signal?: AbortSignal): Promise<Finality> {
    const known = this.#chain.vouched;
    try {
      return await this.#finalityAfter(known, signal);
    } catch (error) {
      // This replica may lag behind the one that reported the last change.
      if (known && StatusError.is(error, "NOT_FOUND")) return this.#finalityAfter(undefined, signal);
      throw error;
    }
  }

  /** Asks from the last known generation of the set on, or from the founders. */
  async #finalityAfter(known: Vouched | undefined, signal?: AbortSignal): Promise<Finality> {
    let founders = known?.founders;
    const changes = [...(known?.reconfigurations ?? [])];
    for (;;) {
      const generation = changes.length;
      const { report, keys, certificate } = await withRoom((room) =>
        fetchGeneration(this.#requests, generation, room, signal),
      );
      if (report.generations < generation || report.generations > MAX_RECONFIGURATIONS) {
        throw new ProofError("change", `the replica reports ${report.generations} changes of its set`);
      }
      founders ??= new ReplicaSet(keys);
      if (generation < report.generations) {
        changes.push(Reconfiguration.decode(certificate));
        continue;
      }
      const isCertified = certificate.length > 0;
      const vouched = isCertified ? new Vouched(founders, changes, Certificate.decode(certificate)) : undefined;
      return { report, vouched };
    }
  }

  /** Fetches the proof of a balance without verifying it: its entries are what the node claims. */
  async claimBalance(account: AccountId, signal?: AbortSignal): Promise<IndexProof> {
    const key = new Uint8Array(32);
    key.set(account);
    return IndexProof.decode(await this.#fetch("index", key, signal));
  }

  /** Proves the balance of an account and the position of its latest transaction, or that there is no such account. */
  async proveBalance(account: AccountId, signal?: AbortSignal): Promise<ProvedBalance> {
    const proof = await this.claimBalance(account, signal);
    const entry = await this.#verified(proof, () => proof.verify(account, this.#chain), signal);
    return { entry, proof };
  }

  /** Proves a transaction by its id and the account that named it: its source, or the payer of a deposit. */
  async proveTransaction(
    transaction: TransactionId,
    account: AccountId,
    signal?: AbortSignal,
  ): Promise<TransactionProof> {
    const key = new Uint8Array(32);
    key.set(transaction);
    key.set(account, 16);
    return this.#prove("transaction", key, (proof) => proof.isNamed(transaction, account), signal);
  }

  /** Proves a transaction by its position in the chain. */
  async proveLocator(height: bigint, position: number, signal?: AbortSignal): Promise<TransactionProof> {
    const key = new Uint8Array(32);
    viewOf(key).setBigUint64(0, height);
    viewOf(key).setUint32(8, position);
    return this.#prove("locator", key, (proof) => proof.height === height && proof.position === position, signal);
  }

  async #prove(
    query: QueryName,
    key: Uint8Array,
    fits: (proof: TransactionProof) => boolean,
    signal?: AbortSignal,
  ): Promise<TransactionProof> {
    const proof = TransactionProof.decode(await this.#fetch(query, key, signal));
    await this.#verified(proof, () => proof.verify(this.#chain), signal);
    if (!fits(proof)) throw new ProofError("subject", "the node proved another transaction than the requested one");
    return proof;
  }

  #fetch(query: QueryName, key: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    return withRoom((room) => fetchProof(this.#requests, query, key, room, signal));
  }

  /** Verifies a proof; if its block is unknown, fetches headers, and on an ordered chain waits for a certificate. */
  async #verified<T>({ height }: { readonly height: bigint }, verify: () => T, signal?: AbortSignal): Promise<T> {
    const isLeftOut = height > 0n && height < this.#chain.base;
    if (isLeftOut) await this.fetchSingle(height, signal);
    const end = performance.now() + CERTIFIED_WITHIN;
    for (let isSynced = false; ; isSynced = true) {
      try {
        return verify();
      } catch (error) {
        const isUnknown = error instanceof ProofError && error.rule === "unknown block";
        const isOver = isSynced && (!this.#chain.isOrdered || performance.now() > end);
        if (!isUnknown || isOver) throw error;
      }
      if (isSynced) await new Promise((resolve) => setTimeout(resolve, POLL));
      await this.sync(signal);
    }
  }
}

/** Requests with a little room for the reply, and again with as much as it takes. */
async function withRoom<T>(request: (room: number) => Promise<T>): Promise<T> {
  try {
    return await request(FIRST_ROOM);
  } catch (error) {
    const fits = error instanceof RoomNeeded && error.length > FIRST_ROOM && error.length <= MAX_FRAME;
    if (!fits) throw error;
    return request(error.length);
  }
}

function fetchProof(
  requests: Requests,
  query: QueryName,
  key: Uint8Array,
  room: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const { at } = ProofRequest;
  const frame = new Uint8Array(room);
  const view = writeHeader(frame, "proof");
  view.setUint8(at.chain, Chain.own);
  view.setUint8(at.query, Query[query]);
  frame.set(key, at.key);
  const read = (reply: Uint8Array): Answer<Uint8Array> | undefined => {
    if (!isReply(reply, "proof", ProofRequest.LENGTH)) return undefined;
    const isSame = equalAt(frame, reply, at.chain, at.status) && equalAt(frame, reply, at.key, ProofRequest.LENGTH);
    const status = statusName(viewOf(reply).getUint16(at.status));
    return isSame && status ? { status, value: reply } : undefined;
  };
  return requests.send({ frame, read }, signal);
}

function fetchHeaders(
  requests: Requests,
  first: bigint,
  count: number,
  signal?: AbortSignal,
): Promise<{ bytes: Uint8Array; tip: bigint }> {
  const { at, LENGTH } = HeadersFrame;
  const most = Math.min(count, Math.floor((requests.maxFrame - LENGTH) / SEALED_HEADER));
  const frame = new Uint8Array(LENGTH + most * SEALED_HEADER);
  const view = writeHeader(frame, "headers");
  view.setUint8(at.chain, Chain.own);
  view.setUint16(at.count, most);
  view.setBigUint64(at.firstHeight, first);
  const read = (reply: Uint8Array): Answer<{ bytes: Uint8Array; tip: bigint }> | undefined => {
    if (!isReply(reply, "headers", LENGTH)) return undefined;
    const fields = HeadersFrame.decode(viewOf(reply));
    const status = statusName(fields.status);
    if (fields.chain !== Chain.own || fields.firstHeight !== first || !status) return undefined;
    if (status !== "OK") return { status };
    const end = LENGTH + fields.count * SEALED_HEADER;
    const isWhole = fields.headerSize === SEALED_HEADER && fields.count <= most && reply.length >= end;
    return isWhole ? { status, value: { bytes: reply.subarray(LENGTH, end), tip: fields.tipHeight } } : undefined;
  };
  return requests.send({ frame, read }, signal);
}

interface Generation {
  readonly report: FinalityFrame;
  readonly keys: readonly Uint8Array[];
  readonly certificate: Uint8Array;
}

function fetchGeneration(
  requests: Requests,
  generation: number,
  room: number,
  signal?: AbortSignal,
): Promise<Generation> {
  const frame = new Uint8Array(room);
  writeHeader(frame, "finality").setUint32(FinalityFrame.at.generation, generation);
  return requests.send({ frame, read: (reply) => readGeneration(reply, generation) }, signal);
}

/** Reads a finality frame; `undefined` if it is none about this generation. */
export function readGeneration(reply: Uint8Array, generation: number): Answer<Generation> | undefined {
  const { LENGTH } = FinalityFrame;
  if (!isReply(reply, "finality", LENGTH)) return undefined;
  const report = FinalityFrame.decode(viewOf(reply));
  const status = statusName(report.status);
  if (report.generation !== generation || !status) return undefined;
  if (status !== "OK") return { status };
  const end = LENGTH + 32 * report.replicas;
  if (reply.length < end + report.certificateSize) return undefined;
  const keys = Array.from({ length: report.replicas }, (_, at) => reply.slice(LENGTH + 32 * at, LENGTH + 32 * at + 32));
  return { status, value: { report, keys, certificate: reply.slice(end, end + report.certificateSize) } };
}

/** Proves the asset of a proved account or hold; 0 without another proof if it has no mark. */
export async function proveAsset(light: LightClient, entry: IndexEntry, signal?: AbortSignal): Promise<number> {
  if (statedAsset(entry)) throw new ProofError("asset", "the id is not that of an account: it states the asset of one");
  if (!hasAsset(entry)) return 0;
  const { entry: stated, proof } = await light.proveBalance(assetId(entry.account), signal);
  const asset = stated && statedAsset(stated);
  // An older proof, or an asset that was stated later, may be that of an account that was closed and opened again.
  const isLater =
    stated &&
    (stated.height > entry.height ||
      (stated.height === entry.height && latestPosition(stated) > latestPosition(entry)));
  if (!asset || isLater || proof.height < BigInt(entry.height))
    throw new ProofError("asset", "the account was closed since its balance was proved");
  return asset;
}
