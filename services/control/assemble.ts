import { type Server } from 'node:http';
import { join } from 'node:path';
import { type Express } from 'express';
import { type Authenticator, createAuthenticator } from '../../shared/config/authentication';
import { createEncryptor, type Encryptor, watchKey } from '../../shared/config/encryption';
import { type FollowedConfig } from '../../shared/config/reader';
import { defined } from '../../shared/collections/defined';
import { openWriter } from '../../shared/config/writer';
import { brokerClock, CLOCK_WITHIN_MS } from '../../shared/kafka/broker-clock';
import { type Kafka } from '../../shared/kafka/port';
import { clockNote } from '../../shared/kafka/topics';
import { type Networks } from '../../shared/model/address-warning';
import { withTimeout } from '../../shared/runtime/async';
import { createClientAddress } from '../../shared/runtime/client-address';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { type Health, listen } from '../../shared/runtime/health';
import { requireRetention, type TopicRetention } from '../../shared/runtime/retention';
import { type ServiceContext } from '../../shared/runtime/run';
import { requireSecretKeys, type Settings } from '../../shared/runtime/settings';
import { type Log } from '../../shared/telemetry/log';
import { evidenceHandler } from './alerts/evidence-reader';
import { Alerts } from './alerts/runner';
import { createApp } from './app/app';
import { createControlServer } from './app/http-server';
import { DefinitionRepair } from './audiences/definition-entries';
import { openProfiles } from './audiences/profiles';
import { openIdentities } from './auth/identities';
import { Refusals } from './auth/refusals';
import { Sessions } from './auth/sessions';
import { TokenUses } from './auth/token-uses';
import { markNewSystem, openConfigEntries } from './config/config-entries';
import { openEvents } from './debugger/events';
import { openTestSends } from './destinations/test-send';
import { ExpressionWork, type WorkClocks } from './expressions/work';
import { watchCpuPressure } from './history/cpu-pressure';
import { type Database } from './history/database';
import { reencryptVersions } from './history/destination-versions';
import { History } from './history/history';
import { openPglite } from './history/pglite';
import { openPostgres } from './history/postgres';
import { type Retention } from './history/retention';
import { openLimitedCalls } from './overview/call-counts';
import { Replays } from './replays/runner';
import { type Handler, type Pace, Reader, type Readers } from './reading/reader';
import { SharedReads } from './reading/shared-reads';
import { Shares } from './reading/shares';
import { BodyIndex } from './search/body-index';
import { eventNamesHandler } from './sources/event-names';
import { observeAlerts, observeReaders, watched } from './telemetry';

/** What control takes from its settings. */
export interface ControlOptions {
  /** WAYPOST_ADMIN_TOKEN */
  adminToken: string;
  /** WAYPOST_SECRET_KEY */
  secretKeys: readonly Buffer[];
  /** No other control process uses the database. */
  isOnlyProcess: boolean;
  /** WAYPOST_RETRY_WINDOW */
  windowMs: number;
  /** WAYPOST_RETRY_DELAYS */
  tiersMs: readonly number[];
  /** WAYPOST_TOPIC_RETENTION */
  retention: TopicRetention;
  /** WAYPOST_TIMEOUT */
  timeoutMs: number;
  /** WAYPOST_SEARCH_RETENTION */
  searchRetentionMs: number;
  maxSearchBytes: number;
  /** address of ingest for clients */
  ingest: { url: string | null; port: number };
  /** WAYPOST_SMTP_URL is set */
  sendsMail: boolean;
  /** WAYPOST_ALLOWED_NETWORKS, WAYPOST_FORBIDDEN_NETWORKS */
  networks: Networks;
  /** WAYPOST_TRUSTED_PROXIES */
  trustedProxies: readonly string[];
}

