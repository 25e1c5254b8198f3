import supertest from 'supertest';
import { CallCounts, LimitedCalls } from '../../../../services/control/overview/call-counts';
import { limitedRecord } from '../../../../shared/model/rejected-calls';
import { controlUnderTest } from '../../../support/control';
import { spanOf } from '../../../../services/control/history/count-series';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the span of a chart', () => {
  const now = 1_000_000 * MINUTE;
  test.each([
    [HOUR, MINUTE],
    [DAY, 30 * MINUTE],
    [7 * DAY, 3 * HOUR],
    [90 * DAY, 2 * DAY],
  ])('a span of %d ms has steps of %d ms', (span, step) => {
    const { sinceMs, stepMs } = spanOf(now - span, now);
    expect(stepMs).toBe(step);
    expect(sinceMs % stepMs).toBe(0);
    expect((now - sinceMs) / stepMs).toBeLessThanOrEqual(61);
  });
});

/** A topic with two partitions, which each got a record at these times. */
function topicsOf(times: Record<string, number[]>) {
  const asked: string[] = [];
  return {
    asked,
    ranges: (topic: string, sinceMs?: number) => {
      asked.push(`${topic} ${String(sinceMs)}`);
      const taken = times[topic] ?? [];
      const low = taken.filter((at) => at < (sinceMs ?? 0)).length;
      return Promise.resolve([0, 1].map((partition) => ({ partition, low, high: taken.length })));
    },
  };
}

describe('the counts of calls', () => {
  const now = 2 * DAY + 3 * MINUTE - 1;
  const span = { sinceMs: 2 * DAY, untilMs: now, stepMs: MINUTE };

  const limited = new LimitedCalls();
  const record = (value: string, timestampMs: number) => ({
    value: Buffer.from(value),
    timestampMs,
  });
  const first = limitedRecord({
    sources: new Map([
      ['src_1', 2],
      ['src_2', 4],
    ]),
    rejected: 30,
  });
  const second = limitedRecord({
    sources: new Map([['src_1', 1]]),
    rejected: 5,
  });
  limited.add(record(first.value, 2 * DAY + MINUTE));
  limited.add(record(second.value, 2 * DAY + 2 * MINUTE - 1));
  const unreadables = ['', 'x', '{}', '{"sources":{"a":"b"},"rejected":1}', '{"sources":{"a":1}}'];
  for (const unreadable of unreadables) {
    limited.add(record(unreadable, 2 * DAY));
  }

  test('calls are counted by the positions of topics, and without a record by ingest', async () => {
    const first = 2 * DAY;
    const kafka = topicsOf({
      messages: [first - 1, first, first + 1, first + 2 * MINUTE],
      'messages.rejected': [first + MINUTE],
    });
    expect(await new CallCounts(kafka, limited).count(span, now)).toEqual([
      { at: first, accepted: 4, rejected: 0, limited: 0 },
      { at: first + MINUTE, accepted: 0, rejected: 2 + 35, limited: 7 },
      { at: first + 2 * MINUTE, accepted: 2, rejected: 0, limited: 0 },
    ]);
  });

  test('nothing after the end of the span is counted', async () => {
    const first = 2 * DAY;
    const kafka = topicsOf({
      messages: [first, first + MINUTE, first + MINUTE + 30_000, first + 2 * MINUTE],
    });
    const counts = new CallCounts(kafka, limited);
    const accepted = async (untilMs: number) =>
      (await counts.count({ ...span, untilMs }, now)).map((step) => step.accepted);
    expect(await accepted(first + MINUTE)).toEqual([2]);
    expect(await accepted(first + MINUTE + 30_000)).toEqual([2, 2]);
    expect(await accepted(first + MINUTE + 31_000)).toEqual([2, 4]);
  });

  test('limited calls are counted by source, in the minutes that start within the span', () => {
    expect(limited.bySource(span.sinceMs, now)).toEqual({ src_1: 3, src_2: 4 });
    expect(limited.bySource(0, now)).toEqual({ src_1: 3, src_2: 4 });
    expect(limited.bySource(2 * DAY + 2 * MINUTE, now)).toEqual({});
  });

  test('a minute counts all limited calls, but names only its most limited sources', () => {
    const many = new LimitedCalls();
    const flood = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, i) => [`src_${i}`, i < 50 ? 9 : 1]),
    );
    for (let second = 0; second < 60; second++) {
      many.add(record(JSON.stringify({ sources: flood, rejected: 1 }), 2 * DAY + second * 1_000));
    }
    expect(many.requests(2 * DAY, MINUTE)).toBe(60 * (10_000 + 50 * 8));
    expect(many.rejected(2 * DAY, MINUTE)).toBe(60);
    const named = Object.entries(many.bySource(2 * DAY, now));
    expect(named.length).toBeLessThanOrEqual(200);
    expect(named.filter(([, count]) => count === 540)).toHaveLength(50);
  });

  test('calls older than the retention are null and not 0', async () => {
    const counts = new CallCounts(topicsOf({}), limited);
    const steps = await counts.count({ sinceMs: 0, untilMs: now, stepMs: DAY }, now);
    expect(steps.map(({ rejected }) => rejected)).toEqual([null, null, 35]);
    expect(steps.map((step) => step.limited)).toEqual([null, null, 7]);
  });

  test('positions of past times are read once', async () => {
    const kafka = topicsOf({});
    const counts = new CallCounts(kafka, limited);
    await counts.count(span, now);
    kafka.asked.length = 0;
    await counts.count({ ...span, untilMs: now + 1 }, now + 1);
    expect(kafka.asked).toEqual(['messages undefined', 'messages.rejected undefined']);
  });
});

