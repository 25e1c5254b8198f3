import { randomBytes, randomUUID } from 'node:crypto';
import { type Admin, Kafka as KafkaJs, logLevel } from 'kafkajs';
import { type Message, messageHeaders, messageKey } from '../../shared/model/message';
import { connectKafka } from '../../shared/kafka/client/client';
import { type BatchProducer, type Kafka, type OutRecord } from '../../shared/kafka/port';
import { ATTEMPTS, MESSAGES, PROFILE_EVENTS, PROFILES } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { newTraceparent } from '../../shared/telemetry/trace';
import { type PostgresServer, postgresServer } from '../support/database';
import { anEvent } from '../support/events';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { limitRecords } from '../support/limit-records';
import { startService } from '../support/service';
import { type Sink, startSink } from '../../tools/harness/sink';
import { type Json, type Source } from '../../tools/harness/api';
import { startSystem, type System, type SystemOptions } from '../../tools/harness/system';
import { FORMAT_HEADER } from '../../shared/model/record-format';

/**
 * Poison records through the whole system: calls go through ingest, and records that only an older
 * version wrote go straight to the topics. Afterwards an ordinary user's call is delivered, and the
 * user is in the audience. `CASES=all` looks at an ordinary user after each kind, which says which
 * kind it was that stopped a service.
 */

const NOW = () => new Date().toISOString();
/** Returns random text: repetitive text is compressed and fits into an index. */
const random = (bytes: number) =>
  randomBytes(Math.ceil((bytes * 3) / 4))
    .toString('base64')
    .slice(0, bytes);
const nested = (depth: number): Json => (depth === 0 ? 1 : { a: nested(depth - 1) });
const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
const text = (json: string) => ({ json });

type Calls = (Record<string, Json> | { json: string })[];
const identifies = (userId: string, traits: (i: number) => Json, count = 1): Calls =>
  Array.from({ length: count }, (_, i) => ({ type: 'identify', userId, traits: traits(i) }));
const track = (over: Record<string, Json>): Calls => [
  { type: 'track', userId: 'poison', event: 'Seen', ...over },
];

/** Ingest may accept or refuse these calls; none of them may stop a service. */
const CALLS: Record<string, Calls> = {
  'ids of 20 KB': [
    ...track({ userId: random(20_000) }),
    { type: 'alias', previousId: 'a', userId: random(20_000) },
  ],
  'ids of 512 bytes': [
    ...track({ userId: random(512) }),
    { type: 'alias', previousId: random(512), userId: random(512) },
  ],
  'an event whose name has 30 KB': track({ event: random(30_000) }),
  'traits whose names have 30 KB': identifies(
    'poison',
    (i) => ({ [`${i}${'n'.repeat(30_000)}`]: 1 }),
    45,
  ),
  'traits that fill a profile': identifies(
    'fat',
    (i) =>
      Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`t${i}-${n}`, '重'.repeat(1_000)])),
    20,
  ),
  'an alias of a full profile to another one': [
    ...identifies(
      'fat2',
      (i) =>
        Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`u${i}-${n}`, '重'.repeat(1_000)])),
      12,
    ),
    { type: 'alias', previousId: 'fat2', userId: 'fat' },
  ],
  NUL: [
    ...track({ userId: 'a\0b', event: 'S\0', properties: { '\0': '\0' } }),
    ...identifies('a\0b', () => ({ plan: 'pro', 'x\0': '\0' })),
  ],
  'half of a surrogate pair': [
    text(
      '{"type":"track","userId":"a\\ud800b","event":"\\udfff","properties":{"\\ud800":"\\udc00"}}',
    ),
    text('{"type":"identify","userId":"a\\ud800b","traits":{"plan":"pro","\\ud800":"\\ud800"}}'),
  ],
  'the largest numbers': [
    ...track({ properties: { total: 1e308 } }),
    ...track({ properties: { total: 1e308 } }),
    text(
      '{"type":"track","userId":"poison","event":"Seen","properties":{"total":1e999,"n":-1e-999}}',
    ),
  ],
  'times at the ends of the calendar': [
    '9999-12-31T23:59:59.999Z',
    '-271821-04-20T00:00:00.000Z',
    '0000-01-01',
    'x',
  ].flatMap((timestamp) => track({ timestamp, sentAt: timestamp })),
  'deep nesting': [...track({ properties: nested(90) }), ...track({ properties: nested(1_000) })],
  'many keys': [...track({ properties: keys(2_400) }), ...identifies('poison', () => keys(2_400))],
  'names of object properties': [
    text(
      '{"type":"identify","userId":"__proto__","traits":{"__proto__":{"plan":"pro"},"constructor":1,"toString":"x"}}',
    ),
    text(
      '{"type":"track","userId":"constructor","event":"__proto__","properties":{"__proto__":{"total":1},"total":"x"}}',
    ),
  ],
  'empty names': [
    ...track({ event: ' ' }),
    ...identifies('poison', () => ({ '': '' })),
    ...track({ userId: ' ', properties: { '': 1 } }),
  ],
};

