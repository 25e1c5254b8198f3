import * as fc from 'fast-check';
import pino from 'pino';
import { faultOf } from '../../../../services/control/history/database';
import { BatchWriter } from '../../../../services/control/history/batch-writer';
import { parseLater } from '../../../../services/control/history/parse-events';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { eventually } from '../../../support/eventually';
import { anEvent, START } from '../../../support/events';
import { rowsOf, success } from '../../../support/successes';

const withCode = (code: string) => Object.assign(new Error(code), { code });

/** A batch writer in front of a scripted database. */
function feedUnderTest(write: (ids: string[]) => Promise<void>) {
  const lines: string[] = [];
  let room = 0;
  const machine = { full: false, nowMs: START, looks: 0 };
  const feed = new BatchWriter({
    parse: parseLater,
    write: (events) =>
      write(events.map((event) => ('delivery' in event ? event.delivery : event.kind))),
    faultOf: (error) => faultOf(error, undefined),
    othersFirst: () => {
      machine.looks++;
      return machine.full;
    },
    now: () => machine.nowMs,
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    onRoom: () => room++,
    log: pino({}, { write: (line) => lines.push(line) }),
  });
  const done: number[] = [];
  let offset = 0;
  const give = (value: string | null) => {
    const own = offset++;
    const at = { topic: 'attempts', partition: 0, offset: own, timestampMs: machine.nowMs };
    const bytes = value === null ? null : Buffer.from(value);
    return feed.onRecord({
      ...at,
      value: bytes,
      done: () => done.push(own),
    } as unknown as OpenRecord);
  };
  const giveEvent = (delivery: string) => give(JSON.stringify(anEvent({ delivery })));
  return { feed, done, give, giveEvent, lines, machine, room: () => room };
}

test('a batch is written, and its records are done only then', async () => {
  const written: string[][] = [];
  let commit: () => void = () => undefined;
  const { done, giveEvent } = feedUnderTest((ids) => {
    written.push(ids);
    return new Promise((resolve) => (commit = resolve));
  });
  giveEvent('a');
  giveEvent('b');
  await eventually(() => expect(written).toEqual([['a', 'b']]));
  giveEvent('c');
  expect(done).toEqual([]);
  commit();
  await eventually(() => expect(written).toEqual([['a', 'b'], ['c']]));
  expect(done).toEqual([0, 1]);
  commit();
  await eventually(() => expect(done).toEqual([0, 1, 2]));
});

test('a busy writer gathers longer, and writes a full batch immediately', async () => {
  const sizes: number[] = [];
  const { done, giveEvent } = feedUnderTest((ids) => {
    sizes.push(ids.length);
    return Promise.resolve();
  });
  for (let i = 0; i < 2_000; i++) giveEvent(`a${i}`);
  await eventually(() => expect(done).toHaveLength(2_000));
  for (let i = 0; i < 1_500; i++) giveEvent(`b${i}`);
  await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 500; i++) giveEvent(`c${i}`);
  await eventually(() => expect(done).toHaveLength(4_000));
  expect(sizes).toEqual([2_000, 2_000]);
});

test('the events of one record are counted, divided and left out individually', async () => {
  const given = fc.sample(success, { numRuns: 300, seed: 3 }).map((each, i) => ({
    ...each,
    delivery: {
      ...each.delivery,
      id: i === 7 ? 'bad' : `dlv_${i}`,
      messageId: i === 9 ? 'x'.repeat(257) : 'm',
    },
  }));
  const written: string[] = [];
  const { feed, done, give, lines } = feedUnderTest((ids) => {
    if (ids.includes('bad')) return Promise.reject(withCode('22003'));
    written.push(...ids);
    return Promise.resolve();
  });
  give(String(rowsOf(given)));
  await eventually(() => expect(done).toEqual([0]));
  expect(written).toEqual(
    given.map(({ delivery }) => delivery.id).filter((id) => id !== 'bad' && id !== 'dlv_9'),
  );
  expect(feed.leftOut).toBe(2);
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toContain(
    'history.unreadable',
  );
});

