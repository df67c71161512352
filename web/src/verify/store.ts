/** What this browser remembers of each network: the last header that it verified, and the headers if they are few. */

/** Storage as far as it is used. */
export type Items = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The last verified header. */
export interface Pin {
  readonly height: number;
  readonly hash: string;
  /** When it was verified, in Unix seconds. */
  readonly time: number;
}

/** Larger files of headers are fetched again: a browser stores about 5 MB for a page, in texts. */
const MAX_BYTES = 2_000_000;

export class Store {
  readonly #items: Items;
  readonly #network: string;

  constructor(items: Items, network: string) {
    this.#items = items;
    this.#network = network;
  }

  get pin(): Pin | undefined {
    const text = this.#items.getItem(`turnpike.pin.${this.#network}`);
    if (!text) return undefined;
    const [height = "", hash = "", time = ""] = text.split(" ");
    return /^\d+$/.test(height) && /^[0-9a-f]{64}$/.test(hash)
      ? { height: Number(height), hash, time: Number(time) || 0 }
      : undefined;
  }

  /** The headers; `undefined` if there are none, or not as they were stored. */
  get headers(): Uint8Array | undefined {
    const text = this.#items.getItem(`turnpike.headers.${this.#network}`);
    if (!text) return undefined;
    try {
      return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    } catch {
      return undefined;
    }
  }

  /** Remembers a header, and the headers up to it if they fit. Returns whether the browser can remember anything. */
  save(pin: Pin, headers: Uint8Array): boolean {
    try {
      this.#items.setItem(`turnpike.pin.${this.#network}`, `${pin.height} ${pin.hash} ${pin.time}`);
    } catch {
      return false;
    }
    try {
      if (headers.length <= MAX_BYTES) this.#items.setItem(`turnpike.headers.${this.#network}`, encode(headers));
      else this.forgetHeaders();
    } catch {
      // No room: the pin alone still shows a change of the chain.
      this.forgetHeaders();
    }
    return true;
  }

  forgetHeaders(): void {
    this.#items.removeItem(`turnpike.headers.${this.#network}`);
  }

  /** Forgets the network: the next verification trusts the chain that it finds. */
  forget(): void {
    this.forgetHeaders();
    this.#items.removeItem(`turnpike.pin.${this.#network}`);
  }
}

function encode(bytes: Uint8Array): string {
  let text = "";
  // In parts: a call has a limited number of arguments.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
