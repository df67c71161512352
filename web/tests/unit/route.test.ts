import { expect, test } from "vitest";
import { parseRoute, to } from "../../src/lib/route.js";
import { meanings } from "../../src/lib/search.js";

const ID = "0123456789abcdef0123456789abcdef";

test("every address that the page links to is parsed", () => {
  expect(parseRoute("")).toEqual({ view: "live" });
  expect(parseRoute(to.live())).toEqual({ view: "live" });
  expect(parseRoute(to.operators())).toEqual({ view: "operators" });
  expect(parseRoute(to.blocks())).toEqual({ view: "blocks", before: null });
  expect(parseRoute(to.blocks(7))).toEqual({ view: "blocks", before: "7" });
  expect(parseRoute("#/blocks?before=1%263")).toEqual({ view: "blocks", before: null });
  expect(parseRoute(to.accounts(ID))).toEqual({ view: "accounts", after: ID });
  expect(parseRoute(to.account(ID))).toEqual({ view: "account", account: ID, before: null });
  expect(parseRoute(to.account(ID, "3:4"))).toEqual({ view: "account", account: ID, before: "3:4" });
  expect(parseRoute(to.named(ID, ID))).toEqual({ view: "named", account: ID, transaction: ID });
  expect(parseRoute(to.block(12, 24))).toEqual({ view: "block", height: "12", after: "24" });
  expect(parseRoute(to.transaction(1, 0))).toEqual({ view: "transaction", height: "1", position: "0" });
  expect(parseRoute(to.bitcoin("tx", "ab"))).toEqual({ view: "bitcoin", kind: "tx", id: "ab" });
  expect(parseRoute("#/bitcoin")).toEqual({ view: "bitcoin", kind: "tip", id: "" });
});

test("anything else is nowhere", () => {
  for (const path of [
    "/x",
    "/account/12",
    "/account/" + ID + "/history",
    "/block/-1",
    "/transaction/1",
    "/transaction/1:2:3",
    "/bitcoin/x/y",
    "/block/1/2/3/4/5",
  ]) {
    expect(parseRoute(`#${path}`)).toEqual({ view: "nowhere", path });
  }
});

test("a search text means what users write", () => {
  const first = (text: string): string | undefined => meanings(text)[0]?.href;
  expect(first(ID)).toBe(to.account(ID));
  expect(first(ID.toUpperCase())).toBe(to.account(ID));
  expect(first("01234567-89ab-cdef-0123-456789abcdef")).toBe(to.account(ID));
  expect(first("42")).toBe(to.block("42"));
  expect(first("1,042")).toBe(to.block("1042"));
  expect(meanings("42")[1]?.href).toBe(to.account("0000000000000000000000000000002a"));
  expect(first("account 42")).toBe(to.account("0000000000000000000000000000002a"));
  expect(first(" 42:7 ")).toBe(to.transaction("42", "7"));
  expect(first(`${ID}  ${ID}`)).toBe(to.named(ID, ID));
  expect(first("1 77")).toBe(to.named("00000000000000000000000000000001", "0000000000000000000000000000004d"));
  expect(first("f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16")).toMatch(/^#\/bitcoin\/tx\//);
  expect(first("12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S")).toMatch(/^#\/bitcoin\/address\//);
  expect(first("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")).toMatch(/^#\/bitcoin\/address\//);
});

test("other texts mean nothing", () => {
  for (const text of [
    "",
    "  ",
    "x",
    "account",
    "account x",
    "1:2:3",
    `${ID}0`,
    "340282366920938463463374607431768211456 1",
  ]) {
    expect(meanings(text)).toEqual([]);
  }
});