test('GET /overview/calls counts the requests over the limit by source', async () => {
  const control = await controlUnderTest();
  control.clock.now = new Date(Date.now() + MINUTE);
  const record = limitedRecord({
    sources: new Map([
      ['src_1', 2],
      ['src_2', 4],
    ]),
    rejected: 0,
  });
  control.memory.append([{ topic: 'messages.limited', key: null, ...record }]);
  const { body } = await control.call('get', '/overview/calls');
  expect(body.limitedBySource).toEqual({ src_1: 2, src_2: 4 });
  expect((await control.get('/overview/calls?since=1970-01-01T00:00Z')).limitedBySource).toEqual(
    body.limitedBySource,
  );
});

test('GET /overview/calls counts nothing after `until`', async () => {
  const control = await controlUnderTest();
  control.clock.now = new Date(Date.now() + MINUTE);
  control.memory.append([{ topic: 'messages', key: null, value: '{}' }]);
  const accepted = async (query: string) => {
    const { series } = (await control.get(`/overview/calls${query}`)) as {
      series: { accepted: number }[];
    };
    return series.reduce((sum, step) => sum + step.accepted, 0);
  };
  const before = new Date(Date.now() - MINUTE).toISOString();
  expect([await accepted(''), await accepted(`?until=${before}`)]).toEqual([1, 0]);
});

test.each([
  { rights: ['overview:read'], shown: undefined },
  { rights: ['overview:read', 'sources:read'], shown: { src_1: 2 } },
])(
  'a token with the rights $rights gets the counts by source: $shown',
  async ({ rights, shown }) => {
    const control = await controlUnderTest();
    control.clock.now = new Date(Date.now() + MINUTE);
    const record = limitedRecord({
      sources: new Map([['src_1', 2]]),
      rejected: 0,
    });
    control.memory.append([{ topic: 'messages.limited', key: null, ...record }]);
    const { body: token } = await control
      .call('post', '/tokens')
      .send({ name: 'Narrow', role: 'read_only', rights });
    const asked = supertest(control.app)
      .get('/api/v1/overview/calls')
      .set('Authorization', `Bearer ${token.token}`);
    const { body } = await asked;
    expect(body.series.length).toBeGreaterThan(0);
    expect(body.limitedBySource).toEqual(shown);
  },
);
