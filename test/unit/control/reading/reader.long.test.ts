import pino from 'pino';
import { type Database } from '../../../../services/control/history/database';
import { readPositions } from '../../../../services/control/reading/positions';
import { type Handler, type ReaderOptions } from '../../../../services/control/reading/reader';
import { Shares } from '../../../../services/control/reading/shares';
import { SharedReads } from '../../../../services/control/reading/shared-reads';
import { type Kafka, type ReadAt } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/runtime/errors';
import { metrics } from '../../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../../shared/telemetry/prometheus';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import { memoryLog, type MemoryLog } from '../../../support/memory-log';
import { PACE, readerOf } from '../../../support/reader';

/** A reader that writes the texts of its records into a table. */

let database: Database;
let memory: MemoryLog;
beforeAll(async () => {
  database = await memoryDatabase();
  await database.query('create table waypost.texts (name text not null, text text not null)');
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['texts', 'positions']) await database.query(`delete from waypost.${table}`);
  memory = memoryLog();
});

const withCode = (code: string) => Object.assign(new Error(code), { code });
const append = (...texts: string[]) =>
  memory.append(texts.map((value) => ({ topic: 'texts', key: 'k', value })));
const many = (count: number, text = 't') => Array.from({ length: count }, () => text);

type Write = Handler<string>['write'];
const store =
  (name: string): Write =>
  async ({ query }, texts) => {
    await query('insert into waypost.texts select $1, jsonb_array_elements_text($2::jsonb)', [
      name,
      JSON.stringify(texts),
    ]);
    return undefined;
  };
function reader(over: Partial<Handler<string>> = {}, options: Partial<ReaderOptions & Kafka> = {}) {
  const name = over.name ?? 'texts';
  const lines: string[] = [];
  const made = readerOf<string>(
    {
      name,
      topic: 'texts',
      sinceMs: () => 0,
      entriesOf: ({ value }) =>
        String(value)
          .split(' ')
          .map((text) => (text === 'unreadable' ? undefined : text)),
      write: store(name),
      ...over,
    },
    {
      history: { ask: (work) => work(database) },
      log: pino({}, { write: (line) => lines.push(line) }),
      ...options,
      kafka: { ...memory.kafka, ...options },
    },
  );
  return Object.assign(made, { logged: () => lines.join('') });
}
const written = async (name = 'texts') =>
  (
    await database.query<{ text: string }>('select text from waypost.texts where name = $1', [name])
  ).map(({ text }) => text);
/** Returns how many records the readers of a name have found to be cut off. */
async function cutOf(name: string): Promise<number> {
  const series = `waypost_log_cut_total{group="control-${name}",topic="texts"} `;
  const lines = (await renderMetrics(metrics)).split('\n');
  return Number(lines.find((line) => line.startsWith(series))?.slice(series.length));
}
const position = async (name = 'texts') => (await readPositions(database, name)).get(0)?.next;

test('what records say and the positions behind them are one transaction', async () => {
  append('a', 'b c');
  const fails = reader({
    write: async (transaction, texts) => {
      await store('texts')(transaction, texts);
      throw new Error('away');
    },
  });
  await expect(fails.poll()).rejects.toThrow('away');
  expect([await written(), await position()]).toEqual([[], 0]);
  await reader().poll();
  expect([await written(), await position()]).toEqual([['a', 'b', 'c'], 2]);
});

test('a commit whose answer is lost writes nothing twice', async () => {
  append('a');
  let isLost = true;
  const one = reader({
    transact: async (work) => {
      const result = await database.transaction(work);
      if (isLost) throw withCode('08006');
      return result;
    },
  });
  await expect(one.poll()).rejects.toMatchObject({ code: '08006' });
  isLost = false;
  append('b');
  await one.poll();
  expect(await written()).toEqual(['a', 'b']);
});

test('processes that read the same partition write each record once', async () => {
  const both = [reader(), reader()];
  const texts: string[] = [];
  for (let i = 0; i < 20; i++) {
    append(`t${i}`);
    texts.push(`t${i}`);
    await Promise.all(both.map((each) => each.poll()));
  }
  await both[0]!.poll();
  await both[0]!.poll();
  expect(await written()).toEqual(texts);
});

test('a reader leaves the partitions of other processes to them', async () => {
  append('a');
  let owns = false;
  const one = reader({}, { shares: { owns: () => owns } });
  await one.poll();
  expect(await written()).toEqual([]);
  owns = true;
  await one.poll();
  expect(await written()).toEqual(['a']);
});

