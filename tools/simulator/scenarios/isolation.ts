import { SOCKETS } from '../../../services/delivery/tuning';
import { answers, badFrom, hangs } from '../endpoint';
import { firstWaits, play, type Finding, type Options, type Scenario } from '../scenario';
import { type DestinationSpec, type Ended } from '../world';

/** Endpoints beside hanging ones: the effect on the healthy ones. */

const ENDPOINTS = 100;
const PER_SECOND = 1_500;
/** Virtual time has a resolution of a millisecond: a difference of one has no meaning. */
const CLOCK_MS = 1;

function crowd(perSecond: number, bad: number, from: number, to: number): DestinationSpec[] {
  return Array.from({ length: ENDPOINTS }, (_, i) => {
    const good = answers(20 + ((i * 37) % 280));
    const isBad = i < bad;
    return {
      id: `d${String(i)}`,
      label: isBad ? 'hanging' : 'healthy',
      urls: [isBad ? badFrom(from, to, hangs, good) : good],
      perSecond: perSecond / ENDPOINTS,
    };
  });
}

async function beside(bad: number, options: Options): Promise<{ ended: Ended; sound: Finding[] }> {
  const [from, to, end] = options.short ? [1_000, 8_000, 10_000] : [10_000, 70_000, 90_000];
  const perSecond = options.short ? PER_SECOND / 10 : PER_SECOND;
  const spec = {
    seed: options.seed,
    destinations: crowd(perSecond, bad, from, to),
    trafficMs: end,
  };
  const ended = await play(spec, options, bad === 0 ? 'none hanging' : `${String(bad)} % hanging`);
  return { ended, sound: ended.sound };
}

/** Compared with the clean run of the same seed. */
export const isolation: Scenario = {
  name: 'isolation',
  about: '1, 10 and 50 of 100 endpoints hang for a minute at 1,500/s, beside a run where none does',
  async play(options) {
    const clean = await beside(0, options);
    const usual = firstWaits(clean.ended, 'healthy', 'none hanging: healthy');
    const findings = [...clean.sound, ...usual, mostOpen(clean.ended, 'none hanging')];
    const most = 1.2 * (usual.find(isP99)?.value ?? NaN) + CLOCK_MS;
    for (const bad of [1, 10, 50]) {
      const { ended, sound } = await beside(bad, options);
      const { figures } = ended;
      const name = `${String(bad)} % hanging`;
      const waits = firstWaits(ended, 'healthy', `${name}: healthy`);
      const away =
        figures.counted('hanging: waits, circuit_open') +
        figures.counted('hanging: waits, lane_full');
      findings.push(
        ...sound,
        ...waits.map((each) => (isP99(each) ? { ...each, goal: { most } } : each)),
        { ...mostOpen(ended, name), goal: { most: SOCKETS.total } },
        {
          what: `${name}: waits without an attempt, a delivery`,
          value: away / figures.counted('hanging: born'),
        },
        {
          what: `${name}: healthy sent away`,
          value: figures.counted('healthy: waits, lane_full'),
          goal: { most: 0 },
        },
        {
          what: `${name}: last one ended`,
          value: figures.counted('hanging: last ended at') / 1_000,
          unit: 's',
        },
      );
    }
    return { findings };
  },
};

function mostOpen({ figures }: Ended, name: string): Finding {
  return { what: `${name}: most requests open`, value: figures.counted('most open') };
}

function isP99({ what }: Finding): boolean {
  return what.endsWith('p99');
}
