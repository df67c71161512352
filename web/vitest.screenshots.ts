/** Draws the pictures of docs/page.md: see scripts/screenshots. */

import { mergeConfig } from "vitest/config";
import base from "./vite.config.js";

export default mergeConfig(
  { ...base, test: {} },
  { test: { include: ["tests/screenshots.ts"], testTimeout: 300_000, fileParallelism: false } },
);
