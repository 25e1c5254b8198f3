import { type Express } from 'express';
import pino from 'pino';
import supertest from 'supertest';
import { openIdentities } from '../../services/control/auth/identities';
import { Refusals } from '../../services/control/auth/refusals';
import { Sessions } from '../../services/control/auth/sessions';
import { TokenUses } from '../../services/control/auth/token-uses';
import { Alerts } from '../../services/control/alerts/runner';
import { createApp } from '../../services/control/app/app';
import { DefinitionRepair } from '../../services/control/audiences/definition-entries';
import { markNewSystem, openConfigEntries } from '../../services/control/config/config-entries';
import { ExpressionWork } from '../../services/control/expressions/work';
import { EventNames } from '../../services/control/sources/event-names';
import { openLimitedCalls } from '../../services/control/overview/call-counts';
import { openEvents } from '../../services/control/debugger/events';
import { type Database } from '../../services/control/history/database';
import { Forgotten, recordDeletion } from '../../services/control/history/deletions';
import { type History } from '../../services/control/history/history';
import { openProfiles } from '../../services/control/audiences/profiles';
import { Replays } from '../../services/control/replays/runner';
import { BodyIndex, type BodyIndexOptions } from '../../services/control/search/body-index';
import { openTestSends } from '../../services/control/destinations/test-send';
import { openConfig } from '../../shared/config/reader';
import { createAuthenticator } from '../../shared/config/authentication';
import { createEncryptor } from '../../shared/config/encryption';
import { openWriter } from '../../shared/config/writer';
import { type TopicRetention } from '../../shared/runtime/retention';
import { createClientAddress } from '../../shared/runtime/client-address';
import { Problem } from '../../services/control/http/problem';
import { memoryLog, type MemoryLog } from './memory-log';

/** The control API on an in-memory log, for tests of its responses. */

export const ADMIN_TOKEN = 'planted-admin-token-0123456789';
export const SECRET_KEY = Buffer.from('planted-secret-key-0123456789abc');

const DAY_MS = 86_400_000;
export const WINDOW_MS = 4 * 3_600_000;
const TIERS_MS = [10_000, 60_000, 300_000, 900_000, 1_800_000];

export interface ControlUnderTest {
  app: Express;
  memory: MemoryLog;
  /** all log lines, as text */
  logged(): string;
  /** the clock of the API: set it */
  clock: { now: Date };
  replays: Replays;
  /** evaluates only when a test calls it */
  alerts: Alerts;
  /** reads bodies only when a test calls it */
  bodies: BodyIndex;
  /** repairs only when a test calls it */
  mending: DefinitionRepair;
  /** writes only when a test calls it */
  seen: EventNames;
  sessions: Sessions;
  uses: TokenUses;
  /** Sends a request with the admin token. */
  call(method: 'get' | 'post' | 'patch' | 'delete' | 'put', path: string): supertest.Test;
}

