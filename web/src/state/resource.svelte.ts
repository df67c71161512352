/** Something that is fetched: again whenever what it depends on changes, and never two at a time. */

export class Resource<T> {
  value = $state.raw<T>();
  error = $state.raw<unknown>();
  isLoading = $state(true);
  #again = $state(0);

  /** Fetches for the component that creates it. Whatever `fetch` reads before its first `await` is a dependency. */
  constructor(fetch: (signal: AbortSignal) => Promise<T>) {
    $effect(() => {
      void this.#again;
      const controller = new AbortController();
      this.isLoading = true;
      const end = (value: T | undefined, error: unknown): void => {
        if (controller.signal.aborted) return;
        this.value = value;
        this.error = error;
        this.isLoading = false;
      };
      fetch(controller.signal).then(
        (value) => end(value, undefined),
        (error: unknown) => end(undefined, error),
      );
      return () => controller.abort();
    });
  }

  again(): void {
    this.#again++;
  }
}
