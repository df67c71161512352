/** A relay of datagrams between one client and a node that loses, repeats and reorders them, in both directions. */

import { type RemoteInfo, type Socket, createSocket } from "node:dgram";
import { once } from "node:events";

/** Random numbers that follow from a seed (mulberry32). */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let value = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class LossyRelay implements AsyncDisposable {
  readonly #near = createSocket("udp4");
  readonly #far = createSocket("udp4");
  readonly #random: () => number;
  #client: RemoteInfo | undefined;
  /** Datagrams that others overtake, by the socket that they go out of. */
  readonly #held = new Map<Socket, Uint8Array>();
  lost = 0;
  repeated = 0;
  reordered = 0;
  longest = 0;

  private constructor(seed: number) {
    this.#random = random(seed);
  }

  static async start(address: string, seed: number): Promise<LossyRelay> {
    const relay = new LossyRelay(seed);
    const [host, port] = address.split(":") as [string, string];
    relay.#near.bind(0, "127.0.0.1");
    relay.#far.connect(Number(port), host);
    await Promise.all([once(relay.#near, "listening"), once(relay.#far, "connect")]);
    relay.#near.on("message", (bytes, client) => {
      relay.#client = client;
      relay.longest = Math.max(relay.longest, bytes.length);
      relay.#pass(relay.#far, bytes);
    });
    relay.#far.on("message", (bytes) => relay.#pass(relay.#near, bytes));
    // The node may be down.
    for (const end of [relay.#near, relay.#far]) end.on("error", () => {});
    return relay;
  }

  get address(): string {
    return `udp://127.0.0.1:${this.#near.address().port}`;
  }

  #pass(end: Socket, bytes: Uint8Array): void {
    const chance = this.#random();
    if (chance < 0.1) {
      this.lost++;
      return;
    }
    if (chance < 0.2 && !this.#held.has(end)) {
      this.reordered++;
      this.#held.set(end, bytes);
      return;
    }
    this.#send(end, bytes);
    if (chance > 0.9) {
      this.repeated++;
      this.#send(end, bytes);
    }
    const held = this.#held.get(end);
    this.#held.delete(end);
    if (held) this.#send(end, held);
  }

  #send(end: Socket, bytes: Uint8Array): void {
    if (end === this.#far) end.send(bytes, () => {});
    else if (this.#client) end.send(bytes, this.#client.port, this.#client.address, () => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of [this.#near, this.#far]) {
      end.close();
      await once(end, "close");
    }
  }
}
