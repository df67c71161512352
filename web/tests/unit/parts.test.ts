import { flushSync, mount, unmount, type Component } from "svelte";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, getJson } from "../../src/lib/api.js";
import Copy from "../../src/parts/Copy.svelte";
import Pager from "../../src/parts/Pager.svelte";
import Search from "../../src/parts/Search.svelte";
import Stages from "../../src/parts/Stages.svelte";
import Time from "../../src/parts/Time.svelte";
import Transactions from "../../src/parts/Transactions.svelte";
import Trouble from "../../src/parts/Trouble.svelte";

let mounted: ReturnType<typeof mount>[] = [];

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- components have different properties
function show(component: Component<any>, props: Record<string, unknown> = {}): HTMLElement {
  mounted.push(mount(component, { target: document.body, props }));
  flushSync();
  return document.body;
}

beforeEach(() => {
  location.hash = "";
});
afterEach(async () => {
  await Promise.all(mounted.map((component) => unmount(component)));
  mounted = [];
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

const [alice, bob, nobody] = ["1", "2", "0"].map((digit) => digit.padStart(32, "0")) as [string, string, string];
const row = {
  height: 4,
  position: 0,
  transaction: "ab".repeat(16),
  source: alice,
  destination: bob,
  amount_text: "1250",
};

test("a table of transactions shows the account's side of each", () => {
  const rows = [
    { ...row, command: "TRANSFER" },
    { ...row, position: 1, command: "ISSUE", destination: nobody, amount_text: "18446744073709551615" },
    { ...row, position: 2, command: "CREATE", destination: nobody, amount_text: "0" },
  ];
  const page = show(Transactions, { rows, account: alice, caption: "All" });
  const amounts = [...page.querySelectorAll("tbody .number")].map((cell) => cell.textContent?.trim());
  expect(amounts).toEqual(["−1,250", "+18,446,744,073,709,551,615", "0"]);
  expect(page.querySelector("tbody a")?.getAttribute("href")).toBe("#/transaction/4:0");
  expect(page.querySelector("caption")?.textContent).toBe("All");
});

test("a payment goes from the payer to the receiver, and a deposit to nobody", () => {
  const rows = [
    { ...row, command: "OPEN", asset: 978 },
    { ...row, command: "HOLD" },
    { ...row, command: "CAPTURE" },
    { ...row, command: "RELEASE", amount_text: "0" },
  ].map((row, position) => ({ ...row, position }));
  const cells = (account: string): (string | undefined)[][] => {
    document.body.replaceChildren();
    const page = show(Transactions, { rows, account, caption: "All" });
    return [...page.querySelectorAll("tbody tr")].map((row) => {
      const ids = [...row.querySelectorAll("a")].slice(1, 3).map((link) => link.getAttribute("href")?.at(-1));
      return [...ids, row.querySelector(".number")?.textContent?.trim()];
    });
  };
  expect(cells(alice)).toEqual([
    ["2", "1", "1,250"],
    ["1", "2", "−1,250"],
    ["1", "2", "1,250"],
    ["1", "2", "0"],
  ]);
  expect(cells(bob).map((cell) => cell[2])).toEqual(["−1,250", "1,250", "+1,250", "0"]);
  expect(document.querySelector("tbody tr td:nth-child(2)")?.textContent?.replace(/\s+/g, " ").trim()).toBe(
    "OPEN asset 978",
  );
});

test("the search box goes to the first meaning, and says when there is none", () => {
  const page = show(Search);
  const input = page.querySelector("input")!;
  const type = (text: string): void => {
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    flushSync();
  };
  type("17");
  expect([...page.querySelectorAll(".meanings a")].map((link) => link.textContent)).toEqual(["Block 17", "Account 17"]);
  type("no such thing");
  page.querySelector("form")!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  flushSync();
  expect(page.querySelector("[role=alert]")?.textContent).toContain("HEIGHT:POSITION");
  type("4:2");
  page.querySelector("form")!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  expect(location.hash).toBe("#/transaction/4:2");
});

test("pages, times, troubles and copies", async () => {
  const again = vi.fn();
  const page = show(Trouble, { error: new ApiError(404, "No such block."), again });
  page.querySelector("button")!.click();
  expect(again).toHaveBeenCalledOnce();
  expect(page.textContent).toContain("No such block.");
  show(Pager, { newest: undefined, older: "#/blocks?before=3" });
  expect(page.querySelector(".next")?.getAttribute("href")).toBe("#/blocks?before=3");
  show(Time, { time: 1_795_879_441 });
  expect(page.querySelector("time")?.title).toBe("2026-11-28 15:24:01 UTC");
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  show(Copy, { text: "abc", label: "id" });
  page.querySelector<HTMLButtonElement>("[aria-label='Copy id']")!.click();
  await vi.waitFor(() => expect(page.textContent).toContain("copied"));
  expect(writeText).toHaveBeenCalledWith("abc");
});

test("a stage that lags is marked, and explained", () => {
  const stage = { name: "Blocks", rate: "3/s", detail: "1 to go", lag: null, isPresent: true };
  const page = show(Stages, {
    stages: [
      { ...stage, name: "Journal" },
      { ...stage, lag: "The builder is behind." },
    ],
  });
  expect(page.querySelectorAll("g.lag")).toHaveLength(1);
  expect(page.querySelector("p[role=status]")?.textContent).toContain("Blocks lags. The builder is behind.");
});

test("refusals become texts that say what to do", async () => {
  const answers: [Response | Error, RegExp][] = [
    [new Response("no block 9\n", { status: 404 }), /^No block 9$/],
    [new Response("", { status: 418 }), /status 418/],
    [new Response("disk", { status: 500 }), /cannot answer: disk\. Its log/],
    [new TypeError("refused"), /does not answer\. Check that it runs/],
    [new Response("<html>"), /is not JSON/],
  ];
  for (const [answer, expected] of answers) {
    vi.stubGlobal("fetch", () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)));
    await expect(getJson("/x")).rejects.toThrow(expected);
  }
});
