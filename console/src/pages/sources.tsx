import { Text } from '@mantine/core';
import { useNavigate } from 'react-router';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { useTelling } from '../lib/sources';
import { NewSource } from '../source/new-source';
import { Pager, useFilters } from '../ui/filters';
import { Empty, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.sources;

/** All sources, and a new one. */
export function Sources() {
  const filters = useFilters();
  const admin = useMay('POST /sources');
  const navigate = useNavigate();
  const telling = useTelling();
  const read = useRead('GET /sources', { query: { ...filters.query(['after']), total: 'true' } });
  return (
    <Page title={words.sources}>
      {admin && (
        <NewSource
          label={words.newSourceName}
          onMade={({ id }) => void navigate(`/sources/${id}`)}
        />
      )}
      {!read.data || read.error ? (
        <Unread read={read} what={words.list} />
      ) : read.data.data.data.length === 0 ? (
        <Empty title={words.noSources}>
          <Text>{words.noSourcesHint}</Text>
        </Empty>
      ) : (
        <Table label={words.sources} head={[words.name, words.state, words.created]}>
          {read.data.data.data.map(({ id, name, enabled, createdAt }) => (
            <tr key={id}>
              <td>
                <TextLink to={`/sources/${id}`}>{name}</TextLink>
                {telling.has(id) && words.fromAudience}
              </td>
              <td>
                <Pill kind={enabled ? 'on' : 'off'} />
              </td>
              <td>
                <When at={createdAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}
