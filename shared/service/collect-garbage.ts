import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Frees dead objects early. A process under load makes some objects old that die soon, and V8 lets old objects grow to four times
 * their live part, 200 MB or more, before it collects them. Here it begins at one and a half times (and not below
 * `--initial-old-space-size`). It collects in small steps, and the longest stops the process for 5 to 10 ms, where a collection of all objects
 * that a program asks for stops it for 50. Dead fetches take no room in the heap, so that V8 sees no reason to collect the
 * young ones, and the process asks for that. It takes a few ms.
 */

const GROWING_PERCENT = 50;
const LOOK_EVERY_MS = 5_000;
const MOST_YOUNG_BYTES = 12 * 1024 * 1024;

export interface Collector {
  /** bytes of the heap and of buffers, live and dead */
  held: () => number;
  collectYoung: () => void;
}

/** Looks every five seconds, as long as the process runs, and does not keep it running. */
export function collectGarbage({ held, collectYoung }: Collector = ofThisThread()): void {
  // Bytes after the last collection.
  let left = held();
  setInterval(() => {
    left = Math.min(left, held());
    if (held() - left <= MOST_YOUNG_BYTES) return;
    collectYoung();
    left = held();
  }, LOOK_EVERY_MS).unref();
}

function ofThisThread(): Collector {
  setFlagsFromString(`--heap-growing-percent=${String(GROWING_PERCENT)}`);
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>;
  setFlagsFromString('--no-expose-gc');
  return {
    held: () => {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    collectYoung: () => {
      gc({ type: 'minor' });
    },
  };
}
