/** A client of the Turnpike ledger, over TCP. Start with {@link connect}. */

import { Client, type ClientOptions } from "./client.js";
import { connectTcp } from "./tcp.js";

export * from "./core.js";
export { connectTcp };

/**
 * Connects to a node, or to the replicas of a cluster of which one answers. Addresses are `HOST`, `HOST:PORT` or
 * `[IPV6]:PORT`; the port is 7400 unless given.
 */
export async function connect(addresses: string | readonly string[], options: ClientOptions = {}): Promise<Client> {
  const client = new Client(addresses, connectTcp, options);
  try {
    await client.open();
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}
