/** Numbers, times and ids as texts. */

const THOUSANDS = /\B(?=(\d{3})+(?!\d))/g;

/** An exact integer with thousands separators. */
export function grouped(value: number | bigint | string): string {
  return String(value).replace(THOUSANDS, ",");
}

/** Three significant digits, with the prefix of a unit: `12.3 M`. */
export function compact(value: number): string {
  const units = ["", " k", " M", " G", " T"];
  let scaled = Math.abs(value);
  let unit = 0;
  // From 10,000 on, so that small counts stay exact.
  if (scaled >= 10_000) while (scaled >= 999.5 && unit < units.length - 1) [scaled, unit] = [scaled / 1000, unit + 1];
  const digits = unit === 0 ? (scaled < 10 && scaled % 1 ? 1 : 0) : scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
  return (value < 0 ? "-" : "") + grouped(scaled.toFixed(digits)) + units[unit]!;
}

/** Something a second; `–` if unknown. */
export function perSecond(value: number | null): string {
  return value === null ? "–" : `${compact(value)}/s`;
}

/** A short time: `340 µs`, `1.20 ms`, `2.5 s`; `–` if unknown. */
export function latency(seconds: number | null): string {
  if (seconds === null) return "–";
  const [value, unit] = seconds < 1e-3 ? [seconds * 1e6, "µs"] : seconds < 1 ? [seconds * 1e3, "ms"] : [seconds, "s"];
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}

/** A size of memory or disk; `–` if unknown. */
export function bytes(value: number | null): string {
  if (value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

/** A long time: `4 d 3 h`, `12 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [d, h, m] = [Math.floor(whole / 86_400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  if (d) return h ? `${d} d ${h} h` : `${d} d`;
  if (h) return m ? `${h} h ${m} min` : `${h} h`;
  return m ? `${m} min` : `${whole} s`;
}

/** How long ago a time was, in Unix seconds. */
export function ago(time: number, now: number): string {
  const seconds = now - time;
  return seconds < 1 ? "now" : `${duration(seconds)} ago`;
}

/** A time in UTC: `2026-11-28 15:24:01 UTC`. */
export function absolute(time: number): string {
  return `${new Date(time * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The ends of a long id. */
export function abbreviated(id: string, digits = 8): string {
  return id.length <= 2 * digits + 1 ? id : `${id.slice(0, digits)}…${id.slice(-digits)}`;
}

/** An amount of satoshi in bitcoin. */
export function bitcoin(satoshi: number): string {
  const text = (Math.abs(satoshi) / 1e8).toFixed(8);
  const [whole, fraction] = text.split(".") as [string, string];
  return `${satoshi < 0 ? "-" : ""}${grouped(whole)}.${fraction} BTC`;
}
