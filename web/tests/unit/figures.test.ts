import { expect, test } from "vitest";
import { History } from "../../src/lib/figures.js";
import { decades, shown } from "../../src/lib/plot.js";
import { operations, stagesOf } from "../../src/lib/stages.js";

const NAMES = ["time", "transfer_total", "durable_sequence", "built_sequence", "sync_p99_seconds"];

test("an hour is kept: a row a second of the last minutes, older ones each five seconds", () => {
  const history = new History();
  history.load(NAMES, [[0, 0, 0, 0, null]]);
  for (let time = 1; time <= 8000; time++) history.push(NAMES, [time, 10 * time, time, time, null]);
  expect(history.length).toBeGreaterThan(300 + 600);
  expect(history.length).toBeLessThan(300 + 700);
  expect(history.time).toBe(8000);
  expect(history.column("time", 10)).toHaveLength(11);
  expect(history.column("time", 1e9)[0]).toBeGreaterThanOrEqual(8000 - 3600);
  expect(history.rate("transfer_total")).toBeCloseTo(10);
  expect(history.before("durable_sequence", 100)).toBe(7900);
});

test("rows of events that come twice or late are dropped, and later ones survive a reload", () => {
  const history = new History();
  history.load(NAMES, [[5, 0, 0, 0, null]]);
  history.push(NAMES, [6, 1, 0, 0, null]);
  history.push(NAMES, [6, 9, 0, 0, null]);
  history.push(NAMES, [4, 9, 0, 0, null]);
  expect(history.column("transfer_total", 100)).toEqual([0, 1]);
  history.load(NAMES, [
    [1, 0, 0, 0, null],
    [5, 0, 0, 0, null],
  ]);
  expect(history.column("time", 100)).toEqual([1, 5, 6]);
  history.push(["time", "other"], [7, 3]);
  expect(history.column("time", 100)).toEqual([7]);
  expect(history.last("transfer_total")).toBeNull();
});

test("a counter that begins again has no rate", () => {
  const history = new History();
  history.load(NAMES, [
    [1, 100, 0, 0, null],
    [2, 110, 0, 0, null],
    [3, 5, 0, 0, null],
    [4, 8, 0, 0, null],
  ]);
  expect(history.growth("transfer_total", 100)).toEqual([null, 10, null, 3]);
  expect(history.rate("transfer_total", 10)).toBeNull();
  expect(history.rate("no such figure")).toBeNull();
  expect(new History().rate("transfer_total")).toBeNull();
});

test("the stage that lags is named, with the reason", () => {
  const history = new History();
  history.load(NAMES, []);
  for (let time = 0; time <= 20; time++) history.push(NAMES, [time, 0, 1000 * time, 1000 * Math.min(time, 8), 0.001]);
  expect(history.behind("built_sequence")).toBe(12);
  const lagging = stagesOf(history).filter(({ lag }) => lag);
  expect(lagging.map(({ name }) => name)).toEqual(["Blocks"]);
  expect(lagging[0]?.lag).toContain("12 s behind");
  for (let time = 21; time <= 30; time++) history.push(NAMES, [time, 0, 1000 * time, 1000 * time - 500, 0.5]);
  expect(
    stagesOf(history)
      .filter(({ lag }) => lag)
      .map(({ name }) => name),
  ).toEqual(["Journal"]);
  expect(stagesOf(history).map(({ isPresent }) => isPresent)).toEqual([true, false, true, true, true, false]);
  expect(operations(history)).toBe(0);
  expect(operations(new History())).toBeNull();
});

test("a node that restarted has no lag", () => {
  const history = new History();
  history.load(NAMES, [
    [1, 0, 5000, 5000, null],
    [2, 0, 5000, 5000, null],
  ]);
  expect(history.behind("built_sequence")).toBe(0);
  expect(stagesOf(new History()).some(({ lag }) => lag)).toBe(false);
});

test("plots leave out series without values, and a logarithmic axis encloses all", () => {
  const series = [
    { label: "a", colour: 1, values: [null, null] },
    { label: "b", colour: 2, values: [null, 1] },
  ];
  expect(shown(series).map(({ label }) => label)).toEqual(["b"]);
  const [low, high] = decades(0.000_3, 0.02);
  expect(low).toBeCloseTo(0.000_1);
  expect(high).toBeCloseTo(0.1);
  expect(decades(0.001, 0.001)[1]).toBeGreaterThan(0.001);
});
