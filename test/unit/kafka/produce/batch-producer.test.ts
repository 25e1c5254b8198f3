import { KafkaBatchProducer } from '../../../../shared/kafka/produce/batch-producer';
import { ByteWriter } from '../../../../shared/kafka/protocol/bytes';
import { writeProduce } from '../../../../shared/kafka/protocol/produce-request';
import { type BatchProducerOptions, type OutRecord } from '../../../../shared/kafka/port';
import { type RequestSender, TooLate } from '../../../../shared/kafka/client/request-sender';
import { type AppError } from '../../../../shared/runtime/errors';
import { createLog } from '../../../../shared/telemetry/log';

type Parts = Parameters<RequestSender['send']>[1];

const TOO_LARGE = 10;
const NOT_ENOUGH_REPLICAS = 19;
const OPTIONS: BatchProducerOptions = { maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' };

/**
 * Returns a producer for a topic `t` with two partitions, led by brokers 1 and 2. `answer` returns
 * the code of a partition.
 */
function start(
  options: Partial<BatchProducerOptions> = {},
  answer: (partition: number) => number = () => 0,
  answered: Promise<unknown> = Promise.resolve(),
) {
  const requests: Parts[] = [];
  const expiries: number[] = [];
  const fails: Error[] = [];
  const partitions = [1, 2].map((leader) => ({ leader, epoch: 0 }));
  const sender: RequestSender = {
    refresh: () => Promise.resolve(new Map([['t', { errorCode: 0, id: 'a', partitions }]])),
    send: async (_, parts, { before }) => {
      requests.push(parts);
      expiries.push(before);
      await answered;
      const error = fails.shift();
      if (error) throw error;
      return parts.map(({ partition }) => answer(partition));
    },
    disconnect: () => Promise.resolve(),
  };
  const log = createLog('test', 'silent');
  const producer = new KafkaBatchProducer(sender, { ...OPTIONS, ...options }, log);
  return { producer, requests, expiries, fails, log };
}

test('a request with ids of three-byte characters stays within the same size limit', async () => {
  const { producer, requests } = start();
  const id = '字'.repeat(250);
  const headers = { message: id, source: 'src_1' };
  const record: OutRecord = { topic: 't', key: id, value: '{}', headers, partition: 0 };
  await producer.send(Array.from({ length: 1_500 }, () => record));
  const sizes = requests.map((parts) => {
    const topicData = parts.map(({ topic, ...part }) => ({ topic, partitions: [part] }));
    const writer = new ByteWriter();
    writeProduce(writer, { acks: -1, timeout: 1, topicData }, 0);
    return writer.length;
  });
  expect(sizes.length).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThan(910_000);
  await producer.close(0);
});

test('a permanently refused record is logged once, and no partition as failing', async () => {
  const { producer, log } = start({}, () => TOO_LARGE);
  const [warn, error] = [jest.spyOn(log, 'warn'), jest.spyOn(log, 'error')];
  await expect(
    producer.send([{ topic: 't', key: null, value: 'a', partition: 0 }]),
  ).rejects.toThrow('TOO_LARGE');
  expect(error).toHaveBeenCalledTimes(1);
  expect(warn).not.toHaveBeenCalled();
  await producer.close(0);
});

test('a lingering record does not wait for the next try of another partition', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
  try {
    const { producer } = start({ lingerMs: 8 }, (partition) =>
      partition === 1 ? NOT_ENOUGH_REPLICAS : 0,
    );
    // Given a partition that has failed until its next try is nearly a second away.
    void producer.send([{ topic: 't', key: null, value: 'blocked', partition: 1 }]);
    await jest.advanceTimersByTimeAsync(2_000);
    const write = () => producer.send([{ topic: 't', key: null, value: 'a', partition: 0 }]);
    await write();
    // When another record comes while the healthy leader lingers, it is sent at the end of the
    // linger.
    let written = false;
    void write().then(() => (written = true));
    await jest.advanceTimersByTimeAsync(8);
    expect(written).toBe(true);
    void producer.close(0);
    await jest.advanceTimersByTimeAsync(1);
  } finally {
    jest.useRealTimers();
  }
});

