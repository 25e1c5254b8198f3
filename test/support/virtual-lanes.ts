import { LaneRegistry, type LaneRegistryOptions } from '../../services/delivery/lanes/registry';
import { keepLaneMs, laneOptions, SOCKETS } from '../../services/delivery/tuning';
import { type ProcessTime } from '../../tools/simulator/process-time';

const TIERS_MS = [10_000, 60_000];

/** Lanes in virtual time, of a process that is never busy and has all shards. */
export function virtualLanes(
  time: ProcessTime,
  listener: Pick<LaneRegistryOptions, 'onCircuit' | 'onDropped'>,
): LaneRegistry {
  return new LaneRegistry({
    ...listener,
    lane: laneOptions(TIERS_MS),
    pool: SOCKETS,
    keepMs: keepLaneMs(TIERS_MS),
    clock: {
      now: () => time.steadyMs(),
      saturated: false,
      usesWholeCore: false,
      stalledMs: 0,
      run: () => () => undefined,
    },
    time,
    rateShare: () => 1,
  });
}
