import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiOf } from '../../tools/harness/api';
import { type Sink, startSink } from '../../tools/harness/sink';
import { startSystem, type System } from '../../tools/harness/system';
import { eventually } from '../support/eventually';
import { aCall } from '../support/factories';

/**
 * `config`, `messages`, `attempts` and the history's database, restored from copies of different
 * moments. What docs/operations/recovery.md promises holds for each combination: what is
 * acknowledged after the restore is delivered, counted and in the history, each of the four is as
 * in its copy, and history that `attempts` still has comes back.
 *
 * Between the two moments a destination is deleted, a token revoked, a URL switched off by a 410
 * and a user deleted; after the restore the user is deleted again.
 */

type Moment = 'early' | 'late';
type Moments = Record<(typeof TOPICS)[number] | 'history', Moment>;

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}-${String(i)}`);

const RECOVERED = { deadlineMs: 120_000 };

let root: string;
let sink: Sink;
let system: System | undefined;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'waypost-drill-'));
  sink = await startSink();
  scene = await prepare();
}, 240_000);
afterEach(stop);
afterAll(async () => {
  await sink.close();
  rmSync(root, { recursive: true, force: true });
});

const dataDir = () => join(root, 'data');
const copyOf = (moment: Moment) => join(root, moment);
const records = (dir: string) => join(dir, 'kafka', 'records');

async function start(): Promise<System> {
  system = await startSystem({ embedded: true, together: true, dataDir: dataDir() });
  return system;
}

async function stop(): Promise<void> {
  await system?.stop();
  system = undefined;
}

async function stopAndCopy(moment: Moment): Promise<void> {
  await stop();
  cpSync(dataDir(), copyOf(moment), { recursive: true });
}

const TOPICS = ['config', 'messages', 'attempts'] as const;

/** Puts the data of the late moment in place, with parts of the early one. */
function restore(from: Moments): void {
  rmSync(dataDir(), { recursive: true, force: true });
  cpSync(copyOf('late'), dataDir(), { recursive: true });
  for (const topic of TOPICS) {
    for (const folder of readdirSync(records(copyOf(from[topic])))) {
      if (folder.replace(/-\d+$/, '') !== topic) continue;
      rmSync(join(records(dataDir()), folder), { recursive: true, force: true });
      cpSync(join(records(copyOf(from[topic])), folder), join(records(dataDir()), folder), {
        recursive: true,
      });
    }
  }
  const history = join(dataDir(), 'history');
  rmSync(history, { recursive: true, force: true });
  cpSync(join(copyOf(from.history), 'history'), history, { recursive: true });
  // The broker looks at its logs as after a crash.
  for (const name of ['recovery-point-offset-checkpoint', '.kafka_cleanshutdown']) {
    rmSync(join(records(dataDir()), name), { force: true });
  }
}

interface Scene {
  writeKey: string;
  token: string;
  doomed: string;
  gone: string;
  trait: string;
}

const EARLY = numbered('early', 5);
const BETWEEN = numbered('between', 20);
/** calls of a user whose calls are counted */
const COUNTED = numbered('counted', 10);
let scene: Scene;

async function send(to: System, writeKey: string, ids: readonly string[], userId: string) {
  for (const messageId of ids) {
    const { status } = await to.send(writeKey, 'track', aCall('track', { messageId, userId }));
    expect(status).toBe(200);
  }
}

/** Resolves when each of these messages has come to the destination that stays. */
async function arrived(ids: readonly string[]): Promise<void> {
  await eventually(() => {
    const came = new Set(
      sink
        .received('/kept')
        .map(({ body }) => (JSON.parse(String(body)) as { messageId: string }).messageId),
    );
    expect(ids.filter((id) => !came.has(id))).toEqual([]);
  }, RECOVERED);
}

/** Returns the messages of a user that the history shows. */
async function historyOf(from: System, userId: string): Promise<string[]> {
  const { body } = await from.control('GET', `/deliveries?user=${userId}&limit=200`);
  return (body.data as { messageId: string }[]).map(({ messageId }) => messageId);
}

async function isOff(from: System, destination: string): Promise<boolean> {
  const { body } = await from.control('GET', `/destinations/${destination}`);
  return body.webhooks[0].disabled !== null;
}

/** Returns what the history shows of a deleted user, besides the deletion that destinations got. */
async function deletedOf(from: System): Promise<string[]> {
  return (await historyOf(from, 'kim')).filter((id) => EARLY.includes(id));
}

/** Returns the value of the computed trait for a user. */
async function valueOf(from: System, trait: string, userId: string): Promise<unknown> {
  const { body } = await from.control('GET', `/computed-traits/${trait}/members?user=${userId}`);
  return (body.data as { value: unknown }[])[0]?.value;
}

/** Makes the copies of both moments. */
async function prepare(): Promise<Scene> {
  const first = await start();
  const { id: sourceId, writeKey } = await first.createSource();
  const destination = async (path: string) => {
    const webhooks = [{ url: sink.url(path) }];
    return (await first.createDestination({ sources: [sourceId], webhooks })).id;
  };
  await destination('/kept');
  const [doomed, gone] = [await destination('/doomed'), await destination('/gone')];
  const { body: token } = await first.control('POST', '/tokens', {
    name: 'drill',
    role: 'read_only',
  });
  const { body: trait } = await first.control('POST', '/computed-traits', {
    name: 'Orders',
    compute: 'count',
    event: 'Order Completed',
    sources: [sourceId],
    syncEvery: '1s',
    destinations: [],
  });
  await eventually(async () => {
    await send(first, writeKey, EARLY, 'kim');
    for (const path of ['/kept', '/doomed', '/gone']) {
      expect(sink.received(path).length).toBeGreaterThan(0);
    }
  }, RECOVERED);
  await arrived(EARLY);
  await eventually(
    async () => expect(await valueOf(first, trait.id, 'kim')).toBeGreaterThan(0),
    RECOVERED,
  );
  await eventually(async () => {
    expect(await historyOf(first, 'kim')).toEqual(expect.arrayContaining(EARLY));
  }, RECOVERED);
  await stopAndCopy('early');

  const second = await start();
  sink.on('/gone', () => ({ status: 410 }));
  await send(second, writeKey, BETWEEN, 'lee');
  await send(second, writeKey, COUNTED, 'kit');
  await arrived([...BETWEEN, ...COUNTED]);
  await eventually(
    async () => expect(await valueOf(second, trait.id, 'kit')).toBe(COUNTED.length),
    RECOVERED,
  );
  await eventually(async () => expect(await isOff(second, gone)).toBe(true), RECOVERED);
  await second.control('DELETE', `/destinations/${doomed}`);
  await second.control('DELETE', `/tokens/${token.id}`);
  await eventually(async () => {
    expect(await historyOf(second, 'lee')).toEqual(expect.arrayContaining(BETWEEN));
  }, RECOVERED);
  const { status } = await second.control('POST', '/deletions', { userIds: ['kim'] });
  expect(status).toBe(202);
  await eventually(async () => expect(await deletedOf(second)).toEqual([]), RECOVERED);
  await stopAndCopy('late');
  return { writeKey, token: token.token, doomed, gone, trait: trait.id };
}

const MOMENTS: Moment[] = ['early', 'late'];
const ALL = MOMENTS.flatMap((config) =>
  MOMENTS.flatMap((messages) =>
    MOMENTS.flatMap((attempts) =>
      MOMENTS.map((history): Moments => ({
        config,
        messages,
        attempts,
        history,
      })),
    ),
  ),
);
/** Each start of a system takes half a minute: `CASES=all` runs the others too. */
const EACH_ONCE: Moments[] = [
  {
    config: 'early',
    messages: 'late',
    attempts: 'early',
    history: 'late',
  },
  {
    config: 'late',
    messages: 'early',
    attempts: 'late',
    history: 'early',
  },
];

test.each(process.env.CASES === 'all' ? ALL : EACH_ONCE)(
  'config $config, messages $messages, attempts $attempts, history $history: what is ' +
    'acknowledged afterwards is delivered, and in the history',
  async (moments) => {
    restore(moments);
    const restored = await start();
    const name = Object.values(moments).join('-');
    // More than was cut off, in each partition that had any.
    const after = numbered(`after-${name}`, 48);
    await send(restored, scene.writeKey, after, 'max');
    await arrived(after);
    await eventually(async () => {
      expect(await historyOf(restored, 'max')).toEqual(expect.arrayContaining(after));
    }, RECOVERED);
    // The offsets of these calls were those of others, which were counted and then cut off.
    const counted = numbered(`counted-${name}`, 15);
    await send(restored, scene.writeKey, counted, 'kit');
    await eventually(
      async () =>
        expect(await valueOf(restored, scene.trait, 'kit')).toBe(COUNTED.length + counted.length),
      RECOVERED,
    );

    const { controlUrl, ingestUrl } = restored;
    const holder = apiOf({ controlUrl, ingestUrl, adminToken: scene.token });
    const { status: ofToken } = await holder.control('GET', '/sources');
    const { status: ofDoomed } = await restored.control('GET', `/destinations/${scene.doomed}`);
    expect([ofToken, ofDoomed]).toEqual(moments.config === 'early' ? [200, 200] : [401, 404]);
    // With an older configuration its receiver says so again.
    await eventually(async () => expect(await isOff(restored, scene.gone)).toBe(true), RECOVERED);
    if (moments.attempts === 'late' || moments.history === 'late') {
      await eventually(async () => {
        expect(await historyOf(restored, 'lee')).toEqual(expect.arrayContaining(BETWEEN));
      }, RECOVERED);
    }
    expect((await deletedOf(restored)).length > 0).toBe(moments.history === 'early');
    // The profiles are not restored: they are those after the deletion.
    await eventually(
      async () => expect(await valueOf(restored, scene.trait, 'kim')).toBeUndefined(),
      RECOVERED,
    );
    const again = await restored.control('POST', '/deletions', { userIds: ['kim'] });
    expect(again.status).toBe(202);
    await eventually(async () => expect(await deletedOf(restored)).toEqual([]), RECOVERED);
  },
);
