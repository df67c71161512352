/** Feeds: journalled operations as a node streams them, in order and each exactly once. */

import { equal, viewOf } from "./bytes.js";
import { ClosedError, FeedError, StatusError, TimeoutError, WrongNetworkError, statusName } from "./errors.js";
import type { Hash } from "./hash.js";
import type { AccountId } from "./ids.js";
import {
  FeedEntry,
  FeedFrame,
  FrameHeader,
  InfoFrame,
  type Operation,
  PromiseLevel,
  type PromiseLevelName,
  type StatusName,
} from "./protocol.js";
import { backoff, isReply, mayPass, readError, readInfo, sleep, writeHeader } from "./requests.js";
import type { Connection, Transport } from "./transport.js";

/** A connection without a frame for this long counts as lost, in milliseconds: five heartbeats. */
const SILENCE = 5_000;
const CONNECT_TIMEOUT = 2_000;
const RECONNECT_AFTER = 50;
/** Frames that wait for the program; beyond them the connection is paused, so that the node notices. */
const MAX_FRAMES = 4;
const OF_ACCOUNT = 1;
/** The ids of the two requests on a connection. */
const GREETING = 1;
const REQUEST = 2;
const PROMISES = Object.entries(PromiseLevel);

/** Options of a feed. */
export interface FeedOptions {
  /** Sequence of the first operation: 1 by default, which is the first of all. */
  readonly cursor?: bigint;
  /** Only operations with this account as source or destination. */
  readonly account?: AccountId;
  /** The network id that the node must have; by default that of the first connection. */
  readonly network?: Hash;
  /** The promise to request; by default the node's. */
  readonly promise?: PromiseLevelName;
  /** How long a part may take, with all reconnections, in milliseconds: 10,000 by default. */
  readonly timeout?: number;
}

/** An operation that the node journalled, and its result. */
export interface JournalEntry {
  /** Position in the node's journal, from 1. */
  readonly sequence: bigint;
  /** The operation, with the amount as requested. */
  readonly operation: Operation;
  /** Its result: failed operations are in the feed, too. */
  readonly status: StatusName;
  /** Balance of the source after the operation. */
  readonly balance: bigint;
}

/** Operations of one batch of the journal, or none: a node reports its progress each second. */
export interface FeedPart {
  /** The operations, by ascending sequences. */
  readonly entries: readonly JournalEntry[];
  /** Ledger time of the operations, in microseconds since the Unix epoch. */
  readonly timestamp: bigint;
  /** The promise of the operations. */
  readonly promise: PromiseLevelName;
  /**
   * Sequence of the first operation after this part. Store it with the effects of the part, in one transaction, to
   * continue there.
   */
  readonly cursor: bigint;
  /** Sequence of the last durable operation. */
  readonly durable: bigint;
  /** Sequence of the last final operation; 0 if the node is not a replica. */
  readonly finalized: bigint;
}

/** The connection ended, or the node refused for now. */
class Lost extends Error {
  readonly status: StatusName | undefined;

  constructor(cause: unknown, status?: StatusName) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.status = status;
  }
}

/**
 * The operations that a node journals, as an asynchronous iterator of parts. It reconnects by itself, and continues at
 * its cursor. One caller receives at a time.
 *
 * Rejects with `TimeoutError` if the node does not answer for `timeout`, and with `StatusError`: `PRUNED` if the journal
 * no longer has the operation at the cursor (`value` is the first one that it has), `NOT_FOUND` if it ends before the
 * cursor, `TOO_SLOW` if this program read too slowly. After `TOO_SLOW`, or any other error that has passed, `receive`
 * continues at the cursor.
 */
export class Feed implements AsyncIterableIterator<FeedPart>, AsyncDisposable {
  readonly #address: string;
  readonly #transport: Transport;
  readonly #account: AccountId | undefined;
  readonly #promise: PromiseLevelName;
  readonly #timeout: number;
  #network: Hash | undefined;
  #cursor: bigint;
  #reconnections = 0;
  #isClosed = false;
  #connection: Connection | undefined;
  /** Number of the present attempt: events of an earlier one do not count. */
  #attempts = 0;
  #frames: Uint8Array[] = [];
  #isPaused = false;
  /** Why the connection ended. */
  #ended: Error | undefined;
  #wake: (() => void) | undefined;

