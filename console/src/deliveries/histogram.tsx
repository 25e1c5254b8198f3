import { lazy, Suspense } from 'react';
import { defined } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { count } from '../lib/labels';
import { everyStep, type Range } from '../lib/series';
import { useMay } from '../lib/session';
import { type Filters } from '../ui/filters';
import { endsShown, histogramSpan, stepsWithin } from './histogram-span';
import { text } from '../texts';

const words = text.watch.histogram;

/** How many deliveries of a list ended when. Dragging over a part of the time chooses it. */

/** Half of the console's code is that of charts: the list does not wait for it. */
const Bars = lazy(() => import('../ui/time-charts').then((module) => ({ default: module.Bars })));

const LOOK_AGAIN_MS = 10_000;
const HEIGHT = 84;

const SERIES = {
  delivered: { name: words.delivered, color: 'var(--bar-good)' },
  partlyDelivered: { name: words.partlyDelivered, color: 'var(--bar-wait)' },
  dead: { name: words.dead, color: 'var(--bar-lost)' },
  cancelled: { name: words.cancelled, color: 'var(--bar-calm)' },
} as const;

/** No destination has this id: the answer has the counts of all, and no rows. */
const NO_ROWS = { ids: 'none' } as const;

interface Props {
  filters: Filters;
  /** the list has the deliveries of this destination only */
  destination?: string;
}

export function Histogram({ filters, destination = filters.get('destination') }: Props) {
  const ends = endsShown(filters.text);
  const endedSince = filters.get('endedSince');
  const endedUntil = filters.get('endedUntil');
  const { since, until } = histogramSpan(
    {
      since: filters.get('since'),
      until: filters.get('until'),
      endedSince,
      endedUntil,
    },
    Date.now(),
  );
  const of = destination === '' ? undefined : destination;
  const query = { ...NO_ROWS, since, ...defined({ until, destination: of }) };
  const may = useMay('GET /overview');
  const read = useRead(
    'GET /overview',
    { query },
    { every: LOOK_AGAIN_MS, keep: true, enabled: may && ends.length > 0 },
  );
  if (!may || ends.length === 0) return null;
  const overview = read.data?.data;
  // The list does not move when the counts arrive.
  if (!overview) return <div className="histogram" />;
  const steps = everyStep(overview, overview.series, until ? Date.parse(until) : Date.now());
  const sums = ends.map((end) => {
    const sum = steps.reduce((total, { found }) => total + (found?.[end] ?? 0), 0);
    return words.of(count(sum), SERIES[end].name);
  });
  const chosen = stepsWithin(steps, { since: endedSince, until: endedUntil });
  const choose = (range: Range) =>
    filters.setAll({
      since: '',
      until: '',
      endedSince: range.since,
      endedUntil: range.until,
      counted: 'true',
    });
  return (
    <figure className="histogram">
      <figcaption>
        {words.ended(sums)} <span className="quiet">{words.hint}</span>
      </figcaption>
      <Suspense>
        <Bars
          h={HEIGHT}
          withLegend={false}
          withYAxis={false}
          steps={steps}
          stepSeconds={overview.stepSeconds}
          values={steps.map(({ found }) =>
            Object.fromEntries(ends.map((end) => [SERIES[end].name, found?.[end] ?? 0])),
          )}
          series={ends.map((end) => SERIES[end])}
          chosen={chosen}
          onZoom={choose}
          onPick={choose}
        />
      </Suspense>
    </figure>
  );
}
