/** The page in a real Chromium, against a real node. */

import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toHex } from "turnpike/bytes.js";
import { assetId } from "turnpike/hash.js";
import { accountId } from "turnpike/ids.js";
import { ProofRequest } from "turnpike/protocol.js";
import { Chromium, DEADLINE } from "./browser.js";
import { type Client, alice, bob, connect, fund, hex, open, settled, transfer } from "./ledger.js";
import { Cluster, Node } from "./node.js";

/** How long a block may take on a busy machine. */
const WAIT = { timeout: DEADLINE };

let node: Node;
let client: Client;
let chromium: Chromium;
/** A block with more transactions than fit on a page. */
let large: number;

beforeAll(async () => {
  [node, chromium] = await Promise.all([Node.start(), Chromium.start()]);
  client = await connect(node.address, { timeout: 20_000 });
});

afterAll(async () => {
  await client.close();
  await chromium[Symbol.asyncDispose]();
  await node[Symbol.asyncDispose]();
});

async function text(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).first().innerText()).trim();
}

async function search(page: Page, what: string): Promise<void> {
  await page.getByRole("searchbox").fill(what);
  await page.keyboard.press("Enter");
}

/** Violations that axe finds, each with an element. */
async function findings(page: Page): Promise<string[]> {
  // Through the debugger: the page's own policy refuses scripts from elsewhere.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

test("without JavaScript the frame is there, and says what to do", async () => {
  const page = await chromium.open(node.http, "", { javaScriptEnabled: false });
  expect(await text(page, ".brand")).toBe("Turnpike");
  expect(await page.locator("noscript").innerText()).toContain("turnpike info");
  await page.context().close();
});

test("a node without transfers explains how to send one, and counts it", async () => {
  const page = await chromium.open(node.http);
  await page.getByText("No transfers yet. Send one:").waitFor();
  expect(await page.locator("pre").innerText()).toContain("turnpike account transfer 1 2 250");
  await page.getByRole("link", { name: "Accounts" }).first().click();
  await page.getByText("No transfers yet.").waitFor();
  await page.goBack();
  await page.locator(".pulse.open").waitFor();
  const found = await findings(page);

  await fund(client);
  await transfer(client, 60);
  large = await settled(client);
  expect(found).toEqual([]);
  await page.getByText("No transfers yet.").waitFor({ state: "detached" });
  await page.getByText("61 since start").waitFor();
  await page.locator(`.strip a[href="#/block/${large}"]`).waitFor();
  await page.context().close();
});

test("the plots have the history after a reload", async () => {
  const page = await chromium.open(node.http);
  await page.locator(".plot canvas").first().waitFor();
  await page.reload();
  await page.locator(".plot canvas").first().waitFor();
  await page.getByRole("button", { name: "1 h" }).click();
  expect(await page.locator(".plot").count()).toBeGreaterThanOrEqual(5);
  expect(await page.locator(".plot .canvas").first().getAttribute("aria-label")).toContain("TRANSFER");
  await page.context().close();
});

test("the search box finds each kind", async () => {
  const page = await chromium.open(node.http, "#/blocks");
  await page.keyboard.press("/");
  expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("search");
  await search(page, String(large));
  await page.getByRole("heading", { name: `Block ${large}`, exact: true }).waitFor();
  await search(page, `${large}:0`);
  await page.getByRole("heading", { name: `Transaction ${large}:0` }).waitFor();
  const id = (await page.locator("dt:text-is('Transaction id') + dd code").innerText()).trim();
  const source = (await page.locator(".facts a.id").first().innerText()).trim();
  await search(page, hex(alice));
  await page.getByRole("heading", { name: "Account", exact: true }).waitFor();
  expect(await text(page, ".subject code")).toBe(hex(alice));
  await search(page, `${source} ${id}`);
  await page.waitForURL(`**/#/transaction/${large}:0`);
  await search(page, id);
  await page.getByText("Are these digits a transaction id?").waitFor();
  await search(page, "account 2");
  await page.waitForURL(`**/#/account/${hex(bob)}`);
  await search(page, `${hex(bob)} ${id}`);
  await page.getByText("named no transaction").waitFor();
  await search(page, "999999");
  await page.getByRole("alert").getByText("account 999999").waitFor();
  await search(page, "what?");
  await page.getByText("is nothing that can be found").waitFor();
  await search(page, "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16");
  await page.getByText("esplora = true", { exact: true }).waitFor();
  await page.context().close();
});

test("accounts and blocks have pages, each with an address", async () => {
  const page = await chromium.open(node.http, `#/account/${hex(bob)}`);
  const first = (): Promise<string> => text(page, "tbody td");
  await page.locator("tbody tr").nth(24).waitFor();
  const newest = await first();
  await page.getByRole("link", { name: "Older" }).click();
  await page.waitForURL("**before=**");
  await expect.poll(first).not.toBe(newest);
  const older = await first();
  await page.reload();
  await page.locator("tbody tr").first().waitFor();
  expect(await first()).toBe(older);
  await page.getByRole("link", { name: "Latest", exact: false }).first().click();
  await expect.poll(first).toBe(newest);

  await page.goto(`/#/block/${large}`);
  await page.getByRole("heading", { name: `Block ${large}`, exact: true }).waitFor();
  await page.locator("tbody tr").nth(24).waitFor();
  expect(await first()).toBe(`${large}:0`);
  await page.getByRole("link", { name: "Next" }).click();
  await expect.poll(first).toBe(`${large}:25`);
  await page.getByRole("button", { name: "Back" }).click();
  await expect.poll(first).toBe(`${large}:0`);
  await page.goto(`/#/transaction/${large}:9999`);
  await page.getByText("there is none at position 9,999").waitFor();
  await page.goto("/#/no/such/view");
  await page.getByRole("heading", { name: "Nothing here" }).waitFor();
  await page.context().close();
});

test("a balance, an absence and a transaction are verified, and a flipped byte is found", async () => {
  const page = await chromium.open(node.http, `#/account/${hex(bob)}`);
  const balance = String(await client.balance(bob)).replace(/\B(?=(\d{3})+$)/g, ",");
  await page.getByText("as the node claims").first().waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Verified in this browser", { exact: true }).waitFor();
  expect(await text(page, ".head-card .big")).toBe(balance);
  expect(await page.locator(".tree .box.broken, .tree .box.changed").count()).toBe(0);
  expect(await findings(page)).toEqual([]);

  await page.goto(`/#/transaction/${large}:7`);
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Verified in this browser", { exact: true }).waitFor();
  expect(await page.locator(".tree .box.sibling").count()).toBe(6);
  await page.getByText("They continue the chain that this browser verified").waitFor();
  for (let flips = 0; flips < 8; flips++) {
    await page.getByRole("button", { name: "Flip a byte" }).click();
    await page
      .getByText("the first node that no longer fits")
      .or(page.getByText("the first that no longer fits"))
      .waitFor();
    expect(await page.locator(".tree .box.changed").count()).toBe(1);
    expect(await page.locator(".tree .box.header.broken").count()).toBe(1);
    expect(await page.getByText("Verified in this browser", { exact: true }).count()).toBe(0);
  }
  expect(await findings(page)).toEqual([]);
  await page.getByRole("button", { name: "Restore the proof" }).click();
  await page.getByText("Verified in this browser", { exact: true }).waitFor();

  await page.goto(`/#/account/${"7".repeat(32)}`);
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("does not exist").waitFor();
  await page.context().close();
});

test("a damaged proof and a changed chain are reported", async () => {
  const page = await chromium.open(node.http, `#/transaction/${large}:7`);
  const proofRequest = 3;
  await page.route("**/frames", async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    // The last byte of the transaction.
    if (route.request().postDataBuffer()?.[3] === proofRequest) body[body.length - 1]! ^= 1;
    await route.fulfill({ response, body });
  });
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByRole("alert").getByText("Not verified.").waitFor();
  expect(await page.getByText("Verified in this browser", { exact: true }).count()).toBe(0);
  await page.unroute("**/frames");
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Verified in this browser", { exact: true }).waitFor();

  // As if the node had shown another block to this browser before.
  await page.evaluate(() => {
    const key = Object.keys(localStorage).find((name) => name.startsWith("turnpike.pin."))!;
    localStorage.setItem(key, `1 ${"ab".repeat(32)} 1700000000`);
  });
  await page.reload();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("THE CHAIN HAS CHANGED").waitFor();
  await page.getByRole("button", { name: "Forget the old chain" }).click();
  await page.getByText("Verified in this browser", { exact: true }).waitFor();
  await page.context().close();
});

