import { CompactingMap } from '../../service/compacting-map';

/**
 * Fixes two faults of the request queue that each connection of kafkajs has.
 *
 * A timer that never stops: after each answer the queue schedules a check of waiting requests at a time in the past,
 * and so once a millisecond for as long as it exists (kafkajs issue 1704). An idle process spent 4 % of a core on it.
 * The check is needed only while requests wait; a later request schedules one itself.
 *
 * A Map of requests in flight, which keeps past requests with their records and answers until a full garbage collection
 * (compacting-map.ts).
 */

interface RequestQueue {
  inflight: Map<number, unknown> | CompactingMap<number, unknown>;
  pending: readonly unknown[];
  push(request: object): void;
  scheduleCheckPendingRequests(): void;
}

/* eslint-disable-next-line @typescript-eslint/no-require-imports -- this part of kafkajs has no types and no other name */
const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };

let installed = false;

/** Patches the request queues once for the process. */
export function patchRequestQueues(): void {
  if (installed) return;
  installed = true;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- both are called with their own `this` below
  const { scheduleCheckPendingRequests: schedule, push } = prototype;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
  prototype.push = function (this: RequestQueue, request: object) {
    // The map is empty before the first request.
    if (this.inflight instanceof Map && this.inflight.size === 0) this.inflight = new CompactingMap();
    push.call(this, request);
  };
}
