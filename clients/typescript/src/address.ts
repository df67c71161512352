/** Addresses of nodes. */

import { DEFAULT_PORT } from "./protocol.js";

/** Prefix of the address of a node that is asked over UDP. */
export const UDP = "udp://";

/** Reads `HOST:PORT`, `HOST` or `[IPV6]:PORT`. */
export function parseAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:/]+))(?::(\d+))?$/.exec(address);
  const port = Number(match?.[3] ?? DEFAULT_PORT);
  const host = match?.[1] ?? match?.[2];
  if (!host || port < 1 || port > 0xffff) {
    throw new RangeError(`${JSON.stringify(address)} is not an address; write HOST:PORT, or [IPV6]:PORT`);
  }
  return { host, port };
}
