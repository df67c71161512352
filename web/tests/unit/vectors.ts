/** Golden vectors of proofs. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The repository's folder; `test` runs from a copy. */
const ROOT = process.env["TURNPIKE_ROOT"] ?? join(import.meta.dirname, "../../..");

/** The records of a file of golden vectors. */
export function vectors(name: string): string[][] {
  const lines = readFileSync(join(ROOT, "vectors", name), "utf8").split("\n");
  return lines.filter((line) => line && !line.startsWith("#")).map((line) => line.split(" "));
}
