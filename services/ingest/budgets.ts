import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/**
 * Derives ingest's budgets from the memory of its process, and shares them among sources and addresses. A stalled Kafka must
 * lead to 503 and not to an out-of-memory kill.
 */

export interface Memory {
  /** limit of the container, or memory of the machine; bytes */
  limit: number;
  /** V8's limit on its heap, bytes */
  heap: number;
}

export interface Budgets {
  /** text of the records that wait for Kafka, bytes */
  pendingBytes: number;
  /** bodies being read, bytes */
  bodyBytes: number;
  /** part of `bodyBytes` for bodies whose source is not known yet, bytes */
  unknownBodyBytes: number;
  /** requests in progress */
  requests: number;
  connections: number;
}

const MB = 1024 * 1024;

/** Reads the memory limits of this process. */
export function memoryOfProcess(): Memory {
  // 0, or larger than any machine, without a cgroup limit.
  const constrained = process.constrainedMemory();
  const machine = totalmem();
  const limit = constrained > 0 && constrained < machine ? constrained : machine;
  return { limit, heap: Math.min(getHeapStatistics().heap_size_limit, limit) };
}

export function budgetsOf({ limit, heap }: Memory): Budgets {
  // Bodies are buffers outside the heap, like Node's code and the sockets' memory.
  const besideHeap = Math.max(limit - heap, limit / 8);
  const bodyBytes = between(besideHeap / 4, 4 * MB, 256 * MB);
  return {
    // A record that waits for Kafka takes 2.7 times its text in the heap. 96 MB are four seconds of 25,000 calls of 1 KB;
    // further calls would be answered too late anyway.
    pendingBytes: between(heap / 10, 4 * MB, 96 * MB),
    bodyBytes,
    unknownBodyBytes: bodyBytes / 4,
    // About 20 KB for request, response and the framework's objects, without bodies and records.
    requests: between(heap / (64 * 1024), 500, 5_000),
    connections: between(heap / (32 * 1024), 1_000, 20_000),
  };
}

function between(value: number, least: number, most: number): number {
  return Math.floor(Math.min(most, Math.max(least, value)));
}

const TIMES_FREE = 2;
/** Number of owners at which the owners that hold nothing are removed. */
const SWEEP_FROM = 4_096;

/** The amount that one owner holds. */
export interface Share {
  held: number;
}

/**
 * Shares a budget among many owners so that none can starve the others: an owner may hold twice as much as is still free
 * (dynamic thresholds, as in the buffers of network switches). A single owner gets two thirds, and each of many gets less;
 * a part always stays free.
 */
export class FairShares {
  readonly #owners = new Map<string, Share>();
  #used = 0;
  #sweepAt = SWEEP_FROM;

  constructor(private readonly total: number) {}

  /** Returns the share of a source or an address. Valid until the owner holds nothing and control returns to the event loop. */
  of(owner: string): Share {
    let share = this.#owners.get(owner);
    if (share === undefined) {
      if (this.#owners.size >= this.#sweepAt) this.#sweep();
      share = { held: 0 };
      this.#owners.set(owner, share);
    }
    return share;
  }

  /** @returns false, and takes nothing, if the owner already holds its share */
  take(share: Share, amount: number): boolean {
    if (share.held + amount > TIMES_FREE * (this.total - this.#used - amount)) return false;
    share.held += amount;
    this.#used += amount;
    return true;
  }

  give(share: Share, amount: number): void {
    share.held -= amount;
    this.#used -= amount;
  }

  #sweep(): void {
    for (const [owner, { held }] of this.#owners) if (held === 0) this.#owners.delete(owner);
    this.#sweepAt = Math.max(SWEEP_FROM, this.#owners.size * 2);
  }
}