/** What control uses of the world outside. */
export interface ControlAdapters {
  kafka: Pick<Kafka, 'producer' | 'tail' | 'read' | 'ranges'>;
  config: FollowedConfig;
  history: Pick<
    History,
    'ask' | 'forget' | 'hasRead' | 'forgotten' | 'learnDeletions' | 'events' | 'audit'
  >;
  now: () => Date;
  /** ms, by a clock that never jumps */
  steadyMs: () => number;
  log: Log;
  /** ends the process */
  onFatal: (error: unknown) => void;
}

/** A console asks every five seconds: if it is alone, it gets a new answer each time. */
const KEEP_ANSWERS_MS = 4_000;

/** What tests set in place of the machine. */
export interface ControlSeams {
  workClocks?: WorkClocks;
  /** how long several consoles get the same answer of the overview */
  keepAnswersMs?: number;
  othersFirst?: () => boolean;
  consoleFolder?: string;
}

export interface Control {
  /** the API and the console */
  app: Express;
  replays: Replays;
  alerts: Alerts;
  bodies: BodyIndex;
  definitionRepair: DefinitionRepair;
  readers: Readers;
  sessions: Sessions;
  tokenUses: TokenUses;
  /** Starts what control does without being asked. */
  start(): Promise<void>;
  /** Ends the streams of events, for which the server would wait. */
  stopStreams(): void;
  /** Stops all parts in order. `deadlineMs` is the time for the producer's last records. */
  stop(deadlineMs: number): Promise<void>;
}

/** A quiet system shows a row soon; in a busy one nobody reads hundreds of rows a second. */
const HISTORY_PACE: Pace = { quietMs: 500, busyMs: 2_000, yieldsForMs: 60_000 };
const ALERTS_PACE: Pace = { quietMs: 1_000, busyMs: 1_000, yieldsForMs: 0 };
/** Seldom enough that a chunk of the search is whole at a moderate load. */
const SELDOM_PACE: Pace = { quietMs: 5_000, busyMs: 5_000, yieldsForMs: 15_000 };

/** Changes are small and few; a test send is one record. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** Longer than the election of a leader takes, and shorter than people wait. */
const GIVE_UP_MS = 10_000;

/**
 * Wires the parts of control, and opens what they read from Kafka. The tails of events and of
 * profiles run from then on, all else from `start` on; `stop` ends both.
 */
