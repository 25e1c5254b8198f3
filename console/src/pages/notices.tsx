import { Button } from '@mantine/core';
import { type Notice } from '../../../shared/api/operations';
import { LASTING_KINDS, NOTICE_KINDS } from '../../../shared/model/notice-kinds';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { counted, noticeInWords, placeOf } from '../lib/labels';
import { ChoiceFilter, FilterBar, type Named, NameFilter, Pager, SelectFilter, useFilters } from '../ui/filters';
import { Empty, Failure, LinkButton, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';

const FILTERS = ['kind', 'destination', 'open', 'acknowledged', 'after'] as const;

/** Notices about destinations and profiles in trouble, and how each ended. */
export function Notices() {
  const filters = useFilters();
  const query = { ...filters.query(FILTERS), total: 'true' as const };
  const read = useRead('GET /notices', { query }, { every: 5_000, keep: true });
  return (
    <Page title="Notices" actions={<LinkButton to="/alerts">Alerts</LinkButton>}>
      <FilterBar filters={filters} label="Filter">
        <ChoiceFilter filters={filters} name="kind" label="Kind" options={NOTICE_KINDS} />
        <NameFilter filters={filters} name="destination" label="Destination" kind="destinations" />
        <TruthFilter filters={filters} name="open" label="Show" yes="open" no="resolved" />
        <TruthFilter
          filters={filters}
          name="acknowledged"
          label="Acknowledged"
          yes="acknowledged"
          no="not acknowledged"
        />
      </FilterBar>
      {!read.data || read.error ? (
        <Unread read={read} what="notices" />
      ) : read.data.data.data.length === 0 ? (
        <Empty title={filters.any ? 'Nothing matches' : 'No notices'} />
      ) : (
        <List notices={read.data.data.data} />
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

function TruthFilter({ yes, no, ...named }: Named & { yes: string; no: string }) {
  const options = [
    { value: 'true', label: yes },
    { value: 'false', label: no },
  ];
  return <SelectFilter {...named} options={options} />;
}

function List({ notices }: { notices: Notice[] }) {
  const see = useChange('POST /notices/{id}/acknowledge');
  return (
    <>
      {see.error && <Failure error={see.error} what="acknowledge it" />}
      <Table label="Notices" head={['When', 'Kind', 'Destination', 'What', 'Alert', 'Seen']}>
        {notices.map((notice) => (
          <Row key={notice.id} notice={notice} onSeen={() => see.mutate({ id: notice.id })} />
        ))}
      </Table>
    </>
  );
}

function Row({ notice, onSeen }: { notice: Notice; onSeen: () => void }) {
  const operator = useMay('POST /notices/{id}/acknowledge');
  const { id, at, kind, destination, name, delivery, alert, acknowledged } = notice;
  return (
    <tr>
      <td>
        <When at={at} exact />
      </td>
      <td>
        <Pill kind={kind} />
      </td>
      <td>{destination === null ? name : <TextLink to={placeOf(destination)}>{name}</TextLink>}</td>
      <td className="break">
        <Facts notice={notice} />
      </td>
      <td>
        {delivery === null ? alert : <TextLink to={`/deliveries/${encodeURIComponent(delivery)}`}>{alert}</TextLink>}
      </td>
      <td>
        {acknowledged ? (
          <>
            <When at={acknowledged.at} />, {acknowledged.by.name}
          </>
        ) : (
          operator && (
            <Button
              size="xs"
              variant="default"
              aria-label={`Acknowledge: ${kind.replaceAll('_', ' ')}, ${name}, ${id}`}
              onClick={onSeen}
            >
              Acknowledge
            </Button>
          )
        )}
      </td>
    </tr>
  );
}

function Facts({ notice }: { notice: Notice }) {
  const { endedAt, kind, failures, deadLetters, partlyDelivered, fullProfiles, error } = notice;
  const isLasting = (LASTING_KINDS as readonly string[]).includes(kind);
  return (
    <>
      {noticeInWords(notice, Date.now())}{' '}
      {kind === 'failing' && endedAt !== null && (
        <>
          Resolved <When at={endedAt} />.{' '}
        </>
      )}
      {failures > 0 && `${counted(failures, 'failed attempt')}. `}
      {deadLetters > 0 && `${counted(deadLetters, 'dead letter')}. `}
      {partlyDelivered > 0 && `Not delivered to all URLs: ${counted(partlyDelivered, 'event')}. `}
      {fullProfiles > 0 && `${counted(fullProfiles, 'full profile')}. `}
      {isLasting && endedAt !== null && (
        <>
          Over since <When at={endedAt} />.{' '}
        </>
      )}
      {error !== null && <span className="bad">{error}</span>}
    </>
  );
}
