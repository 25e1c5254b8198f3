/**
 * Stops a timer of kafkajs that never rests: after each answer, every connection plans to look again at requests that wait,
 * at a time in the past, and so once a millisecond for as long as it lives (kafkajs issue 1704). An idle process spent 4 %
 * of a core on it. A look is needed only where something waits; what is put there later plans its own.
 */

interface RequestQueue {
  pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

/* eslint-disable-next-line @typescript-eslint/no-require-imports -- this part of kafkajs has no types and no other name */
const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };

let installed = false;

/** Once for the process. */
export function restPendingTimers(): void {
  if (installed) return;
  installed = true;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
}
