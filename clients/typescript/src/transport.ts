/** What a client needs from a network: frames, delivered whole or not at all. */

import { MAX_DATAGRAM } from "./protocol.js";

/** Maximum length of a frame, also in a stream. */
export const MAX_FRAME = MAX_DATAGRAM;

/** Receives from a connection. */
export interface Handlers {
  /** A frame arrived. The bytes belong to the receiver. */
  frame(bytes: Uint8Array): void;
  /** The connection ended; called once, and not before `connect` has returned. */
  closed(reason: Error): void;
}

/** A connection to a node. */
export interface Connection {
  /** Sends a frame, without waiting. The bytes must not change until its reply has arrived. */
  send(frame: Uint8Array): void;
  /** Stops and continues the delivery of frames; a few more may come. Without these, a slow receiver takes memory. */
  pause?(): void;
  resume?(): void;
  /** Closes the connection at once. */
  close(): void;
}

/** Connects to a node; rejects if that fails, or when the signal aborts. */
export type Transport = (address: string, handlers: Handlers, signal: AbortSignal) => Promise<Connection>;
