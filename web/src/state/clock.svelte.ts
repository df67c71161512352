/** The present time, for relative times. */

class Clock {
  /** Unix seconds. */
  now = $state(Date.now() / 1000);

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.now = Date.now() / 1000;
    }, 1000);
  }
}

export const clock = new Clock();