export async function controlUnderTest(
  options: {
    timeoutMs?: number;
    memory?: MemoryLog;
    database?: Database | undefined;
    historyHasRead?: () => boolean | Promise<boolean>;
    maxSearchBytes?: number;
    bodyTurns?: Pick<BodyIndexOptions, 'othersFirst' | 'steadyMs'>;
    adminToken?: string;
    /** WAYPOST_TOPIC_RETENTION */
    retention?: TopicRetention;
    /** ms; measures the work of expressions. Default: it takes no time */
    workClock?: () => number;
    /** default: true */
    sendsMail?: boolean;
    networks?: { allowed: string[]; forbidden: string[] };
    consoleFolder?: string;
  } = {},
): Promise<ControlUnderTest> {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => lines.push(line) });
  const memory = options.memory ?? memoryLog();
  const clock = { now: new Date('2026-01-01T00:00:00.000Z') };
  const now = () => clock.now;
  const onFatal = (error: unknown) => lines.push(String(error));
  const { kafka } = memory;
  const { workClock = () => 0 } = options;
  const authenticator = createAuthenticator([SECRET_KEY]);
  const config = await openConfig(kafka, { name: 'control', authenticator, log, onFatal });
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 1_000 });
  const writer = openWriter({ config, producer, authenticator, log, now });
  const tests = openTestSends({ kafka, producer, timeoutMs: options.timeoutMs ?? 5_000, now, log });
  const history = historyOn(options.database, () => clock.now.getTime(), options.historyHasRead);
  const seen = new EventNames(history, log);
  const events = await openEvents({
    kafka,
    config,
    seen,
    history,
    alone: false,
    now: () => clock.now.getTime(),
    cpu: workClock,
    onFatal,
  });
  const { calls: limited } = await openLimitedCalls(kafka, onFatal);
  const encryptor = createEncryptor([SECRET_KEY]);
  await markNewSystem(config, writer, encryptor);
  const replays = new Replays({
    kafka,
    producer,
    history,
    config,
    encryptor,
    windowMs: WINDOW_MS,
    now,
    log,

    // A stopped process, whose clock stands, sends nothing.
    steadyMs: () => now().getTime(),
    alone: false,
  });
  const entries = openConfigEntries(config, writer);
  const { profiles, previews, members, fullProfiles } = await openProfiles({
    kafka,
    config,
    history,
    producer,
    log,
    onFatal,
  });
  const bodies = new BodyIndex({
    kafka,
    history,
    retentionMs: 2 * DAY_MS,
    maxBytes: options.maxSearchBytes ?? 1e9,
    now,
    log,
    othersFirst: () => false,
    ...options.bodyTurns,
  });
  const jobs = { kafka, producer, history, config, windowMs: WINDOW_MS, now, log };
  const alerts = new Alerts({ ...jobs, entries, encryptor, fullProfiles });
  const { adminToken = ADMIN_TOKEN } = options;
  const nowMs = () => clock.now.getTime();
  const sessions = new Sessions({
    history,
    secretKeys: [SECRET_KEY],
    adminToken,
    alone: false,
    now: nowMs,
    log,
  });
  const uses = new TokenUses(history, nowMs, log);
  await sessions.sync();
  const deps = {
    work: new ExpressionWork({ cpu: workClock, now: nowMs, wait: () => Promise.resolve() }),
    tokenUses: uses,
    config,
    entries,
    encryptor,
    testSends: tests,
    events,
    eventNames: seen,
    bodies,
    limitedCalls: limited,
    history,
    replays,
    profiles,
    previews,
    members,
    windowMs: WINDOW_MS,
    tiersMs: TIERS_MS,
    retention: options.retention ?? {},
    producer,
    kafka,
    ingest: { url: null, port: 8080 },
    sendsMail: options.sendsMail ?? true,
    networks: options.networks ?? { allowed: [], forbidden: [] },
    log,
    now,
  };
  const identities = openIdentities(adminToken, config);
  const refusals = new Refusals({
    clientAddress: createClientAddress(['192.0.2.0/24']),
    log,
    now: nowMs,
  });
  const app = createApp(
    deps,
    { identities, sessions, tokenUses: uses, refusals },
    options.consoleFolder,
  );
  return {
    app,
    memory,
    clock,
    replays,
    alerts,
    bodies,
    mending: new DefinitionRepair({ config, entries, now, log }),
    seen,
    sessions,
    uses,
    logged: () => lines.join(''),
    call: (method, path) =>
      supertest(app)[method](`/api/v1${path}`).set('Authorization', `Bearer ${adminToken}`),
  };
}

/** Returns a history on this database, or without one a history that cannot be opened. */
function historyOn(
  database: Database | undefined,
  nowMs: () => number,
  hasRead: () => boolean | Promise<boolean> = () => true,
): Pick<History, 'ask' | 'forget' | 'hasRead' | 'forgotten' | 'learnDeletions'> {
  const forgotten = new Forgotten();
  const away = () => Promise.reject(new Problem('unavailable', 'The history cannot be read now'));
  if (!database) return { forgotten, ask: away, forget: away, hasRead: away, learnDeletions: away };
  const learnDeletions = () => forgotten.refresh(database, nowMs());
  return {
    forgotten,
    learnDeletions,
    ask: (work) => work(database),
    forget: async (deletion) => {
      const rows = await recordDeletion(database, deletion);
      await learnDeletions();
      return rows;
    },
    hasRead: async () => hasRead(),
  };
}
