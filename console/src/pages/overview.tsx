import { Stack, Text } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { type Calls, type Overview as Response } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { causeOf, needsAttention, pendingOf } from '../../../shared/model/attention';
import { useRead } from '../lib/api';
import { headlineOf } from '../lib/headline';
import {
  causeInWords,
  clock,
  count,
  latency,
  perMinuteInWords,
  reasonInWords,
} from '../lib/labels';
import { everyStep, listOf, type Range, sinceOf } from '../lib/series';
import { useMay } from '../lib/session';
import { spanNamed, USUAL_SPAN_NAME } from '../lib/spans';
import { EntryFilter } from '../ui/entry-picker';
import { type Filters, useFilters } from '../ui/filters';
import { Charts } from '../ui/lazy-charts';
import { SpanChoice } from '../ui/span-choice';
import { BarSpark, LineSpark, ShareSpark } from '../ui/sparkline';
import { Tile } from '../ui/tile';
import {
  Counted,
  Empty,
  HowLong,
  LinkButton,
  NameLink,
  number,
  Page,
  Pill,
  Table,
  TextLink,
  Unread,
  Waiting,
  When,
} from '../ui/ui';
import { Checklist } from './checklist';
import { text } from '../texts';

const words = text.watch.overview;

/** The state of the system: in a sentence, where to act first, at a glance, and over time. */
export function Overview() {
  const filters = useFilters();
  const admin = useMay('POST /destinations');
  const span = spanNamed(filters.get('span'));
  const zoom = zoomOf(filters.get('since'), filters.get('until'));
  const since = zoom?.since ?? sinceOf(span.ms, Date.now());
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
  const actions = empty ? undefined : (
    <>
      <Choices filters={filters} span={span.name} zoomed={zoom !== undefined} />
      {admin && (
        <LinkButton primary to="/connect">
          {words.connectIntegration}
        </LinkButton>
      )}
    </>
  );
  return (
    <Page title={words.overview} actions={actions}>
      {read.data && !read.error ? (
        <Loaded
          overview={read.data.data}
          calls={calls}
          only={filters.get('destination')}
          span={zoom ? text.ui.spanChoice.selectedInChart : span.label}
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
function Choices({ filters, span, zoomed }: { filters: Filters; span: string; zoomed: boolean }) {
  return (
    <form className="row" aria-label={words.show} onSubmit={(event) => event.preventDefault()}>
      <EntryFilter
        filters={filters}
        name="destination"
        label={words.destination}
        all={words.allOfThem}
        kind="destinations"
      />
      <SpanChoice
        size="sm"
        value={span}
        onChange={(name) =>
          filters.go({ span: name === USUAL_SPAN_NAME ? '' : name, since: '', until: '' })
        }
        onZoomOut={zoomed ? () => filters.go({ since: '', until: '' }) : undefined}
      />
    </form>
  );
}

interface Props {
  overview: Response;
  calls: { data: { data: Calls } | undefined; error: Error | null; refetch: () => unknown };
  only: string;
  /** name of the shown time */
  span: string;
  /** undefined: up to now */
  zoom: Range | undefined;
  onZoom: (range: Range) => void;
}

/** Returns the range of time that the address selects, if it is valid. */
function zoomOf(since: string, until: string): Range | undefined {
  return Date.parse(since) < Date.parse(until) ? { since, until } : undefined;
}

function Loaded({ overview, calls, only, span, zoom, onZoom }: Props) {
  const endMs = zoom ? Date.parse(zoom.until) : Date.now();
  // The counts begin with a whole step.
  const range: CountedTime = { since: overview.since, ...defined({ until: zoom?.until }) };
  const shown = overview.data.filter(({ destination }) => only === '' || destination === only);
  if (overview.data.length === 0) {
    return (
      <Empty title={words.welcome}>
        <Text>{words.welcomeHint}</Text>
        <LinkButton primary to="/connect">
          {words.connectFirst}
        </LinkButton>
      </Empty>
    );
  }
  return (
    <Stack>
      {only === '' && <Sentence of={overview} />}
      <NeedsAttention of={shown.filter(needsAttention)} range={range} />
      <Checklist />
      <Tiles of={overview} rows={shown} only={only} span={span} range={range} endMs={endMs} />
      <Suspense fallback={<Waiting for={text.ui.timeCharts.theCharts} />}>
        <Charts
          overview={overview}
          calls={calls}
          only={only}
          until={zoom?.until}
          endMs={endMs}
          onZoom={onZoom}
        />
      </Suspense>
      <PerDestination of={shown} all={overview.destinations} range={range} />
    </Stack>
  );
}

/** What somebody who was just woken needs to know. */
function Sentence({ of }: { of: Response }) {
  const { failing, degraded, destinations, waiting, oldestAt, dead } = headlineOf(of);
  const troubled: [kind: string, says: string][] = [];
  if (failing > 0) troubled.push(['lost', words.someFail(failing, destinations)]);
  if (degraded > 0) troubled.push(['wait', words.someDegraded(degraded)]);
  if (troubled.length === 0) troubled.push(['good', words.noneFails(destinations)]);
  const parts: [kind: string, says: ReactNode][] = [
    ...troubled,
    waiting === 0 || oldestAt === null
      ? ['calm', words.nothingWaits]
      : ['wait', words.someWait(count(waiting), clock(oldestAt, Date.now()))],
    dead === 0 ? ['calm', words.noneDead] : ['lost', words.someDead(count(dead))],
  ];
  return (
    <p className="headline" role="status">
      {parts.map(([kind, says], i) => (
        <span key={i}>
          <span className={`headline-${kind}`}>{says}</span>
        </span>
      ))}
    </p>
  );
}

type Row = Response['data'][number];

/** The time whose ends are counted: up to now, unless it has an end. */
type CountedTime = Pick<Range, 'since'> & Partial<Range>;

interface TilesProps {
  of: Response;
  rows: readonly Row[];
  only: string;
  /** name of the counted time */
  span: string;
  range: CountedTime;
  endMs: number;
}

/** What has ended is counted within the time; what waits is counted now. */
function Tiles({ of: overview, rows, only, span, range, endMs }: TilesProps) {
  const { totals, open } = overview;
  const { within } = text.ui.tile;
  const steps = everyStep(overview, overview.series, endMs).map(({ found }) => found);
  const waiting = open.waiting + open.retrying + open.held;
  const { oldestAt } = headlineOf({ ...overview, data: [...rows] });
  const minutes = Math.max(1, (endMs - Date.parse(overview.since)) / 60_000);
  return (
    <dl className="tiles">
      <Tile
        name={within(words.delivered, span)}
        to={listOf(only, range, 'delivered')}
        value={count(totals.delivered)}
        spark={<BarSpark kind="good" values={steps.map((step) => step?.delivered ?? 0)} />}
        note={
          totals.partlyDelivered === 0 ? (
            words.perMinute(perMinuteInWords(totals.delivered / minutes))
          ) : (
            <TextLink to={listOf(only, range, 'partly_delivered')}>
              {words.partly(count(totals.partlyDelivered))}
            </TextLink>
          )
        }
      />
      <Tile
        name={words.waitingNow}
        to={listOf(only, {}, 'pending')}
        value={count(waiting)}
        spark={
          <ShareSpark
            parts={[
              { kind: 'calm', value: open.waiting },
              { kind: 'wait', value: open.retrying + open.held },
            ]}
          />
        }
        note={oldestAt === null ? words.nothingWaits : words.oldestSince(<When at={oldestAt} />)}
      />
      <Tile
        name={within(words.dead, span)}
        to={listOf(only, range, 'dead')}
        value={count(totals.dead)}
        lost={totals.dead > 0}
        spark={<BarSpark kind="lost" values={steps.map((step) => step?.dead ?? 0)} />}
        note={
          totals.cancelled > 0 ? (
            <TextLink to={listOf(only, range, 'cancelled')}>
              {words.andCancelled(count(totals.cancelled))}
            </TextLink>
          ) : totals.dead > 0 ? (
            <TextLink to={`/replays${only === '' ? '' : `?destination=${only}`}`}>
              {words.replayThem}
            </TextLink>
          ) : (
            words.noneDead
          )
        }
      />
      <Tile
        name={within(words.latency, span)}
        value={latency(totals.latencyMs.p95)}
        spark={<LineSpark values={steps.map((step) => step?.latencyMs.p95 ?? null)} />}
        note={words.median(latency(totals.latencyMs.p50))}
      />
    </dl>
  );
}

interface RowsProps {
  of: Row[];
  range: CountedTime;
}

/** More rows belong on the page of the destinations, which is searched and sorted. */
const MOST_ROWS = 20;

/** Whoever loses events first, then whoever waits: the API sorts them. */
function NeedsAttention({ of: rows, range }: RowsProps) {
  if (rows.length === 0) return null;
  return (
    <div>
      <h2>{words.needsAttention}</h2>
      <Table
        label={words.needsAttention}
        className="brief"
        leads
        head={[
          words.destination,
          words.state,
          words.why,
          number(words.dead),
          number(words.waitingNow),
          text.lib.labels.waitingFor,
          number(words.actions),
        ]}
      >
        {rows.slice(0, MOST_ROWS).map((row) => (
          <Attention key={row.destination} of={row} range={range} />
        ))}
      </Table>
      {rows.length > MOST_ROWS && (
        <Text size="sm" className="below">
          {words.onlyUrgent(count(MOST_ROWS))}{' '}
          <TextLink to="/destinations?sort=-dead">{words.allDestinations}</TextLink>
        </Text>
      )}
    </div>
  );
}

function Attention({ of: row, range }: { of: Row; range: CountedTime }) {
  const { destination, name, state, dead, oldestWaitingAt } = row;
  const mayReplay = useMay('POST /replays');
  const waiting = pendingOf(row);
  return (
    <tr data-row={`attention ${destination}`}>
      <td>
        <NameLink to={`/destinations/${destination}`} name={name} />
      </td>
      <td>
        <Pill kind={state} />
      </td>
      <td className="break">
        <Why of={row} since={range.since} />
      </td>
      <Counted n={dead} to={listOf(destination, range, 'dead')} />
      <Counted n={waiting} to={listOf(destination, {}, 'pending')} />
      <td>
        <HowLong from={oldestWaitingAt} />
      </td>
      <td className="act">
        {mayReplay && dead > 0 && (
          <TextLink to={`/replays?destination=${destination}`} aria-label={words.replayOf(name)}>
            {words.replay}
          </TextLink>
        )}
      </td>
    </tr>
  );
}

function Why({ of: row, since }: { of: Row; since: string }) {
  const cause = causeOf(row, since);
  switch (cause?.kind) {
    case undefined:
      return null;
    case 'paused':
      return words.isPaused;
    case 'failure':
      return (
        <>
          {causeInWords(cause.failure)}, <When at={cause.failure.at} />
        </>
      );
    case 'circuit':
      return cause.isTimeout ? words.noAnswerInTime : words.endpointFails;
    case 'lost': {
      const { message, reason, at, ...failure } = cause.lost;
      const says =
        message === null && failure.status === null
          ? reasonInWords(reason)
          : causeInWords({ ...failure, message: message ?? '' });
      return (
        <>
          {says}, <When at={at} />
        </>
      );
    }
  }
}

function PerDestination({ of: rows, all, range }: RowsProps & { all: number }) {
  const shown = rows.slice(0, MOST_ROWS);
  return (
    <div>
      <h2>{words.destinations}</h2>
      <Table
        label={words.destinations}
        className="brief"
        leads
        head={[
          words.destination,
          words.state,
          number(words.delivered),
          number(words.waiting),
          number(words.retrying),
          number(words.held),
          number(words.dead),
          number(words.failedAttempts),
          number(words.p50),
          number(words.p95),
        ]}
      >
        {shown.map((row) => (
          <tr key={row.destination} data-row={row.destination}>
            <td>
              <NameLink to={`/destinations/${row.destination}`} name={row.name} />
            </td>
            <td>
              <Pill kind={row.state} />
            </td>
            <Counted n={row.delivered} to={listOf(row.destination, range, 'delivered')} />
            <Counted n={pendingOf(row)} to={listOf(row.destination, {}, 'pending')} />
            <Counted n={row.retrying} to={listOf(row.destination, {}, 'retrying')} />
            <Counted n={row.held} to={listOf(row.destination, {}, 'held')} />
            <Counted n={row.dead} to={listOf(row.destination, range, 'dead')} />
            <td className="number">
              {words.failedOf(count(row.failedAttempts), count(row.attempts))}
            </td>
            <td className="number">{latency(row.latencyMs.p50)}</td>
            <td className="number">{latency(row.latencyMs.p95)}</td>
          </tr>
        ))}
      </Table>
      {all > shown.length && (
        <Text size="sm" className="below">
          {words.mostUrgent(count(shown.length), count(all))}{' '}
          <TextLink to="/destinations">{words.allDestinations}</TextLink>
        </Text>
      )}
    </div>
  );
}
