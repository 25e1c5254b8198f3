import { BarChart, type BarChartProps, LineChart } from '@mantine/charts';
import { type ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { type Calls, type Overview } from '../../../shared/api/operations';
import { everyStep, latencyTicks, type Step, stepLabel } from '../lib/series';
import { count, counted, latency } from '../lib/labels';
import { ACCESSIBLE, Figure, LEGEND, LOOK, WHOLE } from '../ui/charts';
import { Table, TextLink, Unread } from '../ui/ui';
import { useZoom } from '../ui/zoom';

export interface Range {
  since: string;
  until: string;
}

interface Props {
  overview: Overview;
  calls: { data: { data: Calls } | undefined; error: Error | null; refetch: () => unknown };
  /** end of the shown time, ms since 1970 */
  endMs: number;
  /** the destination that is shown; empty: all */
  only: string;
  onZoom: (range: Range) => void;
}

/** Charts over time. Text above each chart and tables repeat the numbers for people who cannot see them. */
export function Charts({ overview, calls, ...shown }: Props) {
  return (
    <div className="charts">
      {calls.data && !calls.error ? (
        <CallsChart calls={calls.data.data} {...shown} />
      ) : (
        <Unread read={calls} what="calls" />
      )}
      <DeliveriesChart overview={overview} {...shown} />
      <LatencyChart overview={overview} {...shown} />
    </div>
  );
}

type Shown = Omit<Props, 'overview' | 'calls'>;

interface BarsProps extends Pick<BarChartProps, 'series'> {
  steps: readonly Step<unknown>[];
  values: readonly Record<string, number | null>[];
  stepSeconds: number;
  onZoom: (range: Range) => void;
  /** the user clicked a bar */
  onPick: (range: Range) => void;
}

/** Stacked numbers of each step. A click leads to the step's list, and dragging zooms in. */
function Bars({ steps, values, stepSeconds, series, onZoom, onPick }: BarsProps) {
  const labels = steps.map(({ at }) => stepLabel(at, stepSeconds));
  const zoom = useZoom({
    labels,
    onPick: (index) => {
      const step = steps[index];
      if (step) onPick({ since: step.at, until: step.until });
    },
    onZoom: (from, to) => {
      const [first, last] = [steps[from], steps[to]];
      if (first && last) onZoom({ since: first.at, until: last.until });
    },
  });
  return (
    <BarChart
      {...LOOK}
      data={values.map((value, i) => ({ ...value, at: labels[i] }))}
      series={series}
      type="stacked"
      yAxisProps={WHOLE}
      barChartProps={{ ...ACCESSIBLE, ...zoom.chartProps }}
      legendProps={LEGEND}
    >
      {zoom.area}
    </BarChart>
  );
}

function CallsChart({ calls, endMs, onZoom }: { calls: Calls } & Shown) {
  const navigate = useNavigate();
  const steps = everyStep(calls, calls.series, endMs);
  const values = steps.map(({ found }) => ({
    Accepted: found?.accepted ?? 0,
    Rejected: found?.rejected ?? null,
    'Over the limit': found?.limited ?? null,
  }));
  const shown = steps.flatMap(({ found }) => found ?? []);
  const accepted = sum(shown, (step) => step.accepted);
  const rejected = sum(shown, (step) => step.rejected ?? 0);
  const limited = sum(shown, (step) => step.limited ?? 0);
  const over = limited === 0 ? '' : `; ${counted(limited, 'request')} over the limit of a source`;
  const says = `${count(accepted)} accepted, ${count(rejected)} rejected${over}`;
  const series = [
    { name: 'Accepted', color: 'blue.7' },
    { name: 'Rejected', color: 'red.7' },
    { name: 'Over the limit', color: 'yellow.7' },
  ];
  return (
    <Figure title="Incoming events" says={says}>
      <Bars
        {...{ steps, values, series, onZoom }}
        stepSeconds={calls.stepSeconds}
        onPick={({ since, until }) => void navigate(listOf('', since, until))}
      />
    </Figure>
  );
}

/** Failed attempts are not stacked on finished deliveries: one delivery may have many. */
function DeliveriesChart({ overview, endMs, only, onZoom }: { overview: Overview } & Shown) {
  const navigate = useNavigate();
  const steps = everyStep(overview, overview.series, endMs);
  const values = steps.map(({ found }) => ({
    Delivered: found?.delivered ?? 0,
    Dead: found?.dead ?? 0,
    'Failed attempts': found?.failedAttempts ?? 0,
  }));
  const series = [
    { name: 'Delivered', color: 'teal.7' },
    { name: 'Dead', color: 'red.7' },
    { name: 'Failed attempts', color: 'yellow.7', stackId: 'attempts' },
  ];
  const shown = steps.flatMap(({ found }) => found ?? []);
  const [delivered, dead, failed] = [
    sum(shown, (step) => step.delivered),
    sum(shown, (step) => step.dead),
    sum(shown, (step) => step.failedAttempts),
  ];
  const says = `${count(delivered)} delivered, ${count(dead)} dead; ${counted(failed, 'attempt')} failed`;
  return (
    <Figure title="Deliveries" says={says}>
      <Bars
        {...{ steps, values, series, onZoom }}
        stepSeconds={overview.stepSeconds}
        onPick={({ since, until }) => void navigate(listOf(only, since, until))}
      />
      <StepTable>
        {steps
          .filter(({ found }) => found !== undefined)
          .map(({ at, until, found }) => (
            <tr key={at}>
              <td>
                <TextLink to={listOf(only, at, until)}>{stepLabel(at, overview.stepSeconds)}</TextLink>
              </td>
              <td>{count(found?.delivered ?? 0)}</td>
              <td>{count(found?.dead ?? 0)}</td>
              <td>{count(found?.failedAttempts ?? 0)}</td>
            </tr>
          ))}
      </StepTable>
    </Figure>
  );
}

/** The same numbers as a table, whose links work with the keyboard and on a phone. */
function StepTable({ children }: { children: ReactNode }) {
  return (
    <details>
      <summary>As a table</summary>
      <Table label="Deliveries over time" head={['Time', 'Delivered', 'Dead', 'Failed attempts']}>
        {children}
      </Table>
    </details>
  );
}

/** Returns the address of the deliveries that were accepted in a step. */
function listOf(destination: string, since: string, until: string): string {
  const filters = { ...(destination !== '' && { destination }), since, until };
  return `/deliveries?${new URLSearchParams(filters).toString()}`;
}

function LatencyChart({ overview, endMs }: { overview: Overview } & Shown) {
  const steps = everyStep(overview, overview.series, endMs);
  const points = steps.map(({ at, found }) => ({
    at: stepLabel(at, overview.stepSeconds),
    p50: found?.latencyMs.p50 ?? null,
    p95: found?.latencyMs.p95 ?? null,
  }));
  const last = steps.findLast(({ found }) => found?.latencyMs.p50 != null);
  const says = last?.found
    ? `p50 ${latency(last.found.latencyMs.p50)}, p95 ${latency(last.found.latencyMs.p95)} (at ${stepLabel(last.at, overview.stepSeconds)})`
    : 'No data yet';
  const series = [
    { name: 'p50', color: 'blue.6' },
    { name: 'p95', color: 'grape.6' },
  ];
  const ticks = latencyTicks(Math.max(0, ...points.map(({ p95 }) => p95 ?? 0)));
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
