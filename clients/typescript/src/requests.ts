/**
 * Requests to one of several nodes: sent over one connection, repeated with the same bytes until they are answered or
 * given up, and moved to the next node when the present one is gone or silent.
 */

import { equal, viewOf } from "./bytes.js";
import {
  ClosedError,
  QueueFullError,
  StatusError,
  TimeoutError,
  UnreachableError,
  WrongNetworkError,
  statusName,
} from "./errors.js";
import type { Hash } from "./hash.js";
import {
  ERROR_TYPE,
  ErrorFrame,
  FrameHeader,
  FrameType,
  type FrameTypeName,
  InfoFrame,
  MAGIC,
  type Operation,
  REPLY_BIT,
  type StatusName,
  VERSION,
} from "./protocol.js";
import { type Connection, MAX_FRAME, type Transport } from "./transport.js";

/** Options of the requests of a client. Times are in milliseconds. */
export interface RequestOptions {
  /** The network id that every node must have; by default that of the first node. */
  readonly network?: Hash;
  /** How long a request may take, with all its repetitions: 10,000 by default. */
  readonly timeout?: number;
  /** How long to wait for a reply before a request is repeated: 1,000 by default, doubled with each repetition. */
  readonly retryAfter?: number;
  /** Maximum length of frames that can be divided, batches and headers, in bytes: 65,507 by default. */
  readonly maxFrame?: number;
  /** How long a node with requests to answer may be silent before the client turns to the next: 1,000 by default. */
  readonly turnAfter?: number;
  /** Maximum number of frames in flight: 16 by default. */
  readonly window?: number;
  /** Maximum number of frames that wait for room in the window: 1,024 by default. */
  readonly maxWaiting?: number;
}

/** What a reply says. */
export interface Answer<T> {
  /** The status of the request as a whole. */
  readonly status: StatusName;
  /** The result, if the status is `OK`. */
  readonly value?: T;
  /** The status of a part that {@link mayPass}. The request is repeated as a whole; other parts get the same result. */
  readonly retry?: StatusName | undefined;
  /** With `REPLY_TOO_LARGE` the length needed. */
  readonly detail?: number;
}

/** A request. */
export interface Request<T> {
  readonly frame: Uint8Array;
  /** Reads the reply; `undefined` if it does not answer this request. */
  read(reply: Uint8Array): Answer<T> | undefined;
  /** The operation that it executes, or the first of several. */
  readonly operation?: Operation | undefined;
  /** Whether some of its operations have ids without a time, so that repetitions must end in time. */
  readonly isUntimed?: boolean;
}

interface Pending<T> extends Request<T> {
  readonly id: number;
  /** Ends the wait. */
  settle(end: { value: T } | { error: unknown }): void;
  /** When to give up. */
  deadline: number;
  /** When to send it again. */
  due: number;
  attempts: number;
  refusals: number;
  /** The last refusal, unless an attempt has gone without a reply since. */
  refused: StatusName | undefined;
  /** The last reply, which asked for a repetition. */
  answer: Answer<T> | undefined;
  /** Whether an attempt that was not refused has no reply. */
  isUncertain: boolean;
}

/** Statuses after which the same request may succeed, at this node or at another one. */
const TRANSIENT: ReadonlySet<StatusName> = new Set(["BUSY", "RATE_LIMITED", "NOT_FINAL"]);
/** Statuses after which another node may have the answer. */
const LOCAL: ReadonlySet<StatusName> = new Set(["NOT_FINAL", "STORAGE_FAILED"]);

/** Whether the same request may have another outcome later or elsewhere. */
export function mayPass(status: StatusName): boolean {
  return TRANSIENT.has(status) || LOCAL.has(status);
}

const CONNECT_TIMEOUT = 2_000;
const RECONNECT_AFTER = 50;
/** A node without room soon has some, sooner than a lost reply is noticed. */
const BUSY_AFTER = 5;
const MAX_WAIT = 1_000;

/** A wait that doubles, with jitter so that clients do not return at once. */
export function backoff(first: number, repetitions: number): number {
  return Math.min(first * 2 ** Math.min(repetitions, 16), MAX_WAIT) * (0.75 + Math.random() / 2);
}

