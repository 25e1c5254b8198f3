/**
 * Turns the first signal of a terminal into a request to stop, and a second one into a request to
 * stop immediately.
 */

/** Terminal and npm both forward the same Ctrl-C: two signals within this time are one. */
const SAME_SIGNAL_MS = 2_000;

/**
 * Listens for SIGINT, SIGTERM and SIGHUP from now on.
 * @param force called at a later signal, during the stop
 * @returns aborted at the first signal
 */
export function stopSignal(force: () => void): AbortSignal {
  const stop = new AbortController();
  let firstAt: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (firstAt === undefined) {
        firstAt = performance.now();
        stop.abort();
      } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
        force();
      }
    });
  }
  return stop.signal;
}
