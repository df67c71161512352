/** Batches: many operations in one frame, executed in order, and independently of each other unless they are linked. */

import { viewOf } from "./bytes.js";
import { StatusError, statusName } from "./errors.js";
import { type AccountId, type TransactionId, isTimed, writeTransactionId } from "./ids.js";
import { LINKED, TIMED, checkAmount, checkIds, repeats } from "./operation.js";
import {
  BatchFormat,
  type BatchFormatName,
  BatchHeader,
  Command,
  type CommandName,
  Operation,
  PromiseLevel,
  type PromiseLevelName,
  type StatusName,
} from "./protocol.js";
import { type Answer, type Request, type Requests, isReply, mayPass, writeHeader } from "./requests.js";
import { MAX_FRAME } from "./transport.js";

const AT = Operation.at;
const PROMISES = new Map(
  Object.entries(PromiseLevel).map(([name, code]) => [code as number, name as PromiseLevelName]),
);

/** The request of a batch frame with `count` entries of `size` bytes. */
export function batchRequest(
  frame: Uint8Array,
  count: number,
  size: number,
  format: BatchFormatName,
  promise: PromiseLevelName,
  isUntimed: boolean,
): Request<BatchResult> {
  if (!(promise in PromiseLevel)) throw new RangeError(`${JSON.stringify(promise)} is not a promise`);
  const view = writeHeader(frame, "batch");
  view.setUint16(BatchHeader.at.count, count);
  view.setUint8(BatchHeader.at.format, BatchFormat[format]);
  view.setUint8(BatchHeader.at.promise, PromiseLevel[promise]);
  return {
    frame,
    isUntimed,
    operation: Operation.decode(view, BatchHeader.LENGTH),
    read: (reply) => readBatch(frame, reply, count, size),
  };
}

/** Reads the reply to a batch; `undefined` if it does not answer this one. */
export function readBatch(
  request: Uint8Array,
  reply: Uint8Array,
  count: number,
  size: number,
): Answer<BatchResult> | undefined {
  if (!isReply(reply, "batch", BatchHeader.LENGTH)) return undefined;
  const view = viewOf(reply);
  const whole = statusName(view.getUint16(BatchHeader.at.status));
  if (whole !== "OK") return whole && { status: whole };
  const isSame =
    reply.length === request.length &&
    view.getUint16(BatchHeader.at.count) === count &&
    reply[BatchHeader.at.format] === request[BatchHeader.at.format];
  const promise = PROMISES.get(reply[BatchHeader.at.promise]!);
  if (!isSame || !promise) return undefined;
  let failed = 0;
  let retry: StatusName | undefined;
  for (let index = 0, at: number = BatchHeader.LENGTH; index < count; index++, at += size) {
    if (!repeats(request, reply, at)) return undefined;
    const code = view.getUint16(at + AT.status);
    if (code === 0) continue;
    failed++;
    const status = statusName(code);
    if (!status) return undefined;
    if (mayPass(status)) retry = status;
  }
  return { status: "OK", value: new BatchResult(request, reply, count, size, promise, failed), retry };
}

/** The results of a batch, by the positions of its operations. */
export class BatchResult {
  readonly length: number;
  /** The promise that the node makes for all of them. */
  readonly promise: PromiseLevelName;
  /** Number of operations whose status is not `OK`. */
  readonly failed: number;
  readonly #request: Uint8Array;
  readonly #reply: DataView;
  readonly #size: number;

  constructor(
    request: Uint8Array,
    reply: Uint8Array,
    count: number,
    size: number,
    promise: PromiseLevelName,
    failed: number,
  ) {
    this.#request = request;
    this.#reply = viewOf(reply);
    this.#size = size;
    this.length = count;
    this.promise = promise;
    this.failed = failed;
  }

