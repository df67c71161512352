/** Nodes as processes, each with its data in a temporary folder. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const ROOT = process.env["TURNPIKE_ROOT"] ?? join(import.meta.dirname, "../../..");

const built = ["release", "debug"].map((profile) => join(ROOT, "target", profile, "turnpike")).filter(existsSync);
built.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);

/** The program: `TURNPIKE`, or the newest that cargo built, since an older one serves an older page. */
export const program = process.env["TURNPIKE"] ?? built[0]!;
if (!program) throw new Error("no turnpike program; build it, or set TURNPIKE");

/** Runs a command of the program. */
export async function turnpike(...args: string[]): Promise<string> {
  return (await promisify(execFile)(program, args)).stdout;
}

/**
 * A host that nobody uses: a random one of loopback, so that tests do not take each other's. The ports on it lie outside
 * the ephemeral range: no client gets one as source port while the node is down.
 */
function freeHost(): string {
  return [127, randomInt(1, 255), randomInt(1, 255), randomInt(1, 255)].join(".");
}

export class Node implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "turnpike-page-"));
  #process: ChildProcess | undefined;
  readonly address: string;
  /** Host and port of the page. */
  readonly http: string;

  private constructor(host: string) {
    this.address = `${host}:20000`;
    this.http = `${host}:20001`;
  }

  static async start(options = ""): Promise<Node> {
    const node = new Node(freeHost());
    const data = JSON.stringify(join(node.#folder, "data"));
    writeFileSync(
      join(node.#folder, "turnpike.toml"),
      `data = ${data}\nlisten = "${node.address}"\nhttp = "${node.http}"\ntrusted = ["127.0.0.0/8"]\n${options}`,
    );
    await node.start();
    return node;
  }

  /** Starts the process again, on the same data and addresses. */
  async start(): Promise<void> {
    const config = join(this.#folder, "turnpike.toml");
    const child = spawn(program, ["serve", "--config", config], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    let log = "";
    child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
    for await (const line of createInterface({ input: child.stdout })) if (line.startsWith("network")) return;
    throw new Error(`the node did not start: ${log}`);
  }

  /** Ends the process like a crash. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Four replicas on this machine. */
export class Cluster implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "turnpike-page-"));
  readonly #dir = join(this.#folder, "cluster");

  static async start(): Promise<Cluster> {
    const cluster = new Cluster();
    const dir = cluster.#dir;
    await turnpike("cluster", "init", "--dir", dir, "--replicas", "4", "--port", "0", "--trusted", "127.0.0.0/8");
    await turnpike("cluster", "start", "--dir", dir);
    return cluster;
  }

  #key(name: string): string {
    const config = readFileSync(join(this.#dir, "replica-0", "turnpike.toml"), "utf8");
    return new RegExp(`^${name} = "([^"]+)"`, "m").exec(config)![1]!;
  }

  get address(): string {
    return this.#key("listen");
  }

  get http(): string {
    return this.#key("http");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await turnpike("cluster", "stop", "--dir", this.#dir);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
