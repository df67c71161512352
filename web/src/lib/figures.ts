/** The figures of the last hour, and what follows from them. */

export type Row = readonly (number | null)[];

/** Rows this recent are kept a second apart; older ones five, as the node keeps them. */
const FINE_SECONDS = 300;
const COARSE_STEP = 4.5;
const HOUR = 3600;

/** At most an hour of rows, oldest first. */
export class History {
  #names: readonly string[] = [];
  #at = new Map<string, number>();
  #rows: Row[] = [];

  /** Takes the names and rows of `/figures`. Later rows that are here already stay. */
  load(names: readonly string[], rows: readonly Row[]): void {
    const later = this.#names.join() === names.join() ? this.#rows : [];
    this.#name(names);
    const time = this.#at.get("time") ?? 0;
    const end = rows.at(-1)?.[time] ?? -Infinity;
    this.#rows = [...rows, ...later.filter((row) => (row[time] ?? 0) > end)];
    this.#prune();
  }

  /** Appends a row. */
  push(names: readonly string[], row: Row): void {
    // A node of another version counts something else: its rows do not continue these.
    if (this.#names.join() !== names.join()) this.load(names, []);
    const time = this.#at.get("time") ?? 0;
    if ((row[time] ?? 0) <= (this.#rows.at(-1)?.[time] ?? -Infinity)) return;
    this.#rows.push(row);
    this.#prune();
  }

  #name(names: readonly string[]): void {
    this.#names = names;
    this.#at = new Map(names.map((name, at) => [name, at]));
  }

  /** Thins out old rows and drops those older than an hour. */
  #prune(): void {
    const newest = this.time;
    let before = -Infinity;
    this.#rows = this.#rows.filter((row, at) => {
      const time = this.#value(row, "time") ?? 0;
      const isDue = newest - time < FINE_SECONDS || time - before >= COARSE_STEP || at === this.#rows.length - 1;
      if (newest - time > HOUR || !isDue) return false;
      before = time;
      return true;
    });
  }

  #value(row: Row | undefined, name: string): number | null {
    const at = this.#at.get(name);
    return at === undefined ? null : (row?.[at] ?? null);
  }

  get length(): number {
    return this.#rows.length;
  }

  /** The time of the newest row; 0 without one. */
  get time(): number {
    return this.last("time") ?? 0;
  }

  /** The newest value of a figure. */
  last(name: string): number | null {
    return this.#value(this.#rows.at(-1), name);
  }

  /** The value of a figure some seconds before the newest row; `null` if the rows do not reach back that far. */
  before(name: string, seconds: number): number | null {
    const row = this.#rows.findLast((row) => this.time - (this.#value(row, "time") ?? 0) >= seconds);
    return this.#value(row, name);
  }

  /** How much a counter grew a second, over the last seconds; `null` if it did not exist or began again. */
  rate(name: string, seconds = 3): number | null {
    const newest = this.#rows.at(-1);
    const oldest = this.#rows.find((row) => this.time - (this.#value(row, "time") ?? 0) <= seconds + 0.5);
    return newest && oldest && newest !== oldest ? this.#growth(oldest, newest, name) : null;
  }

  #growth(from: Row, to: Row, name: string): number | null {
    const [a, b] = [this.#value(from, name), this.#value(to, name)];
    const passed = (this.#value(to, "time") ?? 0) - (this.#value(from, "time") ?? 0);
    return a === null || b === null || b < a || passed <= 0 ? null : (b - a) / passed;
  }

  /** A figure of all rows that are at most this old. */
  column(name: string, seconds: number): (number | null)[] {
    return this.#since(seconds).map((row) => this.#value(row, name));
  }

  /** The growth of a counter between rows, a second. */
  growth(name: string, seconds: number): (number | null)[] {
    const rows = this.#since(seconds);
    return rows.map((row, at) => (at === 0 ? null : this.#growth(rows[at - 1]!, row, name)));
  }

  #since(seconds: number): Row[] {
    return this.#rows.filter((row) => this.time - (this.#value(row, "time") ?? 0) <= seconds);
  }

  /** How many seconds ago the durable sequence was where another counter of it is now. */
  behind(name: string): number {
    const reached = this.last(name);
    if (reached === null || reached >= (this.last("durable_sequence") ?? 0)) return 0;
    const row = this.#rows.findLast((row) => (this.#value(row, "durable_sequence") ?? 0) <= reached);
    return this.time - (this.#value(row ?? this.#rows[0], "time") ?? this.time);
  }
}
