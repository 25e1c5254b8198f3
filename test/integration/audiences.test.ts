import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { QueryClient } from '../../services/control/audiences/query-client';
import { type MemberPosition, MemberPages } from '../../services/control/audiences/member-pages';
import { uploadHandlers } from '../../services/control/audiences/member-routes';
import { Previews, type PreviewView } from '../../services/control/audiences/previews';
import { ProfileStatus } from '../../services/control/audiences/status';
import { openConfigEntries } from '../../services/control/config/config-entries';
import { deletionRecords } from '../../services/control/deletions/model';
import { type FollowedConfig, openConfig } from '../../shared/config/reader';
import { createAuthenticator } from '../../shared/config/authentication';
import { type ConfigWriter, openWriter } from '../../shared/config/writer';
import { type Source } from '../../shared/model/config';
import { type Audience, type ComputedTrait } from '../../shared/model/audience-definition';
import { type Message, messageHeaders, messageKey } from '../../shared/model/message';
import { connectKafka } from '../../shared/kafka/client/client';
import { type BatchProducer, type Kafka, type OutRecord, type Tail } from '../../shared/kafka/port';
import { MESSAGES, PROFILE_EVENTS } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { newTraceparent } from '../../shared/telemetry/trace';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { type Service, startService } from '../support/service';

/**
 * Audiences on a real Kafka, while their processes are killed, share partitions and lose their
 * stores. The test receiver reads the syncs in `messages`; its expected state follows from the
 * calls that were sent.
 */

const USERS = 120;
const MESSAGE_COUNT = 3_000;
/** Each round of two is of another kind: a process loses its store, and one keeps it. */
const ROUNDS = process.env.CASES === 'all' ? 4 : 2;
const PARTITIONS = 4;

