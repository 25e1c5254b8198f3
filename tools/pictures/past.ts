import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigResourceTypes, logLevel, type Message } from 'kafkajs';
import { newNotice, type Notice } from '../../services/control/alerts/notice';
import { acknowledgeAll, addNotices } from '../../services/control/alerts/store';
import { evidenceOf } from '../../services/control/health/attempt-evidence';
import { storeEvidence } from '../../services/control/health/store';
import { type Database } from '../../services/control/history/database';
import { openPglite } from '../../services/control/history/pglite';
import { readParts, recordEvents } from '../../services/control/history/record-events';
import { saveSyncs, type SyncRow } from '../../services/control/history/syncs';
import { defined } from '../../shared/collections/defined';
import { createAuthenticator } from '../../shared/config/authentication';
import { openConfig } from '../../shared/config/reader';
import { openWriter } from '../../shared/config/writer';
import { connectKafka } from '../../shared/kafka/client/client';
import { kafkaAddress } from '../../shared/kafka/client/connection';
import { topicConfig } from '../../shared/kafka/client/create-topics';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { MESSAGES, REJECTED, specsOf } from '../../shared/kafka/topics';
import {
  type CircuitEvent,
  type DeliveryEvent,
  type UrlAttempt,
} from '../../shared/model/attempt-events';
import { deliveryId } from '../../shared/model/delivery';
import { messageHeaders, messageKey } from '../../shared/model/message';
import { FORMAT_HEADER } from '../../shared/model/record-format';
import { isoTime } from '../../shared/model/time';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { newTraceparent } from '../../shared/telemetry/trace';
import { at, share } from '../bench/history/hash-random';
import { type Destination } from '../harness/api';
import { type System } from '../harness/system';
import {
  callOf,
  type Customer,
  CUSTOMERS,
  type Fate,
  HOUR_MS,
  MINUTE_MS,
  receives,
  type ShopCall,
} from './world';

/**
 * Writes the last day of the world: its calls into Kafka, where the overview counts them by time,
 * and its deliveries, notices and changes into the database of control.
 */

const DAY_MS = 24 * HOUR_MS;
const WINDOW_MS = 4 * HOUR_MS;
/** Calls of the busiest minute. */
const BUSIEST = 6;
/** Records of one request, or of one transaction. */
const BATCH = 1_000;
/** What happens from now on is real. */
const ENDS_MS = 2 * MINUTE_MS;

export interface PastCall {
  call: ShopCall;
  /** number of the call, for chance */
  i: number;
  atMs: number;
}

/** Returns the calls of the last day, busier by day than by night. */
export function pastCalls(nowMs: number): PastCall[] {
  const calls: PastCall[] = [];
  for (let atMs = nowMs - DAY_MS; atMs < nowMs - ENDS_MS; atMs += MINUTE_MS) {
    const hour = (atMs % DAY_MS) / HOUR_MS;
    const busy = 0.55 - 0.45 * Math.cos(((hour - 2) / 24) * 2 * Math.PI);
    const count = Math.round(BUSIEST * busy * (0.6 + 0.4 * share(atMs / MINUTE_MS, 1)));
    for (let n = 0; n < count; n++) {
      const i = calls.length;
      calls.push({ call: callOf(i), i, atMs: atMs + at(i, 2, MINUTE_MS) });
    }
  }
  return calls.sort((a, b) => a.atMs - b.atMs);
}

