import {
  ConsumerHealth,
  type Health,
  PollLiveness,
  serveHealth,
} from '../../../shared/runtime/health';
import { type Consumption } from '../../../shared/kafka/port';

/** The questions of an orchestrator: must the process restart, and may it get work? */

let now = 0;
let health: ConsumerHealth;
let all: Map<string, Health | undefined>;
let consumption: Pick<Consumption, 'joined' | 'stuck'> | undefined;
let server: Awaited<ReturnType<typeof serveHealth>>;
beforeEach(async () => {
  now = 0;
  consumption = undefined;
  health = new ConsumerHealth(() => consumption);
  all = new Map([['router', health]]);
  server = await serveHealth({ host: '127.0.0.1', port: 0, maxConnections: 9, health, all });
});
afterEach(() => server.close());

async function asked(path: string): Promise<[status: number, body: unknown]> {
  const answer = await fetch(`http://127.0.0.1:${String(server.port)}${path}`);
  return [answer.status, await answer.json()];
}

/** A consumer as the services have it, with the real check of its progress. */
function consume({ joined }: { joined: boolean }): PollLiveness {
  const loop = new PollLiveness(() => now);
  consumption = { joined, stuck: () => loop.stuck() };
  return loop;
}

test('a consumer without progress fails the liveness check until it makes progress', async () => {
  const loop = consume({ joined: true });
  expect(await asked('/livez')).toEqual([200, { ok: true, reasons: [] }]);
  now = 61_000;
  expect(await asked('/livez')).toEqual([
    503,
    { ok: false, reasons: [expect.stringContaining('has not turned')] },
  ]);
  loop.recordPoll();
  expect(await asked('/livez')).toEqual([200, { ok: true, reasons: [] }]);
});

test('a stuck config reader fails liveness, a lost broker only makes config old', async () => {
  let stuck: string | undefined = undefined;
  consumption = { joined: true, stuck: () => undefined };
  health.config = { completeAt: performance.now(), stuck: () => stuck };
  expect(await asked('/readyz')).toEqual([
    200,
    { ok: true, reasons: [], configAgeMs: expect.any(Number) },
  ]);
  health.config = { completeAt: performance.now() - 90_000, stuck: () => stuck };
  expect(await asked('/livez')).toEqual([200, { ok: true, reasons: [] }]);
  expect(await asked('/readyz')).toEqual([
    200,
    {
      ok: true,
      reasons: [],
      degraded: [expect.stringMatching(/for 90 s/)],
      configAgeMs: expect.any(Number),
    },
  ]);
  stuck = 'the reader of config has made no progress for 61000 ms';
  expect(await asked('/livez')).toEqual([503, { ok: false, reasons: [stuck] }]);
});

test('deletions that cannot be read are reported, since calls of users wait', async () => {
  consumption = { joined: true, stuck: () => undefined };
  health.config = undefined;
  health.deletions = { completeAt: performance.now() - 1_000, stuck: () => undefined };
  expect(await asked('/readyz')).toEqual([200, { ok: true, reasons: [] }]);
  health.deletions = { completeAt: performance.now() - 90_000, stuck: () => undefined };
  expect(await asked('/readyz')).toEqual([
    200,
    {
      ok: true,
      reasons: [],
      degraded: [expect.stringMatching(/^deletions .*for 90 s/)],
    },
  ]);
});

test('a service that stops or lacks its broker or group is unready, not restarted', async () => {
  for (const [prepare, why] of [
    [() => undefined, 'not yet in its consumer group'],
    [() => void consume({ joined: false }), 'not yet in its consumer group'],
    [() => (health.stopping = true), 'stopping'],
  ] as const) {
    prepare();
    expect(await asked('/readyz')).toEqual([503, { ok: false, reasons: [why] }]);
    expect(await asked('/livez')).toEqual([200, { ok: true, reasons: [] }]);
  }
});

test('a process of many services is ready if all are, and alive unless one is stuck', async () => {
  consume({ joined: true });
  expect(await asked('/readyz/all')).toEqual([200, { ok: true, reasons: [] }]);
  all.set('ingest', undefined);
  expect(await asked('/readyz/all')).toEqual([
    503,
    { ok: false, reasons: ['ingest: it is being opened'] },
  ]);
  expect((await asked('/livez/all'))[0]).toBe(200);
  const stuck = { notLive: () => ['no turn'], notReady: () => ['no room'] };
  all.set('ingest', stuck);
  expect(await asked('/readyz/all')).toEqual([503, { ok: false, reasons: ['ingest: no room'] }]);
  expect(await asked('/livez/all')).toEqual([503, { ok: false, reasons: ['ingest: no turn'] }]);
  expect((await asked('/readyz'))[0]).toBe(200);
});
