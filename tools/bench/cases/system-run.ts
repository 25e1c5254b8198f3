import { SERVICES } from '../../../deploy/standalone/service-list';
import { type RunParts } from '../run-parts';
import { createCustomers } from '../control-api';
import { type Round } from '../report/figures';
import { latencyMs, measureLatency } from './latency';
import { type Part } from '../options';
import { measurePipeline, type Target } from './pipeline';
import { type Progress } from '../progress';
import { type Bench } from '../setup';
import { type Sizes } from '../sizes';
import { measureSustained } from './sustained';
import { withSystem } from '../with-system';

/** One start of all services, and the benchmarks that share it, one after the other. */

const CUSTOMERS = 4;

/** The benchmarks that share it. */
export const TOGETHER: readonly Part[] = ['latency', 'batches', 'singles', 'sustained'];

export function runSystem(
  bench: Bench,
  { attempts, sizes }: { attempts: RunParts<Part>; sizes: Sizes },
  progress: Progress,
): Promise<Pick<Round, 'batches' | 'singles' | 'latency' | 'sustained' | 'warnings'>> {
  return withSystem(bench, { name: 'system', services: SERVICES }, async ({ prefix, system, services, pids }) => {
    const { origin } = bench.endpoint;
    const urls = Array.from({ length: CUSTOMERS }, (_, i) => `${origin}/ok/customer-${String(i)}`);
    const customers = await createCustomers(system, urls);
    const target: Target = { prefix, ingestUrl: system.ingestUrl, customers, pids };
    const { latency, batches, singles, sustained } = sizes;
    const perSecond = String(latency.perSecond);
    const sustainedMs = sustained.seconds * 1000;
    return {
      latency: await attempts.run('latency', `latency at ${perSecond} calls/s`, () =>
        progress.during('latency', latencyMs(latency), () => measureLatency(bench, target, latency)),
      ),
      batches: await attempts.run('batches', 'batches', () => measurePipeline(bench, target, batches)),
      singles: await attempts.run('singles', 'single calls', () => measurePipeline(bench, target, singles)),
      sustained: await attempts.run('sustained', 'sustained', () =>
        progress.during('sustained batches', sustainedMs, () => measureSustained(bench, target, sustained)),
      ),
      warnings: services.warnings(),
    };
  });
}
