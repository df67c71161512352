/** A node in the test that executes operations, and loses, delays, duplicates and garbles its replies. */

import { once } from "node:events";
import { type Server, type Socket, createServer } from "node:net";
import { toHex, viewOf } from "../src/bytes.js";
import { BatchHeader, FrameHeader, FrameType, InfoFrame, Operation, REPLY_BIT, Status } from "../src/protocol.js";

/** What to do with a reply to a batch: the frames to send, each after a delay in milliseconds. */
export type Fault = (reply: Uint8Array) => readonly (readonly [delay: number, frame: Uint8Array])[] | "close";

export class FakeNode implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** The status of each operation, by its id. */
  readonly executed = new Map<string, bigint>();
  readonly network: Uint8Array;
  /** Whether it answers info frames. */
  isMute = false;
  batches = 0;
  connections = 0;
  fault: Fault = (reply) => [[0, reply]];

  private constructor(network: Uint8Array) {
    this.network = network;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async start(network = new Uint8Array(32).fill(7)): Promise<FakeNode> {
    const node = new FakeNode(network);
    node.#server.listen(0, "127.0.0.1");
    await once(node.#server, "listening");
    return node;
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return `127.0.0.1:${address.port}`;
  }

  #accept(socket: Socket): void {
    this.connections++;
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    let received = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 4 && received.length >= 4 + received.readUInt32BE()) {
        const end = 4 + received.readUInt32BE();
        this.#answer(socket, Uint8Array.from(received.subarray(4, end)));
        received = received.subarray(end);
      }
    });
  }

  #answer(socket: Socket, frame: Uint8Array): void {
    const kind = frame[FrameHeader.at.kind]!;
    frame[FrameHeader.at.kind] = kind | REPLY_BIT;
    if (kind === FrameType.info) {
      const view = viewOf(frame);
      const fields = InfoFrame.decode(view);
      InfoFrame.encode(view, 0, { ...fields, network: this.network, retryMilliseconds: 600_000 });
      if (!this.isMute) send(socket, frame);
      return;
    }
    this.batches++;
    const view = viewOf(frame);
    for (let at: number = BatchHeader.LENGTH; at < frame.length; at += Operation.LENGTH) {
      const { transaction, amount } = Operation.decode(view, at);
      const id = toHex(transaction);
      // The first execution counts: a repetition with another amount would show.
      if (!this.executed.has(id)) this.executed.set(id, amount);
    }
    view.setUint8(BatchHeader.at.promise, 2);
    const faulty = this.fault(frame);
    if (faulty === "close") return void socket.destroy();
    for (const [delay, bytes] of faulty) {
      if (delay === 0) {
        send(socket, bytes);
        continue;
      }
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        send(socket, bytes);
      }, delay);
      this.#timers.add(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

function send(socket: Socket, frame: Uint8Array): void {
  if (socket.destroyed) return;
  const prefix = new Uint8Array(4);
  viewOf(prefix).setUint32(0, frame.length);
  socket.write(prefix);
  socket.write(frame);
}

/** The reply with a status for the batch as a whole. */
export function refusal(reply: Uint8Array, status: keyof typeof Status): Uint8Array {
  const header = reply.slice(0, BatchHeader.LENGTH);
  viewOf(header).setUint16(BatchHeader.at.status, Status[status]);
  return header;
}

/** The reply with a status for its first operation. */
export function entryRefusal(reply: Uint8Array, status: keyof typeof Status): Uint8Array {
  const changed = reply.slice();
  viewOf(changed).setUint16(BatchHeader.LENGTH + Operation.at.status, Status[status]);
  return changed;
}
