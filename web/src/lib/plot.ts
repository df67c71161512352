/** What a plot shows. */

export interface Series {
  readonly label: string;
  /** Index into the palette. */
  readonly colour: number;
  /** Dashed, so that two series of one colour differ. */
  readonly isDashed?: boolean;
  readonly values: readonly (number | null)[];
}

export interface PlotData {
  /** Unix seconds. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
}

/** Drops series without a value. */
export function shown(series: readonly Series[]): Series[] {
  return series.filter(({ values }) => values.some((value) => value !== null));
}

/** Powers of ten that enclose all values, for a logarithmic axis. */
export function decades(low: number, high: number): [number, number] {
  const bottom = Math.floor(Math.log10(Math.max(low, 1e-7)));
  const top = Math.ceil(Math.log10(Math.max(high, 1e-7)));
  return [10 ** bottom, 10 ** Math.max(top, bottom + 1)];
}