describe('several processes divide the partitions', () => {
  const PARTITIONS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
  let isAway = false;
  const aProcess = () =>
    new Shares(
      { ask: (work) => (isAway ? Promise.reject(new Error('away')) : work(database)) },
      false,
    );
  const owned = (one: Shares) => PARTITIONS.filter((partition) => one.owns(partition));
  /** Lets all say that they live, and learn of each other. */
  const refresh = async (...all: Shares[]) => {
    for (const each of [...all, ...all]) await each.refresh();
  };
  const pass = (ms: number) =>
    database.query('update waypost.processes set until = until - $1::bigint', [ms]);
  const isDivided = (...all: Shares[]) => {
    expect(all.flatMap(owned).sort((a, b) => a - b)).toEqual(PARTITIONS);
    for (const each of all) expect(owned(each)).toHaveLength(PARTITIONS.length / all.length);
  };
  beforeEach(async () => {
    isAway = false;
    await database.query('delete from waypost.processes');
  });

  test('each has one owner, and they have equal parts', async () => {
    const [one, two, three] = [aProcess(), aProcess(), aProcess()];
    await refresh(one);
    isDivided(one);
    await refresh(one, two, three);
    isDivided(one, two, three);
    expect(one.areSeveral).toBe(true);
  });

  test('those of a killed process go to others 12 seconds after it was last heard', async () => {
    const [one, two, killed] = [aProcess(), aProcess(), aProcess()];
    await refresh(one, two, killed);
    await pass(6_000);
    await refresh(one, two);
    isDivided(one, two, killed);
    await pass(6_001);
    await refresh(one, two);
    isDivided(one, two);
  });

  test('those of a process that stops go to the others at once', async () => {
    const [one, two] = [aProcess(), aProcess()];
    await refresh(one, two);
    await two.stop();
    await refresh(one);
    isDivided(one);
  });

  test('they stay as they are while the database is away', async () => {
    const [one, two] = [aProcess(), aProcess()];
    await refresh(one, two);
    isAway = true;
    await refresh(one, two);
    isDivided(one, two);
  });
});

test('a reader whose table is locked, or that lags, holds up no other', async () => {
  append('a', 'b');
  let unlock: () => void = () => undefined;
  const isLocked = new Promise<void>((resolve) => (unlock = resolve));
  const locked = reader({
    name: 'locked',
    transact: async (work) => {
      await isLocked;
      return database.transaction(work);
    },
  });
  const waits = locked.poll();
  await reader().poll();
  append('c');
  await reader().poll();
  expect(await written()).toEqual(['a', 'b', 'c']);
  unlock();
  await waits;
  await locked.poll();
  expect(await written('locked')).toEqual(['a', 'b', 'c']);
});

test('readers that keep pace share a fetch, and read to the end nevertheless', async () => {
  const asked: ReadAt[] = [];
  const read = (at: ReadAt) => {
    asked.push(at);
    return memory.kafka.read(at);
  };
  const reads = new SharedReads({ read });
  const [one, two] = [reader({}, { reads }), reader({ name: 'two' }, { reads })];
  append('a', 'b');
  await one.poll();
  append('c');
  await one.poll();
  append('d');
  await two.poll();
  expect([await written(), await written('two')]).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c', 'd'],
  ]);
  expect(asked.map(({ offset }) => offset)).toEqual([0, 2, 3]);
});

test('an idle reader waits in Kafka, and shares that with others at its place', async () => {
  const pauses: number[] = [];
  const pause = (ms: number) => {
    pauses.push(ms);
    return new Promise<void>((resolve) => setImmediate(resolve));
  };
  const waits: ReadAt[] = [];
  const read = (at: ReadAt) => {
    if (at.waitMs !== undefined) waits.push(at);
    return memory.kafka.read(at);
  };
  const reads = new SharedReads({ read });
  const both = [reader({}, { reads, pause }), reader({ name: 'two' }, { reads, pause })];
  for (const each of both) each.start();
  await eventually(() => expect(waits).toHaveLength(1));
  expect(pauses).toEqual([]);
  append('a');
  await eventually(async () =>
    expect([await written(), await written('two')]).toEqual([['a'], ['a']]),
  );
  await Promise.all(both.map((each) => each.stop()));
});

