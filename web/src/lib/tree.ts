/** Lays out a Merkle path as a tree, from the leaf at the bottom to what vouches for the root at the top. */

import type { Damage, Proved } from "../verify/proved.js";

export type State = "good" | "changed" | "broken";

export interface Box {
  readonly id: string;
  readonly kind: "leaf" | "node" | "sibling" | "root" | "header" | "voucher";
  readonly state: State;
  readonly label: string;
  /** A hash in hexadecimal, or a text. */
  readonly text: string;
  readonly isText: boolean;
  readonly title: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Line {
  readonly id: string;
  readonly state: State;
  readonly d: string;
}

export interface Tree {
  readonly width: number;
  readonly height: number;
  readonly boxWidth: number;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
}

const BOX = 42;
const ROW = 66;
const EDGE = 2;

/** The hash in the path at each level: the leaf, then the parents. */
export function pathOf({ leaf, steps }: { leaf: string; steps: readonly { readonly parent: string }[] }): string[] {
  return [leaf, ...steps.map(({ parent }) => parent)];
}

export function treeOf(proved: Proved, damage: Damage | undefined, width: number): Tree {
  const boxWidth = Math.min(300, (width - 24) / 2 - EDGE);
  const wide = Math.min(width - 2 * EDGE, 2 * boxWidth);
  const shown = damage ?? proved;
  const [hashes, good] = [pathOf(shown), pathOf(proved)];
  const depth = proved.steps.length;
  const y = (level: number): number => EDGE + (depth + 2 - level) * ROW;
  const [left, right, centre] = [width / 4, (3 * width) / 4, width / 2];
  const boxes: Box[] = [];
  const lines: Line[] = [];

  const add = (box: Omit<Box, "x" | "y" | "width" | "height" | "isText">, at: number, level: number): void => {
    const isWide = at === centre;
    const isText = box.kind === "voucher";
    const size = isWide ? wide : boxWidth;
    boxes.push({ ...box, isText, x: at - size / 2, y: y(level), width: size, height: BOX });
  };
  const connect = (id: string, state: State, from: number, level: number, to: number): void => {
    const [bottom, top] = [y(level), y(level + 1) + BOX];
    const middle = (bottom + top) / 2;
    lines.push({ id, state, d: `M${from} ${bottom}V${middle}H${to}V${top}` });
  };
  /** Where the path's node of a level is. */
  const place = (level: number): number => {
    const step = proved.steps[level];
    return step ? (step.isRight ? right : left) : centre;
  };

  // A leaf whose contents were changed is broken even where its stated hash stayed.
  const isLeafChanged = damage !== undefined && !damage.isSibling;
  for (let level = 0; level <= depth; level++) {
    const hash = hashes[level]!;
    const isFirst = level === 0 && isLeafChanged;
    const state: State = isFirst ? "changed" : hash !== good[level] ? "broken" : "good";
    const isRoot = level === depth;
    const label = level === 0 ? (isRoot ? "leaf and root" : "leaf") : isRoot ? "root" : `level ${level}`;
    const note = isFirst ? ": changed" : state === "broken" ? ": no longer fits" : "";
    const kind = isRoot && level > 0 ? "root" : level === 0 ? "leaf" : "node";
    add({ id: `node ${level}`, kind, state, label: label + note, text: hash, title: hash }, place(level), level);
    if (isRoot) break;
    const step = shown.steps[level]!;
    const changed: State = damage?.isSibling && damage.level === level ? "changed" : "good";
    const away = step.isRight ? left : right;
    const side = step.isRight ? "left sibling" : "right sibling";
    const sibling = { id: `sibling ${level}`, kind: "sibling" as const, state: changed };
    const name = side + (changed === "changed" ? ": changed" : "");
    add({ ...sibling, label: name, text: step.sibling, title: step.sibling }, away, level);
    connect(`sibling ${level}`, changed === "changed" ? "broken" : "good", away, level, place(level + 1));
    connect(`node ${level}`, state === "good" ? "good" : "broken", place(level), level, place(level + 1));
  }

  const isBroken = damage !== undefined;
  const { header, voucher, rootName, root } = proved;
  const expected = isBroken ? `: another ${rootName}` : `, ${rootName}`;
  const label = `header ${header.height}${expected}`;
  add(
    { id: "header", kind: "header", state: isBroken ? "broken" : "good", label, text: root, title: root },
    centre,
    depth + 1,
  );
  const title = voucher.text;
  add(
    { id: "voucher", kind: "voucher", state: "good", label: voucher.kind, text: voucher.title, title },
    centre,
    depth + 2,
  );
  connect("root", isBroken ? "broken" : "good", centre, depth, centre);
  connect("header", "good", centre, depth + 1, centre);
  return { width, height: y(0) + BOX + EDGE, boxWidth, boxes, lines };
}
