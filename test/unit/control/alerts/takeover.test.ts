import pino from 'pino';
import { Alerts, type AlertsOptions } from '../../../../services/control/alerts/runner';
import { blankAlerts } from '../../../../services/control/alerts/settings';
import { listNotices } from '../../../../services/control/alerts/store';
import { openConfigEntries } from '../../../../services/control/config/config-entries';
import { storeEvidence } from '../../../../services/control/health/store';
import { type Database } from '../../../../services/control/history/database';
import { type ConfigReader } from '../../../../shared/config/types';
import { type ConfigWriter, type Write } from '../../../../shared/config/writer';
import { DEFAULT_ALERTS, ALERTS_ID, type Destination } from '../../../../shared/model/config';
import { AppError } from '../../../../shared/runtime/errors';
import { asShared, endLeases, freezer, memoryDatabase } from '../../../support/database';
import { START } from '../../../support/events';
import { aDestination } from '../../../support/factories';
import { recordingProducer } from '../../../support/fakes';

/**
 * A process that decides is frozen for longer than its lease, and another one takes over; and an
 * alert that Kafka refuses.
 */

let database: Database;

beforeAll(async () => {
  database = await memoryDatabase();
});

beforeEach(async () => {
  for (const table of ['notices', 'health', 'leases']) {
    await database.query(`delete from waypost.${table}`);
  }
});

afterAll(() => database.close());

interface Frozen {
  beforeTransaction?: () => Promise<void>;
  beforeWrite?: () => Promise<void>;
  /** with the answer of a question to the database */
  afterAnswer?: (answer: unknown) => Promise<void>;
}

/** ms of the monotonic clock of all processes */
let steadyMs = 0;

const FREEZE_MS = 300_000;

/** The destinations that all processes know, by id. */
type Known = Map<string, { version: number; data: Destination }>;

function knownOf(...destinations: Destination[]): Known {
  const alerts = { ...blankAlerts(new Date(START)) };
  alerts.alerts = { ...DEFAULT_ALERTS, email: ['ops@a.example'] };
  return new Map([alerts, ...destinations].map((data) => [data.id, { version: 1, data }]));
}

/** @param seconds when it decides, after START */
function aProcess(known: Known, seconds: number, frozen: Frozen = {}) {
  const shared = asShared(database, frozen.beforeTransaction);
  const config = {
    destination: (id: string) => known.get(id),
    list: () => [...known.values()].filter(({ data }) => data.id !== ALERTS_ID),
    refresh: () => Promise.resolve(),
  } as unknown as ConfigReader;
  const write = (_: string, id: string, data: Destination, { replaces }: { replaces: number }) => {
    if (known.get(id)?.version !== replaces) return Promise.resolve({ ok: false });
    known.set(id, { version: replaces + 1, data });
    return Promise.resolve({ ok: true, version: replaces + 1, data });
  };
  const writer = {
    inTurn: async <T>(work: (write: Write) => Promise<T>) => {
      await frozen.beforeWrite?.();
      return work(write as unknown as Write);
    },
  } as ConfigWriter;
  const producer = recordingProducer();
  const users = { full: 0 };
  const alerts = new Alerts({
    kafka: { ranges: () => Promise.resolve([]) },
    reader: { poll: () => Promise.resolve(0), hasRead: () => Promise.resolve(true) },
    isShared: () => true,
    producer,
    history: {
      ask: async (work) => {
        const answer = await work(shared);
        await frozen.afterAnswer?.(answer);
        return answer;
      },
      hasRead: () => Promise.resolve(false),
    },
    config,
    fullProfiles: () => users.full,
    entries: openConfigEntries(config, writer),
    encryptor: undefined as unknown as AlertsOptions['encryptor'],
    windowMs: 60_000,
    now: () => new Date(START + seconds * 1_000),
    steadyMs: () => steadyMs,
    log: pino({ level: 'silent' }),
  });
  return { alerts, users, producer };
}

/** Lets another process find the same profile that is full, 20 s later. */
async function takeOver(known: ReturnType<typeof knownOf>) {
  await endLeases(database);
  const second = aProcess(known, 20);
  second.users.full = 1;
  await second.alerts.poll();
  return second;
}

test('one that goes on before it stores its decision adds no second notice', async () => {
  const known = knownOf();
  const { freeze, frozen, thaw } = freezer();
  const first = aProcess(known, 0, { beforeTransaction: freeze });
  first.users.full = 1;
  const polled = first.alerts.poll();
  await frozen;
  await takeOver(known);
  thaw();
  await polled;
  expect((await listNotices(database, {}, { limit: 9 })).rows).toMatchObject([
    { kind: 'profile_full', at: START + 20_000 },
  ]);
});