const dir = mkdtempSync(join(tmpdir(), 'waypost-audiences-'));
const env = {
  KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
  WAYPOST_TOPIC_PREFIX: `audiences-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: String(PARTITIONS),
  WAYPOST_REPLICATION: '1',
  WAYPOST_HOST: '127.0.0.1',
};
const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};

let kafka: Kafka;
let producer: BatchProducer;
let config: FollowedConfig;
let writer: ConfigWriter;
let tail: Tail;
let previews: Previews;
let members: MemberPages;
let close: (() => Promise<void>)[] = [];
const running = new Map<string, Service>();
const ports = new Map<string, number>();

interface Known {
  value: unknown;
  at: string;
  /** number of changes of the value */
  changes: number;
}
/** state of the receiver, by trait and user */
const known = new Map<string, Known>();
const ids = new Set<string>();

beforeAll(async () => {
  kafka = await connectKafka(loadSettings(env), { clientId: 'test', log });
  producer = await kafka.producer({ maxPendingBytes: Infinity, deliveryTimeoutMs: 'retry' });
  const authenticator = createAuthenticator([randomBytes(32)]);
  config = await openConfig(kafka, { name: 'test', log, onFatal });
  writer = openWriter({ config, producer, authenticator, log, now: () => new Date() });
  tail = await kafka.tail({
    name: 'receiver',
    topic: MESSAGES,
    from: 'beginning',
    onFatal,
    onRecord: (record) => {
      const message = JSON.parse(String(record.value)) as Message;
      if (message.context?.audience === undefined && message.context?.computedTrait === undefined) {
        return;
      }
      // The router drops copies.
      if (ids.has(message.messageId)) return;
      ids.add(message.messageId);
      for (const [trait, value] of Object.entries(message.traits ?? {})) {
        const key = `${trait} ${message.userId}`;
        const before = known.get(key);
        if (before && before.at >= message.timestamp) {
          throw new Error(`${key} was told with an older time`);
        }
        known.set(key, { value, at: message.timestamp, changes: (before?.changes ?? 0) + 1 });
      }
    },
  });
  const asking = new QueryClient(kafka, producer, log);
  previews = new Previews(asking, () => new Date(), { wasDeletedSince: () => false });
  members = new MemberPages(asking, () => new Date());
  close = [
    () => asking.stop(),
    () => tail.stop(),
    () => config.stop(),
    () => producer.close(1_000),
    () => kafka.close(),
  ];
});

afterAll(async () => {
  await Promise.all([...running.values()].map((service) => service.kill()));
  for (const each of close) await each();
  rmSync(dir, { recursive: true, force: true });
});

async function start(name: string): Promise<void> {
  const port = ports.get(name) ?? (await freePorts(1))[0]!;
  ports.set(name, port);
  const own = { WAYPOST_AUDIENCES_HEALTH_PORT: String(port), WAYPOST_DATA_DIR: join(dir, name) };
  running.set(name, await startService('audiences', { ...env, ...own }));
  // Once it has partitions, a kill interrupts its work.
  await eventually(() => {
    expect(existsSync(join(dir, name, 'audiences'))).toBe(true);
  });
}

async function kill(name: string): Promise<void> {
  const service = running.get(name)!;
  running.delete(name);
  await service.kill();
}

async function define(
  what: Partial<Audience> | Partial<ComputedTrait>,
  kind: 'audience' | 'computed_trait',
): Promise<void> {
  const id = `${kind === 'audience' ? 'aud' : 'trt'}_${what.key!}`;
  const at = new Date().toISOString();
  const source: Source = {
    id: `src_${id}`,
    name: id,
    enabled: true,
    writeKeys: [],
    of: id,
    createdAt: at,
    updatedAt: at,
  };
  await writer.write('source', source.id, source, { replaces: 0 });
  const history = (await kafka.ranges(MESSAGES)).map(({ high }) => high);
  const all = {
    id,
    name: what.key!,
    revision: 1,
    history,
    source: source.id,
    syncEveryMs: 500,
    createdAt: at,
    updatedAt: at,
  };
  await writer.write(kind, id, { ...all, ...what } as Audience & ComputedTrait, { replaces: 0 });
}

function messageOf(n: number): Message {
  const userId = `user-${(n * 7) % USERS}`;
  const at = new Date().toISOString();
  const base = { messageId: `m${n}`, timestamp: at, receivedAt: at, userId };
  if (n % 10 === 0) {
    return { ...base, type: 'identify', traits: { plan: n % 20 === 0 ? 'pro' : 'free', n } };
  }
  return {
    ...base,
    type: 'track',
    event: n % 3 === 0 ? 'Order Completed' : 'Seen',
    properties: { total: n % 50 },
  };
}

function recordOf(message: Message, source: string): OutRecord {
  const headers = messageHeaders(source, message, {
    acceptedAtMs: Date.now(),
    traceparent: newTraceparent(),
  });
  return {
    topic: MESSAGES,
    key: messageKey(source, message),
    value: JSON.stringify(message),
    headers,
  };
}

const sent: Message[] = [];
async function send(count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, i) => messageOf(sent.length + i));
  sent.push(...messages);
  await producer.send(
    messages.flatMap((message, i) => {
      const record = recordOf(message, `src_${i % 3}`);
      // A client repeats a call when it has no answer.
      return i % 25 === 0 ? [record, record] : [record];
    }),
  );
}

/**
 * Sends copies of the last calls to other partitions, as ingest does while a partition cannot be
 * written.
 */
async function repeatLast(count: number): Promise<void> {
  const copies = sent
    .slice(-count)
    .map((message, i) => ({ ...recordOf(message, `src_${i % 3}`), partition: i % PARTITIONS }));
  await producer.send(copies);
}

/** Resolves when the service has committed every record of its topics. */
async function allRead(): Promise<void> {
  for (const [group, topic] of [
    ['audiences', MESSAGES],
    ['audiences-profiles', PROFILE_EVENTS],
  ] as const) {
    const ends = (await kafka.ranges(topic))
      .sort((a, b) => a.partition - b.partition)
      .map(({ high }) => high);
    await eventually(
      async () => {
        const committed = await kafka.committed(group, topic);
        expect(
          ends.map((end, i) => end - (committed[i] ?? 0)).filter((behind) => behind > 0),
        ).toEqual([]);
      },
      { deadlineMs: 150_000 },
    );
  }
}

/**
 * True once the trait `late` is defined: it counts the same events as `seen`, and is created later.
 */
let isLateDefined = false;

/** Returns the state that the receiver must have after all calls. */
function expected(): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (let i = 0; i < USERS; i++) {
    const own = sent.filter(({ userId }) => userId === `user-${i}`);
    const orders = own.filter(({ event }) => event === 'Order Completed');
    const totals = orders.map(({ properties }) => properties!.total as number);
    const plan = own.findLast(({ type }) => type === 'identify')?.traits?.plan;
    all[`buyers user-${i}`] = orders.length >= 5;
    all[`pros user-${i}`] = plan === 'pro';
    all[`spent user-${i}`] = totals.reduce((sum, total) => sum + total, 0);
    all[`seen user-${i}`] = own.filter(({ event }) => event === 'Seen').length;
    if (isLateDefined) all[`late user-${i}`] = all[`seen user-${i}`];
  }
  return all;
}

/** Waits until the receiver has the state that it must have after all calls. */
function settled(): Promise<void> {
  const right = expected();
  const valueOf = (key: string) =>
    known.get(key)?.value ?? (/^(buyers|pros)/.test(key) ? false : 0);
  return eventually(
    () => {
      const wrong = Object.entries(right).filter(([key, value]) => valueOf(key) !== value);
      expect(wrong.slice(0, 5)).toEqual([]);
    },
    { deadlineMs: 150_000, everyMs: 200 },
  );
}

test('no call is counted twice or lost while audiences die, join and lose stores', async () => {
  // Sent before there is a definition: the first sync includes these calls.
  await send(600);
  await define({ key: 'buyers', condition: 'count("Order Completed") >= 5' }, 'audience');
  await define(
    { key: 'spent', compute: 'sum', event: 'Order Completed', property: 'total' },
    'computed_trait',
  );
  await start('a');
  await define({ key: 'pros', condition: 'user.traits.plan == "pro"' }, 'audience');
  for (let round = 0; round < ROUNDS; round++) {
    await send(MESSAGE_COUNT / ROUNDS / 2);
    await start('b');
    const other = send(MESSAGE_COUNT / ROUNDS / 2);
    // Each round kills the other process, and some come back without their store.
    const victim = round % 2 === 0 ? 'a' : 'b';
    await kill(victim);
    if (round % 2 === 0) rmSync(join(dir, victim), { recursive: true, force: true });
    await other;
    if (victim === 'a') await start('a');
    else if (round === 1) {
      await define({ key: 'seen', compute: 'count', event: 'Seen' }, 'computed_trait');
    }
    if (running.has('b')) await kill('b');
  }
  // With the store that it kept.
  await start('b');
  await settled();
  await kill('b');

  // Members of this audience stay members: each is sent once.
  const flips = [...known].filter(([key, { changes }]) => key.startsWith('buyers') && changes > 1);
  expect(flips).toEqual([]);

  // The process restores from the changelog alone and sends nothing again.
  const before = new Map([...known].map(([key, { changes }]) => [key, changes]));
  await kill('a');
  rmSync(join(dir, 'a'), { recursive: true });
  await start('a');
  await send(1);
  await settled();
  const again = [...known]
    .filter(([key, { changes }]) => changes > (before.get(key) ?? 0))
    .map(([key]) => key);
  expect(again.every((key) => key.endsWith(` ${sent.at(-1)!.userId}`))).toBe(true);
}, 900_000);

test('copies of a call in several partitions count once, also after a restart', async () => {
  // The source of a call follows from its index in one `send`, so that a copy has the same source.
  const calls = USERS / 2;
  await send(calls);
  await repeatLast(calls);
  await allRead();
  await kill('a');
  await repeatLast(calls);
  await start('a');
  await allRead();
  await define({ key: 'late', compute: 'count', event: 'Seen' }, 'computed_trait');
  isLateDefined = true;
  // One more call of each user makes the current count reach the receiver.
  await send(USERS);
  await settled();
}, 600_000);

const names = Array.from({ length: USERS }, (_, i) => `user-${i}`);
function inAs(key: string, value: unknown): string[] {
  const all = expected();
  return names.filter((user) => all[`${key} ${user}`] === value);
}

/** Starts a preview and waits until it has ended or failed. */
async function previewed(condition: string): Promise<PreviewView> {
  const { id } = await previews.start({ condition }, 'admin');
  return eventually(
    () => {
      const view = previews.get(id);
      if (view.phase === 'counting') throw new Error(`still counting: ${JSON.stringify(view)}`);
      return view;
    },
    { deadlineMs: 150_000 },
  );
}

/** Returns all members, page by page. */
async function listed(definition: string): Promise<string[]> {
  const found: string[] = [];
  for (let from: MemberPosition | undefined = { partition: 0 }; from;) {
    const page = await members.page({
      definition,
      limit: 40,
      from,
      expected: new Map(),
    });
    found.push(...page.members.map(({ userId }) => userId));
    from = page.next;
  }
  return found.sort();
}

test("a preview has the audience's size, and the member list exactly the members", async () => {
  const all = expected();
  const buyers = inAs('buyers', true);
  expect(await previewed('count("Order Completed") >= 5')).toMatchObject({
    phase: 'done',
    members: buyers.length,
    exact: true,
  });
  const pros = await previewed('user.traits.plan == "pro"');
  expect(pros).toMatchObject({
    phase: 'done',
    members: inAs('pros', true).length,
    exact: true,
    looked: USERS,
    of: USERS,
  });
  expect(pros.sample.every(({ userId }) => all[`pros ${userId}`])).toBe(true);

  expect(await listed('aud_buyers')).toEqual(buyers.sort());
  const spender = names.find((user) => all[`spent ${user}`] !== 0)!;
  const value = all[`spent ${spender}`];
  expect(await members.find('trt_spent', spender)).toMatchObject({ userId: spender, value });
  expect(await members.find('aud_buyers', 'nobody')).toBeUndefined();
}, 400_000);

test('while partitions move, no preview reports a wrong size as complete', async () => {
  const right = inAs('buyers', true).length;
  let moving = true;
  const moves = (async () => {
    await start('b');
    await kill('a');
    await start('a');
    await kill('b');
  })().finally(() => (moving = false));
  const seen: PreviewView[] = [];
  while (moving) seen.push(await previewed('count("Order Completed") >= 5'));
  await moves;
  seen.push(await previewed('count("Order Completed") >= 5'));
  expect(seen.map(({ phase, members: size, exact }) => [phase, size, exact])).toEqual(
    seen.map(() => ['done', right, true]),
  );
}, 600_000);

/** Returns the number of users whose profiles a process has. */
async function profilesOf(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${ports.get(name)!}/metrics`)).text();
  return Number(/^waypost_profiles(?:\{.*\})? (\d+)/m.exec(text)?.[1] ?? 0);
}

