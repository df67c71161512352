/** The chosen theme; without a choice the system's. */

const KEY = "turnpike.theme";

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

class Theme {
  #chosen = $state(read());
  #system = $state(matchMedia("(prefers-color-scheme: dark)").matches);
  readonly isDark = $derived(this.#chosen === "dark" || (this.#chosen !== "light" && this.#system));

  constructor() {
    this.#apply();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => (this.#system = event.matches));
  }

  #apply(): void {
    if (this.#chosen === "dark" || this.#chosen === "light") document.documentElement.dataset["theme"] = this.#chosen;
  }

  /** Chooses the other theme, and remembers it. */
  toggle(): void {
    this.#chosen = this.isDark ? "light" : "dark";
    this.#apply();
    try {
      localStorage.setItem(KEY, this.#chosen);
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
  }
}

export const theme = new Theme();
