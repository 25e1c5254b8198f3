import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { NewReplay } from '../replay/new-replay';
import { Pager, useFilters } from '../ui/filters';
import { Empty, NameLink, Page, Pill, Table, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.replays;

/** Replays: the past ones, and a new one. */
export function Replays() {
  const filters = useFilters();
  const operator = useMay('POST /replays');
  const destination = filters.get('destination');
  const [isNew, setNew] = useState(destination !== '');
  const actions =
    operator && !isNew ? (
      <Button onClick={() => setNew(true)}>{words.newReplay}</Button>
    ) : undefined;
  return (
    <Page title={words.replays} actions={actions}>
      {operator && isNew && <NewReplay destination={destination} />}
      <Past />
    </Page>
  );
}

const FROM = words.origins;
const HEAD = [
  words.status,
  words.destination,
  words.from,
  words.asked,
  words.attempted,
  words.delivered,
  words.failedAgain,
  words.started,
];

function Past() {
  const filters = useFilters();
  const read = useRead('GET /replays', { query: filters.query(['after']) }, { every: 3_000 });
  const ids = read.data?.data.data.map(({ destination }) => destination) ?? [];
  const names = useNames('destinations', ids);
  if (!read.data || read.error) return <Unread read={read} what={words.theReplays} />;
  const { data } = read.data.data;
  if (data.length === 0) {
    return (
      <Empty title={words.noReplaysYet}>
        <Text size="sm">{words.noReplaysHint}</Text>
      </Empty>
    );
  }
  return (
    <>
      <Table label={words.replays} head={HEAD}>
        {data.map((replay) => (
          <tr key={replay.id}>
            <td>
              <Pill kind={replay.status} />
            </td>
            <td>
              <NameLink
                to={`/replays/${replay.id}`}
                name={names.get(replay.destination) ?? replay.destination}
              />
            </td>
            <td>{FROM[replay.origin]}</td>
            <td>{count(replay.asked)}</td>
            <td>
              {count(replay.attempted ?? replay.cancelled ?? 0)}
              {replay.cancelled !== null && words.cancelled}
              {replay.superseded !== null &&
                replay.superseded > 0 &&
                words.superseded(count(replay.superseded))}
              {replay.held !== null && replay.held > 0 && words.held(count(replay.held))}
            </td>
            <td>{replay.delivered === null ? '–' : count(replay.delivered)}</td>
            <td>{replay.failedAgain === null ? '–' : count(replay.failedAgain)}</td>
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
