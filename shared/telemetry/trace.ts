import { randomFillSync } from 'node:crypto';

/**
 * Trace contexts by W3C Trace Context. Waypost's traces begin at ingest: a caller's own is never obeyed, or anyone
 * could fill our traces or join their ends.
 */

const TRACE_ID_BYTES = 16;
const IDS_BYTES = TRACE_ID_BYTES + 8;
/** Random bytes are fetched for so many traces at once: a call for each costs ten times as much. */
const POOL = Buffer.allocUnsafe(IDS_BYTES * 256);
let used = POOL.length;

/** A new root, `00-<trace id>-<span id>-01`: unique and marked as sampled. (All zeros, the invalid id, does not happen.) */
export function newTraceparent(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  const ids = POOL.toString('hex', used, used + IDS_BYTES);
  used += IDS_BYTES;
  return `00-${ids.slice(0, TRACE_ID_BYTES * 2)}-${ids.slice(TRACE_ID_BYTES * 2)}-01`;
}

/** The context of a new span in the same trace: what a request carries on. What cannot be read begins a new trace. */
export function childTraceparent(parent: string): string {
  const fresh = newTraceparent();
  return /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(parent)
    ? `${parent.slice(0, 36)}${fresh.slice(36, 52)}${parent.slice(52)}`
    : fresh;
}