/** Writes the header of a request; its id is written when it is sent. */
export function writeHeader(frame: Uint8Array, type: FrameTypeName): DataView {
  const view = viewOf(frame);
  FrameHeader.encode(view, 0, { magic: MAGIC, version: VERSION, kind: FrameType[type], id: 0 });
  return view;
}

/** The header of a frame of this version; `undefined` if the bytes are none. */
function readHeader(bytes: Uint8Array): FrameHeader | undefined {
  const header = bytes.length >= FrameHeader.LENGTH ? FrameHeader.decode(viewOf(bytes)) : undefined;
  return header?.magic === MAGIC && header.version === VERSION ? header : undefined;
}

/** Whether the bytes are a reply of this type, with at least the given length. */
export function isReply(bytes: Uint8Array, type: FrameTypeName, length: number): boolean {
  return bytes.length >= length && readHeader(bytes)?.kind === (FrameType[type] | REPLY_BIT);
}

/** Reads an error frame; `undefined` if it is none. */
export function readError(bytes: Uint8Array): Answer<never> | undefined {
  if (bytes.length !== ErrorFrame.LENGTH || readHeader(bytes)?.kind !== ERROR_TYPE) return undefined;
  const { status: code, detail } = ErrorFrame.decode(viewOf(bytes));
  const status = statusName(code);
  return status && status !== "OK" ? { status, detail } : undefined;
}

/** Reads an info frame; `undefined` if it is none. */
export function readInfo(bytes: Uint8Array): Answer<InfoFrame> | undefined {
  if (!isReply(bytes, "info", InfoFrame.LENGTH) || bytes.length !== InfoFrame.LENGTH) return undefined;
  const info = InfoFrame.decode(viewOf(bytes));
  const status = statusName(info.status);
  return status && { status, value: info };
}

/** The refusal of a request that is too small for its reply, with the length needed. */
export class RoomNeeded extends StatusError<"REPLY_TOO_LARGE"> {
  readonly length: number;

  constructor(length: number) {
    super("REPLY_TOO_LARGE");
    this.length = length;
  }
}

export class Requests {
  readonly addresses: readonly string[];
  readonly #transport: Transport;
  readonly maxFrame: number;
  readonly #timeout: number;
  readonly #retryAfter: number;
  readonly #turnAfter: number;
  readonly #window: number;
  readonly #maxWaiting: number;
  #network: Hash | undefined;
  /** The index of the present address. */
  #at = 0;
  #connection: Connection | undefined;
  #isConnecting = false;
  /** Consecutive nodes that failed, without an answer in between. */
  #failures = 0;
  /** The properties of the present node, as of the start of its connection. */
  #info: InfoFrame | undefined;
  #nextId = crypto.getRandomValues(new Uint32Array(1))[0]!;
  readonly #inFlight = new Map<number, Pending<unknown>>();
  readonly #waiting = new Set<Pending<unknown>>();
  /** Number of frames that may be in flight: halved when the node has no room, and raised again with each reply. */
  #allowed: number;
  /** When the node last sent something, or had nothing to answer. */
  #heard = 0;
  /** How long the node may be silent: doubled with each turn that brought nothing. */
  #patience: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = Infinity;
  /** The last problem, as the cause of a timeout. */
  #problem: unknown;
  readonly #closing = new AbortController();
  #drained: (() => void) | undefined;
  /** Number of repeated frames, of turns to another connection, and of replies that matched no request. */
  readonly counts = { retries: 0, turns: 0, strays: 0 };

  constructor(addresses: readonly string[], transport: Transport, options: RequestOptions) {
    if (addresses.length === 0) throw new RangeError("no address of a node is given");
    this.addresses = addresses;
    this.#transport = transport;
    this.#network = options.network;
    this.#timeout = positive("timeout", options.timeout ?? 10_000);
    this.#retryAfter = options.retryAfter ?? 1_000;
    this.maxFrame = options.maxFrame ?? MAX_FRAME;
    this.#turnAfter = positive("turnAfter", options.turnAfter ?? 1_000);
    this.#window = positive("window", options.window ?? 16);
    this.#maxWaiting = positive("maxWaiting", options.maxWaiting ?? 1_024);
    this.#allowed = this.#window;
    this.#patience = this.#turnAfter;
  }

