import { loadSettings } from '../../../shared/service/settings';
import { DEFINITIONS } from '../definitions';
import { type Results } from './figures';
import { type Options } from '../options';
import { BODY_BYTES } from '../payload';

/** Describes the settings of the measurement. Pure. */
export function settingsOf({ sizes, only }: Pick<Options, 'sizes' | 'only'>): Results['settings'] {
  const { bare, delivery, batches, singles, latency, sustained, isolation, backlog, outage, waiting } = sizes;
  const { filters, audiences, hostile } = sizes;
  const defaults = loadSettings({});
  const after = (size: { warmUp: number; count: number }) =>
    `${String(size.count)} after ${String(size.warmUp)} to warm up`;
  const said: Partial<Results['settings']> = {
    bare: after(bare),
    delivery: after(delivery),
    telemetry: `twice each way, ${after(delivery)}`,
    filters: `${String(filters.destinations)} destinations, ${after(filters)}, ${String(filters.turns)} times each`,
    batches: `${after(batches)}, ${String(batches.connections)} connections`,
    singles: `${after(singles)}, ${String(singles.connections)} connections`,
    latency: `${String(latency.perSecond)}/s, ${after(latency)}`,
    sustained: `batches of ${String(sustained.callsPerRequest)} for ${String(sustained.seconds)} s`,
    isolation: `${String(isolation.endpoints)} endpoints, ${String(isolation.seconds)} s a phase, at ${String(isolation.loadPercent)} % of capacity`,
    backlog: `${String(backlog.count)} concurrent deliveries to an endpoint that takes ${String(backlog.answerMs)} ms`,
    outage: `${String(outage.perSecond)}/s, dead for ${String(outage.deadSeconds)} s`,
    waiting: `${String(waiting.count)} in tiers, ${String(waiting.perSecond)}/s falling due, ${String(waiting.seconds)} s a phase`,
    audiences: `${String(audiences.users)} users, ${String(audiences.passes)} messages of each, then ${String(audiences.traffic)} more; ${String(DEFINITIONS.audiences)} audiences, ${String(DEFINITIONS.traits)} computed traits`,
    hostile: `${String(hostile.perSecond)}/s hostile, honest calls at ${String(hostile.loadPercent)} % of capacity, ${String(hostile.seconds)} s a phase`,
  };
  return {
    parts: [...only].join(','),
    bodyBytes: BODY_BYTES,
    partitions: defaults.WAYPOST_PARTITIONS,
    logLevel: defaults.WAYPOST_LOG_LEVEL,
    ...Object.fromEntries([...only].map((part) => [part, said[part] ?? ''])),
  };
}
