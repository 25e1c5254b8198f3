import { SERVICES } from '../../bin/service-list';
import { messageOf } from '../../shared/runtime/errors';
import { measureAudiences } from './cases/audiences';
import { measureBacklog } from './cases/backlog';
import { measureBatched } from './cases/batched';
import { measureBare } from './cases/baseline';
import { measureDelivery } from './cases/delivery';
import { measureFilters } from './cases/filters';
import { measureHostile } from './cases/hostile';
import { measureHttps } from './cases/https';
import { measureIsolation } from './cases/isolation';
import { latencyMs, measureLatency } from './cases/latency';
import { measureLoadCurve } from './cases/load-curve';
import { measureOutage } from './cases/outage';
import { measurePipeline, type Target } from './cases/pipeline';
import { measureProcesses } from './cases/processes';
import { measureRolling } from './cases/rolling';
import { measureSoak } from './cases/soak';
import { measureSustained } from './cases/sustained';
import { measureTelemetry } from './cases/telemetry';
import { measureWaiting } from './cases/waiting';
import { createCustomers } from './load';
import { type Part } from './options';
import { type Progress } from './progress';
import { type BareFigure, type Round } from './report/figures';
import { type Bench, withSystem } from './setup';
import { type Sizes } from './sizes';

/** The parts that share one start of all services, one after the other. */
const TOGETHER: readonly Part[] = ['latency', 'batches', 'singles', 'sustained'];
const CUSTOMERS = 4;

/** Runs all selected parts once; it omits and reports parts that fail. */
export async function runRound(
  bench: Bench,
  { only, sizes }: { only: ReadonlySet<Part>; sizes: Sizes },
  progress: Progress,
): Promise<Round> {
  const attempts = new RunParts(only, progress);
  const bare: BareFigure[] = [];
  /** Before each part with a ratio to it, because the machine's speed may change within minutes. */
  const runBare = async () => {
    const figure = await attempts.run('bare', 'bare loop', () => {
      bench.endpoint.reset({ ids: false });
      return measureBare({ origin: bench.endpoint.origin, ...sizes.bare });
    });
    if (figure) bare.push(figure);
  };
  await runBare();
  const delivery = await attempts.run('delivery', 'delivery alone', () =>
    measureDelivery(bench, sizes.delivery),
  );
  const https = await attempts.run('https', 'delivery over TLS', (p) =>
    measureHttps(bench, sizes.https, p),
  );
  const telemetry = await attempts.run('telemetry', 'telemetry', (p) =>
    measureTelemetry(bench, sizes.delivery, p),
  );
  const filters = await attempts.run('filters', 'filters', (p) =>
    measureFilters(bench, sizes.filters, p),
  );
  const load = await attempts.run('load', 'all services over their load', (p) =>
    measureLoadCurve(bench, sizes.load, p),
  );
  if (only.has('delivery') && TOGETHER.some((part) => only.has(part))) await runBare();
  const together = await attempts.run(TOGETHER, 'all services', (p) =>
    runSystem(bench, { attempts, sizes }, p),
  );
  const batched = await attempts.run('batched', 'batches of events', (p) =>
    measureBatched(bench, sizes.batched, p),
  );
  const processes = await attempts.run('processes', 'several processes', (p) =>
    measureProcesses(bench, sizes.processes, p),
  );
  const rolling = await attempts.run('rolling', 'rolling upgrade', (p) =>
    measureRolling(bench, sizes.rolling, p),
  );
  const isolation = await attempts.run('isolation', 'isolation', (p) =>
    measureIsolation(bench, sizes.isolation, p),
  );
  const backlog = await attempts.run('backlog', 'backlog', (p) =>
    measureBacklog(bench, sizes.backlog, p),
  );
  const outage = await attempts.run('outage', 'outage', (p) =>
    measureOutage(bench, sizes.outage, p),
  );
  const waiting = await attempts.run('waiting', 'waiting', (p) =>
    measureWaiting(bench, sizes.waiting, p),
  );
  const audiences = await attempts.run('audiences', 'audiences', (p) =>
    measureAudiences(bench, sizes.audiences, p),
  );
  const hostile = await attempts.run('hostile', 'hostile requests', (p) =>
    measureHostile(bench, sizes.hostile, p),
  );
  const soak = await attempts.run('soak', 'soak', (p) => measureSoak(bench, sizes.soak, p));
  const alone = {
    delivery,
    https,
    telemetry,
    filters,
    load,
    batched,
    processes,
    rolling,
    isolation,
  };
  const troubled = { backlog, outage, waiting, audiences, hostile, soak };
  return { bare, ...alone, ...troubled, ...together, failures: attempts.failures };
}

function runSystem(
  bench: Bench,
  { attempts, sizes }: { attempts: RunParts<Part>; sizes: Sizes },
  progress: Progress,
): Promise<Pick<Round, 'batches' | 'singles' | 'latency' | 'sustained' | 'warnings'>> {
  return withSystem(
    bench,
    { name: 'system', services: SERVICES },
    async ({ system, services, pids }) => {
      const { origin } = bench.endpoint;
      const urls = Array.from(
        { length: CUSTOMERS },
        (_, i) => `${origin}/ok/customer-${String(i)}`,
      );
      const customers = await createCustomers(system, urls);
      const target: Target = { ...system, customers, pids };
      const { latency, batches, singles, sustained } = sizes;
      const perSecond = String(latency.perSecond);
      const sustainedMs = sustained.seconds * 1000;
      return {
        latency: await attempts.run('latency', `latency at ${perSecond} calls/s`, () =>
          progress.during('latency', latencyMs(latency), () =>
            measureLatency(bench, target, latency),
          ),
        ),
        batches: await attempts.run('batches', 'batches', () =>
          measurePipeline(bench, target, batches),
        ),
        singles: await attempts.run('singles', 'single calls', () =>
          measurePipeline(bench, target, singles),
        ),
        sustained: await attempts.run('sustained', 'sustained', () =>
          progress.during('sustained batches', sustainedMs, () =>
            measureSustained(bench, target, sustained),
          ),
        ),
        warnings: services.warnings(),
      };
    },
  );
}

/** Runs the selected parts: it reports a part that fails and continues with the others. */
export class RunParts<Part extends string> {
  readonly failures: { part: string; why: string }[] = [];

  constructor(
    private readonly only: ReadonlySet<Part>,
    private readonly progress: Progress,
  ) {}

  /**
   * Returns undefined if the part is not selected or failed, and for a group of parts if none is
   * selected.
   */
  async run<T>(
    part: Part | readonly Part[],
    what: string,
    measure: (progress: Progress) => Promise<T>,
  ): Promise<T | undefined> {
    const wanted = [part].flat().filter((name) => this.only.has(name as Part));
    if (wanted.length === 0) return undefined;
    try {
      this.progress.note(what);
      return await measure(this.progress.within(what));
    } catch (error) {
      const failed = wanted.join(', ');
      this.progress.note(`${failed} could not be measured: ${messageOf(error)}`);
      this.failures.push({ part: failed, why: messageOf(error) });
      return undefined;
    }
  }
}
