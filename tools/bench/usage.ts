import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from './clock';
import { readCpu } from './cpu';
import { residents } from './memory';

/** Samples memory and CPU of processes over a time in which some may end and others begin. */

const SAMPLE_MS = 1_000;

export interface Usage {
  /** ms since 1970 */
  fromMs: number;
  toMs: number;
  /** by process */
  of: Record<string, { cores: number; rssMb: { first: number; last: number; most: number } }>;
}

interface Sample {
  atMs: number;
  cpu: Record<string, number>;
  rss: Record<string, number>;
}

/** @param change runs at its beginning, and is part of it */
export async function watchUsage(
  pids: () => Record<string, number>,
  ms: number,
  change: () => Promise<void>,
): Promise<Usage> {
  const fromMs = Date.now();
  const end = clockMs() + ms;
  await change();
  const samples = [sample(pids())];
  while (clockMs() < end) {
    await pause(Math.min(SAMPLE_MS, Math.max(1, end - clockMs())));
    samples.push(sample(pids()));
  }
  return { fromMs, toMs: Date.now(), of: usageOf(samples) };
}

function sample(pids: Record<string, number>): Sample {
  return { atMs: clockMs(), cpu: readCpu(pids).byName, rss: residents(pids) };
}

/** Computes the usage from the first sample to the last. Pure. */
export function usageOf(samples: readonly Sample[]): Usage['of'] {
  const [first] = samples;
  const last = samples.at(-1);
  if (!first || !last) return {};
  const seconds = (last.atMs - first.atMs) / 1000;
  return Object.fromEntries(
    Object.keys(last.cpu).map((name) => {
      const rss = samples.flatMap((each) => each.rss[name] ?? []);
      const cores = ((last.cpu[name] ?? 0) - (first.cpu[name] ?? 0)) / seconds;
      return [name, { cores, rssMb: { first: rss[0] ?? NaN, last: rss.at(-1) ?? NaN, most: Math.max(...rss) } }];
    }),
  );
}
