import { LineChart } from '@mantine/charts';
import { type Sizes } from '../../../shared/api/operations';
import { stepLabel } from '../lib/series';
import { count, counted } from '../lib/labels';
import { ACCESSIBLE, Figure, LOOK, WHOLE } from '../ui/charts';

const DAY_SECONDS = 86_400;
const SERIES = [{ name: 'Users', color: 'blue.6' }];

/** The number of members over time. Text beside the chart repeats its content for people who cannot see it. */
export function SizeChart({ sizes, spanMs }: { sizes: Sizes['data']; spanMs: number }) {
  // Hours alone would not name the day.
  const labelled = spanMs > DAY_SECONDS * 1_000 ? DAY_SECONDS / 4 : 60;
  const points = sizes.map(({ at, members }) => ({ at: stepLabel(at, labelled), Users: members }));
  const all = sizes.map(({ members }) => members);
  const says =
    all.length === 0
      ? 'No counts in this period'
      : `${counted(all.at(-1) ?? 0, 'user')} now; minimum ${count(Math.min(...all))}, maximum ${count(Math.max(...all))}`;
  return (
    <Figure title="Users over time" says={says}>
      {all.length > 0 && (
        <LineChart
          {...LOOK}
          withLegend={false}
          data={points}
          series={SERIES}
          curveType="stepAfter"
          dotProps={{ r: 2 }}
          valueFormatter={count}
          yAxisProps={WHOLE}
          lineChartProps={ACCESSIBLE}
        />
      )}
    </Figure>
  );
}
