/** Pages of histories, and the issued amounts of assets. Nothing in them is proved. */

import { equal, viewOf } from "./bytes.js";
import { statusName } from "./errors.js";
import type { AccountId } from "./ids.js";
import { AssetTotal, AssetsFrame, Command, type CommandName, HistoryEntry, HistoryFrame } from "./protocol.js";
import type { Operation } from "./protocol.js";
import { type Answer, type Request, isReply, writeHeader } from "./requests.js";

/** Bits of the flags of a history frame. */
const OPEN_HOLDS = 1;
const CURSOR = 2;
const PRUNED = 4;
const ROLES = { source: 1, destination: 2 } as const;

/** Where a transaction is: the height of its block, and its position there. */
export interface Locator {
  readonly height: number;
  readonly position: number;
}

/** Selects transactions of a history. Without conditions, all. */
export interface HistoryFilter {
  /** The commands. */
  readonly commands?: readonly CommandName[];
  /** The part of the account: `source` pays, `destination` receives or pays a deposit. */
  readonly role?: keyof typeof ROLES;
  /** The other account. */
  readonly counterpart?: AccountId;
  /** Select HOLDs whose amount is still held. */
  readonly isOpenHold?: boolean;
  /** Height of the first block. */
  readonly firstHeight?: number;
  /** Height of the first block after those to select from. */
  readonly endHeight?: number;
  /** Select from blocks made at this time or later, in microseconds since the Unix epoch. */
  readonly firstTime?: bigint;
  /** Select from blocks made before this time. */
  readonly endTime?: bigint;
}

/** A transaction of a history. `LightClient` proves it by its locator. */
export interface PastTransaction extends Locator {
  /** When its block was made, in microseconds since the Unix epoch. */
  readonly time: bigint;
  readonly operation: Operation;
}

/** A page of a history. */
export interface HistoryPage {
  /** Height of the node's tip. */
  readonly tipHeight: bigint;
  /** The transactions, the newest first. A page can be short, or empty, and still have more after it. */
  readonly transactions: readonly PastTransaction[];
  /** The cursor of the next page, if there may be more. */
  readonly next: Locator | undefined;
  /** Height of the first block that is not pruned, if earlier transactions are. */
  readonly firstRetained: number | undefined;
}

/** A part of the issued amounts by asset. */
export interface AssetPage {
  /** Height of the block that the amounts are as of. */
  readonly height: bigint;
  /** Issued amounts by code, ascending; of asset 0 less the deposits that were paid. */
  readonly issued: ReadonlyMap<number, bigint>;
  /** The first asset of the next page, if there are more. */
  readonly next: number | undefined;
}

/** A request for a page, with room for as many entries as fit a frame. */
export function historyRequest(
  account: AccountId,
  filter: HistoryFilter,
  cursor: Locator | undefined,
  count: number,
  maxFrame: number,
): Request<HistoryPage> {
  const most = fitting(count, maxFrame, HistoryFrame.LENGTH, HistoryEntry.LENGTH);
  const frame = new Uint8Array(HistoryFrame.LENGTH + most * HistoryEntry.LENGTH);
  const view = writeHeader(frame, "history");
  const fixed = HistoryFrame.decode(view);
  HistoryFrame.encode(view, 0, {
    ...fixed,
    count: most,
    role: filter.role ? ROLES[filter.role] : 0,
    flags: (filter.isOpenHold ? OPEN_HOLDS : 0) | (cursor ? CURSOR : 0),
    commands: (filter.commands ?? []).reduce((bits, name) => bits | (1 << Command[name]), 0),
    firstHeight: filter.firstHeight ?? 0,
    endHeight: filter.endHeight ?? 0,
    firstTime: filter.firstTime ?? 0n,
    endTime: filter.endTime ?? 0n,
    cursorHeight: cursor?.height ?? 0,
    cursorPosition: cursor?.position ?? 0,
    account,
    counterpart: filter.counterpart ?? fixed.counterpart,
  });
  return { frame, read: (reply) => readHistory(frame, reply) };
}

