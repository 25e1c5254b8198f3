import { defined } from '../../../shared/collections/defined';
import { type Destination, type Source } from '../../../shared/model/config';
import { decodeDelivery, deliveryId, deliveryKey } from '../../../shared/model/delivery';
import { BODY_FORMATS } from '../../../shared/model/request-settings';
import { decide as decideRecord, type Routing } from '../../../services/router/decide';
import { writeMessage } from '../../../shared/model/cut-body';
import { type MessageHeaders, readMessageHeaders } from '../../../shared/model/message-codec';
import { aDestination } from '../../support/factories';
import { FORMAT, FORMAT_HEADER } from '../../../shared/model/record-format';

const AT = '2026-01-01T00:00:00.000Z';
const ACCEPTED_MS = 1_700_000_000_000;
const WINDOW_MS = 60_000;
const source: Source = {
  id: 's1',
  name: 'Site',
  enabled: true,
  writeKeys: [],
  createdAt: AT,
  updatedAt: AT,
};
const hook = (given: Partial<Destination> = {}): Destination =>
  aDestination({ id: 'd1', sources: ['s1'], ...given });

const routing = (
  destinations: Destination[],
  known = source,
  unreadable: string[] = [],
): Routing => ({
  windowMs: WINDOW_MS,
  config: {
    source: (id) => (id === known.id ? { version: 1, data: known } : undefined),
    destinationsOf: () => destinations.map((data) => ({ version: 7, data })),
    unreadableDestinationsOf: () => unreadable,
  },
});

const head: MessageHeaders = {
  kind: 'message',
  sourceId: 's1',
  messageId: 'm1',
  acceptedAt: ACCEPTED_MS,
  traceparent: '00-a-b-01',
};
const MESSAGE = {
  type: 'track',
  messageId: 'm1',
  timestamp: AT,
  receivedAt: AT,
  event: 'e',
  userId: 'u1',
};
const value = (message: unknown) => Buffer.from(JSON.stringify(message));
const decide = (of: MessageHeaders, whole: Buffer | null, by: Routing) =>
  decideRecord(of, { key: null, value: whole }, by);

describe('the headers of a message', () => {
  const headers = {
    format: FORMAT_HEADER,
    source: 's1',
    message: 'm1',
    'accepted-at': String(ACCEPTED_MS),
    traceparent: '00-a-b-01',
  };
  const without = (name: keyof typeof headers) => ({ ...headers, [name]: undefined });
  const read = (given: Record<string, string | undefined>) => readMessageHeaders(given);

  test('complete headers are read', () => expect(read(headers)).toEqual(head));
  test('headers without a traceparent are read', () =>
    expect(read(without('traceparent'))).toEqual({ ...head, traceparent: '' }));
  test.each([String(FORMAT + 1), '10'])('format %s is newer than this router', (format) =>
    expect(read({ ...headers, format })).toEqual({ kind: 'newer', format }),
  );
  test.each<[string, Record<string, string | undefined>]>([
    ['without a format', without('format')],
    ['with an unknown format', { ...headers, format: 'x' }],
    ['of an earlier build', { ...headers, format: '1' }],
    ['without a source', without('source')],
    ['with an empty source', { ...headers, source: '' }],
    ['without a message id', without('message')],
    ['without accepted-at', without('accepted-at')],
    ['whose accepted-at is not a number', { ...headers, 'accepted-at': 'now' }],
    ['whose accepted-at is beyond all dates', { ...headers, 'accepted-at': '1e300' }],
    ['whose accepted-at is zero', { ...headers, 'accepted-at': '0' }],
    ['without headers', {}],
  ])('a record %s is rejected', (_, given) =>
    expect(read(given)).toEqual({ kind: 'rejected', reason: expect.any(String) }),
  );
});

