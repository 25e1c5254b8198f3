import { BarChart, type BarChartProps, LineChart } from '@mantine/charts';
import { useRef } from 'react';
import { useNavigate } from 'react-router';
import { type Calls, type Overview } from '../../../shared/api/operations';
import { everyStep, latencyTicks, listOf, type Range, type Step, stepLabel } from '../lib/series';
import { type DeliveryStatus } from '../../../shared/model/reasons';
import { count, latency } from '../lib/labels';
import { ACCESSIBLE, Figure, LEGEND, LOOK, WHOLE } from './charts';
import { Table, TextLink, Unread } from './ui';
import { useZoom } from './zoom';
import { text } from '../texts';

const words = text.ui.timeCharts;

/** Counts of deliveries over time, of all destinations or of one. */
type Counted = Pick<Overview, 'since' | 'stepSeconds' | 'series'>;

interface Props {
  overview: Overview;
  calls: { data: { data: Calls } | undefined; error: Error | null; refetch: () => unknown };
  /** end of the shown time, ms since 1970 */
  endMs: number;
  /** the destination that is shown; empty: all */
  only: string;
  onZoom: (range: Range) => void;
}

/**
 * Charts over time. Text above each chart and tables repeat the numbers for people who cannot see
 * them.
 */
export function Charts({ overview, calls, ...shown }: Props) {
  return (
    <div className="charts">
      {calls.data && !calls.error ? (
        <CallsChart calls={calls.data.data} {...shown} />
      ) : (
        <Unread read={calls} what={words.calls} />
      )}
      <DeliveriesChart counted={overview} {...shown} />
      <LatencyChart counted={overview} whole={overview.totals.latencyMs} {...shown} />
    </div>
  );
}

export type Shown = Omit<Props, 'overview' | 'calls'>;

interface BarsProps extends Pick<BarChartProps, 'series'> {
  steps: readonly Step<unknown>[];
  values: readonly Record<string, number | null>[];
  stepSeconds: number;
  onZoom: (range: Range) => void;
  /** the user clicked a step, or a bar of this series there */
  onPick: (range: Range, series: string | undefined) => void;
}

/** Stacked numbers of each step. A click leads to the step's list, and dragging zooms in. */
function Bars({ steps, values, stepSeconds, series, onZoom, onPick }: BarsProps) {
  // The bar hears of the mouse before the chart does.
  const pressed = useRef<string>(undefined);
  const zoom = useZoom({
    keys: steps.map(({ at }) => at),
    onPick: (index) => {
      const step = steps[index];
      const series = pressed.current;
      pressed.current = undefined;
      if (step) onPick({ since: step.at, until: step.until }, series);
    },
    onZoom: (from, to) => {
      pressed.current = undefined;
      const [first, last] = [steps[from], steps[to]];
      if (first && last) onZoom({ since: first.at, until: last.until });
    },
  });
  return (
    <BarChart
      {...LOOK}
      {...byTime(stepSeconds)}
      data={values.map((value, i) => ({ ...value, at: steps[i]?.at }))}
      series={series}
      // "stacked" would add up series of different stacks.
      type="default"
      yAxisProps={WHOLE}
      barProps={({ name }) => ({ onMouseDown: () => (pressed.current = name) })}
      barChartProps={{ ...ACCESSIBLE, ...zoom.chartProps }}
      legendProps={LEGEND}
    >
      {zoom.area}
    </BarChart>
  );
}

/**
 * Labels the steps of a chart. Their keys are their times, because the first and the last step of a
 * whole day have the same label, and recharts takes steps of one key for one step.
 */
function byTime(stepSeconds: number) {
  // Recharts also asks while the pointer is on no step.
  const label = (at: unknown) =>
    typeof at === 'string' && at !== '' ? stepLabel(at, stepSeconds) : '';
  return { xAxisProps: { tickFormatter: label }, tooltipProps: { labelFormatter: label } };
}

function CallsChart({ calls, endMs, onZoom }: { calls: Calls } & Shown) {
  const navigate = useNavigate();
  const steps = everyStep(calls, calls.series, endMs);
  const values = steps.map(({ found }) => ({
    [words.accepted]: found?.accepted ?? 0,
    [words.rejected]: found?.rejected ?? null,
    [words.overLimit]: found?.limited ?? null,
  }));
  const shown = steps.flatMap(({ found }) => found ?? []);
  const accepted = sum(shown, (step) => step.accepted);
  const rejected = sum(shown, (step) => step.rejected ?? 0);
  const limited = sum(shown, (step) => step.limited ?? 0);
  const over = limited === 0 ? '' : words.overLimits(words.requests(limited));
  const says = words.callsSummary(count(accepted), count(rejected), over);
  const series = [
    { name: words.accepted, color: 'blue.7', stackId: 'calls' },
    { name: words.rejected, color: 'red.7', stackId: 'calls' },
    // Requests, each of which may hold many calls.
    { name: words.overLimit, color: 'yellow.7', stackId: 'requests' },
  ];
  return (
    <Figure title={words.incomingEvents} says={says}>
      <Bars
        steps={steps}
        values={values}
        series={series}
        onZoom={onZoom}
        stepSeconds={calls.stepSeconds}
        onPick={(range) => void navigate(listOf('', range))}
      />
    </Figure>
  );
}

