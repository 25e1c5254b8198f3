import { answers, badFrom, refuses, works, type Behaviour } from '../endpoint';
import { play, type Finding, type Options, type Scenario } from '../scenario';
import { type Ended, type WorldSpec } from '../world';

/**
 * A hundred thousand deliveries wait for an endpoint that comes back. They follow within a minute
 * if it takes them, also where the process gets the CPU only now and then, and lanes send few of
 * them to tiers again.
 */

const BACK_MS = 300_000;
const MOST = 100_000;
/** The endpoint takes 1,700 a second. */
const WIDTH = 17;
const LATENCY_MS = 10;
const QUICK_MS = 3;
/** So many requests a second show that more than probes leave. */
const BACK_PER_SECOND = 50;
/** Goal for each delivery, beside the ramp: retry sends 2,000 a second. */
const EACH_MS = 0.55;
const RAMP_MS = 5_000;
/** Part that must arrive. The rest had attempts before, and waits for its next one. */
const PART = 0.995;
/** Part that a full lane may send to tiers: those that came first, before the circuit opened. */
const MOST_SENT_AWAY = 0.2;
const SLICE_MS = 1_000;

export const early: Scenario = {
  name: 'early',
  about: '100,000 wait for an endpoint that comes back; some four minutes to compute',
  async play(options) {
    return {
      findings: [
        ...(await playOne(options, 'takes 1,700 a second', works(WIDTH, LATENCY_MS))),
        ...(await playOne(options, 'a busy machine', answers(QUICK_MS), {
          freezes: seldomAwake(),
        })),
      ],
    };
  },
};

/** Another process has the CPU for most of the time. */
function seldomAwake(): NonNullable<WorldSpec['freezes']> {
  const everyMs = 110;
  const ms = 105;
  return Array.from({ length: 1_000 }, (_, i) => ({
    process: 0,
    atMs: BACK_MS + i * everyMs,
    ms,
  }));
}

async function playOne(
  options: Options,
  name: string,
  behaviour: Behaviour,
  more: Partial<WorldSpec> = {},
): Promise<Finding[]> {
  const count = options.short ? MOST / 10 : MOST;
  const ended = await play(
    {
      seed: options.seed,
      trafficMs: BACK_MS + 60_000,
      untilMs: BACK_MS + 120_000,
      sliceMs: SLICE_MS,
      settings: { windowMs: 4 * 3_600_000 },
      destinations: [
        {
          id: 'back',
          label: 'back',
          urls: [badFrom(0, BACK_MS, refuses, behaviour)],
          perSecond: 1,
          bursts: [{ atMs: 0, count }],
        },
      ],
      ...more,
    },
    options,
    name,
  );
  return [...ended.sound, ...findings(ended, name, count)];
}

function findings({ figures }: Ended, name: string, count: number): Finding[] {
  const perSecond = figures.course('requests, back').values.slice(BACK_MS / SLICE_MS);
  const first = perSecond.findIndex((requests) => requests >= BACK_PER_SECOND);
  let sum = 0;
  const last = perSecond.findIndex((requests) => (sum += requests) >= PART * count);
  const tookMs = last < 0 ? Infinity : (last + 1 - first) * SLICE_MS;
  return [
    {
      what: `${name}: the last follows the first after`,
      value: tookMs / 1_000,
      unit: 's',
      goal: { most: (RAMP_MS + EACH_MS * count) / 1_000 },
    },
    { what: `${name}: most in a second`, value: Math.max(...perSecond) },
    { what: `${name}: most at once`, value: figures.counted('back: most open') },
    {
      what: `${name}: sent away by a full lane`,
      value: figures.counted('back: waits, lane_full') / count,
      goal: { most: MOST_SENT_AWAY },
    },
  ];
}
