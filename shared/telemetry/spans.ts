import { childTraceparent, newTraceparent } from './trace';

/**
 * Records spans when they have ended, with ids that were assigned before. No object of the SDK is held while a message is
 * processed, and a message that is not sampled costs one comparison. Without an SDK (`start.ts`) no span is recorded.
 */

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

/** Returns the root of a trace that is recorded whatever the ratio: for a test, or a request with recorded messages. */
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
