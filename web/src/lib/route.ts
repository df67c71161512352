/** The page's addresses: everything after the `#`. */

export type Route =
  | { view: "live" }
  | { view: "blocks"; before: string | null }
  | { view: "accounts"; after: string | null }
  | { view: "account"; account: string; before: string | null }
  | { view: "named"; account: string; transaction: string }
  | { view: "block"; height: string; after: string | null }
  | { view: "transaction"; height: string; position: string }
  | { view: "bitcoin"; kind: "address" | "tx" | "block" | "tip"; id: string }
  | { view: "operators" }
  | { view: "nowhere"; path: string };

const ID = /^[0-9a-f]{32}$/;
/** A height, a position, both, or an account. */
const START = /^(\d{1,10}(:\d{1,10})?|[0-9a-f]{32})$/;
const NUMBER = /^\d{1,10}$/;

/** The route of a location's hash. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
  const parameters = new URLSearchParams(query);
  /** Where a page of a list starts: as it is, because the node decodes no percent signs. */
  const start = (name: string): string | null => {
    const value = parameters.get(name);
    return value !== null && START.test(value) ? value : null;
  };
  const [first = "", second = "", third = "", fourth = "", ...rest] = path.split("/").filter(Boolean);
  const nowhere: Route = { view: "nowhere", path };
  if (rest.length > 0) return nowhere;
  if (first === "") return { view: "live" };
  if (first === "operators" && !second) return { view: "operators" };
  if (first === "blocks" && !second) return { view: "blocks", before: start("before") };
  if (first === "accounts" && !second) return { view: "accounts", after: start("after") };
  if (first === "account" && ID.test(second)) {
    if (!third) return { view: "account", account: second, before: start("before") };
    if (third === "transaction" && ID.test(fourth)) return { view: "named", account: second, transaction: fourth };
  }
  if (first === "block" && NUMBER.test(second) && !third) {
    return { view: "block", height: second, after: start("after") };
  }
  if (first === "transaction" && !third) {
    const [height = "", position = "", more] = second.split(":");
    if (NUMBER.test(height) && NUMBER.test(position) && more === undefined) {
      return { view: "transaction", height, position };
    }
  }
  if (first === "bitcoin") {
    if (!second) return { view: "bitcoin", kind: "tip", id: "" };
    if ((second === "address" || second === "tx" || second === "block") && third && !fourth) {
      return { view: "bitcoin", kind: second, id: third };
    }
  }
  return nowhere;
}

/** Addresses of the views, for links. */
export const to = {
  live: (): string => "#/",
  operators: (): string => "#/operators",
  blocks: (before?: number | string): string => (before === undefined ? "#/blocks" : `#/blocks?before=${before}`),
  accounts: (after?: string): string => (after === undefined ? "#/accounts" : `#/accounts?after=${after}`),
  account: (id: string, before?: string): string => `#/account/${id}${before ? `?before=${before}` : ""}`,
  named: (account: string, transaction: string): string => `#/account/${account}/transaction/${transaction}`,
  block: (height: number | string, after?: number): string =>
    `#/block/${height}${after === undefined ? "" : `?after=${after}`}`,
  transaction: (height: number | string, position: number | string): string => `#/transaction/${height}:${position}`,
  bitcoin: (kind: "address" | "tx" | "block", id: string): string => `#/bitcoin/${kind}/${id}`,
};