test('after many entries a reader pauses for longer, also if few records have them', async () => {
  const pauses: number[] = [];
  const pause = (ms: number) => {
    pauses.push(ms);
    return new Promise<void>((resolve) => setImmediate(resolve));
  };
  append(many(49).join(' '));
  const few = reader({ name: 'few' }, { pause });
  few.start();
  await eventually(() => expect(pauses).toEqual([PACE.quietMs]));
  await few.stop();
  append(many(50).join(' '));
  const lots = reader({ name: 'lots' }, { pause });
  lots.start();
  await eventually(() => expect(pauses).toEqual([PACE.quietMs, PACE.busyMs]));
  await lots.stop();
});

test('a reader does not wait in Kafka at a record that it cannot read', async () => {
  memory.append([{ topic: 'texts', key: 'k', value: 'new', headers: { format: '9' } }]);
  let pauses = 0;
  let waits = 0;
  const read = (at: ReadAt) => {
    if (at.waitMs !== undefined) waits++;
    return memory.kafka.read(at);
  };
  const pause = () => {
    pauses++;
    return new Promise<void>((resolve) => setImmediate(resolve));
  };
  const one = reader({}, { read, pause });
  one.start();
  await eventually(() => expect(pauses).toBeGreaterThan(2));
  await one.stop();
  expect(waits).toBe(0);
});

test('a partition that cannot be read holds up no other', async () => {
  const read = (at: ReadAt) =>
    at.partition === 1
      ? Promise.reject(new AppError('kafka_unavailable', 'partition 1 has no leader', true))
      : memory.kafka.read(at);
  const ranges = () => Promise.resolve([0, 1].map((partition) => ({ partition, low: 0, high: 1 })));
  append('a');
  const one = reader({}, { read, ranges });
  await one.poll();
  expect([await written(), one.trouble]).toEqual([['a'], 'partition 1 has no leader']);
  expect(await one.hasRead([{ partition: 1, low: 0, high: 1 }])).toBe(false);
});

test('a poll ends although records arrive all the time', async () => {
  append('a');
  const read = async (at: ReadAt) => {
    const fetched = await memory.kafka.read(at);
    append('later');
    return fetched;
  };
  await reader({}, { read }).poll();
  expect(await written()).toEqual(['a']);
});

test('a reader waits at a record of a newer format, and reads on once it can', async () => {
  append('a');
  memory.append([{ topic: 'texts', key: 'k', value: 'new', headers: { format: '9' } }]);
  append('b');
  const old = reader();
  await old.poll();
  expect([await written(), await position()]).toEqual([['a'], 1]);
  expect(old.trouble).toContain('format');
});

test('a reader goes on at the first record that is left', async () => {
  append('a');
  await reader().poll();
  append('b', 'c', 'd');
  const ranges = () => Promise.resolve([{ partition: 0, low: 3, high: 4 }]);
  const read = async (at: ReadAt) => ({
    ...(await memory.kafka.read(at)),
    ...(at.offset < 3 ? { records: [], gone: true } : {}),
  });
  await reader({}, { read, ranges }).poll();
  expect(await written()).toEqual(['a', 'd']);
});

test('the first process stores the positions of all partitions, where another begins', async () => {
  let asked: number | undefined;
  const ranges = (_: string, sinceMs?: number) => {
    asked = sinceMs;
    return Promise.resolve([0, 1].map((partition) => ({ partition, low: 0, high: 0 })));
  };
  await reader({ sinceMs: () => 7 }, { ranges, shares: { owns: (one) => one === 0 } }).poll();
  expect(asked).toBe(7);
  expect([...(await readPositions(database, 'texts')).values()]).toEqual(
    [0, 1].map((partition) => ({
      partition,
      next: 0,
      last: null,
      sinceMs: 7,
      readMs: expect.any(Number),
    })),
  );
});

test('a process without partitions is not behind', async () => {
  append('a');
  let owns = true;
  let nowMs = Date.now();
  const one = reader({}, { shares: { owns: () => owns }, nowMs: () => nowMs });
  await one.poll();
  owns = false;
  await one.poll();
  nowMs += 3_600_000;
  expect(one.behindSeconds).toBe(0);
});

