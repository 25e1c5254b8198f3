import { laneOptions } from '../../../services/delivery/tuning';
import { defined } from '../../../shared/collections/defined';
import { answers, works } from '../endpoint';
import { play, type Finding, type Options, type Scenario } from '../scenario';

/** Ten thousand deliveries together for one endpoint, beside others that must not be affected. */

const COUNT = 10_000;
const LATENCY_MS = 100;

export const burst: Scenario = {
  name: 'burst',
  about:
    '10,000 at once for one healthy endpoint of 100 ms; and for one that works on 30 at a time',
  async play(options) {
    const { ceiling } = laneOptions([10_000]);
    return {
      findings: [
        ...(await one(options, 'any width', ceiling)),
        ...(await one(options, 'works on 30', 30)),
      ],
    };
  },
};

/** Ideal: the largest width of the endpoint, all the time. */
async function one(options: Options, name: string, width: number): Promise<Finding[]> {
  const strict = name === 'any width';
  // The strict scenario keeps its size: with fewer deliveries its growth would dominate.
  const count = options.short && !strict ? COUNT / 10 : COUNT;
  const behaviour = strict ? answers(LATENCY_MS) : works(width, LATENCY_MS);
  const ended = await play(
    {
      seed: options.seed,
      trafficMs: 1_000,
      destinations: [
        { id: 'busy', label: 'busy', urls: [behaviour], bursts: [{ atMs: 0, count }] },
        { id: 'well', label: 'healthy', urls: [answers(50)], perSecond: 20 },
      ],
    },
    options,
    name,
  );
  const idealMs = (count / width) * LATENCY_MS;
  const { figures } = ended;
  const tookMs = figures.counted('busy: last ended at');
  return [
    ...ended.sound,
    { what: `${name}: ideal`, value: idealMs / 1_000, unit: 's' },
    { what: `${name}: took`, value: tookMs / 1_000, unit: 's' },
    {
      what: `${name}: took, times the ideal`,
      value: tookMs / idealMs,
      ...defined({ goal: strict ? { most: 1.2 } : undefined }),
    },
    { what: `${name}: most at once`, value: figures.counted('busy: most open') },
    {
      what: `${name}: most hops`,
      value: figures.counted('busy: most hops'),
      ...defined({ goal: strict ? { most: 1 } : undefined }),
    },
  ];
}
