import { type Server } from 'node:http';
import { join } from 'node:path';
import { type Authenticator, createAuthenticator } from '../../shared/config/authentication';
import { createEncryptor, type Encryptor, watchKey } from '../../shared/config/encryption';
import { type FollowedConfig, openConfig } from '../../shared/config/reader';
import { openWriter } from '../../shared/config/writer';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { createClientAddress } from '../../shared/runtime/client-address';
import { type Health, listen, serveHealth } from '../../shared/runtime/health';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka } from '../../shared/kafka/port';
import { requireRetention } from '../../shared/runtime/retention';
import { requireSecretKeys, type Settings } from '../../shared/runtime/settings';
import { type Log } from '../../shared/telemetry/log';
import { openIdentities } from './auth/identities';
import { Refusals } from './auth/refusals';
import { Sessions } from './auth/sessions';
import { TokenUses } from './auth/token-uses';
import { Alerts } from './alerts/runner';
import { createApp } from './app/app';
import { createControlServer } from './app/http-server';
import { DefinitionRepair } from './audiences/definition-entries';
import { markNewSystem, openConfigEntries } from './config/config-entries';
import { ExpressionWork } from './expressions/work';
import { EventNames } from './sources/event-names';
import { openEvents } from './debugger/events';
import { History } from './history/history';
import { type Database } from './history/database';
import { openPglite } from './history/pglite';
import { openPostgres } from './history/postgres';
import { type Retention } from './history/retention';
import { openLimitedCalls } from './overview/call-counts';
import { openProfiles } from './audiences/profiles';
import { Replays } from './replays/runner';
import { reencryptVersions } from './history/destination-versions';
import { BodyIndex } from './search/body-index';
import { openTestSends } from './destinations/test-send';
import { observeAlerts, observeHistory, watched } from './telemetry';

/**
 * Assembles control: Kafka, the reader and writer of `config`, test sends, and the API on its port.
 */

/** Changes are small and few; a test send is one record. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** Longer than the election of a leader takes, and shorter than people wait. */
const GIVE_UP_MS = 10_000;

const MB = 1024 * 1024;
/** Defaults of the size limit: for a laptop's disk, and for the operator's own server. */
const EMBEDDED_MB = 2_048;
const SERVER_MB = 102_400;
/** Bodies take at most this part of the history's size, in addition to it. */
const BODIES_PART = 1 / 4;

export interface RunningControl {
  port: number;
  healthPort: number;
  /** Drains and closes all parts in order, within `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>;
}

/**
 * @param fatal ends the process
 * @throws AppError `bad_settings` without WAYPOST_ADMIN_TOKEN or WAYPOST_SECRET_KEY; `cannot_start`
 */
export async function startControl(
  settings: Settings,
  log: Log,
  fatal: (error: unknown) => void,
): Promise<RunningControl> {
  const adminToken = requireAdminToken(settings);
  const secretKeys = requireSecretKeys(settings);
  const encryptor = createEncryptor(secretKeys);
  const authenticator = createAuthenticator(secretKeys);
  const health: Health & { ready: boolean; history?: History; keyTrouble?: () => string[] } = {
    ready: false,
    notLive: () => [],
    notReady: () => (health.ready ? (health.keyTrouble?.() ?? []) : ['control is being opened']),
    // Changes of the configuration work without the history.
    degraded: () =>
      health.history?.trouble === undefined ? [] : [`history: ${health.history.trouble}`],
  };
  const healthServer = await serveHealth({
    host: settings.WAYPOST_HOST,
    port: settings.WAYPOST_CONTROL_HEALTH_PORT,
    maxConnections: settings.WAYPOST_HEALTH_CONNECTIONS,
    health,
  });
  const kafka = await connectKafka(settings, { clientId: 'control', log });
  // First, so that the history stores nothing of a system that this process must not open.
  const config = await openConfig(kafka, {
    name: 'control',
    authenticator,
    log,
    onFatal: fatal,
  });
  const history = (health.history = new History({
    open: () => openDatabase(settings),
    kafka,
    authenticator,
    keep: retentionOf(settings),
    now: Date.now,
    log,
    onFatal: fatal,
  }));
  await history.start();
  const { stop: stopBackend, ...backend } = await openBackend({
    kafka,
    config,
    history,
    settings,
    encryptor,
    authenticator,
    log,
    onFatal: fatal,
  });
  const { entries, producer } = backend;
  reencryptHistory(history, encryptor, log);
  health.keyTrouble = watchKey(config, encryptor, log);
  health.config = config;
  const windowMs = settings.WAYPOST_RETRY_WINDOW;
  const now = () => new Date();
  const jobs = { kafka, producer, history, config, windowMs, alone: isAlone(settings), now, log };
  const replays = new Replays({ ...jobs, encryptor, steadyMs: () => performance.now() });
  replays.watch();
  const alerts = new Alerts({ ...jobs, entries, encryptor, fullProfiles: backend.fullProfiles });
  alerts.start();
  const mending = new DefinitionRepair({ config, entries, now, log });
  mending.start();

  const ingest = { url: settings.WAYPOST_INGEST_URL ?? null, port: settings.WAYPOST_INGEST_PORT };
  const networks = {
    allowed: settings.WAYPOST_ALLOWED_NETWORKS,
    forbidden: settings.WAYPOST_FORBIDDEN_NETWORKS,
  };
  const sendsMail = settings.WAYPOST_SMTP_URL !== undefined;
  const about = { tiersMs: settings.WAYPOST_RETRY_DELAYS, ingest, sendsMail, networks };
  const sessions = new Sessions({
    history,
    secretKeys,
    adminToken,
    alone: isAlone(settings),
    now: Date.now,
    log,
  });
  const tokenUses = new TokenUses(history, Date.now, log);
  await sessions.start();
  tokenUses.start();
  const clientAddress = createClientAddress(settings.WAYPOST_TRUSTED_PROXIES);
  const refusals = new Refusals({ clientAddress, log, now: Date.now });
  const access = {
    identities: openIdentities(adminToken, config),
    sessions,
    tokenUses,
    refusals,
  };
  const work = new ExpressionWork();
  const deps = { ...backend, ...jobs, ...about, work, tokenUses, encryptor, replays };
  const server = createControlServer(watched(createApp(deps, access)), {
    maxConnections: settings.WAYPOST_CONTROL_CONNECTIONS,
  });
  observeHistory(history);
  observeAlerts(alerts);
  const port = await listen(server, settings.WAYPOST_CONTROL_PORT, settings.WAYPOST_HOST);
  health.ready = true;
  return {
    port,
    healthPort: healthServer.port,
    stop: async (deadlineMs) => {
      health.stopping = true;
      backend.events.streams.stop();
      await Promise.all([closeServer(server, deadlineMs / 2), history.stopReading(deadlineMs / 3)]);
      await Promise.all([
        replays.stop(),
        alerts.stop(),
        mending.stop(),
        sessions.stop(),
        tokenUses.stop(),
      ]);
      await stopBackend(deadlineMs / 3);
      await history.stop();
      await kafka.close();
      healthServer.close();
    },
  };
}

/** Prepares the stored versions of destinations for the retirement of an old key. */
function reencryptHistory(history: History, encryptor: Encryptor, log: Log): void {
  history
    .ask((database) => reencryptVersions(database, encryptor))
    .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'history.not_reencrypted'));
}

