import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { NewReplay } from '../replay/new-replay';
import { Pager, useFilters } from '../ui/filters';
import { Empty, Listed, NameLink, Page, Pill, Table, When } from '../ui/ui';
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
  const empty = (
    <Empty title={words.noReplaysYet}>
      <Text size="sm">{words.noReplaysHint}</Text>
    </Empty>
  );
  return (
    <>
      <Listed read={read} what={words.theReplays} empty={empty}>
        {(replays) => (
          <Table label={words.replays} head={HEAD}>
            {replays.map((replay) => (
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
                <td>{text.watch.replay.origins[replay.origin]}</td>
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
        )}
      </Listed>
      <Pager filters={filters} page={read.data?.data} />
    </>
  );
}
