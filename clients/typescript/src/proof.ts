/** Proofs of the own chain: that a transaction is in a block, and what an account holds. */

import { Reader, concat, equal, viewOf } from "./bytes.js";
import { type BlockHeader, type HeaderChain, statesIndex } from "./chain.js";
import { ProofError, statusName } from "./errors.js";
import { type Hash, ZERO_HASH, accountPath, indexLeaf, indexNode, transactionLeaf, transactionNode } from "./hash.js";
import type { AccountId, TransactionId } from "./ids.js";
import { namerOf } from "./operation.js";
import { Command, IndexEntry, IndexReply, Operation, ProofReply, ProofRequest, SignedOperation } from "./protocol.js";

const HASH = 32;
const MAX_LEAF_ENTRIES = 16;
const PATH_BITS = 64;

// Marks in an entry, above its position: the highest is of a hold, the next of a frozen account, both are of an asset.
const FROZEN = 1;
const ASSET = 3;
const ASSET_BIT = 1 << 29;

/** The position of the latest transaction in its block. */
export function latestPosition(entry: IndexEntry): number {
  return entry.position & (ASSET_BIT - 1);
}

/** Whether the entry is that of an account that cannot pay. */
export function isFrozen(entry: IndexEntry): boolean {
  return entry.position >>> 30 === FROZEN;
}

/** Whether an account or a hold is of another asset than 0. Do not take its balance for one of asset 0. */
export function hasAsset(entry: IndexEntry): boolean {
  return (entry.position & ASSET_BIT) !== 0;
}

/** The asset that an entry states, if it is that of an asset. */
export function statedAsset(entry: IndexEntry): number | undefined {
  return entry.position >>> 30 === ASSET && entry.balance < 2n ** 32n ? Number(entry.balance) : undefined;
}

/** The fixed part of a reply with a proof, and a reader of the rest. */
function fixed<T>(frame: Uint8Array, layout: { LENGTH: number; decode(view: DataView): T }): [T, Reader] {
  if (frame.length < layout.LENGTH) throw truncated();
  const status = viewOf(frame).getUint16(ProofRequest.at.status);
  if (status) throw new ProofError("status", `the node answered with status ${statusName(status) ?? status}`);
  return [layout.decode(viewOf(frame)), new Reader(frame.subarray(layout.LENGTH))];
}

function truncated(): ProofError {
  return new ProofError("form", "the reply is shorter than its fields require");
}

function path(reader: Reader, depth: number): Hash[] {
  return Array.from({ length: depth }, () => reader.bytes(HASH));
}

/** A step of a path: a node, its sibling, and the parent that both hash to. */
export interface PathStep {
  readonly node: Hash;
  readonly sibling: Hash;
  /** Whether the node is the right child of its parent. */
  readonly isRight: boolean;
  readonly parent: Hash;
}

function findHeader(chain: HeaderChain, height: bigint, hash: Hash): BlockHeader {
  const header = chain.find(height, hash);
  if (!header) throw new ProofError("unknown block", `block ${height} of the proof is not among the trusted headers`);
  return header;
}

/** A transaction and its path to a header's transaction root: the reply to proof queries 1, 2 and 3. */
export class TransactionProof {
  /** The whole reply, which anybody can verify again. */
  readonly reply: Uint8Array;
  readonly #fixed: ProofReply;
  readonly #path: readonly Hash[];
  readonly #transaction: Uint8Array;

  private constructor(reply: Uint8Array) {
    const [fields, reader] = fixed(reply, ProofReply);
    this.reply = reply;
    this.#fixed = fields;
    try {
      this.#path = path(reader, fields.depth);
      this.#transaction = reader.bytes(fields.transactionLength);
    } catch {
      throw truncated();
    }
    const { length } = this.#transaction;
    const hasForm = length === Operation.LENGTH || length === SignedOperation.LENGTH;
    if (!hasForm || this.operation.status !== 0) throw new ProofError("transaction", "the transaction is malformed");
  }

  static decode(reply: Uint8Array): TransactionProof {
    return new TransactionProof(reply);
  }

