import { randomFillSync } from 'node:crypto';

/**
 * Trace contexts by W3C Trace Context, and spans. Waypost's traces begin at ingest and never
 * continue a caller's trace; otherwise any caller could fill them or join them.
 *
 * Spans are recorded when they have ended, with ids that were assigned before. No object of the SDK
 * is held while a message is processed, and a message that is not sampled costs one comparison.
 * Without an SDK (`start.ts`) no span is recorded.
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

/**
 * Returns a new, unique root `00-<trace id>-<span id>-<flags>`. (All zeros, the invalid id, does
 * not happen.)
 */
export function newTraceparent(): string {
  const traceId = randomHex(TRACE_ID_BYTES);
  return `00-${traceId}-${randomHex(SPAN_ID_BYTES)}-${isChosen(traceId, sampled) ? '01' : '00'}`;
}

/** Hex digits of the trace id that decide. A number holds their 52 bits exactly. */
const CHOSEN_BY_HEX = 13;

function isChosen(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  return ratio > 0 && parseInt(traceId.slice(-CHOSEN_BY_HEX), 16) < ratio * 16 ** CHOSEN_BY_HEX;
}

const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACE_ID = { from: 3, to: 35 };
const SPAN_ID = { from: 36, to: 52 };

/**
 * Returns the context of a new span in the same trace, to be sent with a request. An invalid parent
 * starts a new trace.
 */
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

export interface SpanSpec {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer';
  /** the span's context, as a traceparent */
  context: string;
  /** the parent's context, in the same trace; absent for a root */
  parent?: string;
  /** by `performance.now()` */
  startedAt: number;
  endedAt: number;
  /** undefined values are omitted */
  attributes: Readonly<Record<string, string | number | undefined>>;
  links?: readonly SpanLink[];
  /** `error.type`, one word */
  error?: string | undefined;
}

export interface SpanLink {
  context: string;
  /** the role of the linked span */
  as: 'caller' | 'request' | 'message' | 'previous';
}

let record: ((span: SpanSpec) => void) | undefined;

/** Sets the function that records spans. @param write undefined: stop recording */
export function writeSpansBy(write: ((span: SpanSpec) => void) | undefined): void {
  record = write;
}

const SAMPLED_FLAG = { at: 54, is: '1'.charCodeAt(0) };

/** Returns whether spans of this trace are recorded. */
export function isTraced(traceparent: string): boolean {
  return record !== undefined && traceparent.charCodeAt(SAMPLED_FLAG.at) === SAMPLED_FLAG.is;
}

/** Records a span if its trace is sampled. */
export function recordSpan(span: SpanSpec): void {
  if (isTraced(span.context)) record?.(span);
}

/**
 * Returns the root of a trace that is always recorded, at any ratio: for a test, or a request with
 * recorded messages.
 */
export function recordedRoot(): string {
  return `${newTraceparent().slice(0, -1)}1`;
}

/** Records the sending of records to a topic, as a child of `parent`. */
export function recordSend(sent: {
  parent: string;
  topic: string;
  startedAt: number;
  attributes: SpanSpec['attributes'];
}): void {
  const { parent, topic, startedAt, attributes } = sent;
  recordSpan({
    name: `send ${topic}`,
    kind: 'producer',
    context: childTraceparent(parent),
    parent,
    startedAt,
    endedAt: performance.now(),
    attributes: { ...sendAttributes(topic), ...attributes },
  });
}

export function sendAttributes(topic: string): SpanSpec['attributes'] {
  return {
    'messaging.system': 'kafka',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': topic,
  };
}

/** Records the processing of a record of a topic, from `startedAt` until now. */
export function recordProcess({
  record: { topic, partition, offset },
  group,
  attributes,
  ...span
}: Omit<SpanSpec, 'name' | 'kind' | 'endedAt'> & {
  /** its place in the topic */
  record: { topic: string; partition: number; offset: number };
  group: string;
}): void {
  recordSpan({
    ...span,
    name: `process ${topic}`,
    kind: 'consumer',
    endedAt: performance.now(),
    attributes: {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(partition),
      'messaging.kafka.offset': offset,
      'messaging.consumer.group.name': group,
      ...attributes,
    },
  });
}
