import { openDeletions } from '../../../shared/deletions/reader';
import { type TailOptions } from '../../../shared/kafka/port';
import {
  type DeletionRecord,
  DELETIONS_KEPT_MS,
  encodeDeletion,
} from '../../../shared/model/deletion';
import { createLog } from '../../../shared/telemetry/log';

/** What a process knows of the deletions, and since when it knows them all. */

const NOW = 1_800_000_000_000;
const CALL = { userId: 'kim', sourceId: 'src_a', acceptedAt: NOW - 1 };
const KIM: DeletionRecord = { userId: 'kim', at: NOW, sources: null };

beforeEach(() => jest.useFakeTimers({ doNotFake: ['queueMicrotask'] }));
afterEach(() => jest.useRealTimers());

/** A reader of `deletions`; the test says what it reads and proves. */
async function readerUnderTest() {
  let options: TailOptions | undefined;
  let completeAt = performance.now();
  let sleptMs = 0;
  let offset = 0;
  const asked: number[] = [];
  const failures: unknown[] = [];
  const kafka = {
    tail: (given: TailOptions) => {
      options = given;
      return Promise.resolve({
        caughtUp: () => Promise.resolve(),
        get completeAt() {
          return completeAt;
        },
        expectSoon: () => asked.push(performance.now()),
        stuck: () => undefined,
        stop: () => Promise.resolve(),
      });
    },
  };
  const deletions = await openDeletions(kafka, {
    name: 'test',
    log: createLog('test', 'silent'),
    onFatal: (error) => failures.push(error),
    steadyMs: () => performance.now() + sleptMs,
  });
  return {
    deletions,
    asked,
    failures,
    reads: (
      value: string,
      headers: Record<string, string> = encodeDeletion(KIM).headers,
      timestampMs = NOW,
    ) =>
      options?.onRecord({
        topic: 'deletions',
        partition: 0,
        offset: offset++,
        epoch: 0,
        key: Buffer.from('kim'),
        value: Buffer.from(value),
        headers,
        timestampMs,
      }),
    proves: (atMs = performance.now()) => {
      completeAt = atMs;
      options?.onComplete?.();
    },
    pass: (ms: number) => jest.advanceTimersByTime(ms),
    sleeps: (ms: number) => void (sleptMs += ms),
  };
}

test('a deletion counts as soon as it is read, and those who listen are told', async () => {
  const { deletions, reads } = await readerUnderTest();
  const heard: number[] = [];
  deletions.onDeletion(() => heard.push(deletions.changes));
  expect([deletions.covers(CALL), deletions.latestAt]).toEqual([false, 0]);
  reads(encodeDeletion(KIM).value);
  expect([deletions.covers(CALL), deletions.latestAt]).toEqual([true, NOW]);
  expect(deletions.deletedSources('kim', NOW - 1)).toBe('all');
  expect(heard).toEqual([1]);
});

test('a deletion that the process has learned elsewhere counts at once', async () => {
  const { deletions } = await readerUnderTest();
  deletions.add(KIM);
  expect(deletions.covers(CALL)).toBe(true);
});

test('an unreadable record is passed over, and one of a newer format is not', async () => {
  const { deletions, reads } = await readerUnderTest();
  reads('{');
  expect(() => reads(encodeDeletion(KIM).value, { format: '999' })).toThrow(/newer/);
  reads(encodeDeletion(KIM).value);
  expect(deletions.covers(CALL)).toBe(true);
});

test('a deletion is known until Kafka forgets it, whatever time another one has', async () => {
  const { deletions, reads } = await readerUnderTest();
  reads(encodeDeletion(KIM).value);
  const { value, headers } = encodeDeletion({ ...KIM, userId: 'lee', at: 2 * NOW });
  reads(value, headers);
  expect(deletions.covers(CALL)).toBe(true);
  reads(value, headers, NOW + DELETIONS_KEPT_MS + 1);
  expect(deletions.covers(CALL)).toBe(false);
});

test('the age counts from the last proof', async () => {
  const { deletions, proves, pass } = await readerUnderTest();
  pass(700);
  expect(deletions.ageMs).toBe(700);
  proves(performance.now() - 100);
  expect(deletions.ageMs).toBe(100);
});

test('a proof from before the machine slept proves nothing', async () => {
  const { deletions, proves, pass, sleeps } = await readerUnderTest();
  pass(100);
  proves();
  sleeps(90_000);
  pass(100);
  expect(deletions.ageMs).toBe(Infinity);
  // The answer to a request from before the sleep.
  proves(performance.now() - 50);
  expect(deletions.ageMs).toBe(Infinity);
  pass(50);
  proves();
  pass(20);
  expect(deletions.ageMs).toBe(20);
});

test('all is known when a proof began after the question', async () => {
  const { deletions, asked, proves, pass } = await readerUnderTest();
  pass(1_000);
  let isKnown = false;
  const known = deletions.known().then(() => (isKnown = true));
  expect(asked).toEqual([performance.now()]);
  proves(performance.now() - 1);
  await Promise.resolve();
  await Promise.resolve();
  expect([isKnown, asked.length]).toEqual([false, 2]);
  pass(100);
  proves();
  await known;
  expect(isKnown).toBe(true);
});
