import { laneOptions } from '../../../services/delivery/tuning';
import { type Destination } from '../../../shared/model/config';
import { loadSettings } from '../../../shared/runtime/settings';
import { clockMs, until } from '../../harness/timing';
import { percentile, sum } from '../arithmetic';
import { type Progress } from '../progress';
import { type BacklogFigure, type BurstFigure } from '../report/figures';
import { firstAttempts, openSeeder, type Seeder } from '../seed';
import { type Bench, withSystem } from '../setup';
import { readHistory } from './attempt-history';

/**
 * Ten thousand deliveries together for one healthy endpoint with a fixed response time: to a new
 * lane, and again to the same lane. The ideal is a lane with its largest width from the start. The
 * process has worked for another endpoint before, because its first seconds, in which V8 compiles,
 * are a separate question.
 */

/** Deliveries of the warm-up, for an endpoint that responds immediately. */
const WARM_UP = 20_000;

const DEADLINE_MS = 120_000;
const POLL_MS = 10;

export interface BacklogSize {
  count: number;
  /** the endpoint's response time */
  answerMs: number;
}

export async function measureBacklog(
  bench: Bench,
  size: BacklogSize,
  progress: Progress,
): Promise<BacklogFigure> {
  const url = `${bench.endpoint.origin}/slow-${String(size.answerMs)}/`;
  const open: { seeder?: Seeder; warmUp: Destination[]; destinations: Destination[] } = {
    warmUp: [],
    destinations: [],
  };
  const before = async ({ env }: { env: Record<string, string> }) => {
    open.seeder = await openSeeder(env);
    const destinations = await open.seeder.destinations([url, `${bench.endpoint.origin}/ok/`]);
    open.destinations = destinations.slice(0, 1);
    open.warmUp = destinations.slice(1);
  };
  try {
    return await withSystem(
      bench,
      { name: 'backlog', services: ['delivery', 'retry'], before },
      async ({ system }) => {
        const { seeder, destinations } = open;
        if (!seeder) throw new Error('nothing was seeded');
        const { ceiling } = laneOptions(loadSettings(system.env).WAYPOST_RETRY_DELAYS);
        const idealMs = (size.count * size.answerMs) / ceiling;
        const before = firstAttempts(open.warmUp, { from: 0, count: WARM_UP });
        await progress.during('a warm-up', idealMs, () =>
          measureBurst(bench, seeder, before, { count: WARM_UP, answerMs: 0 }),
        );
        const bursts: Pick<BurstFigure, 'drainMs' | 'repeats'>[] = [];
        for (const [i, lane] of ['new', 'used'].entries()) {
          const records = firstAttempts(destinations, {
            from: WARM_UP + i * size.count,
            count: size.count,
          });
          const what = `${String(size.count)} at once, a ${lane} lane`;
          bursts.push(
            await progress.during(what, 4 * idealMs, () =>
              measureBurst(bench, seeder, records, size),
            ),
          );
        }
        const hops = [...(await readHistory(seeder.kafka)).hops.values()];
        const figure = ({ drainMs, repeats }: (typeof bursts)[number]) => ({
          drainMs,
          repeats,
          ideals: drainMs / idealMs,
        });
        const [first, second] = bursts.map(figure);
        if (!first || !second) throw new Error('not every burst was measured');
        return {
          ...size,
          idealMs,
          first,
          second,
          hops: { mean: sum(hops) / hops.length, most: percentile(hops, 1) },
        };
      },
    );
  } finally {
    await open.seeder?.close();
  }
}

/**
 * Measures from the first append to the last response.
 * @throws if not all arrive
 */
async function measureBurst(
  { endpoint }: Bench,
  seeder: Seeder,
  records: ReturnType<typeof firstAttempts>,
  { count, answerMs }: BacklogSize,
): Promise<Pick<BurstFigure, 'drainMs' | 'repeats'>> {
  endpoint.reset({ ids: true });
  const startMs = clockMs();
  await seeder.append(records);
  if (!(await until(() => endpoint.accepted >= count, POLL_MS, DEADLINE_MS))) {
    throw new Error(`only ${String(endpoint.accepted)} of ${String(count)} deliveries arrived`);
  }
  const { arrivals, count: requests } = await endpoint.report();
  const lastMs = percentile([...arrivals.values()], 1);
  return { drainMs: lastMs + answerMs - startMs, repeats: requests - arrivals.size };
}
