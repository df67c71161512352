/** Bytes: hexadecimal text, comparison, concatenation. */

/** The bytes in lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** The bytes of hexadecimal text. */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 || /[^0-9a-f]/i.test(text)) {
    throw new RangeError(`not hexadecimal: ${JSON.stringify(text)}; use pairs of the digits 0-9 and a-f`);
  }
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && equalAt(a, b, 0, a.length);
}

/** Whether two frames have the same bytes from one offset up to another. */
export function equalAt(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (a[at] !== b[at]) return false;
  return true;
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Reads big-endian fields one after the other. Throws a `RangeError` where the bytes end too early. */
export class Reader {
  #at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** The next bytes. Throws a `RangeError` if there are fewer. */
  bytes(length: number): Uint8Array {
    if (length > this.remaining) throw new RangeError(`${length} bytes expected, ${this.remaining} found`);
    return this.#bytes.slice(this.#at, (this.#at += length));
  }

  u8(): number {
    return this.#view.getUint8(this.#at++);
  }

  u16(): number {
    return this.#view.getUint16((this.#at += 2) - 2);
  }

  u32(): number {
    return this.#view.getUint32((this.#at += 4) - 4);
  }

  u64(): bigint {
    return this.#view.getBigUint64((this.#at += 8) - 8);
  }
}