/** Writes the calls as if ingest had stored or rejected them at their time. */
export async function writeCalls(
  { env }: Pick<System, 'env'>,
  calls: readonly PastCall[],
  sources: ReadonlyMap<string, string>,
): Promise<void> {
  const settings = loadSettings(env);
  const kafka = kafkajsClient({
    ...kafkaAddress(settings),
    clientId: 'pictures',
    logLevel: logLevel.NOTHING,
  });
  const admin = kafka.admin();
  const producer = kafka.producer();
  await Promise.all([admin.connect(), producer.connect()]);
  const configure = (type: 'CreateTime' | 'LogAppendTime') =>
    admin.alterConfigs({
      validateOnly: false,
      resources: specsOf(settings)
        .filter(({ name }) => name === MESSAGES || name === REJECTED)
        .map((spec) => ({
          type: ConfigResourceTypes.TOPIC,
          name: settings.WAYPOST_TOPIC_PREFIX + spec.name,
          configEntries: Object.entries({
            ...topicConfig(spec, 1),
            'message.timestamp.type': type,
          }).map(([name, value]) => ({ name, value })),
        })),
    });
  // Otherwise the broker gives its own time to each record.
  await configure('CreateTime');
  const isRejected = ({ i }: PastCall) => share(i, 21) < 0.012;
  const send = async (topic: string, messages: Message[]) => {
    for (let i = 0; i < messages.length; i += BATCH) {
      await producer.send({
        topic: settings.WAYPOST_TOPIC_PREFIX + topic,
        messages: messages.slice(i, i + BATCH),
      });
    }
  };
  await send(
    MESSAGES,
    calls
      .filter((each) => !isRejected(each))
      .map(({ call: { source: name, ...call }, atMs }) => {
        const source = sources.get(name) ?? '';
        const accepted = { acceptedAtMs: atMs, traceparent: newTraceparent() };
        return {
          key: messageKey(source, call),
          value: JSON.stringify({ version: 1, ...call, timestamp: isoTime(atMs) }),
          headers: messageHeaders(source, call, accepted),
          timestamp: String(atMs),
        };
      }),
  );
  await send(
    REJECTED,
    calls.filter(isRejected).map(({ call: { source: name, userId: _, ...call }, atMs }) => {
      const source = sources.get(name) ?? '';
      const why = { code: 'no_user_anon_id', message: 'A call needs `userId` or `anonymousId`.' };
      return {
        key: source,
        value: JSON.stringify({ at: isoTime(atMs), source, ...why, call }),
        headers: { format: FORMAT_HEADER, source },
        timestamp: String(atMs),
      };
    }),
  );
  await configure('LogAppendTime');
  await Promise.all([admin.disconnect(), producer.disconnect()]);
}

/** What the database is to hold, by what the API has created. */
export interface Known {
  nowMs: number;
  calls: readonly PastCall[];
  sources: ReadonlyMap<string, string>;
  /** by the name of the customer */
  destinations: ReadonlyMap<string, Pick<Destination, 'id' | 'webhooks'>>;
  /** of the users on the plan `pro` */
  audience: string;
  /** who acknowledged a notice */
  operator: { id: string; name: string };
}

/** Writes deliveries, notices and changes into the database of a system that does not run. */
export async function writeHistory(dataDir: string, known: Known): Promise<void> {
  const database = await openPglite(join(dataDir, 'history'));
  try {
    const events = known.calls.flatMap((each) => eventsOf(each, known));
    for (let i = 0; i < events.length; i += BATCH) {
      const batch = events.slice(i, i + BATCH);
      await database.transaction(async (transaction) => {
        await recordEvents(transaction, batch, await readParts(transaction));
        await storeEvidence(transaction, batch.flatMap(evidenceIn));
      });
    }
    await saveSyncs(database, syncsOf(known));
    const notices = noticesOf(known, events);
    await addNotices(database, notices);
    for (const { id, acknowledged } of notices) {
      if (acknowledged) await acknowledgeAll(database, { ids: [id] }, acknowledged);
    }
    await moveChanges(database, known.nowMs);
  } finally {
    await database.close();
  }
}

const SYNC_EVERY_MS = 10 * MINUTE_MS;

/** Returns the syncs of the audience, by the users that the calls have introduced until then. */
export function syncsOf({ nowMs, calls, audience }: Known): SyncRow[] {
  const members = new Set<string>();
  const syncs: SyncRow[] = [];
  let looked = 0;
  let sent = 0;
  let changed = 0;
  let bucket = Math.ceil((nowMs - DAY_MS) / SYNC_EVERY_MS) * SYNC_EVERY_MS;
  for (const { call, atMs } of calls) {
    while (atMs >= bucket) {
      sent += changed;
      syncs.push({
        definition: audience,
        bucket,
        at: bucket,
        said: bucket,
        members: members.size,
        looked,
        changed,
        sent,
        waiting: 0,
      });
      looked = 0;
      changed = 0;
      bucket += SYNC_EVERY_MS;
    }
    if (call.type !== 'identify') continue;
    const isMember = call.traits?.plan === 'pro';
    if (isMember !== members.has(call.userId)) changed++;
    if (isMember) members.add(call.userId);
    else members.delete(call.userId);
    looked++;
  }
  return syncs;
}