  #entry(index: number): number {
    if (!(index >= 0 && index < this.length)) throw new RangeError(`${index} is outside a batch of ${this.length}`);
    return BatchHeader.LENGTH + index * this.#size;
  }

  status(index: number): StatusName {
    return statusName(this.#reply.getUint16(this.#entry(index) + AT.status))!;
  }

  /** The balance of the operation's source after it; with `DEPOSIT_REQUIRED` the minimum deposit. */
  balance(index: number): bigint {
    return this.#reply.getBigUint64(this.#entry(index) + AT.amount);
  }

  /** The operation as it was requested. */
  operation(index: number): Operation {
    return Operation.decode(viewOf(this.#request), this.#entry(index));
  }

  /** The error of an operation; `undefined` if its status is `OK`. */
  error(index: number): StatusError | undefined {
    const status = this.status(index);
    return status === "OK" ? undefined : new StatusError(status, this.operation(index), this.balance(index));
  }

  /** The positions and errors of the operations that were not done. */
  *failures(): Generator<readonly [index: number, error: StatusError]> {
    for (let index = 0; this.failed > 0 && index < this.length; index++) {
      const error = this.error(index);
      if (error) yield [index, error];
    }
  }
}

/**
 * A batch of unsigned operations, encoded as they are added. It goes out as one frame; to use the node fully, keep
 * several batches in flight.
 */
export class Batch {
  /** Maximum number of operations. */
  static readonly CAPACITY = Math.floor((MAX_FRAME - BatchHeader.LENGTH) / Operation.LENGTH);
  readonly #requests: Requests;
  readonly #promise: PromiseLevelName;
  readonly #frame: Uint8Array;
  readonly #view: DataView;
  #length = 0;
  #isUntimed = false;
  #isInFlight = false;
  #request: Request<BatchResult> | undefined;

  /** @internal Use `Client.batch`. */
  constructor(requests: Requests, promise: PromiseLevelName, capacity?: number) {
    capacity ??= Math.floor((requests.maxFrame - BatchHeader.LENGTH) / Operation.LENGTH);
    if (!(capacity >= 1 && capacity <= Batch.CAPACITY)) {
      throw new RangeError(`a batch has 1 to ${Batch.CAPACITY} operations, not ${capacity}`);
    }
    this.#requests = requests;
    this.#promise = promise;
    this.#frame = new Uint8Array(BatchHeader.LENGTH + capacity * Operation.LENGTH);
    this.#view = viewOf(this.#frame);
  }

  /** Number of operations. */
  get length(): number {
    return this.#length;
  }

  get isFull(): boolean {
    return BatchHeader.LENGTH + this.#length * Operation.LENGTH === this.#frame.length;
  }

  /** Adds a CREATE of an account. Every method that adds returns the operation's position. */
  create(account: AccountId, transaction?: TransactionId): number {
    return this.#add("CREATE", account, undefined, 0n, transaction);
  }

  /** Adds an ISSUE of new money to an account. */
  issue(account: AccountId, amount: bigint, transaction?: TransactionId): number {
    return this.#add("ISSUE", account, undefined, amount, transaction);
  }

  /** Adds a TRANSFER from the source to the destination. */
  transfer(source: AccountId, destination: AccountId, amount: bigint, transaction?: TransactionId): number {
    return this.#add("TRANSFER", source, destination, amount, transaction);
  }

  /** Adds a REFER, which reads the balance of an account; if the batch is repeated, it is read again. */
  refer(account: AccountId, transaction?: TransactionId): number {
    return this.#add("REFER", account, undefined, 0n, transaction);
  }

  /**
   * Links the operation that was added last with the next one: they succeed together, or nothing changes. Up to 64
   * operations form a chain; none is a REFER, and the last one is not linked. The one that fails has its status, and the
   * others `LINKED_FAILED`.
   */
  link(): void {
    if (this.#request) throw new TypeError("the batch was submitted; make another one");
    if (this.#length === 0) throw new RangeError("the batch is empty; add the operation to link");
    this.#frame[BatchHeader.LENGTH + (this.#length - 1) * Operation.LENGTH + AT.flags]! |= LINKED;
  }

  #add(
    command: CommandName,
    source: AccountId,
    destination: AccountId | undefined,
    amount: bigint,
    transaction: TransactionId | undefined,
  ): number {
    if (this.#request) throw new TypeError("the batch was submitted; make another one");
    if (this.isFull) throw new RangeError(`the batch has ${this.#length} operations, its maximum; submit it`);
    checkAmount(amount);
    checkIds(source, destination, transaction);
    const frame = this.#frame;
    const at = BatchHeader.LENGTH + this.#length * Operation.LENGTH;
    const isTimedId = !transaction || isTimed(transaction);
    frame[at + AT.flags] = isTimedId ? TIMED : 0;
    frame[at + AT.command] = Command[command];
    if (transaction) frame.set(transaction, at + AT.transaction);
    else writeTransactionId(frame, at + AT.transaction);
    for (let byte = 0; byte < 16; byte++) frame[at + AT.source + byte] = source[byte]!;
    if (destination) for (let byte = 0; byte < 16; byte++) frame[at + AT.destination + byte] = destination[byte]!;
    this.#view.setBigUint64(at + AT.amount, amount);
    this.#isUntimed ||= !isTimedId;
    return this.#length++;
  }

  /**
   * Executes the operations, and resolves with the result of each. After a `TimeoutError` or an abort, the batch can be
   * submitted again: its operations keep their ids. None whose id carries a time is executed twice.
   */
  async submit(signal?: AbortSignal): Promise<BatchResult> {
    if (this.#length === 0) throw new RangeError("the batch is empty");
    if (this.#isInFlight) throw new TypeError("the batch is in flight; await its result");
    const frame = this.#frame.subarray(0, BatchHeader.LENGTH + this.#length * Operation.LENGTH);
    const [count, size] = [this.#length, Operation.LENGTH];
    this.#request ??= batchRequest(frame, count, size, "operation", this.#promise, this.#isUntimed);
    this.#isInFlight = true;
    try {
      return await this.#requests.send(this.#request, signal);
    } finally {
      this.#isInFlight = false;
    }
  }
}
