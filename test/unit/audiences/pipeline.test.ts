import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pipeline, type PipelineOptions } from '../../../services/audiences/pipeline';
import { Definitions, ofTrait } from '../../../services/audiences/definitions/compile';
import { brokerClock } from '../../../shared/kafka/broker-clock';
import { type ConsumeOptions, type InRecord } from '../../../shared/kafka/port';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { takeLock } from '../../../shared/runtime/data-dir';
import { createLog } from '../../../shared/telemetry/log';
import { encodeEvent } from '../../../services/audiences/repartition/event';
import { eventually } from '../../support/eventually';
import { aRecord } from '../../support/factories';
import { fakeConfig, fakeDeletions, recordingProducer } from '../../support/fakes';
import { memoryLog, NOTHING_CONSUMED } from '../../support/memory-log';
import { A_DEFINITION } from '../../support/profiles';
import { identify } from './engine-under-test';

test('the pipeline opens no store that another process uses, and names that one', async () => {
  const path = mkdtempSync(join(tmpdir(), 'waypost-stores-'));
  const other = takeLock(path);
  const options: PipelineOptions = {
    // Kafka must not be used: the folder is refused first.
    kafka: new Proxy({} as PipelineOptions['kafka'], {
      get: () => {
        throw new Error('Kafka was asked');
      },
    }),
    config: fakeConfig(),
    deletions: fakeDeletions(),
    path,
    definitions: () => {
      throw new Error('definitions were asked for');
    },
    log: createLog('test', 'silent'),
    onFatal: (error) => {
      throw error;
    },
  };
  try {
    await expect(Pipeline.open(options)).rejects.toMatchObject({
      code: 'cannot_start',
      message: expect.stringContaining(`pid ${String(process.pid)}`),
    });
  } finally {
    other.release();
    rmSync(path, { recursive: true });
  }
});