interface BackendOptions {
  kafka: Kafka;
  config: FollowedConfig;
  history: History;
  settings: Settings;
  encryptor: Encryptor;
  authenticator: Authenticator;
  log: Log;
  onFatal: (error: unknown) => void;
}

async function openBackend(options: BackendOptions) {
  const { kafka, config, history, settings, encryptor, authenticator, log, onFatal } = options;
  const now = () => new Date();
  const producer = await kafka.producer({
    maxPendingBytes: MAX_PENDING_BYTES,
    deliveryTimeoutMs: GIVE_UP_MS,
  });
  const retention = settings.WAYPOST_TOPIC_RETENTION;
  requireRetention(retention, config.list('destination'));
  await kafka.setRetention();
  const writer = openWriter({ config, producer, authenticator, log, now });
  await markNewSystem(config, writer, encryptor);
  const tests = openTestSends({ kafka, producer, timeoutMs: settings.WAYPOST_TIMEOUT, now, log });
  const seen = new EventNames(history, log);
  const bodies = new BodyIndex({
    kafka,
    history,
    retentionMs: settings.WAYPOST_SEARCH_RETENTION,
    maxBytes: Math.floor(retentionOf(settings).maxBytes * BODIES_PART),
    now,
    log,
  });
  bodies.start();
  await seen.start();
  const [events, about, limited] = await Promise.all([
    openEvents({ kafka, config, seen, history, alone: isAlone(settings), now: Date.now, onFatal }),
    openProfiles({ kafka, config, history, producer, log, onFatal }),
    openLimitedCalls(kafka, onFatal),
  ]);
  const { stop: stopProfiles, ...profiles } = about;
  return {
    config,
    entries: openConfigEntries(config, writer),
    testSends: tests,
    events,
    eventNames: seen,
    bodies,
    limitedCalls: limited.calls,
    retention,
    ...profiles,
    producer,
    stop: async (deadlineMs: number) => {
      await writer.close();
      await producer.close(deadlineMs);
      await Promise.all([
        tests.stop(),
        events.stop(),
        bodies.stop(),
        limited.stop(),
        stopProfiles(),
        config.stop(),
      ]);
      await seen.stop();
    },
  };
}

function requireAdminToken(settings: Settings): string {
  if (settings.WAYPOST_ADMIN_TOKEN !== undefined) return settings.WAYPOST_ADMIN_TOKEN;
  throw new AppError(
    'bad_settings',
    'WAYPOST_ADMIN_TOKEN is not set. Give control a token of 16 characters or more ' +
      '(openssl rand -hex 32); who brings it may do everything.',
  );
}

/** No other control process can use an embedded database. */
const isAlone = ({ WAYPOST_DATABASE_URL: url }: Settings): boolean => url === undefined;

function openDatabase(settings: Settings): Promise<Database> {
  const { WAYPOST_DATABASE_URL: url, WAYPOST_DATA_DIR: dataDir } = settings;
  return url === undefined ? openPglite(join(dataDir, 'history')) : openPostgres(url);
}

function retentionOf(settings: Settings): Retention {
  const defaultMb = settings.WAYPOST_DATABASE_URL === undefined ? EMBEDDED_MB : SERVER_MB;
  return {
    forMs: settings.WAYPOST_HISTORY_RETENTION,
    maxBytes: (settings.WAYPOST_HISTORY_MAX_MB ?? defaultMb) * MB,
  };
}

/** Accepts no more connections, waits for current requests, and closes them after the deadline. */
async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(timer);
}
