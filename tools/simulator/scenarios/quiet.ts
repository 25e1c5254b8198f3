import { answers, badFrom, refuses } from '../endpoint';
import { play, type Finding, type Scenario } from '../scenario';
import { type Ended } from '../world';

/**
 * A few deliveries wait for an endpoint that is away, and no call comes: the waiting ones must
 * notice its return.
 */

const SLICE_MS = 1_000;
const MINUTE_MS = 60_000;
/** Until then the endpoint is probed every minute, and later every five minutes. */
const OFTEN_UNTIL_MS = 15 * MINUTE_MS;
const OFTEN_MS = MINUTE_MS;
const SELDOM_MS = 5 * MINUTE_MS;
const DELIVERIES = 30;
/** Longer than the endpoint is away. */
const WINDOW_MS = 4 * 60 * MINUTE_MS;

export const quiet: Scenario = {
  name: 'quiet',
  about: 'an endpoint without calls is away for 50 minutes: how long it is not asked',
  async play(options) {
    const backAtMs = options.short ? 14 * MINUTE_MS : 50 * MINUTE_MS;
    const ended = await play(
      {
        seed: options.seed,
        trafficMs: backAtMs,
        sliceMs: SLICE_MS,
        settings: { windowMs: WINDOW_MS },
        destinations: [
          {
            id: 'quiet',
            label: 'quiet',
            urls: [badFrom(0, backAtMs, refuses, answers(50))],
            bursts: [{ atMs: 0, count: DELIVERIES }],
          },
        ],
      },
      options,
    );
    return { findings: [...ended.sound, ...gaps(ended, backAtMs)] };
  },
};

function gaps({ figures }: Ended, backAtMs: number): Finding[] {
  const asked = figures
    .course('requests, quiet')
    .values.flatMap((count, slice) => (count > 0 ? [slice * SLICE_MS] : []));
  const gapsIn = (fromMs: number, toMs: number) =>
    asked.flatMap((at, i) => {
      const before = asked[i - 1];
      return before !== undefined && before >= fromMs && before < toMs ? [at - before] : [];
    });
  // Later, those whose attempts failed wait by their plan, for an endpoint that is well.
  const often = Math.max(0, ...gapsIn(0, Math.min(OFTEN_UNTIL_MS, backAtMs)));
  const seldom = Math.max(0, ...gapsIn(OFTEN_UNTIL_MS, backAtMs));
  const backMs = (asked.find((at) => at >= backAtMs) ?? Infinity) - backAtMs;
  const [s, most] = ['s', (ms: number) => ({ most: ms / 1_000 })];
  return [
    {
      what: 'longest time without a request, first quarter of an hour',
      value: often / 1_000,
      unit: s,
      goal: most(OFTEN_MS),
    },
    {
      what: 'longest time without a request, later',
      value: seldom / 1_000,
      unit: s,
      goal: most(SELDOM_MS),
    },
    { what: 'asked after its return', value: backMs / 1_000, unit: s, goal: most(SELDOM_MS) },
    {
      what: 'delivered',
      value: figures.counted('quiet: delivered'),
      goal: { least: DELIVERIES },
    },
  ];
}