/** Failed attempts are not stacked on finished deliveries: one delivery may have many. */
export function DeliveriesChart({
  counted: by,
  endMs,
  only,
  onZoom,
}: { counted: Counted } & Shown) {
  const navigate = useNavigate();
  const steps = everyStep(by, by.series, endMs);
  const values = steps.map(({ found }) => ({
    [words.delivered]: found?.delivered ?? 0,
    [words.dead]: found?.dead ?? 0,
    [words.failedAttempts]: found?.failedAttempts ?? 0,
  }));
  const series = [
    { name: words.delivered, color: 'teal.7', stackId: 'deliveries' },
    { name: words.dead, color: 'red.7', stackId: 'deliveries' },
    { name: words.failedAttempts, color: 'yellow.7', stackId: 'attempts' },
  ];
  const shown = steps.flatMap(({ found }) => found ?? []);
  const [delivered, dead, failed] = [
    sum(shown, (step) => step.delivered),
    sum(shown, (step) => step.dead),
    sum(shown, (step) => step.failedAttempts),
  ];
  const says = words.deliveriesSummary(count(delivered), count(dead), words.attempts(failed));
  return (
    <Figure title={words.deliveries} says={says}>
      <Bars
        steps={steps}
        values={values}
        series={series}
        onZoom={onZoom}
        stepSeconds={by.stepSeconds}
        onPick={(range, of) => void navigate(listOf(only, range, STATUS[of ?? '']))}
      />
      <StepTable steps={steps} stepSeconds={by.stepSeconds} only={only} />
    </Figure>
  );
}

/** The status whose deliveries a series counts. */
const STATUS: Readonly<Record<string, DeliveryStatus>> = {
  [words.delivered]: 'delivered',
  [words.dead]: 'dead',
};

interface StepTableProps {
  steps: readonly Step<Counted['series'][number]>[];
  stepSeconds: number;
  only: string;
}

/** The same numbers as a table, whose links work with the keyboard and on a phone. */
function StepTable({ steps, stepSeconds, only }: StepTableProps) {
  const link = (range: Range, n: number, status: DeliveryStatus) =>
    n === 0 ? '0' : <TextLink to={listOf(only, range, status)}>{count(n)}</TextLink>;
  const rows = steps.flatMap(({ at, until, found }) =>
    found ? [{ range: { since: at, until }, ...found }] : [],
  );
  return (
    <details>
      <summary>{words.asTable}</summary>
      <Table
        label={words.deliveriesOverTime}
        head={[words.time, words.delivered, words.dead, words.failedAttempts]}
      >
        {rows.map(({ at, range, delivered, dead, failedAttempts }) => (
          <tr key={at}>
            <td>
              <TextLink to={listOf(only, range)}>{stepLabel(at, stepSeconds)}</TextLink>
            </td>
            <td>{link(range, delivered, 'delivered')}</td>
            <td>{link(range, dead, 'dead')}</td>
            <td>{count(failedAttempts)}</td>
          </tr>
        ))}
      </Table>
    </details>
  );
}

interface LatencyProps extends Pick<Shown, 'endMs'> {
  counted: Counted;
  /** over the whole time */
  whole: Overview['totals']['latencyMs'];
}

export function LatencyChart({ counted: by, whole, endMs }: LatencyProps) {
  const steps = everyStep(by, by.series, endMs);
  const points = steps.map(({ at, found }) => ({
    at,
    p50: found?.latencyMs.p50 ?? null,
    p95: found?.latencyMs.p95 ?? null,
  }));
  const says =
    whole.p50 === null
      ? words.noDataYet
      : words.latencySummary(latency(whole.p50), latency(whole.p95));
  const series = [
    { name: 'p50', color: 'blue.6' },
    { name: 'p95', color: 'grape.6' },
  ];
  const ticks = latencyTicks(Math.max(0, ...points.map(({ p95 }) => p95 ?? 0)));
  return (
    <Figure title={words.latency} says={says}>
      <LineChart
        {...LOOK}
        {...byTime(by.stepSeconds)}
        data={points}
        series={series}
        curveType="linear"
        connectNulls={false}
        dotProps={{ r: 2 }}
        valueFormatter={latency}
        yAxisProps={{ ticks, domain: [0, ticks.at(-1) ?? 0] }}
        lineChartProps={ACCESSIBLE}
        legendProps={LEGEND}
      />
    </Figure>
  );
}

function sum<T>(steps: readonly T[], of: (step: T) => number): number {
  return steps.reduce((total, step) => total + of(step), 0);
}