test('values are of the time on which processes agree, as deletions are', async () => {
  const agreedMs = 1_700_000_000_000;
  const clock = jest.spyOn(brokerClock, 'now').mockReturnValue(agreedMs);
  const path = mkdtempSync(join(tmpdir(), 'waypost-stores-'));
  const listeners: (ConsumeOptions['rebalanceListener'] | undefined)[] = [];
  const kafka = {
    committed: () => Promise.resolve([0]),
    ranges: () => Promise.resolve([{ partition: 0, low: 0, high: 0 }]),
    read: () => Promise.resolve({ records: [], next: 0, end: 0, gone: false }),
    producer: () => Promise.resolve(recordingProducer()),
    consume: ({ rebalanceListener }: ConsumeOptions) => {
      listeners.push(rebalanceListener);
      return Promise.resolve({ resume: () => undefined, stop: () => Promise.resolve() });
    },
  } as unknown as PipelineOptions['kafka'];
  const trait = ofTrait({ ...A_DEFINITION, id: 'trt_1', compute: 'count', event: 'Buy' });
  const definitions = new Definitions([trait]);
  const pipeline = await Pipeline.open({
    kafka,
    config: fakeConfig(),
    deletions: fakeDeletions(),
    path,
    definitions: () => definitions,
    log: createLog('test', 'silent'),
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    for (const listener of listeners) listener?.onAssigned(new Set([0]));
    const report = () => [...pipeline.processors][0]?.[1].report();
    await eventually(() =>
      expect(report()?.definitions.trt_1?.lastSync).toMatchObject({
        at: new Date(agreedMs).toISOString(),
      }),
    );
  } finally {
    await pipeline.close(4_000);
    clock.mockRestore();
    rmSync(path, { recursive: true });
  }
});

/** A pipeline whose consumer is played by the test. @param before awaited before each write */
async function playedPipeline(before: () => Promise<void> = () => Promise.resolve()) {
  const path = mkdtempSync(join(tmpdir(), 'waypost-stores-'));
  const memory = memoryLog();
  let groups: ConsumeOptions[] = [];
  const log = createLog('test', 'silent');
  const info = jest.spyOn(log, 'info');
  const pipeline = await Pipeline.open({
    kafka: {
      ...memory.kafka,
      producer: async (options) => {
        const producer = await memory.kafka.producer(options);
        return {
          ...producer,
          send: async (records) => {
            await before();
            await producer.send(records);
          },
        };
      },
      consume: (options) => {
        groups = [...groups, options];
        return Promise.resolve(NOTHING_CONSUMED);
      },
    },
    config: fakeConfig(),
    deletions: fakeDeletions(),
    path,
    definitions: () => new Definitions([]),
    log,
    onFatal: (error) => {
      throw error;
    },
  });
  const { rebalanceListener, onRecord, onRestart } = groups.find(({ topics }) =>
    topics.includes(PROFILE_EVENTS),
  )!;
  return {
    memory,
    listener: rebalanceListener!,
    onRestart: onRestart!,
    append: (users: string[]) =>
      memory.append(
        users.map((key) => ({
          topic: PROFILE_EVENTS,
          key,
          ...encodeEvent(identify({ plan: 'pro' })),
        })),
      ),
    offer: (from: number) => {
      for (const record of memory.records(PROFILE_EVENTS).slice(from)) onRecord(copyOf(record));
    },
    snapshot: () => [...pipeline.processors][0]?.[1].snapshot,
    /** how often a store was opened */
    openings: () =>
      info.mock.calls.filter((call) => (call as unknown[]).includes('profiles.restored')).length,
    close: async () => {
      await pipeline.close(4_000);
      rmSync(path, { recursive: true });
    },
  };
}

describe('what is left from a lost session, if another process had the partition since', () => {
  /**
   * Lets a process lose its session while it counts an event, with three events behind it. They are
   * cut off the log, another process goes on, and gives the partition back.
   */
  async function givenBack() {
    let unblocked = Promise.resolve();
    let waiting = 0;
    const played = await playedPipeline(async () => {
      waiting++;
      await unblocked;
      waiting--;
    });
    const { memory, listener, append, offer, snapshot } = played;
    listener.onAssigned(new Set([0]));
    await eventually(() => expect(snapshot()).toBeDefined());
    let unblock = (): void => undefined;
    unblocked = new Promise((resolve) => (unblock = resolve));
    append(['first']);
    offer(0);
    await eventually(() => expect(waiting).toBe(1));
    append(['cut-1', 'cut-2', 'cut-3']);
    offer(1);
    listener.onLost();
    unblock();
    await eventually(() => expect(listener.isDraining(0)).toBe(false));
    memory.cut(PROFILE_EVENTS, 1);
    append(['after']);
    listener.onAssigned(new Set([0]));
    return played;
  }

  const RESTART = { topic: PROFILE_EVENTS, partition: 0, from: 1, wasCut: false };

  test('it is dropped', async () => {
    const { onRestart, offer, snapshot, close } = await givenBack();
    try {
      onRestart(RESTART);
      offer(1);
      await eventually(() => expect(snapshot()?.store.get('after')).toBeDefined());
      expect(snapshot()?.next).toBe(2);
      expect(snapshot()?.store.get('cut-3')).toBeUndefined();
    } finally {
      await close();
    }
  });

  test('later events are counted, even if it was counted before that is known', async () => {
    const { onRestart, append, offer, snapshot, close } = await givenBack();
    try {
      await eventually(() => expect(snapshot()?.next).toBe(4));
      onRestart(RESTART);
      append(['later']);
      offer(1);
      await eventually(() => expect(snapshot()?.store.get('later')).toBeDefined());
    } finally {
      await close();
    }
  });
});

test('the store of a partition that another process had is opened once', async () => {
  const { listener, onRestart, append, offer, snapshot, openings, close } = await playedPipeline();
  try {
    listener.onAssigned(new Set([0]));
    await eventually(() => expect(snapshot()).toBeDefined());
    listener.onAssigned(new Set());
    await eventually(() => expect(listener.isDraining(0)).toBe(false));
    expect(openings()).toBe(1);

    append(['returned']);
    listener.onAssigned(new Set([0]));
    onRestart({ topic: PROFILE_EVENTS, partition: 0, from: 0, wasCut: false });
    offer(0);
    await eventually(() => expect(snapshot()?.store.get('returned')).toBeDefined());
    expect(openings()).toBe(2);

    // It is compared with the log again once that was cut.
    onRestart({ topic: PROFILE_EVENTS, partition: 0, from: 1, wasCut: true });
    await eventually(() => expect(openings()).toBe(3));
  } finally {
    await close();
  }
});

/** A record as the consumer offers it. */
function copyOf({ topic, offset, epoch, timestampMs, key, value, headers }: InRecord) {
  return aRecord({ topic, offset, epoch, timestampMs, key, value, headers });
}
