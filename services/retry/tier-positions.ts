import { type OpenRecord, type RebalanceListener, type Restart } from '../../shared/kafka/port';

/**
 * Tracks which partitions of the tiers this process owns, and how far it has returned each of them.
 * Records before that are no longer this process's to recall.
 */
export class TierPositions implements RebalanceListener {
  /** when each owned partition was assigned, by `performance.now()`, as `Tail.completeAt` */
  readonly #assignedAt = new Map<number, number>();
  /** the first offset that was not returned, by topic and partition */
  readonly #next = new Map<string, Map<number, number>>();

  constructor(
    private readonly options: {
      steadyMs: () => number;
      /** records of this partition are being copied: no other member may get it */
      isTaking: (partition: number) => boolean;
      onAssigned: () => void;
    },
  ) {}

  onAssigned(partitions: ReadonlySet<number>): void {
    for (const each of this.#assignedAt.keys()) if (!partitions.has(each)) this.#forget(each);
    for (const each of partitions) {
      if (!this.#assignedAt.has(each)) this.#assignedAt.set(each, this.options.steadyMs());
    }
    this.options.onAssigned();
  }

  onLost(): void {
    for (const each of this.#assignedAt.keys()) this.#forget(each);
  }

  isDraining(partition: number): boolean {
    return this.options.isTaking(partition);
  }

  get owned(): ReadonlySet<number> {
    return new Set(this.#assignedAt.keys());
  }

  /** Returns since when a partition is owned; undefined if it is not. */
  assignedAt(partition: number): number | undefined {
    return this.#assignedAt.get(partition);
  }

  /** @param next the record's offset, or the one behind it once its return began */
  reached({ topic, partition }: Pick<OpenRecord, 'topic' | 'partition'>, next: number): void {
    let offsets = this.#next.get(topic);
    if (!offsets) this.#next.set(topic, (offsets = new Map<number, number>()));
    offsets.set(partition, next);
  }

  /** What was returned from this offset on is gone, or comes again. */
  onRestart({ topic, partition, from }: Restart): void {
    if ((this.next(topic, partition) ?? 0) > from) this.reached({ topic, partition }, from);
  }

  /** Returns the first offset that was not returned; undefined: no record was offered yet. */
  next(topic: string, partition: number): number | undefined {
    return this.#next.get(topic)?.get(partition);
  }

  #forget(partition: number): void {
    this.#assignedAt.delete(partition);
    for (const offsets of this.#next.values()) offsets.delete(partition);
  }
}
