import { SERVICES } from '../../../deploy/standalone/service-list';
import { laneOptions } from '../../../services/delivery/lanes/tuning';
import { loadSettings } from '../../../shared/service/settings';
import { createCustomers } from '../control-api';
import { type IsolationFigure, type IsolationPhase } from '../report/figures';
import { measurePhase } from './isolation-phase';
import { type LoopSize, measurePipeline, type Target } from './pipeline';
import { type Progress } from '../progress';
import { type Bench } from '../setup';
import { withSystem } from '../with-system';

/**
 * What endpoints that hang cost the others. In every phase the same calls are offered to the same endpoints, an open
 * loop at a share of what was measured as capacity just before. The phases differ in how many endpoints hang, and only
 * those that hang in none of them are measured: the clean phases and the others are alike but for that. A clean phase comes
 * before each of the others and after it, since a machine's p99 changes from one minute to the next, and a system's with its age.
 */

/** What went to tiers comes back after a phase, which is an outage of a minute: by its tiers, within another. */
const SETTLE_MS = 65_000;

export interface IsolationSize {
  endpoints: number;
  /** how many of them hang, phase by phase; with a clean phase before and after each */
  hanging: number[];
  /** of each phase */
  seconds: number;
  /**
   * before the first phase and unmeasured, with endpoints of its own of which as many hang as in any phase: V8 and the broker's
   * JVM compile what sees to them when it is first used, which an hour later is no part of what others pay
   */
  warmUpSeconds: number;
  loadPercent: number;
  /** how capacity is measured; or calls a second, where it is given */
  capacity: LoopSize | number;
}

export function measureIsolation(bench: Bench, size: IsolationSize, progress: Progress): Promise<IsolationFigure> {
  return withSystem(bench, { name: 'isolation', services: SERVICES }, async ({ prefix, system, pids }) => {
    const { endpoints, seconds } = size;
    const most = Math.max(...size.hanging);
    // Those that hang while the system warms up come first, and are in no phase: the others' lanes have no past.
    const all = await bench.endpoint.origins(most + endpoints);
    progress.note(`a source and a destination for each of ${String(endpoints)} endpoints, and ${String(most)} more`);
    const urls = all.map((origin) => `${origin}/ok/`);
    const everyone: Target = {
      prefix,
      ingestUrl: system.ingestUrl,
      customers: await createCustomers(system, urls),
      pids,
    };
    const origins = all.slice(most);
    const target: Target = { ...everyone, customers: everyone.customers.slice(most) };
    progress.note('capacity');
    const capacity =
      typeof size.capacity === 'number'
        ? size.capacity
        : (await measurePipeline(bench, target, size.capacity)).perSecond;
    const perSecond = (capacity * size.loadPercent) / 100;
    const measured = endpoints - most;
    const phases: IsolationPhase[] = [];
    const warmUp = { name: 'warm-up', origins: all, hanging: most, measured, perSecond, seconds: size.warmUpSeconds };
    await progress.during('warm-up', 1000 * size.warmUpSeconds + SETTLE_MS, () =>
      measurePhase(bench, everyone, warmUp),
    );
    for (const [i, hanging] of [0, ...size.hanging.flatMap((hung) => [hung, 0])].entries()) {
      const what = `${String(hanging)} of ${String(endpoints)} hang, ${String(Math.round(perSecond))} calls/s`;
      const phase = { name: `phase-${String(i)}`, origins, hanging, measured, perSecond, seconds };
      const expectedMs = seconds * 1000 + (hanging > 0 ? SETTLE_MS : 0);
      phases.push(await progress.during(what, expectedMs, () => measurePhase(bench, target, phase)));
    }
    const { ceiling } = laneOptions(loadSettings(system.env).WAYPOST_RETRY_DELAYS);
    return { endpoints, measured, capacity, offeredPerSecond: perSecond, laneLimit: ceiling, phases };
  });
}
