/** Joins operations that callers submit at about the same time into batch frames, without adding delay. */

import { type BatchResult, batchRequest } from "./batch.js";
import { viewOf } from "./bytes.js";
import { QueueFullError, StatusError, errorOf } from "./errors.js";
import { LINKED, TIMED } from "./operation.js";
import { type BatchFormatName, BatchHeader, Operation, type PromiseLevelName, SignedOperation } from "./protocol.js";
import type { Requests } from "./requests.js";

/** What a node replied to an operation that was done. */
export interface Receipt {
  readonly operation: Operation;
  /** The balance of the operation's source after it. */
  readonly balance: bigint;
  /** The promise that the node makes: the requested one or, on a node without replicas, `durable` for `final`. */
  readonly promise: PromiseLevelName;
}

interface Item {
  readonly operation: Operation;
  readonly signed: SignedOperation | undefined;
  resolve(receipt: Receipt): void;
  reject(error: unknown): void;
}

/** Frames in flight at once: while these are, further operations gather for the next one. */
const FRAMES = 4;

export class Batcher {
  readonly #requests: Requests;
  readonly #format: BatchFormatName;
  readonly #promise: PromiseLevelName;
  readonly #size: number;
  readonly #limit: number;
  readonly #items = new Set<Item>();
  #frames = 0;
  #isScheduled = false;
  #drained: (() => void) | undefined;

  constructor(requests: Requests, format: BatchFormatName, promise: PromiseLevelName, limit: number) {
    this.#requests = requests;
    this.#format = format;
    this.#promise = promise;
    this.#size = format === "signed_operation" ? SignedOperation.LENGTH : Operation.LENGTH;
    this.#limit = limit;
  }

  submit(operation: Operation, signed: SignedOperation | undefined, signal?: AbortSignal): Promise<Receipt> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (operation.flags & LINKED) {
      return Promise.reject(new TypeError("a linked operation goes out with others of its caller only; use a batch"));
    }
    if (this.#items.size >= this.#limit) return Promise.reject(new QueueFullError(this.#limit, "operations"));
    return new Promise((resolve, reject) => {
      // An operation that is sent already may be executed nevertheless.
      const abort = (): void => {
        this.#items.delete(item);
        reject(signal?.reason);
      };
      const done = (): void => signal?.removeEventListener("abort", abort);
      const item: Item = {
        operation,
        signed,
        resolve: (receipt) => (done(), resolve(receipt)),
        reject: (error) => (done(), reject(error)),
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#items.add(item);
      this.#schedule();
    });
  }

  /** Sends after the present turn of the event loop's microtasks, so that all that it submits goes out together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  /** Resolves once nothing waits or is in flight. */
  async drain(): Promise<void> {
    if (this.#items.size + this.#frames > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
  }

  /** Sends what waits, as far as frames may be in flight. */
  #flush(): void {
    const capacity = Math.floor((this.#requests.maxFrame - BatchHeader.LENGTH) / this.#size);
    while (this.#items.size > 0 && this.#frames < FRAMES) {
      const items: Item[] = [];
      for (const item of this.#items) {
        if (items.length === capacity) break;
        this.#items.delete(item);
        items.push(item);
      }
      void this.#send(items);
    }
  }

  async #send(items: readonly Item[]): Promise<void> {
    this.#frames++;
    const frame = new Uint8Array(BatchHeader.LENGTH + items.length * this.#size);
    const view = viewOf(frame);
    let isUntimed = false;
    for (const [index, { operation, signed }] of items.entries()) {
      const at = BatchHeader.LENGTH + index * this.#size;
      if (signed) SignedOperation.encode(view, at, signed);
      else Operation.encode(view, at, operation);
      // The timestamp of a signed operation limits its retries in any case.
      isUntimed ||= !signed && (operation.flags & TIMED) === 0;
    }
    try {
      const request = batchRequest(frame, items.length, this.#size, this.#format, this.#promise, isUntimed);
      settle(items, await this.#requests.send(request));
    } catch (error) {
      for (const item of items) item.reject(errorOf(error, item.operation));
    } finally {
      this.#frames--;
      this.#flush();
      if (this.#items.size + this.#frames === 0) this.#drained?.();
    }
  }
}

function settle(items: readonly Item[], result: BatchResult): void {
  for (const [index, item] of items.entries()) {
    const status = result.status(index);
    const balance = result.balance(index);
    if (status === "OK") item.resolve({ operation: item.operation, balance, promise: result.promise });
    else item.reject(new StatusError(status, item.operation, balance));
  }
}
