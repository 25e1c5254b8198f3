import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPglite } from '../../services/control/history/pglite';
import { type RunningControl, startControl } from '../support/start-control';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka } from '../../shared/kafka/port';
import { attemptsRecord, CONFIG } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { type Json } from '../../tools/harness/api';
import { eventually } from '../support/eventually';
import { anEvent } from '../support/events';
import { copyHistoryFiles } from '../support/history-files';
import { openProcesses, type Processes } from '../support/processes';

/** Services on a real Kafka that meet what an earlier build wrote, or a newer one. */

const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};
const TOKEN = 'integration-admin-token';
const WHAT_TO_DO =
  /run `waypost export` with that build, start this one with new data, and run `waypost import`/;

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-formats-'));
  folders.push(folder);
  copyHistoryFiles(folder);
  return folder;
}
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const controlEnv = (dataDir: string) => ({
  WAYPOST_DATA_DIR: dataDir,
  WAYPOST_HOST: '127.0.0.1',
  WAYPOST_ADMIN_TOKEN: TOKEN,
  WAYPOST_CONTROL_PORT: '0',
  WAYPOST_CONTROL_HEALTH_PORT: '0',
  WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
});
const kafkaEnv = (name: string) => ({
  KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
  WAYPOST_TOPIC_PREFIX: `${name}-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: '2',
  WAYPOST_REPLICATION: '1',
});

describe('config of an earlier build', () => {
  let processes: Processes;
  beforeAll(async () => {
    processes = await openProcesses({ prefix: 'earlier', partitions: 1, retryDelays: '10s' });
    Object.assign(processes.env, { WAYPOST_DATA_DIR: newFolder(), WAYPOST_ADMIN_TOKEN: TOKEN });
    // As the last build before the first release marked a new system.
    const at = '2026-11-21T08:00:00.000Z';
    const data = {
      id: 'record_format',
      name: 'Record format',
      format: 3,
      automatic: true,
      createdAt: at,
      updatedAt: at,
    };
    const entry = {
      format: 1,
      kind: 'record_format',
      id: 'record_format',
      version: 1,
      replaces: 0,
      at,
      data,
    };
    const key = 'record_format:record_format';
    await processes.producer.send([{ topic: CONFIG, key, value: JSON.stringify(entry) }]);
  });
  afterAll(() => processes.close());

  test.each(['ingest', 'router', 'delivery', 'audiences', 'control'] as const)(
    '%s does not start on it, and says what to do',
    async (name) => {
      const refused = await processes.start(name).catch((error: unknown) => String(error));
      expect(refused).toMatch(
        /An earlier build of Waypost wrote this data .*\(record_format:record_format\) of format 1/,
      );
      expect(refused).toMatch(WHAT_TO_DO);
    },
  );
});

test('control does not start on the history of an earlier build, and says what to do', async () => {
  const processes = await openProcesses({
    prefix: 'earlier-history',
    partitions: 1,
    retryDelays: '10s',
  });
  const dataDir = newFolder();
  const database = await openPglite(join(dataDir, 'history'));
  await database.query(`update waypost.meta set value = '20' where key = 'version'`);
  await database.close();
  Object.assign(processes.env, { WAYPOST_DATA_DIR: dataDir, WAYPOST_ADMIN_TOKEN: TOKEN });
  const refused = await processes.start('control').catch((error: unknown) => String(error));
  expect(refused).toMatch(/the history's database has tables of version 20/);
  expect(refused).toMatch(WHAT_TO_DO);
  await processes.close();
});

describe('attempts of a newer format', () => {
  const settings = loadSettings({ ...kafkaEnv('new-format'), ...controlEnv(newFolder()) });
  let control: RunningControl;
  let kafka: Kafka;
  beforeAll(async () => {
    control = await startControl(settings, log, onFatal);
    kafka = await connectKafka(settings, { clientId: 'test', log });
  });
  afterAll(async () => {
    await kafka.close();
    await control.stop(5_000);
  });

  test('wait with what follows in their partition for a newer control process', async () => {
    const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
    const now = new Date().toISOString();
    const attempt = (delivery: string, partition: number, headers = {}) => {
      const event = anEvent({ delivery, userId: 'kim', acceptedAt: now, at: now });
      const record = attemptsRecord(delivery, event);
      return { ...record, partition, headers: { ...record.headers, ...headers } };
    };
    await producer.send([
      attempt('a', 0),
      attempt('b', 0, { format: '9' }),
      attempt('c', 0),
      attempt('d', 1),
      attempt('e', 1),
    ]);
    await producer.close(1_000);
    const known = async () => {
      const address = `http://127.0.0.1:${String(control.port)}/api/v1/deliveries?user=kim`;
      const answer = await fetch(address, { headers: { authorization: `Bearer ${TOKEN}` } });
      return (((await answer.json()) as Json).data as { id: string }[]).map(({ id }) => id).sort();
    };
    await eventually(async () => expect(await known()).toEqual(['a', 'd', 'e']), {
      deadlineMs: 60_000,
    });
    await eventually(async () => {
      const ready = await fetch(`http://127.0.0.1:${String(control.healthPort)}/readyz`);
      expect([ready.status, JSON.stringify(await ready.json())]).toEqual([
        200,
        expect.stringMatching(
          /attempts holds a record \(partition 0, offset 1\) of format 9.*Upgrade/,
        ),
      ]);
    });
  });
});
