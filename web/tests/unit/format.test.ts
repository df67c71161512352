import { expect, test } from "vitest";
import {
  abbreviated,
  absolute,
  ago,
  bitcoin,
  bytes,
  compact,
  duration,
  grouped,
  latency,
} from "../../src/lib/format.js";

test("numbers are grouped exactly, beyond what a double holds", () => {
  expect(grouped(0)).toBe("0");
  expect(grouped(999)).toBe("999");
  expect(grouped(1000)).toBe("1,000");
  expect(grouped("18446744073709551615")).toBe("18,446,744,073,709,551,615");
  expect(grouped(12345678901234567890n)).toBe("12,345,678,901,234,567,890");
});

test("large numbers have three digits and a prefix", () => {
  expect([0, 7, 0.5, 999, 9_999, 10_000, 123_456, 999_600, 2_345_678, 7.5e12].map(compact)).toEqual([
    "0",
    "7",
    "0.5",
    "999",
    "9,999",
    "10.0 k",
    "123 k",
    "1.00 M",
    "2.35 M",
    "7.50 T",
  ]);
  expect(compact(-20_000)).toBe("-20.0 k");
});

test("times have the unit that fits", () => {
  expect([null, 3.4e-6, 0.000_34, 0.001_2, 0.045, 2.5, 120].map(latency)).toEqual([
    "–",
    "3.40 µs",
    "340 µs",
    "1.20 ms",
    "45.0 ms",
    "2.50 s",
    "120 s",
  ]);
  expect([5, 65, 3_600, 3_720, 90_000, 172_800].map(duration)).toEqual([
    "5 s",
    "1 min",
    "1 h",
    "1 h 2 min",
    "1 d 1 h",
    "2 d",
  ]);
  expect(ago(100, 100.4)).toBe("now");
  expect(ago(100, 220)).toBe("2 min ago");
  expect(absolute(1_795_879_441)).toBe("2026-11-28 15:24:01 UTC");
});

test("sizes, ids and bitcoin", () => {
  expect([null, 0, 1023, 1536, 3 * 2 ** 30, 200 * 2 ** 20].map(bytes)).toEqual([
    "–",
    "0 B",
    "1023 B",
    "1.5 KiB",
    "3.0 GiB",
    "200 MiB",
  ]);
  expect(abbreviated("0123456789abcdef0123456789abcdef")).toBe("01234567…89abcdef");
  expect(abbreviated("short")).toBe("short");
  expect(bitcoin(5_000_000_000)).toBe("50.00000000 BTC");
  expect(bitcoin(-1)).toBe("-0.00000001 BTC");
});
