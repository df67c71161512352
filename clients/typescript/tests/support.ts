/** Vectors, and nodes as processes. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fromHex } from "../src/index.js";

/** The package's folder; the repository's is two levels above it. */
export const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
export const ROOT = join(PACKAGE, "../..");

/** How long anything may take: tests run on busy machines. */
export const DEADLINE = 60_000;

/** The records of a file of golden vectors: fields by position, `-` as the empty text. */
export function vectors(name: string): string[][] {
  const lines = readFileSync(join(ROOT, "vectors", name), "utf8").split("\n");
  return lines
    .filter((line) => line && !line.startsWith("#"))
    .map((line) => line.split(" ").map((field) => (field === "-" ? "" : field)));
}

/** The program; `undefined` with a reason to skip if it is not built. In CI that is a failure. */
function findProgram(): string | undefined {
  const candidates = [
    process.env["TURNPIKE"],
    join(ROOT, "target/release/turnpike"),
    join(ROOT, "target/debug/turnpike"),
  ];
  const program = candidates.find((path) => path && existsSync(path));
  if (!program && process.env["CI"] === "true") throw new Error("no turnpike program; build it, or set TURNPIKE");
  return program;
}

const program = findProgram();

/** Options of a test that needs the program. */
export const needsNode = program ? {} : { skip: "no turnpike program; build it, or set TURNPIKE" };

/** Runs a command of the program. */
export async function turnpike(...args: string[]): Promise<string> {
  return (await promisify(execFile)(program!, args)).stdout;
}

/**
 * A host that nobody uses: a random one of loopback, so that tests do not take each other's. The ports on it lie outside
 * the ephemeral range: no client gets one as source port while the node is down.
 */
function freeHost(): string {
  return [127, randomInt(1, 255), randomInt(1, 255), randomInt(1, 255)].join(".");
}

/** An address that nobody uses. */
export function freeAddress(): string {
  return `${freeHost()}:20000`;
}

export class TemporaryFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "turnpike-client-"));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** A node as a process, with its data in a temporary folder. */
export class Node implements AsyncDisposable {
  readonly #folder = new TemporaryFolder();
  readonly #options: string;
  #process: ChildProcess | undefined;
  #network: Uint8Array | undefined;
  readonly address: string;
  readonly http: string;

  private constructor(host: string, options: string) {
    this.address = `${host}:20000`;
    this.http = `${host}:20001`;
    this.#options = options;
  }

  static async start(options = ""): Promise<Node> {
    const node = new Node(freeHost(), options);
    await node.start();
    return node;
  }

  get network(): Uint8Array {
    return this.#network!;
  }

  /** Starts the process again, on the same data and address. */
  async start(): Promise<void> {
    const config = join(this.#folder.path, "turnpike.toml");
    writeFileSync(
      config,
      `data = ${JSON.stringify(join(this.#folder.path, "data"))}\nlisten = "${this.address}"\n` +
        `http = "${this.http}"\ntrusted = ["127.0.0.0/8"]\n${this.#options}`,
    );
    const child = spawn(program!, ["serve", "--config", config], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    let log = "";
    child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
    for await (const line of createInterface({ input: child.stdout })) {
      const [name, value] = line.trim().split(/\s+/);
      if (name === "network") {
        this.#network = fromHex(value!);
        return;
      }
    }
    throw new Error(`the node did not start: ${log}`);
  }

  /** Ends the process like a crash. */
  async kill(): Promise<void> {
    const child = this.#process!;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#folder[Symbol.dispose]();
  }
}