test('what comes while one of two processes is frozen counts in its partitions too', async () => {
  const audience = 'aud_invited';
  await start('b');
  await define({ key: 'invited' }, 'audience');
  /** by partition, the last upload that it has applied */
  const applied = new Map<number, number>();
  /** the same, whenever the audience is live with the upload */
  const liveWith: number[][] = [];
  let upload = Infinity;
  const phase = () => {
    const { data } = config.audience(audience)!;
    return status.of(audience, data).phase;
  };
  const status: ProfileStatus = new ProfileStatus(({ definition, partition, upload: last }) => {
    if (definition !== audience) return;
    applied.set(partition, last);
    if (upload < Infinity && phase() === 'live') liveWith.push([...applied.values()]);
  });
  await status.open(kafka, onFatal);
  const deadline = { deadlineMs: 150_000 };
  await eventually(async () => {
    const [ofA, ofB] = await Promise.all([profilesOf('a'), profilesOf('b')]);
    expect([Math.min(ofA, ofB) > 0, ofA + ofB]).toEqual([true, USERS]);
    expect(phase()).toBe('live');
  }, deadline);

  const frozen = running.get('b')!;
  process.kill(frozen.pid, 'SIGSTOP');
  const deleted = names.slice(0, 10);
  const invited = Array.from({ length: 300 }, (_, i) => `invited-${String(i)}`);
  try {
    const handlers = uploadHandlers({
      entries: openConfigEntries(config, writer),
      kafka,
      producer,
      now: () => new Date(),
      log,
    });
    const lines = [...invited, ...deleted].map((user) => Buffer.from(`"${user}"\n`));
    const done = await handlers['PUT /audiences/{id}/members']({
      id: audience,
      by: { id: 'tok_1', name: 'test', role: 'admin' },
      req: Readable.from(lines),
      stillAllowed: () => true,
    } as never);
    upload = (done as { upload: number }).upload;
    const wanted = { users: deleted, anonymous: [], sources: null, affected: [] };
    await producer.send(deletionRecords(wanted, Date.now() + 1));
    await eventually(() => expect([...applied.values()]).toContain(upload), deadline);
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
  }
  await eventually(() => expect(phase()).toBe('live'), deadline);
  const ofAll = Array.from({ length: PARTITIONS }, () => upload);
  expect(liveWith).toEqual(liveWith.map(() => ofAll));
  await eventually(async () => {
    expect(await listed(audience)).toEqual(invited.toSorted());
    const told = invited.filter((user) => known.get(`invited ${user}`)?.value === true);
    expect(told).toEqual(invited);
    const buyers = inAs('buyers', true).filter((user) => !deleted.includes(user));
    expect(await listed('aud_buyers')).toEqual(buyers.sort());
  }, deadline);
  await status.stop();
}, 600_000);

test('without an audiences process previews and lists are unavailable, not empty', async () => {
  await Promise.all([...running.keys()].map(kill));
  const unavailable = { status: 503, also: { headers: { 'Retry-After': '5' } } };
  await expect(previews.start({ condition: 'true' }, 'admin')).rejects.toMatchObject(unavailable);
  await expect(
    members.page({
      definition: 'aud_buyers',
      limit: 7,
      from: { partition: 0 },
      expected: new Map(),
    }),
  ).rejects.toMatchObject(unavailable);
});