/** Returns a message as an older ingest would have written it. */
function message(fields: Partial<Message>): OutRecord {
  const whole = {
    messageId: `old-${randomUUID()}`,
    timestamp: NOW(),
    receivedAt: NOW(),
    ...fields,
  } as Message;
  const headers = messageHeaders(stage.source.id, whole, {
    acceptedAtMs: Date.now(),
    traceparent: newTraceparent(),
  });
  return {
    topic: MESSAGES,
    key: messageKey(stage.source.id, whole),
    value: JSON.stringify(whole),
    headers,
  };
}
const event = (over: object): OutRecord => ({
  topic: ATTEMPTS,
  key: 'dlv',
  value: JSON.stringify({
    ...anEvent({ delivery: `dlv_${randomUUID()}`, acceptedAt: NOW(), at: NOW() }),
    ...over,
  }),
});
const profileEvent = (
  value: string | null,
  key: string | null = 'poison',
  headers: Record<string, string> = { format: FORMAT_HEADER },
): OutRecord => ({
  topic: PROFILE_EVENTS,
  key,
  value,
  headers,
});
const identify = (traits: Json) =>
  JSON.stringify({ kind: 'identify', source: 's', traits, atMs: 1 });

const RECORDS: Record<string, () => OutRecord[]> = {
  'messages with ids of 20 KB': () => [
    message({ type: 'track', userId: random(20_000), event: 'Seen' }),
    message({ type: 'identify', userId: random(20_000), traits: { plan: 'pro' } }),
    message({ type: 'alias', previousId: 'poison', userId: random(20_000) }),
    message({ type: 'alias', previousId: random(20_000), userId: 'poison' }),
  ],
  'events of deliveries that no database takes': () => [
    event({ userId: random(20_000) }),
    event({ destination: random(20_000) }),
    event({ acceptedAt: '9999-12-31T00:00:00.000Z' }),
    event({ acceptedAt: '-200000-01-01T00:00:00.000Z' }),
    event({ hop: 2 ** 40 }),
    event({ n: 1e300 }),
    event({ urls: null }),
    event({ userId: 7 }),
    event({ expiresAt: '9999-12-31T00:00:00.000Z', nextAttemptAt: 'never' }),
    { topic: ATTEMPTS, key: 'dlv', value: '{' },
    { topic: ATTEMPTS, key: 'dlv', value: null },
  ],
  'events of profiles that cannot be applied': () => [
    profileEvent('{'),
    profileEvent('null'),
    profileEvent('7'),
    profileEvent(null),
    profileEvent(identify({ a: 1 }), null),
    profileEvent(identify({ a: 1 }), ''),
    profileEvent(identify({ a: 1 }), random(20_000)),
    profileEvent(identify(null)),
    profileEvent('{"kind":"alias"}'),
    profileEvent(JSON.stringify({ kind: 'alias', to: random(20_000) })),
    profileEvent('{"kind":"merge","profile":null}'),
    profileEvent('{"kind":"merge","profile":{"c":{"a":null},"t":{"s":7}}}'),
    profileEvent(
      JSON.stringify({ kind: 'merge', profile: { t: { s: { ['n'.repeat(900_000)]: [1, 1] } } } }),
    ),
    profileEvent('{"kind":"of tomorrow"}'),
    ...Array.from({ length: 45 }, (_, i) =>
      profileEvent(identify({ [`${i}${'n'.repeat(30_000)}`]: 1 }), 'legacy'),
    ),
  ],
};

let stage: {
  system: System;
  sink: Sink;
  kafka: Kafka;
  producer: BatchProducer;
  admin: Admin;
  source: Source;
  audience: string;
};

