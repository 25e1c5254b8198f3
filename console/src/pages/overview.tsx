import { Button, NativeSelect, Stack, Text } from '@mantine/core';
import { type Calls, type Overview as Response } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { listOf, type Range, sinceOf } from '../lib/series';
import { useMay } from '../lib/session';
import { needsAttention, pendingOf } from '../../../shared/model/attention';
import { causeInWords, count, latency } from '../lib/labels';
import { Charts } from '../ui/time-charts';
import { type Filters, NameFilter, useFilters } from '../ui/filters';
import { Empty, LinkButton, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';
import { Checklist } from './checklist';
import { text } from '../texts';

const words = text.watch.overview;

const DAY_MS = 86_400_000;
const SPANS: readonly { value: string; label: string; ms: number }[] = [
  { value: '1h', label: words.lastHour, ms: 3_600_000 },
  { value: '', label: words.last24Hours, ms: DAY_MS },
  { value: '7d', label: words.last7Days, ms: 7 * DAY_MS },
];

/** The state of the system: at a glance, over time, and for each destination. */
export function Overview() {
  const filters = useFilters();
  const admin = useMay('POST /destinations');
  const span = filters.get('span');
  const zoom = zoomOf(filters.get('since'), filters.get('until'));
  const since =
    zoom?.since ?? sinceOf(SPANS.find(({ value }) => value === span)?.ms ?? DAY_MS, Date.now());
  const until = zoom && { until: zoom.until };
  const query = { since, ...until, ...filters.query(['destination']) };
  const read = useRead('GET /overview', { query }, { every: 5_000, keep: true });
  const calls = useRead(
    'GET /overview/calls',
    { query: { since, ...until } },
    { every: 5_000, keep: true },
  );
  const empty = read.data?.data.data.length === 0;
  // The empty page has its own button.
  const actions =
    admin && !empty ? (
      <LinkButton primary to="/connect">
        {words.connectIntegration}
      </LinkButton>
    ) : undefined;
  return (
    <Page title={words.overview} actions={actions}>
      {!empty && <Choices filters={filters} zoomed={zoom !== undefined} />}
      {read.data && !read.error ? (
        <Loaded
          overview={read.data.data}
          calls={calls}
          only={filters.get('destination')}
          zoom={zoom}
          onZoom={(range) => filters.go({ ...range })}
        />
      ) : (
        <Unread read={read} what={words.theOverview} />
      )}
    </Page>
  );
}

/** Chooses the time and the destination. */
function Choices({ filters, zoomed }: { filters: Filters; zoomed: boolean }) {
  return (
    <form className="filters" aria-label={words.show} onSubmit={(event) => event.preventDefault()}>
      <NativeSelect
        label={words.time}
        data={compact([
          zoomed ? { value: 'zoom', label: words.selectedInChart } : undefined,
          ...SPANS.map(({ value, label }) => ({ value, label })),
        ])}
        value={zoomed ? 'zoom' : filters.get('span')}
        onChange={(event) => filters.go({ span: event.target.value, since: '', until: '' })}
      />
      <NameFilter
        filters={filters}
        name="destination"
        label={words.destination}
        kind="destinations"
      />
      {zoomed && (
        <Button
          className="beside-field"
          variant="default"
          onClick={() => filters.go({ since: '', until: '' })}
        >
          {words.zoomOut}
        </Button>
      )}
    </form>
  );
}

interface Props {
  overview: Response;
  calls: { data: { data: Calls } | undefined; error: Error | null; refetch: () => unknown };
  only: string;
  /** undefined: up to now */
  zoom: Range | undefined;
  onZoom: (range: Range) => void;
}

/** Returns the range of time that the address selects, if it is valid. */
function zoomOf(since: string, until: string): Range | undefined {
  return Date.parse(since) < Date.parse(until) ? { since, until } : undefined;
}

function Loaded({ overview, calls, only, zoom, onZoom }: Props) {
  const endMs = zoom ? Date.parse(zoom.until) : Date.now();
  const range = zoom ?? { since: overview.since };
  const shown = overview.data.filter(({ destination }) => only === '' || destination === only);
  if (overview.data.length === 0) {
    return (
      <Empty title={words.welcome}>
        <Text>{words.welcomeHint}</Text>
        <LinkButton to="/connect">{words.connectFirst}</LinkButton>
      </Empty>
    );
  }
  return (
    <Stack>
      <Checklist />
      <Figures of={overview} only={only} range={range} />
      <Charts overview={overview} calls={calls} only={only} endMs={endMs} onZoom={onZoom} />
      <NeedsAttention of={shown.filter(needsAttention)} range={range} />
      <PerDestination of={shown} range={range} />
      {overview.destinations > overview.data.length && (
        <Text size="sm">
          {words.mostUrgent(count(overview.data.length), count(overview.destinations))}{' '}
          <TextLink to="/destinations">{words.allDestinations}</TextLink>
        </Text>
      )}
    </Stack>
  );
}

type Row = Response['data'][number];

interface RowsProps {
  of: Row[];
  range: Partial<Range>;
}

interface FiguresProps {
  of: Response;
  only: string;
  range: Partial<Range>;
}

/** What has ended is counted within the time; what waits is counted now. */
function Figures({ of: { totals, open }, only, range }: FiguresProps) {
  const figures: [name: string, value: number, to: string][] = [
    [words.delivered, totals.delivered, listOf(only, range, 'delivered')],
    [words.partlyDelivered, totals.partlyDelivered, listOf(only, range, 'partly_delivered')],
    [words.retrying, open.retrying, listOf(only, {}, 'retrying')],
    [words.held, open.held, listOf(only, {}, 'held')],
    [words.waiting, open.waiting, listOf(only, {}, 'waiting')],
    [words.dead, totals.dead, listOf(only, range, 'dead')],
    [words.cancelled, totals.cancelled, listOf(only, range, 'cancelled')],
  ];
  return (
    <dl className="figures">
      {figures.map(([name, value, to]) => (
        <div key={name} className="card">
          <dt>
            <TextLink to={to}>{name}</TextLink>
          </dt>
          <dd>{count(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Whoever loses events first, then whoever waits: the API sorts them. */
function NeedsAttention({ of: rows, range }: RowsProps) {
  if (rows.length === 0) return null;
  return (
    <div>
      <h2>{words.needsAttention}</h2>
      <Table
        label={words.needsAttention}
        head={[words.destination, words.state, words.why, words.dead, words.waitingNow]}
      >
        {rows.map((row) => (
          <Attention key={row.destination} of={row} range={range} />
        ))}
      </Table>
    </div>
  );
}

function Attention({ of: row, range }: { of: Row; range: Partial<Range> }) {
  const { destination, name, state, lastError, dead, oldestWaitingAt } = row;
  const waiting = pendingOf(row);
  return (
    <tr>
      <td>
        <TextLink to={`/destinations/${destination}`}>{name}</TextLink>
      </td>
      <td>
        <Pill kind={state} />
      </td>
      <td className="break">
        {lastError && (
          <>
            {causeInWords(lastError)}, <When at={lastError.at} />
          </>
        )}
      </td>
      <Counted n={dead} to={listOf(destination, range, 'dead')} />
      <td>
        {waiting === 0 ? (
          '0'
        ) : (
          <>
            <TextLink to={listOf(destination, {}, 'pending')}>{count(waiting)}</TextLink>
            {words.oldest(<When at={oldestWaitingAt} />)}
          </>
        )}
      </td>
    </tr>
  );
}

/** A cell with a number that leads to its deliveries. */
function Counted({ n, to }: { n: number; to: string }) {
  return <td>{n === 0 ? '0' : <TextLink to={to}>{count(n)}</TextLink>}</td>;
}

function PerDestination({ of: rows, range }: RowsProps) {
  return (
    <div>
      <h2>{words.destinations}</h2>
      <Table
        label={words.destinations}
        head={[
          words.destination,
          words.state,
          words.delivered,
          words.retrying,
          words.held,
          words.waiting,
          words.dead,
          words.failedAttempts,
          words.p50,
          words.p95,
        ]}
      >
        {rows.map((row) => (
          <tr key={row.destination}>
            <td>
              <TextLink to={`/destinations/${row.destination}`}>{row.name}</TextLink>
            </td>
            <td>
              <Pill kind={row.state} />
            </td>
            <Counted n={row.delivered} to={listOf(row.destination, range, 'delivered')} />
            <Counted n={row.retrying} to={listOf(row.destination, {}, 'retrying')} />
            <Counted n={row.held} to={listOf(row.destination, {}, 'held')} />
            <Counted n={row.waiting} to={listOf(row.destination, {}, 'waiting')} />
            <Counted n={row.dead} to={listOf(row.destination, range, 'dead')} />
            <td>{words.failedOf(count(row.failedAttempts), count(row.attempts))}</td>
            <td>{latency(row.latencyMs.p50)}</td>
            <td>{latency(row.latencyMs.p95)}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
