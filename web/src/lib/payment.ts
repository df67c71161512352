/** Which way the amount of a transaction goes. */

import type { Transaction } from "./api.js";

/** The accounts of a transaction. If nobody is paid, the second is the one that it changes. */
export interface Payment {
  readonly from: string | undefined;
  readonly to: string;
}

/** Whether the transaction opens an account: then its destination, if any, pays a deposit. */
export function isOpening({ command }: Transaction): boolean {
  return /^(create|open)$/i.test(command);
}

export function paymentOf(row: Transaction): Payment {
  const { source, destination } = row;
  const other = /^0*$/.test(destination) ? undefined : destination;
  return isOpening(row) || !other ? { from: other, to: source } : { from: source, to: other };
}

/** The effect on the balance of an account: `+`, `−`, or empty if there is none. */
export function signOf(row: Transaction, account: string | undefined): string {
  if (!account || /^0*$/.test(row.amount_text)) return "";
  const { from, to } = paymentOf(row);
  // HOLD takes the amount from the payer, so CAPTURE does not. Nobody receives what is held, or a deposit.
  if (from === account) return /^capture$/i.test(row.command) ? "" : "−";
  return to === account && !isOpening(row) && !/^hold$/i.test(row.command) ? "+" : "";
}
