import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { type Replay } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { NewReplay } from '../replay/new-replay';
import { Pager, useFilters } from '../ui/filters';
import { Empty, Listed, NameLink, number, Page, Pill, Table, When } from '../ui/ui';
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
  { text: words.status, className: 'c-status' },
  words.destination,
  { text: words.from, className: 'w-8h' },
  { ...number(words.asked), className: 'c-count' },
  { ...number(words.attempted), className: 'w-11' },
  { ...number(words.delivered), className: 'c-count' },
  { ...number(words.failedAgain), className: 'w-7' },
  { text: words.started, className: 'w-7' },
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
          <Table label={words.replays} className="dense replays" leads head={HEAD}>
            {replays.map((replay) => (
              <tr key={replay.id} data-row={replay.id}>
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
                <td className="number">{count(replay.asked)}</td>
                <td className="number" title={attemptedInWords(replay)}>
                  {attemptedInWords(replay)}
                </td>
                <td className="number">
                  {replay.delivered === null ? '–' : count(replay.delivered)}
                </td>
                <td className="number">
                  {replay.failedAgain === null ? '–' : count(replay.failedAgain)}
                </td>
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

/** Says what became of those that were asked for: "120 (5 superseded) (3 still held)". */
function attemptedInWords({ attempted, cancelled, superseded, held }: Replay): string {
  return compact([
    count(attempted ?? cancelled ?? 0),
    cancelled === null ? undefined : words.cancelled,
    superseded === null || superseded === 0 ? undefined : words.superseded(count(superseded)),
    held === null || held === 0 ? undefined : words.held(count(held)),
  ]).join(' ');
}
