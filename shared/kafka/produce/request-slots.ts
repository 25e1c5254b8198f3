import { type PartitionQueue } from './partition-queue';

/**
 * When a leader may be sent the next request. Each has one request under way, and a second one for partitions that fail.
 * Times are those of `performance.now()`, ms.
 */
export class RequestSlots {
  readonly #lanes = new Map<number, { busy: boolean; notBefore: number }>();

  constructor(private lingerMs: number) {}

  /** Gathers no longer. */
  hurry(): void {
    this.lingerMs = 0;
    for (const lane of this.#lanes.values()) lane.notBefore = 0;
  }

  nameOf({ leader, backoff }: PartitionQueue): number {
    return nameOf(leader, backoff.error !== undefined);
  }

  /** @param plenty there is enough for a whole request. @returns Infinity: after the answer to the one under way */
  freeAt(queue: PartitionQueue, plenty: boolean): number {
    const lane = this.#lanes.get(this.nameOf(queue));
    if (lane === undefined) return 0;
    if (lane.busy) return Infinity;
    return plenty ? 0 : lane.notBefore;
  }

  begin({ node, spare }: { node: number; spare: boolean }, now: number): void {
    this.#lanes.set(nameOf(node, spare), { busy: true, notBefore: now + this.lingerMs });
  }

  end({ node, spare }: { node: number; spare: boolean }): void {
    const lane = this.#lanes.get(nameOf(node, spare));
    if (lane) lane.busy = false;
  }
}

function nameOf(node: number, spare: boolean): number {
  return node * 2 + Number(spare);
}
