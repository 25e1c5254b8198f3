import { EarlierMessages } from '../../../services/router/earlier-messages';
import { type Kafka, type ReadAt } from '../../../shared/kafka/port';
import { createDedupWindow, messageRef } from '../../../shared/model/dedup-window';
import { FORMAT_HEADER } from '../../../shared/model/record-format';
import { AppError } from '../../../shared/runtime/errors';
import { createLog } from '../../../shared/telemetry/log';
import { eventually } from '../../support/eventually';
import { aRecord } from '../../support/factories';

const END_MS = 1_700_000_000_000;
const MINUTE = 60_000;
const PER_READ = 100;

/** Partitions of `messages` with one message a second, the last one at END_MS. */
function aLog(messages: number, { partitions = 1 } = {}) {
  const timeOf = (offset: number) => END_MS - (messages - 1 - offset) * 1_000;
  const idOf = (offset: number) => `m${String(offset)}`;
  const record = (partition: number, offset: number) =>
    aRecord({
      partition,
      offset,
      timestampMs: timeOf(offset),
      headers: {
        format: FORMAT_HEADER,
        source: 's1',
        message: idOf(offset),
        'accepted-at': String(END_MS),
      },
    });
  const state: {
    isAway: boolean;
    isCutOff: (partition: number) => boolean;
    reads: ReadAt[];
    pass: () => Promise<void>;
  } = {
    isAway: false,
    isCutOff: () => false,
    reads: [],
    pass: () => Promise.resolve(),
  };
  const kafka: Pick<Kafka, 'read' | 'ranges' | 'committed'> = {
    async read(at) {
      state.reads.push(at);
      await state.pass();
      if (state.isAway || state.isCutOff(at.partition)) {
        throw new AppError('kafka_unavailable', 'away', true);
      }
      const next = Math.min(at.offset + PER_READ, messages);
      const records = Array.from({ length: next - at.offset }, (_, i) =>
        record(at.partition, at.offset + i),
      );
      return { records, next, end: messages, gone: false, era: '' };
    },
    ranges: (_, sinceMs = 0) =>
      Promise.resolve(
        Array.from({ length: partitions }, (_each, partition) => {
          const low = Array.from({ length: messages }, (_offset, i) => i).find(
            (offset) => timeOf(offset) >= sinceMs,
          );
          return { partition, low: low ?? messages, high: messages };
        }),
      ),
    committed: () => Promise.resolve([]),
  };
  const dedupWindow = createDedupWindow({ maxIds: 1e6 });
  const earlier = new EarlierMessages({ kafka, dedupWindow, log: createLog('router', 'silent') });
  earlier.onAssigned(new Set(Array.from({ length: partitions }, (_, partition) => partition)));
  return {
    state,
    earlier,
    dedupWindow,
    at: (offset: number, partition = 0) => earlier.before(record(partition, offset)),
    knows: (offset: number, partition = 0) =>
      dedupWindow.isDuplicate(messageRef('s1', idOf(offset), partition, 1e9), END_MS),
    until: (expected: string, offset: number, partition = 0) =>
      eventually(() => {
        const known = earlier.before(record(partition, offset));
        if (known !== expected) throw new Error(`${known}, not ${expected}`);
      }),
  };
}

