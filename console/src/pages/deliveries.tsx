import { Checkbox, Text } from '@mantine/core';
import { useState } from 'react';
import { type Deliveries as Response } from '../../../shared/api/operations';
import { FILTER_STATUSES, isDelivered } from '../../../shared/model/reasons';
import { SelectionBar } from '../delivery/selection';
import { useRead } from '../lib/api';
import { goesOnInWords } from '../lib/goes-on';
import { reasonInWords, codeInWords, TYPES } from '../lib/labels';
import { useMay } from '../lib/session';
import {
  ChoiceFilter,
  FilterBar,
  type Filters,
  NameFilter,
  Pager,
  TextFilter,
  TimeFilter,
  useFilters,
} from '../ui/filters';
import { SavedViews } from '../ui/saved-views';
import { Empty, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.deliveries;

const FILTERS = [
  'destination',
  'source',
  'status',
  'type',
  'event',
  'code',
  'error',
  'user',
  'message',
  'q',
  'batch',
  'replay',
  'since',
  'until',
  'endedSince',
  'endedUntil',
  'after',
] as const;

type Row = Response['data'][number];

/** The outcome of each message, with filters that the address holds. */
export function Deliveries() {
  const filters = useFilters();
  const query = queryOf(filters);
  const read = useRead('GET /deliveries', { query }, { every: 5_000, keep: true });
  const total = useTotal(query);
  return (
    <Page title={words.deliveries}>
      <FilterBar filters={filters} label={words.search}>
        <TextFilter
          filters={filters}
          name="q"
          label={words.searchIn}
          placeholder={words.searchInExample}
        />
        <ChoiceFilter
          filters={filters}
          name="status"
          label={words.status}
          options={FILTER_STATUSES}
        />
        <NameFilter
          filters={filters}
          name="destination"
          label={words.destination}
          kind="destinations"
        />
        <NameFilter filters={filters} name="source" label={words.source} kind="sources" />
        <ChoiceFilter filters={filters} name="type" label={words.type} options={TYPES} />
        <TextFilter filters={filters} name="event" label={words.eventName} />
        <TextFilter
          filters={filters}
          name="code"
          label={words.responseCode}
          placeholder={words.responseCodeExample}
        />
        <TextFilter
          filters={filters}
          name="error"
          label={words.lastError}
          placeholder={words.lastErrorExample}
        />
        <TextFilter filters={filters} name="user" label={words.userId} />
        <TextFilter filters={filters} name="message" label={words.messageId} />
        <TextFilter
          filters={filters}
          name="batch"
          label={words.batchId}
          placeholder={words.batchIdExample}
        />
        <TimeFilter filters={filters} name="since" label={words.acceptedFrom} />
        <TimeFilter filters={filters} name="until" label={words.acceptedBefore} />
        {filters.get('status') === 'dead' &&
          ENDED.map(({ name, label }) => {
            // A chart sets them.
            return (
              filters.get(name) !== '' && (
                <TimeFilter key={name} filters={filters} name={name} label={label} />
              )
            );
          })}
      </FilterBar>
      <SavedViews list="deliveries" filters={filters} />
      {read.data?.data.searched && <Searched {...read.data.data.searched} />}
      {read.data && !read.error ? (
        <List deliveries={read.data.data.data} filters={filters} />
      ) : (
        <Unread read={read} what={words.list} />
      )}
      <Pager filters={filters} page={read.data?.data} total={total} />
    </Page>
  );
}

const ENDED = [
  { name: 'endedSince', label: words.endedFrom },
  { name: 'endedUntil', label: words.endedBefore },
];

const COUNT_AGAIN_MS = 30_000;

/** Counts the list less often than it is read. A search is not counted. */
function useTotal({ after: _, ...query }: ReturnType<typeof queryOf>) {
  const options = { every: COUNT_AGAIN_MS, keep: true, enabled: !('q' in query) };
  const read = useRead(
    'GET /deliveries',
    { query: { ...query, limit: 1, total: 'true' } },
    options,
  );
  return 'q' in query ? undefined : read.data?.data.total;
}

/** The shortest text that the API searches for. */
const MIN_SEARCH = 3;

/**
 * Returns the filters for the API, without a search that the user has only begun to type. The time
 * of the end finds dead deliveries only, so another status sets it aside.
 */
function queryOf(filters: Filters) {
  const { q, endedSince, endedUntil, ...others } = filters.query(FILTERS);
  const query = filters.get('status') === 'dead' ? { ...others, endedSince, endedUntil } : others;
  return filters.get('q').length < MIN_SEARCH ? query : { ...query, q };
}

/** Says which part of the past a search covers. */
function Searched({ from, to, complete }: NonNullable<Response['searched']>) {
  return (
    <Text size="sm" role="status">
      {words.searched(<When at={from} exact />, <When at={to} exact />)}
      {!complete && words.moreMayMatch}
    </Text>
  );
}

function List({ deliveries, filters }: { deliveries: Row[]; filters: Filters }) {
  const mayAct = useMay('POST /deliveries/{id}/replay');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  if (deliveries.length === 0) {
    return (
      <Empty title={filters.any ? words.nothingMatches : words.noDeliveriesYet}>
        <Text>{filters.any ? words.fewerFilters : words.noDeliveriesHint}</Text>
        <TextLink to={lookupOf(filters)}>{words.lookUp}</TextLink>
      </Empty>
    );
  }
  // A row that has left the page is not selected any more: nobody sees it.
  const selected = deliveries.filter(({ id }) => chosen.has(id));
  const choose = (ids: string[], on: boolean) => {
    const next = new Set(selected.map(({ id }) => id));
    for (const id of ids) {
      if (on) next.add(id);
      else next.delete(id);
    }
    setChosen(next);
  };
  const all = deliveries.map(({ id }) => id);
  return (
    <>
      <SelectionBar selected={selected} onDone={() => setChosen(new Set())} />
      <Table
        label={words.deliveries}
        select={
          mayAct && (
            <Checkbox
              aria-label={words.selectAll}
              checked={selected.length === all.length}
              indeterminate={selected.length > 0 && selected.length < all.length}
              onChange={(event) => choose(all, event.target.checked)}
            />
          )
        }
        head={[
          words.status,
          words.message,
          words.destination,
          words.user,
          words.accepted,
          words.attempts,
          words.response,
          words.why,
        ]}
      >
        {deliveries.map((delivery) => (
          <Line
            key={delivery.id}
            of={delivery}
            destination={delivery.destinationName ?? delivery.destination}
            chosen={mayAct ? chosen.has(delivery.id) : undefined}
            onChoose={(on) => choose([delivery.id], on)}
          />
        ))}
      </Table>
    </>
  );
}

/** Returns the page that looks for the same event in Kafka. */
function lookupOf(filters: Filters): string {
  const name = filters.get('message') === '' ? 'user' : 'message';
  return `/lookup?${name}=${encodeURIComponent(filters.get(name))}`;
}

interface LineProps {
  of: Row;
  destination: string;
  /** undefined: the user may not act on deliveries */
  chosen: boolean | undefined;
  onChoose: (on: boolean) => void;
}

function Line({ of: delivery, destination, chosen, onChoose }: LineProps) {
  const title = delivery.event === null ? delivery.type : `${delivery.type}: ${delivery.event}`;
  return (
    <tr>
      {chosen !== undefined && (
        <td className="select">
          <Checkbox
            aria-label={words.selectDelivery(delivery.id)}
            checked={chosen}
            onChange={(event) => onChoose(event.target.checked)}
          />
        </td>
      )}
      <td>
        <Pill kind={delivery.status} />
      </td>
      <td>
        <TextLink
          to={`/deliveries/${delivery.id}`}
          aria-label={words.rowName(title, codeInWords(delivery.status), delivery.id)}
        >
          {title}
        </TextLink>
        {delivery.test && words.test}
      </td>
      <td>{destination}</td>
      <td className="break">{delivery.userId ?? '–'}</td>
      <td>
        <When at={delivery.acceptedAt} exact />
      </td>
      <td>{delivery.attemptsMade}</td>
      <td>{delivery.lastStatusCode ?? delivery.lastError?.code ?? '–'}</td>
      <td>
        {isDelivered(delivery.status) ? '' : reasonInWords(delivery.reason)}
        {delivery.goesOn && (
          <div className="quiet">{goesOnInWords(delivery.goesOn, delivery.reason, Date.now())}</div>
        )}
      </td>
    </tr>
  );
}
