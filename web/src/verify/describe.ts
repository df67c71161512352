/** Turns verified proofs into what the page draws. */

import { toHex } from "turnpike/bytes.js";
import type { HeaderChain } from "turnpike/chain.js";
import { commandName } from "turnpike/errors.js";
import { type IndexProof, type PathStep, type TransactionProof, isFrozen, latestPosition } from "turnpike/proof.js";
import type { IndexEntry } from "turnpike/protocol.js";
import { grouped } from "../lib/format.js";
import type { Step, Voucher } from "./proved.js";

export function stepsOf(steps: readonly PathStep[]): Step[] {
  return steps.map(({ node, sibling, isRight, parent }) => ({
    node: toHex(node),
    sibling: toHex(sibling),
    isRight,
    parent: toHex(parent),
  }));
}

export function claimOfBalance(account: string, entry: IndexEntry | undefined, asset: number): [string, string][] {
  if (!entry)
    return [
      ["Account", account],
      ["State", "does not exist"],
    ];
  return [
    ["Account", account],
    ["Balance", grouped(entry.balance)],
    ["Asset", String(asset)],
    ...(isFrozen(entry) ? [["State", "frozen"] satisfies [string, string]] : []),
    ["Latest transaction", `${entry.height}:${latestPosition(entry)}`],
  ];
}

export function claimOfTransaction(proof: TransactionProof): [string, string][] {
  const { command, contract, source, destination, amount, transaction } = proof.operation;
  const name = commandName(command);
  const claim: [string, string][] = [
    ["Command", `${name ?? command}${proof.signed ? ", signed" : ""}`],
    ["Source", toHex(source)],
  ];
  if (destination.some((byte) => byte !== 0)) claim.push(["Destination", toHex(destination)]);
  if (name === "OPEN") claim.push(["Asset", String(contract)]);
  claim.push(["Amount", grouped(amount)], ["Transaction id", toHex(transaction)]);
  return claim;
}

/** What vouches for the headers of a chain. */
export function voucherOf(chain: HeaderChain): Voucher {
  const { vouched } = chain;
  if (!vouched) {
    const key = toHex(chain.header(0n)!.transactionRoot);
    return {
      kind: "seal",
      title: "Sealed by the chain's key",
      text: `BIP340 signature by key ${key}, which the genesis header names. The genesis header hashes to the network id.`,
    };
  }
  const replicas = vouched.replicas(chain.network);
  return {
    kind: "certificate",
    title: `Final: certified by ${replicas.quorum} of ${replicas.keys.length} replicas or more`,
    text:
      `The certificate of ordered block ${grouped(vouched.certificate.height)} states header ` +
      `${toHex(vouched.certificate.statement)} at height ${grouped(chain.trusted)}, and so all headers before it. ` +
      `The genesis header, which hashes to the network id, names the founding replicas.`,
  };
}

export function rootOf(proof: IndexProof | TransactionProof, chain: HeaderChain): string {
  const header = chain.find(proof.height, proof.blockHash)!;
  return toHex("entries" in proof ? header.indexRoot : header.transactionRoot);
}
