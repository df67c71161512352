/** Verifies proofs in this browser, with the light client of the TypeScript library. A chunk of its own. */

import { equal, toHex } from "turnpike/bytes.js";
import { ForkError } from "turnpike/chain.js";
import { ProofError } from "turnpike/errors.js";
import { type AccountId, accountId } from "turnpike/ids.js";
import { assetId } from "turnpike/hash.js";
import { LightClient, proveAsset } from "turnpike/light.js";
import { hasAsset, statedAsset } from "turnpike/proof.js";
import { type IndexEntry, InfoFrame } from "turnpike/protocol.js";
import { Requests, readInfo, writeHeader } from "turnpike/requests.js";
import { grouped } from "../lib/format.js";
import { damage, flippable } from "./damage.js";
import { claimOfBalance, claimOfTransaction, rootOf, stepsOf, voucherOf } from "./describe.js";
import type { Proved, Subject } from "./proved.js";
import { type Items, type Pin, Store } from "./store.js";
import { post } from "./transport.js";

export type { Proved } from "./proved.js";

/** Where a key seals the chain, more missing headers than this are left out: each seal vouches for its header. */
const MAX_LINKED = 50_000n;
/** Certificates vouch by links. Each header takes about a kilobyte of memory: more are for the command line. */
const MAX_CERTIFIED = 400_000n;

/** The chain is not the one that this browser verified before. */
export class HistoryChanged extends Error {
  constructor(pin: Pin | undefined, detail: string) {
    const when = pin ? ` Block ${pin.height} was verified here before, as ${pin.hash}.` : "";
    super(
      `THE CHAIN HAS CHANGED: ${detail}.${when} Trust nothing that this node shows until its operator has explained it. ` +
        "Compare block hashes with another node.",
    );
    this.name = "HistoryChanged";
  }
}

/** Reports how many headers are verified, of how many. */
export type Progress = (verified: number, total: number) => void;

const items: Items = {
  getItem: (key) => attempt(() => localStorage.getItem(key)) ?? null,
  setItem: (key, value) => localStorage.setItem(key, value),
  removeItem: (key) => attempt(() => localStorage.removeItem(key)),
};

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    // Browsers may forbid storage; nothing is remembered then.
    return undefined;
  }
}

class Session {
  readonly requests = new Requests(["this node"], post, { timeout: 15_000, turnAfter: 8_000, window: 4 });
  #light: LightClient | undefined;
  #before: Pin | undefined;
  #isPinned = false;

  async info(): Promise<InfoFrame> {
    const frame = new Uint8Array(InfoFrame.LENGTH);
    writeHeader(frame, "info");
    return this.requests.send({ frame, read: readInfo });
  }

