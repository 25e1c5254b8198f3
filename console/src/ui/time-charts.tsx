import { BarChart, type BarChartProps, CompositeChart } from '@mantine/charts';
import { useId, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { Area } from 'recharts';
import { type Calls, type Overview } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { type DeliveryStatus } from '../../../shared/model/reasons';
import { count, latency } from '../lib/labels';
import {
  everyStep,
  latencyTicks,
  listOf,
  listOfAccepted,
  type Range,
  type Step,
  stepLabel,
} from '../lib/series';
import { type Mark, markedSteps } from '../lib/marks';
import { useFirstSource } from '../lib/sources';
import { ACCESSIBLE, byTime, Figure, LEGEND, LOOK, ROOM, SHARED, WHOLE } from './charts';
import { Marks, useMarks } from './marks';
import { number, Table, TextLink, Unread } from './ui';
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

interface ChartsProps extends Props {
  /** end of the shown time, if it is not now */
  until: string | undefined;
}

/**
 * Charts over time, of one unit each, with one cursor. Text above each chart and one table repeat
 * the numbers for people who cannot see them.
 */
export function Charts({ overview, calls, until, ...others }: ChartsProps) {
  const { since } = overview;
  const marks = useMarks({ destination: others.only, since, until });
  const shown = { ...others, marks };
  return (
    <div>
      <div className="charts">
        {/* The calls of all sources say nothing about one destination. */}
        {shown.only === '' &&
          (calls.data && !calls.error ? (
            <CallsChart calls={calls.data.data} {...shown} />
          ) : (
            <Unread read={calls} what={words.calls} />
          ))}
        <DestinationCharts counted={overview} whole={overview.totals.latencyMs} {...shown} />
      </div>
      <Marks marks={marks} />
      <StepTable
        counted={overview}
        calls={others.only === '' ? calls.data?.data : undefined}
        {...shown}
      />
    </div>
  );
}

interface Shown extends Omit<Props, 'overview' | 'calls'> {
  /** notices and changes of that time */
  marks: readonly Mark[];
}

interface CountedProps extends Shown {
  counted: Counted;
}

/** Deliveries that ended, attempts that failed, and how long the way to the receiver took. */
export function DestinationCharts({
  counted,
  whole,
  ...shown
}: CountedProps & { whole: Overview['totals']['latencyMs'] }) {
  return (
    <>
      <DeliveriesChart counted={counted} {...shown} />
      <AttemptsChart counted={counted} {...shown} />
      <LatencyChart counted={counted} whole={whole} endMs={shown.endMs} marks={shown.marks} />
    </>
  );
}

interface BarsProps extends Pick<BarChartProps, 'series'> {
  steps: readonly Step<unknown>[];
  values: readonly Record<string, number | null>[];
  stepSeconds: number;
  marks?: readonly Mark[];
  /** the user dragged over several steps */
  onZoom: (range: Range) => void;
  /** the user clicked a step, or a bar of this series there; absent: no list has what it counts */
  onPick?: (range: Range, series: string | undefined) => void;
}

/** Stacked numbers of each step. A click leads to the step's list, and dragging selects steps. */
function Bars({ steps, values, stepSeconds, series, marks = [], onZoom, onPick }: BarsProps) {
  // The bar hears of the mouse before the chart does.
  const pressed = useRef<string>(undefined);
  const hatching = useId();
  const zoom = useZoom({
    keys: steps.map(({ at }) => at),
    onPick:
      onPick &&
      ((index) => {
        const step = steps[index];
        const series = pressed.current;
        pressed.current = undefined;
        if (step) onPick({ since: step.at, until: step.until }, series);
      }),
    onZoom: (from, to) => {
      pressed.current = undefined;
      const [first, last] = [steps[from], steps[to]];
      if (first && last) onZoom({ since: first.at, until: last.until });
    },
  });
  return (
    <BarChart
      {...LOOK}
      {...byTime(steps, stepSeconds)}
      data={values.map((value, i) => ({ ...value, at: steps[i]?.at }))}
      series={series}
      type="stacked"
      withLegend={series.length > 1}
      valueFormatter={count}
      yAxisProps={WHOLE}
      barProps={({ name }) => ({ onMouseDown: () => (pressed.current = name) })}
      barChartProps={{ ...ACCESSIBLE, ...SHARED, ...ROOM, ...zoom.chartProps }}
      legendProps={LEGEND}
      referenceLines={linesOf(marks, steps)}
      referenceAreas={compact([runningStep(steps, Date.now(), hatching)])}
    >
      <defs>
        <pattern
          id={hatching}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect className="hatch" width="1.5" height="6" />
        </pattern>
      </defs>
      {zoom.area}
    </BarChart>
  );
}

/** Hatches the last step while it goes on: its numbers still grow. */
function runningStep(steps: readonly Step<unknown>[], nowMs: number, hatching: string) {
  const last = steps.at(-1);
  if (!last || Date.parse(last.until) <= nowMs) return undefined;
  return {
    x1: last.at,
    x2: last.at,
    fill: `url(#${hatching})`,
    fillOpacity: 1,
    strokeOpacity: 0,
  };
}

/** A time without a call: the code of a source sends one. */
function NoCalls() {
  const source = useFirstSource();
  return (
    <>
      {words.nothing}
      {source && <TextLink to={`/sources/${source.id}/code`}>{words.sendEvent}</TextLink>}
    </>
  );
}

/** A line at each step with a notice or a change. */
function linesOf(marks: readonly Mark[], steps: readonly Step<unknown>[]) {
  return markedSteps(marks, steps).map(({ at, kind }) => ({ x: at, color: MARK_COLORS[kind] }));
}

const MARK_COLORS = {
  notice: 'var(--bar-lost)',
  recovery: 'var(--bar-good)',
  change: 'var(--bar-info)',
} as const;

function CallsChart({ calls, endMs, marks, onZoom }: { calls: Calls } & Shown) {
  const navigate = useNavigate();
  const steps = everyStep(calls, calls.series, endMs);
  const values = steps.map(({ found }) => ({
    [words.accepted]: found?.accepted ?? 0,
    [words.rejected]: found?.rejected ?? null,
  }));
  const shown = steps.flatMap(({ found }) => found ?? []);
  const accepted = sum(shown, (step) => step.accepted);
  const rejected = sum(shown, (step) => step.rejected ?? 0);
  // Requests, each of which may hold many calls: another unit than that of the chart.
  const limited = sum(shown, (step) => step.limited ?? 0);
  const over = limited === 0 ? '' : words.overLimits(words.requests(limited));
  const says = words.callsSummary(count(accepted), count(rejected), over);
  const series = [
    { name: words.accepted, color: 'var(--bar-info)' },
    { name: words.rejected, color: 'var(--bar-wait)' },
  ];
  return (
    <Figure
      title={words.incomingEvents}
      says={says}
      empty={accepted + rejected === 0 ? <NoCalls /> : undefined}
    >
      <Bars
        steps={steps}
        values={values}
        series={series}
        onZoom={onZoom}
        stepSeconds={calls.stepSeconds}
        marks={marks}
        onPick={(range) => void navigate(listOfAccepted(range))}
      />
    </Figure>
  );
}

function DeliveriesChart({ counted: by, endMs, only, marks, onZoom }: CountedProps) {
  const navigate = useNavigate();
  const steps = everyStep(by, by.series, endMs);
  const values = steps.map(({ found }) => ({
    [words.delivered]: found?.delivered ?? 0,
    [words.dead]: found?.dead ?? 0,
  }));
  const series = [
    { name: words.delivered, color: 'var(--bar-good)' },
    { name: words.dead, color: 'var(--bar-lost)' },
  ];
  const shown = steps.flatMap(({ found }) => found ?? []);
  const delivered = sum(shown, (step) => step.delivered);
  const dead = sum(shown, (step) => step.dead);
  const says = words.deliveriesSummary(count(delivered), count(dead));
  return (
    <Figure
      title={words.deliveries}
      says={says}
      empty={delivered + dead === 0 ? <NoCalls /> : undefined}
    >
      <Bars
        steps={steps}
        values={values}
        series={series}
        onZoom={onZoom}
        stepSeconds={by.stepSeconds}
        marks={marks}
        onPick={(range, of) => void navigate(listOf(only, range, STATUS[of ?? '']))}
      />
    </Figure>
  );
}

/** The status whose deliveries a series counts. */
const STATUS: Readonly<Record<string, DeliveryStatus>> = {
  [words.delivered]: 'delivered',
  [words.dead]: 'dead',
};

/** Failed attempts are apart from deliveries: one delivery may have many, so no list has them. */
function AttemptsChart({ counted: by, endMs, marks, onZoom }: CountedProps) {
  const steps = everyStep(by, by.series, endMs);
  const values = steps.map(({ found }) => ({
    [words.failedAttempts]: found?.failedAttempts ?? 0,
  }));
  const shown = steps.flatMap(({ found }) => found ?? []);
  const failed = sum(shown, (step) => step.failedAttempts);
  const all = sum(shown, (step) => step.attempts);
  return (
    <Figure
      title={words.failedAttempts}
      says={words.failedOf(count(failed), words.attempts(all))}
      empty={failed === 0 ? words.noneFailed : undefined}
    >
      <Bars
        steps={steps}
        values={values}
        series={[{ name: words.failedAttempts, color: 'var(--bar-wait)' }]}
        onZoom={onZoom}
        stepSeconds={by.stepSeconds}
        marks={marks}
      />
    </Figure>
  );
}

interface LatencyProps {
  counted: Counted;
  /** over the whole time */
  whole: Overview['totals']['latencyMs'];
  endMs: number;
  marks: readonly Mark[];
}

function LatencyChart({ counted: by, whole, endMs, marks }: LatencyProps) {
  const steps = everyStep(by, by.series, endMs);
  const points = steps.map(({ at, found }) => {
    const { p50 = null, p95 = null } = found?.latencyMs ?? {};
    return {
      at,
      p50,
      p95,
      between: p50 === null || p95 === null ? null : [p50, p95],
    };
  });
  const says =
    whole.p50 === null ? '' : words.latencySummary(latency(whole.p50), latency(whole.p95));
  const series = [
    { name: 'p50', type: 'line' as const, color: 'var(--bar-calm)' },
    { name: 'p95', type: 'line' as const, color: 'var(--bar-info)' },
  ];
  const ticks = latencyTicks(Math.max(0, ...points.map(({ p95 }) => p95 ?? 0)));
  return (
    <Figure
      title={words.latency}
      says={says}
      empty={whole.p50 === null ? words.nothing : undefined}
    >
      <CompositeChart
        {...LOOK}
        {...byTime(steps, by.stepSeconds)}
        data={points}
        series={series}
        withLegend
        curveType="linear"
        connectNulls={false}
        dotProps={{ r: 2 }}
        valueFormatter={latency}
        yAxisProps={{ ticks, domain: [0, ticks.at(-1) ?? 0] }}
        composedChartProps={{ ...ACCESSIBLE, ...SHARED, ...ROOM }}
        legendProps={LEGEND}
        referenceLines={linesOf(marks, steps)}
      >
        {/* Without colours of its own it is neither in the legend nor beside the pointer. */}
        <Area
          dataKey="between"
          className="between"
          fill="none"
          stroke="none"
          type="linear"
          activeDot={false}
          isAnimationActive={false}
        />
      </CompositeChart>
    </Figure>
  );
}

interface StepTableProps extends Pick<CountedProps, 'counted' | 'endMs' | 'only'> {
  calls?: Calls | undefined;
}

/**
 * The numbers of all charts as a table, whose links work with the keyboard and on a phone. Folded
 * it has no rows: they would be most of the page's elements.
 */
export function StepTable(props: StepTableProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="as-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{words.asTable}</summary>
      {isOpen && <Steps {...props} />}
    </details>
  );
}