test('one that goes on while it sends an alert leaves that of the end to its owner', async () => {
  const known = knownOf();
  const { freeze, frozen, thaw } = freezer();
  const first = aProcess(known, 0);
  first.users.full = 1;
  first.producer.behave = freeze;
  const polled = first.alerts.poll();
  await frozen;
  const second = await takeOver(known);
  second.users.full = 0;
  second.producer.behave = () => Promise.reject(new Error('Kafka is away'));
  await expect(second.alerts.poll()).rejects.toThrow('Kafka is away');
  thaw();
  await polled;
  second.producer.behave = () => Promise.resolve();
  await second.alerts.poll();
  // The trouble, its end that Kafka refused, and its end.
  expect(second.producer.appends).toHaveLength(3);
  expect((await listNotices(database, {}, { limit: 9 })).rows).toMatchObject([
    { endedAt: START + 20_000, alert: 'sent' },
  ]);
});

test('one that goes on before it switches off a destination keeps later changes', async () => {
  const failing = aDestination({ switchOffAfterMs: 1_000 });
  const known = knownOf(failing);
  const failed = { kind: 'failed', destination: 'dst_1', error: 'status 503' } as const;
  await storeEvidence(
    database,
    [-9_000, -5_000].map((ms) => ({ ...failed, at: START + ms, until: START + ms })),
  );
  const { freeze, frozen, thaw } = freezer();
  const first = aProcess(known, 0, { beforeWrite: freeze });
  const polled = first.alerts.poll();
  await frozen;
  // Another process has switched it off, and somebody on again.
  known.set('dst_1', { version: 3, data: { ...failing, name: 'Mended' } });
  thaw();
  await polled;
  expect(known.get('dst_1')).toMatchObject({ version: 3, data: { enabled: true } });
});

/** A destination that failed until five seconds before START. */
async function aFailingOne() {
  const failed = { kind: 'failed', destination: 'dst_1', error: 'status 503' } as const;
  await storeEvidence(
    database,
    [-900_000, -5_000].map((ms) => ({ ...failed, at: START + ms, until: START + ms })),
  );
  return aDestination({ switchOffAfterMs: 1_000 });
}

test('one that goes on minutes later raises nothing of what it had read', async () => {
  const known = knownOf(await aFailingOne());
  const { freeze, frozen, thaw } = freezer();
  const only = aProcess(known, 0, { beforeTransaction: freeze });
  const polled = only.alerts.poll();
  await frozen;
  steadyMs += FREEZE_MS;
  thaw();
  await polled;
  // Only now it reads that the destination recovered while it stood still.
  await storeEvidence(database, [{ kind: 'ok', destination: 'dst_1', at: START }]);
  await only.alerts.poll();
  expect((await listNotices(database, {}, { limit: 9 })).rows).toEqual([]);
  expect(known.get('dst_1')!.data.enabled).toBe(true);
});

test('one whose decisions always come too late to be stored is behind', async () => {
  const known = knownOf(await aFailingOne());
  const lateMs = 12_000;
  const beforeTransaction = () => {
    steadyMs += lateMs;
    return Promise.resolve();
  };
  const only = aProcess(known, 0, { beforeTransaction });
  for (const polls of [1, 2]) {
    await only.alerts.poll();
    expect(only.alerts.behindSeconds).toBe((polls * lateMs) / 1_000);
  }
  expect((await listNotices(database, {}, { limit: 9 })).rows).toEqual([]);
});

test('one that goes on minutes later switches nothing off, nor says so of who does', async () => {
  const failing = await aFailingOne();
  const known = knownOf(failing);
  const { freeze, frozen, thaw } = freezer();
  const only = aProcess(known, 0, { beforeWrite: freeze });
  const polled = only.alerts.poll();
  await frozen;
  steadyMs += FREEZE_MS;
  thaw();
  await polled;
  expect(known.get('dst_1')!.data.enabled).toBe(true);
  known.set('dst_1', { version: 2, data: { ...failing, enabled: false } });
  await only.alerts.poll();
  const { rows } = await listNotices(database, {}, { limit: 9 });
  expect(rows.map(({ kind }) => kind)).not.toContain('switched_off');
});

test('one that goes on minutes later sends no alert again, whose end was told', async () => {
  const known = knownOf();
  const { freeze, frozen, thaw } = freezer();
  const isDue = (answer: unknown) => Array.isArray(answer) && answer.length > 0;
  const first = aProcess(known, 0, {
    afterAnswer: (answer) => (isDue(answer) ? freeze() : Promise.resolve()),
  });
  first.users.full = 1;
  const polled = first.alerts.poll();
  await frozen;
  steadyMs += FREEZE_MS;
  const second = await takeOver(known);
  second.users.full = 0;
  await second.alerts.poll();
  thaw();
  await polled;
  expect(second.producer.appends).toHaveLength(2);
  expect(first.producer.appends).toEqual([]);
});

test('an alert that Kafka refuses for good is not resent, and holds up no later one', async () => {
  const only = aProcess(knownOf(), 0);
  only.users.full = 1;
  only.producer.behave = () =>
    Promise.reject(new AppError('kafka_refused', 'a record is too large'));
  await only.alerts.poll();
  const { rows } = await listNotices(database, {}, { limit: 9 });
  expect(rows).toMatchObject([{ kind: 'profile_full', alert: 'none' }]);
  const { length } = only.producer.appends;
  await only.alerts.poll();
  expect(only.producer.appends).toHaveLength(length);
});
