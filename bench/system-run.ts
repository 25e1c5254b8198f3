import { join } from 'node:path';
import { SERVICES } from '../deploy/local/paths';
import { createCustomers } from './control-api';
import { type Round } from './figures';
import { measureLatency } from './latency';
import { type Part, type Sizes } from './options';
import { measurePipeline, type Target } from './pipeline';
import { type Bench } from './setup';
import { startServices, systemEnv } from './system';

/** One start of all services, and the benchmarks that need them one after the other. */

const CUSTOMERS = 4;

type SystemFigures = Pick<Round, 'batches' | 'singles' | 'latency' | 'warnings'>;

export async function runSystem(
  bench: Bench,
  options: { only: ReadonlySet<Part>; sizes: Sizes; note: (text: string) => void },
): Promise<SystemFigures> {
  const { only, sizes, note } = options;
  const { broker, endpoint } = bench;
  const prefix = bench.newPrefix('system');
  const dir = join(bench.dir, prefix);
  note('starting all services');
  const system = await systemEnv({ broker: broker.address, dir, prefix, profileDir: bench.profileDir });
  const services = await startServices(system, SERVICES);
  try {
    await services.ready();
    const urls = Array.from({ length: CUSTOMERS }, (_, i) => `${endpoint.origin}/ok/customer-${String(i)}`);
    const target: Target = {
      prefix,
      ingestUrl: system.ingestUrl,
      customers: await createCustomers(system, urls),
      pids: { ...services.pids, broker: broker.pid, receiver: endpoint.pid, bench: process.pid },
    };
    const result: SystemFigures = {};
    if (only.has('latency')) {
      note(`latency at ${String(sizes.latency.perSecond)} calls/s`);
      result.latency = await measureLatency(bench, target, sizes.latency);
    }
    if (only.has('batches')) {
      note('all services, batches');
      result.batches = await measurePipeline(bench, target, sizes.batches);
    }
    if (only.has('singles')) {
      note('all services, single calls');
      result.singles = await measurePipeline(bench, target, sizes.singles);
    }
    result.warnings = services.warnings();
    return result;
  } finally {
    await services.stop();
  }
}