test('a batch has at most so many events, however many each of its records has', async () => {
  const sizes: number[] = [];
  const { done, give, room } = feedUnderTest((ids) => {
    sizes.push(ids.length);
    return Promise.resolve();
  });
  const value = String(
    rowsOf(
      fc
        .sample(success, { numRuns: 900, seed: 3 })
        .map((each) => ({ ...each, delivery: { ...each.delivery, messageId: 'm'.repeat(100) } })),
    ),
  );
  const accepted = Array.from({ length: 8 }, () => give(value)).filter(
    (result) => result === 'accepted',
  ).length;
  expect(accepted).toBeLessThan(8);
  await eventually(() => expect(done).toHaveLength(accepted));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(900 * accepted);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(2_000);
  expect(room()).toBe(1);
});

test('a batch is retried while the database is away, and the trouble is reported', async () => {
  let away = true;
  const { feed, done, giveEvent } = feedUnderTest(() =>
    away ? Promise.reject(new Error('away')) : Promise.resolve(),
  );
  giveEvent('a');
  await eventually(() => expect(feed.trouble).toBe('away'));
  expect(done).toEqual([]);
  away = false;
  await eventually(() => expect(done).toEqual([0]));
  expect(feed.trouble).toBeUndefined();
});

describe('an event that the database refuses', () => {
  /** A database that refuses `bad`, and every write while `broken`. */
  function database(refusal: () => Error) {
    const written: string[] = [];
    const state = { broken: undefined as Error | undefined, writes: 0 };
    const write = (ids: string[]) => {
      state.writes++;
      if (state.broken) return Promise.reject(state.broken);
      if (ids.includes('bad')) return Promise.reject(refusal());
      written.push(...ids);
      return Promise.resolve();
    };
    return { written, state, write };
  }

  test.each([
    ['a value out of range', () => withCode('22003')],
    ['a violated constraint', () => withCode('23502')],
    ['an index row that is too large', () => withCode('54000')],
    ['an unknown code', () => withCode('XX000')],
    ['a partition that stays missing', () => withCode('23514')],
    ['an unexpected shape of an event', () => new TypeError('urls is null')],
  ])(
    'a refused event is left out and counted, and the others are written: %s',
    async (_, refusal) => {
      const { written, write } = database(refusal);
      const { feed, done, giveEvent, lines } = feedUnderTest(write);
      for (const id of ['a', 'b', 'bad', 'c', 'd']) giveEvent(id);
      await eventually(() => expect(done).toHaveLength(5));
      expect(written.sort()).toEqual(['a', 'b', 'c', 'd']);
      expect(feed.leftOut).toBe(1);
      expect(lines.filter((line) => line.includes('history.not_recorded'))).toHaveLength(1);
    },
  );

  test('a refused event is left out if it is alone', async () => {
    const { write } = database(() => withCode('54000'));
    const { feed, done, giveEvent } = feedUnderTest(write);
    giveEvent('bad');
    await eventually(() => expect(done).toEqual([0]));
    expect(feed.leftOut).toBe(1);
  });

  test('an event is written if a refusal passes: another process ended the partition', async () => {
    let missing = true;
    const written: string[] = [];
    const { feed, done, giveEvent } = feedUnderTest((ids) => {
      if (missing) {
        missing = false;
        return Promise.reject(withCode('23514'));
      }
      written.push(...ids);
      return Promise.resolve();
    });
    giveEvent('a');
    await eventually(() => expect(done).toEqual([0]));
    expect([written, feed.leftOut]).toEqual([['a'], 0]);
  });

  test.each([
    ['it is read-only', withCode('25006')],
    ['its disk is full', withCode('53100')],
    ['it is away', new Error('ECONNREFUSED')],
  ])('no event is left out while the database takes no writes: %s', async (_, broken) => {
    const { written, state, write } = database(() => withCode('54000'));
    const { feed, done, giveEvent } = feedUnderTest(write);
    state.broken = broken;
    for (const id of ['a', 'b']) giveEvent(id);
    // More often than an unknown fault is retried before the batch is halved.
    await eventually(() => expect(state.writes).toBeGreaterThan(6));
    expect([feed.leftOut, done]).toEqual([0, []]);
    state.broken = undefined;
    await eventually(() => expect(done).toHaveLength(2));
    expect(written).toEqual(['a', 'b']);
  });
});

