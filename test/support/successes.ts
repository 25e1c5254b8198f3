import * as fc from 'fast-check';
import { defined } from '../../shared/collections/defined';
import { type AttemptEvent, type UrlAttempt } from '../../shared/model/attempt-events';
import { AttemptRows, type PlainSuccess } from '../../shared/model/attempt-rows';
import { MESSAGE_TYPES } from '../../shared/model/message';
import { ODDITIES, type Oddity } from '../../shared/model/oddities';
import { START } from './events';
import { anyText } from './any-text';

/** Random successful attempts for tests, and their record of `attempts`. */

const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const count = fc.nat(10_000);
const id = (prefix: string) => fc.nat(3).map((i) => `${prefix}_${String(i)}`);

const response: fc.Arbitrary<UrlAttempt['response']> = fc.oneof(
  fc.record({
    headers: fc.dictionary(fc.constantFrom('server', 'x-a', 'x-b'), fc.string()),
    body: anyText(),
    truncated: fc.boolean(),
  }),
  fc.constant({ headers: {}, body: '', truncated: true }),
);

const url: fc.Arbitrary<UrlAttempt> = fc.record({
  url: id('whk'),
  origin: fc.constantFrom('https://a.example', 'https://b.example'),
  destinationVersion: fc.integer({ min: 1, max: 3 }),
  outcome: fc.constant('delivered' as const),
  status: fc.constantFrom(200, 202, 204),
  durationMs: count,
  phases: optional(
    fc.dictionary(fc.constantFrom('dns', 'connect', 'tls', 'headers', 'body'), count),
  ),
  resent: optional(fc.constant(true as const)),
  gzip: optional(fc.constant(true as const)),
  oddities: optional(fc.subarray([...ODDITIES], { minLength: 1 })) as fc.Arbitrary<Oddity[]>,
  batch: optional(
    fc
      .tuple(fc.nat(3), fc.nat(99))
      .map(([of, index]) => ({ id: `bat_${String(of)}`, size: 100 - of, index, first: 'dlv_1' })),
  ),
  response: optional(response) as fc.Arbitrary<NonNullable<UrlAttempt['response']>>,
});

const about = fc.record({
  id: fc.nat().map((i) => `dlv_${String(i)}`),
  messageId: fc.string(),
  sourceId: id('src'),
  destinationId: id('dst'),
  type: fc.constantFrom(...MESSAGE_TYPES),
  event: fc.option(fc.constantFrom('Order', 'a\nb', 'Ünï'), { nil: undefined }),
  user: fc.oneof(
    fc.record({ userId: anyText() }),
    fc.record({ anonymousId: fc.string() }),
    fc.constant({}),
  ),
  acceptedAt: fc.integer({ min: START - 1_000_000, max: START }),
  lifetimeMs: fc.nat(20_000_000),
  attempt: fc.nat(3),
  hop: fc.nat(5),
  replay: fc.nat(2),
});

/** A success of a delivery that was made, waited and was replayed at random. */
export const success: fc.Arbitrary<PlainSuccess> = fc
  .record({
    about,
    topic: fc.constantFrom('webhooks', 'webhooks.due'),
    partition: fc.nat(3),
    offset: count,
    url,
    ms: count,
  })
  .map(({ about: { user, event, lifetimeMs, ...rest }, topic, partition, offset, url, ms }) => ({
    delivery: {
      ...rest,
      ...user,
      ...defined({ event }),
      expiresAt: rest.acceptedAt + lifetimeMs,
      excludedUrls: [],
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
    record: { topic, partition, offset },
    url,
    durationMs: ms,
    atMs: rest.acceptedAt + ms,
  }));

/** Returns a success, always the same, of a changed delivery. */
export function aSuccess(change: Partial<PlainSuccess['delivery']> = {}): PlainSuccess {
  const [one] = fc.sample(success, { numRuns: 1, seed: 7 });
  if (!one) throw new Error('no sample');
  return { ...one, delivery: { ...one.delivery, ...change } };
}

/** Returns the single event of a success. */
export function eventOf({
  delivery: d,
  record,
  url,
  durationMs,
  atMs,
}: PlainSuccess): AttemptEvent {
  return {
    kind: 'attempt',
    delivery: d.id,
    message: d.messageId,
    source: d.sourceId,
    destination: d.destinationId,
    type: d.type,
    event: d.event,
    userId: d.userId,
    anonymousId: d.anonymousId,
    acceptedAt: new Date(d.acceptedAt).toISOString(),
    expiresAt: new Date(d.expiresAt).toISOString(),
    replay: d.replay,
    hop: d.hop,
    traceparent: d.traceparent,
    record,
    at: new Date(atMs).toISOString(),
    n: d.attempt + 1,
    outcome: 'delivered',
    durationMs,
    urls: [url],
  };
}

/** Returns the value of a record with these successes as rows. */
export function rowsOf(successes: readonly PlainSuccess[]): Buffer {
  const rows = new AttemptRows();
  for (const each of successes) rows.add(each);
  return Buffer.from(rows.toString());
}