export async function assembleControl(
  options: ControlOptions,
  adapters: ControlAdapters,
  seams: ControlSeams = {},
): Promise<Control> {
  const { adminToken, secretKeys, isOnlyProcess, windowMs } = options;
  const { kafka, config, history, now, steadyMs, log, onFatal } = adapters;
  const nowMs = () => now().getTime();
  const encryptor = createEncryptor(secretKeys);
  const authenticator = createAuthenticator(secretKeys);
  const producer = await kafka.producer({
    maxPendingBytes: MAX_PENDING_BYTES,
    deliveryTimeoutMs: GIVE_UP_MS,
  });
  const writer = openWriter({ config, producer, authenticator, log, now });
  await markNewSystem(config, writer, encryptor);
  const entries = openConfigEntries(config, writer);
  const testSends = openTestSends({ kafka, producer, timeoutMs: options.timeoutMs, now, log });
  const bodies = new BodyIndex({
    history,
    retentionMs: options.searchRetentionMs,
    maxBytes: options.maxSearchBytes,
    now,
    log,
  });
  const shares = new Shares(history, isOnlyProcess);
  const readerOptions = {
    kafka,
    reads: new SharedReads(kafka),
    shares,
    history,
    othersFirst: seams.othersFirst ?? watchCpuPressure(),
    nowMs,
    log,
  };
  const open = <E>(handler: Handler<E>, pace: Pace): Reader<unknown> =>
    new Reader(handler, pace, readerOptions) as Reader<unknown>;
  const readers: Readers = {
    history: open(history.events, HISTORY_PACE),
    audit: open(history.audit, HISTORY_PACE),
    alerts: open(
      evidenceHandler(nowMs, () => alerts.wake()),
      ALERTS_PACE,
    ),
    eventNames: open(eventNamesHandler(nowMs), SELDOM_PACE),
    search: open(bodies.handler, SELDOM_PACE),
  };
  const [events, { stop: stopProfiles, fullProfiles, ...profiles }, limited] = await Promise.all([
    openEvents({
      kafka,
      config,
      history,
      isOnlyProcess,
      now: nowMs,
      ...defined({ cpu: seams.workClocks?.cpu }),
      onFatal,
    }),
    openProfiles({ kafka, config, history, producer, log, onFatal }),
    openLimitedCalls(kafka, onFatal),
  ]);
  const shared = { kafka, producer, history, config, encryptor, windowMs, now, log };
  const replays = new Replays({ ...shared, isOnlyProcess, steadyMs });
  const alerts: Alerts = new Alerts({
    ...shared,
    entries,
    fullProfiles,
    reader: readers.alerts,
    isShared: () => shares.areSeveral,
    steadyMs,
  });
  const definitionRepair = new DefinitionRepair({ config, entries, now, log });
  const sessions = new Sessions({
    history,
    secretKeys,
    adminToken,
    isOnlyProcess,
    now: nowMs,
    log,
  });
  const tokenUses = new TokenUses(history, nowMs, log);
  const clientAddress = createClientAddress(options.trustedProxies);
  const app = createApp(
    {
      ...shared,
      ...profiles,
      fullProfiles,
      entries,
      events,
      eventNames: readers.eventNames,
      bodies,
      limitedCalls: limited.calls,
      replays,
      testSends,
      tokenUses,
      keepAnswersMs: seams.keepAnswersMs ?? KEEP_ANSWERS_MS,
      work: new ExpressionWork(seams.workClocks),
      lookups: new ExpressionWork(seams.workClocks),
      tiersMs: options.tiersMs,
      retention: options.retention,
      ingest: options.ingest,
      sendsMail: options.sendsMail,
      networks: options.networks,
    },
    {
      identities: openIdentities(adminToken, config),
      sessions,
      tokenUses,
      refusals: new Refusals({ clientAddress, log, now: nowMs }),
    },
    seams.consoleFolder,
  );
  return {
    app,
    replays,
    alerts,
    bodies,
    definitionRepair,
    readers,
    sessions,
    tokenUses,
    start: async () => {
      // So that the time is right before a deletion has one, also if this machine's clock is not.
      await withTimeout(CLOCK_WITHIN_MS, producer.send([clockNote()])).catch(() => undefined);
      await shares.start();
      for (const reader of Object.values(readers)) {
        if (reader !== readers.search || bodies.retentionMs > 0) reader.start();
      }
      bodies.start();
      replays.watch();
      alerts.start();
      definitionRepair.start();
      await sessions.start();
      tokenUses.start();
    },
    stopStreams: () => events.streams.stop(),
    stop: async (deadlineMs) => {
      await Promise.all(Object.values(readers).map((reader) => reader.stop()));
      await Promise.all([
        shares.stop(),
        replays.stop(),
        alerts.stop(),
        definitionRepair.stop(),
        sessions.stop(),
        tokenUses.stop(),
      ]);
      await writer.close();
      await producer.close(deadlineMs);
      await Promise.all([
        testSends.stop(),
        events.stop(),
        bodies.stop(),
        limited.stop(),
        stopProfiles(),
      ]);
    },
  };
}

/**
 * Opens control by its settings, and serves the API on its port.
 * @throws AppError `bad_settings` without WAYPOST_ADMIN_TOKEN or WAYPOST_SECRET_KEY; `cannot_start`
 */