test("the asset of an account is listed, claimed and verified", async () => {
  const account = accountId(77n);
  await open(client, account, 978);
  // The two may be in successive blocks.
  const history = `http://${node.http}/accounts/${hex(account)}/history`;
  await expect.poll(async () => (await (await fetch(history)).text()).split('"command"').length - 1, WAIT).toBe(2);
  const page = await chromium.open(node.http, "#/accounts");
  const row = page.locator("tbody tr", { has: page.locator(`a[href="#/account/${hex(account)}"]`) });
  expect(await row.locator("td.number").allInnerTexts()).toEqual(["500", "978"]);
  await row.getByRole("link").first().click();
  const asset = page.locator(".head-card dt:text-is('Asset') + dd");
  await expect.poll(() => asset.innerText(), WAIT).toBe("978 as the node claims");
  const opening = page.locator("tbody tr", { hasText: "OPEN" });
  expect(await opening.locator("td").nth(1).innerText()).toBe("OPEN asset 978");

  // The node must prove the asset, too.
  await page.route("**/frames", async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    const key = route.request().postDataBuffer()?.subarray(ProofRequest.at.key) ?? Buffer.alloc(0);
    if (toHex(key).startsWith(toHex(assetId(account)))) body[body.length - 1]! ^= 1;
    await route.fulfill({ response, body });
  });
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByRole("alert").getByText("Not verified.").waitFor();
  expect(await asset.innerText()).toBe("978 as the node claims");
  await page.unroute("**/frames");
  await page.getByRole("button", { name: "Verify" }).click();
  await expect.poll(() => asset.innerText(), WAIT).toBe("978 verified in this browser");
  expect(await text(page, ".head-card .big")).toBe("500");

  await opening.getByRole("link").first().click();
  await page.locator(".facts dt:text-is('Asset') + dd:text-is('978')").waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Verified in this browser", { exact: true }).waitFor();
  await page.locator(".proof dt:text-is('Asset') + dd:text-is('978')").waitFor();

  // No proof is needed for asset 0: the entry has no mark.
  await page.goto(`/#/account/${hex(bob)}`);
  await expect.poll(() => asset.innerText(), WAIT).toBe("0 as the node claims");
  await page.context().close();
});

