/** The client of a node, or of the replicas of a cluster. */

import { Batch } from "./batch.js";
import { Batcher, type Receipt } from "./batcher.js";
import { ClosedError, StatusError } from "./errors.js";
import type { Hash } from "./hash.js";
import {
  type AssetPage,
  type HistoryFilter,
  type HistoryPage,
  type Locator,
  assetsRequest,
  historyRequest,
} from "./history.js";
import type { AccountId } from "./ids.js";
import { LightClient } from "./light.js";
import * as operation from "./operation.js";
import type { OperationFields } from "./operation.js";
import { InfoFrame, type Operation, type PromiseLevelName } from "./protocol.js";
import { type RequestOptions, Requests, readInfo, writeHeader } from "./requests.js";
import type { Signer } from "./signer.js";
import type { Transport } from "./transport.js";

/** Interval at which a node is asked for its progress, in milliseconds: a few times per block. */
const POLL = 20;

/** Options of a client. */
export interface ClientOptions extends RequestOptions {
  /** The promise to wait for; by default the node's own. */
  readonly promise?: PromiseLevelName;
  /** Maximum number of single operations that wait for room in a frame: 65,536 by default. */
  readonly maxOperations?: number;
}

/** Options of one operation. */
export interface ExecuteOptions extends OperationFields {
  /** The promise to wait for; by default the client's. */
  readonly promise?: PromiseLevelName;
  /** Signs the operation, as keyed accounts require. */
  readonly signer?: Signer;
  /** Ends the wait. An operation that was sent may be executed nevertheless. */
  readonly signal?: AbortSignal;
}

/**
 * A client of a node, or of the replicas of a cluster: it uses one, and turns to the next when that one fails.
 *
 * Operations that are submitted concurrently go out in one frame, and may be executed in any order; await one before
 * another if the order matters. Each is repeated until it has a definite result, and is executed at most once. Methods
 * reject with `StatusError` if it was not done, and with `TimeoutError` if that is unknown.
 */
export class Client implements AsyncDisposable {
  readonly #requests: Requests;
  readonly #promise: PromiseLevelName;
  readonly #maxOperations: number;
  readonly #batchers = new Map<string, Batcher>();
  #isClosed = false;

  /** A client that connects with its first request. The addresses have the form that the transport defines. */
  constructor(addresses: string | readonly string[], transport: Transport, options: ClientOptions = {}) {
    this.#requests = new Requests(typeof addresses === "string" ? [addresses] : addresses, transport, options);
    this.#promise = options.promise ?? "default";
    this.#maxOperations = options.maxOperations ?? 65_536;
  }

  /** Connects now. Rejects with `UnreachableError` if no node answers. */
  open(): Promise<void> {
    return this.#requests.open();
  }

  /** Number of repeated frames, of turns to another connection, and of replies that fitted no request. */
  get counts(): Readonly<{ retries: number; turns: number; strays: number }> {
    return { ...this.#requests.counts };
  }

  /** The identity and the progress of the node. */
  info(signal?: AbortSignal): Promise<InfoFrame> {
    const frame = new Uint8Array(InfoFrame.LENGTH);
    writeHeader(frame, "info");
    return this.#requests.send({ frame, read: readInfo }, signal);
  }

  /**
   * Waits until the node has executed up to a block of the chain, so that later reads are not older. After a turn to
   * another replica, reads may be older than a final reply of the first; take the height from the first one's `info`.
   */
  async waitForHeight(height: bigint, signal?: AbortSignal): Promise<InfoFrame> {
    for (;;) {
      const info = await this.info(signal);
      if (info.tipHeight >= height) return info;
      await new Promise((resolve) => setTimeout(resolve, POLL));
    }
  }

  /**
   * A page of an account's transactions: from the newest one on, or from the `next` of another page. Rejects with
   * `NOT_FOUND` if no block has the account.
   */
  history(
    account: AccountId,
    filter: HistoryFilter = {},
    page: { readonly cursor?: Locator | undefined; readonly count?: number; readonly signal?: AbortSignal } = {},
  ): Promise<HistoryPage> {
    const { cursor, count = 100, signal } = page;
    return this.#requests.send(historyRequest(account, filter, cursor, count, this.#requests.maxFrame), signal);
  }

  /** The issued amounts by asset, from a code on. */
  assets(first = 0, count = 100, signal?: AbortSignal): Promise<AssetPage> {
    return this.#requests.send(assetsRequest(first, count, this.#requests.maxFrame), signal);
  }

  /** Creates an account. */
  async create(account: AccountId, options: ExecuteOptions = {}): Promise<Receipt> {
    return this.execute(operation.create(account, options), options);
  }

  /** Issues new money to an account. */
  async issue(account: AccountId, amount: bigint, options: ExecuteOptions = {}): Promise<Receipt> {
    return this.execute(operation.issue(account, amount, options), options);
  }

  /** Transfers an amount from the source to the destination. */
  async transfer(
    source: AccountId,
    destination: AccountId,
    amount: bigint,
    options: ExecuteOptions = {},
  ): Promise<Receipt> {
    return this.execute(operation.transfer(source, destination, amount, options), options);
  }

  /** Reads the balance of an account; `undefined` if there is no such account. */
  async balance(account: AccountId, options: ExecuteOptions = {}): Promise<bigint | undefined> {
    try {
      return (await this.execute(operation.refer(account, options), options)).balance;
    } catch (error) {
      if (StatusError.is(error, "SOURCE_UNKNOWN")) return undefined;
      throw error;
    }
  }

  /** Executes an operation. Repeating the same one returns the first result, and changes nothing. */
  async execute(operation: Operation, options: ExecuteOptions = {}): Promise<Receipt> {
    if (this.#isClosed) throw new ClosedError();
    const { promise = this.#promise, signer, signal } = options;
    const format = signer ? "signed_operation" : "operation";
    const key = `${format} ${promise}`;
    let batcher = this.#batchers.get(key);
    if (!batcher)
      this.#batchers.set(key, (batcher = new Batcher(this.#requests, format, promise, this.#maxOperations)));
    return batcher.submit(operation, signer?.sign(operation, promise), signal);
  }

  /**
   * A new batch of unsigned operations, the fastest way to execute many. By default it has room for 1,023, or over UDP
   * for what fits a datagram.
   */
  batch(options: { readonly promise?: PromiseLevelName; readonly capacity?: number } = {}): Batch {
    return new Batch(this.#requests, options.promise ?? this.#promise, options.capacity);
  }

  /**
   * A light client, which fetches proofs and verifies them with this network id. With the bytes of an earlier
   * {@link LightClient.headers} it continues with those headers, and never replaces one.
   */
  light(network: Hash, headers?: Uint8Array): Promise<LightClient> {
    return LightClient.open(this.#requests, network, headers);
  }

  /** Refuses new operations, waits for the results of those in flight, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#batchers.values(), (batcher) => batcher.drain()));
    await this.#requests.close();
  }

  /** Closes the connection at once. Operations in flight reject with `ClosedError`, and may have been executed. */
  destroy(): void {
    this.#isClosed = true;
    this.#requests.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
