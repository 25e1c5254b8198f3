import { type PointerEvent, useState } from 'react';
import { defined } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { clock, count } from '../lib/labels';
import { useMay } from '../lib/session';
import { type Filters } from '../ui/filters';
import { type Bar, barAt, barsOf, type End, endsOf } from './bars';
import { timeOf } from '../lib/times';
import { text } from '../texts';

const words = text.watch.histogram;

const LOOK_AGAIN_MS = 30_000;
/** Where the list shows all times. */
const USUAL = '24h';
/** No destination has this id: the answer has the counts of all, and no rows. */
const NO_ROWS = 'none';

interface Props {
  filters: Filters;
  destination: string | undefined;
}

/**
 * How many deliveries ended when, above their list: dragging over bars, or a click on one, shows
 * those of that time. The field beside the search does the same by keyboard.
 */
export function Histogram({ filters, destination = filters.get('destination') }: Props) {
  const ends = endsOf(filters.text);
  const since = filters.get('endedSince') || filters.get('since') || USUAL;
  const until = filters.get('endedUntil') || filters.get('until');
  const enabled = useMay('GET /overview') && ends.length > 0;
  const query = {
    since: timeOf(since, Date.now()),
    ids: NO_ROWS,
    ...defined({
      until: until === '' ? undefined : timeOf(until, Date.now()),
      destination: destination === '' ? undefined : destination,
    }),
  };
  const read = useRead('GET /overview', { query }, { every: LOOK_AGAIN_MS, keep: true, enabled });
  if (!enabled || !read.data) return null;
  const endMs = query.until === undefined ? Date.now() : Date.parse(query.until);
  const bars = barsOf(read.data.data, ends, endMs);
  if (bars.every(({ counts }) => sumOf(counts) === 0)) return null;
  return (
    <Bars
      ends={ends}
      bars={bars}
      endMs={endMs}
      onChoose={(first, last) =>
        filters.go({
          after: '',
          page: '',
          since: '',
          until: '',
          endedSince: first.at,
          endedUntil: last.until,
          counted: 'true',
        })
      }
    />
  );
}

interface BarsProps {
  ends: readonly End[];
  bars: readonly Bar[];
  endMs: number;
  onChoose: (first: Bar, last: Bar) => void;
}

const STEP = 4;
const GAP = 0.6;
const HEIGHT = 40;

const CLASSES: Readonly<Record<End, string>> = {
  delivered: 'spark-good',
  partlyDelivered: 'spark-wait',
  dead: 'spark-lost',
  cancelled: 'spark-calm',
};

function Bars({ ends, bars, endMs, onChoose }: BarsProps) {
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const most = Math.max(...bars.map(({ counts }) => sumOf(counts)));
  const height = (n: number) => (n / most) * HEIGHT;
  const summary = words.summary(
    ends.map((end, e) => words.ends[end](count(sumOf(bars.map(({ counts }) => counts[e] ?? 0))))),
  );
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
        aria-label={summary}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
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
        {bars.map(({ at, counts }, i) => (
          <g key={at}>
            {ends.map((each, e) => (
              <rect
                key={each}
                className={CLASSES[each]}
                x={i * STEP}
                y={HEIGHT - height(sumOf(counts.slice(0, e + 1)))}
                width={STEP - GAP}
                height={height(counts[e] ?? 0)}
              />
            ))}
          </g>
        ))}
      </svg>
      <figcaption>
        <time dateTime={bars[0]?.at}>{clock(bars[0]?.at ?? '', endMs)}</time>
        <span>{summary}</span>
        <time dateTime={new Date(endMs).toISOString()}>
          {clock(new Date(endMs).toISOString(), endMs)}
        </time>
      </figcaption>
    </figure>
  );
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0);
}
