import { SERVICES } from '../../../deploy/standalone/service-list';
import { type Mood } from '../../../test/support/egress-proxies';
import { createCustomers } from '../load';
import { type Progress } from '../progress';
import { type ProxiesFigure, type ProxyPhase } from '../report/figures';
import { type Bench, withSystem } from '../setup';
import { measurePhase } from './isolation-phase';
import { type Target } from './pipeline';
import { startProxy } from './proxy-process';

/**
 * The cost of a bad egress proxy for destinations without one. Every phase offers the same calls;
 * the phases differ in what the proxy does. A clean phase precedes and follows each of the others,
 * as for hanging endpoints.
 */

/** Records that the proxy held return after a phase within another minute. */
const SETTLE_MS = 65_000;

export interface ProxiesSize {
  /** destinations without a proxy, which are measured, and behind it */
  free: number;
  behind: number;
  perSecond: number;
  /** of each phase */
  seconds: number;
  /** before the first phase and unmeasured, with a proxy that hangs */
  warmUpSeconds: number;
}

const MOODS = ['hangs', 'refuses', 'closes'] as const;

export async function measureProxies(
  bench: Bench,
  size: ProxiesSize,
  progress: Progress,
): Promise<ProxiesFigure> {
  const proxy = await startProxy();
  try {
    return await withSystem(
      bench,
      { name: 'proxies', services: SERVICES },
      async ({ system, pids }) => {
        const { free, behind, perSecond, seconds, warmUpSeconds } = size;
        const origins = await bench.endpoint.origins(behind + free);
        const urls = origins.map((origin) => `${origin}/ok/`);
        const customers = [
          ...(await createCustomers(system, urls.slice(0, behind), { proxy: proxy.url })),
          ...(await createCustomers(system, urls.slice(behind))),
        ];
        const target: Target = { ...system, customers, pids: { ...pids, proxy: proxy.pid } };
        const run = (name: string, mood: Mood, during: number) => {
          const expectedMs = during * 1000 + (mood === 'works' ? 0 : SETTLE_MS);
          const trouble = { begin: () => proxy.behave(mood), end: () => proxy.behave('works') };
          const phase = {
            name,
            origins,
            hanging: 0,
            measured: free,
            perSecond,
            seconds: during,
            trouble,
          };
          return progress.during(`the proxy ${mood}`, expectedMs, () =>
            measurePhase(bench, target, phase),
          );
        };
        await run('warm-up', 'hangs', warmUpSeconds);
        const phases: ProxyPhase[] = [];
        for (const [i, mood] of [
          'works' as const,
          ...MOODS.flatMap((bad) => [bad, 'works' as const]),
        ].entries()) {
          phases.push({ mood, ...(await run(`phase-${String(i)}`, mood, seconds)) });
        }
        return { free, behind, perSecond, phases };
      },
    );
  } finally {
    proxy.stop();
  }
}