test('polls that wait for the present one are one', async () => {
  append('a');
  let fetches = 0;
  const read = (at: ReadAt) => {
    fetches++;
    return memory.kafka.read(at);
  };
  const one = reader({}, { read });
  await Promise.all(Array.from({ length: 10 }, () => one.poll()));
  expect(fetches).toBeLessThanOrEqual(2);
});

describe.each([
  ['was cut', 30],
  ['was created again', 0],
])('a reader of a topic that %s, and has grown beyond its position', (_, left) => {
  test.each([
    ['runs', () => undefined],
    ['has stopped', () => reader()],
  ])('loses no record that was appended since, while it %s', async (__, another) => {
    append(...many(50));
    const one = reader();
    await one.poll();
    const countedBefore = await cutOf('texts');
    memory.cut('texts', left);
    append(...many(70, 'new'));
    const then = another() ?? one;
    await then.poll();
    expect((await written()).sort()).toEqual([...many(70, 'new'), ...many(50)]);
    expect(await position()).toBe(left + 70);
    expect((await cutOf('texts')) - countedBefore).toBe(50 - left);
    expect(then.logged()).toContain('reader.log_cut');
  });

  test('reads nothing of what another reader has fetched before', async () => {
    const reads = new SharedReads(memory.kafka);
    const [one, two] = [reader({}, { reads }), reader({ name: 'two' }, { reads })];
    if (left > 0) append(...many(left));
    await one.poll();
    append(...many(50 - left, 'lost'));
    await one.poll();
    memory.cut('texts', left);
    append(...many(70, 'new'));
    await one.poll();
    await two.poll();
    expect((await written('two')).sort()).toEqual([...many(70, 'new'), ...many(left)]);
    expect((await written()).filter((text) => text === 'new')).toHaveLength(70);
  });

  test('writes all of as many records as were cut off', async () => {
    append(...many(50));
    const one = reader();
    await one.poll();
    memory.cut('texts', left);
    append(...many(50 - left, 'new'));
    await one.poll();
    await one.poll();
    expect((await written()).filter((text) => text === 'new')).toHaveLength(50 - left);
  });
});

test('a reader loses no record of a topic that was created again', async () => {
  append(...many(50));
  await reader().poll();
  expect(await position()).toBe(50);
  memory = memoryLog();
  append('new');
  await reader().poll();
  expect([(await written()).filter((text) => text === 'new'), await position()]).toEqual([
    ['new'],
    1,
  ]);
});

test.each(['57014', '40P01', '55P03'])(
  'no entry is left out because its table is locked (%s)',
  async (code) => {
    append('a', 'b');
    let tries = 0;
    const one = reader(
      {
        write: (transaction, texts) =>
          ++tries < 60 ? Promise.reject(withCode(code)) : store('texts')(transaction, texts),
      },
      { pause: () => new Promise((resolve) => setImmediate(resolve)) },
    );
    one.start();
    await eventually(async () => expect(await position()).toBe(2));
    await one.stop();
    expect([await written(), one.leftOut]).toEqual([['a', 'b'], 0]);
  },
);

test('a reader that finds a partition made by another tries again and omits nothing', async () => {
  append('a', 'b');
  let tries = 0;
  const pauses: number[] = [];
  const one = reader(
    {
      write: (transaction, texts) =>
        ++tries < 3 ? Promise.reject(withCode('42P07')) : store('texts')(transaction, texts),
    },
    {
      pause: (ms) => {
        pauses.push(ms);
        return new Promise((resolve) => setImmediate(resolve));
      },
    },
  );
  one.start();
  await eventually(async () => expect(await position()).toBe(2));
  await one.stop();
  expect([await written(), one.leftOut, tries]).toEqual([['a', 'b'], 0, 3]);
  expect(pauses.slice(0, 2)).toEqual([200, 400]);
});

test.each(['40P01', '55P03'])(
  'a batch that waited for a lock is not tried in ever smaller parts (%s)',
  async (code) => {
    append(...many(64));
    const sizes: number[] = [];
    const one = reader(
      {
        write: (transaction, texts) => {
          sizes.push(texts.length);
          return sizes.length < 20
            ? Promise.reject(withCode(code))
            : store('texts')(transaction, texts);
        },
      },
      { pause: () => new Promise((resolve) => setImmediate(resolve)) },
    );
    one.start();
    await eventually(async () => expect(await position()).toBe(64));
    await one.stop();
    expect(new Set(sizes)).toEqual(new Set([64]));
  },
);

