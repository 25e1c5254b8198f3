import { type PointerEvent, useState } from 'react';
import { defined } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { clock, count } from '../lib/labels';
import { type Filters } from '../ui/filters';
import { type Bar, barAt, barsOf, hasBars, timesOf } from './bars';
import { timeOf } from './search';
import { text } from '../texts';

const words = text.watch.histogram;

const LOOK_AGAIN_MS = 30_000;
/** Where the list shows all times. */
const USUAL = '24h';

interface Props {
  filters: Filters;
  destination: string | undefined;
}

/**
 * How many deliveries ended when, above their list: dragging over bars, or a click on one, shows
 * those of that time. The field beside the search does the same by keyboard.
 */
export function Histogram({ filters, destination = filters.get('destination') }: Props) {
  const status = filters.get('status');
  const names = timesOf(status);
  const [since, until] = [filters.get(names.since) || USUAL, filters.get(names.until)];
  const enabled = hasBars(filters.text);
  const query = {
    since: timeOf(since, Date.now()),
    ...defined({
      until: until === '' ? undefined : timeOf(until, Date.now()),
      destination: destination === '' ? undefined : destination,
      ids: destination === '' ? undefined : destination,
    }),
  };
  const read = useRead('GET /overview', { query }, { every: LOOK_AGAIN_MS, keep: true, enabled });
  if (!enabled || !read.data) return null;
  const endMs = query.until === undefined ? Date.now() : Date.parse(query.until);
  const bars = barsOf(read.data.data, status, endMs);
  if (bars.every(({ delivered, dead }) => delivered + dead === 0)) return null;
  return (
    <Bars
      bars={bars}
      endMs={endMs}
      onChoose={(first, last) =>
        filters.go({ after: '', page: '', [names.since]: first.at, [names.until]: last.until })
      }
    />
  );
}

interface BarsProps {
  bars: readonly Bar[];
  endMs: number;
  onChoose: (first: Bar, last: Bar) => void;
}

const STEP = 4;
const GAP = 0.6;
const HEIGHT = 40;

function Bars({ bars, endMs, onChoose }: BarsProps) {
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const most = Math.max(...bars.map(({ delivered, dead }) => delivered + dead));
  const height = (n: number) => (n / most) * HEIGHT;
  const sum = (what: 'delivered' | 'dead') =>
    count(bars.reduce((total, bar) => total + bar[what], 0));
  const [first, last] = drag
    ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]
    : [0, -1];
  const indexOf = ({ clientX, currentTarget }: PointerEvent<SVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return barAt((clientX - left) / width, bars.length);
  };
  const end = () => {
    setDrag(undefined);
    const [from, to] = [bars[first], bars[last]];
    if (from && to) onChoose(from, to);
  };
  return (
    <figure className="histogram">
      <svg
        viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words.summary(sum('delivered'), sum('dead'))}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const at = indexOf(event);
          setDrag({ from: at, to: at });
        }}
        onPointerMove={(event) => drag && setDrag({ ...drag, to: indexOf(event) })}
        onPointerUp={end}
        onPointerCancel={() => setDrag(undefined)}
      >
        {last >= first && (
          <rect
            className="brushed"
            x={first * STEP}
            width={(last - first + 1) * STEP}
            height={HEIGHT}
          />
        )}
        {bars.map(({ at, delivered, dead }, i) => (
          <g key={at}>
            <rect
              className="spark-good"
              x={i * STEP}
              y={HEIGHT - height(delivered)}
              width={STEP - GAP}
              height={height(delivered)}
            />
            <rect
              className="spark-lost"
              x={i * STEP}
              y={HEIGHT - height(delivered + dead)}
              width={STEP - GAP}
              height={height(dead)}
            />
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{clock(bars[0]?.at ?? '', endMs)}</span>
        <span>{words.summary(sum('delivered'), sum('dead'))}</span>
        <span>{clock(new Date(endMs).toISOString(), endMs)}</span>
      </figcaption>
    </figure>
  );
}
