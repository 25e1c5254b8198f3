import { Button, Checkbox, Group, Text } from '@mantine/core';
import { type Deliveries as Response } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { SelectionBar } from '../delivery/selection';
import { useRead } from '../lib/api';
import { whyOf } from '../lib/goes-on';
import { answerInShort, count, stateInWords } from '../lib/labels';
import { type Beside, moveInRows, openRow } from '../lib/rows';
import { useMay } from '../lib/session';
import { timeOf } from '../lib/times';
import { SendFirst } from '../source/send-first';
import { type Filters, Pager, useFilters } from '../ui/filters';
import { Marked, Sought } from '../ui/marked';
import { ViewTabs } from '../ui/saved-views';
import { TimeFilter } from '../ui/time-filter';
import { Empty, number, Pill, Table, TextLink, Unread, When } from '../ui/ui';
import { Histogram } from './histogram';
import { DeliveryPanel } from './panel';
import { MOST_SELECTED } from './read-matching';
import { SearchField } from './search-field';
import { type Selection, useSelection } from './selection';
import { tallyInWords, theMessageOf } from './tally';
import { text } from '../texts';

const words = text.watch.deliveries;

/** A list of deliveries: its search, one line for each, and one of them beside it. */

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
  'counted',
  'after',
] as const;

const TABS = [
  { name: words.all, filter: 'status', value: '' },
  { name: words.waiting, filter: 'status', value: 'pending' },
  { name: words.retrying, filter: 'status', value: 'retrying' },
  { name: words.dead, filter: 'status', value: 'dead' },
  { name: words.delivered, filter: 'status', value: 'delivered' },
];

type Row = Response['data'][number];

interface Props {
  /** shows the deliveries of this destination only */
  destination?: string;
}

export function DeliveryList({ destination }: Props) {
  const filters = useFilters();
  const query = queryOf(filters, destination);
  const read = useRead('GET /deliveries', { query }, { every: 5_000, keep: true });
  const total = useTotal(query);
  const selection = useSelection(`${destination ?? ''}?${filters.text}`, query);
  const sought = 'q' in query ? filters.get('q') : '';
  const beside: Beside = {
    open: filters.panel,
    show: filters.setPanel,
  };
  // Of what was searched for before, or of a page of several, no count would be true.
  const isWholeList =
    !read.isPlaceholderData && filters.get('after') === '' && read.data?.data.next === null;
  const hasMore = !isWholeList && !selection.isAll;
  return (
    <>
      <div className="search-row">
        <SearchField
          filters={filters}
          fixed={destination === undefined ? undefined : 'destination'}
        />
        <Group gap="xs" align="center">
          <TimeFilter filters={filters} of="deliveries" />
        </Group>
        {filters.any && (
          <Button variant="default" onClick={filters.clear}>
            {text.ui.filters.clear}
          </Button>
        )}
      </div>
      <ViewTabs list="deliveries" filters={filters} tabs={TABS} />
      <Histogram filters={filters} destination={destination} />
      {read.data?.data.searched && (
        <Searched
          times={read.data.data.searched}
          asked={sought}
          found={isWholeList ? read.data.data.data : []}
        />
      )}
      <Sought value={sought}>
        <div className={destination === undefined ? '' : 'of-one'}>
          <div
            className={beside.open === '' ? '' : 'with-panel'}
            onClick={(event) => openRow(event, beside)}
            onKeyDown={(event) => moveInRows(event, beside)}
          >
            <div className="list">
              <SelectionBar
                selected={[...selection.rows.values()]}
                onDone={selection.clear}
                more={hasMore && <SelectAll of={selection} total={total} />}
              />
              {read.data && !read.error ? (
                <Found deliveries={read.data.data} filters={filters} selection={selection} />
              ) : (
                <Unread read={read} what={words.list} />
              )}
            </div>
            {beside.open !== '' && (
              <DeliveryPanel
                key={beside.open}
                id={beside.open}
                onClose={() => filters.setPanel('')}
              />
            )}
          </div>
        </div>
      </Sought>
      <Pager filters={filters} page={read.data?.data} total={total} />
    </>
  );
}

type Query = ReturnType<typeof queryOf>;

const COUNT_AGAIN_MS = 30_000;

