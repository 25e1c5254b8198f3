import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Database } from '../../services/control/history/database';
import { openPostgres } from '../../services/control/history/postgres';
import { type InRecord } from '../../shared/kafka/port';
import { DELETIONS, PROFILES, specsOf } from '../../shared/kafka/topics';
import { ROOT } from '../../shared/runtime/repo-root';
import { loadSettings } from '../../shared/runtime/settings';
import { type Json } from '../../tools/harness/api';
import { randomOf } from '../../tools/harness/random';
import { type ReceivedRequest } from '../../tools/harness/sink';
import { waypost } from '../support/cli';
import { type PostgresServer, postgresServer } from '../support/database';
import { eventually } from '../support/eventually';
import { type Call, aCall, aTrack } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { readTopic } from '../support/topics';

/**
 * Deletions of users in a whole system, with its history on a server: what leaves afterwards, and
 * what each store still has.
 * `DELETIONS=all` runs the load that the nightly workflow asks for.
 */

let server: PostgresServer;
let stage: StorySystem;
beforeAll(async () => {
  server = await postgresServer();
  stage = await openStorySystem({
    together: true,
    env: { WAYPOST_DATABASE_URL: server.url, WAYPOST_RETRY_DELAYS: '1s,3s' },
  });
});
afterAll(async () => {
  await stage.close();
  await server.stop();
});

/** Part of every address that a call has here. Nothing else has it. */
const NEEDLE = '@haystack.example';

/** Control has the lowest priority, and the machine of a test is busy. */
const PATIENT = { deadlineMs: 240_000, everyMs: 500 };

const get = async (path: string): Promise<Json> => (await stage.system.control('GET', path)).body;
const post = async (path: string, body: object = {}): Promise<Json> => {
  const answer = await stage.system.control('POST', path, body);
  expect(answer.status).toBeLessThan(300);
  return answer.body;
};

