/** The present address. */

import { parseRoute } from "../lib/route.js";

class Router {
  #hash = $state(location.hash);
  readonly route = $derived(parseRoute(this.#hash));

  constructor() {
    addEventListener("hashchange", () => (this.#hash = location.hash));
  }
}

export const router = new Router();
