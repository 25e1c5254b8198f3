import { Text } from '@mantine/core';
import { type Destination, type Overview } from '../../../shared/api/operations';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count, causeInWords, rateInWords } from '../lib/labels';
import { Pager, useFilters } from '../ui/filters';
import { Sparkline } from '../ui/sparkline';
import { Empty, LinkButton, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.destinations;

const LOOK_AGAIN_MS = 10_000;

/** All destinations, with the health of each. */
export function Destinations() {
  const filters = useFilters();
  const read = useRead('GET /destinations', {
    query: { ...filters.query(['after']), total: 'true' },
  });
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
      {read.data && !read.error ? (
        <List destinations={read.data.data.data} health={health.data?.data.data ?? []} />
      ) : (
        <Unread read={read} what={words.list} />
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

type Row = Overview['data'][number];

function List({ destinations, health }: { destinations: Destination[]; health: readonly Row[] }) {
  const names = useNames('sources');
  const rows = new Map(health.map((row) => [row.destination, row]));
  if (destinations.length === 0) {
    return (
      <Empty title={words.noDestinations}>
        <Text>{words.noDestinationsHint}</Text>
        <LinkButton to="/connect">{words.connectFirst}</LinkButton>
      </Empty>
    );
  }
  return (
    <Table
      label={words.destinations}
      head={[
        words.name,
        words.state,
        words.lastDay,
        words.waiting,
        words.lastError,
        words.sources,
        words.urls,
      ]}
    >
      {destinations.map((destination) => (
        <tr key={destination.id}>
          <td>
            <TextLink to={`/destinations/${destination.id}`}>{destination.name}</TextLink>
          </td>
          <td>
            <State of={destination} health={rows.get(destination.id)} />{' '}
            {!destination.hasSharedSecret && <Unsigned />}
          </td>
          <HealthCells of={rows.get(destination.id)} />
          <td>{destination.sources.map((id) => names.get(id) ?? id).join(', ') || words.none}</td>
          <td className="break">
            {destination.webhooks.map(({ url }) => url ?? words.unreadable).join(', ')}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Marks a destination whose receivers cannot verify the sender. */
export function Unsigned() {
  return (
    <span className="pill pill-unsigned" title={words.unsignedHint}>
      {words.unsigned}
    </span>
  );
}

interface StateProps {
  of: Pick<Destination, 'enabled' | 'paused'>;
  /** undefined: not known, or not yet */
  health?: Pick<Row, 'state'> | undefined;
}

/** Shows the state of a destination that is on, or that it is off or paused. */
export function State({ of: { enabled, paused }, health }: StateProps) {
  if (!enabled) return <Pill kind="off" />;
  return <Pill kind={paused ? 'paused' : (health?.state ?? 'on')} />;
}

function HealthCells({ of: row }: { of: Row | undefined }) {
  if (!row) return Array.from({ length: 3 }, (_, i) => <td key={i}>–</td>);
  const { trend, successRate, lastError, oldestWaitingAt } = row;
  const waiting = row.waiting + row.retrying + row.held;
  return (
    <>
      <td className="nowrap">
        {trend && <Sparkline delivered={trend.delivered} failed={trend.failedAttempts} />}{' '}
        {rateInWords(successRate)}
      </td>
      <td>
        {waiting === 0 ? (
          words.none
        ) : (
          <>{words.oldestFrom(count(waiting), <When at={oldestWaitingAt} />)}</>
        )}
      </td>
      <td className="break">
        {lastError === null ? (
          words.none
        ) : (
          <>
            <span className="bad">{causeInWords(lastError)}</span>, <When at={lastError.at} />
          </>
        )}
      </td>
    </>
  );
}
