/** A client of the Turnpike ledger, over TCP or UDP. Start with {@link connect}. */

import { UDP } from "./address.js";
import { Client, type ClientOptions } from "./client.js";
import { connectTcp } from "./tcp.js";
import type { Transport } from "./transport.js";
import { connectUdp } from "./udp.js";

export * from "./core.js";
export { connectTcp, connectUdp };

/** The transport of {@link connect}: each address chooses between UDP and TCP. */
export const connectNode: Transport = (address, handlers, signal) =>
  (address.startsWith(UDP) ? connectUdp : connectTcp)(address, handlers, signal);

/**
 * Connects to a node, or to the replicas of a cluster of which one answers. Addresses are `HOST`, `HOST:PORT` or
 * `[IPV6]:PORT`, over TCP, or over UDP with `udp://` before them; the port is 7400 unless given.
 */
export async function connect(addresses: string | readonly string[], options: ClientOptions = {}): Promise<Client> {
  const client = new Client(addresses, connectNode, options);
  try {
    await client.open();
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}
