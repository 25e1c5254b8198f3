import { childTraceparent, newTraceparent } from './trace';

/**
 * Spans as Waypost makes them: written down when they are over, with ids that were given out before. Nothing of the SDK
 * is held while a message is under way, and a message that is not sampled costs one comparison. Without an SDK (`start.ts`)
 * there is nobody to write them down.
 */

export interface SpanSpec {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer';
  /** its own context, as a traceparent */
  context: string;
  /** of its parent, in the same trace; absent: it is the root */
  parent?: string;
  /** by `performance.now()` */
  startedAt: number;
  endedAt: number;
  /** what is undefined is left out */
  attributes: Readonly<Record<string, string | number | undefined>>;
  links?: readonly SpanLink[];
  /** what went wrong, as one word: `error.type` */
  error?: string | undefined;
}

export interface SpanLink {
  context: string;
  /** whose it is */
  as: 'caller' | 'request' | 'message' | 'previous';
}

let record: ((span: SpanSpec) => void) | undefined;

/** To be called by what has an SDK. @param write undefined: no more */
export function writeSpansBy(write: ((span: SpanSpec) => void) | undefined): void {
  record = write;
}

const SAMPLED_FLAG = { at: 54, is: '1'.charCodeAt(0) };

/** Whether spans of this trace are written down. */
export function isTraced(traceparent: string): boolean {
  return record !== undefined && traceparent.charCodeAt(SAMPLED_FLAG.at) === SAMPLED_FLAG.is;
}

/** Writes it down, where its trace is sampled. */
export function recordSpan(span: SpanSpec): void {
  if (isTraced(span.context)) record?.(span);
}

/** A trace that is recorded whatever the ratio: of a test, or a request that holds messages whose traces are. */
export function recordedRoot(): string {
  return `${newTraceparent().slice(0, -1)}1`;
}

/** Writes down that records went to a topic: a child of `parent`. */
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

/** Writes down that a record of a topic was dealt with, from `startedAt` until now. */
export function recordProcess({
  record: { topic, partition, offset },
  group,
  attributes,
  ...span
}: Omit<SpanSpec, 'name' | 'kind' | 'endedAt'> & {
  /** as it was read */
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
