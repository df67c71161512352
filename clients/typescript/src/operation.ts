/** Operations, and their signed form. */

import { equalAt } from "./bytes.js";
import { type AccountId, type TransactionId, accountId, isTimed, newTransactionId } from "./ids.js";
import { Command, type CommandName, Operation } from "./protocol.js";

/** Optional fields of an operation. */
export interface OperationFields {
  /** Names the operation, together with its source or payer; a new UUIDv7 by default. */
  readonly transaction?: TransactionId;
  /** The contract that the operation belongs to, a number of 32 bits; the ledger does not interpret it. */
  readonly contract?: number;
}

/** Flag of an operation whose transaction id is a UUIDv7, which carries a time. */
export const TIMED = 1;

/** Flag of an operation that succeeds or fails with the next one of its batch. */
export const LINKED = 2;

const NOBODY = accountId(0n);
const MAX_AMOUNT = 0xffff_ffff_ffff_ffffn;

/** Checks an amount: anything else would be truncated silently when it is encoded. */
export function checkAmount(amount: bigint): void {
  if (amount < 0n || amount > MAX_AMOUNT) throw new RangeError(`amount ${amount} does not fit in 64 bits`);
}

/** Checks the length of ids, which types alone do not guarantee to programs in JavaScript. */
export function checkIds(...ids: readonly (Uint8Array | undefined)[]): void {
  for (const id of ids) if (id && id.length !== 16) throw new RangeError(`an id has 16 bytes, not ${id.length}`);
}

function operation(
  command: CommandName,
  source: AccountId,
  destination: AccountId,
  amount: bigint,
  { transaction = newTransactionId(), contract = 0 }: OperationFields,
): Operation {
  checkAmount(amount);
  checkIds(source, destination, transaction);
  const flags = isTimed(transaction) && !endsHold(Command[command]) ? TIMED : 0;
  return { flags, command: Command[command], status: 0, contract, transaction, source, destination, amount };
}

/** CREATE of an account. */
export function create(account: AccountId, fields: OperationFields = {}): Operation {
  return operation("CREATE", account, NOBODY, 0n, fields);
}

/** CREATE of a keyed account for a deposit, to be signed with the payer's key. */
export function createFor(
  account: AccountId,
  payer: AccountId,
  deposit: bigint,
  fields: OperationFields = {},
): Operation {
  return operation("CREATE", account, payer, deposit, fields);
}

/** A CREATE as an OPEN in an asset: nothing is paid between accounts of different assets. Asset 0 is that of a CREATE. */
export function inAsset(create: Operation, asset: number): Operation {
  if (create.command !== Command.CREATE) throw new RangeError("only a CREATE opens an account in an asset");
  return asset === 0 ? create : { ...create, command: Command.OPEN, contract: asset };
}

/** ISSUE of new money to an account. */
export function issue(account: AccountId, amount: bigint, fields: OperationFields = {}): Operation {
  return operation("ISSUE", account, NOBODY, amount, fields);
}

/** TRANSFER of an amount from the source to the destination. */
export function transfer(
  source: AccountId,
  destination: AccountId,
  amount: bigint,
  fields: OperationFields = {},
): Operation {
  return operation("TRANSFER", source, destination, amount, fields);
}

/**
 * HOLD of an amount of the source for the destination, until `expiry`, in seconds since the Unix epoch; 0 if it does not
 * expire. Keep it: the operations that end the hold are made from it.
 */
export function hold(
  source: AccountId,
  destination: AccountId,
  amount: bigint,
  expiry = 0,
  { transaction }: Pick<OperationFields, "transaction"> = {},
): Operation {
  return operation("HOLD", source, destination, amount, { ...(transaction && { transaction }), contract: expiry });
}

/** CAPTURE of an amount of this HOLD: the source gets the rest back. */
export function capture(hold: Operation, amount: bigint): Operation {
  return endOf(hold, "CAPTURE", amount);
}

/** RELEASE of this HOLD by its destination. */
export function release(hold: Operation): Operation {
  return endOf(hold, "RELEASE", 0n);
}

/** RECLAIM of this HOLD by its source, after its expiry. */
export function reclaim(hold: Operation): Operation {
  return endOf(hold, "RECLAIM", 0n);
}

function endOf({ source, destination, transaction, contract }: Operation, end: CommandName, amount: bigint): Operation {
  return operation(end, source, destination, amount, { transaction, contract });
}

/** Whether a command ends a hold: then its transaction id is that of the hold, in the name of the destination. */
export function endsHold(command: number): boolean {
  return command === Command.CAPTURE || command === Command.RELEASE || command === Command.RECLAIM;
}

/** FREEZE of an account: it receives, but cannot pay. An issuer signs for a keyed account. */
export function freeze(account: AccountId, fields: OperationFields = {}): Operation {
  return operation("FREEZE", account, NOBODY, 0n, fields);
}

/** UNFREEZE: lets a frozen account pay again. */
export function unfreeze(account: AccountId, fields: OperationFields = {}): Operation {
  return operation("UNFREEZE", account, NOBODY, 0n, fields);
}

/** CLOSE of an account, whose balance must be 0. */
export function close(account: AccountId, fields: OperationFields = {}): Operation {
  return operation("CLOSE", account, NOBODY, 0n, fields);
}

/** REFER: reads the balance of an account. */
export function refer(account: AccountId, fields: OperationFields = {}): Operation {
  return operation("REFER", account, NOBODY, 0n, fields);
}

/** The account that the transaction id belongs to. */
export function namerOf(operation: Operation): AccountId {
  return endsHold(operation.command) ? operation.destination : (payerOf(operation) ?? operation.source);
}

/** Who pays the deposit for another account, if anybody does. */
export function payerOf(operation: Operation): AccountId | undefined {
  const creates = operation.command === Command.CREATE || operation.command === Command.OPEN;
  const pays = creates && operation.destination.some((byte) => byte !== 0);
  return pays ? operation.destination : undefined;
}

/** Whether an entry of a reply repeats the operation at the same offset of the request, except status and amount. */
export function repeats(request: Uint8Array, reply: Uint8Array, at: number): boolean {
  const { command, status, contract, amount } = Operation.at;
  return (
    request[at] === reply[at] &&
    equalAt(request, reply, at + command, at + status) &&
    equalAt(request, reply, at + contract, at + amount)
  );
}
