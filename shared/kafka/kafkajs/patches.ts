import { CompactingMap } from '../../service/compacting-map';

/**
 * Two cures for the queue of requests that each connection of kafkajs has.
 *
 * A timer that never rests: after each answer it plans to look again at requests that wait, at a time in the past, and so
 * once a millisecond for as long as it lives (kafkajs issue 1704). An idle process spent 4 % of a core on it. A look is needed
 * only where something waits; what is put there later plans its own.
 *
 * A Map of what is in flight, which keeps all that has been, records and answers with it, until a whole collection (compacting-map.ts).
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

/** Once for the process. */
export function patchRequestQueues(): void {
  if (installed) return;
  installed = true;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- both are called with their own `this` below
  const { scheduleCheckPendingRequests: schedule, push } = prototype;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
  prototype.push = function (this: RequestQueue, request: object) {
    // Nothing is in flight before the first.
    if (this.inflight instanceof Map && this.inflight.size === 0) this.inflight = new CompactingMap();
    push.call(this, request);
  };
}
