import { type PartitionQueue } from './partition-queue';

/**
 * Decides when the next request to a leader may start. Each leader has one request in flight, and a second one for
 * failing partitions. Times are in ms, by `performance.now()`.
 */
export class RequestSlots {
  readonly #lanes = new Map<number, { busy: boolean; notBefore: number }>();

  constructor(private lingerMs: number) {}

  /** Stops lingering. */
  hurry(): void {
    this.lingerMs = 0;
    for (const lane of this.#lanes.values()) lane.notBefore = 0;
  }

  nameOf({ leader, backoff }: PartitionQueue): number {
    return nameOf(leader, backoff.error !== undefined);
  }

  /** @param plenty there are records for a full request. @returns Infinity while a request is in flight */
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
