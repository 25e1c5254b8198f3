import { RunParts } from './run-parts';
import { measureAudiences } from './cases/audiences';
import { measureBacklog } from './cases/backlog';
import { measureBare } from './cases/baseline';
import { measureDelivery } from './cases/delivery';
import { type BareFigure, type Round } from './report/figures';
import { measureFilters } from './cases/filters';
import { measureHostile } from './cases/hostile';
import { measureIsolation } from './cases/isolation';
import { type Part } from './options';
import { measureOutage } from './cases/outage';
import { type Progress } from './progress';
import { type Bench } from './setup';
import { type Sizes } from './sizes';
import { runSystem, TOGETHER } from './cases/system-run';
import { measureTelemetry } from './cases/telemetry';
import { measureWaiting } from './cases/waiting';

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
  const delivery = await attempts.run('delivery', 'delivery alone', () => measureDelivery(bench, sizes.delivery));
  const telemetry = await attempts.run('telemetry', 'telemetry', (p) => measureTelemetry(bench, sizes.delivery, p));
  const filters = await attempts.run('filters', 'filters', (p) => measureFilters(bench, sizes.filters, p));
  if (only.has('delivery') && TOGETHER.some((part) => only.has(part))) await runBare();
  const together = await attempts.run(TOGETHER, 'all services', (p) => runSystem(bench, { attempts, sizes }, p));
  const isolation = await attempts.run('isolation', 'isolation', (p) => measureIsolation(bench, sizes.isolation, p));
  const backlog = await attempts.run('backlog', 'backlog', (p) => measureBacklog(bench, sizes.backlog, p));
  const outage = await attempts.run('outage', 'outage', (p) => measureOutage(bench, sizes.outage, p));
  const waiting = await attempts.run('waiting', 'waiting', (p) => measureWaiting(bench, sizes.waiting, p));
  const audiences = await attempts.run('audiences', 'audiences', (p) => measureAudiences(bench, sizes.audiences, p));
  const hostile = await attempts.run('hostile', 'hostile requests', (p) => measureHostile(bench, sizes.hostile, p));
  const alone = { delivery, telemetry, filters, isolation, backlog, outage, waiting, audiences, hostile };
  return { bare, ...alone, ...together, failures: attempts.failures };
}
