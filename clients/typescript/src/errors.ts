/** Errors, each with a text that says what to do next. */

import { toHex } from "./bytes.js";
import { ADVICE, Command, type CommandName, type Operation, Status, type StatusName } from "./protocol.js";

/** Names of the statuses, by code. */
const NAMES: readonly (StatusName | undefined)[] = Object.entries(Status).reduce(
  (names: (StatusName | undefined)[], [name, code]) => ((names[code] = name as StatusName), names),
  [],
);

const COMMANDS = new Map(Object.entries(Command).map(([name, code]) => [code as number, name as CommandName]));

/** The status with this code; `undefined` if this version of the client does not know it. */
export function statusName(code: number): StatusName | undefined {
  return NAMES[code];
}

/** The command with this code; `undefined` if this version of the client does not know it. */
export function commandName(code: number): CommandName | undefined {
  return COMMANDS.get(code);
}

/** Every error of this package, except `RangeError` and `TypeError` for wrong arguments. */
export abstract class TurnpikeError extends Error {}

/** A status of the node: an operation that was not done, or a request that it refused. */
export class StatusError<S extends StatusName = StatusName> extends TurnpikeError {
  override readonly name = "StatusError";
  readonly status: S;
  /** The operation; `undefined` if the node refused another request. */
  readonly operation: Operation | undefined;
  /**
   * The balance of the source; with `DEPOSIT_REQUIRED` the minimum deposit of the node, with `PRUNED` the first sequence
   * in its journal.
   */
  readonly value: bigint;

  constructor(status: S, operation?: Operation, value = 0n) {
    super(explain(status, operation, value));
    this.status = status;
    this.operation = operation;
    this.value = value;
  }

  /** Whether the error is of this status; narrows its type. */
  static is<S extends StatusName>(error: unknown, status: S): error is StatusError<S> {
    return error instanceof StatusError && error.status === status;
  }
}

function explain(status: StatusName, operation: Operation | undefined, value: bigint): string {
  const advice = status === "DEPOSIT_REQUIRED" ? `${ADVICE[status]}; the minimum deposit is ${value}` : ADVICE[status];
  if (!operation) return `the node refused: ${status}: ${advice}`;
  const { transaction, source, command } = operation;
  return `${commandName(command) ?? command} ${toHex(transaction)} of account ${toHex(source)}: ${status}: ${advice}`;
}

/**
 * No definite reply in time. An operation may have been executed: repeat it with the same transaction id, and it is
 * executed only once.
 */
export class TimeoutError extends TurnpikeError {
  override readonly name = "TimeoutError";
  /** The operation that may have been executed, or the first of several; `undefined` for reads. */
  readonly operation: Operation | undefined;
  /** How long the request was tried. */
  readonly milliseconds: number;

  constructor(milliseconds: number, operation?: Operation, cause?: unknown) {
    const last = cause instanceof Error ? ` (${cause.message})` : "";
    const repeat = operation
      ? `; transaction ${toHex(operation.transaction)} may have been executed: repeat it with the same id, and it is ` +
        "executed only once"
      : "";
    super(`no node answered within ${milliseconds} ms${last}; check that a node runs at the addresses${repeat}`, {
      cause,
    });
    this.operation = operation;
    this.milliseconds = milliseconds;
  }
}

/** The error of a request as that of one of its operations. */
export function errorOf(error: unknown, operation: Operation): unknown {
  if (error instanceof StatusError) return new StatusError(error.status, operation, error.value);
  if (error instanceof TimeoutError && error.operation) {
    return new TimeoutError(error.milliseconds, operation, error.cause);
  }
  return error;
}

/** A node's feed contradicts itself: it does not continue at the cursor, for example. */
export class FeedError extends TurnpikeError {
  override readonly name = "FeedError";

  constructor(message: string) {
    super(`${message}; ask another node`);
  }
}

/** No node could be reached when the client was opened. */
export class UnreachableError extends TurnpikeError {
  override readonly name = "UnreachableError";

  constructor(addresses: readonly string[], cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`no node answers at ${addresses.join(", ")}: ${reason}; check the addresses`, { cause });
  }
}

/** A node belongs to another network than the expected one. */
export class WrongNetworkError extends TurnpikeError {
  override readonly name = "WrongNetworkError";

  constructor(address: string, found: Uint8Array, expected: Uint8Array) {
    super(
      `the node at ${address} is of network ${toHex(found)}, not ${toHex(expected)}; ` +
        "check the address and the network id",
    );
  }
}

/** A queue of the client is full; nothing was sent. */
export class QueueFullError extends TurnpikeError {
  override readonly name = "QueueFullError";

  constructor(limit: number, what: string) {
    super(`${limit} ${what} are waiting already; await some of them before submitting more, or raise the limit`);
  }
}

/** The client was closed. An operation in flight may have been executed. */
export class ClosedError extends TurnpikeError {
  override readonly name = "ClosedError";

  constructor() {
    super("the client is closed; open another one");
  }
}

/** The rule that a proof, a header or a certificate breaks. */
export type Rule =
  | "form"
  | "status"
  | "subject"
  | "unknown block"
  | "count"
  | "position"
  | "depth"
  | "transaction"
  | "leaf"
  | "shape"
  | "order"
  | "root"
  | "asset"
  | "network"
  | "genesis"
  | "version"
  | "seal"
  | "height"
  | "link"
  | "index"
  | "time"
  | "quorum"
  | "signature"
  | "replicas"
  | "change"
  | "statement"
  | "fork";

/** A proof, a header or a certificate that does not hold: the node is faulty, or another network was expected. */
export class ProofError extends TurnpikeError {
  override readonly name: string = "ProofError";
  readonly rule: Rule;

  constructor(rule: Rule, message: string) {
    super(`${message}; ask another node`);
    this.rule = rule;
  }
}
