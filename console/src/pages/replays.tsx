import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { NewReplay } from '../replay/new-replay';
import { Pager, useFilters } from '../ui/filters';
import { Empty, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';

/** Replays: the past ones, and a new one. */
export function Replays() {
  const filters = useFilters();
  const operator = useMay('POST /replays');
  return (
    <Page title="Replays">
      {operator && <NewReplay destination={filters.get('destination')} />}
      <Past />
    </Page>
  );
}

function Past() {
  const filters = useFilters();
  const names = useNames('destinations');
  const read = useRead('GET /replays', { query: filters.query(['after']) }, { every: 3_000 });
  if (!read.data || read.error) return <Unread read={read} what="replays" />;
  const { data } = read.data.data;
  if (data.length === 0) return <Empty title="No replays yet" />;
  return (
    <>
      <Table label="Replays" head={['Status', 'Destination', 'From', 'Matched', 'Sent', 'Started']}>
        {data.map((replay) => (
          <tr key={replay.id}>
            <td>
              <Pill kind={replay.status} />
            </td>
            <td>
              <TextLink to={`/replays/${replay.id}`}>{names.get(replay.destination) ?? replay.destination}</TextLink>
              {replay.preview && ' (preview)'}
            </td>
            <td>{replay.origin === 'messages' ? 'all messages' : 'dead letters'}</td>
            <td>{count(replay.matched)}</td>
            <td>{count(replay.sent)}</td>
            <td>
              <When at={replay.createdAt} />
            </td>
          </tr>
        ))}
      </Table>
      <Pager filters={filters} page={read.data.data} />
    </>
  );
}