function Steps({ counted, calls, endMs, only }: StepTableProps) {
  const { stepSeconds } = counted;
  const known = (n: number | null | undefined) => (n == null ? '–' : count(n));
  const callsOf = new Map(calls?.series.map((step) => [Date.parse(step.at), step]));
  const link = (range: Range, n: number, status: DeliveryStatus) =>
    n === 0 ? '0' : <TextLink to={listOf(only, range, status)}>{count(n)}</TextLink>;
  const rows = everyStep(counted, counted.series, endMs).flatMap(({ at, until, found }) =>
    found ? [{ range: { since: at, until }, ...found }] : [],
  );
  return (
    <Table
      label={words.deliveriesOverTime}
      head={[
        words.time,
        ...(calls ? [number(words.accepted), number(words.rejected)] : []),
        number(words.delivered),
        number(words.dead),
        number(words.failedAttempts),
        number('p50'),
        number('p95'),
      ]}
    >
      {rows.map(({ at, range, delivered, dead, failedAttempts, latencyMs }) => (
        <tr key={at}>
          <td>
            <TextLink to={listOf(only, range)}>{stepLabel(at, stepSeconds)}</TextLink>
          </td>
          {calls && (
            <>
              <td className="number">{known(callsOf.get(Date.parse(at))?.accepted)}</td>
              <td className="number">{known(callsOf.get(Date.parse(at))?.rejected)}</td>
            </>
          )}
          <td className="number">{link(range, delivered, 'delivered')}</td>
          <td className="number">{link(range, dead, 'dead')}</td>
          <td className="number">{count(failedAttempts)}</td>
          <td className="number">{latency(latencyMs.p50)}</td>
          <td className="number">{latency(latencyMs.p95)}</td>
        </tr>
      ))}
    </Table>
  );
}

function sum<T>(steps: readonly T[], of: (step: T) => number): number {
  return steps.reduce((total, step) => total + of(step), 0);
}
