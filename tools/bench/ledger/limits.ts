import { REQUEST } from './counters';
import { type Ledger, MAIN_THREAD_WAKE_UPS } from './ledger';

/**
 * What an idle second and a call may cost: half as much again as on a quiet machine, where calls
 * share the least. A change that adds a request or a wake-up raises a number
 * here, and says why beside it. Pure.
 */

/** At most this for each process. */
interface Limit {
  /** requests to Kafka */
  requests: number;
  /** of its main thread; absent: not limited */
  wakeUps?: number;
  /** JSON texts that are read and written */
  json?: number;
}

export type Limits = Readonly<Record<string, Limit>>;

/**
 * For a second without calls. A reader asks once in five seconds, a lone member of a group beats
 * once in two. Each reader asks for metadata twice a minute, and all may do so in the ten seconds
 * that are counted.
 */
export const IDLE: Limits = {
  ingest: { requests: 0.8, wakeUps: 3 },
  router: { requests: 1.8, wakeUps: 4 },
  delivery: { requests: 2, wakeUps: 4.5 },
  retry: { requests: 1.8, wakeUps: 4 },
  audiences: { requests: 1.3, wakeUps: 2.5 },
  control: { requests: 3.5, wakeUps: 9 },
};

/**
 * For one of 50 calls a second. Ingest writes a message; the router reads it and writes a webhook;
 * delivery reads that. They commit three times a second, and delivery writes ten rows a second.
 */
export const SELDOM: Limits = {
  ingest: { requests: 1.1, wakeUps: 3.2, json: 3.2 },
  router: { requests: 2.3, wakeUps: 4, json: 0.2 },
  // Timers tick while its request is open.
  delivery: { requests: 1.8, wakeUps: 6.2, json: 3.5 },
  retry: { requests: 0.1, wakeUps: 0.3 },
  audiences: { requests: 0.1, wakeUps: 0.3 },
  // A delivery that succeeds at once takes the same path to its row as every other.
  control: { requests: 0.4, wakeUps: 3, json: 9 },
};

/** For a call at full speed: many calls share a request, the more the slower the machine is. */
export const FULL_SPEED: Limits = {
  ingest: { requests: 0.3, json: 3.1 },
  router: { requests: 0.6, json: 0.1 },
  delivery: { requests: 0.4, json: 2.5 },
  retry: { requests: 0.05 },
  audiences: { requests: 0.05 },
  control: { requests: 0.3, json: 7 },
};

const DIGITS = 2;

/** Returns what is above its limit, as sentences. */
export function excess(ledger: Ledger, limits: Limits, unit: string): string[] {
  return Object.entries(limits).flatMap(([process, { requests, wakeUps, json }]) => {
    const counts = ledger[process] ?? {};
    const asked = Object.entries(counts).filter(([name]) => name.startsWith(REQUEST));
    const kinds = asked.map(([name, count]) => {
      return `${name.slice(REQUEST.length)} ${count.toFixed(DIGITS)}`;
    });
    const texts = (counts['JSON texts read'] ?? 0) + (counts['JSON texts written'] ?? 0);
    const measured: [what: string, count: number, limit: number | undefined][] = [
      [`requests to Kafka (${kinds.join(', ')})`, sumOf(asked), requests],
      [MAIN_THREAD_WAKE_UPS, counts[MAIN_THREAD_WAKE_UPS] ?? 0, wakeUps],
      ['JSON texts', texts, json],
    ];
    return measured.flatMap(([what, count, limit]) =>
      limit === undefined || count <= limit
        ? []
        : [`${process}: ${count.toFixed(DIGITS)} ${what} for ${unit}, above ${String(limit)}`],
    );
  });
}

export function sumOf(counts: readonly (readonly [name: string, count: number])[]): number {
  return counts.reduce((total, [, count]) => total + count, 0);
}