function evidenceIn(event: object) {
  return evidenceOf(Buffer.from(JSON.stringify(event)));
}

/** Returns what `attempts` would have said of the deliveries of a call. */
export function eventsOf(
  { call, i, atMs }: PastCall,
  known: Known,
): (DeliveryEvent | CircuitEvent)[] {
  return CUSTOMERS.filter((customer) => receives(customer, call)).flatMap((customer) =>
    deliveryEvents(customer, { call, i, atMs }, known),
  );
}

function deliveryEvents(
  { name, host, past }: Customer,
  { call, i, atMs }: PastCall,
  { nowMs, sources, destinations }: Known,
): (DeliveryEvent | CircuitEvent)[] {
  const source = sources.get(call.source) ?? '';
  const destination = destinations.get(name);
  const [webhook] = destination?.webhooks ?? [];
  if (!destination || !webhook) return [];
  const about = {
    delivery: deliveryId(source, call.messageId, destination.id),
    message: call.messageId,
    source,
    destination: destination.id,
    type: call.type,
    event: call.event,
    userId: call.userId,
    acceptedAt: isoTime(atMs),
    expiresAt: isoTime(atMs + WINDOW_MS),
    replay: 0,
    hop: 0,
    traceparent: newTraceparent(),
    record: { topic: 'webhooks', partition: 0, offset: 0 },
  };
  // Most are quick, and few take long.
  const usual: Fate = { kind: 'delivered', ms: Math.round(30 - 45 * Math.log(share(i, 22))) };
  const fate = past?.(nowMs - atMs, i) ?? usual;
  const tookMs = fate.kind === 'delivered' ? fate.ms : 40 + at(i, 22, 120);
  const endpoint = { url: webhook.id, origin: `https://${host}`, destinationVersion: 1 };
  const good: UrlAttempt = {
    ...endpoint,
    outcome: 'delivered',
    status: 200,
    durationMs: tookMs,
    phases: { headers: tookMs },
    response: { headers: {}, body: '{"received":true}', truncated: false },
  };
  const bad = (outcome: 'retry' | 'rejected'): UrlAttempt => {
    const { status, error, body = '' } = 'failure' in fate ? fate.failure : {};
    const response = { headers: {}, body, truncated: false };
    return {
      ...endpoint,
      outcome,
      durationMs: tookMs,
      ...defined({ status, error, response: status === undefined ? undefined : response }),
    };
  };
  const attempt = (n: number, afterMs: number) => ({
    ...about,
    kind: 'attempt' as const,
    n,
    hop: n - 1,
    at: isoTime(atMs + afterMs),
    durationMs: tookMs,
  });
  const first = attempt(1, tookMs);
  switch (fate.kind) {
    case 'delivered':
      return [{ ...first, outcome: 'delivered', urls: [good] }];
    case 'dead':
      return [
        { ...first, outcome: 'rejected', reason: 'rejected', urls: [bad('rejected')] },
        { ...about, kind: 'dead', n: 1, at: first.at, reason: 'rejected' },
      ];
    case 'retried':
    case 'retrying': {
      const isOver = fate.kind === 'retried';
      const failed: DeliveryEvent = {
        ...first,
        outcome: 'retry',
        reason: 'backoff',
        urls: [bad('retry')],
        nextAttemptAt: isoTime(isOver ? atMs + fate.laterMs : nowMs + 10 * MINUTE_MS),
      };
      return isOver
        ? [failed, { ...attempt(2, fate.laterMs), outcome: 'delivered', urls: [good] }]
        : [failed];
    }
    case 'held': {
      const circuit: CircuitEvent = {
        kind: 'circuit',
        ...endpoint,
        destination: destination.id,
        state: 'open',
        why: 'failed',
        at: isoTime(atMs),
      };
      const waiting: DeliveryEvent = {
        ...about,
        kind: 'waiting',
        n: 0,
        at: isoTime(atMs),
        reason: 'circuit_open',
        nextAttemptAt: isoTime(nowMs + 10 * MINUTE_MS),
      };
      return [circuit, waiting];
    }
  }
}