describe('the decision on a message', () => {
  test('a message becomes one record for each destination, all with one rendered body', () => {
    const destinations = [
      hook(),
      hook({ id: 'd2', shards: 16 }),
      hook({ id: 'd3', enabled: false }),
    ];
    const decision = decide(head, value(MESSAGE), routing(destinations));
    if (decision.kind !== 'deliver') throw new Error(decision.kind);
    expect(decision.records.map((r) => r.topic)).toEqual(['webhooks', 'webhooks']);
    expect(decision.records.map((r) => r.key)).toEqual([
      deliveryKey('d1', 'u1', 4),
      deliveryKey('d2', 'u1', 16),
    ]);
    expect(String(decision.records[0]!.value)).toBe(
      `{"version":1,"type":"track","userId":"u1","timestamp":"${AT}","event":"e","messageId":"m1"}`,
    );
    expect(decision.records[1]!.value).toBe(decision.records[0]!.value);
    expect(decodeDelivery(decision.records[0]!.headers!)).toEqual({
      kind: 'delivery',
      delivery: {
        id: deliveryId('s1', 'm1', 'd1'),
        messageId: 'm1',
        sourceId: 's1',
        destinationId: 'd1',
        destinationVersion: 7,
        type: 'track',
        event: 'e',
        userId: 'u1',
        acceptedAt: ACCEPTED_MS,
        expiresAt: ACCEPTED_MS + WINDOW_MS,
        attempt: 0,
        hop: 0,
        replay: 0,
        excludedUrls: [],
        traceparent: '00-a-b-01',
      },
    });
  });

  test.each([
    [
      'of a track call is its event',
      { type: 'track', event: 'Order Completed', name: 'n' },
      'Order Completed',
    ],
    ['of a page is its name', { type: 'page', name: 'Home', event: 'e' }, 'Home'],
    ['of a screen is its name', { type: 'screen', name: 'Start' }, 'Start'],
    ['of an identify does not exist', { type: 'identify', event: 'e', name: 'n' }, undefined],
    ['that is no text does not exist', { type: 'page', name: { a: 1 } }, undefined],
    ['that is empty does not exist', { type: 'track', event: '' }, undefined],
    [
      'that is long is cut between two characters',
      { event: `${'x'.repeat(198)}😀y` },
      `${'x'.repeat(198)}…`,
    ],
  ])('the event name %s', (_, given, event) => {
    const decision = decide(head, value({ ...MESSAGE, ...given }), routing([hook()]));
    if (decision.kind !== 'deliver') throw new Error(decision.kind);
    expect(decision.records[0]!.headers!.event).toBe(event);
  });

  test.each([
    ['the user id', { userId: 'u', anonymousId: 'a' }, 'u'],
    ['the anonymous id if there is no user id', { userId: undefined, anonymousId: 'a' }, 'a'],
    ['the message id if there is neither', { userId: undefined }, 'm1'],
  ])('the shard of a delivery follows from %s', (_, given, user) => {
    const decision = decide(
      head,
      value({ ...MESSAGE, ...given }),
      routing([hook({ shards: 1_000_000 })]),
    );
    expect(decision.kind === 'deliver' && decision.records[0]!.key).toBe(
      deliveryKey('d1', user, 1_000_000),
    );
  });

  test.each<[string, object, Destination[]]>([
    ['whose source has no destination', {}, []],
    ['whose destinations are all off', {}, [hook({ enabled: false })]],
    ['that excludes all destinations', { integrations: { All: false } }, [hook()]],
  ])('a message %s is dropped', (_, given, destinations) =>
    expect(decide(head, value({ ...MESSAGE, ...given }), routing(destinations))).toEqual({
      kind: 'dropped',
      reason: 'no_destination',
      filters: { filtered: 0, failed: [] },
    }),
  );

  test('a CEL filter drops what it refuses or fails on, and the decision names failures', () => {
    const matched = hook({ id: 'd1', filter: 'event == "e" && properties.total > 100' });
    const not = hook({ id: 'd2', filter: 'userId == "u2"' });
    const failing = hook({ id: 'd3', filter: 'properties.totl > 100' });
    const unreadable = hook({ id: 'd4', filter: 'of another Waypost(' });
    const message = value({ ...MESSAGE, properties: { total: 150.5 } });
    const decision = decide(head, message, routing([matched, not, failing, unreadable]));
    if (decision.kind !== 'deliver') throw new Error(decision.kind);
    expect(decision.records.map((record) => record.headers?.destination)).toEqual(['d1']);
    expect(decision.filters).toEqual({
      filtered: 3,
      failed: [
        { destination: failing, reason: 'there is no "totl"' },
        { destination: unreadable, reason: expect.any(String) },
      ],
    });
    expect(decide(head, message, routing([not]))).toMatchObject({
      kind: 'dropped',
      reason: 'filtered',
    });
  });

  test('a blocked event is dropped', () =>
    expect(
      decide(head, value(MESSAGE), routing([hook()], { ...source, blockedEvents: ['e'] })),
    ).toMatchObject({
      kind: 'dropped',
      reason: 'blocked',
    }));

  test('a message of a source that is off is dropped', () =>
    expect(
      decide(head, value(MESSAGE), routing([hook()], { ...source, enabled: false })).kind,
    ).toBe('dropped'));

  test('a message of an unknown source is left for the caller to look up', () =>
    expect(decide({ ...head, sourceId: 's9' }, value(MESSAGE), routing([])).kind).toBe(
      'unknown_source',
    ));

  test.each<[string, Buffer | null]>([
    ['no value', null],
    ['no JSON', Buffer.from('{"type":')],
    ['an empty value', Buffer.alloc(0)],
    ['null', value(null)],
    ['a list', value([MESSAGE])],
    ['a text', value('track')],
    ['no type', value({ ...MESSAGE, type: undefined })],
    ['an unknown type', value({ ...MESSAGE, type: 'toString' })],
    ['no message id', value({ ...MESSAGE, messageId: undefined })],
    ['a timestamp that is no text', value({ ...MESSAGE, timestamp: 1 })],
    ['a user id that is no text', value({ ...MESSAGE, userId: 1 })],
    ['an anonymous id that is no text', value({ ...MESSAGE, anonymousId: null })],
  ])('a message with this value is rejected: %s', (_, given) =>
    expect(decide(head, given, routing([hook()]))).toEqual({
      kind: 'rejected',
      reason: expect.any(String),
    }),
  );
});

