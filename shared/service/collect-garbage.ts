import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects dead objects early. A process under load makes some objects old that die soon, and V8 lets the heap and its buffers grow to
 * four times their live part, 200 MB or more, before it collects old objects. Dead fetches take no room in the heap, so that V8
 * sees no reason to collect the young ones either. A collection of all objects stops the process for 20 to 50 ms, and for longer with more
 * live bytes. So the limit grows with them, and in a large process V8 alone collects old objects, in small steps. A collection of young
 * objects takes a few ms.
 */

const LOOK_EVERY_MS = 5_000;
const MOST_YOUNG_BYTES = 12 * 1024 * 1024;
/** Half of the live bytes, if that is more. */
const MOST_DEAD_BYTES = 32 * 1024 * 1024;
const LARGE_BYTES = 128 * 1024 * 1024;

export interface Collector {
  /** bytes of the heap and of buffers, live and dead */
  held: () => number;
  collect: (which: 'young' | 'all') => void;
}

/** Looks every five seconds, as long as the process runs, and does not keep it running. */
export function collectGarbage({ held, collect }: Collector = ofThisThread()): void {
  // Bytes after the last collection of all objects, and after the last one of any.
  let live = held();
  let left = live;
  setInterval(() => {
    left = Math.min(left, held());
    if (held() - left > MOST_YOUNG_BYTES) {
      collect('young');
      left = held();
    }
    live = Math.min(live, held());
    if (live > LARGE_BYTES || held() - live < Math.max(MOST_DEAD_BYTES, live / 2)) return;
    collect('all');
    live = left = held();
  }, LOOK_EVERY_MS).unref();
}

function ofThisThread(): Collector {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>;
  setFlagsFromString('--no-expose-gc');
  return {
    held: () => {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    collect: (which) => {
      // Node 20 takes any object with a `type` for a collection of young objects.
      if (which === 'young') gc({ type: 'minor' });
      else gc();
    },
  };
}
