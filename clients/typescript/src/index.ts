/** A client of the Turnpike ledger, over TCP, UDP or a WebSocket. Start with {@link connect}. */

import { UDP } from "./address.js";
import { Client, type ClientOptions } from "./client.js";
import { Feed, type FeedOptions } from "./feed.js";
import { ETHERNET_DATAGRAM, MIN_DATAGRAM } from "./protocol.js";
import { connectTcp } from "./tcp.js";
import { MAX_FRAME, type Transport } from "./transport.js";
import { connectUdp } from "./udp.js";
import { connectWebSocket, isWebSocket } from "./web_socket.js";

export * from "./core.js";
export { connectTcp, connectUdp };

/** The transport of {@link connect}: each address chooses between UDP, a WebSocket and TCP. */
export const connectNode: Transport = (address, handlers, signal) => {
  const transport = address.startsWith(UDP) ? connectUdp : isWebSocket(address) ? connectWebSocket : connectTcp;
  return transport(address, handlers, signal);
};

/**
 * The operations that a node journals, in order and each exactly once. The address is `HOST`, `HOST:PORT` or
 * `[IPV6]:PORT`, over TCP, or `ws://HOST:PORT` with the port of HTTP. It connects when it is asked for the first part.
 */
export function follow(address: string, options: FeedOptions = {}): Feed {
  // Datagrams carry no feed: the address names the same node.
  return new Feed(address.startsWith(UDP) ? address.slice(UDP.length) : address, connectNode, options);
}

/** Options of a client that {@link connect} makes. */
export interface ConnectOptions extends ClientOptions {
  /**
   * Maximum length of a datagram in bytes, if an address begins with `udp://`: batches are divided so that they fit. By
   * default 1,472, which Ethernet carries whole; up to 65,507 on loopback.
   */
  readonly datagram?: number;
}

/**
 * Connects to a node, or to the replicas of a cluster of which one answers. Addresses are `HOST`, `HOST:PORT` or
 * `[IPV6]:PORT`, over TCP, or over UDP with `udp://` before them; the port is 7400 unless given. With `ws://HOST:PORT`,
 * the HTTP address, the client has queries and proofs, but no operations.
 */
export async function connect(addresses: string | readonly string[], options: ConnectOptions = {}): Promise<Client> {
  const { datagram = ETHERNET_DATAGRAM, ...rest } = options;
  if (!(datagram >= MIN_DATAGRAM && datagram <= MAX_FRAME)) {
    throw new RangeError(`option datagram is ${datagram}, but must be from ${MIN_DATAGRAM} to ${MAX_FRAME}`);
  }
  // A frame must fit whichever node it goes to.
  const hasUdp = [addresses].flat().some((address) => address.startsWith(UDP));
  const client = new Client(addresses, connectNode, hasUdp ? { maxFrame: datagram, ...rest } : rest);
  try {
    await client.open();
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}
