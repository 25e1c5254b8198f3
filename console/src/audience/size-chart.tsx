import { LineChart } from '@mantine/charts';
import { type Sizes } from '../../../shared/api/operations';
import { stepLabel } from '../lib/series';
import { count } from '../lib/labels';
import { ACCESSIBLE, Figure, LOOK, ROOM, WHOLE } from '../ui/charts';
import { text } from '../texts';

const words = text.audience.sizeChart;

const DAY_SECONDS = 86_400;
const SERIES = [{ name: words.users, color: 'var(--bar-info)' }];

/**
 * The number of members over time. Text beside the chart repeats its content for people who cannot
 * see it.
 */
export function SizeChart({ sizes, spanMs }: { sizes: Sizes['data']; spanMs: number }) {
  // Hours alone would not name the day.
  const labelled = spanMs > DAY_SECONDS * 1_000 ? DAY_SECONDS / 4 : 60;
  const points = sizes.map(({ at, members }) => ({
    at: stepLabel(at, labelled),
    [words.users]: members,
  }));
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
        withLegend={false}
        data={points}
        series={SERIES}
        curveType="stepAfter"
        dotProps={{ r: 2 }}
        valueFormatter={count}
        yAxisProps={WHOLE}
        lineChartProps={{ ...ACCESSIBLE, ...ROOM }}
      />
    </Figure>
  );
}
