import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiOf } from '../../tools/harness/api';
import { type Sink, startSink } from '../../tools/harness/sink';
import { startSystem, type System } from '../../tools/harness/system';
import { eventually } from '../support/eventually';
import { aCall } from '../support/factories';

/**
 * `config`, `messages` and the history's database, restored from copies of different moments. What
 * docs/operations/recovery.md promises holds for each combination: what is acknowledged after the
 * restore is delivered, each of the three is as in its copy, and history that `attempts` still has
 * comes back.
 *
 * Between the two moments a destination is deleted, a token revoked, a URL switched off by a 410
 * and a user deleted.
 */

type Moment = 'early' | 'late';

const RECOVERED = { deadlineMs: 120_000 };

let root: string;
let sink: Sink;
let system: System | undefined;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'waypost-drill-'));
  sink = await startSink();
});
afterAll(async () => {
  await system?.stop();
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

/** Puts the data of the late moment in place, with parts of the early one. */
function restore(from: Record<'config' | 'messages' | 'history', Moment>): void {
  rmSync(dataDir(), { recursive: true, force: true });
  cpSync(copyOf('late'), dataDir(), { recursive: true });
  for (const topic of ['config', 'messages'] as const) {
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
}

async function send(to: System, { writeKey }: Scene, ids: readonly string[], userId: string) {
  for (const messageId of ids) {
    const { status } = await to.send(writeKey, 'track', aCall('track', { messageId, userId }));
    expect(status).toBe(200);
  }
}

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}-${String(i)}`);

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
  const { body } = await from.control('GET', `/deliveries?user=${userId}&limit=100`);
  return (body.data as { messageId: string }[]).map(({ messageId }) => messageId);
}

async function isOff(from: System, destination: string): Promise<boolean> {
  const { body } = await from.control('GET', `/destinations/${destination}`);
  return body.webhooks[0].disabled !== null;
}

test('each combination of copies keeps what is acknowledged after it', async () => {
  const first = await start();
  const { id: sourceId, writeKey } = await first.createSource();
  const destination = async (path: string) =>
    (await first.createDestination({ sources: [sourceId], webhooks: [{ url: sink.url(path) }] }))
      .id;
  await destination('/kept');
  const [doomed, gone] = [await destination('/doomed'), await destination('/gone')];
  const made = await first.control('POST', '/tokens', { name: 'drill', role: 'read_only' });
  const scene: Scene = { writeKey, token: made.body.token, doomed, gone };
  const early = numbered('early', 5);
  await eventually(async () => {
    await send(first, scene, early, 'kim');
    await arrived(early);
    expect(sink.received('/doomed').length).toBeGreaterThan(0);
    expect(sink.received('/gone').length).toBeGreaterThan(0);
  }, RECOVERED);
  await eventually(async () => {
    expect(await historyOf(first, 'kim')).toEqual(expect.arrayContaining(early));
  }, RECOVERED);
  await stopAndCopy('early');

  const second = await start();
  sink.on('/gone', () => ({ status: 410 }));
  const between = numbered('between', 20);
  await send(second, scene, between, 'lee');
  await arrived(between);
  await eventually(async () => expect(await isOff(second, gone)).toBe(true), RECOVERED);
  await second.control('DELETE', `/destinations/${doomed}`);
  await second.control('DELETE', `/tokens/${made.body.id}`);
  await eventually(async () => {
    expect(await historyOf(second, 'lee')).toEqual(expect.arrayContaining(between));
  }, RECOVERED);
  const { status } = await second.control('POST', '/deletions', { userIds: ['kim'] });
  expect(status).toBe(202);
  await eventually(async () => expect(await historyOf(second, 'kim')).toEqual([]), RECOVERED);
  await stopAndCopy('late');

  const moments: Moment[] = ['early', 'late'];
  const combinations = moments.flatMap((config) =>
    moments.flatMap((messages) => moments.map((history) => ({ config, messages, history }))),
  );
  for (const from of combinations) {
    const name = `${from.config}-${from.messages}-${from.history}`;
    restore(from);
    const restored = await start();
    // More than was cut off.
    const after = numbered(`after-${name}`, 40);
    await send(restored, scene, after, 'max');
    await arrived(after);

    const { controlUrl, ingestUrl } = restored;
    const holder = apiOf({ controlUrl, ingestUrl, adminToken: scene.token });
    const { status: withToken } = await holder.control('GET', '/sources');
    const { status: ofDoomed } = await restored.control('GET', `/destinations/${doomed}`);
    const isBack = from.config === 'early';
    expect([name, withToken, ofDoomed]).toEqual([name, isBack ? 200 : 401, isBack ? 200 : 404]);
    // Its receiver says so again.
    await eventually(async () => expect(await isOff(restored, gone)).toBe(true), RECOVERED);
    await eventually(async () => {
      const shown = await historyOf(restored, 'lee');
      expect([name, between.filter((id) => !shown.includes(id))]).toEqual([name, []]);
    }, RECOVERED);
    expect([name, (await historyOf(restored, 'kim')).length > 0]).toEqual([
      name,
      from.history === 'early',
    ]);
    await stop();
  }
});