describe('an entry that the database refuses', () => {
  /** Refuses `bad`. */
  const refusing =
    (refusal: () => Error): Write =>
    (transaction, texts) =>
      texts.includes('bad') ? Promise.reject(refusal()) : store('texts')(transaction, texts);

  test.each([
    ['a value out of range', () => withCode('22003')],
    ['a violated constraint', () => withCode('23502')],
    ['an index row that is too large', () => withCode('54000')],
    ['an unknown code', () => withCode('XX000')],
    ['a partition that stays missing', () => withCode('23514')],
    ['an unexpected shape of an event', () => new TypeError('urls is null')],
  ])('is left out and counted, and the others are written: %s', async (_, refusal) => {
    append('a b', 'bad c', 'd');
    const one = reader(
      { write: refusing(refusal) },
      { pause: () => new Promise((resolve) => setImmediate(resolve)) },
    );
    one.start();
    await eventually(async () => expect(await position()).toBe(3));
    await one.stop();
    expect(await written()).toEqual(['a', 'b', 'c', 'd']);
    expect([one.leftOut, one.logged().match(/reader.not_recorded/g)]).toEqual([
      1,
      expect.any(Array),
    ]);
  });

  test('is written if the refusal passes: another process ended the partition', async () => {
    append('a');
    let missing = true;
    const one = reader({
      write: (transaction, texts) => {
        if (!missing) return store('texts')(transaction, texts);
        missing = false;
        return Promise.reject(withCode('23514'));
      },
    });
    await expect(one.poll()).rejects.toThrow();
    await one.poll();
    expect([await written(), one.leftOut]).toEqual([['a'], 0]);
  });

  test.each([
    ['it is read-only', withCode('25006')],
    ['its disk is full', withCode('53100')],
    ['it is away', new Error('ECONNREFUSED')],
  ])('is not left out while the database takes no writes: %s', async (_, broken) => {
    append('a', 'bad');
    let isBroken = true;
    const one = reader({
      write: refusing(() => withCode('54000')),
      transact: (work) => (isBroken ? Promise.reject(broken) : database.transaction(work)),
    });
    for (let i = 0; i < 10; i++) await expect(one.poll()).rejects.toBe(broken);
    expect([one.leftOut, await position()]).toEqual([0, 0]);
    isBroken = false;
    await one.poll();
    expect([await written(), one.leftOut]).toEqual([['a'], 1]);
  });
});

test('entries that cannot be read are counted and logged once their record is behind', async () => {
  append('a unreadable', 'b');
  const one = reader();
  await one.poll();
  expect([await written(), one.leftOut]).toEqual([['a', 'b'], 1]);
  expect(one.logged()).toContain('reader.unreadable');
});

test('a trouble is reported until it ends', async () => {
  append('a');
  let isAway = true;
  const one = reader(
    {
      transact: (work) => (isAway ? Promise.reject(new Error('away')) : database.transaction(work)),
    },
    { pause: () => new Promise((resolve) => setImmediate(resolve)) },
  );
  one.start();
  await eventually(() => expect(one.trouble).toBe('away'));
  isAway = false;
  await eventually(async () => expect(await written()).toEqual(['a']));
  await eventually(() => expect(one.trouble).toBeUndefined());
  await one.stop();
});

describe('while other processes need all cores', () => {
  const busy = (nowMs: () => number) => {
    const sizes: number[] = [];
    let looks = 0;
    const one = reader(
      {
        write: (_, texts) => {
          sizes.push(texts.length);
          return Promise.resolve(undefined);
        },
      },
      { othersFirst: () => ++looks > 0, nowMs },
    );
    return { one, sizes, looks: () => looks };
  };

  test('a small batch is written immediately', async () => {
    append(...many(1_999));
    const { one, sizes } = busy(Date.now);
    await one.poll();
    expect(sizes).toEqual([1_999]);
  });

  test('whole batches wait for a minute at most', async () => {
    append(...many(2_500));
    const { one, sizes } = busy(() => Date.now() + 60_000);
    await one.poll();
    expect(sizes).toEqual([2_000, 500]);
  });

  test('whole batches wait, and the reader stops when asked to', async () => {
    append(...many(2_500));
    const { one, sizes, looks } = busy(Date.now);
    const polled = one.poll();
    await eventually(() => expect(looks()).toBeGreaterThan(0));
    expect(sizes).toEqual([]);
    await one.stop();
    await polled;
  });
});