  get height(): bigint {
    return this.#fixed.blockHeight;
  }

  get blockHash(): Hash {
    return this.#fixed.blockHash;
  }

  /** The position of the transaction in the block. */
  get position(): number {
    return this.#fixed.position;
  }

  /** The height of the node's tip when it replied. */
  get tipHeight(): bigint {
    return this.#fixed.tipHeight;
  }

  get operation(): Operation {
    return Operation.decode(viewOf(this.#transaction));
  }

  /** The signed operation, if it was signed. */
  get signed(): SignedOperation | undefined {
    const isSigned = this.#transaction.length === SignedOperation.LENGTH;
    return isSigned ? SignedOperation.decode(viewOf(this.#transaction)) : undefined;
  }

  /** The hash of the transaction, as the reply states it. */
  get leaf(): Hash {
    return this.#fixed.leaf;
  }

  /** The steps from the leaf up, hashed from the reply. Nothing vouches for them until {@link verify} has returned. */
  steps(): readonly PathStep[] {
    let [node, index] = [this.leaf, this.position];
    return this.#path.map((sibling) => {
      const isRight = (index & 1) === 1;
      const parent = isRight ? transactionNode(sibling, node) : transactionNode(node, sibling);
      const step = { node, sibling, isRight, parent };
      [node, index] = [parent, index >>> 1];
      return step;
    });
  }

  /** Checks the proof against the block's header in the chain. */
  verify(chain: HeaderChain): void {
    this.verifyIn(findHeader(chain, this.height, this.blockHash));
  }

  /** Checks the proof against a header that the caller trusts. */
  verifyIn(header: BlockHeader): void {
    const { transactionCount, position, leaf } = this.#fixed;
    if (transactionCount !== header.transactions) {
      throw new ProofError("count", `the proof is for ${transactionCount} transactions, not ${header.transactions}`);
    }
    if (!equal(transactionLeaf(this.#transaction), leaf)) {
      throw new ProofError("leaf", "the leaf is not the hash of the transaction");
    }
    if (position >= transactionCount) throw new ProofError("position", `position ${position} is outside the block`);
    const depth = transactionCount === 1 ? 0 : 32 - Math.clz32(transactionCount - 1);
    if (this.#path.length !== depth) {
      throw new ProofError("depth", `the path has ${this.#path.length} nodes, not ${depth}`);
    }
    for (const [level, sibling] of this.#path.entries()) {
      // Beyond the tree's edge siblings are zero, and nowhere else.
      const isInside = ((position >>> level) ^ 1) <= (transactionCount - 1) >>> level;
      if (isInside === equal(sibling, ZERO_HASH)) throw new ProofError("shape", "a sibling does not fit the tree");
    }
    if (!equal(this.steps().at(-1)?.parent ?? leaf, header.transactionRoot)) {
      throw new ProofError("root", "the path does not lead to the header's transaction root");
    }
  }

  /** Whether it has this id, and this account named it: the source, or the payer or receiver that the id belongs to. */
  isNamed(transaction: TransactionId, account: AccountId): boolean {
    const { operation } = this;
    return equal(operation.transaction, transaction) && equal(namerOf(operation), account);
  }

  /** Whether it created the account, changed its balance, or made or ended a hold of it or for it. */
  involves(account: AccountId): boolean {
    const { operation } = this;
    const hasBoth = [Command.TRANSFER, Command.HOLD].some((command) => command === operation.command);
    const other = hasBoth ? operation.destination : namerOf(operation);
    return equal(operation.source, account) || equal(other, account);
  }
}

/** A leaf of the index and its path to a header's index root: the reply to proof query 4. */
export class IndexProof {
  /** The whole reply, which anybody can verify again. */
  readonly reply: Uint8Array;
  readonly #fixed: IndexReply;
  readonly #path: readonly Hash[];
  readonly #leaf: Uint8Array;
  readonly #entries: readonly IndexEntry[];

  private constructor(reply: Uint8Array) {
    const [fields, reader] = fixed(reply, IndexReply);
    this.reply = reply;
    this.#fixed = fields;
    try {
      this.#path = path(reader, fields.depth);
      this.#leaf = reader.bytes(fields.entryCount * IndexEntry.LENGTH);
    } catch {
      throw truncated();
    }
    const view = viewOf(this.#leaf);
    this.#entries = Array.from({ length: fields.entryCount }, (_, at) =>
      IndexEntry.decode(view, at * IndexEntry.LENGTH),
    );
  }

  static decode(reply: Uint8Array): IndexProof {
    return new IndexProof(reply);
  }

  get height(): bigint {
    return this.#fixed.blockHeight;
  }

  get blockHash(): Hash {
    return this.#fixed.blockHash;
  }

  /** The entries of the leaf. Nothing vouches for them until {@link verify} has returned. */
  get entries(): readonly IndexEntry[] {
    return this.#entries;
  }

  /** The hash of the entries. */
  get leaf(): Hash {
    return indexLeaf(this.#leaf);
  }

  /** The steps from the leaf up, hashed from the reply. Nothing vouches for them until {@link verify} has returned. */
  steps(account: AccountId): readonly PathStep[] {
    const route = accountPath(account);
    let node = this.leaf;
    return this.#path.map((sibling, level) => {
      const isRight = ((route >> BigInt(PATH_BITS - this.#path.length + level)) & 1n) === 1n;
      const parent = isRight ? indexNode(sibling, node) : indexNode(node, sibling);
      const step = { node, sibling, isRight, parent };
      node = parent;
      return step;
    });
  }

  /**
   * Checks the proof against the block's header in the chain, and returns the account's entry; `undefined` if the
   * account provably does not exist in that block.
   */
  verify(account: AccountId, chain: HeaderChain): IndexEntry | undefined {
    return this.verifyIn(account, findHeader(chain, this.height, this.blockHash));
  }

  /** Checks the proof against a header that the caller trusts. Returns the same as {@link verify}. */
  verifyIn(account: AccountId, header: BlockHeader): IndexEntry | undefined {
    if (!statesIndex(header)) throw new ProofError("root", "the header states no index root; ask for the proof again");
    this.#checkLeaf(accountPath(account), header.accounts);
    if (!equal(this.steps(account).at(-1)?.parent ?? this.leaf, header.indexRoot)) {
      throw new ProofError("root", "the path does not lead to the header's index root");
    }
    return this.#entries.find((entry) => equal(entry.account, account));
  }

  /** Checks that the leaf is well formed: absence from a leaf proves nothing if entries may be anywhere. */
  #checkLeaf(route: bigint, accounts: bigint): void {
    const [depth, count] = [this.#path.length, this.#entries.length];
    if (depth > PATH_BITS) throw new ProofError("depth", `the path has ${depth} nodes, more than an index has`);
    const isSmall = count <= MAX_LEAF_ENTRIES;
    const countFits =
      depth === 0 ? accounts === BigInt(count) : accounts > BigInt(Math.max(MAX_LEAF_ENTRIES, count - 1));
    if (!(isSmall || depth === PATH_BITS) || !countFits) {
      throw new ProofError("count", `a leaf of ${count} accounts cannot be at depth ${depth}`);
    }
    let before: Uint8Array | undefined;
    for (const { account } of this.#entries) {
      const entryPath = accountPath(account);
      if (depth > 0 && (entryPath ^ route) >> BigInt(PATH_BITS - depth)) {
        throw new ProofError("position", "an entry of the leaf belongs to another leaf");
      }
      const key = concat(new Uint8Array(8), account);
      viewOf(key).setBigUint64(0, entryPath);
      if (before && compare(before, key) >= 0)
        throw new ProofError("order", "the entries of the leaf are not in order");
      before = key;
    }
    if (isSmall && this.#path[0] && equal(this.#path[0], ZERO_HASH)) {
      throw new ProofError("shape", "the leaf has an empty sibling and should have been its parent");
    }
  }
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, at) => byte !== b[at]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}