test('a clock that is set back by an hour does not delay the delivery timeout', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
  try {
    const { producer } = start({ deliveryTimeoutMs: 4_000 }, () => NOT_ENOUGH_REPLICAS);
    let refused: unknown;
    producer
      .send([{ topic: 't', key: null, value: 'a', partition: 1 }])
      .catch((error: unknown) => (refused = error));
    jest.setSystemTime(Date.now() - 3_600_000);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(refused).toMatchObject({ code: 'kafka_unavailable' });
    void producer.close(0);
    await jest.advanceTimersByTimeAsync(1);
  } finally {
    jest.useRealTimers();
  }
});

test('a request is not written once the time of its oldest record is over', async () => {
  const { producer, expiries } = start({ deliveryTimeoutMs: 4_000 });
  const before = performance.now();
  await producer.send([{ topic: 't', key: null, value: 'a', partition: 0 }]);
  expect(expiries[0]).toBeGreaterThanOrEqual(before + 4_000);
  expect(expiries[0]).toBeLessThanOrEqual(performance.now() + 4_000);
  await producer.close(0);
});

test('a request whose time is over says nothing of its broker', async () => {
  const { producer, requests, log, fails } = start({ deliveryTimeoutMs: 4_000 });
  const warn = jest.spyOn(log, 'warn');
  fails.push(new TooLate('its time was over'));
  await producer.send([{ topic: 't', key: null, value: 'a', partition: 0 }]);
  expect(requests.map(([part]) => part?.partition)).toEqual([0, 0]);
  expect(warn).not.toHaveBeenCalled();
  await producer.close(0);
});

describe('a record that has become void while it waited', () => {
  /** Sends `first`, and behind it a record that becomes void before its first request ends. */
  async function setUp(fails: readonly Error[]) {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const set = start({}, () => 0, answered);
    set.fails.push(...fails);
    let isVoid = false;
    const send = (value: string, isVoidNow?: () => boolean) => {
      const record: OutRecord = { topic: 't', key: null, value, partition: 0 };
      if (isVoidNow) record.isVoid = isVoidNow;
      return set.producer.send([record]).then(
        () => 'written',
        (error: unknown) => (error as AppError).code,
      );
    };
    const first = send('first', () => isVoid);
    await new Promise(setImmediate);
    const others = [send('void', () => isVoid), send('other')];
    isVoid = true;
    answer();
    const results = await Promise.all([first, ...others]);
    await set.producer.close(0);
    const written = set.requests.map((parts) =>
      parts.flatMap(({ messages }) => messages.map(({ value }) => value)),
    );
    return { results, written, pendingBytes: set.producer.pendingBytes };
  }

  test('is not written', async () => {
    expect(await setUp([])).toEqual({
      results: ['written', 'withdrawn', 'written'],
      written: [['first'], ['other']],
      pendingBytes: 0,
    });
  });

  test('is written if a request without an answer may have written it', async () => {
    expect(await setUp([new Error('no answer')])).toEqual({
      results: ['written', 'withdrawn', 'written'],
      written: [['first'], ['first', 'other']],
      pendingBytes: 0,
    });
  });
});

test('a process that was stopped sends no records that are older than their timeout', async () => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
  try {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const { producer, requests } = start({ deliveryTimeoutMs: 4_000 }, () => 0, answered);
    const write = (value: string) =>
      producer.send([{ topic: 't', key: null, value, partition: 0 }]).then(
        () => 'written',
        (error: unknown) => (error as AppError).code,
      );
    // Given a record that waits for the answer to the one before it.
    const first = write('in flight');
    await jest.advanceTimersByTimeAsync(1);
    const second = write('waits');
    await jest.advanceTimersByTimeAsync(1);
    // When the process goes on after a minute, it reads that answer before any timer is due.
    const now = performance.now() + 60_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    answer();
    expect([await first, await second]).toEqual(['written', 'kafka_unavailable']);
    expect(requests).toHaveLength(1);
    void producer.close(0);
    await jest.advanceTimersByTimeAsync(1);
  } finally {
    jest.restoreAllMocks();
    jest.useRealTimers();
  }
});
