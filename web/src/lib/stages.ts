/** The stages of the data path: what passes each, and which of them lags. */

import { compact, grouped, latency, perSecond } from "./format.js";
import type { History } from "./figures.js";

export interface Stage {
  readonly name: string;
  /** What passes it a second. */
  readonly rate: string;
  /** Its progress or its state. */
  readonly detail: string;
  /** Why it lags; `null` if it does not. */
  readonly lag: string | null;
  /** Whether the node has it. */
  readonly isPresent: boolean;
}

/** A block closes within a second of its first transaction; a builder that needs longer than this lags. */
const BUILDER_SECONDS = 3;
/** A sync that takes longer is a disk in trouble, or a shared one. */
const SYNC_SECONDS = 0.1;
/** Replicas agree on a block in less; a leader that is down costs a quarter of a second. */
const FINAL_SECONDS = 2;

/** Operations executed a second, of all commands. */
export function operations(history: History, seconds = 3): number | null {
  const rates = ["create", "issue", "transfer", "refer"].map((command) => history.rate(`${command}_total`, seconds));
  return rates.every((rate) => rate === null) ? null : rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0);
}

export function stagesOf(history: History): Stage[] {
  const behind = history.behind("built_sequence");
  const waiting = Math.max(0, (history.last("durable_sequence") ?? 0) - (history.last("built_sequence") ?? 0));
  const sync = history.last("sync_p99_seconds");
  const final = history.last("final_height");
  const finalSlow = history.last("final_p99_seconds");
  const isReplica = final !== null;
  const xdp = history.last("xdp_total");
  const busy = history.rate("busy_total") ?? 0;
  const connections = history.last("connections");
  return [
    {
      name: "Clients",
      rate: perSecond(history.rate("replies_total")),
      detail:
        connections === null
          ? "replies"
          : `${grouped(connections)} ${connections === 1 ? "connection" : "connections"}`,
      lag: null,
      isPresent: true,
    },
    {
      name: "NIC tier",
      rate: xdp === null ? "off" : perSecond(history.rate("xdp_total")),
      detail: xdp === null ? "io.backend is udp" : "answered in the driver",
      lag: null,
      isPresent: xdp !== null,
    },
    {
      name: "Workers",
      rate: perSecond(operations(history)),
      detail: busy > 0 ? `${perSecond(busy)} refused as BUSY` : "operations executed",
      lag: busy > 0 ? "A queue for workers is full: clients are answered BUSY." : null,
      isPresent: true,
    },
    {
      name: "Journal",
      rate: perSecond(history.rate("durable_sequence")),
      detail: sync === null ? "no sync right now" : `sync p99 ${latency(sync)}`,
      lag: sync !== null && sync > SYNC_SECONDS ? `Syncs take ${latency(sync)}: the disk is slow or busy.` : null,
      isPresent: true,
    },
    {
      name: "Blocks",
      rate: perSecond(history.rate("built_sequence", 5)),
      detail: waiting > 0 ? `${compact(waiting)} to go` : "all in blocks",
      lag:
        behind > BUILDER_SECONDS && (history.rate("durable_sequence", 5) ?? 0) > 0
          ? `The block builder is ${behind.toFixed(0)} s behind the journal.`
          : null,
      isPresent: true,
    },
    {
      name: "Final",
      rate: isReplica ? perSecond(history.rate("final_height", 5)) : "off",
      detail: isReplica ? `height ${grouped(final)}` : "no replicas",
      lag:
        finalSlow !== null && finalSlow > FINAL_SECONDS
          ? `Finality takes ${latency(finalSlow)}: a replica is down or slow.`
          : null,
      isPresent: isReplica,
    },
  ];
}