export async function startControl({
  settings,
  log,
  onFatal,
  connect,
  openConfig,
  onStop,
}: ServiceContext): Promise<{ port: number }> {
  const options = optionsOf(settings);
  const encryptor = createEncryptor(options.secretKeys);
  const authenticator = createAuthenticator(options.secretKeys);
  const state: {
    history?: History;
    readers?: Readers;
    keyTrouble?: () => string[];
    isReady: boolean;
  } = { isReady: false };
  const health: Health = {
    notLive: () => [],
    notReady: () => (state.isReady ? (state.keyTrouble?.() ?? []) : ['control is being opened']),
    // Changes of the configuration work without the history.
    degraded: () => {
      const trouble =
        state.history?.trouble ?? state.readers?.history.trouble ?? state.readers?.audit.trouble;
      return trouble === undefined ? [] : [`history: ${trouble}`];
    },
  };
  const kafka = await connect(health);
  // First, so that the history stores nothing of a system that this process must not open.
  const config = await openConfig(authenticator);
  const history = (state.history = openHistory(settings, { authenticator, log, onFatal }));
  await history.start();
  requireRetention(options.retention, config.list('destination'));
  await kafka.setRetention();
  const control = await assembleControl(options, {
    kafka,
    config,
    history,
    // Deletions are compared with the times of other processes.
    now: () => new Date(brokerClock.now()),
    steadyMs: () => performance.now(),
    log,
    onFatal,
  });
  reencryptHistory(history, encryptor, log);
  state.keyTrouble = watchKey(config, encryptor, log);
  await control.start();
  state.readers = control.readers;
  observeReaders(history, control.readers);
  observeAlerts(control.alerts);
  const server = createControlServer(watched(control.app), {
    maxConnections: settings.WAYPOST_CONTROL_CONNECTIONS,
  });
  const port = await listen(server, settings.WAYPOST_CONTROL_PORT, settings.WAYPOST_HOST);
  onStop(async (deadlineMs) => {
    control.stopStreams();
    await closeServer(server, deadlineMs / 2);
    await control.stop(deadlineMs / 3);
    await history.stop();
  });
  state.isReady = true;
  return { port };
}

/** Prepares the stored versions of destinations for the retirement of an old key. */
function reencryptHistory(history: History, encryptor: Encryptor, log: Log): void {
  history
    .ask((database) => reencryptVersions(database, encryptor))
    .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'history.not_reencrypted'));
}

/** Accepts no more connections, waits for current requests, and closes them after the deadline. */
async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(timer);
}

const MB = 1024 * 1024;
/** Defaults of the size limit: for a laptop's disk, and for the operator's own server. */
const EMBEDDED_MB = 2_048;
const SERVER_MB = 102_400;
/** Bodies take at most this part of the history's size, in addition to it. */
const BODIES_PART = 1 / 4;

/** @throws AppError `bad_settings` */
function optionsOf(settings: Settings): ControlOptions {
  return {
    adminToken: requireAdminToken(settings),
    secretKeys: requireSecretKeys(settings),
    // No other control process can use an embedded database.
    isOnlyProcess: settings.WAYPOST_DATABASE_URL === undefined,
    windowMs: settings.WAYPOST_RETRY_WINDOW,
    tiersMs: settings.WAYPOST_RETRY_DELAYS,
    retention: settings.WAYPOST_TOPIC_RETENTION,
    timeoutMs: settings.WAYPOST_TIMEOUT,
    searchRetentionMs: settings.WAYPOST_SEARCH_RETENTION,
    maxSearchBytes: Math.floor(retentionOf(settings).maxBytes * BODIES_PART),
    ingest: { url: settings.WAYPOST_INGEST_URL ?? null, port: settings.WAYPOST_INGEST_PORT },
    sendsMail: settings.WAYPOST_SMTP_URL !== undefined,
    networks: {
      allowed: settings.WAYPOST_ALLOWED_NETWORKS,
      forbidden: settings.WAYPOST_FORBIDDEN_NETWORKS,
    },
    trustedProxies: settings.WAYPOST_TRUSTED_PROXIES,
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

interface HistoryParts {
  authenticator: Authenticator;
  log: Log;
  onFatal: (error: unknown) => void;
}

function openHistory(settings: Settings, parts: HistoryParts): History {
  return new History({
    ...parts,
    open: () => openDatabase(settings),
    keep: retentionOf(settings),
    now: Date.now,
  });
}

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