test('a first message waits for the last minute before it, and not for the hour', async () => {
  const { state, at, knows, until } = aLog(20_000);
  let passed = 0;
  // The fourth read is the first of the rest.
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  state.pass = () => (++passed > 3 ? held : Promise.resolve());
  expect(at(19_999)).toBe('unread');
  await until('last_minute', 19_999);
  expect([19_998, 19_960, 19_940].map((offset) => knows(offset))).toEqual([true, true, true]);
  expect(knows(17_000)).toBe(false);
  expect(at(20_000)).toBe('last_minute');
  release();
  await until('all', 20_001);
  expect([19_000, 17_000, 16_400, 16_000].map((offset) => knows(offset))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test('newer messages are read before older ones', async () => {
  const { state, at, until } = aLog(4_000);
  at(3_999);
  await until('all', 3_999);
  const sections = state.reads.map(({ until: end }) => end!);
  expect(sections).toEqual(sections.toSorted((a, b) => b - a));
});

test('a partition without earlier messages does not wait', () => {
  const { state, at } = aLog(10);
  expect([at(0), at(1), at(2)]).toEqual(['all', 'all', 'all']);
  expect(state.reads).toEqual([]);
});

test('records that another owner had done are read back behind the first message', async () => {
  const { at, knows, until } = aLog(1_000);
  at(500);
  await until('all', 500);
  // 501 to 799 are not offered here.
  expect(at(800)).toBe('all');
  expect(knows(700)).toBe(true);
});

test('a gap that was not read back is read before the message behind it', async () => {
  const { at, knows, until } = aLog(16_000);
  at(2_000);
  await until('all', 2_000);
  expect(at(15_000)).toBe('unread');
  await until('all', 15_000);
  expect(knows(14_000)).toBe(true);
});

test.each([
  [
    'that left and came back',
    (earlier: EarlierMessages) => {
      earlier.onAssigned(new Set());
      earlier.onAssigned(new Set([0]));
    },
  ],
  ['of a lost session', (earlier: EarlierMessages) => earlier.onLost()],
])('a partition %s is read back again', async (_, leave) => {
  const { state, earlier, at, until } = aLog(1_000);
  at(500);
  await until('all', 500);
  const { length } = state.reads;
  leave(earlier);
  expect(at(501)).toBe('unread');
  await until('all', 501);
  expect(state.reads.length).toBeGreaterThan(length);
});

test('a partition that stays is not read back again', async () => {
  const { state, earlier, at, until } = aLog(1_000);
  at(500);
  await until('all', 500);
  const { length } = state.reads;
  earlier.onAssigned(new Set([0, 1]));
  expect([at(501), at(502)]).toEqual(['all', 'all']);
  expect(state.reads).toHaveLength(length);
});

test('every partition gets its last minute before any gets its hour', async () => {
  const partitions = 20;
  const { state, at, until } = aLog(10_000, { partitions });
  for (let partition = 0; partition < partitions; partition++) at(9_999, partition);
  for (let partition = 0; partition < partitions; partition++) {
    await until('all', 9_999, partition);
  }
  const firsts = state.reads.map(({ until: end }) => end === 10_000);
  expect(firsts.lastIndexOf(true)).toBeLessThan(firsts.indexOf(false));
});

test('a partition goes on after half a minute if Kafka cannot be read', () => {
  jest.useFakeTimers();
  try {
    const { state, at } = aLog(1_000);
    state.isAway = true;
    expect(at(500)).toBe('unread');
    jest.advanceTimersByTime(29_999);
    expect(at(500)).toBe('unread');
    jest.advanceTimersByTime(MINUTE);
    expect(at(500)).toBe('last_minute');
    state.isAway = false;
  } finally {
    jest.useRealTimers();
  }
});

test('what was fetched of a partition before it began anew is not remembered', async () => {
  const { state, earlier, at, knows } = aLog(1_000);
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  state.pass = () => held;
  at(999);
  await eventually(() => expect(state.reads).not.toEqual([]));
  earlier.forget(0);
  release();
  await new Promise((resolve) => void setImmediate(resolve));
  expect(knows(998)).toBe(false);
});

test('a partition does not wait for the read of another one that was cut off', async () => {
  const { state, earlier, at, knows, until } = aLog(1_000, { partitions: 2 });
  state.isCutOff = (partition) => partition === 0;
  at(999, 0);
  at(999, 1);
  await eventually(() => expect(state.reads.length).toBeGreaterThan(1));
  earlier.forget(0);
  await until('all', 999, 1);
  expect(knows(998, 1)).toBe(true);
});
