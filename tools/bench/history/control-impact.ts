import { request } from 'undici';
import { SERVICES } from '../../../bin/service-list';
import { sleep } from '../../../shared/runtime/async';
import { type SystemEnv } from '../../harness/services';
import { clockMs } from '../../harness/timing';
import { residents } from '../../harness/usage';
import { percentile } from '../arithmetic';
import { measureLatency } from '../cases/latency';
import { customerUrls, measurePipeline, type Target } from '../cases/pipeline';
import { createCustomers } from '../load';
import { table } from '../../harness/table';
import { type Bench, withSystem } from '../setup';

/**
 * The cost of control and its history for delivery: the same load with control on, frozen, and
 * killed. Either at the machine's full capacity (the CPU that control takes from a busy machine),
 * or at a fixed rate (whether a delivery ever waits for control).
 */

const FLAT_OUT = { callsPerRequest: 100, connections: 8, warmUp: 5_000 };
const PACED_WARM_UP_S = 2;
/** Interval of the console's users during the load. */
const ASK_EVERY_MS = 500;

type Control = 'on' | 'standing still' | 'killed';
/**
 * The first phase is a warm-up, and is labelled as such. On and off alternate, because the
 * machine's speed may change.
 */
const STATES: readonly Control[] = [
  'on',
  'on',
  'standing still',
  'on',
  'standing still',
  'on',
  'standing still',
  'on',
  'killed',
  'killed',
];

/**
 * @param count webhooks of each phase
 * @param perSecond calls; undefined: at the rate of delivery
 */
export function measureBeside(
  bench: Bench,
  { count, perSecond }: { count: number; perSecond: number | undefined },
  note: (text: string) => void,
): Promise<string> {
  return withSystem(bench, { name: 'beside', services: SERVICES }, async ({ system, pids }) => {
    const { control = 0, ...others } = pids;
    const customers = await createCustomers(system, customerUrls(bench));
    const target: Target = { ...system, customers, pids: others };
    const measure = perSecond === undefined ? flatOut : paced(perSecond);
    const rows = [['control', ...measure.head, "the console's answers: median, longest (ms)"]];
    let memory = NaN;
    for (const state of STATES) {
      note(`control ${state}`);
      if (state === 'killed' && Number.isNaN(memory)) {
        memory = residents({ control }).control ?? NaN;
      }
      turn(control, state);
      const stop = state === 'on' ? askOften(system) : () => Promise.resolve('');
      const cells = await measure.phase(bench, target, count, rows.length);
      rows.push([rows.length === 1 ? `${state} (to warm up)` : state, ...cells, await stop()]);
    }
    return (
      `${table(rows)}\nmemory of control before it was killed: ${String(Math.round(memory))} ` +
      'MB'
    );
  });
}

interface Measure {
  head: string[];
  /**
   * @param phase part of the ids of messages: the router would drop ids of an earlier phase as
   *   duplicates
   */
  phase: (bench: Bench, target: Target, count: number, phase: number) => Promise<string[]>;
}

const flatOut: Measure = {
  head: ['webhooks/s', 'missing', 'repeats'],
  phase: async (bench, target, count, phase) => {
    const { perSecond, missing, repeats } = await measurePipeline(bench, target, {
      ...FLAT_OUT,
      count: count + phase,
    });
    return [String(Math.round(perSecond)), String(missing), String(repeats)];
  },
};

function paced(perSecond: number): Measure {
  return {
    head: ['calls/s', 'missing', 'p50 ms', 'p99 ms', 'longest ms'],
    phase: async (bench, target, count, phase) => {
      const size = {
        perSecond,
        warmUp: perSecond * PACED_WARM_UP_S,
        count,
        run: `paced-${String(phase)}`,
      };
      const { missing, p50Ms, p99Ms, maxMs } = await measureLatency(bench, target, size);
      return [
        String(perSecond),
        String(missing),
        ...[p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)),
      ];
    },
  };
}

/**
 * Requests the newest deliveries in a loop.
 * @returns a function that ends the loop and returns its latencies
 */
function askOften({ controlUrl, adminToken }: SystemEnv): () => Promise<string> {
  const times: number[] = [];
  const ended = new AbortController();
  const asking = (async () => {
    while (!ended.signal.aborted) {
      const from = clockMs();
      const { body } = await request(`${controlUrl}/api/v1/deliveries?limit=50`, {
        headers: { authorization: `Bearer ${adminToken}` },
      });
      await body.dump();
      times.push(clockMs() - from);
      await sleep(ASK_EVERY_MS);
    }
  })();
  return async () => {
    ended.abort();
    await asking;
    return [percentile(times, 0.5), percentile(times, 1)].map((ms) => ms.toFixed(0)).join(', ');
  };
}

function turn(control: number, state: Control): void {
  try {
    process.kill(control, { on: 'SIGCONT', 'standing still': 'SIGSTOP', killed: 'SIGKILL' }[state]);
  } catch (error) {
    // A killed process cannot receive a signal.
    if (state !== 'killed' || (error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