function noticesOf(
  { nowMs, destinations, operator }: Known,
  events: readonly (DeliveryEvent | CircuitEvent)[],
) {
  const ago = (minutes: number) => nowMs - minutes * MINUTE_MS;
  const failuresOf = (name: string, sinceMs: number, untilMs = nowMs) =>
    events.filter(
      (event) =>
        event.kind === 'attempt' &&
        event.destination === destinations.get(name)?.id &&
        event.outcome !== 'delivered' &&
        Date.parse(event.at) >= sinceMs &&
        Date.parse(event.at) < untilMs,
    ).length;
  const notice = (
    name: string,
    about: Pick<Notice, 'kind' | 'at' | 'since' | 'error'> & Partial<Notice>,
  ) => {
    const { host } = CUSTOMERS.find((customer) => customer.name === name) ?? { host: '' };
    const destination = destinations.get(name)?.id ?? '';
    const origin = `https://${host}`;
    const given = { name, destination, origin, alert: 'sent' as const, ...about };
    const error = about.error === null ? null : `${origin}: ${about.error}`;
    return newNotice({ ...given, error }, about.since);
  };
  const outage = { since: ago(582), endedAt: ago(540) };
  return [
    notice('Acme Billing', {
      kind: 'failing',
      at: ago(42),
      since: ago(47),
      failures: failuresOf('Acme Billing', ago(47)),
      error: 'HTTP 500',
    }),
    notice('Falcon Bank', {
      kind: 'failing',
      at: ago(17),
      since: ago(22),
      failures: failuresOf('Falcon Bank', ago(22)),
      error: 'no trusted authority signed the certificate of the endpoint',
    }),
    notice('Borealis CRM', {
      kind: 'dead_letters',
      at: ago(448),
      since: ago(449),
      deadLetters: 1,
      error: 'HTTP 422',
    }),
    notice('Gamma Health', {
      kind: 'failing',
      at: ago(577),
      ...outage,
      failures: failuresOf('Gamma Health', outage.since, outage.endedAt),
      error: 'nothing listens at its port',
      acknowledged: { at: ago(561), by: operator },
    }),
    notice('Gamma Health', {
      kind: 'recovered',
      at: outage.endedAt,
      ...outage,
      error: null,
      acknowledged: { at: ago(530), by: operator },
    }),
  ];
}

/** The destinations are older than their first picture. */
const CREATED_MS = 9 * DAY_MS;

/** Moves the creation of all destinations into the past: their figures begin with it. */
export async function moveCreation({ dataDir, env }: Pick<System, 'dataDir' | 'env'>) {
  const key = readFileSync(join(dataDir, 'secret-key'), 'utf8').trim();
  const settings = loadSettings({ ...env, WAYPOST_SECRET_KEY: key });
  const authenticator = createAuthenticator(settings.WAYPOST_SECRET_KEY ?? []);
  const log = createLog('pictures', 'silent');
  const onFatal = (error: unknown) => {
    throw error;
  };
  const kafka = await connectKafka(settings, { clientId: 'pictures', log });
  const config = await openConfig(kafka, { name: 'pictures', authenticator, log, onFatal });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  const writer = openWriter({ config, producer, authenticator, log, now: () => new Date() });
  for (const { version, data } of config.list('destination')) {
    const createdAt = isoTime(Date.now() - CREATED_MS);
    await writer.write('destination', data.id, { ...data, createdAt }, { replaces: version });
  }
  await Promise.all([writer.close(), producer.close(1_000), config.stop()]);
  await kafka.close();
}

/** When the changes after the creation were made, the oldest first, ms ago. */
const CHANGES_MS = [13, 7.6, 3.9, 0.6].map((hours) => hours * HOUR_MS);

/** Moves the changes that the API has made just now into the past. */
async function moveChanges({ query }: Database, nowMs: number): Promise<void> {
  const changes = await query<{ entry: string; version: number }>(
    "select entry, version from waypost.audit where action = 'changed' order by at",
  );
  await query("update waypost.audit set at = at - $1::bigint where action <> 'changed'", [
    CREATED_MS,
  ]);
  for (const [i, { entry, version }] of changes.entries()) {
    await query('update waypost.audit set at = $3 where entry = $1 and version = $2', [
      entry,
      version,
      nowMs - (CHANGES_MS[i] ?? HOUR_MS),
    ]);
  }
}