  /** A feed that connects when it is asked for the first part. It needs a transport that loses nothing. */
  constructor(address: string, transport: Transport, options: FeedOptions = {}) {
    this.#address = address;
    this.#transport = transport;
    this.#cursor = options.cursor ?? 1n;
    this.#account = options.account;
    this.#network = options.network;
    this.#promise = options.promise ?? "default";
    this.#timeout = options.timeout ?? 10_000;
    if (!(this.#cursor >= 1n && this.#cursor < 1n << 64n)) {
      throw new RangeError(`cursor ${this.#cursor} is not a sequence; the first operation has 1`);
    }
    if (!(this.#timeout > 0)) throw new RangeError(`option timeout is ${this.#timeout}, but must be above 0`);
  }

  /** Sequence of the first operation that was not received yet. */
  get cursor(): bigint {
    return this.#cursor;
  }

  /** Number of connections after the first. */
  get reconnections(): number {
    return this.#reconnections;
  }

  /** Waits for the next part: a node sends one each second at least. A call that is aborted loses nothing. */
  async receive(signal?: AbortSignal): Promise<FeedPart> {
    const end = performance.now() + this.#timeout;
    for (let attempt = 0; ; attempt++) {
      if (this.#isClosed) throw new ClosedError();
      signal?.throwIfAborted();
      try {
        if (!this.#connection) await this.#subscribe(signal);
        return this.#read(await this.#frame(signal));
      } catch (error) {
        if (signal?.aborted && error === signal.reason) throw error;
        // The frame was the last one, or the connection is of no use.
        this.#disconnect();
        if (this.#isClosed) continue;
        if (!(error instanceof Lost)) throw error;
        const wait = backoff(RECONNECT_AFTER, attempt);
        if (performance.now() + wait >= end) {
          throw error.status ? new StatusError(error.status) : new TimeoutError(this.#timeout, undefined, error.cause);
        }
        await sleep(wait, signal ?? new AbortController().signal);
      }
    }
  }

  async next(): Promise<IteratorResult<FeedPart>> {
    return { value: await this.receive(), done: false };
  }

  async return(): Promise<IteratorResult<FeedPart>> {
    this.close();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the feed. A call that waits rejects with `ClosedError`. */
  close(): void {
    this.#isClosed = true;
    this.#disconnect();
    this.#wake?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** Connects, checks the network, and requests the feed: sequences of another ledger mean other operations. */
  async #subscribe(signal?: AbortSignal): Promise<void> {
    this.#frames = [];
    this.#ended = undefined;
    this.#isPaused = false;
    const attempt = new AbortController();
    const abort = (): void => attempt.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => attempt.abort(new Error(`${this.#address} did not answer`)), CONNECT_TIMEOUT);
    const number = ++this.#attempts;
    try {
      this.#connection = await this.#transport(
        this.#address,
        {
          frame: (bytes) => number === this.#attempts && this.#arrived(bytes),
          closed: (reason) => {
            if (number !== this.#attempts) return;
            this.#ended = reason;
            this.#wake?.();
          },
        },
        attempt.signal,
      );
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof RangeError) throw error;
      throw new Lost(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    const greeting = new Uint8Array(InfoFrame.LENGTH);
    writeHeader(greeting, "info").setUint32(FrameHeader.at.id, GREETING);
    this.#connection.send(greeting);
    this.#greeted(await this.#frame(signal));
    const request = new Uint8Array(FeedFrame.LENGTH);
    const view = writeHeader(request, "feed");
    view.setUint32(FrameHeader.at.id, REQUEST);
    view.setUint8(FeedFrame.at.promise, PromiseLevel[this.#promise]);
    view.setBigUint64(FeedFrame.at.cursor, this.#cursor);
    if (this.#account) {
      view.setUint8(FeedFrame.at.flags, OF_ACCOUNT);
      request.set(this.#account, FeedFrame.at.account);
    }
    this.#connection?.send(request);
  }

  #greeted(frame: Uint8Array): void {
    const answer = hasId(frame, GREETING) ? (readError(frame) ?? readInfo(frame)) : undefined;
    if (!answer) throw new FeedError(`${this.#address} is not a Turnpike node`);
    this.#check(answer.status);
    const found = answer.value!.network;
    if (this.#network && !equal(found, this.#network)) {
      throw new WrongNetworkError(this.#address, found, this.#network);
    }
    this.#network = found;
  }

  /** Throws unless the status is `OK`. */
  #check(status: StatusName, value?: bigint): void {
    if (status === "OK") return;
    if (mayPass(status) && status !== "STORAGE_FAILED") throw new Lost(status, status);
    throw new StatusError(status, undefined, value);
  }

  #arrived(bytes: Uint8Array): void {
    this.#frames.push(bytes);
    if (this.#frames.length >= MAX_FRAMES && !this.#isPaused) {
      this.#isPaused = true;
      this.#connection?.pause?.();
    }
    this.#wake?.();
  }

  /** Takes the next frame. */
  async #frame(signal?: AbortSignal): Promise<Uint8Array> {
    const end = performance.now() + SILENCE;
    for (;;) {
      signal?.throwIfAborted();
      if (this.#isClosed) throw new ClosedError();
      const frame = this.#frames.shift();
      if (frame) {
        if (this.#frames.length === 0 && this.#isPaused) {
          this.#isPaused = false;
          this.#connection?.resume?.();
        }
        return frame;
      }
      if (this.#ended) throw new Lost(this.#ended);
      const rest = end - performance.now();
      if (rest <= 0) throw new Lost(new Error(`${this.#address} was silent`));
      await this.#event(rest, signal);
    }
  }

  /** Waits until a frame arrives, the connection ends, or the time is over. */
  #event(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal?.addEventListener("abort", end, { once: true });
      this.#wake = end;
    });
  }

  /** Checks that a frame continues at the cursor, and advances it. */
  #read(frame: Uint8Array): FeedPart {
    const part = readFeed(frame, this.#cursor, this.#account);
    if ("status" in part) {
      this.#check(part.status, part.first);
      throw new FeedError(`${this.#address} ended the feed without a reason`);
    }
    this.#cursor = part.cursor;
    return part;
  }

  #disconnect(): void {
    if (this.#connection) {
      this.#connection.close();
      this.#reconnections++;
    }
    this.#connection = undefined;
    this.#attempts++;
  }
}

function hasId(frame: Uint8Array, id: number): boolean {
  return frame.length >= FrameHeader.LENGTH && viewOf(frame).getUint32(FrameHeader.at.id) === id;
}

/** Reads a frame of a feed that is at a cursor: a part, or why the feed ended. Throws `FeedError` if it is neither. */
export function readFeed(
  frame: Uint8Array,
  cursor: bigint,
  account: AccountId | undefined,
): FeedPart | { status: StatusName; first: bigint } {
  const error = hasId(frame, REQUEST) ? readError(frame) : undefined;
  if (error) return { status: error.status, first: 0n };
  if (!hasId(frame, REQUEST) || !isReply(frame, "feed", FeedFrame.LENGTH)) {
    throw new FeedError("the node sent no frame of a feed");
  }
  const view = viewOf(frame);
  const fixed = FeedFrame.decode(view);
  const status = statusName(fixed.status);
  const promise = PROMISES.find(([, level]) => level === fixed.promise)?.[0] as PromiseLevelName | undefined;
  const count = fixed.status === 0 ? fixed.count : 0;
  if (!status || !promise || fixed.signed || frame.length !== FeedFrame.LENGTH + count * FeedEntry.LENGTH) {
    throw new FeedError("a frame of the feed has an unknown code, or another length than its entries");
  }
  if (status !== "OK") return { status, first: fixed.first };
  let expected = cursor;
  const entries: JournalEntry[] = [];
  for (let at: number = FeedFrame.LENGTH; at < frame.length; at += FeedEntry.LENGTH) {
    const { sequence, operation, value } = FeedEntry.decode(view, at);
    const result = statusName(operation.status);
    const isNext = account
      ? sequence >= expected && (equal(operation.source, account) || equal(operation.destination, account))
      : sequence === expected;
    if (!isNext || sequence >= fixed.cursor || !result) {
      throw new FeedError(`the feed continues with operation ${sequence}, not ${expected}`);
    }
    entries.push({ sequence, operation, status: result, balance: value });
    expected = sequence + 1n;
  }
  if (fixed.cursor < expected || (!account && fixed.cursor !== expected)) {
    throw new FeedError(`the feed's cursor is ${fixed.cursor} after operation ${expected - 1n}`);
  }
  const { timestamp, durable, finalized } = fixed;
  return { entries, timestamp, promise, cursor: fixed.cursor, durable, finalized };
}
