import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pipeline, type PipelineOptions } from '../../../services/audiences/pipeline';
import { Definitions, ofTrait } from '../../../services/audiences/definitions/compile';
import { brokerClock } from '../../../shared/kafka/broker-clock';
import { type ConsumeOptions } from '../../../shared/kafka/port';
import { takeLock } from '../../../shared/runtime/data-dir';
import { createLog } from '../../../shared/telemetry/log';
import { eventually } from '../../support/eventually';
import { fakeConfig, fakeDeletions, recordingProducer } from '../../support/fakes';
import { A_DEFINITION } from '../../support/profiles';

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
