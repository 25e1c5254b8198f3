import {
  addEvent,
  isComplete,
  sampleMessage,
} from '../../../../services/control/destinations/test-send';
import {
  type AttemptEvent,
  type DeliveryEvent,
  type UrlAttempt,
} from '../../../../shared/model/attempt-events';
import { decodeDelivery } from '../../../../shared/model/delivery';
import { CALL_TYPES } from '../../../../shared/model/message';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { eventually } from '../../../support/eventually';

const AT = '2026-01-01T00:00:01.000Z';
const about = {
  delivery: 'dlv_1',
  message: 'm',
  source: 'test',
  destination: 'd',
  type: 'track' as const,
  acceptedAt: AT,
  expiresAt: AT,
  replay: 0,
  hop: 0,
  test: true as const,
  traceparent: '',
  record: { topic: 'webhooks', partition: 0, offset: 0 },
  at: AT,
};
const url = (id: string, outcome: UrlAttempt['outcome'], durationMs = 5): UrlAttempt => ({
  url: id,
  origin: 'https://a.example.com',
  destinationVersion: 1,
  outcome,
  durationMs,
});
const attempt = (urls: UrlAttempt[], over: Partial<AttemptEvent> = {}): AttemptEvent => ({
  ...about,
  kind: 'attempt',
  n: 1,
  outcome: urls.some((u) => u.outcome === 'delivered') ? 'delivered' : 'retry',
  durationMs: Math.max(...urls.map((u) => u.durationMs)),
  urls,
  ...over,
});
const fold = (events: DeliveryEvent[]) =>
  events.reduce<ReturnType<typeof addEvent> | undefined>(addEvent, undefined)!;

describe('merging events', () => {
  test('a late response is added to a 2xx', () => {
    const progress = fold([
      attempt([url('a', 'delivered')]),
      attempt([url('b', 'retry', 900)], { late: true }),
    ]);
    expect(progress).toMatchObject({
      status: 'delivered',
      attempt: { n: 1, at: AT, durationMs: 900, outcome: 'delivered' },
    });
    expect(progress.attempt?.urls.map((u) => u.url)).toEqual(['a', 'b']);
    expect(isComplete(progress, 2)).toBe(true);
    expect(isComplete(progress, 3)).toBe(false);
  });

  test('a dead letter is added to a failure', () => {
    const progress = fold([
      attempt([url('a', 'retry')]),
      { ...about, kind: 'dead', n: 1, reason: 'test' },
    ]);
    expect(progress).toMatchObject({
      status: 'dead',
      reason: 'test',
      attempt: { outcome: 'retry' },
    });
  });

  test('a delivery can end without an attempt', () => {
    expect(fold([{ ...about, kind: 'cancelled', n: 0, reason: 'deleted' }])).toEqual({
      status: 'cancelled',
      reason: 'deleted',
      attempt: null,
    });
  });
});

test.each(CALL_TYPES)('there is a sample of %s', (type) => {
  const message = sampleMessage({ type, userId: 'u1' }, { messageId: 'm1', now: new Date(AT) });
  expect(message).toMatchObject({ type, userId: 'u1', messageId: 'm1', timestamp: AT });
});

describe('POST /destinations/:id/test', () => {
  let control: ControlUnderTest;
  let id: string;
  const open = async (timeoutMs: number, urls: number) => {
    control = await controlUnderTest({ timeoutMs });
    const webhooks = Array.from({ length: urls }, (_, i) => ({
      url: `https://a.example.com/${i}`,
    }));
    id = (await control.destination({ webhooks })).id;
  };
  /** Writes the events of delivery for the test record. */
  const answerWith = async (...events: DeliveryEvent[]) => {
    const record = await eventually(() => {
      const found = control.memory.records('webhooks')[0];
      expect(found).toBeDefined();
      return found!;
    });
    const decoded = decodeDelivery(record.headers);
    if (decoded.kind !== 'delivery') throw new Error(decoded.kind);
    const { delivery } = decoded;
    control.memory.append(
      events.map((event) => ({
        topic: 'attempts',
        key: delivery.id,
        value: JSON.stringify({ ...event, delivery: delivery.id }),
      })),
    );
    return {
      delivery,
      body: JSON.parse(record.value!.toString()) as Record<string, unknown>,
      key: record.key!.toString(),
    };
  };

  test('a test sends a flagged record and responds with its attempt', async () => {
    await open(5_000, 1);
    const [answer, sent] = await Promise.all([
      control
        .call('post', `/destinations/${id}/test`)
        .send({ type: 'identify', traits: { plan: 'pro' } }),
      answerWith(attempt([url('whk_1', 'delivered')])),
    ]);
    expect(sent.delivery).toMatchObject({
      destinationId: id,
      type: 'identify',
      test: true,
      attempt: 0,
    });
    expect(sent.body).toMatchObject({
      type: 'identify',
      userId: 'test-user',
      traits: { plan: 'pro' },
    });
    expect(sent.key).toMatch(new RegExp(`^${id}:[0-3]$`));
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      delivery: sent.delivery.id,
      status: 'delivered',
      reason: null,
      attempt: {
        n: 1,
        at: AT,
        durationMs: 5,
        outcome: 'delivered',
        urls: [url('whk_1', 'delivered')],
      },
    });
  });

  test('a test waits briefly for the other URLs', async () => {
    await open(5_000, 2);
    const [both] = await Promise.all([
      control.call('post', `/destinations/${id}/test`),
      answerWith(attempt([url('a', 'delivered')]), attempt([url('b', 'rejected')], { late: true })),
    ]);
    expect(both.body.attempt.urls).toHaveLength(2);
  });

  test('a test responds without the other URLs if they take longer', async () => {
    await open(5_000, 2);
    const [one] = await Promise.all([
      control.call('post', `/destinations/${id}/test`),
      answerWith(attempt([url('a', 'delivered')])),
    ]);
    expect(one.body.attempt.urls).toHaveLength(1);
  });

  test('a test without any event responds with 504', async () => {
    await open(-9_900, 1);
    const answer = await control.call('post', `/destinations/${id}/test`);
    expect([answer.status, answer.body.delivery]).toEqual([504, expect.stringMatching(/^dlv_/)]);
  });

  test.each([
    [{ type: 'click' }, '#/type'],
    [{ properties: 'x' }, '#/properties'],
    [{ userID: 'x' }, '#/userID'],
  ])('a test with %j is refused', async (body, pointer) => {
    await open(5_000, 1);
    const answer = await control.call('post', `/destinations/${id}/test`).send(body);
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, pointer]);
    expect(control.memory.records('webhooks')).toEqual([]);
  });
});
