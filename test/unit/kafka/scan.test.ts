import pino from 'pino';
import { type InRecord, type Kafka, type ReadAt } from '../../../shared/kafka/port';
import {
  goOnBehind,
  rangeOf,
  recordAt,
  retryingReads,
  scan,
  scanAll,
} from '../../../shared/kafka/scan';
import { AppError } from '../../../shared/runtime/errors';

/** Scans of a log behind the port. Throttled and lagging brokers: reader.test.ts. */

/** A partition 3 with records at some offsets, which are returned two at a time. */
function logOf({ low = 0, offsets }: { low?: number; offsets: number[] }) {
  const asked: ReadAt[] = [];
  const high = offsets.at(-1)! + 1;
  const kafka: Pick<Kafka, 'read' | 'ranges'> = {
    ranges: () => Promise.resolve([2, 3].map((partition) => ({ partition, low, high }))),
    read: (at) => {
      asked.push(at);
      if (at.offset < low || at.offset > high) {
        return Promise.resolve({ records: [], next: at.offset, end: high, gone: true, era: '' });
      }
      const records = offsets.filter((offset) => offset >= at.offset).slice(0, 2);
      const next = (records.at(-1) ?? high - 1) + 1;
      return Promise.resolve({
        records: records.map((offset) => ({ offset }) as InRecord),
        next,
        end: high,
        gone: false,
        era: '',
      });
    },
  };
  return { kafka, asked };
}

const PLACE = { topic: 't', partition: 3 };

async function scanned(kafka: Pick<Kafka, 'read' | 'ranges'>, from: number, to: number) {
  const pieces: [offsets: number[], next: number, gone: boolean][] = [];
  for await (const { records, next, gone } of scan(kafka, { ...PLACE, from, to })) {
    pieces.push([records.map(({ offset }) => offset), next, gone]);
  }
  return pieces;
}

test.each<
  [
    string,
    { low?: number; offsets: number[] },
    [number, number],
    Awaited<ReturnType<typeof scanned>>,
  ]
>([
  ['nothing from an empty range', { offsets: [0, 1] }, [1, 1], []],
  [
    'all records before the end, fetch by fetch',
    { offsets: [0, 1, 4, 6] },
    [0, 7],
    [
      [[0, 1], 2, false],
      [[4, 6], 7, false],
    ],
  ],
  [
    'no record at its end or after it',
    { offsets: [0, 1, 2, 3] },
    [0, 3],
    [
      [[0, 1], 2, false],
      [[2], 3, false],
    ],
  ],
  [
    'on after deleted records, and reports their loss',
    { low: 5, offsets: [5, 6] },
    [0, 7],
    [
      [[], 5, true],
      [[5, 6], 7, false],
    ],
  ],
  [
    'nothing from a range that was deleted, and reports the loss',
    { low: 9, offsets: [9] },
    [0, 7],
    [[[], 7, true]],
  ],
  [
    'nothing after the end of a truncated log, and reports the loss',
    { offsets: [0, 1] },
    [4, 7],
    [[[], 7, true]],
  ],
])('a scan reads %s', async (_, log, [from, to], pieces) => {
  expect(await scanned(logOf(log).kafka, from, to)).toEqual(pieces);
});

test('a scan reads eight partitions a round, within 1 MiB, and then the others', async () => {
  const { kafka, asked } = logOf({ offsets: [0, 1, 2] });
  const sections = Array.from({ length: 10 }, (_, partition) => ({
    topic: 't',
    partition,
    from: 0,
    to: 3,
  }));
  for await (const piece of scanAll(kafka, sections)) {
    if (piece.next === 3 && piece.partition === 5) break;
  }
  expect(asked.map(({ partition, offset }) => `${partition}/${offset}`).join(' ')).toBe(
    '0/0 1/0 2/0 3/0 4/0 5/0 6/0 7/0 8/0 9/0 0/2 1/2 2/2 3/2 4/2 5/2',
  );
  expect(asked.every(({ maxBytes }) => maxBytes === 128 * 1024)).toBe(true);
});

test('a scan names its end in each read, so that no empty response counts as the end', async () => {
  const { kafka, asked } = logOf({ offsets: [0, 1, 4, 6] });
  await scanned(kafka, 0, 7);
  expect(asked.map(({ offset, until }) => [offset, until])).toEqual([
    [0, 7],
    [2, 7],
  ]);
});

test('a caller that has found its record ends the scan', async () => {
  const { kafka, asked } = logOf({ offsets: [0, 1, 2, 3, 4, 5] });
  for await (const { records } of scan(kafka, { ...PLACE, from: 0, to: 6 })) {
    if (records.some(({ offset }) => offset === 2)) break;
  }
  expect(asked).toHaveLength(2);
});

test('the record at an offset is that one, or the next if compaction removed it', async () => {
  const { kafka } = logOf({ offsets: [0, 1, 4, 6] });
  expect(await recordAt(kafka, { ...PLACE, offset: 1 })).toMatchObject({ offset: 1 });
  expect(await recordAt(kafka, { ...PLACE, offset: 2 })).toMatchObject({ offset: 4 });
});

test('the range of a partition that a topic does not have is unknown', async () => {
  const { kafka } = logOf({ low: 4, offsets: [4, 6] });
  expect(await rangeOf(kafka, PLACE)).toEqual({ partition: 3, low: 4, high: 7 });
  expect(await rangeOf(kafka, { topic: 't', partition: 9 })).toBeUndefined();
});

