import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import { clockMs, openLoop } from '../../harness/timing';
import { percentile } from '../arithmetic';
import { Calls, createCustomers } from '../load';
import { type Progress } from '../progress';
import { type Row, rows } from '../rows';
import { type Bench, withSystem } from '../setup';
import { CUT_CALLS, MISSING_START, secondReading } from './second-reading';

/**
 * Single calls to ingest at a share of its capacity, without and with requests that are cheap for
 * an attacker.
 */

const CONNECTIONS = 32;

export interface HostileSize {
  loadPercent: number;
  /** hostile requests, all kinds in rotation */
  perSecond: number;
  capacitySeconds: number;
  /** of each phase: a warm-up, then clean, hostile, and both again */
  seconds: number;
}

/** Responses of ingest to honest single calls, without and with hostile requests. */
interface HostileFigure {
  /** honest calls */
  perSecond: number;
  cleanP99Ms: number;
  hostileP99Ms: number;
  /** CPU of a broken batch, × a clean one of as many bytes and calls */
  secondReading: number;
  /** responses to hostile requests in the last phase, by status */
  statuses: Record<string, number>;
}

export const hostileRows = (figure: HostileFigure): Row[] =>
  rows('hostile: ', [
    ['honest calls', 'calls/s', figure.perSecond],
    ['p99 without hostile requests', 'ms', figure.cleanP99Ms],
    ['p99 with hostile requests', '× without', figure.hostileP99Ms / figure.cleanP99Ms, 1.5],
    ['CPU of a batch read twice', '× a clean batch', figure.secondReading, 2],
  ]);

interface Hostile {
  headers: Record<string, string>;
  body: Buffer;
}

/** @param authorization a valid key, which is public in a browser */
function hostileRequests(authorization: string): Hostile[] {
  const gzip = { 'content-encoding': 'gzip' };
  const arrays = gzipSync(`{"batch":[[${'[],'.repeat(170_000)}[]]]}`, { level: 9 });
  const context = Object.fromEntries(
    Array.from({ length: 2_500 }, (_, i) => [`k${i.toString(36)}`, 1]),
  );
  const call = { type: 'track', userId: 'u', event: 'e', context: { a: 1 } };
  const merges = gzipSync(
    JSON.stringify({ context, batch: Array.from({ length: 2_500 }, () => call) }),
    { level: 9 },
  );
  const keys = gzipSync(
    `{${Array.from({ length: 24_000 }, (_, i) => `"writeKey":"${String(i)}"`).join()}}`,
    {
      level: 9,
    },
  );
  // Read twice, to no avail: each of its 2,500 calls is cut, or closed by brackets that do not fit.
  const cut = gzipSync(CUT_CALLS, { level: 9 });
  const faults = gzipSync('{[}]'.repeat(120_000), { level: 9 });
  const missing = gzipSync(MISSING_START, { level: 9 });
  // Each key is one that V8 has not seen, in an object of a shape of its own.
  const names = Array.from({ length: 47_500 }, (_, i) => `"${i.toString(36)}x":1`);
  const calls = Array.from(
    { length: 2_500 },
    (_, i) => `{${names.slice(19 * i, 19 * (i + 1)).join()}}`,
  );
  const different = gzipSync(`{"batch":[${calls.join()}]}`, { level: 9 });
  return [
    { headers: { ...gzip, authorization }, body: cut },
    { headers: { ...gzip, authorization }, body: faults },
    { headers: { ...gzip, authorization }, body: missing },
    { headers: { ...gzip, authorization }, body: different },
    { headers: gzip, body: arrays },
    { headers: gzip, body: keys },
    { headers: { ...gzip, authorization: 'Basic bm9ib2R5Og==' }, body: arrays },
    { headers: { ...gzip, authorization }, body: merges },
  ];
}

export function measureHostile(
  bench: Bench,
  size: HostileSize,
  progress: Progress,
): Promise<HostileFigure> {
  return withSystem(
    bench,
    { name: 'hostile', services: ['control', 'ingest'] },
    async ({ system }) => {
      const [customer, attacked] = await createCustomers(
        system,
        ['honest', 'attacked'].map((name) => `${bench.endpoint.origin}/ok/${name}`),
      );
      if (!customer || !attacked) throw new Error('there is no customer');
      const calls = new Calls(system.ingestUrl, CONNECTIONS, [customer], 'hostile');
      const capacity = await progress.during('capacity', size.capacitySeconds * 1_000, () =>
        closedLoop(calls, size.capacitySeconds),
      );
      const perSecond = (capacity * size.loadPercent) / 100;
      const requests = hostileRequests(attacked.authorization);
      const phase = async (hostile: boolean) => {
        const enemy = hostile ? attack(system.ingestUrl, requests, size) : undefined;
        const latencies = await openCalls(calls, perSecond, size.seconds);
        return { latencies, statuses: (await enemy) ?? {} };
      };
      const of = (name: string, hostile: boolean) =>
        progress.during(name, size.seconds * 1_000, () => phase(hostile));
      // V8 compiles the second reading at its first use: an hour later that is not a cost for
      // others.
      await of('warm-up', true);
      const phases = [
        await of('clean', false),
        await of('hostile', true),
        await of('clean', false),
        await of('hostile', true),
      ];
      await calls.close();
      const p99 = (hostile: boolean) =>
        percentile(
          phases.flatMap(({ latencies }, i) => ((i % 2 === 1) === hostile ? latencies : [])),
          0.99,
        );
      return {
        perSecond,
        cleanP99Ms: p99(false),
        hostileP99Ms: p99(true),
        secondReading: secondReading(),
        statuses: phases.at(-1)?.statuses ?? {},
      };
    },
  );
}

/** @returns calls a second */
async function closedLoop(calls: Calls, seconds: number): Promise<number> {
  const until = clockMs() + seconds * 1_000;
  const half = clockMs() + seconds * 500;
  let count = 0;
  const one = async () => {
    while (clockMs() < until) {
      await calls.postSingle();
      if (clockMs() > half) count++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  return count / (seconds / 2);
}

async function openCalls(calls: Calls, perSecond: number, seconds: number): Promise<number[]> {
  const latencies: number[] = [];
  await openLoop(
    perSecond,
    (started) => started < perSecond * seconds,
    async () => {
      const atMs = clockMs();
      await calls.postSingle();
      latencies.push(clockMs() - atMs);
    },
  );
  return latencies;
}

/** @returns the number of responses by status */
async function attack(
  url: string,
  requests: readonly Hostile[],
  { perSecond, seconds }: HostileSize,
) {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const statuses: Record<string, number> = {};
  let next = 0;
  await openLoop(
    perSecond,
    (started) => started < perSecond * seconds,
    async () => {
      const { headers, body } = requests[next++ % requests.length] ?? {
        headers: {},
        body: Buffer.alloc(0),
      };
      const answer = await pool.request({ method: 'POST', path: '/v1/batch', headers, body });
      await answer.body.dump();
      statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1;
    },
  );
  await pool.close();
  return statuses;
}
