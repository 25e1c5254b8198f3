import { BarChart, type BarChartProps, LineChart } from '@mantine/charts';
import { type Calls, type Overview } from '../../../shared/api/operations';
import { everyStep, stepLabel } from '../lib/series';
import { count, counted, latency } from '../lib/labels';
import { ACCESSIBLE, Figure, LEGEND, LOOK, WHOLE } from '../ui/charts';
import { Unread } from '../ui/ui';

interface Props {
  overview: Overview;
  calls: { data: { data: Calls } | undefined; error: Error | null; refetch: () => unknown };
}

/** Charts over time. Text below each chart and a table repeat the sums for people who cannot see it. */
export function Charts({ overview, calls }: Props) {
  return (
    <div className="charts">
      {calls.data && !calls.error ? <CallsChart calls={calls.data.data} /> : <Unread read={calls} what="calls" />}
      <DeliveriesChart overview={overview} />
      <LatencyChart overview={overview} />
    </div>
  );
}

/** Stacked numbers of each step. */
function Bars(shown: Pick<BarChartProps, 'data' | 'series'>) {
  return (
    <BarChart {...LOOK} {...shown} type="stacked" yAxisProps={WHOLE} barChartProps={ACCESSIBLE} legendProps={LEGEND} />
  );
}

function CallsChart({ calls }: { calls: Calls }) {
  const points = everyStep(calls, calls.series, Date.now()).map(({ at, found }) => ({
    at: stepLabel(at, calls.stepSeconds),
    Accepted: found?.accepted ?? 0,
    Rejected: found?.rejected ?? null,
    'Over the limit': found?.limited ?? null,
  }));
  const accepted = sum(calls.series, (step) => step.accepted);
  const rejected = sum(calls.series, (step) => step.rejected ?? 0);
  const limited = sum(calls.series, (step) => step.limited ?? 0);
  const over = limited === 0 ? '' : `; ${counted(limited, 'request')} over the limit of a source`;
  const says = `${count(accepted)} accepted, ${count(rejected)} rejected${over}`;
  const series = [
    { name: 'Accepted', color: 'blue.7' },
    { name: 'Rejected', color: 'red.7' },
    { name: 'Over the limit', color: 'yellow.7' },
  ];
  return (
    <Figure title="Calls of all sources" says={says}>
      <Bars data={points} series={series} />
    </Figure>
  );
}

/** Failed attempts are not stacked on finished deliveries: one delivery may have many. */
function DeliveriesChart({ overview }: { overview: Overview }) {
  const points = everyStep(overview, overview.series, Date.now()).map(({ at, found }) => ({
    at: stepLabel(at, overview.stepSeconds),
    Delivered: found?.delivered ?? 0,
    Dead: found?.dead ?? 0,
    'Failed attempts': found?.failedAttempts ?? 0,
  }));
  const { series: steps } = overview;
  const series = [
    { name: 'Delivered', color: 'teal.7' },
    { name: 'Dead', color: 'red.7' },
    { name: 'Failed attempts', color: 'yellow.7', stackId: 'attempts' },
  ];
  const [delivered, dead, failed] = [
    sum(steps, (step) => step.delivered),
    sum(steps, (step) => step.dead),
    sum(steps, (step) => step.failedAttempts),
  ];
  const says = `${count(delivered)} delivered, ${count(dead)} dead; ${counted(failed, 'attempt')} failed`;
  return (
    <Figure title="Deliveries" says={says}>
      <Bars data={points} series={series} />
    </Figure>
  );
}

function LatencyChart({ overview }: { overview: Overview }) {
  const points = everyStep(overview, overview.series, Date.now()).map(({ at, found }) => ({
    at: stepLabel(at, overview.stepSeconds),
    p50: found?.latencyMs.p50 ?? null,
    p95: found?.latencyMs.p95 ?? null,
  }));
  const last = overview.series.findLast(({ latencyMs }) => latencyMs.p50 !== null)?.latencyMs;
  const says = last ? `Recently 50 % within ${latency(last.p50)}, 95 % within ${latency(last.p95)}` : 'No data yet';
  const series = [
    { name: 'p50', color: 'blue.6' },
    { name: 'p95', color: 'grape.6' },
  ];
  return (
    <Figure title="From acceptance to delivery" says={says}>
      <LineChart
        {...LOOK}
        data={points}
        series={series}
        curveType="linear"
        connectNulls={false}
        dotProps={{ r: 2 }}
        valueFormatter={latency}
        lineChartProps={ACCESSIBLE}
        legendProps={LEGEND}
      />
    </Figure>
  );
}

function sum<T>(steps: readonly T[], of: (step: T) => number): number {
  return steps.reduce((total, step) => total + of(step), 0);
}
