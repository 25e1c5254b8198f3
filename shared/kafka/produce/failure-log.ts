import { type Log } from '../../telemetry/log';
import { REMEDIES } from './errors';
import { type Blocked, type Request } from './request';

/** Logs failures of the producer: failed attempts at most once a second, each blocked partition once. */

const EVERY_MS = 1_000;

export class FailureLog {
  #loggedAt = -Infinity;
  /** blocked partitions and topics, with the time of the report, by place */
  readonly #known = new Map<string, { blocked: Blocked; since: number }>();

  constructor(private readonly log: Log) {}

  /** true while a partition is reported as blocked and not yet as writable */
  get isOpen(): boolean {
    return this.#known.size > 0;
  }

  /** Logs a request that was not acknowledged, or not in all its parts. */
  failed({ node, parts }: Request, reason?: string): void {
    const failing = parts.filter(({ queue }) => queue.backoff.error !== undefined);
    // A permanently refused record is logged by `refused`, and its partition does not fail.
    if (failing.length === 0 && reason === undefined) return;
    const now = performance.now();
    if (now - this.#loggedAt < EVERY_MS) return;
    this.#loggedAt = now;
    const first = failing[0]?.queue;
    this.log.warn(
      {
        ...{ broker: node, topic: first?.topic, partition: first?.partition, partitions: failing.length },
        reason: reason ?? first?.backoff.error?.name,
      },
      'produce.failed',
    );
  }

  /** Logs a record that was returned to its caller. */
  refused(place: string, reason: string): void {
    this.log.error({ place, reason }, 'produce.refused');
  }

  /** Logs that no broker returns the leaders of the partitions. */
  unknown(reason: string): void {
    const now = performance.now();
    if (now - this.#loggedAt < EVERY_MS) return;
    this.#loggedAt = now;
    this.log.warn({ reason }, 'produce.metadata_missing');
  }

  /** Reports partitions that became blocked, and those accepting records again. */
  report(blocked: Iterable<Blocked>): void {
    const now = performance.now();
    const over = new Set(this.#known.keys());
    for (const each of blocked) {
      const { topic, partition, error } = each;
      const place = `${topic}/${String(partition)}`;
      over.delete(place);
      if (this.#known.has(place)) continue;
      this.#known.set(place, { blocked: each, since: now });
      this.log.error({ topic, partition, reason: error.name, remedy: REMEDIES.get(error.name) }, 'partition.blocked');
    }
    for (const place of over) {
      const { blocked: was, since } = this.#known.get(place) ?? {};
      this.#known.delete(place);
      const lastedMs = Math.round(now - (since ?? now));
      this.log.info({ topic: was?.topic, partition: was?.partition, lastedMs }, 'partition.writable');
    }
  }
}
