/** Frames over UDP: one in each datagram, which the path may lose, repeat or reorder. */

import { type Socket, createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { UDP, parseAddress } from "./address.js";
import { type Connection, type Handlers, MAX_FRAME } from "./transport.js";

/** Room for the replies to all frames in flight, in bytes; the kernel may grant less. */
const RECEIVE_BUFFER = 4 << 20;
/** Wait for the first reply of a node, in milliseconds. */
const REPEAT_AFTER = 100;

/** Exchanges datagrams with the node at `udp://HOST:PORT`, and with nobody else. */
export async function connectUdp(address: string, handlers: Handlers, signal: AbortSignal): Promise<Connection> {
  const { host, port } = parseAddress(address.slice(UDP.length));
  signal.throwIfAborted();
  const { address: resolved, family } = await lookup(host);
  const socket = createSocket({ type: family === 6 ? "udp6" : "udp4" });
  try {
    socket.connect(port, resolved);
    await once(socket, "connect", { signal });
    socket.setRecvBufferSize(RECEIVE_BUFFER);
    refuseSelf(socket, address);
  } catch (error) {
    socket.close();
    throw error;
  }
  let isOpen = true;
  let isAnswered = false;
  let repeat: ReturnType<typeof setInterval> | undefined;
  const close = (): void => {
    clearInterval(repeat);
    if (isOpen) socket.close();
    isOpen = false;
  };
  socket.on("message", (frame) => {
    isAnswered = true;
    clearInterval(repeat);
    // The receiver keeps its bytes.
    if (isOpen && frame.length <= MAX_FRAME) handlers.frame(Uint8Array.from(frame));
  });
  // The kernel reports that nothing listens there, for example.
  const fail = (error: NodeJS.ErrnoException): void => {
    if (!isOpen) return;
    close();
    handlers.closed(new Error(`${address}: ${error.code ?? error.message}`, { cause: error }));
  };
  socket.on("error", fail);
  const transmit = (frame: Uint8Array): void => {
    if (isOpen) socket.send(frame, (error) => error && fail(error));
  };
  return {
    send(frame) {
      transmit(frame);
      // The client repeats all frames but the first, the question for the network, which a stream would not lose.
      if (!isAnswered) repeat ??= setInterval(() => transmit(frame), REPEAT_AFTER);
    },
    close,
  };
}

/** The kernel may assign the port of a node that is down as the source port. */
function refuseSelf(socket: Socket, address: string): void {
  const [near, far] = [socket.address(), socket.remoteAddress()];
  if (near.port === far.port && near.address === far.address) throw new Error(`${address}: nothing listens there`);
}
