/** The flows in a real browser, one after the other: they share a node. */

import { mergeConfig } from "vitest/config";
import base from "./vite.config.js";

export default mergeConfig(
  { ...base, test: {} },
  {
    test: { include: ["tests/browser/**/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false },
  },
);
