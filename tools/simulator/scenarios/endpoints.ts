import {
  answers,
  badFrom,
  failsSometimes,
  flaps,
  hangs,
  refuses,
  throttles,
  type Behaviour,
} from '../endpoint';
import { firstWaits, play, type Finding, type Options, type Scenario } from '../scenario';
import { type Ended } from '../world';

/** Endpoints with different problems, each beside ten healthy ones. */

interface Sick {
  behaviour: Behaviour;
  perSecond: number;
  bursts?: { atMs: number; count: number }[];
}

async function beside({ behaviour, perSecond, bursts = [] }: Sick, options: Options, name: string) {
  const well = Array.from({ length: 10 }, (_, i) => ({
    id: `well${String(i)}`,
    label: 'healthy',
    urls: [answers(50)],
    perSecond: options.short ? 2 : 20,
  }));
  const sick = { id: 'sick', label: 'sick', urls: [behaviour], perSecond, bursts };
  const trafficMs = options.short ? 60_000 : 600_000;
  const ended = await play(
    { seed: options.seed, trafficMs, destinations: [sick, ...well] },
    options,
    name,
  );
  const { figures } = ended;
  const per = (count: string) => figures.counted(`sick: ${count}`) / figures.counted('sick: born');
  const findings: Finding[] = [
    ...ended.sound,
    { what: `${name}: requests a delivery`, value: per('requests') },
    {
      what: `${name}: waits without an attempt, a delivery`,
      value: per('waits, circuit_open') + per('waits, lane_full'),
    },
    { what: `${name}: most hops`, value: figures.counted('sick: most hops') },
    { what: `${name}: circuits opened`, value: figures.counted('sick: circuit open') },
    { what: `${name}: dead letters`, value: figures.counted('sick: dead') },
    {
      what: `${name}: last one ended`,
      value: figures.counted('sick: last ended at') / 1_000,
      unit: 's',
    },
    ...firstWaits(ended, 'healthy', `${name}: healthy`).slice(1),
  ];
  return { ended, findings };
}

export const flapping: Scenario = {
  name: 'flapping',
  about: 'an endpoint that is away 20 s of every 40 s, at 50/s',
  async play(options) {
    const behaviour = flaps(20_000, 20_000, refuses, answers(50));
    const { findings } = await beside({ behaviour, perSecond: 50 }, options, 'flapping');
    return { findings };
  },
};

export const slow: Scenario = {
  name: 'slow',
  about: 'an endpoint that takes 4.9 s, less than its deadline, at 3/s and at 50/s',
  async play(options) {
    const findings: Finding[] = [];
    for (const perSecond of [3, 50]) {
      // Always within the deadline: no jitter.
      const behaviour: Behaviour = () => ({ kind: 'status', afterMs: 4_850, status: 200 });
      findings.push(
        ...(await beside({ behaviour, perSecond }, options, `4.9 s at ${String(perSecond)}/s`))
          .findings,
      );
    }
    return { findings };
  },
};

export const failing: Scenario = {
  name: 'failing',
  about: 'an endpoint that fails 30 % at random, at 50/s',
  async play(options) {
    const { ended, findings } = await beside(
      { behaviour: failsSometimes(0.3, 50), perSecond: 50 },
      options,
      '30 % failing',
    );
    return { findings: [...findings, ...firstWaits(ended, 'sick', '30 % failing')] };
  },
};

export const throttled: Scenario = {
  name: 'throttled',
  about:
    'an endpoint that takes 20/s and answers 429 with Retry-After 2 s beyond, at 10/s and ' +
    'bursts of 50',
  async play(options) {
    const bursts = Array.from({ length: 10 }, (_, i) => ({ atMs: i * 5_000, count: 50 }));
    const sick = { behaviour: throttles(20, 2), perSecond: 10, bursts };
    const { ended, findings } = await beside(sick, options, '429');
    return { findings: [...findings, share429(ended)] };
  },
};

function share429({ figures }: Ended): Finding {
  const asked = figures.counted('sick: requests');
  return {
    what: '429: requests in vain',
    value: (asked - figures.counted('sick: delivered')) / asked,
  };
}

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