test("a node that stops is reported, and found again without a reload", async () => {
  const page = await chromium.open(node.http);
  await page.locator(".pulse.open").waitFor();
  await node.kill();
  let found: string[];
  try {
    await page.getByText("The node does not answer", { exact: true }).waitFor();
    found = await findings(page);
  } finally {
    await node.start();
  }
  await page.getByRole("button", { name: "Try now" }).click();
  await page.locator(".pulse.open").waitFor();
  await page.locator(".banner").waitFor({ state: "detached" });
  expect(found).toEqual([]);
  await page.context().close();
});

test("the operators' view has state, sections and configuration", async () => {
  const page = await chromium.open(node.http, "#/operators");
  await page.getByText("ready", { exact: true }).waitFor();
  await page.getByText("healthy", { exact: true }).waitFor();
  expect(await page.locator(".sections section").count()).toBeGreaterThan(1);
  expect(await text(page, "pre.toml")).toContain("[ledger]");
  await page.context().close();
});

test("the theme follows the system, and a choice persists", async () => {
  const page = await chromium.open(node.http, "#/blocks", { colorScheme: "dark" });
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.getByRole("button", { name: "Use the light theme" }).click();
  const light = await ground();
  expect(light).not.toBe(dark);
  await page.reload();
  await page.getByRole("button", { name: "Use the dark theme" }).waitFor();
  expect(await ground()).toBe(light);
  await page.context().close();
});

test("everything is reached with the keyboard alone", async () => {
  const page = await chromium.open(node.http, "#/blocks");
  await page.locator("tbody tr").first().waitFor();
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  for (let steps = 0; steps < 8; steps++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement?.getAttribute("href")))?.startsWith("#/block/")) break;
  }
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle);
  expect(outline).toBe("solid");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^Block \d/ }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("2");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/#/account/${hex(bob)}`);
  await page.context().close();
});

test("each view fits a phone and has no findings of axe, in both themes", async () => {
  const page = await chromium.open(node.http, "#/", { viewport: { width: 360, height: 740 }, reducedMotion: "reduce" });
  const views = [
    "",
    "blocks",
    "accounts",
    `block/${large}`,
    `account/${hex(bob)}`,
    `transaction/${large}:0`,
    "operators",
    "bitcoin",
    "nowhere",
  ];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const view of views) {
      await page.goto(`/#/${view}`);
      await page.locator(".ghost").waitFor({ state: "detached" });
      await page
        .locator(view ? "h1" : ".plot canvas")
        .first()
        .waitFor();
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, `${view} is wider than the screen`).toBeLessThanOrEqual(0);
      expect(await findings(page), `${view}, ${colorScheme}`).toEqual([]);
    }
  }
  await page.context().close();
});

test("a hidden page stops listening, and catches up", async () => {
  const page = await chromium.open(node.http);
  await page.locator(".pulse.open").waitFor();
  const hide = (isHidden: boolean): Promise<void> =>
    page.evaluate((isHidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await hide(true);
  const label = (): Promise<string | null> => page.locator(".plot .canvas").first().getAttribute("aria-label");
  const before = await text(page, ".tiles");
  await transfer(client, 5);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await text(page, ".tiles")).toBe(before);
  const figures = page.waitForResponse("**/figures");
  await hide(false);
  await figures;
  await expect.poll(() => text(page, ".tiles"), { timeout: 15_000 }).not.toBe(before);
  expect(await label()).toBeTruthy();
  await page.context().close();
});

test("replicas vouch with a certificate", async () => {
  await using cluster = await Cluster.start();
  const replica = await connect(cluster.address, { promise: "final", timeout: 60_000 });
  try {
    await fund(replica);
    await settled(replica);
    const page = await chromium.open(cluster.http, `#/account/${hex(alice)}`);
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("Verified in this browser", { exact: true }).waitFor();
    await page.getByText("Final: certified by 3 of 4 replicas or more").first().waitFor();
    await page.context().close();
  } finally {
    await replica.close();
  }
});

test("no page asked another host, broke the policy, or failed", () => {
  expect(chromium.offences).toEqual([]);
});
