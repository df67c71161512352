/** The figures of the node: the last hour at once, then a row each second for as long as the page is visible. */

import { ApiError, api } from "../lib/api.js";
import { History, type Row } from "../lib/figures.js";

/** Rows come each second; without one for this long the connection is dead, whatever the browser thinks. */
const SILENCE = 5_000;
const FIRST_RETRY = 500;
const LAST_RETRY = 5_000;

class Live {
  readonly #history = new History();
  #version = $state(0);
  /** `opening` until the first answer; `lost` while the node does not answer. */
  state = $state<"opening" | "open" | "lost">("opening");
  /** Why the node is lost. */
  problem = $state("");
  /** When it was lost, in Unix seconds. */
  lostAt = $state(0);
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retry = FIRST_RETRY;
  #attempt = 0;

  /** The rows; whoever reads it runs again with each new row. */
  get history(): History {
    void this.#version;
    return this.#history;
  }

  start(): void {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#stop() : void this.#open()));
    if (!document.hidden) void this.#open();
  }

  /** Connects at once, instead of after the pause. */
  again(): void {
    this.#retry = FIRST_RETRY;
    void this.#open();
  }

  #stop(): void {
    this.#attempt++;
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }

  async #open(): Promise<void> {
    this.#stop();
    const attempt = this.#attempt;
    try {
      // The rows since the last event, and all of them at first.
      const { names, rows } = await api.figures();
      if (attempt !== this.#attempt) return;
      this.#history.load(names, rows);
      this.#version++;
      this.#listen();
    } catch (error) {
      if (attempt === this.#attempt) this.#lost(error instanceof ApiError ? error.message : String(error));
    }
  }

  #listen(): void {
    const source = new EventSource("/figures/events");
    this.#source = source;
    source.addEventListener("figures", (event: MessageEvent<string>) => {
      const { names, row } = JSON.parse(event.data) as { names: string[]; row: Row };
      this.#history.push(names, row);
      this.#version++;
      this.state = "open";
      this.#retry = FIRST_RETRY;
      this.#arm();
    });
    source.addEventListener("error", () => this.#lost("The connection to the node ended."));
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lost(`The node has sent nothing for ${SILENCE / 1000} s.`), SILENCE);
  }

  #lost(problem: string): void {
    this.#stop();
    if (this.state !== "lost") this.lostAt = Date.now() / 1000;
    this.state = "lost";
    this.problem = problem;
    this.#timer = setTimeout(() => void this.#open(), this.#retry);
    this.#retry = Math.min(2 * this.#retry, LAST_RETRY);
  }
}

export const live = new Live();
