import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** What ingest may hold, from what its process may use: a stalled Kafka must lead to 503 and not to a kill for memory. */

export interface Memory {
  /** of the container, or of the machine; bytes */
  limit: number;
  /** V8's limit on its heap, bytes */
  heap: number;
}

export interface Budgets {
  /** records that wait for Kafka, bytes of their text */
  pendingBytes: number;
  /** bodies that are being read, bytes */
  bodyBytes: number;
  /** of them bodies whose source is not known yet */
  unknownBodyBytes: number;
  /** requests begun and not answered */
  requests: number;
  connections: number;
}

const MB = 1024 * 1024;

/** The limits of this process. */
export function memoryOfProcess(): Memory {
  // Without a cgroup's limit this is 0 or larger than any machine.
  const constrained = process.constrainedMemory();
  const machine = totalmem();
  const limit = constrained > 0 && constrained < machine ? constrained : machine;
  return { limit, heap: Math.min(getHeapStatistics().heap_size_limit, limit) };
}

export function budgetsOf({ limit, heap }: Memory): Budgets {
  // Bodies are buffers, which lie beside the heap, as do Node's code and what the sockets hold.
  const besideHeap = Math.max(limit - heap, limit / 8);
  const bodyBytes = between(besideHeap / 4, 4 * MB, 256 * MB);
  return {
    // A record waiting for Kafka takes 2.7 times its text in the heap. 96 MB are four seconds of 25,000 calls of 1 KB:
    // more would be answered too late anyway.
    pendingBytes: between(heap / 10, 4 * MB, 96 * MB),
    bodyBytes,
    unknownBodyBytes: bodyBytes / 4,
    // Request, response, and what the framework adds, without bodies and records: about 20 KB.
    requests: between(heap / (64 * 1024), 500, 5_000),
    connections: between(heap / (32 * 1024), 1_000, 20_000),
  };
}

function between(value: number, least: number, most: number): number {
  return Math.floor(Math.min(most, Math.max(least, value)));
}