/** Counts the list less often than it is read. A search is not counted. */
function useTotal({ after: _, ...query }: Query) {
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

/** Returns the filters for the API, without a search that the user has only begun to type. */
function queryOf(filters: Filters, destination: string | undefined) {
  const { q, ...others } = filters.query(FILTERS);
  const time = (name: 'since' | 'until') =>
    filters.get(name) === '' ? undefined : timeOf(filters.get(name), Date.now());
  const query = {
    ...others,
    ...defined({ destination, since: time('since'), until: time('until') }),
  };
  const searched = filters.get('q').length < MIN_SEARCH ? {} : { q };
  return { ...query, ...searched };
}

interface SearchedProps {
  times: NonNullable<Response['searched']>;
  /** the text that was searched for; empty: none was */
  asked: string;
  /** all that was found; empty: nothing, or more than a page */
  found: readonly Row[];
}

/** Says which part of the past a search, or a page that is not full, covers, and what it found. */
function Searched({ times: { from, to, complete }, asked, found }: SearchedProps) {
  const isText = asked !== '';
  const says = isText ? words.searched : words.lookedAt;
  const message = theMessageOf(found);
  return (
    <Text size="sm" className="quiet" role="status">
      {isText && found.length > 0 && <strong>{words.found(asked, tallyInWords(found))} </strong>}
      {isText && message !== undefined && (
        <>
          <TextLink to={`/lookup?${new URLSearchParams({ message }).toString()}`}>
            {words.whereNot}
          </TextLink>
          {'. '}
        </>
      )}
      {says(<When at={from} exact />, <When at={to} exact />)}
      {isText && !complete && words.moreMayMatch}
      {isText && !asked.includes('"') && words.quotesHint(asked)}
    </Text>
  );
}

interface SelectAllProps {
  of: Selection;
  /** undefined: not counted */
  total: Response['total'];
}

function SelectAll({ of: { selectAll, isReading }, total }: SelectAllProps) {
  return (
    <Button variant="subtle" size="compact-sm" loading={isReading} onClick={selectAll}>
      {total && total.exact && total.count <= MOST_SELECTED
        ? words.selectAllOf(count(total.count))
        : words.selectMost(count(MOST_SELECTED))}
    </Button>
  );
}

interface FoundProps {
  deliveries: Response;
  filters: Filters;
  selection: Selection;
}

function Found({ deliveries: { data: deliveries, next }, filters, selection }: FoundProps) {
  const mayAct = useMay('POST /deliveries/{id}/replay');
  if (deliveries.length === 0) return <Nothing filters={filters} isAll={next === null} />;
  const onPage = deliveries.filter(({ id }) => selection.rows.has(id)).length;
  const isWholePage = onPage === deliveries.length;
  return (
    <Table
      label={words.deliveries}
      className="dense deliveries"
      select={
        mayAct && (
          <Checkbox
            size="xs"
            aria-label={words.selectAll}
            checked={isWholePage}
            indeterminate={onPage > 0 && !isWholePage}
            onChange={(event) => selection.select(deliveries, event.target.checked)}
          />
        )
      }
      head={[
        { text: words.status, className: 'c-status' },
        { text: words.message, className: 'c-message' },
        { text: words.destination, className: 'c-destination' },
        { text: words.user, className: 'c-user' },
        { text: words.accepted, className: 'c-time' },
        { ...number(words.attempts), className: 'c-attempts' },
        { text: words.response, className: 'c-response' },
        { text: words.why, className: 'c-why' },
      ]}
    >
      {deliveries.map((delivery) => (
        <Line
          key={delivery.id}
          of={delivery}
          isOpen={delivery.id === filters.panel}
          chosen={mayAct ? selection.rows.has(delivery.id) : undefined}
          onChoose={(on) => selection.select([delivery], on)}
        />
      ))}
    </Table>
  );
}

/** @param props.isAll no older ones follow on a next page */
function Nothing({ filters, isAll }: { filters: Filters; isAll: boolean }) {
  if (filters.any || !isAll) {
    return (
      <Empty title={isAll ? words.nothingMatches : words.nothingSoFar}>
        <Text>{words.fewerFilters}</Text>
        <TextLink to={lookupOf(filters)}>{words.lookUp}</TextLink>
      </Empty>
    );
  }
  return (
    <Empty title={words.noDeliveriesYet}>
      <SendFirst />
    </Empty>
  );
}

/** Returns the page that looks for the same event in Kafka. */
function lookupOf(filters: Filters): string {
  const name = filters.get('message') === '' ? 'user' : 'message';
  return `/lookup?${name}=${encodeURIComponent(filters.get(name))}`;
}

interface LineProps {
  of: Row;
  isOpen: boolean;
  /** undefined: the user may not act on deliveries */
  chosen: boolean | undefined;
  onChoose: (on: boolean) => void;
}

function Line({ of: delivery, isOpen, chosen, onChoose }: LineProps) {
  const title = delivery.event === null ? delivery.type : `${delivery.type}: ${delivery.event}`;
  const why = whyOf(delivery, Date.now());
  const { lastStatusCode, lastError } = delivery;
  const userId = delivery.userId ?? '–';
  const answer = answerInShort(lastStatusCode, lastError?.code);
  // The word that the search field takes.
  const errorFilter = lastStatusCode === null && lastError ? `error:${lastError.code}` : answer;
  return (
    <tr data-row={delivery.id} data-open={isOpen}>
      {chosen !== undefined && (
        <td className="select">
          <Checkbox
            size="xs"
            aria-label={words.selectDelivery(delivery.id)}
            checked={chosen}
            onChange={(event) => onChoose(event.target.checked)}
          />
        </td>
      )}
      <td>
        <Pill kind={delivery.status} />
      </td>
      <td className="c-message" title={title}>
        <TextLink
          to={`/deliveries/${delivery.id}`}
          aria-label={words.rowName(title, stateInWords(delivery.status), delivery.id)}
        >
          <bdi>
            <Marked>{delivery.event ?? delivery.type}</Marked>
          </bdi>
        </TextLink>
        {delivery.test && words.test}
      </td>
      <Cell className="c-destination" title={delivery.destination}>
        {delivery.destinationName ?? words.deleted}
      </Cell>
      <td className="c-user" title={userId}>
        <bdi>
          <Marked>{userId}</Marked>
        </bdi>
      </td>
      <td className="c-time">
        <When at={delivery.acceptedAt} />
      </td>
      <td className="number c-attempts">{delivery.attemptsMade}</td>
      <Cell className="c-response" title={errorFilter}>
        {answer}
      </Cell>
      <Cell className="c-why">{why}</Cell>
    </tr>
  );
}

interface CellProps {
  children: string;
  /** class of its column */
  className: string;
  /** what to show of it on hover; absent: all of it */
  title?: string;
}

/** A value that may be longer than its cell, and in any direction. */
function Cell({ children, className, title = children }: CellProps) {
  return (
    <td className={className} title={title}>
      <bdi>{children}</bdi>
    </td>
  );
}