test.each([
  ['no value', null],
  ['no JSON', '{'],
  ['no event', '{"kind":"other","destination":"d","at":"2026-01-01T00:00:00.000Z"}'],
  ['no delivery', JSON.stringify({ ...anEvent(), delivery: undefined })],
  ['no time', JSON.stringify(anEvent({ acceptedAt: 'yesterday' }))],
  ['null', 'null'],
  ['an id of 20 KB', JSON.stringify(anEvent({ destination: 'd'.repeat(20_000) }))],
  ['a time in the year 9999', JSON.stringify(anEvent({ acceptedAt: '9999-12-31T00:00:00.000Z' }))],
])('a record with %s is skipped', async (_, value) => {
  const { done, give, lines } = feedUnderTest(() => Promise.reject(new Error('never')));
  give(value);
  await eventually(() => expect(done).toEqual([0]));
  expect(lines.join('')).toContain('history.unreadable');
});

test('the writer is busy at its limit without the database, and resumes with room', async () => {
  let away = true;
  const { feed, done, giveEvent, room } = feedUnderTest(() =>
    away ? Promise.reject(new Error('away')) : Promise.resolve(),
  );
  let taken = 0;
  while (giveEvent(`d${taken}`) === 'accepted') taken++;
  expect(taken).toBe(6_000);
  expect(room()).toBe(0);
  away = false;
  await eventually(() => expect(done).toHaveLength(taken));
  expect(room()).toBe(1);
  await feed.stop();
  expect(giveEvent('late')).toBe('busy');
});

test('the writer stops gathering when it is hurried', async () => {
  const { feed, done, giveEvent } = feedUnderTest(() => Promise.resolve());
  giveEvent('a');
  feed.hurry();
  giveEvent('b');
  await new Promise(setImmediate);
  expect(done).toEqual([0, 1]);
});

describe('while others need all cores', () => {
  const written: number[] = [];
  const fed = () => feedUnderTest((ids) => Promise.resolve(void written.push(ids.length)));
  beforeEach(() => (written.length = 0));

  test('a small batch is written immediately', async () => {
    const { done, giveEvent, machine } = fed();
    machine.full = true;
    for (let i = 0; i < 1_999; i++) giveEvent(`a${i}`);
    await eventually(() => expect(done).toHaveLength(1_999));
  });

  test('full batches wait until the others are done', async () => {
    const { done, giveEvent, machine } = fed();
    machine.full = true;
    for (let i = 0; i < 2_500; i++) giveEvent(`a${i}`);
    await eventually(() => expect(machine.looks).toBeGreaterThanOrEqual(2));
    expect(written).toEqual([]);
    machine.full = false;
    await eventually(() => expect(done).toHaveLength(2_500));
    expect(written).toEqual([2_000, 500]);
  });

  test('full batches wait for a minute at most', async () => {
    const { done, giveEvent, machine } = fed();
    machine.full = true;
    for (let i = 0; i < 2_000; i++) giveEvent(`a${i}`);
    machine.nowMs = START + 59_999;
    for (let i = 0; i < 2_000; i++) giveEvent(`b${i}`);
    const looks = machine.looks;
    await eventually(() => expect(machine.looks).toBeGreaterThanOrEqual(looks + 2));
    expect(done).toEqual([]);
    machine.nowMs = START + 60_000;
    await eventually(() => expect(done).toHaveLength(2_000));
    // The other records are a second old.
    expect(written).toEqual([2_000]);
    machine.full = false;
    await eventually(() => expect(done).toHaveLength(4_000));
  });

  test('the writer stops when asked to', async () => {
    const { feed, done, giveEvent, machine } = fed();
    machine.full = true;
    for (let i = 0; i < 2_000; i++) giveEvent(`a${i}`);
    await feed.stop();
    expect(done).toEqual([]);
  });
});
