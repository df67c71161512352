/** What a search text may mean. */

import { to } from "./route.js";

/** A meaning of a search text, the likeliest first. */
export interface Meaning {
  readonly label: string;
  readonly href: string;
}

const HEX32 = /^[0-9a-f]{32}$/;
const HEX64 = /^[0-9a-f]{64}$/;
/** Base58 with version 1 or 3, and Bech32 of any network. */
const ADDRESS = /^([13mn2][1-9A-HJ-NP-Za-km-z]{25,34}|(bc|tb|bcrt)1[02-9ac-hj-np-z]{8,87})$/i;

/** Where all is explained, if nothing fits. */
export const HELP =
  "Enter a block height, HEIGHT:POSITION, an account (32 hexadecimal digits, or “account 1”), an account and a " +
  "transaction id with a space between, or a Bitcoin address or transaction.";

function idOf(text: string): string | undefined {
  const digits = text.toLowerCase().replaceAll("-", "").replace(/^0x/, "");
  return HEX32.test(digits) ? digits : undefined;
}

/** The account with a small number, as the command line names it. */
function numbered(text: string): string | undefined {
  if (!/^\d{1,39}$/.test(text)) return undefined;
  const digits = BigInt(text).toString(16).padStart(32, "0");
  return digits.length === 32 ? digits : undefined;
}

/** All meanings of a text; none if it means nothing. */
export function meanings(text: string): Meaning[] {
  const trimmed = text.trim().replace(/\s+/g, " ");
  if (!trimmed) return [];
  const named = /^account (\S+)$/i.exec(trimmed)?.[1];
  if (named) {
    const account = idOf(named) ?? numbered(named);
    return account ? [{ label: `Account ${named}`, href: to.account(account) }] : [];
  }
  const pair = trimmed.split(" ");
  if (pair.length === 2) {
    const account = idOf(pair[0]!) ?? numbered(pair[0]!);
    const transaction = idOf(pair[1]!) ?? numbered(pair[1]!);
    return account && transaction
      ? [{ label: `Transaction ${pair[1]} of account ${pair[0]}`, href: to.named(account, transaction) }]
      : [];
  }
  const locator = /^(\d{1,10}):(\d{1,10})$/.exec(trimmed);
  if (locator) return [{ label: `Transaction ${trimmed}`, href: to.transaction(locator[1]!, locator[2]!) }];
  const number = trimmed.replaceAll(",", "");
  if (/^\d{1,10}$/.test(number)) {
    return [
      { label: `Block ${number}`, href: to.block(number) },
      { label: `Account ${number}`, href: to.account(numbered(number)!) },
    ];
  }
  const id = idOf(trimmed);
  if (id) return [{ label: "Account", href: to.account(id) }];
  if (HEX64.test(trimmed.toLowerCase())) {
    return [
      { label: "Bitcoin transaction", href: to.bitcoin("tx", trimmed.toLowerCase()) },
      { label: "Bitcoin block", href: to.bitcoin("block", trimmed.toLowerCase()) },
    ];
  }
  if (ADDRESS.test(trimmed)) return [{ label: "Bitcoin address", href: to.bitcoin("address", trimmed) }];
  return [];
}
