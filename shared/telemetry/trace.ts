import { randomFillSync } from 'node:crypto';

/**
 * Trace contexts by W3C Trace Context. Waypost's traces begin at ingest and never continue a caller's trace; otherwise any
 * caller could fill them or join them.
 */

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
/** Random bytes are generated for many ids together: a call for each costs ten times as much. */
const POOL = Buffer.allocUnsafe(SPAN_ID_BYTES * 1024);
let used = POOL.length;

function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  return POOL.toString('hex', used, (used += bytes));
}

let sampled = 1;

/** Sets the share of new traces that are marked as sampled, 0 to 1. Default: all. */
export function sampleRoots(ratio: number): void {
  sampled = ratio;
}

/** Returns a new, unique root `00-<trace id>-<span id>-<flags>`. (All zeros, the invalid id, does not happen.) */
export function newTraceparent(): string {
  const traceId = randomHex(TRACE_ID_BYTES);
  return `00-${traceId}-${randomHex(SPAN_ID_BYTES)}-${isChosen(traceId, sampled) ? '01' : '00'}`;
}

/** Hex digits of the trace id that decide: as many bits as a number holds exactly. */
const CHOSEN_BY_HEX = 13;

function isChosen(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  return ratio > 0 && parseInt(traceId.slice(-CHOSEN_BY_HEX), 16) < ratio * 16 ** CHOSEN_BY_HEX;
}

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACE_ID = { from: 3, to: 35 };
const SPAN_ID = { from: 36, to: 52 };

/** Returns the context of a new span in the same trace, to be sent with a request. An invalid parent starts a new trace. */
export function childTraceparent(parent: string): string {
  if (!TRACEPARENT.test(parent)) return newTraceparent();
  return withSpanId(parent, randomHex(SPAN_ID_BYTES));
}

/** Returns the context of another span of the same trace. */
export function withSpanId(traceparent: string, spanId: string): string {
  return traceparent.slice(0, SPAN_ID.from) + spanId + traceparent.slice(SPAN_ID.to);
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(TRACE_ID.from, TRACE_ID.to);
}

export function spanIdOf(traceparent: string): string {
  return traceparent.slice(SPAN_ID.from, SPAN_ID.to);
}

const NO_ID = /^00-(0{32}|[0-9a-f]{32}-0{16})/;

/** Returns whether a link may point to it: a valid context of version 00. */
export function isTraceparent(text: string | undefined): text is string {
  return text !== undefined && TRACEPARENT.test(text) && !NO_ID.test(text);
}
