/** Ids of accounts and transactions: 16 bytes each, with types of their own so that they are not confused. */

import { fromHex } from "./bytes.js";

declare const kind: unique symbol;

/** Identifies an account. The top bit is 1 if the id binds a key. */
export type AccountId = Uint8Array & { readonly [kind]: "account" };

/** Identifies an operation, together with its source account or the payer of its deposit. */
export type TransactionId = Uint8Array & { readonly [kind]: "transaction" };

/** A number, 32 hexadecimal digits (hyphens are ignored), or 16 bytes. */
export type IdLike = bigint | number | string | Uint8Array;

const LENGTH = 16;
const RANDOM_BYTES = 10;

function id(value: IdLike): Uint8Array {
  if (value instanceof Uint8Array) {
    if (value.length !== LENGTH) throw new RangeError(`an id has 16 bytes, not ${value.length}`);
    return value.slice();
  }
  if (typeof value === "string") {
    const digits = value.replaceAll("-", "");
    if (digits.length !== 2 * LENGTH) throw new RangeError(`an id has 32 hexadecimal digits, not ${digits.length}`);
    return fromHex(digits);
  }
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is not an exact integer; use a bigint`);
  }
  const number = BigInt(value);
  if (number < 0n || number >> 128n) throw new RangeError(`an id has 128 bits; ${number} is out of range`);
  return fromHex(number.toString(16).padStart(2 * LENGTH, "0"));
}

/** The account with this id. */
export function accountId(value: IdLike): AccountId {
  return id(value) as AccountId;
}

/** The transaction id with this value. A UUIDv7 carries a time, so a retry never executes twice. */
export function transactionId(value: IdLike): TransactionId {
  return id(value) as TransactionId;
}

/** Whether the account's id binds a key, so that only its signature debits it. */
export function isKeyed(account: AccountId): boolean {
  return (account[0]! & 0x80) !== 0;
}

/** Whether the id has the form of a UUIDv7. */
export function isTimed(transaction: TransactionId): boolean {
  return transaction[6]! >> 4 === 7 && transaction[8]! >> 6 === 2;
}

/** A new transaction id: a UUIDv7 with the present time. */
export function newTransactionId(): TransactionId {
  const bytes = new Uint8Array(LENGTH);
  writeTransactionId(bytes, 0);
  return bytes as TransactionId;
}

/** Random bytes, fetched in blocks because a call to the generator costs more than its bytes. */
const pool = new Uint8Array(RANDOM_BYTES * 1024);
let used = pool.length;

/** Writes a new transaction id. */
export function writeTransactionId(bytes: Uint8Array, at: number): void {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const now = Date.now();
  const high = Math.floor(now / 0x1_0000_0000);
  bytes[at] = high >> 8;
  bytes[at + 1] = high;
  bytes[at + 2] = now >>> 24;
  bytes[at + 3] = now >>> 16;
  bytes[at + 4] = now >>> 8;
  bytes[at + 5] = now;
  for (let byte = 6; byte < LENGTH; byte++) bytes[at + byte] = pool[used++]!;
  bytes[at + 6] = 0x70 | (bytes[at + 6]! & 0x0f);
  bytes[at + 8] = 0x80 | (bytes[at + 8]! & 0x3f);
}
