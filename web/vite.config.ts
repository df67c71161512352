/** Builds the page into dist/: a flat folder with stable names, which the node serves under /page/. */

import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** The node that `npm run dev` forwards to. */
const node = `http://${process.env["TURNPIKE_HTTP"] ?? "127.0.0.1:7480"}`;

export default defineConfig({
  base: "/page/",
  plugins: [svelte()],
  resolve: {
    alias: [
      { find: /^turnpike\/(.*)\.js$/, replacement: here("../clients/typescript/src/$1.ts") },
      // The client's sources have no packages beside them.
      { find: /^@noble\/(curves|hashes)\//, replacement: here("node_modules/@noble/$1/") },
    ],
    ...(process.env["VITEST"] ? { conditions: ["browser"] } : {}),
  },
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: "page.js",
        chunkFileNames: "[name].js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "page.css" : "[name][extname]"),
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ["/accounts", "/blocks", "/figures", "/status", "/frames", "/api", "/health", "/ready"].map((path) => [
        path,
        node,
      ]),
    ),
  },
  test: { environment: "happy-dom", include: ["tests/unit/**/*.test.ts"] },
});
