import { randomFillSync } from 'node:crypto';

/**
 * Trace contexts by W3C Trace Context. Waypost's traces begin at ingest: a caller's own is never obeyed, or anyone
 * could fill our traces or join their ends.
 */

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
/** Random bytes are fetched for many ids at once: a call for each costs ten times as much. */
const POOL = Buffer.allocUnsafe(SPAN_ID_BYTES * 1024);
let used = POOL.length;

function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  return POOL.toString('hex', used, (used += bytes));
}

/** A new root, `00-<trace id>-<span id>-01`: unique and marked as sampled. (All zeros, the invalid id, does not happen.) */
export function newTraceparent(): string {
  return `00-${randomHex(TRACE_ID_BYTES)}-${randomHex(SPAN_ID_BYTES)}-01`;
}

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const SPAN_ID = { from: 36, to: 52 };

/** The context of a new span in the same trace: what a request carries on. What cannot be read begins a new trace. */
export function childTraceparent(parent: string): string {
  if (!TRACEPARENT.test(parent)) return newTraceparent();
  return parent.slice(0, SPAN_ID.from) + randomHex(SPAN_ID_BYTES) + parent.slice(SPAN_ID.to);
}
