import { LineChart } from '@mantine/charts';
import { type Sizes } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { sizeSteps } from '../lib/series';
import { count } from '../lib/labels';
import { ACCESSIBLE, byTime, Figure, LOOK, ROOM, WHOLE } from '../ui/charts';
import { text } from '../texts';

const words = text.audience.sizeChart;

const SERIES = [{ name: words.users, color: 'var(--bar-info)' }];
/** More dots would hide the line. */
const MOST_DOTS = 12;

interface Props {
  sizes: Sizes['data'];
  /** start of the time, and its steps */
  span: { since: string; stepSeconds: number };
}

/**
 * The number of members over time. Text beside the chart repeats its content for people who cannot
 * see it.
 */
export function SizeChart({ sizes, span }: Props) {
  const steps = sizeSteps(sizes, span, Date.now());
  const points = steps.map(({ at, members }) => ({ at, [words.users]: members }));
  // What the line shows: a size within a step may have been larger for a moment.
  const shown = compact(steps.map(({ members }) => members ?? undefined));
  const says =
    shown.length === 0
      ? words.noCounts
      : words.summary(
          words.counted(shown.at(-1) ?? 0),
          count(Math.min(...shown)),
          count(Math.max(...shown)),
        );
  return (
    <Figure says={says} empty={shown.length === 0 ? words.noDataYet : undefined}>
      <LineChart
        {...LOOK}
        {...byTime(steps, span.stepSeconds)}
        withLegend={false}
        data={points}
        series={SERIES}
        curveType="stepAfter"
        withDots={shown.length <= MOST_DOTS}
        dotProps={{ r: 2 }}
        valueFormatter={count}
        yAxisProps={WHOLE}
        lineChartProps={{ ...ACCESSIBLE, ...ROOM }}
      />
    </Figure>
  );
}
