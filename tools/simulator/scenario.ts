import { defined } from '../../shared/collections/defined';
import { type Ended, World, type WorldSpec } from './world';

/** A scenario and its findings. */

export interface Finding {
  what: string;
  value: number;
  unit?: string;
  /** the required limit; a finding without one is only reported */
  goal?: { most: number } | { least: number };
}

export interface Options {
  seed: number;
  /** seconds instead of minutes: for the unit tests */
  short: boolean;
  /** receives the progress of a long scenario */
  note: (text: string) => void;
}

interface Found {
  findings: Finding[];
}

export interface Scenario {
  name: string;
  /** one sentence */
  about: string;
  play: (options: Options) => Promise<Found>;
}

const SHORT_WINDOW_MS = 600_000;
const NOTE_EVERY_MS = 10_000;

export function keeps({ value, goal }: Finding): boolean {
  if (!goal) return true;
  return 'most' in goal ? value <= goal.most : value >= goal.least;
}

/**
 * Runs a world.
 * @returns its findings, beginning with the promise that always holds
 */
export async function play(
  spec: WorldSpec,
  { note, short }: Options,
  what = '',
): Promise<Ended & { sound: Finding[] }> {
  let noted = performance.now();
  const onMinute = (now: number) => {
    if (performance.now() - noted < NOTE_EVERY_MS) return;
    noted = performance.now();
    note(named(what, `virtual minute ${String(now / 60_000)}`));
  };
  // Even idle hours cost time.
  const settings = {
    ...defined({ windowMs: short ? SHORT_WINDOW_MS : undefined }),
    ...spec.settings,
  };
  const ended = await new World({ onMinute, ...spec, settings }).run();
  const kinds = Object.entries(ended.violations);
  const sound: Finding[] = [
    { what: named(what, 'deliveries'), value: ended.born },
    {
      what: named(what, 'promises broken'),
      value: kinds.reduce((sum, [, count]) => sum + count, 0),
      goal: { most: 0 },
    },
    ...kinds.map(([kind, value]) => ({ what: named(what, kind), value, goal: { most: 0 } })),
  ];
  return { ...ended, sound };
}

/** Percentiles of the waits before the first request. */
export function firstWaits(ended: Ended, label: string, what = label): Finding[] {
  const waits = ended.figures.of(`${label}: first wait`);
  return [0.5, 0.99, 1].map((share) => ({
    what:
      `${what}: wait for the first request, ` +
      (share === 1 ? 'longest' : `p${String(share * 100)}`),
    value: waits.percentile(share),
    unit: 'ms',
  }));
}

function named(prefix: string, what: string): string {
  return prefix === '' ? what : `${prefix}: ${what}`;
}
