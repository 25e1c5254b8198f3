import { type IncomingMessage } from 'node:http';
import { defined } from '../../shared/collections/defined';
import { type OutRecord } from '../../shared/kafka/port';
import { MESSAGES } from '../../shared/kafka/topics';
import { metrics } from '../../shared/telemetry/metrics';
import {
  childTraceparent,
  isTraced,
  isTraceparent,
  recordedRoot,
  recordSpan,
  sendAttributes,
  type SpanLink,
} from '../../shared/telemetry/trace';
import { KAFKA_REFUSED } from './rejected-records';
import { type RefusalCode } from './responses';

/**
 * Metrics and spans of calls. Spans are written when a request has ended, if its trace is recorded.
 */

const accepted = metrics
  .counter({ name: 'waypost.messages.accepted', help: 'Calls that Kafka acknowledged.' })
  .of();
const rejected = metrics.counter({
  name: 'waypost.messages.rejected',
  help: 'Calls that were not accepted.',
  labels: { reason: 'the code in the response' },
});
const notStored = metrics.counter({
  name: 'waypost.messages.not_stored',
  help: 'Calls that ingest answered with 503. The client sends them again.',
  labels: { reason: '`overloaded`, `kafka_unavailable`' },
});
for (const reason of ['overloaded', 'kafka_unavailable']) notStored.of({ reason });

/** A request whose calls were sent to Kafka. */
export interface Stored {
  /** records of its valid calls */
  records: readonly OutRecord[];
  /** how many of them Kafka refuses for good */
  refused: number;
  /** what was not valid; `count` calls each */
  rejected: readonly { code: string; count: number }[];
  failed: RefusalCode | undefined;
  /** by `performance.now()` */
  storingAt: number;
  from: RequestStart | undefined;
}

interface RequestStart {
  req: Pick<IncomingMessage, 'method' | 'headers'>;
  route: string;
  /** by `performance.now()` */
  startedAt: number;
}

export function watchStored(stored: Stored): void {
  const messages = stored.records;
  if (stored.failed === undefined) accepted.value += messages.length - stored.refused;
  else notStored.of({ reason: stored.failed }).value += messages.length;
  if (stored.refused > 0) rejected.of({ reason: KAFKA_REFUSED.code }).value += stored.refused;
  for (const { code, count } of stored.rejected) rejected.of({ reason: code }).value += count;
  const traced = messages.filter(({ headers }) => isTraced(headers?.traceparent ?? ''));
  if (traced.length > 0) trace(stored, messages.length, traced);
}

/** The most messages of a batch that its span links to. */
const MOST_LINKS = 32;

/**
 * Writes the spans of a request. The request of a single call is the root of its trace; in a batch
 * the request and each call have separate traces.
 */
function trace(
  { failed, storingAt, from }: Stored,
  messages: number,
  traced: readonly OutRecord[],
): void {
  const endedAt = performance.now();
  const contexts = traced.map(({ headers }) => headers?.traceparent ?? '');
  const [first = ''] = contexts;
  const alone = messages === 1;
  const request = alone ? childTraceparent(first) : recordedRoot();
  for (const [i, context] of contexts.entries()) {
    recordSpan({
      name: `send ${MESSAGES}`,
      kind: 'producer',
      context,
      ...(alone ? { parent: request } : { links: [{ context: request, as: 'request' }] }),
      startedAt: storingAt,
      endedAt,
      attributes: {
        ...sendAttributes(MESSAGES),
        'messaging.message.id': traced[i]?.headers?.message,
        'waypost.source.id': traced[i]?.headers?.source,
      },
      error: failed,
    });
  }
  const links: SpanLink[] = alone
    ? []
    : contexts.slice(0, MOST_LINKS).map((context) => ({ context, as: 'message' }));
  traceRequest({ context: request, from, links, messages, failed, storingAt, endedAt });
}

function traceRequest(of: {
  context: string;
  from: RequestStart | undefined;
  links: SpanLink[];
  messages: number;
  failed: RefusalCode | undefined;
  storingAt: number;
  endedAt: number;
}): void {
  const { context, from, links, messages, failed, storingAt, endedAt } = of;
  const { method = 'POST', headers = {} } = from?.req ?? {};
  const route = from?.route ?? '';
  const { traceparent } = headers;
  const caller =
    typeof traceparent === 'string' && isTraceparent(traceparent) ? traceparent : undefined;
  recordSpan({
    name: `${method} ${route}`,
    kind: 'server',
    context,
    startedAt: from?.startedAt ?? storingAt,
    endedAt,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'url.scheme': 'http',
      'http.response.status_code': failed === undefined ? 200 : 503,
      ...defined({
        'messaging.batch.message_count': messages === 1 ? undefined : messages,
      }),
    },
    links: caller === undefined ? links : [{ context: caller, as: 'caller' }, ...links],
    error: failed === undefined ? undefined : '503',
  });
}