/** Deletes users. A busy database may take longer than other requests may. */
async function forget(body: object): Promise<{ id: string; at: string }> {
  const { controlUrl, adminToken } = stage.system;
  const response = await fetch(`${controlUrl}/api/v1/deletions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(202);
  return (await response.json()) as { id: string; at: string };
}

describe('under load', () => {
  const USERS = 50;
  const { PER_SECOND, SECONDS } =
    process.env.DELETIONS === 'all'
      ? { PER_SECOND: 200, SECONDS: 60 }
      : { PER_SECOND: 40, SECONDS: 10 };
  /** webhooks, in batches, and by a destination that is paused and resumed */
  const PATHS = ['/half', '/half-batches', '/half-paused'];

  /** A call is accepted between these times, ms since 1970. */
  interface Sent {
    user: string;
    begunMs: number;
    acknowledgedMs: number;
  }

  /** All clocks of this test are one. Calls between the two times may be sent or not. */
  interface Deleted {
    at: string;
    answeredMs: number;
  }

  test('no older call of a user reaches a receiver after `delete`, but later ones do', async () => {
    const { sink, system } = stage;
    let draining = false;
    let asked = 0;
    const answers = () => ({ status: draining || asked++ % 2 === 0 ? 200 : 503 });
    for (const path of PATHS) sink.on(path, answers);
    const source = await system.createSource('Load');
    const webhooks = (path: string) => [{ url: sink.url(path) }];
    const base = { sources: [source.id] };
    await system.createDestination({ ...base, name: 'Single', webhooks: webhooks('/half') });
    await system.createDestination({
      ...base,
      name: 'Batches',
      webhooks: webhooks('/half-batches'),
      batch: { maxEvents: 10, maxWait: '200ms' },
    });
    const paused = await system.createDestination({
      ...base,
      name: 'Paused',
      webhooks: webhooks('/half-paused'),
    });
    await stage.settled();

    const sent = new Map<string, Sent>();
    /** by user, the deletions in their order */
    const deleted = new Map<string, Deleted[]>();
    const open: Promise<unknown>[] = [];
    const call = async (user: string) => {
      const made = aTrack({ userId: user, properties: { email: `${user}${NEEDLE}` } });
      const begunMs = Date.now();
      const { status } = await system.send(source.writeKey, 'track', made);
      if (status === 200) sent.set(made.messageId, { user, begunMs, acknowledgedMs: Date.now() });
    };
    const forgetUser = async (user: string) => {
      const { at } = await forget({ userIds: [user], sources: [source.id] });
      const known = deleted.get(user) ?? [];
      deleted.set(user, [...known, { at, answeredMs: Date.now() }]);
    };
    const seed = Number(process.env.SEED ?? Date.now() % 1e9);
    process.stderr.write(`deletions under load: SEED=${String(seed)}\n`);
    const random = randomOf(seed);
    const users = Array.from({ length: USERS }, (_, i) => `user-${String(i)}`);
    for (let tick = 0; tick < SECONDS * 10; tick++) {
      for (let i = 0; i < PER_SECOND / 10; i++) open.push(call(random.one(users)));
      if (random.next() < 1 / 10) open.push(forgetUser(random.one(users)));
      if (tick % 40 === 10) {
        open.push(system.control('PATCH', `/destinations/${paused.id}`, { paused: true }));
      }
      if (tick % 40 === 30) {
        open.push(system.control('PATCH', `/destinations/${paused.id}`, { paused: false }));
      }
      if (tick % 40 === 35) open.push(post(`/destinations/${paused.id}/retry`));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await Promise.all(open);
    await system.control('PATCH', `/destinations/${paused.id}`, { paused: false });
    draining = true;

    const isOlderThan = (messageId: string, { at }: Deleted) =>
      sent.get(messageId)!.acknowledgedMs < Date.parse(at);
    const mustArrive = [...sent]
      .filter(([, { user, begunMs }]) =>
        (deleted.get(user) ?? []).every(({ answeredMs }) => begunMs > answeredMs),
      )
      .map(([id]) => id);
    const eventsAt = (path: string) => sink.received(path).flatMap(eventsIn);
    await eventually(() => {
      for (const path of PATHS) {
        const arrived = new Set(eventsAt(path).map(({ messageId }) => messageId));
        expect(mustArrive.filter((id) => !arrived.has(id))).toEqual([]);
        const deletes = eventsAt(path).filter(({ type }) => type === 'delete');
        for (const [user, all] of deleted) {
          for (const { at } of all) {
            const isIt = (each: Json) => each.userId === user && each.timestamp === at;
            expect(deletes.some(isIt) ? 'sent' : `${path} lacks ${user}`).toBe('sent');
          }
        }
      }
    }, PATIENT);

    const late: string[] = [];
    for (const path of PATHS) {
      const told = new Map<string, Deleted>();
      for (const event of eventsAt(path)) {
        if (event.type === 'delete') {
          const deletion = deleted.get(event.userId)!.find(({ at }) => at === event.timestamp)!;
          const known = told.get(event.userId);
          if (!known || known.at < deletion.at) told.set(event.userId, deletion);
          continue;
        }
        const deletion = told.get(event.userId);
        if (deletion && isOlderThan(event.messageId, deletion)) {
          late.push(`${path}: ${event.messageId} of ${event.userId}`);
        }
      }
    }
    expect(late).toEqual([]);
    // Some calls waited when their user was deleted.
    const cancelled = [...sent.keys()].flatMap((id) =>
      stage.topics
        .eventsOf(id)
        .filter((event) => event.kind === 'cancelled' && event.reason === 'user_deleted'),
    );
    expect(cancelled.length).toBeGreaterThan(0);

    // The next test looks for what is left of them in every store.
    const { at } = await forget({ userIds: users });
    await eventually(() => {
      for (const path of PATHS) {
        const told = eventsAt(path).filter(
          ({ type, timestamp }) => type === 'delete' && timestamp === at,
        );
        expect([path, new Set(told.map(({ userId }) => userId as string)).size]).toEqual([
          path,
          USERS,
        ]);
      }
    }, PATIENT);
  }, 900_000);
});

/** Returns the events of a request, alone or in a batch. */
function eventsIn({ body }: ReceivedRequest): Json[] {
  if (body.length === 0) return [];
  const read = JSON.parse(body.toString());
  return Array.isArray(read) ? read : [read];
}

describe("a deleted user's e-mail", () => {
  const EMAIL = `needle.kim${NEEDLE}`;
  const USER = 'user-kim';
  const VISITOR = 'visitor-kim';

  /** by store: its row in docs/operations/deletions.md */
  const rows = readFileSync(join(ROOT, 'docs/operations/deletions.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  /** Returns what the docs say that a deletion does to a topic. */
  const saidOf = (topic: string) => {
    const named = topic.startsWith('webhooks.retry.') ? 'webhooks.retry.*' : topic;
    return rows.find(([, store]) => store!.includes(`\`${named}\``) && !/waits/.test(store!))?.[2];
  };
  const has = ({ value, headers, key }: InRecord) =>
    [value?.toString(), key?.toString(), JSON.stringify(headers)].join().includes(NEEDLE);

  test('is nowhere but where the docs say that it remains', async () => {
    const { sink, system, topics } = stage;
    sink.on('/fine', ({ body }) => ({ status: 200, body: body.toString() }));
    sink.on('/refuses', { status: 400 });
    sink.on('/fails', { status: 503, body: `not now, ${EMAIL}` });
    const source = await system.createSource('Needle');
    const other = await system.createSource('Needle without receiver');
    const base = { sources: [source.id] };
    const to = (path: string) => ({ ...base, name: path, webhooks: [{ url: sink.url(path) }] });
    const fine = await system.createDestination(to('/fine'));
    await system.createDestination(to('/refuses'));
    await system.createDestination(to('/fails'));
    await system.createDestination({ ...to('/fine-paused'), paused: true });
    const audience = await post('/audiences', {
      name: 'Pro',
      condition: 'user.traits.plan == "pro"',
      syncEvery: '1s',
      destinations: [fine.id],
    });
    const trait = await post('/computed-traits', {
      name: 'Last address',
      compute: 'last',
      event: 'Order Completed',
      property: 'email',
      syncEvery: '1s',
      destinations: [fine.id],
    });
    await stage.settled();

    const about = { userId: USER, context: { traits: { email: EMAIL } } };
    const calls: Call[] = [
      aCall('identify', { ...about, traits: { email: EMAIL, plan: 'pro' } }),
      aTrack({ ...about, properties: { email: EMAIL } }),
      {
        ...aTrack({ properties: { email: EMAIL } }),
        userId: undefined,
        anonymousId: VISITOR,
      } as never,
    ];
    for (const call of calls) await system.send(source.writeKey, call.type, call);
    await system.send(
      other.writeKey,
      'identify',
      aCall('identify', { ...about, traits: { email: EMAIL } }),
    );
    await system.send(source.writeKey, 'batch', {
      batch: [{ type: 'track', userId: USER, properties: { email: EMAIL } }],
    });
    const list = async (path: string) => (await get(path)).data as Json[];
    // Everything has it: otherwise this test shows nothing.
    await eventually(async () => {
      expect((await list(`/deliveries?user=${USER}&status=dead`)).length).toBeGreaterThan(1);
      expect((await list(`/deliveries?user=${USER}&status=delivered`)).length).toBeGreaterThan(1);
      expect((await list(`/deliveries?q=${EMAIL}`)).length).toBeGreaterThan(3);
      expect(await list(`/audiences/${audience.id}/members?user=${USER}`)).toHaveLength(1);
      expect(JSON.stringify(await get(`/computed-traits/${trait.id}/members`))).toContain(EMAIL);
      expect(JSON.stringify(await get('/events'))).toContain(EMAIL);
      expect(await list(`/lookup?user=${USER}`)).not.toEqual([]);
    }, PATIENT);
    const preview = await post('/audiences/preview', { condition: 'user.traits.plan == "pro"' });
    await eventually(async () => {
      expect(JSON.stringify(await get(`/audiences/previews/${preview.id}`))).toContain(EMAIL);
    }, PATIENT);
    const answered = (await list(`/deliveries?message=${calls[0]!.messageId}&status=delivered`))[0]
      .id;
    expect(JSON.stringify(await get(`/deliveries/${answered}`))).toContain(EMAIL);

    // What its endpoint answers to the `delete` is stored.
    sink.on('/fails', { status: 503 });
    const { id } = await forget({ userIds: [USER], anonymousIds: [VISITOR] });
    await eventually(() => {
      for (const { messageId } of calls) {
        const ends = topics.eventsOf(messageId).filter(({ kind }) => kind === 'cancelled');
        // Those of the endpoint that fails, and of the destination that is paused.
        expect(ends.map((end) => 'reason' in end && end.reason)).toEqual(
          Array.from({ length: 2 }, () => 'user_deleted'),
        );
      }
    }, PATIENT);
    await eventually(async () => {
      expect(await list(`/audiences/${audience.id}/members?user=${USER}`)).toEqual([]);
      expect(await list(`/audiences/${audience.id}/members`)).toEqual([]);
      expect(await list(`/computed-traits/${trait.id}/members`)).toEqual([]);
    }, PATIENT);

    // What the API shows.
    const again = await post('/audiences/preview', { condition: 'user.traits.plan == "pro"' });
    const paths = [
      `/audiences/previews/${preview.id}`,
      `/audiences/previews/${again.id}`,
      `/audiences/${audience.id}/syncs`,
      `/computed-traits/${trait.id}/syncs`,
      `/deliveries/${answered}`,
      `/deliveries?q=${EMAIL}`,
      `/deliveries?limit=100`,
      `/lookup?user=${USER}`,
      `/lookup?message=${calls[0]!.messageId}`,
      '/events',
      '/notices',
      '/audit',
      '/overview',
      '/deletions',
      `/deletions/${id}`,
      `/sources/${source.id}/events`,
    ];
    for (const path of paths) {
      const { body } = await eventually(() => system.control('GET', path), PATIENT);
      const shown = JSON.stringify(body).replaceAll(encodeURIComponent(EMAIL), '');
      expect([path, shown.includes(EMAIL)]).toEqual([path, false]);
    }
    await eventually(async () => {
      const left = (await list(`/deliveries?user=${USER}`)).map(({ type }) => type as string);
      expect(new Set(left)).toEqual(new Set(['delete']));
    }, PATIENT);
    const exported = await waypost(['export'], {
      env: { WAYPOST_URL: system.controlUrl, WAYPOST_TOKEN: system.adminToken },
    });
    expect([exported.err, exported.out]).toEqual([
      '',
      expect.stringContaining('Needle without receiver'),
    ]);
    expect(exported.out + exported.err).not.toContain(EMAIL);

    // Topics: the docs name each that still has it, and say that a deletion changes nothing there.
    const settings = loadSettings(system.env);
    for (const { name } of specsOf(settings)) {
      const records = await readTopic(topics.kafka, name);
      const left = name === PROFILES ? latest(records) : records;
      if (!left.some(has)) continue;
      expect(`${name}: ${String(saidOf(name))}`).toMatch(/: nothing/);
    }
    expect(saidOf(DELETIONS)).toMatch(/id of the user/);

    await topics.close();
    await system.stop();
    expect(system.output()).not.toContain(NEEDLE);
    expect(system.output()).not.toContain(USER);
    const database = await openPostgres(server.url);
    try {
      expect(await tablesWith(database, NEEDLE)).toEqual([]);
      expect(await tablesWith(database, USER)).toContain('deletions');
    } finally {
      await database.close();
    }
  }, 600_000);
});

/** Returns the last record of each key. */
function latest(records: readonly InRecord[]): InRecord[] {
  return [...new Map(records.map((record) => [String(record.key), record])).values()];
}

/**
 * Returns the tables in which a text is. Texts of the search are packed:
 * test/integration/history-database.test.ts shows that they are rewritten.
 */
async function tablesWith(database: Database, text: string): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'waypost' order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await database.query<{ row: string }>(
      `select t::text as row from waypost."${name}" t`,
    );
    if (rows.some(({ row }) => row.includes(text))) found.push(name);
  }
  return found;
}
