/** Frames over TCP: each after its length, in four bytes. */

import { createConnection } from "node:net";
import { parseAddress } from "./address.js";
import { viewOf } from "./bytes.js";
import { type Connection, type Handlers, MAX_FRAME } from "./transport.js";

const PREFIX = 4;

/** Connects to `HOST:PORT`, `HOST` or `[IPV6]:PORT`. */
export function connectTcp(address: string, handlers: Handlers, signal: AbortSignal): Promise<Connection> {
  const { host, port } = parseAddress(address);
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = createConnection({ host, port, noDelay: true, keepAlive: true });
    const abort = (): void => void socket.destroy(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    let fail = (error: Error): void => {
      signal.removeEventListener("abort", abort);
      reject(error);
    };
    let reason = new Error(`${address} closed the connection`);
    const frames = new FrameReader(handlers.frame);
    socket.on("data", (chunk: Uint8Array) => {
      if (!frames.push(chunk)) socket.destroy(new Error(`${address} sent a length that no frame has`));
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      reason = new Error(`${address}: ${error.code ?? error.message}`, { cause: error });
    });
    socket.on("close", () => fail(reason));
    socket.on("connect", () => {
      signal.removeEventListener("abort", abort);
      fail = (error) => handlers.closed(error);
      resolve({
        send(frame) {
          const prefix = new Uint8Array(PREFIX);
          viewOf(prefix).setUint32(0, frame.length);
          socket.cork();
          socket.write(prefix);
          socket.write(frame);
          socket.uncork();
        },
        pause: () => void socket.pause(),
        resume: () => void socket.resume(),
        close: () => void socket.destroy(),
      });
    });
  });
}

/** Cuts a stream into frames. */
class FrameReader {
  readonly #take: (frame: Uint8Array) => void;
  readonly #prefix = new Uint8Array(PREFIX);
  /** The frame that is being read; `undefined` while its length is. */
  #frame: Uint8Array | undefined;
  #filled = 0;

  constructor(take: (frame: Uint8Array) => void) {
    this.#take = take;
  }

  /** Takes bytes. Returns false if they have a length that no frame has. */
  push(chunk: Uint8Array): boolean {
    let at = 0;
    while (at < chunk.length) {
      const target = this.#frame ?? this.#prefix;
      const part = chunk.subarray(at, at + target.length - this.#filled);
      target.set(part, this.#filled);
      at += part.length;
      this.#filled += part.length;
      if (this.#filled < target.length) break;
      this.#filled = 0;
      if (this.#frame) {
        this.#frame = undefined;
        this.#take(target);
      } else {
        const length = viewOf(target).getUint32(0);
        if (length === 0 || length > MAX_FRAME) return false;
        this.#frame = new Uint8Array(length);
      }
    }
    return true;
  }
}
