import { SERVICES } from '../../deploy/local/paths';
import { createCustomers } from '../control-api';
import { residents } from '../memory';
import { measurePipeline, type Target } from '../pipeline';
import { type Bench } from '../setup';
import { table } from '../table';
import { withSystem } from '../with-system';

/** What control and its history cost those who deliver: the same load with control on, standing still, and killed. */

const CUSTOMERS = 4;
const LOAD = { callsPerRequest: 100, connections: 8, warmUp: 5_000 };

type Control = 'on' | 'standing still' | 'killed';

/** @param count webhooks of each phase */
export function measureBeside(bench: Bench, count: number, note: (text: string) => void): Promise<string> {
  return withSystem(bench, { name: 'beside', services: SERVICES }, async ({ prefix, system, pids }) => {
    const urls = Array.from({ length: CUSTOMERS }, (_, i) => `${bench.endpoint.origin}/ok/customer-${String(i)}`);
    const { control = 0, ...others } = pids;
    const target: Target = {
      prefix,
      ingestUrl: system.ingestUrl,
      customers: await createCustomers(system, urls),
      pids: others,
    };
    const rows = [['control', 'webhooks/s', 'missing', 'repeats']];
    // The first phase warms everybody up, and is shown as such. On and off take turns: the machine may change.
    let memory = NaN;
    for (const state of ['on', 'on', 'standing still', 'on', 'killed'] satisfies Control[]) {
      note(`control ${state}`);
      if (state === 'killed') memory = residents({ control }).control ?? NaN;
      turn(control, state);
      // Ids of messages are made of the count: another one, or the router drops them as seen.
      const size = { ...LOAD, count: count + rows.length };
      const { perSecond, missing, repeats } = await measurePipeline(bench, target, size);
      const name = rows.length === 1 ? `${state} (to warm up)` : state;
      rows.push([name, String(Math.round(perSecond)), String(missing), String(repeats)]);
    }
    return `${table(rows)}\nmemory of control before it was killed: ${String(Math.round(memory))} MB`;
  });
}

function turn(control: number, state: Control): void {
  process.kill(control, { on: 'SIGCONT', 'standing still': 'SIGSTOP', killed: 'SIGKILL' }[state]);
}