describe('the end of the window', () => {
  const expiresAt = (appendedAt: number) => {
    const decision = decide({ ...head, appendedAt }, value(MESSAGE), routing([hook()]));
    if (decision.kind !== 'deliver') throw new Error(decision.kind);
    return Number(decision.records[0]?.headers?.['expires-at']);
  };

  test.each([
    [
      'the retry window counts from acceptance if the record was appended soon after',
      ACCEPTED_MS + 4_000,
      ACCEPTED_MS,
    ],
    [
      'the retry window counts from acceptance if the clocks differ by half a second',
      ACCEPTED_MS - 500,
      ACCEPTED_MS,
    ],
    [
      'the retry window counts from the append if the clock of ingest is an hour behind',
      ACCEPTED_MS + 3_600_000,
      ACCEPTED_MS + 3_600_000,
    ],
    [
      'the retry window counts from the append if the clock of ingest is an hour ahead',
      ACCEPTED_MS - 3_600_000,
      ACCEPTED_MS - 3_600_000,
    ],
  ])('%s', (_, appendedAt, from) => {
    expect(expiresAt(appendedAt)).toBe(from + WINDOW_MS);
  });

  test('each destination of a message has its own window, or the one of the settings', () => {
    const own = hook({ id: 'd2', retry: { windowMs: 72 * 3_600_000 } });
    const decision = decide(head, value(MESSAGE), routing([hook(), own]));
    const ends =
      decision.kind === 'deliver'
        ? decision.records.map(({ headers }) => headers?.['expires-at'])
        : [];
    expect(ends.map(Number)).toEqual([ACCEPTED_MS + WINDOW_MS, ACCEPTED_MS + 72 * 3_600_000]);
  });
});

describe('a deletion of a user', () => {
  const { event: _, ...deletion } = { ...MESSAGE, type: 'delete' };
  const rendered = (request: Destination['request'], over: Partial<Destination> = {}) =>
    decide(
      head,
      value(deletion),
      routing([
        hook({
          ...defined({ request }),
          ...over,
        }),
      ]),
    );
  const body = (decision: ReturnType<typeof decide>) =>
    decision.kind === 'deliver' ? decision.records.map((record) => String(record.value)) : decision;

  test("is rendered by its destination's template, though an event filter does not match", () => {
    const template = 'type == "delete" ? {"forget": userId} : {"total": properties.total}';
    expect(body(rendered({ body: template }, { filter: 'event == "Order"' }))).toEqual([
      '{"forget":"u1"}',
    ]);
  });

  test('is a dead letter with a reason if its template fails, and takes no other shape', () => {
    const decision = rendered({ body: '{"total": properties.total}' });
    expect(decision).toMatchObject({
      records: [],
      unrendered: [{ failure: { field: 'body', message: 'there is no "total"' } }],
    });
  });

  test.each(BODY_FORMATS)('has a body in the format %s', (format) => {
    const [text = ''] = body(rendered({ format })) as string[];
    expect(text).toContain(
      format === 'thin' || format.startsWith('cloudevents') || format === 'default'
        ? 'delete'
        : 'u1',
    );
  });

  test('is not for a destination whose types leave it out', () => {
    expect(rendered(undefined, { types: ['track'] })).toMatchObject({
      kind: 'dropped',
      reason: 'no_destination',
    });
  });
});