  /** The light client, with the headers that are stored here. */
  async light(): Promise<LightClient> {
    if (this.#light) return this.#light;
    const { network } = await this.info();
    const store = new Store(items, toHex(network));
    const headers = store.headers;
    try {
      this.#light = await LightClient.open(this.requests, network, headers);
    } catch (error) {
      if (!headers || !(error instanceof ProofError)) throw error;
      // The stored headers are damaged; the pin still is compared with what the node sends.
      store.forgetHeaders();
      this.#light = await LightClient.open(this.requests, network);
    }
    return this.#light;
  }

  /** Fetches and verifies the headers that are missing, and compares them with those of earlier visits. */
  async sync(progress: Progress): Promise<LightClient> {
    const [light, { tipHeight }] = [await this.light(), await this.info()];
    this.#before = new Store(items, toHex(light.chain.network)).pin;
    const missing = tipHeight - light.chain.height;
    if (missing > MAX_LINKED && !light.chain.isOrdered) await this.#compared(() => light.skip(tipHeight));
    else if (missing > MAX_CERTIFIED) {
      throw new Error(
        `The chain has ${missing} more headers than this browser holds. Verify with the command line, which stores ` +
          "them in a file: turnpike proof get --headers headers.own …",
      );
    }
    const timer = setInterval(() => progress(Number(light.chain.height), Number(tipHeight)), 100);
    try {
      await this.#compared(() => light.sync());
    } finally {
      clearInterval(timer);
    }
    await this.#pin(light);
    return light;
  }

  /** Makes a fork that the light client finds a change of history. */
  async #compared(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      throw error instanceof ForkError ? new HistoryChanged(this.#before, error.message) : error;
    }
  }

  async #pin(light: LightClient): Promise<void> {
    const { chain } = light;
    const store = new Store(items, toHex(chain.network));
    const { pin } = store;
    if (pin && chain.trusted < BigInt(pin.height)) {
      throw new Error(
        `The node's chain ends at height ${chain.trusted}, but this browser has verified it up to ${pin.height}. Either ` +
          "the node lags, or its chain was cut. Try again later; if it stays like this, ask its operator.",
      );
    }
    if (pin && chain.hash(BigInt(pin.height)) === undefined) await light.fetchSingle(BigInt(pin.height));
    if (pin && toHex(chain.hash(BigInt(pin.height))!) !== pin.hash) {
      throw new HistoryChanged(pin, `the node has another block at height ${pin.height}`);
    }
    const hash = toHex(chain.hash(chain.trusted)!);
    const next = { height: Number(chain.trusted), hash, time: Math.floor(Date.now() / 1000) };
    this.#isPinned = pin?.hash === hash || store.save(next, chain.encode());
  }

  async prove(subject: Subject, progress: Progress): Promise<Proved> {
    const light = await this.sync(progress);
    const account = subject.kind === "balance" ? accountId(subject.account) : undefined;
    const balance = account && (await light.proveBalance(account));
    const asset = balance?.entry ? await proveAsset(light, balance.entry) : 0;
    const transaction =
      subject.kind === "transaction"
        ? await light.proveLocator(BigInt(subject.height), Number(subject.position))
        : undefined;
    const proof = (balance?.proof ?? transaction)!;
    await this.#pin(light);
    const { chain } = light;
    const header = chain.find(proof.height, proof.blockHash)!;
    const leaf = toHex(proof.leaf);
    const steps = stepsOf(account && balance ? balance.proof.steps(account) : transaction!.steps());
    return {
      subject,
      claim: balance
        ? claimOfBalance((subject as { account: string }).account, balance.entry, asset)
        : claimOfTransaction(transaction!),
      isAbsent: balance !== undefined && balance.entry === undefined,
      leaf,
      steps,
      root: rootOf(proof, chain),
      rootName: balance ? "index root" : "transaction root",
      header: {
        height: String(proof.height),
        hash: toHex(proof.blockHash),
        time: Number(header.timestamp / 1_000_000n),
      },
      voucher: voucherOf(chain),
      network: toHex(chain.network),
      headers: Number(chain.trusted - chain.base) + 2,
      leftOut: Number(chain.base) - 1,
      pinned: this.#before && { height: this.#before.height, time: this.#before.time },
      isPinned: this.#isPinned,
      flip: () => {
        const offset = Math.floor(Math.random() * flippable(subject, proof.reply, steps.length));
        return damage(subject, proof.reply, header, { leaf, steps }, offset);
      },
    };
  }

  close(): void {
    this.requests.destroy();
  }
}

let session: Session | undefined;

async function withSession<T>(use: (session: Session) => Promise<T>): Promise<T> {
  session ??= new Session();
  const used = session;
  try {
    return await use(used);
  } catch (error) {
    // A node that restarted may be another one: begin anew, with what is stored.
    used.close();
    if (session === used) session = undefined;
    throw error;
  }
}

/** Fetches a proof with the headers that vouch for it, and verifies all of it. */
export function prove(subject: Subject, progress: Progress = () => {}): Promise<Proved> {
  return withSession((session) => session.prove(subject, progress));
}

/** An account as the node claims it. */
export interface ClaimedAccount {
  readonly balance: string;
  /** `undefined` if the account was closed between the two requests. */
  readonly asset: string | undefined;
}

/** Asks for an account without verifying it; `undefined` if the node claims that there is none. */
export function claimedAccount(account: string): Promise<ClaimedAccount | undefined> {
  return withSession(async (session) => {
    const light = await session.light();
    const claimed = async (id: AccountId): Promise<IndexEntry | undefined> =>
      (await light.claimBalance(id)).entries.find((entry) => equal(entry.account, id));
    const entry = await claimed(accountId(account));
    if (!entry) return undefined;
    const stated = hasAsset(entry) ? await claimed(assetId(entry.account)) : undefined;
    const asset = stated ? statedAsset(stated) : hasAsset(entry) ? undefined : 0;
    return { balance: grouped(entry.balance), asset: asset?.toString() };
  });
}

/** Forgets the chain of a network, so that the next verification accepts another one. */
export function forget(network: string): void {
  new Store(items, network).forget();
  session?.close();
  session = undefined;
}
