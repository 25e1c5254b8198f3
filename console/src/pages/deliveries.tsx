import { Text, TextInput } from '@mantine/core';
import { type Deliveries as Response } from '../../../shared/api/operations';
import { DELIVERY_STATUSES } from '../../../shared/model/reasons';
import { useNames, useRead } from '../lib/api';
import { isoOfLocal, localOfIso, reasonInWords, TYPES } from '../lib/labels';
import { ChoiceFilter, FilterBar, type Named, NameFilter, Pager, TextFilter, useFilters } from '../ui/filters';
import { Empty, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';

const FILTERS = ['destination', 'source', 'status', 'type', 'user', 'message', 'since', 'until', 'after'] as const;

/** The outcome of each message, with filters that the address holds. */
export function Deliveries() {
  const filters = useFilters();
  const read = useRead('GET /deliveries', { query: filters.query(FILTERS) }, { every: 5_000, keep: true });
  return (
    <Page title="Deliveries">
      <FilterBar filters={filters} label="Search">
        <ChoiceFilter filters={filters} name="status" label="Status" options={DELIVERY_STATUSES} />
        <NameFilter filters={filters} name="destination" label="Destination" kind="destinations" />
        <NameFilter filters={filters} name="source" label="Source" kind="sources" />
        <ChoiceFilter filters={filters} name="type" label="Type" options={TYPES} />
        <TextFilter filters={filters} name="user" label="User id" />
        <TextFilter filters={filters} name="message" label="Message id" />
        <TimeFilter filters={filters} name="since" label="Accepted from" />
        <TimeFilter filters={filters} name="until" label="Accepted before" />
      </FilterBar>
      {read.data && !read.error ? (
        <List deliveries={read.data.data.data} filtered={filters.any} />
      ) : (
        <Unread read={read} what="deliveries" />
      )}
      <Pager filters={filters} next={read.data?.data.next ?? null} />
    </Page>
  );
}

function TimeFilter({ filters, name, label }: Named) {
  return (
    <TextInput
      label={label}
      type="datetime-local"
      value={localOfIso(filters.get(name))}
      onChange={(event) => filters.set(name, isoOfLocal(event.target.value) ?? '')}
    />
  );
}

function List({ deliveries, filtered }: { deliveries: Response['data']; filtered: boolean }) {
  const names = useNames('destinations');
  if (deliveries.length === 0) {
    return (
      <Empty title={filtered ? 'Nothing matches' : 'No deliveries yet'}>
        <Text>{filtered ? 'Try with fewer filters.' : 'A delivery appears after its first attempt or wait.'}</Text>
      </Empty>
    );
  }
  return (
    <Table label="Deliveries" head={['Status', 'Message', 'Destination', 'User', 'Accepted', 'Attempts', 'Why']}>
      {deliveries.map((delivery) => (
        <tr key={delivery.id}>
          <td>
            <Pill kind={delivery.status} />
          </td>
          <td>
            <TextLink
              to={`/deliveries/${delivery.id}`}
              aria-label={`${delivery.type}, ${delivery.status}, delivery ${delivery.id}`}
            >
              {delivery.type}
            </TextLink>
            {delivery.test && ' (test)'}
          </td>
          <td>{names.get(delivery.destination) ?? delivery.destination}</td>
          <td className="break">{delivery.userId ?? '–'}</td>
          <td>
            <When at={delivery.acceptedAt} />
          </td>
          <td>{delivery.attemptsMade}</td>
          <td>{delivery.status === 'delivered' ? '' : reasonInWords(delivery.reason)}</td>
        </tr>
      ))}
    </Table>
  );
}
