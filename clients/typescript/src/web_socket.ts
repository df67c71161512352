/** Frames over a WebSocket of a node's HTTP address, each as a message: for browsers, and for Node from 22 on. */

import { type Connection, type Handlers, MAX_FRAME } from "./transport.js";

/** Whether the address is one of a WebSocket. */
export function isWebSocket(address: string): boolean {
  return /^wss?:\/\//.test(address);
}

/** The path of a node's WebSocket, unless the address has another one. */
const PATH = "/frames";
/**
 * Bytes that arrive at most while the program reads none: the interface has no way to hold the sender up. Beyond them
 * the connection ends, so memory stays bounded, and a feed continues at its cursor with another one. 64 frames of a feed.
 */
const MAX_UNREAD = 64 * MAX_FRAME;

/** Browsers give no details, so that a page cannot explore a network. */
function detailOf(event: Event): string {
  const { message } = event as { readonly message?: unknown };
  return typeof message === "string" && message ? message : "no WebSocket was opened";
}

function open(address: string): WebSocket {
  if (typeof WebSocket === "undefined") {
    throw new RangeError(
      `this runtime has no WebSocket for ${address}; use Node 22 or newer, or HOST:PORT, which is over TCP`,
    );
  }
  try {
    const url = new URL(address);
    if (url.pathname === "/") url.pathname = PATH;
    return new WebSocket(url.href);
  } catch (error) {
    throw new RangeError(
      `${JSON.stringify(address)} is not the address of a WebSocket; write ws://HOST:PORT, with the port of HTTP`,
      { cause: error },
    );
  }
}

/**
 * Connects to `ws://HOST:PORT` or `wss://HOST:PORT`, the HTTP address of a node. It answers queries and feeds there, but
 * no operations. In a browser, the page must come from the same address.
 */
export async function connectWebSocket(address: string, handlers: Handlers, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted();
  const socket = open(address);
  socket.binaryType = "arraybuffer";
  return new Promise((resolve, reject) => {
    let unread: number | undefined;
    let reason: Error | undefined;
    const end = (why: Error): void => {
      reason ??= why;
      socket.close();
    };
    const abort = (): void => end(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    let fail = (why: Error): void => {
      signal.removeEventListener("abort", abort);
      reject(why);
    };
    socket.onmessage = ({ data }) => {
      // The interface delivers what has arrived before it closes.
      if (reason) return;
      if (!(data instanceof ArrayBuffer)) return end(new Error(`${address} sent a text, which is no frame`));
      if (unread !== undefined && (unread += data.byteLength) > MAX_UNREAD) {
        return end(new Error(`this program read too slowly from ${address}`));
      }
      handlers.frame(new Uint8Array(data));
    };
    // Some runtimes report a handshake that fails by this event only; after it, the end of a connection by the next one.
    socket.onerror = (event) => {
      if (socket.readyState !== WebSocket.OPEN) fail(reason ?? new Error(`${address}: ${detailOf(event)}`));
    };
    socket.onclose = ({ code, reason: text }) =>
      fail(reason ?? new Error(`${address} closed the WebSocket: ${text || `code ${code}`}`));
    socket.onopen = () => {
      signal.removeEventListener("abort", abort);
      fail = (why) => handlers.closed(why);
      resolve({
        send: (frame) => socket.send(frame as Uint8Array<ArrayBuffer>),
        pause: () => void (unread = 0),
        resume: () => void (unread = undefined),
        close: () => end(new Error("closed by this program")),
      });
    };
  });
}
