import { Text } from '@mantine/core';
import { type Destination } from '../../../shared/api/operations';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { Pager, useFilters } from '../ui/filters';
import { Empty, LinkButton, Page, Pill, Table, TextLink, Unread } from '../ui/ui';

/** All destinations. */
export function Destinations() {
  const filters = useFilters();
  const read = useRead('GET /destinations', { query: filters.query(['after']) });
  const admin = useMay('POST /destinations');
  const actions = admin ? (
    <LinkButton primary to="/connect">
      Connect an integration
    </LinkButton>
  ) : undefined;
  return (
    <Page title="Destinations" actions={actions}>
      {read.data && !read.error ? (
        <List destinations={read.data.data.data} />
      ) : (
        <Unread read={read} what="destinations" />
      )}
      <Pager filters={filters} next={read.data?.data.next ?? null} />
    </Page>
  );
}

function List({ destinations }: { destinations: Destination[] }) {
  const names = useNames('sources');
  if (destinations.length === 0) {
    return (
      <Empty title="No destinations yet">
        <Text>Connect one to send every message of your sources to your URLs.</Text>
        <LinkButton to="/connect">Connect your first integration</LinkButton>
      </Empty>
    );
  }
  return (
    <Table label="Destinations" head={['Name', 'State', 'Sources', 'URLs']}>
      {destinations.map((destination) => (
        <tr key={destination.id}>
          <td>
            <TextLink to={`/destinations/${destination.id}`}>{destination.name}</TextLink>
          </td>
          <td>
            <State of={destination} /> {!destination.hasSharedSecret && <Unsigned />}
          </td>
          <td>{destination.sources.map((id) => names.get(id) ?? id).join(', ') || 'none'}</td>
          <td className="break">{destination.webhooks.map(({ url }) => url ?? 'unreadable').join(', ')}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Marks a destination whose receivers cannot verify the sender. */
export function Unsigned() {
  return (
    <span className="pill pill-unsigned" title="It has no shared secret: receivers cannot verify its requests">
      unsigned
    </span>
  );
}

export function State({ of: { enabled, paused } }: { of: Pick<Destination, 'enabled' | 'paused'> }) {
  if (!enabled) return <Pill kind="off" />;
  return <Pill kind={paused ? 'paused' : 'on'} />;
}
