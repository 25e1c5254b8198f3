import pino from 'pino';
import { type Database } from '../../../../services/control/history/database';
import { listSyncs } from '../../../../services/control/history/syncs';
import { ProfileStatus } from '../../../../services/control/audiences/status';
import { SyncLog } from '../../../../services/control/audiences/sync-log';
import { type ConfigView } from '../../../../shared/config/types';
import { type StatusValue } from '../../../../shared/model/profile-records';
import { Problem } from '../../../../services/control/http/problem';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import { memoryLog, type MemoryLog } from '../../../support/memory-log';

/** Tests sync reports from the topic to the table, with a control that is restarted. */

const NOW = 1_700_000_040_000;
const PARTITIONS = 3;
let database: Database;
let away = false;
let stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(() => database.query('delete from waypost.syncs'));
afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

const audience = { id: 'aud_1', revision: 2, syncEveryMs: 60_000 };
const config = {
  audience: (id: string) => (id === audience.id ? { version: 1, data: audience } : undefined),
  computedTrait: () => undefined,
} as unknown as Pick<ConfigView, 'audience' | 'computedTrait'>;

async function control({ kafka }: MemoryLog): Promise<SyncLog> {
  const ask = <T>(work: (database: Database) => Promise<T>) =>
    away ? Promise.reject(new Problem('unavailable', 'away')) : work(database);
  const status: ProfileStatus = new ProfileStatus((value) => syncs.add(value));
  const syncs = new SyncLog({
    history: { ask },
    config,
    now: () => NOW,
    log: pino({ level: 'silent' }),
    status: (definition, counted) => status.of(definition, counted),
    isCaughtUp: () => status.caughtUp,
  });
  await status.open(kafka, (error) => {
    throw error;
  });
  await eventually(() => expect(status.caughtUp).toBe(true));
  stops.push(() => status.stop());
  return syncs;
}

const said = (partition: number, syncAt: number, over: Partial<StatusValue> = {}) => {
  const value: StatusValue = {
    definition: 'aud_1',
    partition,
    partitions: PARTITIONS,
    term: 1,
    at: new Date(syncAt + 1_000).toISOString(),
    revision: 2,
    phase: 'live',
    profiles: 10,
    full: 0,
    counted: 10,
    members: 2,
    told: 5,
    waiting: 1,
    upload: 0,
    lastSync: { at: new Date(syncAt).toISOString(), looked: 4, told: 1 },
    ...over,
  };
  return { topic: 'profiles.status', key: `aud_1/${partition}`, value: JSON.stringify(value) };
};
const rows = async () => (await listSyncs(database, 'aud_1', { limit: 9 })).rows;
const summed = { members: 6, looked: 12, changed: 3, sent: 12, waiting: 3 };

test('a sync is summed over all partitions once, also when it is read again', async () => {
  const memory = memoryLog();
  const first = await control(memory);
  memory.append([0, 1, 2].map((partition) => said(partition, NOW + partition)));
  // The same sync again, after Kafka has acknowledged its calls.
  memory.append([said(0, NOW, { waiting: 0, at: new Date(NOW + 3_000).toISOString() })]);
  await eventually(async () => {
    await first.write();
    expect(await rows()).toEqual([{ bucket: NOW, at: NOW + 2, ...summed, sent: 13, waiting: 2 }]);
  });
  await (await control(memory)).write();
  expect(await rows()).toHaveLength(1);
  expect((await rows())[0]).toMatchObject({ looked: 12, changed: 3, members: 6 });
});

test('a log after compaction does not reduce the stored figures', async () => {
  const before = memoryLog();
  before.append([0, 1, 2].map((partition) => said(partition, NOW)));
  await (await control(before)).write();
  const after = memoryLog();
  after.append([said(0, NOW + 60_000), said(1, NOW + 60_000), said(2, NOW)]);
  const syncs = await control(after);
  await syncs.write();
  const looked = async () => (await rows()).map((row) => [row.bucket - NOW, row.looked]);
  // When the later sync was read, not all partitions had reported yet, so its size would be too
  // small.
  expect(await looked()).toEqual([[0, 12]]);
  after.append([said(2, NOW + 60_000)]);
  await eventually(async () => {
    await syncs.write();
    expect(await looked()).toEqual([
      [60_000, 12],
      [0, 12],
    ]);
  });
});

test('what a process that ended did not report counts for the next sync', async () => {
  const memory = memoryLog();
  const syncs = await control(memory);
  memory.append([0, 1, 2].map((partition) => said(partition, NOW)));
  // The second process has reported one call, and the first one had sent three more.
  const total = { told: 9, waiting: 0 };
  memory.append([0, 1, 2].map((partition) => said(partition, NOW + 60_000, total)));
  await eventually(async () => {
    await syncs.write();
    expect(await rows()).toMatchObject([
      { changed: 12, sent: 27, waiting: 0 },
      { changed: 3, sent: 12, waiting: 3 },
    ]);
  });
});

test('other revisions, deleted definitions and thinned steps are left out', async () => {
  const memory = memoryLog();
  const day = 25 * 3_600_000;
  memory.append([
    said(0, NOW, { revision: 1 }),
    said(0, NOW, { definition: 'aud_2' }),
    said(0, NOW - day),
    said(0, NOW, { lastSync: null }),
  ]);
  await (await control(memory)).write();
  expect(await rows()).toEqual([]);
});

test('syncs wait while the database is away', async () => {
  const memory = memoryLog();
  away = true;
  memory.append(Array.from({ length: PARTITIONS }, (_, partition) => said(partition, NOW)));
  const syncs = await control(memory);
  await syncs.write();
  away = false;
  expect(await rows()).toEqual([]);
  await syncs.write();
  expect(await rows()).toMatchObject([summed]);
});

test('a former owner that was frozen changes no status of its successor', async () => {
  const memory = memoryLog();
  const status = new ProfileStatus();
  await status.open(memory.kafka, (error) => {
    throw error;
  });
  stops.push(() => status.stop());
  memory.append([
    said(0, NOW, { term: 2, members: 7 }),
    said(0, NOW, { term: 1, members: 3 }),
    said(1, NOW, { members: 4 }),
  ]);
  await eventually(() =>
    expect(status.of('aud_1', { revision: 2 })).toMatchObject({ partitions: 2, members: 11 }),
  );
});

test('an audience is live once all partitions reported and applied the last upload', async () => {
  const memory = memoryLog();
  const status = new ProfileStatus();
  await status.open(memory.kafka, (error) => {
    throw error;
  });
  stops.push(() => status.stop());
  const of = () =>
    status.of('aud_1', { revision: 2, upload: { number: 7, full: true, lines: 300 } });
  const report = (partition: number, upload: number) =>
    memory.append([said(partition, NOW, { upload })]);
  report(0, 7);
  report(1, 7);
  await eventually(() => expect(of()).toMatchObject({ partitions: 2, phase: 'first_sync' }));
  expect(of().upload).toBe(0);
  report(2, 6);
  await eventually(() => expect(of()).toMatchObject({ phase: 'first_sync', upload: 6 }));
  report(2, 7);
  await eventually(() => expect(of()).toMatchObject({ phase: 'live', upload: 7 }));
});
