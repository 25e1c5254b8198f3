import { LineChart } from '@mantine/charts';
import { type Sizes } from '../../../shared/api/operations';
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
  const all = sizes.map(({ members }) => members);
  const says =
    all.length === 0
      ? words.noCounts
      : words.summary(
          words.counted(all.at(-1) ?? 0),
          count(Math.min(...all)),
          count(Math.max(...all)),
        );
  return (
    <Figure title={words.usersOverTime} says={says} isEmpty={all.length === 0}>
      <LineChart
        {...LOOK}
        {...byTime(steps, span.stepSeconds)}
        withLegend={false}
        data={points}
        series={SERIES}
        curveType="stepAfter"
        withDots={steps.filter(({ members }) => members !== null).length <= MOST_DOTS}
        dotProps={{ r: 2 }}
        valueFormatter={count}
        yAxisProps={WHOLE}
        lineChartProps={{ ...ACCESSIBLE, ...ROOM }}
      />
    </Figure>
  );
}
