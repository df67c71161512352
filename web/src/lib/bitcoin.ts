/** Bitcoin's addresses, transactions and blocks, from Esplora's API. */

import { getJson, getText } from "./api.js";

interface EsploraStatus {
  readonly block_height?: number;
  readonly block_hash?: string;
  readonly block_time?: number;
}

interface EsploraOutput {
  readonly scriptpubkey_address?: string;
  readonly scriptpubkey_type: string;
  readonly value: number;
}

interface EsploraTransaction {
  readonly txid: string;
  readonly fee: number;
  readonly status: EsploraStatus;
  readonly vin: readonly { readonly is_coinbase: boolean; readonly prevout: EsploraOutput | null }[];
  readonly vout: readonly EsploraOutput[];
}

interface EsploraAddress {
  readonly chain_stats: {
    readonly tx_count: number;
    readonly funded_txo_sum: number;
    readonly spent_txo_sum: number;
  };
}

interface EsploraBlock {
  readonly height: number;
  readonly timestamp: number;
  readonly tx_count: number;
  readonly size: number;
  readonly previousblockhash?: string | null;
}

/** An input or an output. */
export interface Side {
  readonly address: string | undefined;
  readonly note: string;
  readonly value: number | null;
}

export type BitcoinView =
  | { readonly kind: "tip"; readonly height: number }
  | {
      readonly kind: "address";
      readonly confirmed: number;
      readonly received: number;
      readonly spent: number;
      readonly transactions: readonly {
        readonly txid: string;
        readonly height: number | null;
        readonly time: number;
      }[];
    }
  | {
      readonly kind: "tx";
      readonly height: number | undefined;
      readonly block: string | undefined;
      readonly time: number | undefined;
      readonly fee: number;
      readonly inputs: readonly Side[];
      readonly outputs: readonly Side[];
    }
  | {
      readonly kind: "block";
      readonly height: number;
      readonly time: number;
      readonly count: number;
      readonly size: number;
      readonly previous: string | undefined;
    };

function sideOf(output: EsploraOutput | null): Side {
  if (!output) return { address: undefined, note: "new coins", value: null };
  return { address: output.scriptpubkey_address, note: output.scriptpubkey_type, value: output.value };
}

export async function fetchBitcoin(kind: BitcoinView["kind"], id: string, signal: AbortSignal): Promise<BitcoinView> {
  const path = encodeURIComponent(id);
  if (kind === "tip") return { kind, height: Number(await getText("/api/blocks/tip/height", signal)) };
  if (kind === "address") {
    const [{ chain_stats }, transactions] = await Promise.all([
      getJson<EsploraAddress>(`/api/address/${path}`, signal),
      getJson<EsploraTransaction[]>(`/api/address/${path}/txs`, signal),
    ]);
    return {
      kind,
      confirmed: chain_stats.tx_count,
      received: chain_stats.funded_txo_sum,
      spent: chain_stats.spent_txo_sum,
      transactions: transactions.map(({ txid, status }) => ({
        txid,
        height: status.block_height ?? null,
        time: status.block_time ?? 0,
      })),
    };
  }
  if (kind === "tx") {
    const { status, fee, vin, vout } = await getJson<EsploraTransaction>(`/api/tx/${path}`, signal);
    return {
      kind,
      height: status.block_height,
      block: status.block_hash,
      time: status.block_time,
      fee,
      inputs: vin.map(({ prevout }) => sideOf(prevout)),
      outputs: vout.map(sideOf),
    };
  }
  const block = await getJson<EsploraBlock>(`/api/block/${path}`, signal);
  return {
    kind,
    height: block.height,
    time: block.timestamp,
    count: block.tx_count,
    size: block.size,
    previous: block.previousblockhash ?? undefined,
  };
}