async function open(options: SystemOptions): Promise<typeof stage> {
  const sink = await startSink({});
  const system = await startSystem(options);
  const settings = loadSettings({ ...system.env, KAFKA_BROKERS: system.brokers });
  const kafka = await connectKafka(settings, {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  const admin = new KafkaJs({ brokers: [system.brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const source = await system.createSource();
  const destination = await system.createDestination({
    sources: [source.id],
    webhooks: [{ url: sink.url('/') }],
  });
  const made = await system.control('POST', '/audiences', {
    name: 'Pros',
    condition: 'user.traits.plan == "pro"',
    syncEvery: '1s',
    destinations: [destination.id],
  });
  await system.control('POST', '/computed-traits', {
    name: 'Spent',
    compute: 'sum',
    event: 'Seen',
    property: 'total',
    syncEvery: '1s',
    destinations: [destination.id],
  });
  return { system, sink, kafka, producer, admin, source, audience: made.body.id };
}

async function call(each: Calls[number]): Promise<number> {
  const { system, source } = stage;
  const body = 'json' in each && typeof each.json === 'string' ? each.json : JSON.stringify(each);
  const { type } = JSON.parse(body) as { type: string };
  const answer = await fetch(`${system.ingestUrl}/v1/${type}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body,
  });
  return answer.status;
}

/** Waits until an ordinary user's call is delivered and in the history. @returns the user */
async function ordinary(): Promise<string> {
  const userId = `ok-${randomUUID()}`;
  // Some services may not know a new destination yet.
  await eventually(
    async () => {
      expect(await call({ type: 'identify', userId, traits: { plan: 'pro' } })).toBe(200);
      await eventually(async () => expect(await statusOf(userId)).toBe('delivered'), {
        deadlineMs: 30_000,
      });
    },
    { deadlineMs: 150_000 },
  );
  return userId;
}

async function statusOf(user: string): Promise<string | undefined> {
  const { body } = await stage.system.control(
    'GET',
    `/deliveries?user=${encodeURIComponent(user)}`,
  );
  return body.data?.[0]?.status;
}

const isMember = (user: string) =>
  eventually(
    async () => {
      const { body } = await stage.system.control(
        'GET',
        `/audiences/${stage.audience}/members?user=${user}`,
      );
      expect(body.data?.map(({ userId }: Json) => userId)).toEqual([user]);
    },
    { deadlineMs: 60_000 },
  );

let server: PostgresServer;
beforeAll(async () => {
  server = await postgresServer();
});
afterAll(() => server.stop());

/** All kinds together, or each alone: one that stops a service stops the user after it. */
const rows = <T>(kinds: Record<string, T>, together: T): [string, T][] =>
  process.env.CASES === 'all' ? Object.entries(kinds) : [['any of these', together]];

describe.each(['PGlite', 'PostgreSQL'])('with a history in %s', (database) => {
  let pids: number[];
  const processes = () => [...stage.system.pids('audiences'), ...stage.system.pids('control')];
  beforeAll(async () => {
    stage = await open(
      database === 'PGlite'
        ? {}
        : {
            env: { WAYPOST_DATABASE_URL: server.url },
            together: true,
          },
    );
    await isMember(await ordinary());
    pids = processes();
  }, 400_000);
  afterAll(async () => {
    const { producer, kafka, admin, system, sink } = stage;
    await admin.disconnect();
    await producer.close(1_000);
    await kafka.close();
    await system.discard();
    await sink.close();
  });

  test.each(rows(CALLS, Object.values(CALLS).flat()))(
    'calls with %s do not stop other users',
    async (_, calls) => {
      for (const each of calls) expect([200, 400, 413]).toContain(await call(each));
      await ordinary();
    },
  );

  const records = () => Object.values(RECORDS).flatMap((make) => make());
  test.each(rows(RECORDS, records))('%s do not stop other users', async (_, make) => {
    for (const record of make()) await stage.producer.send([record]);
    await ordinary();
  });

  test('the history finds the delivery of a user with a too long id by the whole id', async () => {
    const userId = random(3_000);
    await stage.producer.send([message({ type: 'track', userId, event: 'Seen' })]);
    await eventually(async () => expect(await statusOf(userId)).toBe('delivered'), {
      deadlineMs: 60_000,
    });
  });

  test('after all poison records the same processes run, and new members are listed', async () => {
    await isMember(await ordinary());
    expect(processes()).toEqual(pids);
    const { body } = await stage.system.control('GET', '/notices');
    expect(Array.isArray(body.data)).toBe(true);
  });

  // No database takes part in what follows.
  if (database !== 'PGlite') return;

  test('a profile that Kafka refuses stays unchanged, and the others are written', async () => {
    const topic = `${stage.system.prefix}${PROFILES}`;
    const limitTo = (bytes: number) => limitRecords(stage.admin, topic, bytes, 'compact');
    expect(await call({ type: 'identify', userId: 'refused', traits: { plan: 'pro' } })).toBe(200);
    await isMember('refused');
    await limitTo(20_000);
    const traits = Object.fromEntries(
      Array.from({ length: 28 }, (_, i) => [`t${i}`, random(1_000)]),
    );
    expect(await call({ type: 'identify', userId: 'refused', traits })).toBe(200);
    await isMember(await ordinary());
    // The ordinary user may be in another partition.
    await eventually(() => expect(stage.system.output()).toContain('profile.refused'));
    await limitTo(1_048_576);
    const full = async () =>
      (await stage.system.control('GET', `/audiences/${stage.audience}`)).body.status
        .full as number;
    await eventually(async () => expect(await full()).toBeGreaterThanOrEqual(1), {
      deadlineMs: 60_000,
    });
    expect(processes()).toEqual(pids);
  }, 400_000);

  test('a second audiences process on the same stores exits and names the first', async () => {
    const [port] = await freePorts(1);
    const env = {
      ...stage.system.env,
      KAFKA_BROKERS: stage.system.brokers,
      WAYPOST_AUDIENCES_HEALTH_PORT: String(port),
    };
    const pid = stage.system.pids('audiences')[0]!;
    await expect(startService('audiences', env)).rejects.toThrow(
      `Another Waypost (pid ${pid}) uses the data dir`,
    );
  });

  test('audiences refuse to start if profiles gained partitions since their creation', async () => {
    const topic = `${stage.system.prefix}${PROFILE_EVENTS}`;
    await stage.admin.createPartitions({ topicPartitions: [{ topic, count: 6 }] });
    stage.system.kill('audiences');
    await eventually(
      () =>
        expect(stage.system.output()).toContain(
          'has 6 partitions, and its profiles were made with 3',
        ),
      { deadlineMs: 150_000 },
    );
  }, 400_000);
});
