import { answers, badFrom, hangs } from '../endpoint';
import { play, type Scenario } from '../scenario';

/** The process itself stands still: no healthy endpoint may suffer for it. */

export const frozen: Scenario = {
  name: 'frozen',
  about:
    'our own process stands still for 20 s, with 50 healthy endpoints at 1,500/s and one that hangs',
  async play(options) {
    const well = Array.from({ length: 50 }, (_, i) => ({
      id: `well${String(i)}`,
      label: 'healthy',
      urls: [answers(200)],
      perSecond: options.short ? 3 : 30,
    }));
    const sick = {
      id: 'sick',
      label: 'sick',
      urls: [badFrom(0, 30_000, hangs, answers(50))],
      perSecond: 10,
    };
    const freezes = [{ process: 0, atMs: 10_000, ms: 20_000 }];
    const ended = await play(
      { seed: options.seed, trafficMs: 40_000, destinations: [...well, sick], freezes },
      options,
      'frozen 20 s',
    );
    const { figures } = ended;
    return {
      findings: [
        ...ended.sound,
        {
          what: 'circuits of healthy endpoints opened',
          value: figures.counted('healthy: circuit open'),
          goal: { most: 0 },
        },
        {
          what: 'requests beyond one for each delivery',
          value: figures.counted('healthy: requests') - figures.counted('healthy: born'),
          goal: { most: 0 },
        },
        {
          what: 'healthy sent away',
          value: figures.counted('healthy: waits, lane_full'),
          goal: { most: 0 },
        },
        {
          what: 'last healthy one ended',
          value: figures.counted('healthy: last ended at') / 1_000,
          unit: 's',
        },
      ],
    };
  },
};
