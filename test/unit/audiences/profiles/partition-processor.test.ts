import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Definitions } from '../../../../services/audiences/definitions/compile';
import { type PartitionProcessor } from '../../../../services/audiences/profiles/partition-processor';
import { encodeEvent, type ProfileEvent } from '../../../../services/audiences/repartition/event';
import { type InRecord, type OutRecord } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/runtime/errors';
import { eventually } from '../../../support/eventually';
import { aRecord } from '../../../support/factories';
import { identify } from '../engine-under-test';
import { PRO, processorUnderTest, SYNC_MS } from '../processor-under-test';

/** What a process says of users while it does not get the events of their partition. */

const NOW = 1_800_000_000_000;
const paths: string[] = [];
const processors: PartitionProcessor[] = [];
afterEach(async () => {
  for (const processor of processors.splice(0)) {
    processor.close({ lost: false });
    await processor.closed;
  }
  for (const path of paths.splice(0)) rmSync(path, { recursive: true });
});

/** A partition that has done its first sync. */
async function partitionUnderTest() {
  const path = mkdtempSync(join(tmpdir(), 'waypost-partition-'));
  paths.push(path);
  let nowMs = NOW;
  const log: InRecord[] = [];
  const told: { user: string | undefined; acceptedAt: number }[] = [];
  const changelog: InRecord[] = [];
  const logs: Record<string, InRecord[]> = { 'profiles.events': log, profiles: changelog };
  let isAway = false;
  const tryingKafka = {
    committed: () => Promise.resolve([0]),
    ranges: (topic: string) =>
      Promise.resolve([{ partition: 0, low: 0, high: logs[topic]?.length ?? 0 }]),
    read: ({ topic, offset }: { topic: string; offset: number }) => {
      if (isAway && topic === 'profiles.events') {
        return Promise.reject(new AppError('kafka_unavailable', 'no leader', true));
      }
      const records = logs[topic]?.slice(offset) ?? [];
      const end = logs[topic]?.length ?? 0;
      return Promise.resolve({ records, next: offset + records.length, end, gone: false, era: '' });
    },
  };
  const send = (records: OutRecord[]) => {
    for (const { topic, key, value, headers = {} } of records) {
      if (topic === 'profiles') {
        const bytes = { key: Buffer.from(key!), value: value === null ? null : Buffer.from(value) };
        changelog.push(aRecord({ topic, offset: changelog.length, headers, ...bytes }));
      }
      if (topic !== 'messages') continue;
      const { userId } = JSON.parse(String(value)) as { userId?: string };
      told.push({ user: userId, acceptedAt: Number(headers['accepted-at']) });
    }
    return Promise.resolve();
  };
  const processor = processorUnderTest({
    kafka: tryingKafka,
    tryingKafka,
    producer: { send, close: () => Promise.resolve() } as never,
    path,
    definitions: () => definitions,
    now: () => nowMs,
  });
  const definitions = new Definitions([PRO]);
  processors.push(processor);
  const append = (user: string, event: ProfileEvent | 'unreadable') => {
    const encoded = event === 'unreadable' ? { value: '{', headers: {} } : encodeEvent(event);
    const record = aRecord({
      topic: 'profiles.events',
      offset: log.length,
      timestampMs: nowMs,
      key: Buffer.from(user),
      value: Buffer.from(encoded.value),
      headers: encoded.headers,
    });
    log.push(record);
    return record;
  };
  const read = async (...records: ReturnType<typeof append>[]) => {
    for (const record of records) {
      await eventually(() => expect(processor.offer(record)).toBe('accepted'));
    }
    await eventually(() => expect(processor.queued).toBe(0));
  };
  await eventually(() =>
    expect(processor.report()?.definitions.aud_pro?.lastSync).toMatchObject({ looked: 0 }),
  );
  const passes = (ms: number) => void (nowMs += ms);
  const leaderGoes = () => void (isAway = true);
  return { append, read, passes, told, leaderGoes, processor };
}

const pro = identify({ plan: 'pro' });

test('a value is as new as the sync, if all events are read', async () => {
  const { append, read, passes, told } = await partitionUnderTest();
  await read(append('kim', pro));
  passes(SYNC_MS);
  await eventually(() => expect(told).toEqual([{ user: 'kim', acceptedAt: NOW + SYNC_MS }]));
});

test('a value is no newer than what was read, if an event is not', async () => {
  const { append, read, passes, told } = await partitionUnderTest();
  await read(append('kim', pro));
  passes(1_000);
  append('kim', { kind: 'delete', at: NOW + 1_000, sources: null });
  passes(SYNC_MS);
  await eventually(() => expect(told).toEqual([{ user: 'kim', acceptedAt: NOW }]));
});

test('an event that cannot be read is no reason to doubt', async () => {
  const { append, read, passes, told } = await partitionUnderTest();
  await read(append('kim', pro), append('kim', 'unreadable'));
  passes(SYNC_MS);
  await eventually(() => expect(told).toEqual([{ user: 'kim', acceptedAt: NOW + SYNC_MS }]));
});

test('while its log cannot be read, a partition tells what was read, and closes', async () => {
  const { append, read, passes, told, leaderGoes, processor } = await partitionUnderTest();
  await read(append('kim', pro));
  leaderGoes();
  passes(SYNC_MS);
  await eventually(() => expect(told).toEqual([{ user: 'kim', acceptedAt: NOW }]));
  processor.close({ lost: false });
  await processor.closed;
});