test('a scan fails at an empty response below its end, instead of repeating it', async () => {
  const { kafka } = logOf({ offsets: [0, 1] });
  kafka.read = ({ offset }) =>
    Promise.resolve({ records: [], next: offset, end: offset, gone: false, era: '' });
  await expect(scanned(kafka, 0, 2)).rejects.toMatchObject({ code: 'kafka_unavailable' });
});

const away = new AppError(
  'kafka_unavailable',
  'Kafka could not be read (connect ECONNREFUSED)',
  true,
);

function retried(answers: (Error | number[])[]) {
  const lines: unknown[] = [];
  const log = pino({}, { write: (line) => lines.push(JSON.parse(line)) });
  const committed = jest.fn(() => {
    const answer = answers.shift() ?? [];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  });
  const unused = () => Promise.reject(new Error('not asked for'));
  return {
    kafka: retryingReads({ committed, read: unused, ranges: unused }, log, 1),
    committed,
    lines,
  };
}

test('a read is retried until the broker is back, and the outage is logged once', async () => {
  const { kafka, committed, lines } = retried([away, away, away, [7]]);
  expect(await kafka.committed('audiences', 'messages')).toEqual([7]);
  expect(committed).toHaveBeenCalledTimes(4);
  expect(lines).toEqual([
    expect.objectContaining({ msg: 'kafka.unavailable', reason: away.message }),
  ]);
});

test('an error that is not retriable is rethrown', async () => {
  const { kafka, committed } = retried([new Error('topic profiles has no partition 3'), [7]]);
  await expect(kafka.committed('audiences', 'messages')).rejects.toThrow('no partition 3');
  expect(committed).toHaveBeenCalledTimes(1);
});

/** A record of a log: its offset, the epoch of its leader, and when it was appended. */
type Appended = [offset: number, epoch: number, timestampMs: number];
const appended = (from: number, to: number, epoch: number, at = epoch * 1_000): Appended[] =>
  Array.from({ length: to - from }, (_, i) => [from + i, epoch, at + i]);

describe('a reader goes on behind the last record that it read', () => {
  /** The first leader appended it. */
  const LAST = [99, 1, 1_099] as const;

  test.each<[string, Appended[], { next: number; cut: number }]>([
    ['if the log goes on there', appended(0, 120, 1), { next: 100, cut: 0 }],
    ['if nothing follows', appended(0, 100, 1), { next: 100, cut: 0 }],
    ['if retention has deleted it', appended(150, 160, 1), { next: 150, cut: 0 }],
    [
      'if compaction has removed it',
      [...appended(0, 60, 1), ...appended(110, 120, 2)],
      { next: 100, cut: 0 },
    ],
    ['or where the log was cut', appended(0, 60, 1), { next: 60, cut: 40 }],
    ['or at the start of a topic without a record', [], { next: 0, cut: 100 }],
    [
      'or at the first record since a cut',
      [...appended(0, 60, 1), ...appended(60, 80, 2)],
      { next: 60, cut: 40 },
    ],
    [
      'or there, if the log has grown beyond it',
      [...appended(0, 60, 1), ...appended(60, 300, 2)],
      { next: 60, cut: 40 },
    ],
    [
      'or there, if the clock of the new leader is behind',
      [...appended(0, 60, 1), ...appended(60, 300, 2, 500)],
      { next: 60, cut: 40 },
    ],
    [
      'or there, if the same epoch came again with a restored copy',
      [...appended(0, 60, 1), ...appended(60, 300, 1, 5_000)],
      { next: 60, cut: 40 },
    ],
    ['or at the start of a topic made again', appended(0, 300, 0, 5_000), { next: 0, cut: 100 }],
    [
      'or at the first record that is left of a topic made again',
      appended(50, 300, 0, 5_000),
      { next: 50, cut: 50 },
    ],
    [
      'or at what compaction has left since a cut',
      [...appended(0, 60, 1), ...appended(70, 75, 2), ...appended(200, 210, 2, 3_000)],
      { next: 70, cut: 30 },
    ],
    ['or nowhere before the end of the last record', appended(0, 99, 1), { next: 99, cut: 1 }],
  ])('%s', async (_, log, expected) => {
    expect(await goOnBehind(kafkaWith(log), PLACE, LAST)).toEqual(expected);
  });

  test('and finds the place in few reads', async () => {
    let reads = 0;
    const kafka = kafkaWith([...appended(0, 60_000, 1, 0), ...appended(60_000, 200_000, 2, 9e9)]);
    const counting: typeof kafka = {
      ...kafka,
      read: (at) => {
        reads++;
        return kafka.read(at);
      },
    };
    const last = [99_999, 1, 99_999] as const;
    expect(await goOnBehind(counting, PLACE, last)).toEqual({ next: 60_000, cut: 40_000 });
    expect(reads).toBeLessThan(25);
  });
});

/** A log that returns one record at a time. */
function kafkaWith(log: readonly Appended[]): Pick<Kafka, 'read' | 'ranges'> {
  const low = log[0]?.[0] ?? 0;
  const high = (log.at(-1)?.[0] ?? -1) + 1;
  return {
    ranges: () => Promise.resolve([{ partition: PLACE.partition, low, high }]),
    read: ({ offset, until = 0 }) => {
      const isGone = offset < low || offset > high;
      // As the port does: it never takes an empty answer below a known end for the end.
      if (!isGone && offset === high && until > offset) return Promise.reject(new Error('not yet'));
      const found = isGone ? undefined : log.find(([at]) => at >= offset);
      const records = found
        ? [{ offset: found[0], epoch: found[1], timestampMs: found[2] } as InRecord]
        : [];
      const next = found ? found[0] + 1 : offset;
      return Promise.resolve({ records, next, end: high, gone: isGone, era: '' });
    },
  };
}
