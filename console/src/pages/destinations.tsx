import { Text } from '@mantine/core';
import { type Destination, type Overview } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import {
  absolute,
  capitalized,
  causeInWords,
  count,
  rateInWords,
  stateInWords,
  urlInShort,
} from '../lib/labels';
import { listOf, sinceCreation } from '../lib/series';
import { type Filters, Pager, SearchBar, sortable, useFilters } from '../ui/filters';
import { ViewTabs } from '../ui/saved-views';
import { Sparkline } from '../ui/sparkline';
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
  Unread,
} from '../ui/ui';
import { text } from '../texts';

const words = text.setup.destinations;

const LOOK_AGAIN_MS = 10_000;

const STATES = ['failing', 'degraded', 'paused', 'healthy', 'idle', 'off'] as const;
const TABS = [
  { name: words.all, filter: 'state', value: '' },
  ...STATES.map((state) => ({
    name: capitalized(stateInWords(state)),
    filter: 'state',
    value: state,
  })),
];

/** All destinations, with the health of each: searched, filtered and sorted by the server. */
export function Destinations() {
  const filters = useFilters();
  const read = useRead(
    'GET /destinations',
    { query: { ...filters.query(['q', 'state', 'sort', 'after']), total: 'true' } },
    { keep: true, every: LOOK_AGAIN_MS },
  );
  // One request for all rows of the page.
  const ids = (read.data?.data.data ?? []).map(({ id }) => id).join(',');
  const health = useRead(
    'GET /overview',
    { query: { trend: 'true', ids } },
    { every: LOOK_AGAIN_MS, keep: true, enabled: ids !== '' },
  );
  const admin = useMay('POST /destinations');
  const actions = admin ? (
    <LinkButton primary to="/connect">
      {words.connectIntegration}
    </LinkButton>
  ) : undefined;
  return (
    <Page title={words.destinations} actions={actions}>
      <SearchBar filters={filters} label={words.search} />
      <ViewTabs list="destinations" filters={filters} tabs={TABS} />
      {read.data && !read.error ? (
        <List
          destinations={read.data.data.data}
          health={health.data?.data.data ?? []}
          since={health.data?.data.since}
          filters={filters}
        />
      ) : (
        <Unread read={read} what={words.list} />
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

type Row = Overview['data'][number];

interface ListProps {
  destinations: Destination[];
  health: readonly Row[];
  /** start of the counts of `health` */
  since: string | undefined;
  filters: Filters;
}

function List({ destinations, health, since, filters }: ListProps) {
  const rows = new Map(health.map((row) => [row.destination, row]));
  if (destinations.length === 0 && filters.any) {
    return <Empty title={words.nothingMatches} />;
  }
  if (destinations.length === 0) {
    return (
      <Empty title={words.noDestinations}>
        <Text>{words.noDestinationsHint}</Text>
        <LinkButton primary to="/connect">
          {words.connectFirst}
        </LinkButton>
      </Empty>
    );
  }
  return (
    <Table
      label={words.destinations}
      className="dense destinations"
      leads
      head={[
        sortable(filters, words.name, 'name'),
        { ...sortable(filters, words.state, 'state'), className: 'c-status' },
        { text: words.signed, className: 'c-signed' },
        { text: words.lastDay, className: 'c-trend' },
        { ...sortable(filters, words.waiting, '-waiting'), number: true, className: 'c-count' },
        { text: text.lib.labels.waitingFor, className: 'c-time' },
        { ...sortable(filters, words.dead, '-dead'), number: true, className: 'c-count' },
        { text: words.lastError, className: 'c-error' },
        { ...number(words.sources), className: 'c-sources' },
        { text: words.urls, className: 'c-url' },
      ]}
    >
      {destinations.map((destination) => (
        <tr key={destination.id} data-row={destination.id}>
          <td>
            <NameLink to={`/destinations/${destination.id}`} name={destination.name} />
          </td>
          <td>
            <State of={destination} health={rows.get(destination.id)} />
          </td>
          <Signed of={destination} />
          <HealthCells
            of={rows.get(destination.id)}
            since={since}
            createdAt={destination.createdAt}
          />
          <td className="number c-sources">{count(destination.sources.length)}</td>
          <Urls of={destination} />
        </tr>
      ))}
    </Table>
  );
}

function Urls({ of: { webhooks } }: { of: Destination }) {
  const urls = webhooks.map(({ url }) => url ?? words.unreadable);
  return <td title={urls.join(', ')}>{urls.map(urlInShort).join(', ')}</td>;
}

/** Without a secret its receivers cannot verify the sender. */
function Signed({ of: { hasSharedSecret } }: { of: Destination }) {
  return hasSharedSecret ? (
    <td>{words.isSigned}</td>
  ) : (
    <td className="warning" title={words.unsignedHint}>
      {words.isUnsigned}
    </td>
  );
}

interface StateProps {
  of: Pick<Destination, 'enabled' | 'paused'>;
  /** undefined: not known, or not yet */
  health?: Pick<Row, 'state'> | undefined;
}

/** Shows the state of a destination that is on, or that it is off or paused. */
function State({ of: { enabled, paused }, health }: StateProps) {
  if (!enabled) return <Pill kind="off" />;
  return <Pill kind={paused ? 'paused' : (health?.state ?? 'on')} />;
}

interface CellsProps {
  of: Row | undefined;
  /** start of the counts */
  since: string | undefined;
  createdAt: string;
}

function HealthCells({ of: row, since, createdAt }: CellsProps) {
  if (!row) return Array.from({ length: 5 }, (_, i) => <td key={i}>–</td>);
  const { trend, successRate, lastError, oldestWaitingAt, dead } = row;
  const waiting = row.waiting + row.retrying + row.held;
  return (
    <>
      <td>
        <span className="rate">{rateInWords(successRate)}</span>{' '}
        {trend && <Sparkline {...sinceCreation(trend, since, createdAt)} />}
      </td>
      <Counted n={waiting} to={listOf(row.destination, {}, 'pending')} />
      <td>
        <HowLong from={oldestWaitingAt} />
      </td>
      <Counted n={dead} to={listOf(row.destination, defined({ since }), 'dead')} />
      {lastError === null ? (
        <td>–</td>
      ) : (
        <td title={`${causeInWords(lastError)}, ${absolute(lastError.at, Date.now())}`}>
          {causeInWords(lastError)}
        </td>
      )}
    </>
  );
}
