import { Button, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type SourceRow } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { count, perMinuteInWords, rateInWords } from '../lib/labels';
import { useMay } from '../lib/session';
import { useTelling } from '../lib/sources';
import { NewSource } from '../source/new-source';
import { perMinuteOf, rejectedShare } from '../source/activity';
import { type Filters, Pager, SearchBar, sortable, useFilters } from '../ui/filters';
import { ViewTabs } from '../ui/saved-views';
import { Empty, NameLink, number, Page, Pill, Table, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.sources;

const TABS = [
  { name: words.all, filter: 'state', value: '' },
  { name: words.enabled, filter: 'state', value: 'enabled' },
  { name: words.disabled, filter: 'state', value: 'disabled' },
];

const LOOK_AGAIN_MS = 10_000;

/** All sources and what they send: searched, filtered and sorted by the server. */
export function Sources() {
  const filters = useFilters();
  const admin = useMay('POST /sources');
  const navigate = useNavigate();
  const [creating, setCreating] = useState(false);
  const read = useRead(
    'GET /sources',
    {
      query: {
        ...filters.query(['q', 'state', 'sort', 'after']),
        total: 'true',
        activity: 'true',
      },
    },
    { keep: true, every: LOOK_AGAIN_MS },
  );
  const create = admin ? (
    <Button onClick={() => setCreating(true)}>{words.newSource}</Button>
  ) : undefined;
  const page = read.data?.data;
  const isEmpty = page?.data.length === 0 && !filters.any;
  return (
    <Page title={words.sources} actions={isEmpty ? undefined : create}>
      <SearchBar filters={filters} label={words.search} />
      <ViewTabs list="sources" filters={filters} tabs={TABS} />
      {!page || read.error ? (
        <Unread read={read} what={words.list} />
      ) : isEmpty ? (
        <Empty title={words.noSources}>
          <Text>{words.noSourcesHint}</Text>
          {create}
        </Empty>
      ) : (
        <List sources={page.data} filters={filters} />
      )}
      <Pager filters={filters} page={page} />
      <Modal opened={creating} onClose={() => setCreating(false)} title={words.newSource} size="lg">
        <NewSource
          label={words.newSourceName}
          onMade={({ id }) => void navigate(`/sources/${id}/code`)}
        />
      </Modal>
    </Page>
  );
}

function List({ sources, filters }: { sources: SourceRow[]; filters: Filters }) {
  const telling = useTelling();
  if (sources.length === 0) return <Empty title={words.nothingMatches} />;
  return (
    <Table
      label={words.sources}
      className="dense sources"
      leads
      head={[
        sortable(filters, words.name, 'name'),
        { text: words.state, className: 'c-status' },
        { text: words.trust, className: 'w-8' },
        { ...number(words.calls), className: 'w-7' },
        { ...number(words.perMinute), className: 'w-7' },
        { ...number(words.rejected), className: 'w-11' },
        { ...sortable(filters, words.lastCall, '-lastCall'), className: 'w-7' },
        { ...number(words.destinations), className: 'w-7' },
      ]}
    >
      {sources.map(({ id, name, enabled, trust, activity }) => (
        <tr key={id} data-row={id}>
          <td>
            <NameLink to={`/sources/${id}`} name={name} />
            {telling.has(id) && words.fromAudience}
          </td>
          <td>
            <Pill kind={enabled ? 'on' : 'off'} />
          </td>
          <td>{trust === 'browser' ? words.page : words.server}</td>
          <Activity of={activity} />
        </tr>
      ))}
    </Table>
  );
}

/** @param of undefined: the history is away */
function Activity({ of: activity }: { of: SourceRow['activity'] }) {
  if (!activity) return Array.from({ length: 5 }, (_, i) => <td key={i}>–</td>);
  const { calls, recent, lastCallAt, destinations } = activity;
  const share = rejectedShare(recent);
  return (
    <>
      <td className="number">{count(calls)}</td>
      <td className="number">{perMinuteInWords(perMinuteOf(recent, Date.now()))}</td>
      <td className="number">
        {share === undefined
          ? '–'
          : words.ofRecent(rateInWords(share), count(recent.accepted + recent.rejected))}
      </td>
      <td>{lastCallAt === null ? words.never : <When at={lastCallAt} />}</td>
      <td className="number">{count(destinations)}</td>
    </>
  );
}
