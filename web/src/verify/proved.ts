/** Proofs as the page draws them. */

/** A step of the path, in hexadecimal: a node, its sibling, and their parent. */
export interface Step {
  readonly node: string;
  readonly sibling: string;
  readonly isRight: boolean;
  readonly parent: string;
}

/** What vouches for the header. */
export interface Voucher {
  readonly kind: "seal" | "certificate";
  readonly title: string;
  readonly text: string;
}

/** A proof that was verified in this browser. */
export interface Proved {
  readonly subject: Subject;
  /** The statement that it proves. */
  readonly claim: readonly (readonly [name: string, value: string])[];
  readonly leaf: string;
  readonly steps: readonly Step[];
  /** The root in the header that the path leads to. */
  readonly root: string;
  readonly rootName: string;
  readonly header: { readonly height: string; readonly hash: string; readonly time: number };
  readonly voucher: Voucher;
  readonly network: string;
  /** Number of headers whose links were checked. */
  readonly headers: number;
  /** Number of headers that were left out, because the chain is long and each seal vouches for its header. */
  readonly leftOut: number;
  /** Height and time of the header that an earlier visit had pinned. */
  readonly pinned: { readonly height: number; readonly time: number } | undefined;
  /** Whether the browser remembers the chain for the next visit. */
  readonly isPinned: boolean;
  /** Whether the account does not exist. */
  readonly isAbsent: boolean;
  /** Verifies it again with one byte changed. */
  flip(): Damage;
}

export type Subject =
  | { readonly kind: "balance"; readonly account: string }
  | { readonly kind: "transaction"; readonly height: string; readonly position: string };

/** What became of a proof after one byte was changed. */
export interface Damage {
  /** Which byte, for people. */
  readonly where: string;
  /** The rule that it breaks, for people. */
  readonly problem: string;
  /** Level of the first node that no longer fits: 0 is the leaf. */
  readonly level: number;
  /** Whether the byte is in the sibling at that level, not in the node. */
  readonly isSibling: boolean;
  readonly leaf: string;
  readonly steps: readonly Step[];
}
