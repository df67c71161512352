/**
 * Everything except the transport of Node: nothing here needs Node, so that a browser can verify proofs, and can be a
 * client with a transport of its own.
 */

export { Batch, BatchResult } from "./batch.js";
export type { Receipt } from "./batcher.js";
export { equal, fromHex, toHex } from "./bytes.js";
export { type BlockHeader, ForkError, HeaderChain, decodeHeader, statesIndex } from "./chain.js";
export { Client, type ClientOptions, type ExecuteOptions } from "./client.js";
export {
  ClosedError,
  FeedError,
  ProofError,
  QueueFullError,
  type Rule,
  StatusError,
  TimeoutError,
  TurnpikeError,
  UnreachableError,
  WrongNetworkError,
} from "./errors.js";
export { Feed, type FeedOptions, type FeedPart, type JournalEntry } from "./feed.js";
export { Certificate, Reconfiguration, ReplicaSet, Vouched } from "./finality.js";
export type { Hash } from "./hash.js";
export type { AssetPage, HistoryFilter, HistoryPage, Locator, PastTransaction } from "./history.js";
export {
  type AccountId,
  type IdLike,
  type TransactionId,
  accountId,
  isKeyed,
  isTimed,
  newTransactionId,
  transactionId,
} from "./ids.js";
export { type Finality, LightClient, type ProvedBalance, proveAsset } from "./light.js";
export * as operation from "./operation.js";
export {
  IndexProof,
  type PathStep,
  TransactionProof,
  hasAsset,
  isFrozen,
  latestPosition,
  statedAsset,
} from "./proof.js";
export {
  ADVICE,
  Command,
  type CommandName,
  type IndexEntry,
  type InfoFrame,
  type Operation,
  PromiseLevel,
  type PromiseLevelName,
  type SignedOperation,
  Status,
  type StatusName,
} from "./protocol.js";
export { Signer, keyedAccount, verifySignature } from "./signer.js";
export type { Connection, Handlers, Transport } from "./transport.js";
export { connectWebSocket } from "./web_socket.js";
