import { fork } from 'node:child_process';
import { Pool } from 'undici';
import { clockMs } from '../../harness/timing';
import { bodyOf, signedHeaders } from '../payload';
import { type Row, rows } from '../rows';

/**
 * The yardstick, in a separate process: an undici Pool of 64 connections that posts signed bodies
 * of 1 KB as fast as it can, and does nothing else.
 */

const BARE_MAIN = __filename;
const CONNECTIONS = 64;
/**
 * Bodies are created beforehand and serialized in the loop: inventing a call is not part of
 * delivering it.
 */
const BODIES = 1_000;

export interface BareFigure {
  count: number;
  /** CPU-µs a request */
  microsEach: number;
  perSecond: number;
}

export const bareRows = ({ microsEach, perSecond }: BareFigure): Row[] =>
  rows('bare loop', [
    ['', 'CPU-µs/request', microsEach],
    ['', 'requests/s', perSecond],
  ]);

interface BareOptions {
  origin: string;
  /** requests before the measurement, and during it */
  warmUp: number;
  count: number;
}

/** Runs the baseline. @param env additional variables of its process */
export function measureBare(
  options: BareOptions,
  env: Record<string, string> = {},
): Promise<BareFigure> {
  return new Promise((resolve, reject) => {
    const child = fork(BARE_MAIN, [JSON.stringify(options)], {
      execArgv: [],
      env: { ...process.env, ...env },
    });
    child.once('message', (figure) => resolve(figure as BareFigure));
    child.once('exit', (code) =>
      reject(new Error(`the bare loop ended with code ${String(code)}`)),
    );
  });
}

async function main(options: BareOptions): Promise<void> {
  process.title = 'waypost-bench-bare';
  const pool = new Pool(options.origin, { connections: CONNECTIONS, pipelining: 1 });
  const bodies = Array.from({ length: BODIES }, (_, i) => bodyOf(i, `bare-${String(i)}`));
  await postAll(pool, bodies, options.warmUp);
  const cpu = process.cpuUsage();
  const startedAt = clockMs();
  await postAll(pool, bodies, options.count);
  const used = process.cpuUsage(cpu);
  const figure: BareFigure = {
    count: options.count,
    microsEach: (used.user + used.system) / options.count,
    perSecond: options.count / ((clockMs() - startedAt) / 1000),
  };
  process.send?.(figure);
  await pool.close();
  process.disconnect();
}

async function postAll(pool: Pool, bodies: readonly object[], count: number): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) {
      const body = JSON.stringify(bodies[next++ % bodies.length]);
      const answer = await pool.request({
        method: 'POST',
        path: '/ok/bare',
        headers: signedHeaders(body),
        body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 200) {
        throw new Error(`the receiver answered ${String(answer.statusCode)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

if (require.main === module) {
  main(JSON.parse(process.argv[2] ?? '{}') as BareOptions).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}
