/** Pictures of a node under load. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "vitest";
import { Chromium } from "./browser/browser.js";
import { bob, connect, fund, hex, settled, transfer } from "./browser/ledger.js";
import { Node, program } from "./browser/node.js";

const WEB = join(import.meta.dirname, "..");
const SECONDS = Number(process.env["SECONDS"] ?? 60);

test("pictures", async () => {
  await using node = await Node.start();
  await using chromium = await Chromium.start();
  const client = await connect(node.address, { timeout: 60_000 });
  await fund(client);
  await transfer(client, 60);
  const height = await settled(client);
  const load = ["load", "--node", node.address, "--accounts", "10000", "--operations", "1000000000"];
  const running = spawn(program, [...load, "--batch", "100", "--in-flight", "2"], { stdio: "ignore" });
  try {
    const dark = { colorScheme: "dark", viewport: { width: 1080, height: 660 } } as const;
    const live = await chromium.open(node.http, "#/", dark);
    await new Promise((resolve) => setTimeout(resolve, 1000 * SECONDS));
    await live.getByRole("button", { name: "1 min" }).click();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await live.screenshot({ path: join(WEB, "../docs/page-live.png") });
    const light = { colorScheme: "light", viewport: { width: 900, height: 800 } } as const;
    const proof = await chromium.open(node.http, `#/transaction/${height}:7`, light);
    await proof.getByRole("button", { name: "Verify" }).click();
    await proof.locator(".tree svg").waitFor();
    await proof.locator(".proof").evaluate((element) => element.scrollIntoView());
    await proof.evaluate(() => scrollBy(0, -60));
    await proof.screenshot({ path: join(WEB, "../docs/page-proof.png") });
    if (!process.env["ALL"]) return;
    const sizes = {
      phone: { width: 360, height: 740 },
      wide: { width: 2560, height: 1440 },
      desk: { width: 1280, height: 900 },
    };
    const views = {
      live: "",
      blocks: "blocks",
      account: `account/${hex(bob)}`,
      transaction: `transaction/${height}:7`,
      operators: "operators",
    };
    for (const [size, viewport] of Object.entries(sizes)) {
      for (const [view, path] of Object.entries(views)) {
        const colorScheme = size === "phone" ? "dark" : "light";
        const page = await chromium.open(node.http, `#/${path}`, { viewport, colorScheme });
        await page.locator(".ghost").waitFor({ state: "detached" });
        if (view === "transaction" || view === "account") {
          await page.getByRole("button", { name: "Verify" }).click();
          await page.locator(".tree svg").waitFor();
          if (view === "transaction") await page.getByRole("button", { name: "Flip a byte" }).click();
        }
        await new Promise((resolve) => setTimeout(resolve, 2000));
        await page.screenshot({ path: join(WEB, `shots/${size}-${view}.png`), fullPage: true });
        await page.context().close();
      }
    }
  } finally {
    const exit = once(running, "exit");
    running.kill("SIGTERM");
    await exit;
    await client.close();
  }
});