describe('the work limit of one message', () => {
  const costly = '!(2 in properties.list) && !(3 in properties.list)';
  const message = value({ ...MESSAGE, properties: { list: Array(5_000).fill(1), plan: 'pro' } });
  const filtered = (filters: string[]) =>
    decide(
      head,
      message,
      routing(filters.map((filter, i) => hook({ id: `d${String(i)}`, filter }))),
    );

  test('a filter at half its limit or more is reported with its work, a cheap one is not', () => {
    const told: [string, number, number][] = [];
    const onCostlyFilter: Routing['onCostlyFilter'] = ({ id }, { units, limit }) =>
      told.push([id, units, limit]);
    const given = [costly, 'properties.plan == "pro"', `${costly} && ${costly}`];
    const destinations = given.map((filter, i) => hook({ id: `d${String(i)}`, filter }));
    decide(head, message, { ...routing(destinations), onCostlyFilter });
    expect(told).toEqual([
      ['d0', expect.any(Number), 2_000],
      ['d2', 2_000, 2_000],
    ]);
    const [, units = 0] = told[0] ?? [];
    expect([units >= 1_000, units < 2_000]).toEqual([true, true]);
  });

  test('a single costly filter is evaluated', () => {
    expect(filtered([costly])).toMatchObject({ kind: 'deliver', filters: { filtered: 0 } });
  });

  test('a thousand costly filters share a work limit, and an ordinary one is evaluated', () => {
    const decision = filtered([...Array<string>(1_000).fill(costly), 'properties.plan == "pro"']);
    expect(decision).toMatchObject({ kind: 'deliver', filters: { filtered: 1_000 } });
    if (decision.kind !== 'deliver') return;
    expect(decision.records.map(({ headers }) => headers?.destination)).toEqual(['d1000']);
    expect(new Set(decision.filters.failed.map(({ reason }) => reason))).toEqual(
      new Set([expect.stringMatching(/^the work limit for one message is exceeded/)]),
    );
  });
});

describe('a destination whose last record cannot be read', () => {
  const off = { ...source, enabled: false };
  const on = hook();
  const other = hook({ id: 'd2' });
  test.each<[string, Destination[], Source, object, string]>([
    [
      'a message that it does not get by an earlier record waits',
      [other],
      source,
      {},
      'destination_unreadable',
    ],
    [
      'a message that it was switched off for waits',
      [hook({ enabled: false })],
      source,
      {},
      'destination_unreadable',
    ],
    ['a message for no other destination waits', [], source, {}, 'destination_unreadable'],
    [
      'a message that it gets by an earlier record is delivered',
      [on, other],
      source,
      {},
      'deliver',
    ],
    ['a message of a source that is off is dropped', [], off, {}, 'dropped'],
    [
      'a message of a blocked event is dropped',
      [],
      { ...source, blockedEvents: ['e'] },
      {},
      'dropped',
    ],
    [
      'a message that excludes webhooks is dropped',
      [],
      source,
      { integrations: { All: false } },
      'dropped',
    ],
  ])('%s', (_, destinations, known, over, kind) => {
    expect(
      decide(head, value({ ...MESSAGE, ...over }), routing(destinations, known, ['d1'])).kind,
    ).toBe(kind);
  });
});

describe('a message whose body can be cut off', () => {
  const message = { ...MESSAGE, type: 'track' as const };
  const { value: text, body = '' } = writeMessage(message);
  const cutHead: MessageHeaders = { ...head, body, event: 'e' };
  // Only a router that parses it can find that it is no JSON.
  const damaged = { key: Buffer.from('s1:u1'), value: Buffer.from(`${text.slice(0, -1)},`) };

  test('is not parsed', () => {
    const decision = decideRecord(cutHead, damaged, routing([hook(), hook({ id: 'd2' })]));
    expect(decision).toEqual(decide(head, value(message), routing([hook(), hook({ id: 'd2' })])));
  });

  test.each<[string, Partial<Destination>]>([
    ['a filter', { filter: 'true' }],
    ['a request of its own', { request: { method: 'PUT' } }],
  ])('is parsed if a destination has %s', (_, given) => {
    expect(decideRecord(cutHead, damaged, routing([hook(), hook(given)]))).toMatchObject({
      kind: 'rejected',
    });
    const whole = { ...damaged, value: Buffer.from(text) };
    expect(decideRecord(cutHead, whole, routing([hook(given)]))).toMatchObject({ kind: 'deliver' });
  });

  test('is dropped if its source blocks the event', () => {
    const blocking = { ...source, blockedEvents: ['e'] };
    expect(decideRecord(cutHead, damaged, routing([hook()], blocking))).toMatchObject({
      reason: 'blocked',
    });
  });

  test.each<[string, Partial<Destination>]>([
    ['accepts other types', { types: ['page'] }],
    ['is off', { enabled: false }],
  ])('is dropped if its destination %s', (_, given) => {
    expect(decideRecord(cutHead, damaged, routing([hook(given)]))).toMatchObject({
      reason: 'no_destination',
    });
  });
});
