/** Frames to the node that served the page, one POST each. */

import type { Connection, Handlers } from "turnpike/transport.js";

/** A transport for the client's requests; the address has no meaning, because there is one node. */
export function post(_address: string, handlers: Handlers, signal: AbortSignal): Promise<Connection> {
  const closing = new AbortController();
  const close = (): void => closing.abort();
  signal.addEventListener("abort", close, { once: true });
  let isClosed = false;
  const fail = (reason: unknown): void => {
    if (isClosed || closing.signal.aborted) return;
    isClosed = true;
    handlers.closed(reason instanceof Error ? reason : new Error(String(reason)));
  };
  const send = async (frame: Uint8Array): Promise<void> => {
    const headers = { "Content-Type": "application/octet-stream" };
    const body = frame as Uint8Array<ArrayBuffer>;
    const response = await fetch("/frames", { method: "POST", headers, body, signal: closing.signal });
    if (!response.ok) throw new Error(`POST /frames: ${(await response.text()).trim() || `status ${response.status}`}`);
    const reply = new Uint8Array(await response.arrayBuffer());
    if (!closing.signal.aborted) handlers.frame(reply);
  };
  return Promise.resolve({ send: (frame) => void send(frame).catch(fail), close });
}
