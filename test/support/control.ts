import pino from 'pino';
import supertest from 'supertest';
import { assembleControl, type Control } from '../../services/control/assemble';
import { type ConfigFact } from '../../services/control/history/audit';
import { type Database } from '../../services/control/history/database';
import { Forgotten, recordDeletion } from '../../services/control/history/deletions';
import { type History } from '../../services/control/history/history';
import { type Event } from '../../services/control/history/parse-events';
import { Problem } from '../../services/control/http/problem';
import { type Handler } from '../../services/control/reading/reader';
import { defined } from '../../shared/collections/defined';
import { createAuthenticator } from '../../shared/config/authentication';
import { openConfig } from '../../shared/config/reader';
import { type Role } from '../../shared/model/config';
import { type TopicRetention } from '../../shared/runtime/retention';
import { memoryLog, type MemoryLog } from './memory-log';

/** The control API on an in-memory log, for tests of its responses. */

export const ADMIN_TOKEN = 'planted-admin-token-0123456789';
export const SECRET_KEY = Buffer.from('planted-secret-key-0123456789abc');

const DAY_MS = 86_400_000;
export const WINDOW_MS = 4 * 3_600_000;
const TIERS_MS = [10_000, 60_000, 300_000, 900_000, 1_800_000];

/** Control, of which nothing runs before a test calls it. */
export interface ControlUnderTest extends Omit<Control, 'start' | 'stopStreams' | 'stop'> {
  memory: MemoryLog;
  /** all log lines, as text */
  logged(): string;
  /** the clock of the API: set it */
  clock: { now: Date };
  /** Sends a request with the admin token. */
  call(method: Method, path: string): supertest.Test;
  /** Reads a path with the admin token. @returns the body */
  get(path: string): Promise<Body>;
  /** Makes a destination with one URL and without a source. @returns its view */
  destination(over?: object): Promise<Body>;
  /** Makes a token, of the role that it names. @returns how to send requests with it */
  as(role: Role): Promise<(method: Method, path: string) => supertest.Test>;
}

type Method = 'get' | 'post' | 'patch' | 'delete' | 'put';
/** JSON of any form, as a test reads it. */
type Body = supertest.Response['body'];

export async function controlUnderTest(
  options: {
    timeoutMs?: number;
    memory?: MemoryLog;
    database?: Database | undefined;
    historyHasRead?: () => boolean | Promise<boolean>;
    maxSearchBytes?: number;
    othersFirst?: () => boolean;
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
  const nowMs = () => clock.now.getTime();
  const onFatal = (error: unknown) => lines.push(String(error));
  const { kafka } = memory;
  const { adminToken = ADMIN_TOKEN, workClock = () => 0 } = options;
  const authenticator = createAuthenticator([SECRET_KEY]);
  const config = await openConfig(kafka, { name: 'control', authenticator, log, onFatal });
  const { app, ...parts } = await assembleControl(
    {
      adminToken,
      secretKeys: [SECRET_KEY],
      isOnlyProcess: false,
      windowMs: WINDOW_MS,
      tiersMs: TIERS_MS,
      retention: options.retention ?? {},
      timeoutMs: options.timeoutMs ?? 5_000,
      searchRetentionMs: 2 * DAY_MS,
      maxSearchBytes: options.maxSearchBytes ?? 1e9,
      ingest: { url: null, port: 8080 },
      sendsMail: options.sendsMail ?? true,
      networks: options.networks ?? { allowed: [], forbidden: [] },
      trustedProxies: ['192.0.2.0/24'],
    },
    {
      kafka,
      config,
      history: historyOn(options.database, nowMs, options.historyHasRead),
      now: () => clock.now,
      // A stopped process, whose clock stands, sends nothing.
      steadyMs: nowMs,
      log,
      onFatal,
    },
    {
      keepAnswersMs: 0,
      workClocks: { cpu: workClock, now: nowMs, wait: () => Promise.resolve() },
      othersFirst: options.othersFirst ?? (() => false),
      ...defined({ consoleFolder: options.consoleFolder }),
    },
  );
  await parts.sessions.sync();
  const callBy = (token: string) => (method: Method, path: string) =>
    supertest(app)[method](`/api/v1${path}`).set('Authorization', `Bearer ${token}`);
  const call = callBy(adminToken);
  return {
    ...parts,
    app,
    memory,
    clock,
    logged: () => lines.join(''),
    call,
    get: async (path) => (await call('get', path)).body,
    destination: async (over = {}) => {
      const webhooks = [{ url: 'https://a.example/' }];
      const body = { name: 'Hooks', type: 'webhooks', sources: [], webhooks, ...over };
      return (await call('post', '/destinations').send(body)).body;
    },
    as: async (role) => {
      const { body } = await call('post', '/tokens').send({ name: role, role });
      return callBy((body as { token: string }).token);
    },
  };
}

/** Returns a history on this database, or without one a history that cannot be opened. */
function historyOn(
  database: Database | undefined,
  nowMs: () => number,
  hasRead: () => boolean | Promise<boolean> = () => true,
): Pick<
  History,
  'ask' | 'forget' | 'hasRead' | 'forgotten' | 'learnDeletions' | 'events' | 'audit'
> {
  const forgotten = new Forgotten();
  const away = () => Promise.reject(new Problem('unavailable', 'The history cannot be read now'));
  const none = <E>(topic: string): Handler<E> => ({
    name: topic,
    topic,
    sinceMs: () => 0,
    entriesOf: () => [],
    write: () => Promise.resolve(undefined),
  });
  const handlers = { events: none<Event>('attempts'), audit: none<ConfigFact>('config') };
  if (!database) {
    return {
      ...handlers,
      forgotten,
      ask: away,
      forget: away,
      hasRead: away,
      learnDeletions: away,
    };
  }
  const learnDeletions = () => forgotten.refresh(database, nowMs());
  return {
    ...handlers,
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
