/** The node's lists, as JSON. */

export interface Transaction {
  readonly height: number;
  readonly position: number;
  readonly command: string;
  readonly transaction: string;
  readonly source: string;
  readonly destination: string;
  readonly amount_text: string;
  /** The asset of the account that it opens; left out for asset 0. */
  readonly asset?: number;
}

export interface Block {
  readonly height: number;
  readonly hash: string;
  readonly parent: string;
  /** Unix seconds; 0 for the genesis block. */
  readonly time: number;
  readonly transactions: number;
  readonly sealed: boolean;
}

interface List {
  /** The height that the list is as of. */
  readonly height: number;
  readonly network: string;
  readonly more: boolean;
}

export interface AccountList extends List {
  readonly accounts: readonly {
    readonly account: string;
    readonly balance_text: string;
    /** Left out for asset 0. */
    readonly asset?: number;
    readonly latest_height: number;
    readonly latest_position: number;
  }[];
}

export interface TransactionHistory extends List {
  readonly transactions: readonly Transaction[];
}

export interface BlockList extends List {
  readonly blocks: readonly Block[];
}

export interface BlockPage extends List {
  readonly block: Block;
  readonly transactions: readonly Transaction[];
}

export interface Figures {
  readonly names: readonly string[];
  readonly rows: readonly (readonly (number | null)[])[];
}

export interface StatusRow {
  readonly name: string;
  readonly value: string;
  readonly state: "ok" | "warning" | "error" | null;
  readonly advice: string | null;
}

export interface NodeStatus {
  readonly program: string;
  readonly network: string;
  readonly promise: string;
  readonly uptime_seconds: number;
  readonly ready: boolean;
  readonly reason: string | null;
  readonly healthy: boolean;
  readonly sections: readonly { readonly name: string; readonly title: string; readonly rows: readonly StatusRow[] }[];
  readonly configuration: string;
}

/** A request that got no answer, or a refusal. The message says what to do next. */
export class ApiError extends Error {
  /** The status of HTTP; 0 if nothing answered. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TIMEOUT = 10_000;

/** The text of a reply; an `ApiError` for anything but success. */
export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  const deadline = AbortSignal.timeout(TIMEOUT);
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, { signal: signal ? AbortSignal.any([signal, deadline]) : deadline });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(
      0,
      "The node does not answer. Check that it runs and that this address is right, then try again.",
    );
  }
  if (!response.ok) throw new ApiError(response.status, refusal(response.status, text));
  return text;
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const text = await getText(path, signal);
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError(0, `The node's reply to ${path} is not JSON: check that this address is a Turnpike node's.`);
  }
}

function refusal(status: number, text: string): string {
  const reason = text.trim().slice(0, 300);
  if (status >= 500) return `The node cannot answer: ${reason || `status ${status}`}. Its log has the cause.`;
  return reason ? reason[0]!.toUpperCase() + reason.slice(1) : `The node refused with status ${status}.`;
}

/** Rows of a page of a list. */
export const ROWS = 25;

export const api = {
  figures: (signal?: AbortSignal) => getJson<Figures>("/figures", signal),
  status: (signal?: AbortSignal) => getJson<NodeStatus>("/status", signal),
  accounts: (after: string | null, signal?: AbortSignal) =>
    getJson<AccountList>(`/accounts?count=${ROWS}${after ? `&after=${after}` : ""}`, signal),
  history: (account: string, before: string | null, signal?: AbortSignal) =>
    getJson<TransactionHistory>(
      `/accounts/${account}/history?count=${ROWS}${before ? `&before=${before}` : ""}`,
      signal,
    ),
  named: (account: string, transaction: string, signal?: AbortSignal) =>
    getJson<{ transaction: Transaction }>(`/accounts/${account}/transactions/${transaction}`, signal),
  blocks: (count: number, before: string | null, signal?: AbortSignal) =>
    getJson<BlockList>(`/blocks?count=${count}${before ? `&before=${before}` : ""}`, signal),
  block: (height: string, after: string | null, count = ROWS, signal?: AbortSignal) =>
    getJson<BlockPage>(`/blocks/${height}?count=${count}${after ? `&after=${after}` : ""}`, signal),
};
