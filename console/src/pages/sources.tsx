import { Text } from '@mantine/core';
import { useNavigate } from 'react-router';
import { type Source } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { useReturn } from '../lib/return';
import { useMay } from '../lib/session';
import { useTelling } from '../lib/sources';
import { NewSource } from '../source/new-source';
import { type Filters, Pager, SearchBar, sortable, useFilters } from '../ui/filters';
import { ViewTabs } from '../ui/saved-views';
import { Empty, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.sources;

const TABS = [
  { name: words.all, filter: 'state', value: '' },
  { name: words.enabled, filter: 'state', value: 'enabled' },
  { name: words.disabled, filter: 'state', value: 'disabled' },
];

/** All sources, searched and filtered by the server, and a new one. */
export function Sources() {
  const filters = useFilters();
  const admin = useMay('POST /sources');
  const navigate = useNavigate();
  const read = useRead(
    'GET /sources',
    { query: { ...filters.query(['q', 'state', 'sort', 'after']), total: 'true' } },
    { keep: true },
  );
  return (
    <Page title={words.sources}>
      {admin && (
        <section className="card" aria-label={words.newSource}>
          <NewSource
            label={words.newSourceName}
            onMade={({ id }) => void navigate(`/sources/${id}`)}
          />
        </section>
      )}
      <SearchBar filters={filters} label={words.search} />
      <ViewTabs list="sources" filters={filters} tabs={TABS} />
      {read.data && !read.error ? (
        <List sources={read.data.data.data} filters={filters} />
      ) : (
        <Unread read={read} what={words.list} />
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

function List({ sources, filters }: { sources: Source[]; filters: Filters }) {
  const telling = useTelling();
  const list = useReturn(sources.length > 0);
  if (sources.length === 0 && filters.any) return <Empty title={words.nothingMatches} />;
  if (sources.length === 0) {
    return (
      <Empty title={words.noSources}>
        <Text>{words.noSourcesHint}</Text>
      </Empty>
    );
  }
  return (
    <div ref={list}>
      <Table
        label={words.sources}
        head={[sortable(filters, words.name, 'name'), words.state, words.trust, words.created]}
      >
        {sources.map(({ id, name, enabled, trust, createdAt }) => (
          <tr key={id} data-row={id}>
            <td className="name">
              <TextLink to={`/sources/${id}`}>
                <bdi>{name}</bdi>
              </TextLink>
              {telling.has(id) && words.fromAudience}
            </td>
            <td>
              <Pill kind={enabled ? 'on' : 'off'} />
            </td>
            <td>{trust === 'browser' ? words.page : words.server}</td>
            <td>
              <When at={createdAt} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