/** Reads a history frame; `undefined` if it does not answer this request. */
export function readHistory(request: Uint8Array, reply: Uint8Array): Answer<HistoryPage> | undefined {
  const { LENGTH } = HistoryFrame;
  if (!isReply(reply, "history", LENGTH)) return undefined;
  const [asked, fixed] = [HistoryFrame.decode(viewOf(request)), HistoryFrame.decode(viewOf(reply))];
  const status = statusName(fixed.status);
  const isAnswer =
    equal(fixed.account, asked.account) &&
    equal(fixed.counterpart, asked.counterpart) &&
    fixed.role === asked.role &&
    fixed.commands === asked.commands &&
    fixed.firstHeight === asked.firstHeight &&
    fixed.endHeight === asked.endHeight &&
    fixed.firstTime === asked.firstTime &&
    fixed.endTime === asked.endTime;
  const isWhole = reply.length === LENGTH + fixed.count * HistoryEntry.LENGTH && fixed.count <= asked.count;
  if (!status || !isAnswer || !isWhole) return undefined;
  if (status !== "OK") return fixed.count === 0 ? { status } : undefined;
  const view = viewOf(reply);
  const transactions = Array.from({ length: fixed.count }, (_, at) =>
    HistoryEntry.decode(view, LENGTH + at * HistoryEntry.LENGTH),
  );
  const next = cursorOf(fixed);
  if (!isInOrder(transactions, cursorOf(asked), next)) return undefined;
  const value = {
    tipHeight: fixed.tipHeight,
    transactions,
    next,
    firstRetained: (fixed.flags & PRUNED) !== 0 ? fixed.firstRetained : undefined,
  };
  return { status, value };
}

function cursorOf(frame: HistoryFrame): Locator | undefined {
  return (frame.flags & CURSOR) !== 0 ? { height: frame.cursorHeight, position: frame.cursorPosition } : undefined;
}

function isBefore(a: Locator, b: Locator): boolean {
  return a.height < b.height || (a.height === b.height && a.position < b.position);
}

/**
 * Whether a page descends from the cursor of its request to its own. Otherwise a client that continues there might not
 * end, or count a transaction twice.
 */
function isInOrder(page: readonly Locator[], cursor: Locator | undefined, next: Locator | undefined): boolean {
  let last = cursor;
  for (const at of page) {
    if (last && !isBefore(at, last)) return false;
    last = at;
  }
  if (!next) return true;
  return (!cursor || isBefore(next, cursor)) && page.every((at) => !isBefore(at, next));
}

/** A request for issued amounts, with room for as many assets as fit a frame. */
export function assetsRequest(first: number, count: number, maxFrame: number): Request<AssetPage> {
  const most = fitting(count, maxFrame, AssetsFrame.LENGTH, AssetTotal.LENGTH);
  const frame = new Uint8Array(AssetsFrame.LENGTH + most * AssetTotal.LENGTH);
  const view = writeHeader(frame, "assets");
  AssetsFrame.encode(view, 0, { ...AssetsFrame.decode(view), count: most, firstAsset: first });
  return { frame, read: (reply) => readAssets(frame, reply) };
}

/** Reads an assets frame; `undefined` if it does not answer this request. */
export function readAssets(request: Uint8Array, reply: Uint8Array): Answer<AssetPage> | undefined {
  const { LENGTH } = AssetsFrame;
  if (!isReply(reply, "assets", LENGTH)) return undefined;
  const [asked, fixed] = [AssetsFrame.decode(viewOf(request)), AssetsFrame.decode(viewOf(reply))];
  const status = statusName(fixed.status);
  const isWhole = reply.length === LENGTH + fixed.count * AssetTotal.LENGTH && fixed.count <= asked.count;
  if (!status || fixed.firstAsset !== asked.firstAsset || !isWhole) return undefined;
  if (status !== "OK") return fixed.count === 0 ? { status } : undefined;
  const issued = new Map<number, bigint>();
  let last = asked.firstAsset - 1;
  for (let at = LENGTH; at < reply.length; at += AssetTotal.LENGTH) {
    const total = AssetTotal.decode(viewOf(reply), at);
    if (total.asset <= last) return undefined;
    last = total.asset;
    issued.set(
      total.asset,
      total.issued.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n),
    );
  }
  // Otherwise a client that continues at `next` might not end, or count an asset twice.
  if (fixed.nextAsset !== 0 && fixed.nextAsset <= Math.max(last, fixed.firstAsset)) return undefined;
  return { status, value: { height: fixed.tipHeight, issued, next: fixed.nextAsset || undefined } };
}

function fitting(count: number, maxFrame: number, fixed: number, size: number): number {
  if (!(count >= 1)) throw new RangeError(`a page of ${count} entries is empty; ask for at least 1`);
  return Math.min(count, Math.floor((maxFrame - fixed) / size));
}