  /** Connects to the first node that answers. Rejects if none does. */
  async open(): Promise<void> {
    if (this.#connection || this.#isConnecting) return;
    this.#isConnecting = true;
    let isConnected = false;
    for (let tries = 0; tries < this.addresses.length && !isConnected; tries++) isConnected = await this.#tryConnect();
    this.#isConnecting = false;
    this.#pump();
    if (isConnected) return;
    const problem = this.#problem;
    throw problem instanceof WrongNetworkError ? problem : new UnreachableError(this.addresses, problem);
  }

  /** Sends a request, and resolves with the value of its answer. */
  send<T>(request: Request<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closing.signal.aborted || this.#drained) return Promise.reject(new ClosedError());
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#waiting.size >= this.#maxWaiting) {
      return Promise.reject(new QueueFullError(this.#maxWaiting, "frames"));
    }
    return new Promise((resolve, reject) => {
      const id = this.#newId();
      viewOf(request.frame).setUint32(FrameHeader.at.id, id);
      const abort = (): void => pending.settle({ error: signal?.reason });
      const pending: Pending<T> = {
        frame: request.frame,
        read: request.read,
        operation: request.operation,
        isUntimed: request.isUntimed ?? false,
        id,
        deadline: performance.now() + this.#timeout,
        due: Infinity,
        attempts: 0,
        refusals: 0,
        refused: undefined,
        answer: undefined,
        isUncertain: false,
        settle: (end) => {
          signal?.removeEventListener("abort", abort);
          this.#inFlight.delete(id);
          this.#waiting.delete(pending as Pending<unknown>);
          if ("value" in end) resolve(end.value);
          else reject(end.error);
          this.#pump();
        },
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.add(pending as Pending<unknown>);
      this.#arm(pending.deadline);
      this.#pump();
    });
  }

  /** Refuses new requests, waits until those in flight have ended, and closes the connection. */
  async close(): Promise<void> {
    if (this.#isBusy) await new Promise<void>((resolve) => (this.#drained = resolve));
    this.destroy();
  }

  /** Closes the connection at once, and rejects the requests in flight. */
  destroy(): void {
    this.#closing.abort(new ClosedError());
    clearTimeout(this.#timer);
    this.#connection?.close();
    this.#connection = undefined;
    for (const pending of [...this.#inFlight.values(), ...this.#waiting]) pending.settle({ error: new ClosedError() });
  }

  get #isBusy(): boolean {
    return this.#inFlight.size + this.#waiting.size > 0;
  }

  /** Whether the node has something to answer. */
  get #isAwaited(): boolean {
    for (const pending of this.#inFlight.values()) if (!pending.refused) return true;
    return false;
  }

  #newId(): number {
    do this.#nextId = (this.#nextId + 1) >>> 0;
    while (this.#inFlight.has(this.#nextId));
    return this.#nextId;
  }

  /** Sends waiting requests as far as the window has room. */
  #pump(): void {
    if (this.#closing.signal.aborted) return;
    if (!this.#isBusy) this.#drained?.();
    if (!this.#connection) {
      if (this.#isBusy) void this.#connect();
      return;
    }
    for (const pending of this.#waiting) {
      if (this.#inFlight.size >= Math.max(1, Math.floor(this.#allowed))) break;
      this.#waiting.delete(pending);
      this.#transmit(pending);
      this.#inFlight.set(pending.id, pending);
    }
  }

  #transmit(pending: Pending<unknown>): void {
    const now = performance.now();
    if (pending.attempts === 0 && pending.isUntimed) {
      // A repetition after the retry time would be executed again. The last one may travel for a while.
      const recognised = this.#info?.retryMilliseconds || Infinity;
      pending.deadline = Math.min(pending.deadline, now + recognised - Math.min(recognised / 4, 1_000));
    }
    if (!this.#isAwaited) this.#heard = now;
    this.counts.retries += pending.attempts > 0 ? 1 : 0;
    pending.due = now + backoff(this.#retryAfter, pending.attempts++);
    pending.refused = undefined;
    this.#arm(Math.min(pending.due, pending.deadline, this.#heard + this.#patience));
    this.#connection?.send(pending.frame);
  }

  #receive(bytes: Uint8Array): void {
    const header = readHeader(bytes);
    const pending = header && this.#inFlight.get(header.id);
    const answer = pending && (readError(bytes) ?? pending.read(bytes));
    if (!pending || !answer) {
      this.counts.strays++;
      if (pending) this.#problem = new Error("a reply does not fit its request");
      return;
    }
    this.#heard = performance.now();
    this.#patience = this.#turnAfter;
    const status = answer.status === "OK" ? answer.retry : answer.status;
    const isElsewhere = this.addresses.length > 1 && status !== undefined && LOCAL.has(status);
    if (status && (TRANSIENT.has(status) || isElsewhere)) return this.#postpone(pending, answer, status);
    this.#failures = 0;
    this.#allowed = Math.min(this.#window, this.#allowed + 1 / this.#allowed);
    this.#finish(pending, answer);
  }

  #finish(pending: Pending<unknown>, { status, value, detail = 0 }: Answer<unknown>): void {
    if (status === "OK") pending.settle({ value });
    else if (status === "REPLY_TOO_LARGE") pending.settle({ error: new RoomNeeded(detail) });
    else pending.settle({ error: new StatusError(status, pending.operation) });
  }

  /** Waits before repeating a request that was refused for now. */
  #postpone(pending: Pending<unknown>, answer: Answer<unknown>, status: StatusName): void {
    if (status === "BUSY" || status === "RATE_LIMITED") this.#allowed = Math.max(1, this.#allowed / 2);
    pending.answer = answer;
    pending.refused = status;
    pending.due = performance.now() + backoff(BUSY_AFTER, pending.refusals++);
    this.#arm(pending.due);
    if (LOCAL.has(status) && this.addresses.length > 1) this.#turn(`answers ${status}`);
  }

  /** Turns to the next node, with all requests in flight. */
  #turn(reason: string): void {
    const address = this.addresses[this.#at]!;
    this.#connection?.close();
    this.#lost(new Error(`${address} ${reason}`));
  }

  #lost(reason: Error): void {
    this.#connection = undefined;
    // A node closes connections that were idle for a minute.
    if (this.#inFlight.size > 0) this.#fail(reason);
    for (const pending of this.#inFlight.values()) {
      if (pending.refused) continue;
      pending.isUncertain = true;
      pending.due = 0;
    }
    this.#pump();
  }

  /** Makes the next node the present one. */
  #fail(problem: unknown): void {
    this.#problem = problem;
    this.#failures++;
    this.counts.turns++;
    this.#at = (this.#at + 1) % this.addresses.length;
  }

  /** Runs at the earliest deadline: repeats requests, gives them up, and turns away from a silent node. */
  #tick(): void {
    this.#timerAt = Infinity;
    const now = performance.now();
    for (const pending of [...this.#inFlight.values(), ...this.#waiting]) {
      if (now >= pending.deadline) this.#giveUp(pending);
    }
    if (this.#connection && this.#isAwaited && now >= this.#heard + this.#patience) {
      this.#patience *= 2;
      this.#turn(`was silent for ${Math.round(now - this.#heard)} ms`);
    }
    this.#repeatDue();
    let next = this.#connection && this.#isAwaited ? this.#heard + this.#patience : Infinity;
    for (const { due, deadline } of this.#inFlight.values()) {
      next = Math.min(next, deadline, this.#connection ? due : Infinity);
    }
    for (const { deadline } of this.#waiting) next = Math.min(next, deadline);
    if (next < Infinity) this.#arm(next);
  }

  #repeatDue(): void {
    if (!this.#connection) return;
    const now = performance.now();
    for (const pending of this.#inFlight.values()) {
      if (now < pending.due) continue;
      // An operation that is not final may still be executed, whatever happens to the next attempt.
      if (!pending.refused || LOCAL.has(pending.refused)) pending.isUncertain = true;
      this.#transmit(pending);
    }
  }

  #giveUp(pending: Pending<unknown>): void {
    const { answer, refused, isUncertain } = pending;
    if (answer && refused && (!isUncertain || LOCAL.has(refused))) return this.#finish(pending, answer);
    const operation = pending.attempts > 0 ? pending.operation : undefined;
    pending.settle({ error: new TimeoutError(this.#timeout, operation, this.#problem) });
  }

  #arm(at: number): void {
    if (at >= this.#timerAt || this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    // What arrived while the program was busy counts: the inner timer runs after the network was read.
    const tickAfterReading = (): void => void (this.#timer = setTimeout(() => this.#tick()));
    this.#timer = setTimeout(tickAfterReading, Math.max(0, Math.ceil(at - performance.now())));
  }

  /** Connects to one node after the other until one answers, or nothing waits for it. */
  async #connect(): Promise<void> {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    while (this.#isBusy) {
      const rounds = Math.floor(this.#failures / this.addresses.length);
      if (rounds > 0) await sleep(backoff(RECONNECT_AFTER, rounds - 1), this.#closing.signal);
      if (await this.#tryConnect()) break;
    }
    this.#isConnecting = false;
    this.#pump();
  }

  /** Connects to the present node; if that fails, the next one becomes the present. */
  async #tryConnect(): Promise<boolean> {
    const address = this.addresses[this.#at]!;
    const attempt = new AbortController();
    const cancel = (): void => attempt.abort(this.#closing.signal.reason);
    const timer = setTimeout(() => attempt.abort(new Error(`${address} did not answer`)), CONNECT_TIMEOUT);
    this.#closing.signal.addEventListener("abort", cancel, { once: true });
    try {
      this.#closing.signal.throwIfAborted();
      const connection = await this.#greet(address, attempt.signal);
      if (this.#closing.signal.aborted) connection.close();
      else this.#connection = connection;
      this.#heard = performance.now();
      this.#repeatDue();
      this.#pump();
      return true;
    } catch (error) {
      this.#fail(error);
      return this.#closing.signal.aborted;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", cancel);
    }
  }

  /** Connects to a node, and checks that it answers and is of the right network. */
  async #greet(address: string, signal: AbortSignal): Promise<Connection> {
    const frame = new Uint8Array(InfoFrame.LENGTH);
    writeHeader(frame, "info").setUint32(FrameHeader.at.id, this.#newId());
    const greeting = withResolvers<InfoFrame>();
    let receive = (bytes: Uint8Array): void => {
      const answer = equal(bytes.subarray(4, 8), frame.subarray(4, 8)) ? readInfo(bytes) : undefined;
      const refusal = readError(bytes) ?? answer;
      if (answer?.status === "OK" && answer.value) greeting.resolve(answer.value);
      else greeting.reject(refusal ? new StatusError(refusal.status) : new Error(`${address} is not a Turnpike node`));
    };
    let closed = (reason: Error): void => greeting.reject(reason);
    signal.addEventListener("abort", () => greeting.reject(signal.reason), { once: true });
    greeting.promise.catch(() => {});
    const handlers = { frame: (bytes: Uint8Array) => receive(bytes), closed: (reason: Error) => closed(reason) };
    const connection = await this.#transport(address, handlers, signal);
    try {
      connection.send(frame);
      const info = await greeting.promise;
      if (this.#network && !equal(info.network, this.#network)) {
        throw new WrongNetworkError(address, info.network, this.#network);
      }
      this.#network = info.network;
      this.#info = info;
    } catch (error) {
      connection.close();
      closed = () => {};
      throw error;
    }
    receive = (bytes) => this.#connection === connection && this.#receive(bytes);
    closed = (reason) => this.#connection === connection && this.#lost(reason);
    return connection;
  }
}

function withResolvers<T>(): { promise: Promise<T>; resolve(value: T): void; reject(reason: unknown): void } {
  let [resolve, reject]: [(value: T) => void, (reason: unknown) => void] = [() => {}, () => {}];
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}

function positive(name: string, value: number): number {
  if (!(value >= 1)) throw new RangeError(`option ${name} is ${value}, but must be 1 or more`);
  return value;
}

/** Waits. The signal ends the wait early. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}
