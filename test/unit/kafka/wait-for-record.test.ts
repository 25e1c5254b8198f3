import pino from 'pino';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';
import { type Kafka, type TailOptions } from '../../../shared/kafka/port';
import { memoryLog } from '../../support/memory-log';

/** A waiter follows its topic while callers wait, and shortly after. */

beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] }));
afterEach(() => jest.useRealTimers());

const log = pino({ level: 'silent' });
const WITHIN_MS = 3_000;

function waiterUnderTest() {
  const memory = memoryLog();
  const tails = { asked: 0, opened: 0, open: 0 };
  let away = false;
  /** while it is pending, a partition has no leader */
  let leader: Promise<void> | undefined;
  const kafka: Pick<Kafka, 'tail'> = {
    tail: async (options: TailOptions) => {
      if (away) throw new Error('connect ECONNREFUSED');
      tails.asked++;
      await leader;
      const tail = await memory.kafka.tail(options);
      tails.opened++;
      tails.open++;
      return {
        ...tail,
        stop: () => {
          tails.open--;
          return tail.stop();
        },
      };
    },
  };
  const append = (key: string, value: string) => memory.append([{ topic: 'attempts', key, value }]);
  return {
    listening: new RecordWaiter('attempts', kafka, log, WITHIN_MS),
    append,
    tails,
    setAway: (now: boolean) => (away = now),
    /** Takes the leader of a partition away. @returns how the wait for it ends */
    loseLeader: () => {
      let end: (error?: Error) => void = () => undefined;
      leader = new Promise(
        (resolve, reject) => (end = (error) => (error ? reject(error) : resolve())),
      );
      leader.catch(() => (leader = undefined));
      return { found: () => end(), missing: () => end(new Error('no leader')) };
    },
  };
}

/** Lets the memory log deliver records, on the timers that are not faked. */
async function delivered(expectation: () => void): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  expectation();
}

test('each waiting caller gets the records of its key that are appended from now on', async () => {
  const { listening, append, tails } = waiterUnderTest();
  append('a', 'before');
  const heard: string[] = [];
  await listening.begin('a', (value) => heard.push(`a ${value.toString()}`));
  await listening.begin('b', (value) => heard.push(`b ${value.toString()}`));
  append('a', 'one');
  append('c', 'without a caller');
  append('b', 'two');
  await delivered(() => expect(heard).toEqual(['a one', 'b two']));
  listening.end('a');
  append('a', 'after');
  append('b', 'three');
  await delivered(() => expect(heard).toEqual(['a one', 'b two', 'b three']));
  await listening.stop();
  expect([tails, listening.size]).toEqual([{ asked: 1, opened: 1, open: 0 }, 0]);
});

test('reading ends ten seconds after the last caller, with one reader until then', async () => {
  const { listening, tails } = waiterUnderTest();
  await listening.begin('a', () => undefined);
  listening.end('a');
  await jest.advanceTimersByTimeAsync(9_000);
  await listening.begin('b', () => undefined);
  await jest.advanceTimersByTimeAsync(60_000);
  listening.end('b');
  await jest.advanceTimersByTimeAsync(9_000);
  expect(tails).toEqual({ asked: 1, opened: 1, open: 1 });
  await jest.advanceTimersByTimeAsync(1_000);
  expect(tails).toEqual({ asked: 1, opened: 1, open: 0 });
});

test('a waiter can be used again after it has stopped', async () => {
  const { listening, append } = waiterUnderTest();
  await listening.begin('a', () => undefined);
  await listening.stop();
  append('a', 'unheard');
  const heard: string[] = [];
  await listening.begin('a', (value) => heard.push(value.toString()));
  append('a', 'heard');
  await delivered(() => expect(heard).toEqual(['heard']));
  await listening.stop();
});

test('a wait fails immediately if it cannot start, and the next one starts', async () => {
  const { listening, append, setAway } = waiterUnderTest();
  setAway(true);
  await expect(listening.begin('a', () => undefined)).rejects.toMatchObject({
    code: 'kafka_unavailable',
  });
  expect(listening.size).toBe(0);
  setAway(false);
  const heard: string[] = [];
  await listening.begin('a', (value) => heard.push(value.toString()));
  append('a', 'heard');
  await delivered(() => expect(heard).toEqual(['heard']));
  await listening.stop();
});

/** Begins a wait that must fail at its deadline. */
async function timesOut(listening: RecordWaiter, key: string): Promise<void> {
  const failed = expect(listening.begin(key, () => undefined)).rejects.toMatchObject({
    code: 'kafka_unavailable',
  });
  await jest.advanceTimersByTimeAsync(WITHIN_MS);
  await failed;
}

describe('while a partition of the topic has no leader', () => {
  test('a wait fails at its deadline, and the reader serves later ones with a leader', async () => {
    const { listening, tails, loseLeader } = waiterUnderTest();
    const leader = loseLeader();
    await timesOut(listening, 'a');
    expect(listening.size).toBe(0);
    const begun = listening.begin('b', () => undefined);
    leader.found();
    await begun;
    expect(tails).toEqual({ asked: 1, opened: 1, open: 1 });
    await listening.stop();
  });

  test('a reader that starts after its last caller has gone is stopped', async () => {
    const { listening, tails, loseLeader } = waiterUnderTest();
    const leader = loseLeader();
    await timesOut(listening, 'a');
    await jest.advanceTimersByTimeAsync(20_000);
    leader.found();
    await delivered(() => expect(tails).toEqual({ asked: 1, opened: 1, open: 0 }));
  });

  test("a reader that fails after its caller's deadline is opened again for the next", async () => {
    const { listening, tails, loseLeader } = waiterUnderTest();
    const leader = loseLeader();
    await timesOut(listening, 'a');
    leader.missing();
    await delivered(() => expect(tails.open).toBe(0));
    await listening.begin('b', () => undefined);
    expect(tails).toEqual({ asked: 2, opened: 1, open: 1 });
    await listening.stop();
  });

  test('a stop does not wait for a reader that cannot start', async () => {
    const { listening, loseLeader } = waiterUnderTest();
    loseLeader();
    await timesOut(listening, 'a');
    const stopped = listening.stop();
    await jest.advanceTimersByTimeAsync(2_000);
    await stopped;
  });
});
