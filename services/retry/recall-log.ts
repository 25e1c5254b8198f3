import { createDedupWindow, type DedupWindow, refFromHash } from '../../shared/model/dedup-window';
import {
  JOB_LIFETIME_MS,
  nextProbeMs,
  readRecall,
  type Recall,
  STANDS_MS,
  stepsOf,
} from '../../shared/model/recall';
import { type InRecord, type Restart } from '../../shared/kafka/port';

/**
 * The content of `webhooks.recalls`: requests that are not fulfilled yet, and the steps that were
 * taken.
 */

/** A recall that this process knows. */
export interface KnownRecall {
  recall: Recall;
  /** when Kafka appended it, ms since 1970 */
  atMs: number;
  /** partitions of the tiers that are searched */
  searched: Set<number>;
  /** of one delivery, or of a probe: it has taken its delivery */
  found: boolean;
  /** of a probe: when it last took a delivery, or found none, ms since 1970 */
  probedAt: number | undefined;
  stopped: boolean;
  /** a search for it is under way: it lasts as long as its rate demands */
  running: boolean;
  /** offsets from which a further search reads on, by topic and partition */
  readTo: Map<string, number>;
}

/** Returns whether a recall takes one delivery at a time. */
export function takesOne({ action, where }: Recall): boolean {
  return where.delivery !== undefined || action === 'probe';
}

/**
 * Returns the age at which a recall is dropped unfulfilled, ms, after retry was away: a user no
 * longer waits for one delivery, or the endpoint has changed since it recovered.
 */
function lifetimeMs({ action, where }: Recall): number {
  if (where.delivery) return action === 'cancel' ? 2 * STANDS_MS : 60_000;
  return action === 'recovered' ? 300_000 : JOB_LIFETIME_MS;
}

/** Returns whether a recall also concerns what enters a tier from now on. Pure. */
export function stands({ recall, atMs }: KnownRecall, nowMs: number): boolean {
  return recall.action === 'cancel' && nowMs - atMs < STANDS_MS;
}

/** Returns when a recall is next due for a search, ms since 1970. Pure. */
export function dueAt({ recall, atMs, probedAt }: KnownRecall): number {
  return recall.action === 'probe' ? nextProbeMs(atMs, probedAt) : atMs;
}

/**
 * A stop and its recall come from two processes. A stop that comes first waits this long for its
 * recall, ms.
 */
const STOPS_KEPT_MS = 600_000;

export class RecallLog {
  readonly #known = new Map<string, KnownRecall>();
  /** when each stop came, by recall */
  readonly #stops = new Map<string, number>();
  readonly #taken: DedupWindow;

  /** @param keepMs retention of the topic */
  constructor(keepMs: number) {
    this.#taken = createDedupWindow({ keepMs });
  }

  get isEmpty(): boolean {
    return this.#taken.size === 0;
  }

  /** Reads a record of the topic. Its own notes come back here too, and change nothing then. */
  onRecord({ value, timestampMs }: Pick<InRecord, 'value' | 'timestampMs'>, nowMs: number): void {
    const read = readRecall(value);
    // At a start the topic has the requests of a day and more.
    if (read?.kind === 'recall' && nowMs - timestampMs <= lifetimeMs(read)) {
      this.#add(read, timestampMs);
    }
    if (read?.kind === 'taken') {
      this.take(stepsOf(read), timestampMs);
      const known = this.#known.get(read.recall);
      if (known?.recall.action === 'probe') known.probedAt = timestampMs;
      else if (known) known.found = takesOne(known.recall);
    }
    if (read?.kind === 'searched') {
      for (const each of read.partitions) this.#known.get(read.recall)?.searched.add(each);
    }
    if (read?.kind === 'stop') this.#stop(read.recall, timestampMs, nowMs);
  }

  /** Returns whether a copy of this step was sent. */
  isTaken(step: string, nowMs: number): boolean {
    return this.#taken.isDuplicate(refFromHash(step, 0, 1), nowMs);
  }

  take(steps: readonly string[], nowMs: number): void {
    for (const step of steps) this.#taken.remember(refFromHash(step, 0, 0), nowMs);
  }

  /** Returns the recalls that may need work, oldest first, and drops the others. */
  open(nowMs: number, partitions: number): KnownRecall[] {
    for (const [id, known] of this.#known) {
      const { recall, atMs, searched, found, stopped, running } = known;
      const isSearched = !takesOne(recall) && searched.size >= partitions && !stands(known, nowMs);
      const over = found || stopped || isSearched || nowMs - atMs > lifetimeMs(recall);
      if (over && !running) this.#known.delete(id);
    }
    for (const [id, atMs] of this.#stops) if (nowMs - atMs > STOPS_KEPT_MS) this.#stops.delete(id);
    return [...this.#known.values()];
  }

  /** The search of a probe has ended: it begins anew when it is due. */
  probed(known: KnownRecall, nowMs: number): void {
    known.probedAt = nowMs;
    known.found = false;
    known.readTo.clear();
  }

  /**
   * What was read from this offset on is gone, or comes again. A search that is under way notes its
   * end in the former map, where it counts for nothing.
   */
  onRestart({ topic, partition, from }: Restart): void {
    const place = `${topic}/${String(partition)}`;
    for (const known of this.#known.values()) {
      known.readTo = new Map(known.readTo);
      if ((known.readTo.get(place) ?? 0) > from) known.readTo.set(place, from);
    }
  }

  #add(recall: Recall, atMs: number): void {
    const known = this.#known.get(recall.id);
    if (recall.action === 'probe') {
      // The endpoint is away again, or still, after a restart of its delivery process.
      this.#stops.delete(recall.id);
      if (known) {
        known.atMs = atMs;
        known.stopped = false;
      }
    }
    // A job whose process was killed may send its request twice.
    if (known) return;
    this.#known.set(recall.id, {
      recall,
      atMs,
      searched: new Set(),
      found: false,
      probedAt: undefined,
      stopped: this.#stops.has(recall.id),
      running: false,
      readTo: new Map(),
    });
  }

  #stop(recall: string, atMs: number, nowMs: number): void {
    const known = this.#known.get(recall);
    if (known) known.stopped = true;
    else if (nowMs - atMs <= STOPS_KEPT_MS) this.#stops.set(recall, atMs);
  }
}
